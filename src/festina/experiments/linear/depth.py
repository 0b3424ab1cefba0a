"""How long networks of growing depth train, from five kinds of initial weights."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Experiment, ExperimentConfig, Preset, Result, continuous, named
from festina.experiments._needs import require_case
from festina.figures.panels import Page, curves, shades
from festina.models.linear_stack import TRAINED, time_to_loss
from festina.sources import BRAUN_2022, LECTURE, SAXE_2013
from festina.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, THEORY, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

JUDGED = 30.0  # τ/s; at depth 2 rounding errors free square networks from their saddle after more than twice that
LOSS = "loss / loss at zero weights"
ENOUGH = 40  # networks, for a share with a standard error below .08
LARGE = {"gain": lambda config: config.large}
SQUARE = dict.fromkeys(("width", "inputs", "outputs"), lambda config: config.outputs)
LOOKS = {
    "small": ("s", BLUE, "small, aligned"),
    "gaussian": ("o", VERMILLION, "small, Gaussian"),
    "pretrained": ("v", ORANGE, "pretrained, then trained"),
    "orthogonal": ("^", PURPLE, "random orthogonal"),
    "aligned": ("D", GREEN, "aligned orthogonal"),
}


class Depth(Experiment):
    """Training time is exponential in depth from small weights, linear with pretraining, constant from orthogonal ones.

    Rectangular networks, with fewer outputs than units, learn one target from five starts: *small* and *gaussian*
    weights of a gain b below 1, aligned with the modes of the target or normal; *aligned* and random *orthogonal* ones
    of a gain near 1; and Gaussian ones that are *pretrained* layer by layer, each until its reconstruction error is
    at a given level. The time they take grows by 1/b per layer from Gaussian weights only from some depth on. *Square*
    networks, in which all layers are square and random orthogonal, and S = sO, are a case of their own: half of all
    starts never get trained, for a balanced product cannot change the sign of its determinant. (At D = 2 rounding
    errors let a simulation escape that saddle after about 75 τ/s; it is judged, and compared with theory, before.)
    """

    name = "linear/depth"
    sources = (SAXE_2013, LECTURE, BRAUN_2022)
    arms = Arms(
        models.LinearStack,
        start=named(
            small={"initial": "aligned"},
            gaussian={"initial": "gaussian"},
            aligned={"initial": "aligned"} | LARGE,
            orthogonal={"initial": "orthogonal"} | LARGE,
            pretrained={"initial": "pretrained"},
            square={"initial": "orthogonal", "spread": 1.0} | LARGE | SQUARE,
        ),
        depth=(2, 4, 8, 16, 32, 64),
    )
    base = {"gain": 0.75}
    seeds = 8
    quick = {"seeds": 3, "depth": (2, 4, 8), "until": 40.0, "records": 100}
    presets = (
        Preset(
            "five starts",
            "Small weights take exponentially long, pretrained ones a time linear in depth, orthogonal ones a constant "
            "time.",
        ),
        Preset(
            "smaller weights", "At a gain of 0.5 each further layer nearly doubles the training time.", {"gain": 0.5}
        ),
        Preset(
            "pretraining cut short",
            "Layers that stop at a reconstruction error of 10 % hand on less and less: each takes longer than the "
            "last, and the total is no longer linear.",
            {"level": 0.1, "depth": (2, 8, 32)},
        ),
    )

    class Config(ExperimentConfig):
        large: float = continuous(1.0, ge=0.1, le=2, help="gain of a layer with aligned or random orthogonal weights")

    @claims.theory(claims.below(1e-6))
    def exact(self, result: Result) -> xr.DataArray:
        """Aligned networks follow chains, random orthogonal ones a flow of three matrices, and square ones straight
        lines: largest error of loss and determinant.
        """
        loss, determinant = (abs(result[name] - result.solved[name]) for name in ("loss", "determinant"))
        sound = (result["depth"] > 2) | (result["time"] < JUDGED / result.config.strength)
        known = loss.sel(start=["small", "aligned", "orthogonal"]).max(["time", "start", "depth"], skipna=False)
        square = xr.ufuncs.maximum(loss, determinant).sel(start="square", drop=True).where(sound, 0.0)
        return xr.ufuncs.maximum(known, square.max(["time", "depth"], skipna=False))

    @claims.theory(claims.near(1.0, 0.15), source=LECTURE.at("Training speed"), loosely=claims.between(0.7, 1.3))
    def small(self, result: Result) -> xr.DataArray:
        """From small aligned weights training takes b^(2−D)/(s(1−2/D)), exponential in depth: measured over predicted
        time of the deepest network trained.
        """
        times = _late(result, "small")
        trained = times.where(np.isfinite(times) & (times["depth"] > 2), drop=True).sortby("depth")
        require_case(trained.size, "a depth above 2 that gets trained from small weights")
        return (trained / law(result, trained["depth"])).isel(depth=-1)

    @claims.paper(
        LECTURE.at("Effect of initialization, small random weights"),
        claims.near(1.0, 0.3),
        loosely=claims.between(0.5, 2.0),
        reason="the source's scope: it is a law for large depths; see the experiment's description",
    )
    def gaussian(self, result: Result) -> float:
        """From small random weights training time scales as b^(−D): growth of ln t per layer from D = 4 on, over
        ln(1/b) (our tolerance).
        """
        times = _late(result, "gaussian")
        seen = _from_four(times.where(np.isfinite(times), drop=True), " that get trained from Gaussian weights")
        return float(np.polyfit(seen["depth"], np.log(seen), 1)[0]) / log(1 / result.config.gain)

    @claims.paper(LECTURE.at("Effect of initialization, orthogonal"), claims.near(0.0, 0.25))
    def aligned(self, result: Result) -> float:
        """From aligned orthogonal weights training time does not depend on depth: exponent of its growth as a power of
        D, from D = 4 on (our tolerance; linear would be 1).
        """
        return exponent(result["training_time"].sel(start="aligned").median("run", skipna=False))

    @claims.paper(LECTURE.at("Effect of initialization, orthogonal"), claims.between(0.95, 1.0))
    def orthogonal(self, result: Result) -> xr.DataArray:
        """From random orthogonal weights networks with fewer outputs than units get trained at every depth: share of
        networks, .95 at least (our threshold).
        """
        return _orthogonal_times(result).notnull()

    @claims.paper(LECTURE.at("Effect of initialization, orthogonal"), claims.near(0.0, 0.25))
    def orthogonal_median(self, result: Result) -> float:
        """From random orthogonal weights, with fewer outputs than units, median training time does not depend on depth:
        exponent of D, from D = 4 on (our tolerance; linear would be 1).
        """
        return exponent(_orthogonal_times(result).median("run", skipna=False))

    @claims.paper(LECTURE.at("Effect of initialization, orthogonal"), claims.near(0.0, 0.25))
    def orthogonal_mean(self, result: Result) -> float:
        """From random orthogonal weights, with fewer outputs than units, mean training time does not depend on depth:
        exponent of D, from D = 4 on (our tolerance; linear would be 1).
        """
        return exponent(_orthogonal_times(result).mean("run", skipna=False))

    @claims.paper(LECTURE.at("Effect of initialization, pretraining + fine-tuning"), claims.near(1.0, 0.25))
    def pretrained(self, result: Result) -> xr.DataArray:
        """Pretraining + fine-tuning scales linearly with depth: time for one more layer, between the two largest depths
        over the two smallest (our tolerance).
        """
        return cost_of_a_layer(result["training_time"].sel(start="pretrained"))

    @claims.theory(claims.below(1e-5))
    def stage(self, result: Result) -> xr.DataArray:
        """Pretraining the first layer is a sum of sigmoids, and takes a logarithm of its weights: relative error of its
        duration.
        """
        seen, known = (_stages(data).isel(layer=0) for data in (result.data, result.solved))
        return abs(seen / known - 1)

    @claims.theory(claims.between(0.95, 1.0), source=BRAUN_2022)
    def determinant(self, result: Result) -> xr.DataArray:
        """A square random orthogonal network gets trained if, and only if, its determinant has the sign of the target's
        (share of networks).
        """
        return has_right_sign(result) == _square_is_trained(result)

    @claims.theory(claims.near(0.5, 0.15), budget="full")
    def half(self, result: Result) -> xr.DataArray:
        """Half of all random orthogonal starts of square networks have the wrong determinant sign, and never get
        trained.
        """
        trained = _square_is_trained(result)
        if trained.size < ENOUGH:
            needed = -(-ENOUGH // trained.sizes["depth"])
            raise claims.Undecided(f"too few networks for a share of them: needs --seeds {needed}")
        return ~trained

    def figure(self, result: Result) -> Figure:
        """Training times, courses at every depth, durations of pretraining, and what becomes of square networks."""
        with Page(2, 2, height=5.4, width_ratios=(1.15, 1)) as page:
            _draw_times(page[0], result)
            _draw_courses(page[1], result)
            _draw_stages(page[2], result)
            _draw_fates(page[3], result)
        return page.figure


def law(result: Result, depth: np.ndarray | xr.DataArray) -> np.ndarray | xr.DataArray:
    """The lecture's law with its prefactor, b^(2−D)/(s(1−2/D)), for D > 2."""
    return result.config.gain ** (2.0 - depth) / (result.config.strength * (1 - 2 / depth))


def _late(result: Result, start: str) -> xr.DataArray:
    """The median training time over runs; a network that is not there yet counts as infinitely late."""
    return result["training_time"].sel(start=start, drop=True).fillna(np.inf).median("run")


def _from_four(times: xr.DataArray, which: str = "") -> xr.DataArray:
    """The times at depths from 4 on: at 2, where 1 − 2/D is zero, laws for deep networks do not hold."""
    seen = times.where(times["depth"] >= 4, drop=True)
    require_case(seen.size > 1, f"two depths at least, from 4 on{which}")
    return seen


def exponent(times: xr.DataArray) -> float:
    """The slope of ln t over ln D, from 4 on, of one time for each depth; NaN if one is missing."""
    seen = _from_four(times)
    return float(np.polyfit(np.log(seen["depth"]), np.log(seen), 1)[0]) if np.isfinite(seen).all() else np.nan


def _orthogonal_times(result: Result) -> xr.DataArray:
    """Training times from random orthogonal weights, if there are fewer outputs than units."""
    require_case(result.config.outputs < result.config.width, "fewer outputs than units")
    return result["training_time"].sel(start="orthogonal")


def cost_of_a_layer(times: xr.DataArray) -> xr.DataArray:
    """What one more layer costs, between the two largest depths over the two smallest, by run."""
    require_case(times.sizes["depth"] > 2, "three depths at least")
    times = times.sortby("depth")
    costs = times.diff("depth") / times["depth"].diff("depth")
    return costs.isel(depth=-1, drop=True) / costs.isel(depth=0, drop=True)


def _stages(data: xr.Dataset) -> xr.DataArray:
    """How long the layers of the deepest pretrained network took."""
    return data["pretraining"].sel(start="pretrained", depth=data["depth"].max(), drop=True)


def _square_is_trained(result: Result) -> xr.DataArray:
    """Which square networks get trained, those of depth 2 before rounding errors matter."""
    times = result["training_time"].sel(start="square", drop=True)
    return times.notnull() & ((times["depth"] > 2) | (times < JUDGED / result.config.strength))


def has_right_sign(result: Result) -> xr.DataArray:
    """Which of them start with a determinant of the sign of the target's."""
    return result["determinant"].sel(start="square", drop=True).isel(time=0, drop=True) > 0


def _draw_times(axis: Axes, result: Result) -> None:
    """Runs as small markers and their median as a large one; an arrow where that is not trained when last seen."""
    depths, every = result["depth"].values, result["training_time"]
    highest = 12 * float(np.nanmax([result.config.until, *every.values.ravel()]))
    for start, (marker, color, label) in LOOKS.items():
        medians, runs = _late(result, start), every.sel(start=start).transpose("depth", "run")
        axis.plot(depths, runs, marker, color=color, ms=2.2, mew=0, alpha=0.45)
        axis.plot(depths, medians, marker, color=color, ms=4.8, label=label)
        for depth in depths[~np.isfinite(medians)]:
            place = depth * (1.05 if start == "gaussian" else 1 / 1.05)  # two arrows at one depth can be told apart
            look = {"arrowstyle": "->", "color": color, "lw": 1.1}
            axis.annotate("", (place, highest * 0.9), (place, highest * 0.35), arrowprops=look)
            white = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
            axis.text(depth, highest * 0.3, "not yet", fontsize=6, color=GREY, ha="center", va="top", bbox=white)
    for start in ("small", "orthogonal", "aligned"):
        axis.plot(depths, time_to_loss(result.solved["loss"].sel(start=start)).fillna(np.inf).median("run"), **THEORY)
    pretrained = _late(result, "pretrained").sortby("depth")
    if pretrained.size > 1:  # what they would take if every layer cost what those between the two smallest depths do
        (low, high), (first, second) = pretrained["depth"].values[:2], pretrained.values[:2]
        fine = np.geomspace(low, max(depths), 100)
        line = first + (fine - low) * (second - first) / (high - low)
        axis.plot(fine, line, color=ORANGE, lw=0.9, ls=":", label="linear in D")
    deep = np.geomspace(4, max(8, *depths), 200)
    axis.plot(deep, law(result, deep), color=BLUE, lw=0.9, ls=":", label="law $b^{2-D}/s(1-2/D)$")
    axis.plot([], [], **THEORY, label="theory")
    axis.set(xscale="log", yscale="log", xlabel="depth D", ylabel="training time / τ", ylim=(0.4, highest))
    axis.set_xticks(depths, [str(depth) for depth in depths])
    axis.minorticks_off()
    axis.legend(loc="lower left", fontsize=6.5, ncols=3, bbox_to_anchor=(-0.12, 1.0), columnspacing=1.0)


def _draw_courses(axis: Axes, result: Result) -> None:
    """Loss of the first run at every depth, from random orthogonal and from Gaussian weights."""
    depths = sorted(result.config.depth)
    colors = shades(0.0, 1.11).to_rgba(np.linspace(0.0, 1.0, len(depths)))
    for start, line, label in (("orthogonal", "-", str), ("gaussian", (0, (1, 1)), lambda depth: "")):
        looks = {depth: {"color": color, "ls": line} for depth, color in zip(depths, colors, strict=True)}
        curves(axis, result, "loss", by="depth", looks=looks, label=label, log=True, every=3, start=start)
    axis.axhline(TRAINED, color=GREY, lw=0.7)
    axis.text(1.3e-2, TRAINED * 1.15, "trained", fontsize=6.5, color=GREY, va="bottom")
    axis.text(1.3e-2, TRAINED * 5, "solid: orthogonal\n(dots: simulated)\ndotted: Gaussian", fontsize=6.5)
    axis.set(yscale="log", xlim=(1e-2, None), ylim=(2e-3, 3), ylabel=LOSS)
    above = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": 6, "columnspacing": 1.0}
    axis.legend(title="depth D", title_fontsize=6.5, fontsize=6.5, **above)


def _draw_stages(axis: Axes, result: Result) -> None:
    """How long each layer was pretrained: runs as dots, their mean as a line."""
    stages, known = _stages(result.data), _stages(result.solved).isel(layer=0).mean("run")
    axis.plot(stages["layer"], stages.transpose("layer", "run"), "o", color=ORANGE, ms=2.2, mew=0, alpha=0.5)
    axis.plot(stages["layer"], stages.mean("run"), color=ORANGE, label="mean of runs")
    axis.plot(1, known, "x", color=BLACK, ms=5, mew=1, label="first layer, theory")
    axis.set(xlabel="layer", ylabel="duration of its pretraining / τ", ylim=(0, 1.35 * float(stages.max())))
    title = f"stopped at an error of {result.config.level:g}"
    axis.legend(loc="upper right", fontsize=6.5, title=title, title_fontsize=6.5)


def _draw_fates(axis: Axes, result: Result) -> None:
    """Loss of the deepest square networks, by the sign of their determinant."""
    depth, saddle = max(result.config.depth), 1 / result.config.outputs
    at = {"start": "square", "depth": depth}
    loss, known = (data["loss"].sel(at).isel(time=slice(1, None)) for data in (result.data, result.solved))
    right = has_right_sign(result).sel(depth=depth).values
    for run, color in enumerate(np.where(right, BLUE, VERMILLION)):
        axis.plot(loss["time"], loss.isel(run=run), color=color, lw=1.3)
        axis.plot(loss["time"], known.isel(run=run), **THEORY)
    axis.plot([], [], color=BLUE, label=f"sign of det S ({right.sum()} of {len(right)})")
    axis.plot([], [], color=VERMILLION, label=f"other sign ({(~right).sum()} of {len(right)})")
    axis.plot([], [], **THEORY, label="theory")
    axis.axhline(saddle, color=GREY, lw=0.7)
    axis.text(1.3e-2, saddle * 0.96, "saddle", fontsize=6.5, color=GREY, va="top")
    axis.legend(loc="upper right", fontsize=6.5, title=f"square, D = {depth}: determinant has", title_fontsize=6.5)
    axis.set(xscale="log", xlim=(1e-2, None), ylim=(0, None), xlabel="time t / τ", ylabel=LOSS)
