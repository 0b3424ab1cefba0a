"""From saddle to saddle: where a deep linear network rests while it learns, and how it gets away."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, Any

import festina as fs
from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Experiment, ExperimentConfig, Preset, Result, continuous, named
from festina.experiments._needs import require_case, require_enough
from festina.experiments.linear._common import model_of
from festina.figures.panels import Page, looks_of, pairs
from festina.sources import LECTURE, SAXE_2013
from festina.style import BLUE, GREY, ORANGE, SKY, THEORY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SADDLES = LECTURE.at("Dynamics pass near a hierarchy of saddle points")
SMALL = 1e-3  # σ²H/s of the weakest mode up to which weights are small
APART = 1.2  # strength of a mode over the next, from which on saddles are apart
ENOUGH = 40  # networks, for a standard deviation over them
SCOPE = "the law's scope: ever smaller weights, not yet those of every network; see the experiment's description"
LOOKS: dict[str, dict[str, Any]] = {
    "deep": {"color": BLUE, "lw": 1.8},
    "tenth": {"color": SKY, "lw": 1.0},
    "large": {"color": ORANGE, "ls": (0, (5, 1))},
    "shallow": {"color": GREY, "ls": (0, (4, 1, 1, 1))},
}
FINE: dict[str, Any] = THEORY | {"linewidth": 0.6}
NAMES = {"deep": "deep, small weights", "tenth": "a tenth of them", "large": "deep, large", "shallow": "shallow"}


class Saddles(Experiment):
    """A deep linear network learns from saddle to saddle, one rank after the other; a shallow one has no saddles.

    Four networks learn the same task: two layers from small weights (*deep*), the same from a *tenth* of them and from
    *large* ones, and one layer (*shallow*). The network rests at the saddle of rank k where its gradient is smallest
    between the two moments at which the loss is half-way from the saddle before, and half-way to the next. The model
    `saddle-to-saddle` says what saddles are like, and when the network leaves each of them: order and losses of the
    stages are those of the task, but when they come is decided by the initial weights, and so differs from one network
    to the next. Where one stage happens to follow soon after another, the network has not come close to the saddle
    between them before it leaves; how close it comes goes as σ^(2(s_k − s_{k+1})/(s_k + s_{k+1})), a slow power of σ.
    """

    name = "linear/saddles"
    sources = (LECTURE, SAXE_2013)
    arms = Arms(
        models.SaddleToSaddle,
        network=named(
            deep={"depth": 2},
            tenth={"depth": 2, "scale": lambda config: 0.1 * config.scale},
            large={"depth": 2, "scale": lambda config: config.large},
            shallow={"depth": 1},
        ),
    )
    seeds = 64
    quick = {"seeds": 12, "records": 160}
    presets = (
        Preset("four saddles", "Four modes are four saddles, with 24, 15, 8 and 3 directions of descent."),
        Preset("smaller weights", "Weights a thousand times smaller rest longer, and closer to each saddle.",
               {"scale": 1e-7, "until": 24.0}),
        Preset("a narrow bottleneck", "With a hidden unit for each mode the last saddle has one direction of descent.",
               {"hidden": 4}),
        Preset("two modes", "Two modes of very different strength: two saddles, and a long rest at the second.",
               {"inputs": 2, "outputs": 2, "hidden": 3}),
    )  # fmt: skip

    class Config(ExperimentConfig):
        large: float = continuous(1.0, ge=0.1, le=3, help="standard deviation of large initial weights")

    @claims.theory(claims.below(0.05), source=SAXE_2013, loosely=claims.below(0.15))
    def course(self, result: Result) -> xr.DataArray:
        """From small random weights every mode follows a chain of two weights, from its share of the weights that
        stronger modes leave: largest error of loss and shares learned.
        """
        return _errors(_small(result), "deep")

    @claims.paper(SADDLES, claims.below(0.1), reason=SCOPE)
    def near(self, result: Result) -> xr.DataArray:
        """Dynamics pass near a hierarchy of saddle points: where the map W rests, all networks are nearer than .1 (our
        threshold) of |S − S_k| to each best map S_k of rank k (the farthest).
        """
        return at_rest(result)["distance"].max()

    @claims.theory(claims.near(1.0, 0.1))
    def nearer(self, result: Result) -> xr.DataArray:
        """The nearest distance to the saddle of rank k ≥ 1 goes as σ^(2(s_k − s_{k+1})/(s_k + s_{k+1})) with the
        initial weights σ: exponent measured over predicted.
        """
        strengths, distance = _of_saddles(result, "strengths"), _learned(result)["distance"].min("time")
        require_case(strengths.size > 1, "two modes at least")
        before = strengths.shift(saddle=1)
        exponent = 2 * (before - strengths) / (before + strengths)
        measured = xr.ufuncs.log10(distance.sel(network="deep") / distance.sel(network="tenth"))
        return (measured / exponent).isel(saddle=slice(1, None))

    @claims.theory(claims.below(0.1), reason=SCOPE)
    def plateaus(self, result: Result) -> xr.DataArray:
        """The loss stands at those of the best maps of rank k, L_k = ½ Σ s_j² over the modes j > k that are not learned
        yet (largest relative error where networks rest).
        """
        return abs(at_rest(result)["loss"] / _of_saddles(result, "saddle_losses") - 1).max()

    @claims.theory(claims.below(0.5))
    def index(self, result: Result) -> xr.DataArray:
        """At the saddle of rank k the Hessian has (m − k)(H − k) negative directions, for m modes and H hidden units
        (largest miscount where the network rests).
        """
        return abs(at_rest(result)["index"] - _of_saddles(result, "saddle_indices"))

    @claims.theory(claims.below(0.1))
    def curvature(self, result: Result) -> xr.DataArray:
        """The steepest direction of descent at the saddle of rank k has the curvature −s of the next mode (relative
        error where the network rests).
        """
        return abs(at_rest(result)["curvature"] / -_of_saddles(result, "strengths") - 1)

    @claims.theory(claims.below(0.5))
    def ranks(self, result: Result) -> xr.DataArray:
        """The map of a deep network has rank 0, then 1, 2 and so on, one for each plateau (largest difference where the
        network rests).
        """
        rests = at_rest(result)
        return abs(rests["rank"] - rests["saddle"])

    @claims.theory(claims.below(0.5))
    def falling(self, result: Result) -> xr.DataArray:
        """A network on its way from small weights never gains a clearly negative direction of the Hessian, it only
        loses them (largest rise of their number).
        """
        return _small(result)["index"].sel(network="deep").diff("time").max("time")

    @claims.theory(claims.below(0.05), source=SAXE_2013)
    def dwell(self, result: Result) -> xr.DataArray:
        """The time that the loss stays at each plateau, from half-way to half-way, is that which the next mode takes to
        grow from its start (relative error).
        """
        seen, known = (_dwell_times(result, data["loss"]) for data in (_learned(result), result.solved))
        return abs(seen / known - 1)

    @claims.paper(LECTURE.at("Individual variability amidst structure"), claims.above(0.0))
    def order(self, result: Result) -> xr.DataArray:
        """Structure: whatever the initial weights, modes are learned from the strongest to the weakest (smallest step
        of the half-times from one mode to the next).
        """
        times = _half_times(result)
        require_case(times.sizes["mode"] > 1, "two modes at least")
        return times.diff("mode").min("mode")

    @claims.theory(claims.below(0.1))
    def individual(self, result: Result) -> xr.DataArray:
        """Individual variability is that of the initial weights: of the spread of each half-time over networks, the
        prediction from each one's own weights leaves less than .1.
        """
        times = _half_times(result)
        require_case(times.sizes["run"] > 2, "three seeds at least")
        left = times - result.solved["half_time"].sel(network="deep")
        return left.std("run") / times.std("run")

    @claims.theory(claims.near(1.0, 0.15), budget="full")
    def spread(self, result: Result) -> xr.DataArray:
        """Half-times of mode j differ by √ψ₁((H − j + 1)/2)/(2s_j) over random small weights: standard deviation
        measured over predicted, mean over the modes.
        """
        times = _half_times(result)
        if times.sizes["run"] < ENOUGH:
            raise claims.Undecided(f"too few networks for a spread: needs --seeds {ENOUGH}")
        return times.std("run", ddof=1) / model_of(result, network="deep").half_time_spread()

    @claims.paper(LECTURE.at("Saddle points arise through depth"), claims.below(0.5))
    def shallow(self, result: Result) -> xr.DataArray:
        """Saddle points arise through depth: the Hessian of a shallow network has no negative direction at any time
        (largest number; our threshold).
        """
        return result["index"].sel(network="shallow").max("time")

    @claims.theory(claims.below(1e-8))
    def exponential(self, result: Result) -> xr.DataArray:
        """A shallow network learns without plateaus, its loss an exponential e^(−2t/τ) at all times (largest error of
        loss and shares learned).
        """
        return _errors(result, "shallow")

    @claims.paper(
        LECTURE.at("Conclusion & outlook: initialization determines whether saddle points influence dynamics"),
        claims.above(0.5),
        loosely=claims.above(0.2),
    )
    def far(self, result: Result) -> xr.DataArray:
        """Initialization decides whether saddle points matter: from large weights the map passes farther than half of
        |S − S_k| (our threshold) from each S_k, in the median.
        """
        require_case(result.config.large >= 1.0, "large weights: --large 1")
        require_case(result["mode"].size > 1, "two modes at least: with one, the map cannot avoid the saddle")
        return result["distance"].sel(network="large").min("time").median("run")

    def figure(self, result: Result) -> Figure:
        """Loss, index, distances to the saddles, gradient against loss, every network's loss, half-times."""
        with Page(2, 3, height=4.9) as page:
            _draw_losses(page[0], result)
            _draw_index(page[1], result)
            _draw_distances(page[2], result)
            _draw_plane(page[3], result)
            _draw_individuals(page[4], result)
            _draw_half_times(page[5], result)
            page.legend({NAMES[name]: look for name, look in LOOKS.items()} | {"theory": THEORY})
        return page.figure


def _of_saddles(result: Result, name: str) -> xr.DataArray:
    """What the model knows of its saddles, or of the mode that each of them lacks first."""
    return xr.DataArray(getattr(model_of(result, network="deep"), name)(), dims="saddle")


def _errors(result: Result, network: str) -> xr.DataArray:
    """Largest |simulation − theory| of the shares and of the loss relative to its start, for each run."""
    learned, loss = (abs(result[n] - result.solved[n]).sel(network=network) for n in ("learned", "loss"))
    relative = loss / result["loss"].sel(network=network).isel(time=0)
    return xr.ufuncs.maximum(learned, relative).max(["time", "mode"], skipna=False)


def _small(result: Result) -> Result:
    """The result, if weights are small, and modes differ in strength, so that saddles are apart."""
    model = model_of(result, network="deep")
    require_case(model.scale**2 * model.hidden <= SMALL * model.weakest, "small initial weights, a smaller --scale")
    strengths = model.strengths()
    require_case(np.all(strengths[:-1] >= APART * strengths[1:]), "modes apart, a larger --strongest")
    return result


def _learned(result: Result) -> xr.Dataset:
    """All networks, if those from small weights and from a tenth of them have learned."""
    final, model = _small(result)["learned"].isel(time=-1), model_of(result, network="tenth")
    enough = (log(10.0 * model.weakest / model.scale**2) + 5.0) / (2.0 * model.weakest)
    done = final.sel(network=["deep", "tenth"]) >= 0.9
    require_enough(done, "modes are still being learned", result.config, "until", enough)
    return result.data


def _half_times(result: Result) -> xr.DataArray:
    return _learned(result)["half_time"].sel(network="deep")


def _passed(result: Result, loss: xr.DataArray) -> xr.DataArray:
    """When the loss is half-way from each saddle to the next."""
    levels = np.append(model_of(result, network="deep").saddle_losses(), 0.0)
    half_way, falling = (levels[:-1] + levels[1:]) / 2, -loss.sel(network="deep")
    return xr.concat([fs.measures.crossings(falling, -level) for level in half_way], "saddle")


def _dwell_times(result: Result, loss: xr.DataArray) -> xr.DataArray:
    """How long the loss stays at each saddle, from half-way to half-way; at the first, from the beginning."""
    passed = _passed(result, loss)
    return passed - passed.shift(saddle=1, fill_value=0.0)


def at_rest(result: Result) -> xr.Dataset:
    """All that is recorded of deep networks at each saddle, where their gradient is smallest, by `saddle`."""
    deep = _learned(result).sel(network="deep").drop_vars("half_time")
    after = _passed(result, _learned(result)["loss"]).assign_coords(saddle=deep["saddle"])
    before, time = after.shift(saddle=1, fill_value=-1.0), deep["time"]
    place = deep["gradient"].where((time > before) & (time < after), np.inf).argmin("time")
    return deep.isel(time=place)


def _first(result: Result, network: str) -> xr.Dataset:
    return result.data.sel(network=network).isel(run=0)


def _draw_levels(axis: Axes, result: Result) -> None:
    """The losses of the saddles, as lines with their rank."""
    losses = model_of(result, network="deep").saddle_losses()
    for rank, loss in enumerate(losses):
        axis.axhline(loss, color="0.8", lw=0.7, zorder=0)
        text = f"$L_{rank}$"
        axis.text(1.0, loss, text, transform=axis.get_yaxis_transform(), va="bottom", ha="right", fontsize=7)
    axis.set(yscale="log", ylim=(0.03 * losses[-1], 2.5 * losses[0]), xlim=(0, result["time"][-1]))
    axis.set(xlabel="time t / τ", ylabel="loss ½|S − W|²")


def _draw_losses(axis: Axes, result: Result) -> None:
    """The loss of the first run, with the closed forms."""
    _draw_levels(axis, result)
    for network, look in LOOKS.items():
        seen = _first(result, network)
        axis.plot(seen["time"], seen["loss"], **look)
        if network in ("deep", "shallow"):
            axis.plot(seen["time"], result.solved["loss"].sel(network=network).isel(run=0), **THEORY)
    axis.set_title("Plateaus are saddles")


def _draw_index(axis: Axes, result: Result) -> None:
    """The index of the first run, with those of the saddles."""
    indices = model_of(result, network="deep").saddle_indices()
    for rank, index in enumerate(indices):
        axis.axhline(index, **FINE, zorder=0)
        text = f"k = {rank}"
        axis.text(0.99, index, text, transform=axis.get_yaxis_transform(), va="bottom", ha="right", fontsize=7)
    for network in ("deep", "large", "shallow"):
        seen = _first(result, network)
        axis.plot(seen["time"], seen["index"], **LOOKS[network])
    axis.set(xlim=(0, result["time"][-1]), ylim=(-0.03 * indices[0], 1.1 * indices[0]))
    axis.set(xlabel="time t / τ", ylabel="negative directions", title="Descent: $(m − k)(H − k)$")


def _draw_distances(axis: Axes, result: Result) -> None:
    """How far the first run is from each saddle, and one from large weights from the nearest."""
    deep, known = _first(result, "deep"), result.solved["distance"].sel(network="deep").isel(run=0)
    for rank, look in looks_of(deep["saddle"].values, lines=("-",)).items():
        axis.plot(deep["time"], deep["distance"].sel(saddle=rank), label=f"k = {rank}", **look)
        axis.plot(deep["time"], known.sel(saddle=rank), **FINE)
    nearest = _first(result, "large")["distance"].min("saddle")
    axis.plot(deep["time"], nearest, **LOOKS["large"])
    axis.text(0.99 * float(deep["time"][-1]), 1.25, "large weights: nearest", ha="right", fontsize=6.5, color="0.3")
    axis.set(yscale="log", ylim=(3e-3, 40.0), xlim=(0, deep["time"][-1]), xlabel="time t / τ")
    axis.set(ylabel="|W − $S_k$| / |S − $S_k$|", title="Distance to each saddle")
    axis.legend(loc="upper right", fontsize=6.5, ncols=2, columnspacing=0.8, handlelength=1.2)


def _draw_plane(axis: Axes, result: Result) -> None:
    """Gradient against loss: a network that rests has hardly a gradient."""
    losses = model_of(result, network="deep").saddle_losses()
    for network, look in LOOKS.items():
        seen = _first(result, network)
        axis.plot(seen["loss"], seen["gradient"], **look)
    for rank, loss in enumerate(losses):
        axis.axvline(loss, color="0.8", lw=0.7, zorder=0)
        axis.text(0.94 * loss, 0.01, f"$L_{rank}$", transform=axis.get_xaxis_transform(), va="bottom", fontsize=7)
    axis.set(xscale="log", yscale="log", xlim=(3 * losses[0], 0.03 * losses[-1]), ylim=(3e-2, 60.0))
    axis.set(xlabel="loss ½|S − W|²", ylabel="norm of the gradient |∇L|")
    axis.set_title("Gradients vanish at saddles")


def _draw_individuals(axis: Axes, result: Result) -> None:
    """The loss of every network from small weights."""
    _draw_levels(axis, result)
    losses = result["loss"].sel(network="deep").transpose("time", "run")
    axis.plot(result["time"], losses, color=BLUE, lw=0.5, alpha=0.6)
    axis.set_title("Same stages, own times")


def _draw_half_times(axis: Axes, result: Result) -> None:
    """By how much half-times differ from their mean over networks, measured against predicted, in units of 1/(2s)."""
    unit = 2 * xr.DataArray(model_of(result, network="deep").strengths(), dims="mode")
    both = (data["half_time"].sel(network="deep") for data in (result.solved, result.data))
    known, seen = (((times - times.mean("run")) * unit).transpose("run", "mode") for times in both)
    pairs(axis, known, seen, "mode", ms=3.4, mfc="none", mew=0.8)
    reach = 1.15 * float(abs(known).max()) + 1e-3
    axis.plot([-reach, reach], [-reach, reach], **THEORY, zorder=0)
    axis.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", title="Departures from mean t½")
    axis.set(xlabel="predicted 2sΔt½ / τ", ylabel="measured 2sΔt½ / τ")
    axis.legend(loc="upper left", fontsize=6.5, handletextpad=0.1)
