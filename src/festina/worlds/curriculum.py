"""Worlds that follow one another in time."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from festina.errors import require
from festina.precision import is_traced
from festina.worlds.world import World


class Curriculum(eqx.Module):
    """Worlds of one shape, one after the other; world k is shown from ``switches[k-1]`` to ``switches[k]``.

    Make one with :meth:`of`, from worlds and the times between them, or with :meth:`blocked`.

    Args:
        stages: the worlds in the order of their appearance, all of one kind and shape, stacked into one.
        switches: when one gives way to the next, one fewer than worlds, rising; in units of time.

    Example:
        >>> tasks = (fs.worlds.Teacher(np.eye(2)), fs.worlds.Teacher(-np.eye(2)))
        >>> lessons = fs.worlds.Curriculum.blocked(tasks, block_length=5.0, blocks=4)
        >>> lessons.switches.tolist(), int(lessons.stage_at(jax.numpy.asarray(12.0)))
        ([5.0, 10.0, 15.0], 2)
    """

    stages: Any  # the worlds stacked into one: every array has a leading axis of stages
    switches: Float[Any, " switches"]

    @classmethod
    def of(cls, worlds: tuple[World, ...], switches: Any) -> "Curriculum":
        """Stack worlds into a curriculum.

        Args:
            worlds: in the order of their appearance, all of one kind and shape.
            switches: when one gives way to the next, one fewer than worlds, rising; may be traced.

        Example:
            >>> tasks = tuple(fs.worlds.Teacher(size * np.eye(2)) for size in (1, 2, 3))
            >>> lessons = fs.worlds.Curriculum.of(tasks, switches=(5.0, 20.0))
            >>> float(lessons.at(jax.numpy.asarray(1)).map[0, 0])
            2.0
        """
        require(len(worlds) >= 1, "worlds", "name at least one world", worlds)
        times = switches if is_traced(switches) else np.asarray(switches, dtype=float)
        require(
            times.shape == (len(worlds) - 1,),
            "switches",
            f"have {len(worlds) - 1} entries",
            tuple(times.shape),
        )
        if not is_traced(times):
            rising = np.all(np.diff(np.concatenate([[0.0], times])) > 0.0)
            require(bool(rising), "switches", "be positive and rise", times.tolist())
        kinds = {(jax.tree.structure(w), tuple(np.shape(x) for x in jax.tree.leaves(w))) for w in worlds}
        require(len(kinds) == 1, "worlds", "all be of one kind and shape", f"{len(kinds)} different ones")
        return cls(jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(x) for x in leaves]), *worlds), times)

    @classmethod
    def blocked(cls, worlds: tuple[World, ...], block_length: Any, blocks: int) -> "Curriculum":
        """``blocks`` blocks of one length that go through the worlds in turn, over and over."""
        require(blocks >= 1, "blocks", "be at least 1", blocks)
        require(len(worlds) >= 1, "worlds", "name at least one world", worlds)
        order = tuple(worlds[k % len(worlds)] for k in range(blocks))
        return cls.of(order, block_length * np.arange(1, blocks))

    def stage_at(self, time: Float[Array, ""]) -> Int[Array, ""]:
        """Which world is shown from ``time`` on (a switch belongs to the new world)."""
        return jnp.searchsorted(jnp.asarray(self.switches), time, side="right")

    def at(self, stage: Int[Array, ""]) -> Any:
        """The world of a stage."""
        return jax.tree.map(lambda leaf: jnp.asarray(leaf)[stage], self.stages)


def as_curriculum(world: Any) -> Curriculum:
    """Any world as a curriculum that never switches."""
    if isinstance(world, Curriculum):
        return world
    return Curriculum(jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], world), jnp.zeros((0,)))
