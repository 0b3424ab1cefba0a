"""Fewer paths than tasks, and more: what is kept of every task, what is shared, what is forgotten."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import festina as fs
from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Equation, Experiment, Result, named, use
from festina.experiments.abstraction._common import block_edges, ends_of_blocks, means_in_blocks, need_blocks
from festina.experiments.abstraction._panels import LOOKS, shade_blocks, task_look
from festina.figures.panels import MARKS, Page, graded_looks, map_of, means
from festina.models._in_blocks import forgetful
from festina.sources import SANDBRINK_2024
from festina.style import BLUE, ORANGE, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLOCKS, LAST = 36, 12  # of a run, and at its end over which is averaged: as often each of two, three or four tasks
COST = 0.01  # η² of gates in what is kept, in units of the teachers' norm

HELD = (
    "our expectation, written down before the first full run: with one path too few, and more than two, some tasks are "
    "held for good and only the others come and go, see the experiment's description"
)
UNSPLIT = (
    "the settings: bounds are as firm as in the source's figure, but weights are faster; in its own settings, "
    "`abstraction/redundancy`, about half of the runs split tasks"
)


class Capacity(Experiment):
    """P paths hold at most P of M orthogonal tasks.

    Networks of P paths learn M tasks in turn, in unannounced blocks, with the timescales and bounds of the paper's task
    composition (`mean` convention), and with the forgetful control beside them. Three numbers of the last twelve blocks
    say what becomes of the tasks:

    - *kept*: which share of a teacher gates alone could still make of the students, 1 − min_c |W* − Σ c W|²/|W*|², with
      a small cost of gates (η² = .01). It is of the students' span: no student need be a teacher for all to be kept.
    - *shared*: how many tasks a path takes part in, and how many paths a task has, by the contribution |c| |W| at the
      end of its blocks (effective numbers).
    - *forgotten*: the mean loss in a block of a task that returns, relative to that of a fresh network.
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
    quick = {"seeds": 3, "paths": (2, 4), "tasks": (2, 3)}
    equations = (
        Equation(
            r"\frac1M \sum_m \Bigl[1 - \min_c \frac{|W^{*m} - \sum_p c^p W^p|^2}{|W^{*m}|^2}\Bigr] \le \frac{P}{M}",
            "What P students keep of M orthogonal teachers: they span at most P dimensions.",
        ),
    )

    @claims.theory(claims.below(1.0))
    def bound(self, result: Result) -> xr.DataArray:
        """At no switch do P paths keep more than P of M orthogonal tasks (share kept of all tasks, over the smaller of
        P/M and 1).
        """
        kept = kept_at_switches(result)
        return stacked((kept.mean("teacher") / most(kept)).max(["block", "run"]))

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

    @claims.theory(claims.below(0.75), reason=HELD)
    def oldest_lost(self, result: Result) -> xr.DataArray:
        """With fewer paths than tasks, students follow the tasks at hand: the one that returns is kept less than the
        mean over tasks could be (share kept when its blocks begin over P/M, flexible, in the mean of runs; our
        threshold).
        """
        kept = returning(result).sel(arm="flexible")
        return few((kept / most(kept)).mean("run"))

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

    @claims.theory(claims.above(0.5), reason=HELD)
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

    @claims.theory(claims.above(0.9))
    def held(self, result: Result) -> xr.DataArray:
        """With three paths for four tasks one task at least is held for good, while others come and go (least share
        kept of the best kept task at late switches, flexible, in each run; found in runs 0 to 9; our threshold).
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
            shown = {"kept of a returning task": returning(result), "its loss, over a fresh one's": relearning(result)}
            for axis, (title, values) in zip(page.axes[:, 0], shown.items(), strict=True):
                cells = values.sel(arm="flexible").mean("run")
                map_of(axis, cells, "paths", "tasks", numbers=True, vmin=0, vmax=max(1.0, float(cells.max())))
                axis.set(xlabel="paths P", ylabel="tasks M")
                axis.set_title(title, fontsize=8)
            _draw_bound(page[1], kept_by_age(result).mean("age"), kept_by_age(limit).mean("age"))
            _draw_ages(page[2], kept_by_age(result), kept_by_age(limit))
            _draw_course(page[4], result, limit)
            _draw_shared(page[5], result)
        return page.figure


def most(values: xr.DataArray) -> xr.DataArray:
    """The largest share of M orthogonal tasks that P paths can keep: the smaller of P/M and 1."""
    return np.minimum(values["paths"] / values["tasks"], 1.0)


def kept(result: Result) -> xr.DataArray:
    """The share kept of each `teacher` in every recording; NaN for a teacher that is not there."""
    config = result.config
    norm = config.outputs**0.5 * fs.worlds.convention(config.convention).row_norm(config.inputs)
    return xr.apply_ufunc(
        lambda components, overlaps: fs.measures.kept_shares(components, overlaps, COST * norm**2),
        *(result["components"], result["overlaps"]),
        input_core_dims=[["teacher", "path"], ["path", "other"]],
        output_core_dims=[["teacher"]],
    )


def kept_at_switches(result: Result) -> xr.DataArray:
    """The share kept of each teacher when each `block` but the first begins, and at the end."""
    need_blocks(result, 1, "what is kept")
    edges = block_edges(result.config)
    places = np.searchsorted(result["time"].values, edges[1:] - 1e-9)
    switches = kept(replace(result, data=result.data.isel(time=places))).rename(time="block")
    return switches.assign_coords(block=np.arange(1, len(edges)))


def kept_by_age(result: Result) -> xr.DataArray:
    """The share kept at late switches of the task that was shown `age` blocks ago (0: just before); NaN from M on."""
    need_blocks(result, BLOCKS, "the settled state")
    late = kept_at_switches(result).isel(block=slice(-LAST, None))
    found, ages = [], np.arange(int(late["tasks"].max()))
    for tasks in late["tasks"].values.tolist():
        shown = (late["block"] - 1 - xr.DataArray(ages[:tasks], {"age": ages[:tasks]}, "age")) % tasks
        found.append(late.sel(tasks=tasks).isel(teacher=shown).mean("block").reindex(age=ages))
    return xr.concat(found, late["tasks"])


def returning(result: Result) -> xr.DataArray:
    """The share kept of the task whose block begins, which was shown M blocks ago; mean over late switches."""
    kept = kept_by_age(result)
    return kept.isel(age=kept["tasks"] - 1)


def relearning(result: Result) -> xr.DataArray:
    """The mean loss in late blocks, relative to that in the first."""
    need_blocks(result, BLOCKS, "the settled state")
    loss = means_in_blocks(result, result["loss"])
    return loss.isel(block=slice(-LAST, None)).mean("block") / loss.isel(block=0)


def use_by_task(result: Result) -> xr.DataArray:
    """Contributions |c| |W| of paths at the ends of late blocks, mean over those of each task: `task`, `path`."""
    need_blocks(result, BLOCKS, "the settled state")
    ends = ends_of_blocks(result, abs(result["gates"]) * result["norms"]).isel(block=slice(-LAST, None))
    found = []
    for tasks in ends["tasks"].values.tolist():
        own = ends.sel(tasks=tasks)
        found.append(own.assign_coords(task=own["block"] % tasks).groupby("task").mean("block"))
    return xr.concat(found, ends["tasks"], join="outer")


def _effective(values: xr.DataArray, dim: str) -> xr.DataArray:
    return xr.apply_ufunc(fs.measures.effective_number, values, input_core_dims=[[dim]])


def tasks_of_paths(result: Result) -> xr.DataArray:
    """How many tasks a path takes part in, in the mean over paths, each by its use."""
    used = use_by_task(result)
    return _effective(used, "task").weighted(used.sum("task")).mean("path")


def paths_of_tasks(result: Result) -> xr.DataArray:
    """How many paths take part in a task, in the mean over tasks."""
    return _effective(use_by_task(result), "path").mean("task")


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


def _draw_bound(axis: Axes, seen: xr.DataArray, limit: xr.DataArray) -> None:
    """The mean over tasks of what is kept, by P/M, in both arms, with the bound."""
    ratio = (seen["paths"] / seen["tasks"]).transpose("paths", "tasks")
    line = np.linspace(0.0, float(ratio.max()) * 1.05, 200)
    axis.plot(line, np.minimum(line, 1.0), color=VERMILLION, lw=1.2, label="bound P/M")
    for arm, look in LOOKS.items():
        cells = seen.sel(arm=arm).mean("run").transpose("paths", "tasks")
        exact = limit.sel(arm=arm).mean("run").transpose("paths", "tasks")
        axis.plot(ratio.values.ravel(), exact.values.ravel(), "_", color=look["color"], ms=8, mew=0.9)
        for mark, tasks in zip(MARKS, cells["tasks"].values, strict=False):
            own = {"color": look["color"], "mfc": "white" if arm == "forgetful" else look["color"]}
            label = f"M = {tasks}" if arm == "flexible" else ""
            axis.plot(ratio.sel(tasks=tasks), cells.sel(tasks=tasks), mark, ms=3.5, mew=0.8, label=label, **own)
    axis.plot([], [], "s", color=LOOKS["forgetful"]["color"], mfc="white", ms=3.5, label="forgetful")
    axis.set(xlabel="paths per task, P/M", ylabel="kept, mean over tasks", ylim=(0, 1.12), xlim=(0, line[-1]))
    axis.legend(loc="lower right", fontsize=6.5)


def _draw_ages(axis: Axes, seen: xr.DataArray, limit: xr.DataArray) -> None:
    """What is kept of a task by how long ago it was shown, for the most tasks there are: the closure and samples."""
    tasks = int(seen["tasks"].max())
    seen, limit = (values.sel(arm="flexible", tasks=tasks).isel(age=slice(tasks)) for values in (seen, limit))
    looks = graded_looks(seen["paths"].values.tolist())
    for (paths, look), mark in zip(looks.items(), MARKS, strict=False):
        axis.plot(limit["age"] + 1, limit.sel(paths=paths).mean("run"), lw=1.1, **look)
        means(axis, seen["age"] + 1, seen.sel(paths=paths), marker=mark, ms=3.5, color=look["color"])
        axis.plot([], [], marker=mark, ms=3.5, lw=1.1, label=f"P = {paths}", **look)
    axis.set(xlabel="block in which it was shown last, back from a switch", ylabel=f"kept, M = {tasks}")
    axis.set(ylim=(-0.05, 1.5), yticks=[0, 0.5, 1], xticks=range(1, tasks + 1))
    axis.legend(loc="upper right", ncols=3, fontsize=6.5, columnspacing=0.9)


def _draw_course(axis: Axes, result: Result, limit: Result) -> None:
    """What is kept of each task in late blocks of one network, with a path too few if there is one."""
    tasks = int(result["tasks"].max())
    paths = max(
        [count for count in result["paths"].values.tolist() if count < tasks], default=int(result["paths"].min())
    )
    edges = block_edges(result.config)[-2 * tasks - 1 :]
    at = {"paths": paths, "tasks": tasks, "arm": "flexible", "time": slice(edges[0] - 1e-9, None)}
    samples, exact = (kept(replace(one, data=one.data.isel(run=0).sel(at))) for one in (result, limit))
    for task in range(tasks):
        look = task_look(task)
        axis.plot(exact["time"], exact.isel(teacher=task), lw=1.1, label=chr(65 + task), **look)
        axis.plot(samples["time"][::4], samples.isel(teacher=task)[::4], "o", ms=1.6, color=look["color"])
    count = len(block_edges(result.config)) - 1
    shade_blocks(axis, edges, [(count - 2 * tasks + block) % tasks for block in range(2 * tasks)])
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
    axis.axhline(1, color="0.75", lw=0.7, zorder=0)
    axis.set(xlabel="paths per task, P/M", ylabel="effective number", ylim=(0.5, None))
    axis.legend(loc="upper right", fontsize=6.5)
