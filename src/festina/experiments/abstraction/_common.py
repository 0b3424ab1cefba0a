"""What the experiments on task abstractions share: blocks, and what happens in each of them."""

from __future__ import annotations

from typing import Any

import festina as fs
from festina._lazy import np, xr
from festina.claims import NotApplicable, Undecided
from festina.experiment import Result

SEPARATE = "a separate simulation of the published settings, ten seeds"
"""Where reference values come from that the paper does not print."""


def block_edges(config: Any) -> np.ndarray:
    """When each block begins, and when the last one ends; a last block that is cut short is left out.

    As in `Blocks`, a block has a whole number of steps.
    """
    length = _block_length(config)
    return length * np.arange(int(config.until / length + 1e-9) + 1)


def _block_length(config: Any) -> float:
    return max(round(config.block_length / config.step_size), 1) * config.step_size


def need_blocks(result: Result, count: int, what: str) -> None:
    """Leave undecided what takes some number of whole blocks, if a run has fewer."""
    if len(block_edges(result.config)) <= count:
        raise Undecided(f"{what} needs {count} blocks: --until {count * _block_length(result.config):g}")


def at_ends(result: Result, values: np.ndarray) -> np.ndarray:
    """Values over time (the last axis) at the last recording of each block."""
    need_blocks(result, 1, "the end of a block")
    ends = fs.measures.at_block_ends(result["time"].values, values, block_edges(result.config))
    if not np.isfinite(ends).any():
        raise NotApplicable("needs several recordings in each block")
    return ends


def ends_of_blocks(result: Result, of: str | xr.DataArray) -> xr.DataArray:
    """A variable, or values over time, at the last recording of each block: `block` is the last dimension."""
    values = (result[of] if isinstance(of, str) else of).transpose(..., "time")
    return _over_blocks(values, at_ends(result, values.values))


def late_ends(result: Result, name: str, last: int) -> xr.DataArray:
    """A variable at the ends of the last blocks, averaged over those of each of two tasks in alternation: `task`."""
    ends = ends_of_blocks(result, name).isel(block=slice(-last, None))
    return ends.assign_coords(task=("block", ends["block"].values % 2)).groupby("task").mean("block")


def means_in_blocks(result: Result, values: xr.DataArray) -> xr.DataArray:
    """The mean over the recordings of each whole block, or of the one that is cut short: `block` instead of time."""
    edges = block_edges(result.config)
    inside = values.isel(time=values["time"].values < (edges[-1] or np.inf) - 1e-9)
    block = np.searchsorted(edges, inside["time"].values + 1e-9, side="right") - 1
    return inside.assign_coords(block=("time", block)).groupby("block").mean("time")


def times_in_blocks(result: Result, level: float) -> xr.DataArray:
    """How long into each block the loss reaches a level: `block` is its last dimension; NaN if it does not."""
    loss, time = result["loss"].transpose(..., "time"), result["time"].values
    return _over_blocks(loss, fs.measures.times_in_blocks(time, loss.values, block_edges(result.config), level))


def steepest_in_blocks(result: Result, name: str) -> xr.DataArray:
    """The largest |d/dt| of a variable within each block: `block` is its last dimension, instead of time."""
    values, time = result[name].transpose(..., "time"), result["time"].values
    steepest = fs.measures.steepest_in_blocks(time, values.values, block_edges(result.config))
    if np.isnan(steepest).any():
        raise NotApplicable("needs several recordings in each block")
    return _over_blocks(values, steepest)


def early_in_blocks(result: Result, name: str, duration: float) -> xr.DataArray:
    """A variable at the first recordings of each block: its last dimensions are block and the time `since` it began."""
    values, time = result[name].transpose(..., "time"), result["time"].values
    first = np.searchsorted(time, block_edges(result.config)[:-1] - 1e-9)
    count = int(np.searchsorted(time, duration + 1e-9))
    found = values.values[..., np.minimum(first[:, None] + np.arange(count), len(time) - 1)]
    return _over_blocks(values, found, "since").assign_coords(since=time[:count])


def after_switches(result: Result, name: str, samples: int) -> xr.DataArray:
    """A variable after 0, 1, 2, … steps of each block, while it lasts: its last dimensions are block and sample."""
    config = result.config
    if round(config.until / config.step_size) != config.records:
        raise NotApplicable("needs a recording of every step")
    return first_recordings(result, name, min(samples + 1, round(config.block_length / config.step_size)))


def first_recordings(result: Result, name: str, count: int) -> xr.DataArray:
    """A variable at the first recordings of each block: its last dimensions are block and sample."""
    values, edges = result[name].transpose(..., "time"), block_edges(result.config)
    first = np.searchsorted(result["time"].values, edges - 1e-9)
    if (np.diff(first) < count).any():
        raise NotApplicable(f"needs at least {count} recordings in every block")
    return _over_blocks(values, values.values[..., first[:-1, None] + np.arange(count)], "sample")


def _over_blocks(values: xr.DataArray, found: np.ndarray, *beyond: str) -> xr.DataArray:
    """An array that has blocks where another has time, with its labels, and perhaps further dimensions."""
    labels: dict[Any, Any] = {name: label for name, label in values.coords.items() if "time" not in label.dims}
    labels |= {
        dim: np.arange(size) for dim, size in zip(("block", *beyond), found.shape[values.ndim - 1 :], strict=True)
    }
    return xr.DataArray(found, labels, (*values.dims[:-1], "block", *beyond))


def final_alignment(result: Result, arm: str) -> xr.DataArray:
    """The total alignment of one arm at the end, of every run."""
    return result["total_alignment"].sel(arm=arm).isel(time=-1)
