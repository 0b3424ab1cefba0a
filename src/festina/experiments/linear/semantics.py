"""Items and their features: how a deep linear network acquires the structure of a semantic world."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, Any

import festina as fs
from festina import claims, models
from festina._lazy import np, plt, xr
from festina.experiment import Arms, Experiment, Preset, Result, named
from festina.experiments._needs import require_case, require_enough
from festina.experiments.linear._common import model_of
from festina.figures.panels import DOTS, Looks, curves, frames, looks_of, note, path
from festina.sources import LECTURE, SAXE_2019
from festina.style import PALETTE, TWO_COLUMNS, letter, style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DEEP = {"depth": 2, "weights": "random", "features_of": "structure"}
OWNED = DEEP | {"features_of": "neighbourhoods"}
NETWORKS: dict[str, Any] = {
    "deep": DEEP,
    "deep from a tenth": DEEP | {"scale": lambda config: 0.1 * config.scale},
    "decoupled": DEEP | {"weights": "decoupled"},
    "shallow": DEEP | {"depth": 1},
    "owned, deep": OWNED,
    "owned, shallow": OWNED | {"depth": 1},
}
GREY: dict[str, Any] = {"color": "0.65"}  # of shallow networks


class Semantics(Experiment):
    """Deep linear networks learn broad distinctions first, in stages, and with illusory correlations on the way.

    Six networks have the same world and are cut from the same draw: two layers, the same from a tenth of the weights
    and from decoupled ones, one layer, and two and one that learn features of neighbourhoods, which items can lack.
    The model `semantic` says how fast each level of the world is learned, and what illusory correlations are.
    """

    name = "linear/semantics"
    sources = (SAXE_2019, LECTURE)
    arms = Arms(models.Semantic, network=named(**NETWORKS))
    seeds = 3
    quick = {"records": 150, "seeds": 2}
    presets = (
        Preset("tree", "Broad branches are told apart first, each in a stage; a shallow network learns all at once."),
        Preset("partition", "Classes are told apart before their members are.", {"structure": "partition"}),
        Preset("ring", "Slow waves round the ring are learned before fast ones.", {"structure": "ring"}),
        Preset("grid", "Broad gradients come first, but levels that nearly coincide may swap.", {"structure": "grid"}),
    )

    @claims.theory(claims.below(1e-8), source=SAXE_2019)
    def exact(self, result: Result) -> xr.DataArray:
        """From decoupled weights every level follows the closed form of a chain of two weights."""
        return _errors(result, "decoupled")

    @claims.theory(claims.below(0.05), source=SAXE_2019, loosely=claims.below(0.15))
    def random(self, result: Result) -> xr.DataArray:
        """From small random weights the closed form of decoupled weights holds to 5 %, with a₀ the part of them that
        grows.
        """
        return _errors(_small(result), "deep")

    @claims.paper(
        LECTURE.at("Progressive differentiation"),
        claims.above(0.0),
        reason="the source's scope: where levels nearly coincide random weights can swap them; "
        "see the experiment's description",
    )
    def progressive(self, result: Result) -> xr.DataArray:
        """Progressive differentiation: a deep network learns broad levels before fine ones (smallest step of the
        half-times from one level to the next).
        """
        times = _learned(result, "deep", 0.5)["half_time"]
        require_case(times.sizes["level"] > 1, "two levels at least")
        return times.diff("level").min("level")

    @claims.theory(claims.below(0.05), source=SAXE_2019)
    def half_time(self, result: Result) -> xr.DataArray:
        """Half of a level is learned by t½ = τ/(2s) ln(s/(λa₀) − 1), from small random weights (largest relative
        error over the levels).
        """
        times = _learned(_small(result), "deep", 0.5)["half_time"]
        return abs(times / result.solved["half_time"].sel(network="deep") - 1).max("level")

    @claims.theory(claims.below(0.01), source=SAXE_2019)
    def one_rate(self, result: Result) -> xr.DataArray:
        """A shallow network learns all levels at one rate, half of each by t½ = (τ/λ) ln 2 (largest relative
        error).
        """
        small, config, half = _small(result), result.config, _shallow_half_time(result)
        enough = config.until / (0.1 * half)  # for the half-time of an exponential, to 0.1 %
        require_enough(config.records >= enough, "recordings are too far apart", config, "records", enough)
        return abs(_learned(small, "shallow", 0.5)["half_time"] / half - 1).max("level")

    @claims.paper(LECTURE.at("Depth introduces stage-like transitions"), claims.below(0.05))
    def stages(self, result: Result) -> xr.DataArray:
        """Depth introduces stage-like transitions: (t90 − t10)/t10 of every level is below 5 % (our threshold) of the
        shallow network's.
        """
        return _stages(result, "deep") / _stages(result, "shallow")

    @claims.theory(claims.below(0.85))
    def sharper(self, result: Result) -> xr.DataArray:
        """From a tenth of the initial weights a deep network's transitions are more stage-like: (t90 − t10)/t10 is
        below .85 of that from the whole of them.
        """
        return _stages(result, "deep from a tenth") / _stages(result, "deep")

    @claims.paper(SAXE_2019.at("Illusory correlations"), claims.above(0.3), loosely=claims.above(0.05))
    def illusions(self, result: Result) -> xr.DataArray:
        """Illusory correlations: a deep network ascribes a neighbourhood's features to items just outside it by more
        than .3 (our threshold), and unlearns this.
        """
        illusion = _small(result)["illusion"].sel(network="owned, deep")
        first, last, most = illusion.isel(time=0), illusion.isel(time=-1), illusion.max("time")
        enough = model_of(result, network="owned, deep").time_of_all
        require_enough(last <= 0.1 * most, "not unlearned yet", result.config, "until", enough)
        return (most - xr.ufuncs.maximum(first, last)).min("radius")

    @claims.paper(SAXE_2019.at("Illusory correlations"), claims.below(1e-9))
    def no_illusions(self, result: Result) -> xr.DataArray:
        """A shallow network has no illusory correlations: what it ascribes to items outside a neighbourhood only
        decays from where it began (largest rise; our threshold, for rounding).
        """
        size = abs(result["illusion"].sel(network="owned, shallow"))
        return (size.max("time") - size.isel(time=0)).max("radius")

    def figure(self, result: Result) -> Figure:
        """Course of learning, layout of the items, their similarity, half-times, illusory correlations."""
        with style():
            figure = plt.figure(figsize=(TWO_COLUMNS, 4.5))
            rows = figure.add_gridspec(2, 1, height_ratios=(1.35, 1))
            top = rows[0].subgridspec(1, 2, width_ratios=(1.3, 1))
            bottom = rows[1].subgridspec(1, 3, width_ratios=(1.75, 1, 1.15))
            places = top[0], top[1], *bottom[0].subgridspec(1, 3), bottom[1], bottom[2]
            course, paths, *matrices, halves, illusions = (figure.add_subplot(place) for place in places)
            _draw_course(course, result)
            _draw_paths(paths, result)
            _draw_similarity(matrices, result)
            _draw_half_times(halves, result)
            _draw_illusions(illusions, result)
            letter(course, paths, matrices[0], halves, illusions)
        return figure


def _errors(result: Result, network: str) -> xr.DataArray:
    """Largest |simulation − theory| of the shares and of the loss relative to its start, for each run."""
    learned, loss = (abs(result[n] - result.solved[n]).sel(network=network) for n in ("learned", "loss"))
    require_case(loss.notnull().all(), "modes that share few hidden directions: a larger --hidden")
    relative = loss / result["loss"].sel(network=network).isel(time=0)
    return xr.ufuncs.maximum(learned, relative).max(["time", "level"], skipna=False)


def _learned(result: Result, network: str, share: float) -> xr.Dataset:
    """What is known of a network, if by the end it has learned a share of each level."""
    data = result.data.sel(network=network)
    start = data["growing"].isel(time=0).transpose("run", "level").values
    learned, why = data["learned"].isel(time=-1) >= share, f"the network `{network}` is still learning"
    times = model_of(result, network=network).time_to_learn
    require_enough(learned, why, result.config, "until", lambda: times(start, share).max())
    return data


def _shallow_half_time(result: Result) -> float:
    return log(2.0) / model_of(result, network="shallow").world().input_variance


def _small(result: Result) -> Result:
    """The result, if random weights begin with next to nothing of any level."""
    start = result["growing"].sel(network="deep").isel(time=0)
    require_case(float(start.max()) <= 0.01, "small initial weights, a smaller --scale")
    return result


def _stages(result: Result, network: str) -> xr.DataArray:
    data = _learned(result, network, 0.9)
    begun = data["learned"].isel(time=0)
    require_case((begun < 0.1).all(), "a smaller --scale: a tenth is there from the beginning")
    return data["stage"]


def _looks(result: Result) -> dict[Any, dict[str, Any]]:
    """A colour for each level of the world."""
    return looks_of(result["level"].values, lines=("-",))


def _halves(result: Result) -> np.ndarray:
    """When the deep network of the first run knows half of each level; the end, for what it does not know by then."""
    return result["half_time"].sel(network="deep").isel(run=0).fillna(result["time"][-1].item()).values


def _draw_both(axis: Axes, result: Result, name: str, kind: str, looks: Looks, **shared: Any) -> None:
    """Curves of two layers in colours and of one in grey, the closed forms as lines."""
    grey: dict[str, Any] = shared | {"looks": dict.fromkeys(looks, GREY), "label": lambda _: ""}
    curves(axis, result, name, network=f"{kind}shallow", **grey)
    curves(axis, result, name, looks=looks, network=f"{kind}deep", **shared)


def _draw_course(axis: Axes, result: Result) -> None:
    """Levels of the first run, deep and shallow, with the closed forms as lines."""
    looks, half = _looks(result), _halves(result)
    labels = {level: level if len(looks) <= 5 or n in (0, len(looks) - 1) else "" for n, level in enumerate(looks)}
    shared: dict[str, Any] = {"by": "level", "label": labels.__getitem__, "every": max(1, result.config.records // 150)}
    _draw_both(axis, result, "learned", "", looks, **shared)
    axis.plot([], [], **GREY, label="shallow, all levels")
    axis.plot([], [], color="0.3", **DOTS, label="simulation")
    axis.set(xlim=(0, min(2.2 * half.max(), float(result["time"][-1]))), ylim=(-0.02, 1.04))
    axis.set(ylabel="share of level learned", title="Broad distinctions first, each in a stage")
    axis.legend(loc="lower right", fontsize=7)


def _draw_paths(axis: Axes, result: Result) -> None:
    """Hidden representations in the plane, from the common start to one place for each item."""
    apart, deep = model_of(result, network="deep").apart(), result.data.sel(network="deep").isel(run=0)
    hue, shape = (np.unique(apart <= max(apart.max() - up, 0), axis=0, return_inverse=True)[1].ravel() for up in (1, 2))
    shown = deep["similarity"].sel(time=slice(0, 1.6 * _halves(result).max()))
    for item, course in enumerate(fs.measures.planar_paths(shown.values).transpose(1, 0, 2)):
        color = PALETTE[hue[item] % len(PALETTE)]
        end = {"marker": "oD^svh"[shape[item] % 6], "ms": 5, "mec": "white", "mew": 0.7}
        path(axis, course, color=color, lw=1.0, end=end)
    axis.plot(0, 0, "+", color="black", ms=7, mew=1.2, zorder=4)
    note(axis, "t = 0", (0, 0), (0, 14), ha="center")
    axis.set(aspect="equal", xlabel="hidden representation, axis 1 (a.u.)", ylabel="axis 2 (a.u.)")
    axis.set_title("One cloud splits again and again")


def _draw_similarity(axes: Sequence[Axes], result: Result) -> None:
    """Inner products of the hidden representations, at three moments between the stages."""
    deep, halves = result.data.sel(network="deep").isel(run=0), np.sort(_halves(result))
    moments = np.array([halves[0], *(halves[:-1] + halves[1:]) / 2, 1.6 * halves[-1]])
    chosen = np.linspace(min(2, len(moments) - 3), len(moments) - 1, 3).round().astype(int)
    frames(axes, deep["similarity"].sel(time=moments[chosen], method="nearest"), "inner product of representations")
    axes[0].set_ylabel("items")
    axes[1].set_title("Similarity of items")


def _draw_half_times(axis: Axes, result: Result) -> None:
    """Measured against predicted half-times, for every run and level."""
    measured, predicted = result["half_time"], result.solved["half_time"]
    for network, marker, label in (("deep", "o", "deep"), ("deep from a tenth", "s", "deep (init ÷ 10)")):
        for level, look in _looks(result).items():
            pair = (times.sel(network=network, level=level) for times in (predicted, measured))
            axis.plot(*pair, marker, ms=4, mfc="none", mew=0.9, color=look["color"])
        axis.plot([], [], marker, color="0.3", ms=4, mfc="none", label=label)
    shallow = measured.sel(network="shallow").values.ravel()
    axis.plot(np.full_like(shallow, _shallow_half_time(result)), shallow, "x", color="0.45", ms=5, label="shallow")
    most = 1.1 * float(predicted.sel(network="deep from a tenth").max())
    axis.plot([0, most], [0, most], color="0.7", lw=0.8, zorder=0)
    axis.set(xlim=(0, most), ylim=(0, most), xlabel="predicted t½ / τ", ylabel="measured t½ / τ", title="Half-times")
    axis.locator_params(nbins=4)
    axis.legend(loc="upper left", fontsize=6.5, handletextpad=0.1)


def _draw_illusions(axis: Axes, result: Result) -> None:
    """Features seen where they are not, by how many items rightly own them."""
    radii, colors = result["radius"].values, [look["color"] for look in _looks(result).values()]
    owners = (model_of(result, network="deep").apart()[..., None] <= radii).sum(axis=1).max(axis=0)
    nested = result.config.structure in ("tree", "partition")
    looks = {radius: {"color": colors[-1 - radius]} for radius in radii}  # the finest level ends that of single items
    labels = {n: f"{count} item" + "s" * int(count > 1) if nested else f"radius {n}" for n, count in enumerate(owners)}
    shared: dict[str, Any] = {"by": "radius", "label": labels.__getitem__, "every": max(1, result.config.records // 50)}
    _draw_both(axis, result, "illusion", "owned, ", looks, **shared)
    axis.plot([], [], **GREY, label="shallow")
    axis.set(ylim=(None, 1.25 * float(result["illusion"].max())), xlim=(0, result["time"][-1]))
    axis.set(ylabel="response (truth: 0)", title="Illusory correlations")
    axis.legend(loc="best", fontsize=6.5, title="owned by", title_fontsize=6.5)
