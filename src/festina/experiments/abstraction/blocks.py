"""Longer blocks specialise faster: what simulations say, and what linear stability says of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import festina as fs
from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Experiment, Preset, Result, named, use
from festina.experiments._needs import require_case
from festina.experiments.abstraction._panels import draw_plane, draw_students
from festina.figures.panels import DOTS, Look, Page, all_runs, curves, graded_looks, if_known, means
from festina.sources import SANDBRINK_2024
from festina.style import BLUE, ORANGE, THEORY, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PARTS = ("along_first", "along_second", "along_gate")  # in which twins differ
EARLY = "likely the scope of the source: its argument is of early learning and short blocks, see the description"
EQUAL_GATES = "likely the source: it takes gates to be equal whenever a block begins, see the experiment's description"
TRANSIENT = "it is the transient of the first blocks that specialises networks, see the experiment's description"
AT = 24.0  # when block lengths are compared: whole rounds of all default lengths
BINS = 22  # of specialisation, for a potential
STARTS = {"random": {"color": "k", "ls": "-"}, "orbit": {"color": "0.5", "ls": (0, (4, 1.2))}}


class BlockLength(Experiment):
    """In the same time few long blocks specialise more than many short ones, as long as no block is too long.

    The reduced model learns two tasks in alternation, for several block lengths τ_B, with constants that stand for the
    network of the paper's first simulation (τ_w = 1.3, τ_c = .06, bounds 2/11 and 10/11). Networks begin with small
    `random` weights; or near the `orbit`, where both paths know half of both tasks, about where unspecialised networks
    end up, and differ by as much as random weights do; or there as *twins*, which differ by a tiny amount in one
    coordinate only. From random weights longer blocks specialise faster up to about 1.5 τ_w; in still longer ones both
    students learn the first task so well that specialisation comes later and remains imperfect. On the orbit linear
    stability gives the exact rate at which a small difference between paths grows, and twins follow it: nought for
    short blocks, and steeply rising with τ_B. That is *not* what specialises networks from random weights: at τ_B = 1
    it would take thousands of blocks, and a network that starts near the orbit stays there. The first blocks, a
    transient, decide.

    The paper's second-order estimate (eq. 21: a gain of 2τ_B²|ε|²/τ_wτ_c per round, half of it by its own steps) takes
    the gates to be equal again whenever a block begins. They are not: as the error changes its sign, the gates'
    difference is undone and with it the gain, so that short blocks on the orbit gain nothing. The effective potential
    of fig. A.9C illustrates that estimate, a parabola −½ g w̄² at its rate of growth g. Shown here is the measured
    one: the mean change of |w̄| over a round, from random weights, as a force, integrated over |w̄|.
    """

    name = "abstraction/blocks"
    sources = (SANDBRINK_2024,)
    arms = Arms(
        use(models.ReducedAbstraction, begin="random", shown=(0, 1), knowledge=0.5, **dict.fromkeys(PARTS, 0.0)),
        start=named(random={"knowledge": 0.0}, orbit={}, **{part: {"begin": "twins", part: 1.0} for part in PARTS}),
        block_length=(0.25, 0.5, 1.0, 2.0, 3.0, 4.0),
    )
    base = {"nonnegativity": 2 / 11, "normalization": 10 / 11, "until": 48.0, "steps_per_record": 50}
    seeds = 40  # one in ten is left unspecialised at τ_B = ½, and one in a hundred at 1: ten could not tell these apart
    quick = {"seeds": 2, "step_size": 0.002, "steps_per_record": 25}
    presets = (
        Preset("short and long blocks", "From random weights longer blocks specialise faster, up to about 1.5 τ_w."),
        Preset(
            "slow gates", "With gates as slow as the weights nothing specialises in this time.", {"gate_timescale": 1.3}
        ),
    )

    @claims.paper(SANDBRINK_2024.at("section 6, app. A.6"), claims.above(0.0))
    def longer_is_faster(self, result: Result) -> xr.DataArray:
        """Of blocks up to τ_w longer ones have specialised more in equal time (steps of total alignment at t = 24)."""
        return steps_of_alignment(result, result.config.weight_timescale)

    @claims.paper(SANDBRINK_2024.at("app. A.6"), claims.above(0.0), reason=EARLY)
    def without_limit(self, result: Result) -> xr.DataArray:
        """Of blocks of any length longer ones have specialised more in equal time (steps of total alignment at t = 24,
        up to the longest).
        """
        return steps_of_alignment(result, np.inf)

    @claims.theory(claims.below(0.02))
    def exact_rate(self, result: Result) -> xr.DataArray:
        """A tiny difference grows at the rate that linear stability gives (relative error of rates above .01)."""
        found = rates(result)
        require_case((found["exact"] > 0.01).any(), "blocks long enough for differences to grow")
        return abs(found["twins"] / found["exact"] - 1.0)[found["exact"] > 0.01]

    @claims.paper(SANDBRINK_2024.at("fig. A.9C"), claims.below(1e-3))
    def undone(self, result: Result) -> xr.DataArray:
        """Short blocks (up to .5) prefer no specialisation on the orbit (|growth rate| of a tiny difference; our
        threshold).
        """
        require_case(min(result.config.block_length) <= 0.5, "blocks of at most .5")
        return abs(rates(result)["twins"].sel(block_length=slice(0.5)))

    @claims.paper(SANDBRINK_2024.at("eq. 21"), claims.near(1.0, 0.2), reason=EQUAL_GATES)
    def second_order(self, result: Result) -> xr.DataArray:
        """On the orbit a round of the shortest blocks gains 2τ_B²|ε|²/τ_wτ_c, as printed (measured gain over that; our
        tolerance).
        """
        found = rates(result).isel(block_length=0)
        gains = np.expm1(2.0 * found["block_length"] * found)
        return (
            gains["twins"] / gains["second order (eq. 21)"] / 2.0
        )  # printed is twice what the source's own expansion gives

    @claims.paper(SANDBRINK_2024.at("fig. A.9C"), claims.above(0.0), budget="full")
    def steeper(self, result: Result) -> xr.DataArray:
        """The effective potential of specialisation is steeper for longer blocks, up to τ_w (steps from each block
        length to the next of its depth at |w̄| = ½).
        """
        depths = -potentials(result).sel(specialisation=0.5, method="nearest")
        some = depths.isel(block_length=(depths["block_length"] <= result.config.weight_timescale).values)
        require_case(some.size >= 2, "two block lengths up to τ_w")
        return some.diff("block_length").rename(block_length="step")

    @claims.paper(SANDBRINK_2024.at("app. A.6, fig. A.9C"), claims.above(0.8), budget="full")
    def double_well(self, result: Result) -> xr.DataArray:
        """The effective potential prefers a specialised state (|w̄| of its least value, blocks of ½ to τ_w; our
        threshold).
        """
        wells = potentials(result).sel(block_length=slice(0.5, result.config.weight_timescale))
        require_case(wells.sizes["block_length"], "blocks of ½ to τ_w")
        return wells.idxmin("specialisation")

    @claims.theory(claims.near(1.0, 0.2), reason=TRANSIENT)
    def linear_onset(self, result: Result) -> xr.DataArray:
        """Networks that begin on the orbit specialise as those from random weights do (ratio of |w̄| at τ_B = 1 and
        t = 24; our tolerance).
        """
        require_case(1.0 in result.config.block_length, "blocks of 1")
        then = abs(_compared(result)["overall"]).sel(block_length=1.0)
        return then.sel(start="orbit", drop=True) / then.sel(start="random", drop=True)

    def figure(self, result: Result) -> Figure:
        """Courses from random weights for all block lengths; growth rates; what begins on the orbit, what moves it."""
        looks = graded_looks(sorted(result.config.block_length), 0.9, 0.0)
        with Page(2, 3, height=4.9) as page:
            _draw_plane(page[0], result)
            curves(page[1], result, "total_alignment", by="block_length", looks=looks, run=None, start="random")
            page[1].set(xlabel="time t", title="from random weights", xlim=(0, AT), ylim=(0.45, 1.03))
            for place, draw in enumerate((_draw_ends, _draw_rates, _draw_orbit, _draw_potential), 2):
                with if_known(page[place]):
                    draw(page[place], result)
            page.legend({f"$τ_B$ = {length:g}": look for length, look in looks.items()}, loc="outside lower center")
        return page.figure


def steps_of_alignment(result: Result, longest: float) -> xr.DataArray:
    """By how much the mean total alignment from random weights grows from each block length to the next."""
    fit = np.sort(result.config.block_length) <= longest
    require_case(fit.sum() >= 2, "two block lengths" + (f" up to {longest:g}" if longest < np.inf else ""))
    ends = _compared(result)["total_alignment"].sel(start="random").mean("run")
    return ends[fit].diff("block_length").rename(block_length="step")


def _compared(result: Result) -> xr.Dataset:
    """All that is recorded when block lengths are compared, these rising."""
    if result["time"].values[-1] < AT - 1e-9:
        raise claims.Undecided(f"what is specialised at t = {AT:g} needs --until {AT:g}")
    return result.data.sel(time=AT, method="nearest").sortby("block_length")


def at_rounds(result: Result, length: float) -> xr.Dataset:
    """All that is recorded with blocks of one length whenever a round of two begins."""
    steps, every = 2 * round(length / result.config.step_size), result.config.steps_per_record
    require_case(steps % every == 0, "rounds of two blocks that end at recordings")
    return result.data.sel(block_length=length).isel(time=slice(None, None, steps // every))


def rates(result: Result) -> xr.Dataset:
    """Rates at which tiny differences grow on the orbit, for every block length: exact, to second order, of twins."""
    require_case(result.config.difference <= 1e-6, "a difference of twins, at most 1e-6, that stays tiny")
    if result["time"].values[-1] < (long := 4 * max(result.config.block_length)) - 1e-9:
        raise claims.Undecided(f"growth over two rounds of every block length needs --until {long:g}")
    orbits = [arm.model for arm in result.arms if arm.labels["start"] == "orbit"]
    found = [_rates_of(model, result) for model in orbits if isinstance(model, models.ReducedAbstraction)]
    return xr.concat(found, "block_length").sortby("block_length")


def _rates_of(model: models.ReducedAbstraction, result: Result) -> xr.Dataset:
    """One block length. Pairs of twins differ in three independent directions: together they are a propagator."""
    rounds = at_rounds(result, model.block_length).isel(run=0, start=slice(-len(PARTS), None))
    apart = rounds["apart"].transpose("time", "coordinate", "start").values
    some = int(max(result.config.block_length) / model.block_length + 1e-9)
    if (exact := model.growth()) is None:
        raise claims.NotApplicable(f"needs a periodic orbit for blocks of {model.block_length:g}")
    twins = fs.measures.growth_rate(rounds["time"].values, apart, some)
    found = {"exact": exact.rate, "second order (eq. 21)": exact.second_order, "twins": twins}
    return xr.Dataset({name: float(rate) for name, rate in found.items()}, {"block_length": model.block_length})


def potentials(result: Result) -> xr.DataArray:
    """The effective potential of |w̄| (`specialisation`) for every block length, from random weights: less the integral
    of the mean change of |w̄| in a round, over time, of all rounds that begin near one |w̄|; NaN where none does.
    """
    if result["time"].values[-1] < AT - 1e-9:
        raise claims.Undecided(f"an effective potential needs --until {AT:g}")
    lengths, edges = sorted(result.config.block_length), np.linspace(0.0, 1.1, BINS + 1)
    wells = []
    for length in lengths:
        size = abs(at_rounds(result, length)["overall"]).sel(start="random").transpose("time", ...)
        force = np.diff(size.values, axis=0) / np.diff(size["time"])[:, None]
        place = np.digitize(size.values[:-1], edges) - 1
        known = [number for number in range(BINS) if (place == number).any()]
        require_case(len(known) > 1, "rounds that begin at different specialisations")
        means = [force[place == number].mean() for number in known]
        middles = 0.5 * (edges[1:] + edges[:-1])
        whole = np.where(edges <= edges[known[-1] + 1], np.interp(edges, middles[known], means), np.nan)
        wells.append(-np.concatenate([[0.0], np.cumsum(np.diff(edges) * 0.5 * (whole[1:] + whole[:-1]))]))
    return xr.DataArray(np.stack(wells), {"block_length": lengths, "specialisation": edges}, name="potential")


def _draw_plane(axis: Axes, result: Result) -> None:
    """Both students of the first run with blocks of two lengths, the shorter one faint."""
    weights = result["weights"].isel(run=0).sel(start="random", time=slice(AT / 3 + 1e-9)).sortby("block_length")
    looks: dict[float, dict[str, Any]] = {0.5: {"lw": 0.8, "alpha": 0.5}, 1.0: {"lw": 1.4}}
    for near, look in looks.items():
        one = weights.sel(block_length=near, method="nearest")
        draw_students(axis, one, label=f"$τ_B$ = {one['block_length']:g}", **look)
    draw_plane(axis, f"students, t ≤ {AT / 3:g}")
    axis.legend(loc="upper right", fontsize=6.5)


def _draw_ends(axis: Axes, result: Result) -> None:
    """Total alignment after the same time, by block length and start."""
    ends, lengths = _compared(result)["total_alignment"], sorted(result.config.block_length)
    for start, look in STARTS.items():
        means(axis, lengths, ends.sel(start=start), marker="o", ms=4, mfc="white", label=start, **look)
    axis.axvline(result.config.weight_timescale, ymax=0.85, color="0.6", lw=0.8, ls=":", label="$τ_w$")
    axis.set(xscale="log", xlabel="block length $τ_B$", ylabel="total alignment", title=f"at t = {AT:g}")
    axis.set(xticks=lengths, xticklabels=[f"{x:g}" for x in lengths], ylim=(0.66, 1.15), yticks=[0.7, 0.8, 0.9, 1])
    axis.minorticks_off()
    axis.legend(loc="upper left", fontsize=6.5, ncols=3, columnspacing=0.8)


def _draw_rates(axis: Axes, result: Result) -> None:
    """How fast small differences grow on the orbit: measured, exact, and to second order."""
    looks: tuple[Look, ...] = THEORY, {"color": ORANGE, "ls": ":"}, DOTS | {"color": BLUE, "mfc": "none", "ms": 5}
    for (name, rate), look in zip(rates(result).items(), looks, strict=True):
        axis.plot(rate["block_length"], rate, label=name, **look)
    axis.set(xlabel="block length $τ_B$", ylabel="growth rate", title="near the orbit", ylim=(-0.05, 1.6))
    axis.legend(loc="upper right", fontsize=6.5)


def _draw_orbit(axis: Axes, result: Result) -> None:
    """The difference of the two paths over time, from random weights and from the orbit."""
    exact = rates(result)["exact"].sel(block_length=1.0, method="nearest")
    rounds = at_rounds(result, exact["block_length"].item())
    size, time = (rounds["apart"] ** 2).sum("coordinate") ** 0.5, rounds["time"].values
    for start, look in STARTS.items():
        all_runs(axis, size.sel(start=start), "time", label=start, marker="", lw=0.8, **look)
    axis.plot(time, 0.012 * np.exp(exact.item() * time), color=VERMILLION, lw=1.6, label="exact rate")
    axis.set(xlabel="time t", ylabel="difference of the paths", title=f"$τ_B$ = {exact['block_length']:g}")
    axis.set(yscale="log", xlim=(0, time[-1]), ylim=(2e-3, 30))
    axis.legend(loc="upper right", fontsize=6.5, ncols=2, columnspacing=0.8)


def _draw_potential(axis: Axes, result: Result) -> None:
    """The effective potential of w̄ by block length, measured; and the parabola of eq. 21 at one of them."""
    wells, looks = potentials(result), graded_looks(sorted(result.config.block_length), 0.9, 0.0)
    for length, look in looks.items():
        well = wells.sel(block_length=length)
        both = np.concatenate([-well["specialisation"].values[:0:-1], well["specialisation"].values])
        axis.plot(both, np.concatenate([well.values[:0:-1], well.values]), **look)
    growth = rates(result)["second order (eq. 21)"].sel(block_length=1.0, method="nearest")
    fine = np.linspace(-1.0, 1.0, 101)
    label = f"eq. 21, $τ_B$ = {growth['block_length']:g}"
    axis.plot(fine, -0.5 * growth.item() * fine**2, color=ORANGE, ls=":", label=label)
    deep = float(wells.min())
    axis.set(xlabel=r"specialisation $\bar{w}$", ylabel="effective potential", title="from random weights")
    axis.set(ylim=(1.3 * deep, -0.45 * deep), xlim=(-1.15, 1.15))
    axis.legend(loc="upper center", fontsize=6.5)
