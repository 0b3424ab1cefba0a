"""Processes with steps of different length as one, so that a single run can hold them all."""

from collections.abc import Callable, Sequence
from typing import Any

import festina as fs
from festina._lazy import jnp
from festina.errors import require


def side_by_side(processes: Sequence[Any], join: Callable[[list[Any]], dict[str, Any]]) -> Any:
    """Processes of different kinds, each with its own steps; only the times of recording must agree.

    Args:
        processes: the first one's clock is that of all.
        join: what is recorded, from what each of them records.
    """
    counts = [process.times.shape for process in processes]
    require(len(set(counts)) == 1, "processes", "record equally often", counts)

    def packed(states: list[Any]) -> Any:
        memory = tuple((state.step, state.memory) for state in states)
        # Those of the busiest: what is ahead is foreseen from steps per recording, of which each process has its own.
        steps = jnp.max(jnp.stack([state.step for state in states]))
        return fs.learning.State(states[0].time, steps, tuple(state.parameters for state in states), memory)

    def unpacked(state: Any) -> list[Any]:
        pairs = zip(state.parameters, state.memory, strict=True)
        return [fs.learning.State(state.time, step, parameters, memory) for parameters, (step, memory) in pairs]

    def advance(state: Any, index: Any) -> Any:
        return packed([one.advance(own, index) for one, own in zip(processes, unpacked(state), strict=True)])

    def observe(state: Any) -> dict[str, Any]:
        return join([one.observe(own) for one, own in zip(processes, unpacked(state), strict=True)])

    def conclude(state: Any) -> dict[str, Any]:
        last = [one.conclude(own) for one, own in zip(processes, unpacked(state), strict=True)]
        return join(last) if any(last) else {}

    start = packed([one.initial for one in processes])
    return fs.learning.Process(start, advance, observe, processes[0].times, conclude=conclude)
