"""Predictors of sampled networks against those of lazy ones: means, variances, and the errors they make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import festina as fs
from festina._lazy import np
from festina.claims import NotApplicable
from festina.experiments.coding._comparison import long_enough, picked
from festina.figures.style import BLUE, GREEN, THEORY, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from festina.experiment import Result
    from festina.theory.coding import Predictor

    Parts = Predictor | tuple[np.ndarray, ...]

SHIFT = 0.05  # rms difference up to which mean predictors count as identical
SCOPE = (
    "the source's scope: its abstract says this of linear networks, and only a summary of it of all; see the "
    "experiment's description"
)
SHORT = "our budget: longer chains are worth more draws"
LOOKS: dict[str, dict[str, Any]] = {
    "linear": {"color": BLUE, "marker": "o"},
    "sigmoidal": {"color": VERMILLION, "marker": "s"},
    "rectified": {"color": GREEN, "marker": "^"},
}
LAZY = "0.55"
FROZEN = "each chain of sigmoidal networks is frozen at its own shares of codes; see the experiment's description"


def sampled(result: Result, **where: Any) -> Predictor:
    """Mean and variance of the predictor over draws of all runs together: (input, output) each."""
    last = picked(long_enough(result).data, **where)
    if "mean" not in last:
        raise NotApplicable("needs --tests 1 or more")
    mean, square = (last[name].mean("run").transpose(..., "output").values for name in ("mean", "square"))
    return fs.theory.coding.Predictor(mean, square - mean**2)


def errors(ours: Parts, lazy: Parts, targets: np.ndarray) -> dict[str, float]:
    """Mean square errors per output, of the mean and by variance; lazy and not."""
    found = {}
    for name, (mean, variance) in {"": ours, "lazy ": lazy}.items():
        found[f"{name}mean"] = float(np.mean((mean - targets) ** 2))
        found[f"{name}variance"] = float(variance.mean())
    return found


def cold_enough(shift: float) -> None:
    """Refuse temperatures at which mean predictors of linear networks differ from lazy ones in theory already."""
    if shift > SHIFT:
        raise NotApplicable(
            f"needs a lower --temperature: means are identical as T → 0, and in theory {shift:.2g} apart here"
        )


def rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def draw_means(axis: Axes, pairs: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> None:
    """Mean predictors of each nonlinearity against the lazy ones, for all inputs and outputs: (lazy, sampled)."""
    for kind, (lazy, ours) in pairs.items():
        axis.plot(lazy.ravel(), ours.ravel(), ls="none", ms=2.5, mfc="none", mew=0.6, label=kind, **LOOKS[kind])
    every = np.concatenate([part.ravel() for pair in pairs.values() for part in pair])
    low, high = every.min(), every.max()
    axis.plot([low, high], [low, high], color="0.5", lw=0.8, zorder=0)
    axis.set(xlabel="mean predictor, lazy", ylabel="mean predictor, sampled")
    axis.set_ylim(low - 0.1, high + 0.45 * (high - low))
    axis.legend(loc="upper left", handletextpad=0.2)


def draw_variances(axis: Axes, found: Mapping[str, dict[str, float]], theory: Mapping[str, float]) -> None:
    """Variances of predictors, sampled and lazy, and what theory has for some nonlinearities."""
    ours, lazy = ([each[name] for each in found.values()] for name in ("variance", "lazy variance"))
    _draw_pairs(axis, ours, lazy, list(found))
    for at, kind in enumerate(found):
        if kind in theory:
            axis.plot([at - 0.42, at + 0.02], [theory[kind]] * 2, **THEORY)
    axis.bar([0], [0], color=BLUE, label="sampled")
    axis.bar([0], [0], facecolor=LAZY, hatch="///", label="lazy")
    axis.plot([], [], label="theory", **THEORY)
    axis.set(yscale="log", ylabel="variance of the predictor", ylim=(0.3 * min(*theory.values(), *ours), 10))
    axis.legend(loc="upper left", ncols=3, columnspacing=0.7, handlelength=1.2)


def draw_errors(axis: Axes, found: Mapping[str, dict[str, float]]) -> None:
    """Errors of the mean, with the variance on top."""
    ours, lazy = ([each[name] for each in found.values()] for name in ("mean", "lazy mean"))
    _draw_pairs(axis, ours, lazy, list(found))
    for at, (kind, each) in enumerate(found.items()):
        axis.bar(at - 0.2, each["variance"], 0.36, bottom=each["mean"], color="none", edgecolor=LOOKS[kind]["color"])
        axis.bar(at + 0.2, each["lazy variance"], 0.36, bottom=each["lazy mean"], color="none", edgecolor=LAZY)
    axis.bar([0], [0], color="0.4", label="of the mean")
    axis.bar([0], [0], color="none", edgecolor="0.4", label="by variance")
    axis.set(ylabel="test error", xlabel="left: sampled, right: lazy")
    axis.set_ylim(0, 1.4 * axis.get_ylim()[1])
    axis.legend(loc="upper left")


def _draw_pairs(axis: Axes, ours: list[float], lazy: list[float], kinds: list[str]) -> None:
    """A pair of bars for each nonlinearity: sampled left, lazy right."""
    place = np.arange(len(kinds))
    axis.bar(place - 0.2, ours, 0.36, color=[LOOKS[kind]["color"] for kind in kinds])
    axis.bar(place + 0.2, lazy, 0.36, color=LAZY, hatch="///")
    axis.set(xticks=place, xticklabels=kinds)
