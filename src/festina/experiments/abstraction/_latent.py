"""Tasks made of teachers: how students compare with teachers that are not the task shown."""

from typing import Any

import festina as fs
from festina._lazy import np

TEACHERS = 3
PAIRS = ((0, 1), (1, 2), (2, 0))
"""AB, BC and CA: the teachers of each task that is made of two."""


def seen_with(view: Any, teachers: int = TEACHERS) -> Any:
    """The same view with the first few tasks, the teachers, as all there is to compare students with."""
    latent = fs.worlds.Tasks(view.tasks.maps[:teachers], view.tasks.loss_share)
    return fs.learning.View(view.network, view.rule, latent, view.target)


def gates_of_pairs(ends: Any, pairs: Any) -> tuple[Any, Any, Any]:
    """Mean gate of the two teachers of a task, gate of the third, and smaller over larger of the two.

    Averaged over blocks, for each run.

    Args:
        ends: sorted gates at the ends of blocks, with dimensions (run, student, block).
        pairs: the two teachers of each block's task.
    """
    on = np.stack([ends[:, list(pair), block] for block, pair in enumerate(pairs)], axis=-1)
    off = ends.sum(axis=1) - on.sum(axis=1)
    return on.mean(axis=(1, 2)), off.mean(axis=1), (on.min(axis=1) / on.max(axis=1)).mean(axis=1)
