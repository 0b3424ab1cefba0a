"""Blocked against interleaved training: specialisation over the mean length of blocks, regular or ended by chance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Experiment, Panels, Preset, Result, named, use
from festina.experiments._needs import require_case
from festina.figures.panels import Page, if_known, means
from festina.models._in_blocks import forgetful
from festina.models.interleaved_abstraction import NEVER
from festina.sources import SANDBRINK_2024
from festina.style import BLUE, THEORY, VERMILLION, draw_band

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MODEL = models.InterleavedAbstraction
BENEFIT = SANDBRINK_2024.at("section 1, second contribution")
SOURCE = 7.0  # how long the source trains every network of its map
INTERLEAVED = 0.5  # probability of a switch at which no step knows of the one before
MEAN = 0.5**0.5  # total alignment of two students that both are the mean of two orthogonal teachers
FEW_BLOCKS = "our schedule: some networks see two or three blocks of the longest in all, see the description"
UNDONE = "likely the source: short regular blocks undo one another beyond its second order, see the description"
LATE = 0.8  # share of the time after which losses count
STEPS = (2, 10, 30, 100, 150, 200, 300, 400, 600, 1000)  # mean lengths of blocks, in steps of .001
NETWORKS = named(flexible={}, forgetful=forgetful)
SCHEDULES = ("regular", "random")
LOOKS: dict[str, dict[str, Any]] = {
    "regular": {"color": VERMILLION, "ls": "-", "marker": "s"},
    "random": {"color": BLUE, "ls": "-", "marker": "o"},
}
COURSES: dict[float, dict[str, Any]] = {0.1: {"ls": (0, (4, 1.2)), "lw": 1.0}, 0.6: {"ls": "-", "lw": 1.4}}


class Interleaved(Experiment):
    """The flexible network learns tasks in long blocks and, unlike most networks, not if they are interleaved.

    In equal time, that of the paper's fig. 5 and with its settings, networks see two tasks either in *regular* blocks
    of one length, or at *random*: the task changes with the same probability p before every step of length dt, so that
    blocks last dt/p on average. At p = ½ tasks are interleaved. What is compared is the total alignment of students
    with teachers at the end.

    The gradient is linear in what is asked for. If tasks change much faster than gates and students do, these learn
    from the mean of the teachers, whatever the schedule: both students become it, with a total alignment of 1/√2, and
    the loss stays at half of what it was. To second order in the length of blocks specialisation grows by τ_B² in
    each (eq. 21), and thus with ⟨τ_B²⟩/⟨τ_B⟩ in equal time. For blocks that end by chance that is twice their mean
    length: if the argument holds, they do what regular blocks of twice the length do.

    It does not quite hold. Students specialise with random blocks of a mean length of about .06, a quarter of the .24
    that regular ones need, instead of half. (Short regular blocks undo one another more thoroughly than the argument
    has it, see `abstraction/blocks`; blocks of unequal lengths do not.) Irregularity is thus no disturbance but a help,
    as long as there are enough blocks: beyond mean lengths of .4 random blocks are worse than shorter ones, for some
    networks see only two or three of them in the time given.
    """

    name = "abstraction/interleaved"
    sources = (SANDBRINK_2024,)
    arms = Panels(
        regular=Arms(
            use(MODEL, switching=0.0), network=NETWORKS, block_length=tuple(round(0.001 * n, 9) for n in STEPS)
        ),
        random=Arms(use(MODEL, block_length=NEVER), network=NETWORKS, switching=tuple(1 / n for n in STEPS)),
    )
    base = {"gate_timescale": 0.02, "weight_timescale": 0.1, "strength": 0.3, "nonnegativity": 5 / 3}
    base |= {"normalization": 25 / 6, "convention": "mean", "until": SOURCE, "records": 700, "recorded": "totals"}
    seeds = 40
    quick = {"seeds": 10, "data": "closure"}
    presets = (
        Preset("Blocked and interleaved", "Long blocks specialise the students; interleaved tasks leave them alike."),
        Preset("faster gates", "Faster gates specialise in shorter blocks.", {"gate_timescale": 0.01}),
        Preset("slow gates", "Gates as slow as students do not specialise in blocks either.", {"gate_timescale": 0.1}),
    )

    @claims.paper(BENEFIT, claims.above(0.2))
    def benefit(self, result: Result) -> xr.DataArray:
        """The flexible network benefits from long task blocks rather than interleaved training (total alignment after
        the longest regular blocks less that after interleaved tasks; our threshold).
        """
        return _gain(result, "flexible")

    @claims.paper(BENEFIT, claims.below(0.2))
    def performance(self, result: Result) -> float:
        """After equal time the flexible network does better in long blocks than with interleaved tasks (ratio of mean
        losses on the task shown in the last fifth of the time; our threshold).
        """
        late = {which: late_losses(result, which).sel(network="flexible").mean("run") for which in SCHEDULES}
        return (late["regular"].isel(length=-1, drop=True) / interleaved(result, late["random"])).item()

    @claims.paper(SANDBRINK_2024.at("section 6, app. A.6"), claims.above(0.85))
    def longer_is_better(self, result: Result) -> float:
        """In equal time specialisation grows with the length of blocks (rank correlation of total alignment with the
        length of regular blocks; our threshold).
        """
        return _rank_correlation(result, "regular")

    @claims.theory(claims.above(0.85), reason=FEW_BLOCKS)
    def longer_by_chance(self, result: Result) -> float:
        """In equal time specialisation grows with the mean length of blocks that end by chance (rank correlation of
        total alignment with it; our threshold).
        """
        return _rank_correlation(result, "random")

    @claims.theory(claims.below(0.0), source=SANDBRINK_2024.at("section 2"))
    def others_do_not(self, result: Result) -> xr.DataArray:
        """The forgetful network, with slow and free gates, does not benefit from blocks (total alignment after the
        longest regular blocks less that after interleaved tasks).
        """
        return _gain(result, "forgetful")

    @claims.theory(claims.near(MEAN, 0.02), each={"network": tuple(NETWORKS)})
    def mean_teacher(self, result: Result, network: str) -> xr.DataArray:
        """From interleaved tasks both students of the {network} network learn the mean of the teachers (total alignment
        at the end, 1/√2; our tolerance).
        """
        return interleaved(result, alignments(result, "random")).sel(network=network)

    @claims.theory(claims.near(0.5, 0.05))
    def half_the_loss(self, result: Result) -> xr.DataArray:
        """Interleaved tasks leave half of the loss that there was at the start (mean over the last fifth; our
        tolerance).
        """
        untrained = result.panel("random")["loss"].isel(time=0).mean(["run", "switching"])
        return (interleaved(result, late_losses(result, "random")) / untrained).mean("run")

    @claims.theory(claims.near(2.0, 0.5), source=SANDBRINK_2024.at("eq. 21"), reason=UNDONE)
    def twice_as_long(self, result: Result) -> float:
        """Blocks that end by chance do what regular blocks of twice their mean length do (mean lengths at which total
        alignment is half-way to 1, regular over random; our tolerance).
        """
        regular, random = (half_way(result, schedule) for schedule in SCHEDULES)
        return regular / random

    @claims.theory(claims.below(0.0))
    def chance_costs(self, result: Result) -> float:
        """Where regular blocks specialise, chance costs something (mean total alignment with random blocks of the
        longest mean length less that with regular ones).
        """
        ends = [alignments(result, schedule).sel(network="flexible").mean("run") for schedule in SCHEDULES]
        regular, random = (end.isel(length=-1) for end in ends)
        require_case(np.isclose(regular["length"], random["length"]), "longest blocks of one mean length")
        return (random - regular).item()

    @claims.theory(claims.below(1e-10))
    def closed(self, result: Result) -> xr.DataArray:
        """With infinitely many inputs the dynamics closes on the inner products of students and teachers, through
        switches at any step (largest error).
        """
        require_case(result.config.data in ("population", "closure"), "population or closure data")
        return xr.DataArray(result.errors("total_alignment", "loss"), dims="run")

    def figure(self, result: Result) -> Figure:
        """Total alignment and loss by mean length of blocks, and courses of the flexible network."""
        with Page(1, 3, height=2.9) as page:
            with if_known(page[0]):
                _draw_ends(page[0], result)
            with if_known(page[1]):
                _draw_losses(page[1], result)
            _draw_courses(page[2], result)
        return page.figure


def of_length(result: Result, schedule: str, name: str) -> xr.DataArray:
    """A variable of one schedule by the mean `length` of blocks, rising: (…, network, length)."""
    values, dt = result.panel(schedule)[name], result.config.step_size
    dim = "block_length" if schedule == "regular" else "switching"
    if schedule == "random":
        values = values.isel(switching=(values["switching"] > 0).values)
        require_case(values.sizes["switching"], "a probability of switching above 0")
    along = values[dim] if schedule == "regular" else dt / values[dim]
    return values.rename({dim: "length"}).assign_coords(length=along.values).sortby("length")


def alignments(result: Result, schedule: str) -> xr.DataArray:
    """The total alignment at the end: (run, network, length)."""
    if result.config.until < SOURCE - 1e-9:
        raise claims.Undecided(f"total alignment at the end of training needs --until {SOURCE:g}")
    return of_length(result, schedule, "total_alignment").isel(time=-1).transpose("run", "network", "length")


def late_losses(result: Result, schedule: str) -> xr.DataArray:
    """The mean loss in the last fifth of the time: (run, network, length)."""
    if result.config.until < SOURCE - 1e-9:
        raise claims.Undecided(f"the loss at the end of training needs --until {SOURCE:g}")
    losses = of_length(result, schedule, "loss").sel(time=slice(LATE * result.config.until, None))
    return losses.mean("time").transpose("run", "network", "length")


def half_way(result: Result, schedule: str) -> float:
    """The mean length of blocks at which the flexible network's mean total alignment first is half-way from 1/√2 to 1,
    between two lengths by their logarithms.
    """
    ends = alignments(result, schedule).sel(network="flexible").mean("run")
    above = ends.values >= (level := 0.5 * (1 + MEAN))
    require_case(above.any() and not above[0], f"{schedule} blocks that are too short to specialise, and long enough")
    after = int(np.argmax(above))
    pair = slice(after - 1, after + 1)
    return float(np.exp(np.interp(level, ends.values[pair], np.log(ends["length"].values[pair]))))


def _rank_correlation(result: Result, schedule: str) -> float:
    """Of the flexible network's mean total alignment at the end with the mean length of blocks."""
    ends = alignments(result, schedule).sel(network="flexible").mean("run").values
    require_case(len(ends) > 2, "at least three lengths of blocks")
    return np.corrcoef(np.arange(len(ends)), np.argsort(np.argsort(ends)))[0, 1]


def interleaved(result: Result, values: xr.DataArray) -> xr.DataArray:
    """Of values of the random schedule by mean length those with interleaved tasks."""
    here = np.isclose(values["length"], result.config.step_size / INTERLEAVED)
    require_case(here.any(), f"{INTERLEAVED:g} among the values of switching")
    return values.isel(length=int(np.argmax(here)), drop=True)


def _gain(result: Result, network: str) -> xr.DataArray:
    """What the longest regular blocks give beyond interleaved tasks, by run."""
    blocked = alignments(result, "regular").isel(length=-1, drop=True)
    return (blocked - interleaved(result, alignments(result, "random"))).sel(network=network)


def _draw_ends(axis: Axes, result: Result) -> None:
    """Total alignment at the end by the mean length of blocks."""
    for network, own in (("flexible", {}), ("forgetful", {"ls": (0, (1, 1)), "mfc": "white", "lw": 0.8})):
        for schedule, look in LOOKS.items():
            ends = alignments(result, schedule).sel(network=network)
            means(axis, ends["length"], ends, ms=3.5, label=f"{schedule}, {network}", **look | own)
    axis.axhline(MEAN, **THEORY, label="mean teacher")
    axis.set(xscale="log", xlabel="mean block length", ylabel="total alignment", title="specialisation at the end")
    axis.set(ylim=(0.3, 1.05), yticks=[0.4, 0.6, 0.8, 1.0])
    axis.legend(loc="lower left", fontsize=6.5)


def _draw_losses(axis: Axes, result: Result) -> None:
    """The loss in the last fifth of the time by the mean length of blocks."""
    for schedule, look in LOOKS.items():
        late = late_losses(result, schedule).sel(network="flexible")
        means(axis, late["length"], late, ms=3.5, label=schedule, **look)
    half = 0.5 * result.panel("random")["loss"].isel(time=0).mean().item()
    axis.axhline(half, **THEORY, label="mean teacher")
    axis.set(xscale="log", xlabel="mean block length", ylabel="loss on the task shown", title="performance, flexible")
    axis.set(ylim=(0, 1.2 * half))
    axis.legend(loc="lower left", fontsize=6.5)


def _draw_courses(axis: Axes, result: Result) -> None:
    """Total alignment over time with short and with long blocks of either schedule."""
    for schedule, look in LOOKS.items():
        courses = of_length(result, schedule, "total_alignment").sel(network="flexible").transpose("run", ..., "time")
        for near, line in COURSES.items():
            one = courses.sel(length=near, method="nearest")
            label = f"{schedule}, {one['length']:g}"
            draw_band(axis, one["time"].values, one.values, color=look["color"], label=label, **line)
    axis.set(
        xlabel="time t",
        ylabel="total alignment",
        title="learning curves, by mean length",
        xlim=(0, result.config.until),
    )
    axis.set(ylim=(0.3, 1.05), yticks=[0.4, 0.6, 0.8, 1.0])
    axis.legend(loc="lower right", fontsize=6.5, ncols=2, columnspacing=0.8)
