"""More paths than tasks: which of them fall silent, and what that takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import festina as fs
from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Experiment, ExperimentConfig, Preset, Result, continuous, named, use
from festina.experiments.abstraction._common import block_edges, ends_of_blocks, final_alignment, need_blocks
from festina.experiments.abstraction._panels import shade_blocks, task_look
from festina.figures.panels import MARKS, Page, looks_of
from festina.ranges import Coefficient
from festina.sources import SANDBRINK_2024
from festina.style import BLACK, GREY, SKY, VERMILLION, draw_band

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TASKS = 2
BLOCKS, LAST = 20, 4  # that the source shows, and at the end over which the settled state is judged
SILENCE = 0.1  # of a gate, and of a path's contribution |c| |W| in units of the teachers' norm
NOTEBOOK = SANDBRINK_2024.at("repository aproca/neural_task_abstraction, figA3_representational_cost.ipynb")
ONE_RUN = "the scope of the source: it shows one run, and runs differ, see the experiment's description"
SLOW_DECAY = (
    "likely the source: the cost in its text decays weights within 135 units of time, its code has another one, see "
    "the experiment's description"
)
FREE = {"column_cost": 0.0, "square_cost": 0.0}
WEAK = {  # bounds of arms that have a cost of weights
    "nonnegativity": lambda config: config.weak_nonnegativity,
    "normalization": lambda config: config.weak_normalization,
}
ARMS = {
    "no cost": FREE,
    "cost of columns": WEAK | {"square_cost": 0.0},
    "cost of squares": WEAK | {"column_cost": 0.0},
    "no cost, weak bounds": WEAK | FREE,
}


class Redundancy(Experiment):
    """With more paths than tasks, a cost of weights makes the redundant paths fall silent in most runs, but not in all.

    P = 4 paths learn M = 2 tasks in unannounced blocks, as in `abstraction/specialization`, in four arms:

    - *no cost*: bounds on the gates, .545 Σ max(0, −c) + 2.727 (‖c‖₁ − 1)², and no cost of weights;
    - *cost of columns*: weaker bounds, .194 and .968, and .194 times the mean norm of a column, as the published code;
    - *cost of squares*: the same bounds, and λ_W/(2 P d_in) Σ (W^p_ij)² with λ_W = .77, which is what the text says;
    - *no cost, weak bounds*: a control that the paper lacks: it changes the bounds together with the cost.

    A path is *silent* if at the ends of all of the last four blocks both its gate |c| and its contribution |c| |W|, in
    units of the teachers' norm, are below a tenth. The paper shows one run of each arm, and a separate run of ten seeds
    is too few to tell: here are forty. The contrast is there, but not one of all or nothing: the cost of columns leaves
    a redundant path in use in about one run of ten, and without any cost about half of the runs have two silent paths
    too. (If paths must be closed throughout the last four blocks, and not only at their ends, two are so in two runs of
    three with the cost of columns, and in less than one of five in each of the other arms.)

    The two costs are not the same thing. Under that of columns the norms of an unused path's columns fall by
    .194/(P d_in τ_w) = .0019 per unit of time, and it is gone after a while (after 20 blocks the lightest path has less
    than a twentieth of a teacher's norm in all but 2 of 40 runs). Under that of squares it decays with the time
    P d_in τ_w/λ_W = 135: in 20 blocks hardly anything happens, and the outcome is nearly that without a cost.
    """

    name = "abstraction/redundancy"
    sources = (SANDBRINK_2024,)
    arms = Arms(use(models.RedundantPaths, tasks=TASKS, recorded="courses"), arm=named(**ARMS))
    base = {"nonnegativity": 6 / 11, "normalization": 30 / 11, "records": 1000}
    base |= {"column_cost": 6 / 31, "square_cost": 0.77}
    seeds = 40
    quick = {"seeds": 3, "data": "population"}

    class Config(ExperimentConfig):
        weak_nonnegativity: Coefficient = continuous(6 / 31, help="coefficient λ₁ in all arms but the first")
        weak_normalization: Coefficient = continuous(30 / 31, help="coefficient λ₂ in all arms but the first")

    presets = (
        Preset("Figure A.3", "A cost of columns silences two of four paths in most runs; one of squares does little."),
        Preset("costly columns", "At three times the cost some paths in use fade as well.", {"column_cost": 0.6}),
        Preset("costly squares", "At ten times the cost of squares unused paths decay as well.", {"square_cost": 7.7}),
    )

    @claims.code(NOTEBOOK, claims.near(1.0, 0.1), budget="full", reason=ONE_RUN)
    def silent(self, result: Result) -> xr.DataArray:
        """With the cost of weights of the published code all redundant paths fall silent (share of runs; our
        tolerance).
        """
        return all_silent(settled(result)).sel(arm="cost of columns")

    @claims.paper(SANDBRINK_2024.at("app. A.3"), claims.near(1.0, 0.1), budget="full", reason=SLOW_DECAY)
    def silent_text(self, result: Result) -> xr.DataArray:
        """With the cost of weights that the text gives all redundant paths fall silent (share of runs; our
        tolerance).
        """
        return all_silent(settled(result)).sel(arm="cost of squares")

    @claims.paper(SANDBRINK_2024.at("app. A.3, fig. A.3B"), claims.between(0.0, 0.5), budget="full", reason=ONE_RUN)
    def split(self, result: Result) -> xr.DataArray:
        """Without a cost of weights paths are in general split over the tasks (share of runs in which all redundant
        ones are silent; our threshold).
        """
        return all_silent(settled(result)).sel(arm="no cost")

    @claims.theory(claims.between(0.0, 0.5), budget="full", reason=ONE_RUN)
    def not_by_weak_bounds(self, result: Result) -> xr.DataArray:
        """Weaker bounds alone, which come with the cost, do not silence paths (share of runs in which all redundant
        ones are silent; our threshold).
        """
        return all_silent(settled(result)).sel(arm="no cost, weak bounds")

    @claims.code(NOTEBOOK, claims.below(0.05), reason=ONE_RUN)
    def decayed(self, result: Result) -> xr.DataArray:
        """Under the published code's cost an unused path decays (norm of the weakest path at the end, in units of the
        teachers' norm; our threshold).
        """
        return relative_norms(settled(result)).isel(time=-1).min("path").sel(arm="cost of columns")

    @claims.paper(SANDBRINK_2024.at("app. A.3"), claims.below(0.05), reason=SLOW_DECAY)
    def decayed_text(self, result: Result) -> xr.DataArray:
        """Under the cost of weights that the text gives an unused path decays (norm of the weakest path at the end, in
        units of the teachers' norm; our threshold).
        """
        return relative_norms(settled(result)).isel(time=-1).min("path").sel(arm="cost of squares")

    @claims.paper(SANDBRINK_2024.at("fig. A.3A"), claims.above(0.95), reason=ONE_RUN)
    def specialised(self, result: Result) -> xr.DataArray:
        """The paths that remain specialise on one teacher each (total alignment at the end, cost of columns; our
        threshold).
        """
        need_blocks(result, BLOCKS, "the settled state")
        return final_alignment(result, "cost of columns")

    def figure(self, result: Result) -> Figure:
        """Gates of one run in three arms; then how used and how heavy paths are in all runs, how many are silent."""
        looks = looks_of(result["arm"].values, (BLACK, VERMILLION, SKY, GREY))
        with Page(2, 3, height=4.4) as page:
            for axis, arm in zip(page.axes[0], looks, strict=False):
                _draw_gates(axis, result, arm)
            page[0].legend(loc="upper center", ncols=4, fontsize=6.5, columnspacing=0.9, handletextpad=0.4)
            _draw_contributions(page[3], result, looks)
            norms = relative_norms(result).min("path").transpose("arm", "run", "time")
            for arm, look in looks.items():
                draw_band(page[4], result["time"].values, norms.sel(arm=arm).values, lw=1.1, label=arm, **look)
            page[4].set(xlabel="time t", ylabel="lightest path |W| / |W*|", xlim=(0, result.config.until))
            page[4].set_ylim(0, 1.75 * page[4].get_ylim()[1])
            page[4].legend(loc="upper left", fontsize=6.5)
            _draw_counts(page[5], result)
        return page.figure


def relative_norms(result: Result) -> xr.DataArray:
    """|W^p| in units of the norm |W*| of a teacher."""
    config = result.config
    return result["norms"] / (config.outputs**0.5 * fs.worlds.convention(config.convention).row_norm(config.inputs))


def late_activity(result: Result) -> xr.DataArray:
    """Gates |c| and contributions |c| |W|/|W*| of all paths at the ends of the last blocks."""
    need_blocks(result, LAST, "activity at the ends of late blocks")
    gates = abs(result["gates"])
    both = xr.concat([gates, gates * relative_norms(result)], xr.Variable("of", ["gates", "contributions"]))
    return ends_of_blocks(result, both).isel(block=slice(-LAST, None))


def silent_paths(result: Result) -> xr.DataArray:
    """Which paths are silent: neither gate nor contribution ever exceeds the level at late ends of blocks."""
    return late_activity(result).max(["of", "block"], skipna=False) < SILENCE


def settled(result: Result) -> Result:
    """The same result, if there are paths that are not needed, and if it is as long as the source's."""
    if result.config.paths == TASKS:
        raise claims.NotApplicable("needs more paths than tasks")
    need_blocks(result, BLOCKS, "the settled state")
    return result


def all_silent(result: Result) -> xr.DataArray:
    """1 for each run and arm in which as many paths are silent as are redundant, 0 for each other."""
    return (silent_paths(result).sum("path") == result.config.paths - TASKS).astype(float)


def _draw_gates(axis: Axes, result: Result, arm: str) -> None:
    """Of the first run in which the cost of columns makes the difference; if there is none, of the first."""
    silent = all_silent(result)
    run = int((silent.sel(arm="cost of columns") > silent.sel(arm="no cost")).argmax("run"))
    for path, gate in enumerate(result["gates"].isel(run=run).sel(arm=arm).transpose("path", "time").values):
        axis.plot(result["time"].values, gate, lw=1.0, label=f"{path + 1}", **task_look(path))
    shade_blocks(axis, block_edges(result.config), range(TASKS))
    axis.set(xlabel="time t", ylabel=f"gates of paths, run {run}", xlim=(0, result.config.until))
    axis.set(ylim=(-0.05, 1.35), yticks=[0, 0.5, 1])
    axis.set_title(arm, fontsize=8, pad=14)


def _draw_contributions(axis: Axes, result: Result, looks: dict[str, dict[str, Any]]) -> None:
    """The largest contribution of every path in late blocks, from the busiest path of a run to the least busy."""
    contributions = late_activity(result).sel(of="contributions").max("block").transpose("arm", "run", "path").values
    ranked, rank = -np.sort(-contributions, axis=-1), np.arange(1, contributions.shape[-1] + 1)
    for number, (values, look) in enumerate(zip(ranked, looks.values(), strict=True)):
        shifted, mark = rank + 0.16 * (number - 1.5), MARKS[number]
        axis.plot(shifted, values.T, marker=mark, color=look["color"], ls="none", ms=1.8, alpha=0.35, mew=0)
        axis.plot(shifted, values.mean(axis=0), marker=mark, lw=0.9, ms=3.5, **look)
    axis.axhline(SILENCE, color="0.5", lw=0.7, ls=":")
    axis.set(xlabel="path, by its use", ylabel="contribution |c| |W| / |W*|", xticks=rank, ylim=(-0.04, 1.15))


def _draw_counts(axis: Axes, result: Result) -> None:
    """The share of runs with any number of silent paths, stacked, from as many as are redundant at the bottom."""
    silent = silent_paths(result).sum("path").transpose("arm", "run").values
    bottom, blues = np.zeros(len(silent)), ("#08306b", "#6baed6", "#deebf7", "#ffffff")
    for place, count in enumerate(range(result.config.paths - TASKS, -1, -1)):
        share = (silent == count).mean(axis=1)
        axis.bar(range(len(silent)), share, 0.7, bottom, color=blues[place % 4], ec="0.2", lw=0.6, label=f"{count}")
        bottom += share
    axis.set(ylabel="share of runs", ylim=(0, 1.3), yticks=[0, 0.5, 1])
    names = ["no\ncost", "cost of\ncolumns", "cost of\nsquares", "weak\nbounds"]
    axis.set_xticks(range(len(silent)), names, fontsize=6.5)
    axis.legend(loc="upper center", ncols=4, title="silent paths", title_fontsize=6.5, fontsize=6.5, columnspacing=1)
