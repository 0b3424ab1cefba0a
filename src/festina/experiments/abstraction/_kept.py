"""What networks with any number of paths keep of their tasks, share among paths, and have to learn again."""

from __future__ import annotations

from dataclasses import replace

import festina as fs
from festina._lazy import np, xr
from festina.experiment import Result
from festina.experiments.abstraction._common import block_edges, ends_of_blocks, means_in_blocks, need_blocks

BLOCKS, LAST = 36, 12  # of a run, and at its end over which is averaged: as often each of two, three or four tasks
COST = 0.01  # η² of gates in what is kept, in units of the teachers' norm


def most(values: xr.DataArray) -> xr.DataArray:
    """The largest share of M orthogonal tasks that P paths can keep: the smaller of P/M and 1."""
    return (values["paths"] / values["tasks"]).clip(max=1.0)


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
    found: list[xr.DataArray] = []
    ages = np.arange(int(late["tasks"].max()))
    for tasks in late["tasks"].values.tolist():
        shown = (late["block"] - 1 - xr.DataArray(ages[:tasks], {"age": ages[:tasks]}, "age")) % tasks
        found.append(late.sel(tasks=tasks).isel(teacher=shown).mean("block").reindex(age=ages))
    return xr.concat(found, late["tasks"])


def returning(result: Result) -> xr.DataArray:
    """The share kept of the task whose block begins, which was shown M blocks ago; mean over late switches."""
    shares = kept_by_age(result)
    return shares.isel(age=shares["tasks"] - 1)


def relearning(result: Result) -> xr.DataArray:
    """The mean loss in late blocks, relative to that in the first."""
    need_blocks(result, BLOCKS, "the settled state")
    loss = means_in_blocks(result, result["loss"])
    return loss.isel(block=slice(-LAST, None)).mean("block") / loss.isel(block=0)


def use_by_task(result: Result) -> xr.DataArray:
    """Contributions |c| |W| of paths at the ends of late blocks, mean over those of each task: `task`, `path`."""
    need_blocks(result, BLOCKS, "the settled state")
    ends = ends_of_blocks(result, abs(result["gates"]) * result["norms"]).isel(block=slice(-LAST, None))
    found: list[xr.DataArray] = []
    for tasks in ends["tasks"].values.tolist():
        own = ends.sel(tasks=tasks)
        found.append(own.assign_coords(task=own["block"] % tasks).groupby("task").mean("block"))
    return xr.concat(found, ends["tasks"], join="outer")


def _effective(values: xr.DataArray, dim: str) -> xr.DataArray:
    """(Σπ)²/Σπ² along a dimension; NaN for what is not used at all, which `effective_number` refuses."""
    squares = (values**2).sum(dim)
    return values.sum(dim) ** 2 / squares.where(squares > 0)


def tasks_of_paths(result: Result) -> xr.DataArray:
    """How many tasks a path takes part in, in the mean over paths, each by its use."""
    used = use_by_task(result)
    return _effective(used, "task").weighted(used.sum("task")).mean("path")


def paths_of_tasks(result: Result) -> xr.DataArray:
    """How many paths take part in a task, in the mean over tasks."""
    return _effective(use_by_task(result), "path").mean("task")
