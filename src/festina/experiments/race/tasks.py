"""Several tasks on one input: does one shared pathway learn what they have in common, or each its own everything?"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING

import festina as fs
from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Experiment, Preset, Result
from festina.experiments._needs import require_case
from festina.experiments.race._settled import require_settled
from festina.figures.panels import LINES, Parts, curves, looks_of, marks_of, means_and_law
from festina.models.similar_tasks import cosine_at, shared_energy
from festina.sources import SAXE_2022
from festina.style import BLACK, PALETTE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SMALL = 1e-4  # a start is small up to this strength
TINY = 1e-6  # and as good as vanishing up to this one: what is left of the loser goes with its third root
LARGE = 0.2  # and large from this one on
ABOVE, BELOW = 1.5, 0.6  # |ȳ|C of the two courses that are shown


def _evenly(points: int) -> tuple[float, ...]:
    """Norms |ȳ| from 0 (ρ = −1/(C−1)) to 1 (ρ = 1)."""
    return tuple(number / (points - 1) for number in range(points))


class Tasks(Experiment):
    """A pathway shared by C tasks wins the race against private ones if their targets have a cosine above −1/C.

    The rates of both kinds (`model/similar-tasks`) are equal at ρ* = −1/C. Above, the shared pathway learns the mean
    target first, private ones are left with y_c − ȳ, and the shared one ends with the share |ȳ|² = (1 + (C−1)ρ)/C of
    all energy. Below, private ones learn all of y_c, and the shared one ends with nothing. The passage is a crossover
    which sharpens as the start gets smaller; curves of all small starts cross at ρ*. From a large start there is no
    passage: pathways learn side by side, each at the speed that its initial weights give it.

    So sharing is the rule and takes hardly any similarity: tasks with orthogonal targets share a pathway, as do tasks
    that contradict each other mildly. One pathway has all only where tasks are alike (ρ = 1). Conflict between tasks
    does not make a single winner: it makes C private ones. ρ is swept evenly in |ȳ|, from 0 to 1.
    """

    name = "race/tasks"
    sources = (SAXE_2022,)
    arms = Arms(models.SimilarTasks, tasks=(2, 3, 4), initial=(1e-8, 1e-4, 1e-2, 0.3), mean_target=_evenly(25))
    seeds = 10
    quick = models.SimilarTasks.quick | {
        "seeds": 2,
        "tasks": (2, 3),
        "initial": (1e-8, 1e-4, 0.3),
        "mean_target": _evenly(13),
    }
    presets = (
        Preset(
            "sharing is the rule",
            "Tasks share a pathway down to a cosine of −1/C; the smaller the start, the sharper the edge.",
        ),
        Preset(
            "six tasks",
            "With six tasks the edge is at −1/6: even mild conflict divides them.",
            {"tasks": (6,), "mean_target": _evenly(25), "until": 600.0},
        ),
        Preset(
            "large starts",
            "From large weights all pathways learn side by side, and there is no edge.",
            {"initial": (0.1, 0.3, 1.0)},
        ),
    )

    @claims.theory(claims.below(0.02))
    def reduction(self, result: Result) -> xr.DataArray:
        """From the smallest start a gated network ends where the race reduction for vectors does (largest gap of the
        shared pathway's share of energy, over all cosines).
        """
        predicted = shared_energy(result.solved["strength"].isel(time=-1).sel(initial=_smallest(result)))
        return abs(_final(result, "share") - predicted).max(["tasks", "mean_target"])

    @claims.theory(claims.below(0.05))
    def crossing(self, result: Result) -> xr.DataArray:
        """Shares of the shared pathway from the two smallest starts, as functions of the targets' cosine, cross at
        ρ* = −1/C (distance of the crossing).
        """
        return abs(crossings(result) + 1.0 / result["tasks"]).rename(tasks="world")

    @claims.theory(claims.below(0.05))
    def shared_wins(self, result: Result) -> xr.DataArray:
        """A pathway shared by C tasks whose mean target has |ȳ| ≥ 1.5/C ends with the share (1 + (C−1)ρ)/C of the
        energy (largest gap, smallest start).
        """
        return _excess(result, 1.5, inf, lambda mean: mean**2)

    @claims.theory(claims.below(0.01))
    def private_win(self, result: Result) -> xr.DataArray:
        """A pathway shared by C tasks whose mean target has |ȳ| ≤ 0.7/C ends with nothing (its largest share of the
        energy, smallest start).
        """
        return _excess(result, 0.0, 0.7, lambda mean: 0.0 * mean)

    @claims.theory(claims.above(20.0))
    def transition(self, result: Result) -> xr.DataArray:
        """From the smallest start the shared pathway has far more energy just above ρ* = −1/C than just below (ratio at
        |ȳ| = 1.25/C and 0.75/C; our threshold).
        """
        return _contrast(result, _smallest(result, TINY))

    @claims.theory(claims.below(5.0))
    def no_transition(self, result: Result) -> xr.DataArray:
        """From a large start the shared pathway has little more energy just above ρ* = −1/C than just below (ratio at
        |ȳ| = 1.25/C and 0.75/C; the mean target alone gives 2.8; our threshold).
        """
        largest = max(result.config.initial)
        require_case(largest >= LARGE, f"a start of {LARGE:g} or larger")
        return _contrast(result, largest)

    @claims.theory(claims.near(1.0, 0.05))
    def one_does_all(self, result: Result) -> xr.DataArray:
        """If all tasks are alike, ρ = 1, one pathway learns everything (effective number of pathways, smallest
        start).
        """
        require_case(1.0 in result["mean_target"], "tasks that are alike, --mean-target 1")
        return _final(result, "effective_number").sel(mean_target=1.0).rename(tasks="world")

    @claims.theory(claims.near(1.0, 0.05))
    def each_its_own(self, result: Result) -> xr.DataArray:
        """If tasks are as different as can be, all private pathways take part, and only they (effective number of
        pathways over C, smallest start).
        """
        require_case(0.0 in result["mean_target"], "tasks that are as different as can be, --mean-target 0")
        return (_final(result, "effective_number").sel(mean_target=0.0) / result["tasks"]).rename(tasks="world")

    def figure(self, result: Result) -> Figure:
        """Who has the energy, for each number of tasks; courses on either side of ρ*; how many pathways take part."""
        counts = result.config.tasks[:3]
        with Parts((1, len(counts)), (1, 3), height=4.5) as page:
            shares, (above, below, numbers) = page.parts[0][0], page.parts[1][0]
            for axis, count in zip(shares, counts, strict=True):
                _draw_share(axis, result, count)
            shares[0].set_ylabel("energy share of shared path", fontsize=7.5)
            shares[-1].legend(loc="lower right", fontsize=6.5, title="strength at start", title_fontsize=6.5)
            _draw_course(above, result, ABOVE)
            _draw_course(below, result, BELOW)
            above.legend(loc="upper left", fontsize=6.5, handlelength=1.4)
            _draw_numbers(numbers, result)
        return page.figure


def _smallest(result: Result, most: float = SMALL) -> float:
    smallest = min(result.config.initial)
    require_case(smallest <= most, f"a start of {most:g} or smaller")
    return smallest


def _final(result: Result, name: str) -> xr.DataArray:
    """A variable at the end, from the smallest start: (run, tasks, mean target)."""
    require_settled(result, initial=_smallest(result))
    return result[name].isel(time=-1).sel(initial=_smallest(result)).transpose("run", "tasks", "mean_target")


def crossings(result: Result) -> xr.DataArray:
    """The cosine at which the smaller of the two smallest starts begins to have the larger share: (run, tasks)."""
    _smallest(result)
    starts = sorted(result.config.initial)[:2]
    require_case(len(starts) == 2 and starts[1] <= SMALL, f"two starts of {SMALL:g} or smaller")
    _require_close(result)
    require_settled(result, initial=starts)
    share = result["share"].isel(time=-1).sortby("mean_target")
    ahead = share.sel(initial=starts[0]) - share.sel(initial=starts[1])
    beyond = ahead.where(ahead["mean_target"] >= ahead.idxmin("mean_target"))  # from its minimum to positive values
    mean = fs.measures.zero_crossing(beyond, "mean_target")
    return cosine_at(mean["tasks"], mean).transpose("run", "tasks")


def _excess(result: Result, low: float, high: float, expected: Callable[[xr.DataArray], xr.DataArray]) -> xr.DataArray:
    """The largest |share − expected| of each run over |ȳ| between ``low``/C and ``high``/C."""
    _smallest(result, TINY)
    share = _final(result, "share")
    relative = share["mean_target"] * share["tasks"]
    there = (relative >= low - 1e-9) & (relative <= high + 1e-9)
    require_case(there.any(), f"a mean target between {low:g}/C and {high:g}/C")
    return abs(share - expected(share["mean_target"])).where(there).max(["tasks", "mean_target"])


def _require_close(result: Result) -> None:
    """Mean targets must be as close to each other as those at which the two sides of ρ* are compared are to ρ*."""
    means, least, most = np.sort(result["mean_target"].values), min(result.config.tasks), max(result.config.tasks)
    around = means[0] <= 0.75 / most and means[-1] >= 1.25 / least
    close = around and np.diff(means).max() <= (0.25 + 1e-9) / most
    require_case(close, f"mean targets around 1/C, no more than {0.25 / most:.2g} apart for {most} tasks")


def _contrast(result: Result, initial: float) -> xr.DataArray:
    """The share just above ρ* over that just below (means over runs), for every C."""
    _require_close(result)
    require_settled(result, initial=initial)
    share = result["share"].isel(time=-1).sel(initial=initial).mean("run", skipna=False).sortby("mean_target")
    above, below = (share.interp(mean_target=relative / share["tasks"]) for relative in (1.25, 0.75))
    return (above / below).drop_vars("mean_target", errors="ignore").rename(tasks="world")


def _draw_share(axis: Axes, result: Result, count: int) -> None:
    """Simulation as markers with standard errors, theory as lines, and the limit of a vanishing start."""
    share = result["share"].isel(time=-1).sel(tasks=count).sortby("mean_target")
    predicted = shared_energy(result.solved["strength"].isel(time=-1)).sel(tasks=count).sortby("mean_target")
    cosine, critical = cosine_at(count, share["mean_target"]), -1.0 / count
    limit = np.linspace(critical, 1.0, 50)
    steps = np.concatenate([[0.0, 0.0], (1 + (count - 1) * limit) / count])
    axis.plot([-1.0 / (count - 1), critical, *limit], steps, color="0.75", lw=3.5, solid_capstyle="butt")
    axis.axvline(critical, color="0.5", lw=0.7, ls=":")
    # Theory neglects what of a large start does not grow.
    law = predicted.sel(initial=predicted["initial"] < LARGE).mean("run")
    share, law = (values.assign_coords(mean_target=cosine.values) for values in (share, law))
    means_and_law(axis, share, law, "mean_target", "initial", label="{:g}".format, ms=2.6, mew=0.8)
    axis.set(xlabel="cosine of targets ρ", title=f"C = {count} tasks", ylim=(-0.03, 1.03))
    place = {"fontsize": 7, "ha": "left", "va": "top", "color": "0.3"}
    axis.text(critical, 0.99, f" ρ* = −1/{count}", **place)
    try:
        found = crossings(result).sel(tasks=count).mean().item()
        axis.text(critical, 0.89, f" found: {found:.3f}".replace("-", "−"), **place)
    except (claims.NotApplicable, claims.Undecided):
        return


def _draw_course(axis: Axes, result: Result, relative: float) -> None:
    """Strengths over time from the smallest start, first run."""
    count, initial = result.config.tasks[0], min(result.config.initial)
    chosen = result["mean_target"].sel(mean_target=relative / count, method="nearest").item()
    paths = ["shared", *(f"task{number}" for number in range(1, count + 1))]
    where = {"tasks": count, "mean_target": chosen, "initial": initial, "path": paths}
    look = {"looks": looks_of(paths, (BLACK, *PALETTE)), "label": lambda path: path.replace("task", "private ")}
    curves(axis, result, "strength", by="path", every=2, log=True, **look, **where)
    axis.set(ylabel="strength of pathway", ylim=(-0.03, 1.12), xlim=(3.0, result.config.until))
    side = "above" if relative > 1 else "below"
    axis.set_title(f"C = {count}, ρ = {cosine_at(count, chosen):.2f}, {side} ρ*".replace("-", "−"))


def _draw_numbers(axis: Axes, result: Result) -> None:
    """The effective number of pathways from the smallest start."""
    number = result["effective_number"].isel(time=-1).sel(initial=min(result.config.initial)).mean("run")
    number = number.sortby("mean_target")
    for index, (count, look) in enumerate(marks_of(result.config.tasks, ms=2.4, mew=0.7, lw=0.9).items()):
        cosine = cosine_at(count, number["mean_target"])
        axis.plot(cosine, number.sel(tasks=count), ls=LINES[index % len(LINES)], label=f"C = {count}", **look)
        axis.axvline(-1.0 / count, ymin=0.28, color=look["color"], lw=0.7, ls=":")
    axis.set(xlabel="cosine of targets ρ", ylabel="effective number", title="Pathways that take part")
    axis.set_ylim(0.0, None)
    axis.legend(loc="lower left", fontsize=6.5, handlelength=1.8)
