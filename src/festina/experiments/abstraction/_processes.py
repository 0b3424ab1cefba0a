"""Processes that differ in their worlds, as one."""

from dataclasses import replace
from typing import Any

import festina as fs
from festina._lazy import jax, jnp


def alongside(*processes: Any) -> Any:
    """Processes that differ only in what they start from and remember, along a leading axis of all they record."""
    first = processes[0]

    def stacked(of: str) -> Any:
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *(getattr(one.initial, of) for one in processes))

    def each(act: Any, state: Any, *rest: Any) -> Any:
        def one(parameters: Any, memory: Any) -> Any:
            return act(fs.learning.State(state.time, state.step, parameters, memory), *rest)

        return jax.vmap(one)(state.parameters, state.memory)

    def moved(after: Any) -> Any:
        return fs.learning.State(after.time[0], after.step[0], after.parameters, after.memory)

    return fs.learning.Process(
        replace(first.initial, parameters=stacked("parameters"), memory=stacked("memory")),
        lambda state, index: moved(each(first.advance, state, index)),
        lambda state: each(first.observe, state),
        first.times,
        lambda state: moved(each(first.step, state)),
        steps=first.steps,
    )
