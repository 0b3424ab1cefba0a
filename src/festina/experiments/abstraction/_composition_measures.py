"""What `abstraction/composition` reads off a result."""

from typing import Any

import festina as fs
from festina._lazy import np
from festina.claims import NotApplicable, Undecided
from festina.experiments._labelled import labelled
from festina.experiments.abstraction._common import block_edges, need_blocks
from festina.experiments.abstraction._latent import PAIRS, TEACHERS, gates_of_pairs

TRAINED = 14  # blocks of single teachers after which students can be expected to know them
SOON = 0.1  # time into a block at which the loss of fig. 3 is read


def novel_edges(result: Any) -> Any:
    """When each block of new tasks begins, and when the last one ends."""
    config, edges = result.config, block_edges(result.config)
    first, last = config.training_blocks, config.training_blocks + config.novel_blocks
    need_blocks(result, last, "learning of old and new tasks")
    if first < TRAINED:
        raise Undecided(f"what old tasks are good for needs --training-blocks {TRAINED}")
    return edges[first : last + 1]


def gates_in_pairs(result: Any, setting: str) -> tuple[Any, Any, Any]:
    """`gates_of_pairs` of the flexible network at the ends of new blocks."""
    gates = result["sorted_gates"].sel(setting=setting, arm="flexible").transpose("run", "student", "time").values
    ends = fs.measures.at_block_ends(result["time"].values, gates, novel_edges(result))
    if not np.isfinite(ends).all():
        raise NotApplicable("needs several recordings in each block")
    order = result.config.order[result.config.training_blocks :]
    on, off, ratio = gates_of_pairs(ends, [PAIRS[task - TEACHERS] for task in order])
    return labelled(on, "run"), labelled(off, "run"), labelled(ratio, "run")


def of_sum(result: Any, value: Any) -> Any:
    """A number that the source gives under `sum`."""
    if result.config.convention != "sum":
        raise NotApplicable("needs the convention `sum`")
    return value


def loss_soon(result: Any, arm: str) -> Any:
    """The loss of task composition soon after the first new task begins, for each run."""
    when = novel_edges(result)[0] + SOON
    loss = result["loss"].sel(setting="task", arm=arm).transpose("run", "time").values
    return of_sum(result, np.stack([np.interp(when, result["time"].values, one) for one in loss]))


def novel_times(result: Any, setting: str, level: float) -> Any:
    """How long into each new block the loss reaches a level, with dimensions (run, arm, block)."""
    loss = result["loss"].sel(setting=setting).transpose("run", "arm", "time").values
    times = fs.measures.times_in_blocks(result["time"].values, loss, novel_edges(result), level)
    return labelled(times, "run", "arm", "block")


def times_ratio(result: Any, setting: str, level: float) -> Any:
    """Mean time to a level of the loss in new blocks, forgetful over flexible, for each run."""
    times = novel_times(result, setting, level).mean("block", skipna=False)
    return of_sum(result, times[:, 1] / times[:, 0])


def alignment_of(result: Any, setting: str, arm: str) -> Any:
    """The total alignment, with dimensions (run, time)."""
    return result["total_alignment"].sel(setting=setting, arm=arm).transpose("run", "time").values


def final(result: Any, setting: str, arm: str) -> Any:
    """The total alignment once all new tasks have been shown, for each run."""
    novel_edges(result)
    return labelled(alignment_of(result, setting, arm)[:, -1], "run")


def novel_mean(result: Any, arm: str) -> Any:
    """The total alignment of subtask composition, averaged over the time of new tasks, for each run."""
    edges, time = novel_edges(result), result["time"].values
    during = (time >= edges[0]) & (time <= edges[-1])
    return of_sum(result, labelled(alignment_of(result, "subtask", arm)[:, during].mean(axis=1), "run"))


def change(result: Any, setting: str) -> Any:
    """How the total alignment of the flexible network changes in the course of new tasks, for each run."""
    start, end = np.searchsorted(result["time"].values, novel_edges(result)[[0, -1]] - 1e-9)
    values = alignment_of(result, setting, "flexible")
    return values[:, end] - values[:, start]
