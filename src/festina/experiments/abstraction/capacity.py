"""Fewer paths than tasks, and more: what is kept of every task, what is shared, what is forgotten."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Equation, Experiment, Preset, Result, named, use
from festina.experiments.abstraction._common import block_edges, need_blocks
from festina.experiments.abstraction._kept import (
    BLOCKS,
    LAST,
    kept,
    kept_at_switches,
    kept_by_age,
    most,
    paths_of_tasks,
    relearning,
    returning,
    tasks_of_paths,
)
from festina.experiments.abstraction._panels import LOOKS, shade_blocks, task_look
from festina.figures.panels import MARKS, Page, graded_looks, if_known, map_of, means
from festina.models._in_blocks import forgetful
from festina.sources import SANDBRINK_2024
from festina.style import BLUE, ORANGE, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HELD = (
    "our expectation, written down before the first full run: three paths hold some of four tasks for good, so that "
    "only the others are lost, see the experiment's description"
)
UNSPLIT = "our expectation, and settings that are not the source's: with those, see `abstraction/redundancy`"


class Capacity(Experiment):
    """P paths hold at most P of M orthogonal tasks; if they are too few, some tasks are held, and others come and go.

    Networks of P paths learn M tasks in turn, in unannounced blocks, with the timescales and bounds of the paper's task
    composition (`mean` convention), and with the forgetful control beside them. Three numbers of the last twelve blocks
    say what becomes of the tasks:

    - *kept*: which share of a teacher gates alone could still make of the students, 1 − min_c |W* − Σ c W|²/|W*|², with
      a small cost of gates (η² = .01). It is of the students' span: no student need be a teacher for all to be kept.
    - *shared*: how many tasks a path takes part in, and how many paths a task has, by the contribution |c| |W| at the
      end of its blocks (effective numbers).
    - *forgotten*: the mean loss in a block of a task that returns, relative to that of a fresh network.

    P students span at most P dimensions, so that the mean share kept is at most P/M, at any time. Flexible networks
    reach it; all students of forgetful ones are alike, and keep the current task whatever P is. The paper has as many
    paths as tasks, or more (for "the P ≤ M case" it refers to app. A.3, which has P > M): the map below P = M is ours.

    We expected that students that are too few follow the current task. A single one does, and it is worse off than a
    fresh network: it has to lose one task before it learns another. But P = M − 1 = 3 paths hold one task for good, or
    two, and only the others come and go; which ones depends on the start. (Ten other runs, looked at for that alone, do
    the same, and four paths hold two or more of five tasks.) So the task that returns is kept better than expected
    there: .61 of it where the bound on the mean is .75, at half a fresh network's loss.
    Spare paths hardly split tasks here, less than we expected of app. A.3 in settings that are not its own.
    """

    name = "abstraction/capacity"
    sources = (SANDBRINK_2024,)
    arms = Arms(
        use(models.RedundantPaths, recorded="courses", column_cost=0.0, square_cost=0.0),
        paths=(1, 2, 3, 4, 6),
        tasks=(2, 3, 4),
        arm=named(flexible={}, forgetful=forgetful),
    )
    base = {"outputs": 4, "weight_timescale": 0.2, "nonnegativity": 0.5, "normalization": 1.25, "convention": "mean"}
    base |= {"until": 36.0, "step_size": 0.005, "records": 720}
    seeds = 10
    quick = {"seeds": 3, "paths": (2, 4), "tasks": (2, 3), "data": "population"}
    equations = (
        Equation(
            r"\frac1M \sum_m \Bigl[1 - \min_c \frac{|W^{*m} - \sum_p c^p W^p|^2}{|W^{*m}|^2}\Bigr] \le \frac{P}{M}",
            "What P students keep of M orthogonal teachers: they span at most P dimensions.",
        ),
    )

    presets = (
        Preset("the map", "Below P = M a share of P/M is kept in the mean, and less of the task that returns."),
        Preset("short blocks", "Two paths do not reach the bound if tasks are more.", {"block_length": 0.25}),
    )

    @claims.theory(claims.below(1.0))
    def bound(self, result: Result) -> xr.DataArray:
        """At no switch do P paths keep more than P of M orthogonal tasks (share kept of all tasks, over the smaller of
        P/M and 1).
        """
        shares = kept_at_switches(result)
        return stacked((shares.mean("teacher") / most(shares)).max(["block", "run"]))

    @claims.theory(claims.above(0.85))
    def reached(self, result: Result) -> xr.DataArray:
        """With fewer paths than tasks, students span as many of the tasks as they can (share kept of all tasks in late
        blocks over P/M, flexible, in the mean of runs; our threshold).
        """
        late = kept_by_age(result).sel(arm="flexible").mean("age")
        return few((late / most(late)).mean("run"))

    @claims.theory(claims.above(0.9))
    def enough(self, result: Result) -> xr.DataArray:
        """With a path for each task, or more, a task that returns is still there (share kept when its blocks begin,
        flexible, in the mean of runs; our threshold).
        """
        return many(returning(result).sel(arm="flexible").mean("run"))

    @claims.theory(claims.below(0.75), budget="full", reason=HELD)
    def oldest_lost(self, result: Result) -> xr.DataArray:
        """With fewer paths than tasks, students follow the current task (share kept of a task when its blocks begin,
        over P/M, flexible, in the mean of runs; our threshold).
        """
        shares = returning(result).sel(arm="flexible")
        return few((shares / most(shares)).mean("run"))

    @claims.theory(claims.below(0.5))
    def forgetful_keeps_little(self, result: Result) -> xr.DataArray:
        """Gates that are slow and free keep little of a task that returns, however many paths there are (share kept
        when its blocks begin, in the mean of runs; our threshold).
        """
        return stacked(returning(result).sel(arm="forgetful").mean("run"))

    @claims.theory(claims.below(0.3))
    def remembered(self, result: Result) -> xr.DataArray:
        """With a path for each task, or more, a task that returns costs little (mean loss in its block relative to that
        of a fresh network, flexible, in the mean of runs; our threshold).
        """
        return many(relearning(result).sel(arm="flexible").mean("run"))

    @claims.theory(claims.above(0.5), budget="full", reason=HELD)
    def relearned(self, result: Result) -> xr.DataArray:
        """With fewer paths than tasks, a task that returns is learned again (mean loss in its block relative to that of
        a fresh network, flexible, in the mean of runs; our threshold).
        """
        return few(relearning(result).sel(arm="flexible").mean("run"))

    @claims.theory(claims.below(1.2))
    def one_task_each(self, result: Result) -> xr.DataArray:
        """With as many paths as tasks, each serves one (effective number of tasks of a path, flexible, in the mean of
        runs; our threshold).
        """
        shared = tasks_of_paths(result).sel(arm="flexible").mean("run")
        return among(shared, shared["paths"] == shared["tasks"], "as many paths as tasks")

    @claims.theory(claims.above(1.2), source=SANDBRINK_2024.at("app. A.3"), reason=UNSPLIT)
    def split(self, result: Result) -> xr.DataArray:
        """With twice as many paths as tasks, or more, tasks are split over paths (effective number of paths of a task,
        flexible, in the mean of runs; our threshold).
        """
        shared = paths_of_tasks(result).sel(arm="flexible").mean("run")
        return among(shared, shared["paths"] >= 2 * shared["tasks"], "twice as many paths as tasks")

    @claims.theory(claims.above(0.9), budget="full")
    def held(self, result: Result) -> xr.DataArray:
        """Three paths hold at least one of four tasks for good (least share kept of the best kept one at late switches,
        flexible, in each run; found in the first full run; our threshold).
        """
        need_blocks(result, BLOCKS, "the settled state")
        if 3 not in result["paths"] or 4 not in result["tasks"]:
            raise claims.NotApplicable("needs three paths and four tasks")
        late = kept_at_switches(result).sel(paths=3, tasks=4, arm="flexible").isel(block=slice(-LAST, None))
        return late.min("block").max("teacher")

    @claims.theory(claims.below(0.05))
    def follows_the_closure(self, result: Result) -> xr.DataArray:
        """Networks that learn from batches keep what the limit of infinitely many inputs says (difference in the share
        kept of a task that returns, mean of runs; our threshold).
        """
        limit = replace(result, data=result.solved)
        return stacked(abs(returning(result).mean("run") - returning(limit).mean("run")))

    def figure(self, result: Result) -> Figure:
        """Maps of what is kept and what it costs; kept against the bound, by age, and over time; what is shared."""
        limit = result if result.theory is None else replace(result, data=result.theory)
        with Page(2, 3, height=4.9) as page:
            with if_known(page[0]):
                _draw_map(page[0], returning(result), "kept of a task that returns")
            with if_known(page[1]):
                _draw_bound(page[1], kept_by_age(result).mean("age"), kept_by_age(limit).mean("age"))
            with if_known(page[2]):
                _draw_ages(page[2], kept_by_age(result), kept_by_age(limit))
            with if_known(page[3]):
                _draw_map(page[3], relearning(result), "its loss, over a fresh network's")
            with if_known(page[4]):
                _draw_course(page[4], result, limit)
            with if_known(page[5]):
                _draw_shared(page[5], result)
        return page.figure


def stacked(cells: xr.DataArray) -> xr.DataArray:
    """All cells of a map in a row."""
    return cells.stack(cell=[str(dim) for dim in cells.dims]).reset_index("cell", drop=True)


def among(cells: xr.DataArray, chosen: xr.DataArray, what: str) -> xr.DataArray:
    """Some of the cells of a map over paths and tasks, in a row."""
    if not chosen.any():
        raise claims.NotApplicable(f"needs {what}")
    return stacked(cells).isel(cell=stacked(chosen.transpose(*cells.dims)).values)


def few(cells: xr.DataArray) -> xr.DataArray:
    """The cells with fewer paths than tasks."""
    return among(cells, cells["paths"] < cells["tasks"], "fewer paths than tasks")


def many(cells: xr.DataArray) -> xr.DataArray:
    """The cells with as many paths as tasks, or more."""
    return among(cells, cells["paths"] >= cells["tasks"], "as many paths as tasks")


def _draw_map(axis: Axes, values: xr.DataArray, title: str) -> None:
    """Of flexible networks, mean of runs, in every cell."""
    cells = values.sel(arm="flexible").mean("run").sortby(["paths", "tasks"])
    map_of(axis, cells, "paths", "tasks", numbers=True, vmin=0, vmax=max(1.0, float(cells.max())))
    axis.set(xlabel="paths P", ylabel="tasks M")
    axis.set_title(title, fontsize=8)


def _draw_bound(axis: Axes, seen: xr.DataArray, limit: xr.DataArray) -> None:
    """The mean over tasks of what is kept, by P/M, in both arms, with the bound."""
    ratio = (seen["paths"] / seen["tasks"]).transpose("paths", "tasks")
    line = np.linspace(0.0, float(ratio.max()) * 1.05, 200)
    axis.plot(line, np.minimum(line, 1.0), color=VERMILLION, lw=1.2, label="bound P/M")
    for arm, look in LOOKS.items():
        exact, cells = (values.sel(arm=arm).mean("run").transpose("paths", "tasks") for values in (limit, seen))
        label = "closure" if arm == "flexible" else ""
        axis.plot(ratio.values.ravel(), exact.values.ravel(), "_", color=look["color"], ms=8, mew=0.9, label=label)
        for mark, tasks in zip(MARKS, cells["tasks"].values, strict=False):
            own = {"color": look["color"], "mfc": "white" if arm == "forgetful" else look["color"]}
            label = f"M = {tasks}" if arm == "flexible" else f"{tasks}, forgetful"
            axis.plot(ratio.sel(tasks=tasks), cells.sel(tasks=tasks), mark, ms=3.5, mew=0.8, label=label, **own)
    axis.set(xlabel="paths per task, P/M", ylabel="kept, mean over tasks", ylim=(0, 1.75), xlim=(0, line[-1]))
    axis.set_yticks([0, 0.5, 1])
    axis.legend(loc="upper right", fontsize=6.5, ncols=2, columnspacing=0.9)


def _draw_ages(axis: Axes, seen: xr.DataArray, limit: xr.DataArray) -> None:
    """What is kept of a task by how long ago it was shown, for the most tasks there are: the closure and samples."""
    tasks = int(seen["tasks"].max())
    seen, limit = (values.sel(arm="flexible", tasks=tasks).isel(age=slice(tasks)) for values in (seen, limit))
    looks = graded_looks(seen["paths"].values.tolist())
    for (paths, look), mark in zip(looks.items(), MARKS, strict=False):
        axis.plot(limit["age"] + 1, limit.sel(paths=paths).mean("run"), lw=1.1, **look)
        means(axis, seen["age"] + 1, seen.sel(paths=paths), marker=mark, ms=3.5, color=look["color"])
        axis.plot([], [], marker=mark, ms=3.5, lw=1.1, label=f"P = {paths}", **look)
    axis.set(xlabel="shown so many blocks ago", ylabel=f"kept, M = {tasks}")
    axis.set(ylim=(-0.05, 1.5), yticks=[0, 0.5, 1], xticks=range(1, tasks + 1))
    axis.legend(loc="upper right", ncols=3, fontsize=6.5, columnspacing=0.9)


def _draw_course(axis: Axes, result: Result, limit: Result) -> None:
    """What is kept of each task in late blocks of one network, with a path too few if there is one."""
    tasks = int(result["tasks"].max())
    paths = max(
        [count for count in result["paths"].values.tolist() if count < tasks], default=int(result["paths"].min())
    )
    every = block_edges(result.config)
    edges = every[-2 * tasks - 1 :]
    at = {"paths": paths, "tasks": tasks, "arm": "flexible", "time": slice(edges[0] - 1e-9, None)}
    samples, exact = (kept(replace(one, data=one.data.isel(run=0).sel(at))) for one in (result, limit))
    for task in range(tasks):
        look = task_look(task)
        axis.plot(exact["time"], exact.isel(teacher=task), lw=1.1, label=chr(65 + task), **look)
        axis.plot(samples["time"][::4], samples.isel(teacher=task)[::4], "o", ms=1.6, color=look["color"])
    first = len(every) - len(edges)
    shade_blocks(axis, edges, [(first + block) % tasks for block in range(len(edges))])
    axis.set(xlabel="time t", ylabel=f"kept, P = {paths}, M = {tasks}", xlim=(edges[0], edges[-1]))
    axis.set(ylim=(-0.05, 1.3), yticks=[0, 0.5, 1])
    axis.legend(loc="upper center", ncols=4, fontsize=6.5, columnspacing=0.9, title="task", title_fontsize=6.5)


def _draw_shared(axis: Axes, result: Result) -> None:
    """Tasks of a path and paths of a task, by P/M."""
    shared = {
        "tasks of a path": (tasks_of_paths(result), BLUE, "o"),
        "paths of a task": (paths_of_tasks(result), ORANGE, "s"),
    }
    for label, (values, color, mark) in shared.items():
        cells = values.sel(arm="flexible").transpose("run", "paths", "tasks")
        ratio = (cells["paths"] / cells["tasks"]).transpose("paths", "tasks").values.ravel()
        means(axis, ratio, cells.stack(cell=["paths", "tasks"]), marker=mark, ms=3.5, color=color, label=label)
    line = np.linspace(float(ratio.min()), 1.0, 100)  # pyright: ignore[reportPossiblyUnboundVariable]
    axis.plot(line, 1.0 / line, color="0.6", lw=0.8, ls=":", zorder=0, label="M/P")
    axis.axhline(1, color="0.75", lw=0.7, zorder=0)
    axis.set(xlabel="paths per task, P/M", ylabel="effective number", ylim=(0.5, None))
    axis.legend(loc="upper right", fontsize=6.5)
