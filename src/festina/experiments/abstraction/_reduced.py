"""The reduced model in experiments that simulate by themselves: its tasks, and its arms."""

from typing import Any

import festina as fs
from festina._lazy import jnp
from festina.experiments.abstraction._common import side


def plane() -> Any:
    """The two tasks of the reduced model: to answer with one unit vector of the plane, or with the other."""
    return fs.worlds.Tasks(jnp.eye(2)[:, None, :])


def arms_of(config: Any, order: Any, *rules: Any) -> Any:
    """Several ways of learning side by side, through the same blocks."""
    blocks = fs.worlds.Blocks.of(order, config.block_length, config.step_size)
    return side.stacked(*(side.Arm(one, blocks) for one in rules))
