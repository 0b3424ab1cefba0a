"""Teachers of many dimensions drive gates harder, and spare networks the need for fast gates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import festina as fs
from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Equation, Experiment, Preset, Result, named, use
from festina.experiments.abstraction._common import block_edges, early_in_blocks, need_blocks
from festina.experiments.abstraction._panels import shade_blocks
from festina.figures.panels import Page, curves, looks_of, means
from festina.models._in_blocks import forgetful
from festina.sources import SANDBRINK_2024
from festina.style import BLACK, BLUE, GREY, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLOCKS = 20  # that the source shows
HIGH = 12  # ranks from here on count as high
LAST = 4  # switches at the end over which speeds are averaged
SPECIALISED = 0.99  # total alignment from which the closed form for complete specialisation is compared
FAST, EQUAL, UNBOUNDED = "fast gates", "equal timescales", "equal, unbounded"
LOOKS: dict[str, dict[str, Any]] = {
    FAST: {"color": BLACK, "ls": "-", "marker": "o"},
    EQUAL: {"color": BLUE, "ls": (0, (4, 1.2)), "marker": "s"},
    UNBOUNDED: {"color": GREY, "ls": (0, (1, 1)), "marker": "^"},
}
CLOSED: dict[str, Any] = {"color": VERMILLION, "ls": (0, (3, 2))}


class Dimension(Experiment):
    """The drive of a gate is a sum over all modes of its task, so that many modes make gates fast by themselves.

    For a student aligned with its teacher τ_c dc/dt = ⟨W* − W, W⟩ = Σ_α (s*_α s_α − s_α²), in which the rank of the
    task counts, while no mode of W has more to learn for the others' sake (app. A.2). Here M = 2 teachers of size
    30 → 30 have between one and fifteen singular values of 1, and all ranks learn under three conditions: gates that
    are faster than weights (τ_c = .1, τ_w = .5, as tabulated), gates that are not (τ_c = τ_w), the latter unbounded.

    Right after a switch between tasks that are completely specialised for, |dc/dt| = √2 r/τ_c at rank r and
    |dW/dt|/|W| = 1/τ_w. (From the lowest rank, where specialisation is incomplete, to the highest the gates' speed
    grows somewhat more than linearly.) At equal timescales low ranks remain unspecialised and high ones do not, as the
    paper says in passing. Not said there: bounds are needed at any rank; and the cost of a negative gate, λ₁|c|, does
    not grow with the drive, so that fast gates at high ranks turn negative and specialise *less* than at middle ones.
    With `nonnegativity=1` they specialise completely.
    """

    name = "abstraction/dimension"
    sources = (SANDBRINK_2024,)
    arms = Arms(
        use(models.TaskAbstraction, tasks=2, recorded="courses"),
        rank=(1, 2, 4, 8, 12, 15),
        condition=named(**{FAST: {}, EQUAL: {"gate_timescale": lambda it: it.weight_timescale}, UNBOUNDED: forgetful}),
    )
    base = {"inputs": 30, "outputs": 30, "weight_timescale": 0.5, "gate_timescale": 0.1, "data": "closure"}
    seeds = 10
    quick = {"seeds": 3, "records": 1000, "rank": (1, 4, 15)}
    equations = (
        Equation(
            r"\tau_c\, \dot c = \langle W^* - W, W \rangle = \sum_\alpha \bigl(s^*_\alpha s_\alpha - s_\alpha^2\bigr)",
            "The gate of a student aligned with its teacher is driven by all modes α of the task together.",
        ),
        Equation(
            r"|\dot c| = \frac{\sqrt 2\, r}{\tau_c}, \qquad \frac{|\dot W|}{|W|} = \frac{1}{\tau_w}",
            "Right after a switch gates move in proportion to the rank r, and weights do not.",
        ),
    )
    presets = (
        Preset("ranks 1 to 15", "At equal timescales students specialise at high ranks, and stay alike at low ones."),
        Preset("firm bounds", "If negative gates cost more, fast ones always specialise.", {"nonnegativity": 1.0}),
        Preset("slow weights", "If weights need two blocks, no rank is high enough.", {"weight_timescale": 2.0}),
    )

    def measure(self, data: xr.Dataset) -> dict[str, xr.DataArray]:
        """The total alignment, with students matched to teachers anew at every moment."""
        dims = [["teacher", "path"], ["path"]]
        total = xr.apply_ufunc(fs.measures.total_alignment, data["components"], data["norms"], input_core_dims=dims)
        return {"total_alignment": total.assign_attrs(long_name="total alignment")}

    @claims.paper(SANDBRINK_2024.at("app. A.2, fig. A.2"), claims.near(1.0, 0.15), loosely=claims.above(0.5))
    def drive_grows(self, result: Result) -> xr.DataArray:
        """After late switches fast gates change in proportion to the rank (power of r in |dc/dt|; our tolerance)."""
        return power(gate_speed(result))

    @claims.paper(SANDBRINK_2024.at("app. A.2"), claims.near(0.0, 0.15))
    def weights_do_not(self, result: Result) -> xr.DataArray:
        """The relative change of the weights does not depend on the rank (power of r in |dW/dt|/|W|; our tolerance)."""
        return power(weight_speed(result))

    @claims.theory(claims.near(1.0, 0.1), source=SANDBRINK_2024.at("app. A.2"))
    def closed_form(self, result: Result) -> xr.DataArray:
        """Where specialisation is complete, gates change as the sum over modes says (|dc/dt| over √2 r/τ_c)."""
        speed, complete = gate_speed(result), at_the_end(result, "total_alignment").sel(condition=FAST) > SPECIALISED
        if not complete.any():
            raise claims.NotApplicable("needs complete specialisation")
        ratio = (speed / summed_drive(result)).transpose(*complete.dims)
        return xr.DataArray(ratio.values[complete.values], dims="network")

    @claims.paper(SANDBRINK_2024.at("section 3.2"), claims.below(0.8))
    def needed_at_low_rank(self, result: Result) -> xr.DataArray:
        """At rank 1 gates that are no faster than weights do not specialise (total alignment; our threshold)."""
        if 1 not in result["rank"]:
            raise claims.NotApplicable("needs rank 1 among the ranks")
        return settled(result, EQUAL).sel(rank=1)

    @claims.paper(SANDBRINK_2024.at("section 3.2, app. A.2"), claims.above(0.95), loosely=claims.above(0.85))
    def unnecessary_at_high_rank(self, result: Result) -> xr.DataArray:
        """At the highest rank gates that are no faster than weights specialise (total alignment; our threshold)."""
        if result["rank"].max() < HIGH:
            raise claims.NotApplicable(f"needs a rank of {HIGH} or more")
        return settled(result, EQUAL).isel(rank=-1)

    @claims.theory(claims.below(0.8))
    def bounds_needed(self, result: Result) -> xr.DataArray:
        """Without bounds on the gates no rank is high enough for students to specialise (total alignment at each of
        them; our threshold).
        """
        return settled(result, UNBOUNDED)

    def figure(self, result: Result) -> Figure:
        """How gates and weights change at a switch, by rank; where networks specialise, and how they get there."""
        with Page(2, 3, height=4.9) as page:
            _draw_drive(page[0], result)
            by_rank = {
                "|dc/dt| at a switch": gate_speed(result).expand_dims(condition=[FAST]),
                "|dW/dt|/|W| at a switch": weight_speed(result).expand_dims(condition=[FAST]),
                "total alignment at the end": at_the_end(result, "total_alignment"),
                "smaller gate at the end": at_the_end(result, "gates").min("path"),
            }
            for axis, (label, values) in zip(page.axes.ravel()[1:5], by_rank.items(), strict=True):
                _draw_by_rank(axis, values, label)
            page[1].plot(summed_drive(result)["rank"], summed_drive(result), label="√2 r/τ$_c$", **CLOSED)
            page[1].set_yscale("log")
            page[2].axhline(1 / result.config.weight_timescale, label="1/τ$_w$", **CLOSED)
            page[2].set_ylim(0, 1.6 / result.config.weight_timescale)
            page[1].legend(loc="upper left", fontsize=6.5)
            page[2].legend(loc="lower left", fontsize=6.5)
            _draw_courses(page[5], result)
            page.legend(LOOKS, loc="outside lower center")
        return page.figure


def _at_late_switches(result: Result, name: str) -> xr.DataArray:
    """A variable of the condition with fast gates at the last switches: `block` instead of time."""
    need_blocks(result, BLOCKS, "the settled state")
    seen = early_in_blocks(result, name, 0.0).sel(condition=FAST).sortby("rank")
    return seen.isel(since=0, block=slice(-LAST, None))


def gate_speed(result: Result) -> xr.DataArray:
    """|dc/dt| right after late switches, by run and rank."""
    return _at_late_switches(result, "speeds").sel(of="gates").mean("block")


def weight_speed(result: Result) -> xr.DataArray:
    """|dW/dt|/|W| right after late switches, by run and rank."""
    norm = (_at_late_switches(result, "norms") ** 2).sum("path") ** 0.5
    return (_at_late_switches(result, "speeds").sel(of="weights") / norm).mean("block")


def power(values: xr.DataArray) -> xr.DataArray:
    """The slope of log values over log rank, in each run."""
    if values.sizes["rank"] < 2:
        raise claims.NotApplicable("needs at least two ranks")
    slopes = np.polyfit(np.log(values["rank"].values), np.log(values.transpose("rank", "run").values), 1)[0]
    return xr.DataArray(slopes, dims="run")


def summed_drive(result: Result) -> xr.DataArray:
    """√2 r s²κ/τ_c of every rank: both gates feel the square of a teacher's norm, with opposite signs."""
    config, ranks = result.config, result["rank"].sortby("rank")
    convention = fs.worlds.convention(config.convention)
    square = config.inputs * convention.row_norm(config.inputs) ** 2 * convention.loss_share(config.outputs)
    return np.sqrt(2) * ranks * square / config.gate_timescale


def at_the_end(result: Result, name: str) -> xr.DataArray:
    """A variable at the end, with ranks that rise."""
    return result[name].isel(time=-1).sortby("rank")


def settled(result: Result, condition: str) -> xr.DataArray:
    """Total alignment at the end of runs as long as the source's, by run and rank."""
    need_blocks(result, BLOCKS, "the settled state")
    return at_the_end(result, "total_alignment").sel(condition=condition)


def _draw_drive(axis: Axes, result: Result) -> None:
    """Σ_α (s*_α s_α − s_α²) as all modes of a single student grow to those of its teacher."""
    learned, ranks = np.linspace(0, 1, 101), np.sort(result["rank"]).tolist()
    greys = [str(shade) for shade in np.linspace(0.75, 0.0, len(ranks))]
    for rank, look in looks_of(ranks, greys).items():
        axis.plot(learned, rank * (learned - learned**2), lw=1.2, label=f"r = {rank}", **look)
    axis.set(xlabel="share of the task learned, s/s*", ylabel=r"gate drive $\langle W^*\!-\!W, W\rangle$")
    axis.set_ylim(0, 1.5 * axis.get_ylim()[1])
    axis.legend(loc="upper center", fontsize=6.5, ncols=3, columnspacing=0.8)


def _draw_by_rank(axis: Axes, values: xr.DataArray, label: str) -> None:
    """Means over runs, with as many ranks below as there is room for."""
    ranks = values["rank"].values.tolist()
    for condition in values["condition"].values:
        look: dict[str, Any] = LOOKS[str(condition)] | {"label": "measured"}
        means(axis, ranks, values.sel(condition=condition), mfc="white", ms=4, lw=1.1, **look)
    axis.set(xscale="log", xlabel="rank of the tasks", xlim=(0.85 * ranks[0], 1.3 * ranks[-1]), ylabel=label)
    beside = zip(ranks, [*ranks[1:], np.inf], strict=True)
    axis.set_xticks(ranks, [str(rank) if rank == ranks[0] or 1.3 * rank < after else "" for rank, after in beside])
    axis.minorticks_off()


def _draw_courses(axis: Axes, result: Result) -> None:
    """Total alignment over time at the highest rank."""
    rank, edges = int(result["rank"].max()), block_edges(result.config)
    looks = {condition: {"color": look["color"], "ls": look["ls"], "lw": 1.1} for condition, look in LOOKS.items()}
    curves(axis, result, "total_alignment", by="condition", looks=looks, run=None, rank=rank)
    shade_blocks(axis, edges, (0, 1))
    axis.set(xlabel="time t", xlim=(0, edges[-1]), ylim=(0.4, 1.05), ylabel=f"total alignment, rank {rank}")
