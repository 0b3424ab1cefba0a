"""The figure of `coding/predictor`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.coding.predictor import (
    KINDS,
    LEVELS,
    MOST_EVIDENCE,
    errors,
    lazy,
    predicted,
    predictions,
    sampled,
)

LOOKS: dict[str, dict[str, Any]] = {
    "linear": {"color": fs.lab.style.BLUE, "marker": "o"},
    "sigmoidal": {"color": fs.lab.style.VERMILLION, "marker": "s"},
    "rectified": {"color": fs.lab.style.GREEN, "marker": "^"},
}
LAZY = "0.55"


def draw(result: Any) -> Any:
    """Above the predictor along growing evidence; below means, variances and errors on noisy test inputs."""
    with fs.lab.style.style():
        figure, axes = plt.subplots(2, 3, figsize=(7.2, 4.6))
        for axis, kind in zip(axes[0], KINDS, strict=True):
            _draw_evidence(axis, result, kind)
            axis.sharey(axes[0, 0])
        axes[0, 0].set_ylabel("answer, output of class A")
        axes[0, 0].legend(loc="upper left")
        _draw_means(axes[1, 0], result)
        _draw_variances(axes[1, 1], result)
        _draw_errors(axes[1, 2], result)
        fs.lab.style.letter(*axes.ravel())
    return figure


def _draw_evidence(axis: Any, result: Any, kind: str) -> None:
    """Mean and standard deviation of f against r, of samples and of the Gaussian process, and the theory."""
    evidence = np.linspace(0.0, MOST_EVIDENCE, LEVELS)
    mean, variance = (part[:LEVELS, 0] for part in sampled(result, kind))
    other, spread = (part[:LEVELS, 0] for part in lazy(result.config, kind))
    theirs = predicted(result.config, predictions(result.config)[KINDS.index(kind)]).mean[:LEVELS, 0]
    axis.plot(evidence, other, color=LAZY, lw=1.0, label="lazy: mean ± s.d.")
    axis.fill_between(evidence, other - spread**0.5, other + spread**0.5, color=LAZY, alpha=0.2, lw=0)
    axis.plot(evidence, theirs, label="theory: mean", **fs.lab.style.THEORY)
    look = LOOKS[kind] | {"ls": "none", "mfc": "none", "ms": 3.5, "elinewidth": 0.8}
    axis.errorbar(evidence, mean, np.sqrt(variance), label="sampled: mean ± s.d.", **look)
    axis.set(xlabel="evidence r for class A", title=f"{kind} neurons", ylim=(-1.2, 4.2))


def _draw_means(axis: Any, result: Any) -> None:
    """Mean predictors against the lazy ones, for all noisy test inputs and outputs."""
    ends = [np.inf, -np.inf]
    for kind in KINDS:
        ours, other = sampled(result, kind)[0][LEVELS:].ravel(), lazy(result.config, kind).mean[LEVELS:].ravel()
        axis.plot(other, ours, ls="none", ms=2.5, mfc="none", mew=0.6, label=kind, **LOOKS[kind])
        ends = [min(ends[0], other.min(), ours.min()), max(ends[1], other.max(), ours.max())]
    axis.plot(ends, ends, color="0.5", lw=0.8, zorder=0)
    axis.set(xlabel="mean predictor, lazy", ylabel="mean predictor, sampled")
    axis.set_ylim(ends[0] - 0.1, ends[1] + 0.45 * (ends[1] - ends[0]))
    axis.legend(loc="upper left", handletextpad=0.2)


def _draw_variances(axis: Any, result: Any) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Rectangle

    place = np.arange(len(KINDS))
    found = [errors(result, kind) for kind in KINDS]
    expected = [predicted(result.config, each).variance[LEVELS:].mean() for each in predictions(result.config)]
    axis.bar(place - 0.2, [each["variance"] for each in found], 0.36, label="sampled", color=_colors())
    axis.bar(place + 0.2, [each["lazy variance"] for each in found], 0.36, color=LAZY, label="lazy", hatch="///")
    for at, value in zip(place, expected, strict=True):
        axis.plot([at - 0.42, at + 0.02], [value, value], **fs.lab.style.THEORY)
    axis.set(yscale="log", ylabel="variance of the predictor", xticks=place, xticklabels=KINDS)
    axis.set_ylim(0.3 * min(*expected, *(each["variance"] for each in found)), 10)
    axis.legend(
        handles=[
            Rectangle((0, 0), 1, 1, color=fs.lab.style.BLUE, label="sampled"),
            Rectangle((0, 0), 1, 1, facecolor=LAZY, hatch="///", label="lazy"),
            Line2D([], [], label="theory", **fs.lab.style.THEORY),
        ],
        loc="upper left",
        ncols=3,
        columnspacing=0.7,
        handlelength=1.2,
    )


def _draw_errors(axis: Any, result: Any) -> None:
    """Errors of the mean, with the variance on top."""
    place = np.arange(len(KINDS))
    found = [errors(result, kind) for kind in KINDS]
    for shift, prefix, color in ((-0.2, "", _colors()), (0.2, "lazy ", [LAZY] * len(KINDS))):
        mean = np.array([each[f"{prefix}mean"] for each in found])
        variance = np.array([each[f"{prefix}variance"] for each in found])
        hatch = "///" if prefix else None
        axis.bar(place + shift, mean, 0.36, color=color, hatch=hatch)
        axis.bar(place + shift, variance, 0.36, bottom=mean, color="none", edgecolor=color, lw=1.0)
    axis.bar([0], [0], color="0.4", label="of the mean")
    axis.bar([0], [0], color="none", edgecolor="0.4", label="by variance")
    axis.set(ylabel="test error", xlabel="left: sampled, right: lazy", xticks=place, xticklabels=KINDS)
    axis.set_ylim(0, 1.4 * axis.get_ylim()[1])
    axis.legend(loc="upper left")


def _colors() -> list[str]:
    return [LOOKS[kind]["color"] for kind in KINDS]
