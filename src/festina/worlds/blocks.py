"""Which task is shown when: blocks of whole steps, whose boundaries are never announced."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from festina import draws
from festina.errors import require
from festina.precision import is_traced


class Blocks(eqx.Module):
    """A round of blocks, repeated for ever: block k shows task ``order[k]`` until step ``ends[k]``.

    Steps are counted exactly: a block of length τ_B has round(τ_B/dt) of them, and none is ever lost (in float32, up
    to step 2²³). Blocks may also end by chance, before their time: `shifts` says how many have, up to every step.

    Args:
        order: the task of each block of a round.
        ends: the step before which each block ends, counted from the start of the round; make both with :meth:`of`.
        shifts: by how many blocks each step is further on than its number says, counted round the round; see
            :meth:`shifts_by_chance`. None if blocks end by the clock alone.

    Example:
        >>> blocks = fs.worlds.Blocks.of((0, 1), length=1.0, step_size=0.5)  # two steps of each task in turn
        >>> [int(blocks.task_at(step)) for step in range(6)]
        [0, 0, 1, 1, 0, 0]
    """

    order: tuple[int, ...] = eqx.field(static=True)
    ends: Float[Any, " blocks"]
    shifts: Int[Any, " steps"] | None = None

    @classmethod
    def of(cls, order: Sequence[int], length: Any, step_size: Any) -> "Blocks":
        """One round through ``order``; ``length`` is that of every block, or one for each of them.

        Args:
            order: the task of each block, as (0, 1) for two tasks in alternation.
            length: in units of time, one number or one for each block; a traced number may differ between runs.
            step_size: dt.
        """
        require(len(order) >= 1 and min(order) >= 0, "order", "name at least one task, counted from 0", tuple(order))
        lengths = jnp.asarray(length, float)
        fits = lengths.shape in ((), (len(order),))
        require(fits, "length", f"be one number or {len(order)}, one for each block", lengths.shape)
        steps = jnp.round(lengths / step_size)
        if not is_traced(steps):
            whole = bool(np.all(np.asarray(steps) >= 1))
            require(whole, "length", f"hold at least one step of {step_size}", length)
        steps = jnp.maximum(steps, 1.0)  # where a traced length cannot be refused
        ends = jnp.cumsum(steps) if steps.shape else steps * jnp.arange(1.0, len(order) + 1.0)
        return cls(tuple(int(task) for task in order), ends)

    @staticmethod
    def shifts_by_chance(key: Array, switching: Any, steps: int, blocks: int) -> Int[Array, " steps"]:
        """The `shifts` of blocks that end before every step but the first with one probability.

        All probabilities share the numbers of a key: what ends a block at one ends it at every larger one.

        Args:
            key: of the run.
            switching: the probability, from 0 to 1; may be traced.
            steps: how many steps there are.
            blocks: of a round, at most 127.

        Example:
            >>> shifts = fs.worlds.Blocks.shifts_by_chance(jax.random.key(0), 1.0, steps=5, blocks=2)
            >>> shifts.tolist()  # a switch before every step but the first
            [0, 1, 0, 1, 0]
        """
        require(1 <= blocks <= 127, "blocks", "be from 1 to 127", blocks)
        ended = draws.uniform(key, (steps,)) < switching
        counted = jnp.cumsum(jnp.where(jnp.arange(steps) > 0, ended, False), dtype=jnp.int32)
        return (counted % blocks).astype(jnp.int8)  # a byte for every step: there may be thousands of networks

    def as_type(self, dtype: Any) -> "Blocks":
        """The same with ends of another type of number."""
        return replace(self, ends=jnp.asarray(self.ends).astype(dtype))

    def block_at(self, step: Any) -> Int[Array, ""]:
        """Which block of its round is shown in a step."""
        # half a step away from every boundary, so that no rounding can move a step into another block
        middle = jnp.asarray(step).astype(self.ends.dtype) + 0.5
        span = self.ends[-1]
        position = middle - span * jnp.floor(middle / span)
        block = jnp.sum((position > self.ends[:-1]).astype(jnp.int32), dtype=jnp.int32)
        return block if self.shifts is None else (block + jnp.asarray(self.shifts[step], jnp.int32)) % len(self.order)

    def shown(self, step: Any, tasks: int) -> tuple[Any, ...]:
        """1 for the task shown in a step and 0 for each other: written out, so that it fuses with what uses it."""
        block = self.block_at(step)
        weights = []
        for task in range(tasks):
            places = [place for place, known in enumerate(self.order) if known == task]
            here = sum(((block == place).astype(self.ends.dtype) for place in places), jnp.zeros((), self.ends.dtype))
            weights.append(here)
        return tuple(weights)

    def task_at(self, step: Any) -> Int[Array, ""]:
        """The task shown in a step."""
        return jnp.asarray(self.order, jnp.int32)[self.block_at(step)]
