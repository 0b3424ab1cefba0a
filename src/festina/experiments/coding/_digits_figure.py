"""The figure of `coding/digits`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.coding._common import membership
from festina.experiments.coding._digits_measures import CHECKED_KINDS, errors, features, lazy, sampled, task
from festina.experiments.coding._panels import draw_readouts
from festina.experiments.coding._predictors import LAZY, LOOKS
from festina.models._wide import KINDS

ROWS = 60  # neurons in a raster


def draw(result: Any) -> Any:
    """Readouts and activities of each nonlinearity above; below features, mean predictors, variances and errors."""
    with fs.figures.style.style():
        figure = plt.figure(figsize=(fs.figures.style.TWO_COLUMNS, 6.6))
        parts: Any = figure.subfigures(2, 1, height_ratios=(1.9, 1.0))
        axes = parts[0].subplot_mosaic("abc\ndef") | parts[1].subplot_mosaic("ghij")
        for kind, above, below in zip(KINDS, "abc", "def", strict=True):
            _draw_neurons(axes[above], axes[below], result, kind)
        for name in "abcef":
            axes[name].set_ylabel("")
        axes["a"].set_ylabel(f"readout to “{result.config.digits[1]}”")
        place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
        legend = axes["c"].legend(markerscale=2.0, handlelength=0.8, title="most\nactive\nfor", **place)
        legend.set_in_layout(False)  # it fits above the colour bar
        _draw_theory(axes["g"], result)
        _draw_means(axes["h"], result)
        _draw_variances(axes["i"], result)
        _draw_errors(axes["j"], result)
        fs.figures.style.letter(*axes.values())
    return figure


def _draw_neurons(above: Any, below: Any, result: Any, kind: str) -> None:
    """Readouts of the last draw of the first run, and activities of the same neurons image by image."""
    last = result.data.isel(run=0).sel(nonlinearity=kind)
    digits = result.config.digits
    readouts = last["readout"].transpose("neuron", "output").values
    seen, others = (last[name].transpose("neuron", ...).values for name in ("features", "test_features"))
    labels = task(result.config)[0].labels
    preferred = np.stack([seen[:, labels == each].mean(axis=1) for each in range(len(digits))]).argmax(axis=0)
    draw_readouts(above, readouts, preferred)
    for line, number in zip(above.lines, np.unique(preferred), strict=True):
        line.set_label(f"{digits[number]}")
    above.set(title=f"{kind} neurons", xlabel=f"readout to “{digits[0]}”")
    strongest = np.argsort(-np.linalg.norm(readouts, axis=1))[:ROWS]
    order = strongest[np.argsort(preferred[strongest], kind="stable")]
    _draw_images(below, seen[order], others[order], result.config)


def _draw_images(axis: Any, seen: Any, others: Any, config: Any) -> None:
    """Activity of neurons for every image, those to learn left, those to test with right."""
    together = np.concatenate([seen, others], axis=1)
    high = np.quantile(np.abs(together), 0.995)
    scale = {"vmin": -high, "vmax": high, "cmap": "RdBu_r"} if together.min() < 0 else {"vmax": high, "cmap": "Greys"}
    image = axis.imshow(together, aspect="auto", interpolation="none", **scale)
    sizes = [*config.counts, *(config.tests for _ in config.digits)]
    edges = np.cumsum([0, *sizes]) - 0.5
    for edge in edges[1:-1]:
        axis.axvline(edge, color="0.45", lw=0.4)
    axis.axvline(edges[len(config.counts)], color="k", lw=1.4)
    axis.set_xticks(0.5 * (edges[1:] + edges[:-1]), [str(digit) for digit in (*config.digits, *config.digits)])
    axis.tick_params(axis="x", length=0)
    axis.set(xlabel="images: training | test", ylabel="neuron, largest readouts")
    axis.spines[["top", "right"]].set_visible(True)
    bar = axis.figure.colorbar(image, ax=axis, fraction=0.06, pad=0.03)
    bar.set_label("activity φ")
    bar.outline.set_linewidth(0.5)


def _draw_theory(axis: Any, result: Any) -> None:
    """Samples against theory, class by class: kernels of linear networks, implied features of the others."""
    labels = membership(task(result.config)[0])
    portions = labels / labels.sum(axis=0)[None]
    kernels = [each["kernel"].sel(nonlinearity="linear").isel(run=0).values for each in (result.data, result.theory)]
    pairs = {"linear": kernels} | {kind: features(result, kind) for kind in CHECKED_KINDS}
    for kind, both in pairs.items():
        ours, theirs = (np.ravel(part @ portions) for part in both)
        largest = np.abs(ours).max(initial=1e-300)
        look = LOOKS[kind] | {"ls": "none", "ms": 2.5, "mfc": "none", "mew": 0.5}
        axis.plot(theirs / largest, ours / largest, label=f"{kind}: {'K' if kind == 'linear' else '⟨φ⟩'}", **look)
    axis.plot([-1, 1], [-1, 1], zorder=0, **fs.figures.style.THEORY)
    axis.set(xlabel="theory, over largest", ylabel="sampled, over largest", ylim=(-1.1, 2.4), yticks=(-1, 0, 1))
    axis.legend(loc="upper left", handletextpad=0.1, borderaxespad=0.1)


def _draw_means(axis: Any, result: Any) -> None:
    """Mean predictors against the lazy ones, for all test images and outputs."""
    ends = [np.inf, -np.inf]
    for kind in reversed(KINDS):
        ours, other = sampled(result, kind)[0].ravel(), lazy(result.config, kind).mean.ravel()
        axis.plot(other, ours, ls="none", ms=2.0, mfc="none", mew=0.5, label=kind, **LOOKS[kind])
        ends = [min(ends[0], other.min(), ours.min()), max(ends[1], other.max(), ours.max())]
    axis.plot(ends, ends, color="0.5", lw=0.8, zorder=0)
    axis.set(xlabel="mean answer, lazy", ylabel="mean answer, sampled")
    axis.set_ylim(ends[0] - 0.1, ends[1] + 0.55 * (ends[1] - ends[0]))
    axis.legend(loc="upper left", handletextpad=0.1)


def _draw_variances(axis: Any, result: Any) -> None:
    """Variances of predictors on test images, and for linear networks the theory's."""
    found = [errors(result, kind) for kind in KINDS]
    ours, other = ([each[name] for each in found] for name in ("variance", "lazy variance"))
    _draw_pairs(axis, ours, other)
    expected = result.theory.sel(nonlinearity="linear").isel(run=0)
    value = float((expected["square"] - expected["mean"] ** 2).mean())
    axis.plot([-0.42, 0.02], [value, value], label="theory", **fs.figures.style.THEORY)
    axis.set(yscale="log", ylabel="predictor variance", ylim=(0.3 * min(ours), 3e3 * max(other)))
    axis.legend(loc="upper left")


def _draw_errors(axis: Any, result: Any) -> None:
    """Test errors: of the mean, with the variance on top; accuracies above."""
    found = [errors(result, kind) for kind in KINDS]
    _draw_pairs(axis, [each["mean"] for each in found], [each["lazy mean"] for each in found])
    top = 0.0
    for prefix, shift in (("", -0.2), ("lazy ", 0.2)):
        for place, each in enumerate(found):
            mean, variance = each[f"{prefix}mean"], each[f"{prefix}variance"]
            axis.bar(place + shift, variance, 0.36, bottom=mean, color="none", edgecolor="0.3", lw=0.8)
            right = f"{100 * each[f'{prefix}accuracy']:.0f}%"
            axis.annotate(right, (place + shift, mean + variance), (0, 2), textcoords="offset points", rotation=90,
                          ha="center", va="bottom", fontsize=6.5)  # fmt: skip
            top = max(top, mean + variance)
    axis.bar([0], [0], color="none", edgecolor="0.3", lw=0.8, label="by variance")
    axis.set(ylabel="test error", ylim=(0, 2.3 * top))
    axis.legend(loc="upper left")


def _draw_pairs(axis: Any, ours: Any, other: Any) -> None:
    """A pair of bars for each nonlinearity: sampled left, lazy right."""
    place = np.arange(len(KINDS))
    axis.bar(place - 0.2, ours, 0.36, color=[LOOKS[kind]["color"] for kind in KINDS])
    axis.bar([0], [0], color="0.35", label="sampled")
    axis.bar(place + 0.2, other, 0.36, color=LAZY, hatch="////", label="lazy")
    axis.set(xticks=place, xticklabels=[kind[:3] + "." for kind in KINDS])
