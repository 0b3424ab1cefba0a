"""Predictors of sampled networks against those of lazy ones: means, variances, and the errors they make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import festina as fs
from festina._lazy import np
from festina.claims import NotApplicable
from festina.experiments.coding._comparison import long_enough, network_of, picked
from festina.models._wide import KINDS
from festina.style import BLUE, GREEN, THEORY, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from festina.experiment import Result
    from festina.models._sampled import SampledNetwork
    from festina.theory.coding import Predictor

SHIFT = 0.05  # rms difference up to which mean predictors count as identical
SCOPE = (
    "the source's scope: its abstract says this of linear networks, and only a summary of it of all; see the "
    "experiment's description"
)
LOOKS: dict[str, dict[str, Any]] = {
    "linear": {"color": BLUE, "marker": "o"},
    "sigmoidal": {"color": VERMILLION, "marker": "s"},
    "rectified": {"color": GREEN, "marker": "^"},
}
LAZY = "0.55"
ALL = slice(None)


def sampled(result: Result, **where: Any) -> Predictor:
    """Mean and variance of the predictor over draws of all runs together: (input, output) each."""
    last = picked(result.data, **where)
    if "mean" not in last:
        raise NotApplicable("needs --tests 1 or more")
    mean, square = (last[name].mean("run").transpose(..., "output").values for name in ("mean", "square"))
    return fs.theory.coding.Predictor(mean, square - mean**2)


class Compared(NamedTuple):
    """Predictors of sampled and of lazy networks at the same inputs, and what they should answer there."""

    ours: Predictor
    lazy: Predictor
    targets: np.ndarray

    @property
    def shift(self) -> float:
        """The rms difference of the means."""
        return rms(self.ours.mean - self.lazy.mean)

    @property
    def errors(self) -> dict[str, float]:
        """Mean square errors per output, of the mean and by variance, and the share of classes the mean has right."""
        found, labels = {}, self.targets.argmax(axis=1)
        for name, (mean, variance) in {"": self.ours, "lazy ": self.lazy}.items():
            found[f"{name}mean"] = float(np.mean((mean - self.targets) ** 2))
            found[f"{name}variance"] = float(variance.mean())
            found[f"{name}accuracy"] = float(np.mean(mean.argmax(axis=1) == labels))
        return found

    def over_lazy(self, *parts: str) -> float:
        """Some parts of the error together, over the same of the lazy network."""
        ours, lazy = (sum(self.errors[f"{name}{part}"] for part in parts) for name in ("", "lazy "))
        return ours / lazy


def compared(result: Result, kind: str, those: slice = ALL) -> Compared:
    """Predictors of one nonlinearity at some of its test inputs; refused if chains are too short."""
    return _compared(long_enough(result), kind, those)


def all_compared(result: Result, those: slice = ALL) -> dict[str, Compared]:
    """Those of every nonlinearity there is, however short chains are; for figures."""
    return {kind: _compared(result, kind, those) for kind in KINDS if kind in result["nonlinearity"]}


def _compared(result: Result, kind: str, those: slice) -> Compared:
    model = network_of(result, nonlinearity=kind)
    both = sampled(result, nonlinearity=kind), model.predictor(lazy=True)
    ours, lazy = (type(each)(*(part[those] for part in each)) for each in both)
    return Compared(ours, lazy, model.world().class_targets[model.test_labels()][those])


def linear_shift(model: SampledNetwork, those: slice = ALL) -> float:
    """The rms difference of the mean predictor of linear networks from the lazy one, in theory; 0 as T → 0."""
    return rms((model.predictor().mean - model.predictor(lazy=True).mean)[those])


def cold_enough(result: Result, those: slice = ALL) -> None:
    """Refuse temperatures at which mean predictors of linear networks differ from lazy ones in theory already."""
    shift = linear_shift(network_of(result, nonlinearity="linear"), those)
    if shift > SHIFT:
        raise NotApplicable(
            f"needs a lower --temperature: means are identical as T → 0, and in theory {shift:.2g} apart here"
        )


def rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))


def draw_pairs(
    axis: Axes,
    pairs: Mapping[str, tuple[np.ndarray, np.ndarray]],
    labels: tuple[str, str] = ("mean predictor, sampled", "mean predictor, lazy"),
    scaled: bool = False,
) -> None:
    """Numbers of each nonlinearity against others that they should equal: (ours, other), over our largest if scaled."""
    size = {kind: np.abs(ours).max(initial=1e-300) if scaled else 1.0 for kind, (ours, _) in pairs.items()}
    points = {kind: [np.ravel(part) / size[kind] for part in pair] for kind, pair in pairs.items()}
    for kind, (ours, other) in points.items():
        axis.plot(other, ours, ls="none", ms=2.5, mfc="none", mew=0.6, label=kind, **LOOKS[kind])
    every = np.concatenate([part for pair in points.values() for part in pair])
    low, high = every.min(), every.max()
    axis.plot([low, high], [low, high], color="0.5", lw=0.8, zorder=0)
    axis.set(ylabel=labels[0], xlabel=labels[1], ylim=(low - 0.1, high + 0.45 * (high - low)))
    axis.legend(loc="upper left", handletextpad=0.2)


def draw_variances(
    axis: Axes, found: Mapping[str, dict[str, float]], theory: Mapping[str, float], narrow: bool = False
) -> None:
    """Variances of predictors, sampled and lazy, and what theory has for some nonlinearities."""
    ours, lazy = ([each[name] for each in found.values()] for name in ("variance", "lazy variance"))
    _draw_bars(axis, ours, lazy, list(found), narrow)
    for at, kind in enumerate(found):
        if kind in theory:
            axis.plot([at - 0.42, at + 0.02], [theory[kind]] * 2, **THEORY)
    axis.bar([0], [0], color=BLUE, label="sampled")
    axis.bar([0], [0], facecolor=LAZY, hatch="///", label="lazy")
    axis.plot([], [], label="theory", **THEORY)
    top = 3e3 * max(lazy) if narrow else 10
    axis.set(yscale="log", ylabel="variance of the predictor", ylim=(0.3 * min([*theory.values(), *ours]), top))
    axis.legend(loc="upper left", ncols=1 if narrow else 3, columnspacing=0.7, handlelength=1.2)


def draw_errors(axis: Axes, found: Mapping[str, dict[str, float]], narrow: bool = False) -> None:
    """Errors of the mean, with the variance on top; where it is ``narrow``, with the share of classes right above."""
    ours, lazy = ([each[name] for each in found.values()] for name in ("mean", "lazy mean"))
    _draw_bars(axis, ours, lazy, list(found), narrow)
    for at, (kind, each) in enumerate(found.items()):
        for name, place, color in (("", at - 0.2, LOOKS[kind]["color"]), ("lazy ", at + 0.2, LAZY)):
            mean, variance = each[f"{name}mean"], each[f"{name}variance"]
            axis.bar(place, variance, 0.36, bottom=mean, color="none", edgecolor=color)
            if narrow:
                share = {"textcoords": "offset points", "rotation": 90, "ha": "center", "va": "bottom", "fontsize": 6.5}
                axis.annotate(f"{each[f'{name}accuracy']:.0%}", (place, mean + variance), (0, 2), **share)
    axis.bar([0], [0], color="0.4", label="of the mean")
    axis.bar([0], [0], color="none", edgecolor="0.4", label="by variance")
    axis.set(ylabel="test error", xlabel="sampled | lazy" if narrow else "left: sampled, right: lazy")
    axis.set_ylim(0, (1.8 if narrow else 1.4) * axis.get_ylim()[1])
    axis.legend(loc="upper left")


def _draw_bars(axis: Axes, ours: list[float], lazy: list[float], kinds: list[str], narrow: bool) -> None:
    """A pair of bars for each nonlinearity: sampled left, lazy right."""
    place = np.arange(len(kinds))
    axis.bar(place - 0.2, ours, 0.36, color=[LOOKS[kind]["color"] for kind in kinds])
    axis.bar(place + 0.2, lazy, 0.36, color=LAZY, hatch="///")
    axis.set(xticks=place, xticklabels=[f"{kind[:3]}." for kind in kinds] if narrow else kinds)
