"""Descent by an optimiser of optax: momentum, Adam and whatever else keeps a memory of earlier slopes."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from festina import draws
from festina._lazy import optax
from festina.learning.process import Observed, Process, State


def optimised_process(
    slope: Callable[[Any, Array, Int[Array, ""]], Any],
    optimiser: "optax.GradientTransformation",
    parameters: Any,
    key: Array,
    records: int,
    steps_per_record: int,
    observe: Callable[[State], Observed],
    stage_at: Callable[[Int[Array, ""], Any], Int[Array, ""]],
) -> Process:
    """θ, m ← optimiser(∂L/∂θ, m, θ): the optimiser's memory m is a part of the state, and so of every checkpoint.

    Args:
        slope: ∂L/∂θ, given θ, the key of the step and its stage; the key of step n is fold_in(key of the run, n).
        optimiser: of optax.
        parameters: θ at the start.
        key: of the run.
        records: recordings after the first.
        steps_per_record: steps between two of them.
        observe: what is recorded of a state.
        stage_at: the stage of a step, by its number; see `stages_by_time`.
    """

    def step(state: State) -> State:
        uphill = slope(state.parameters, draws.fold_in(key, state.step), stage_at(state.step, None))
        with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):  # optax relies on both
            changes, memory = optimiser.update(uphill, state.memory, state.parameters)
            moved = optax.apply_updates(state.parameters, changes)
        number = state.step + 1
        return State(number.astype(state.time.dtype), number, _as(moved, state.parameters), _as(memory, state.memory))

    def advance(state: State, index: Int[Array, ""]) -> State:
        return jax.lax.scan(lambda state, _: (step(state), None), state, None, length=steps_per_record)[0]

    times = jnp.arange(records + 1).astype(float) * steps_per_record
    start = State.start(parameters, times[0], jax.tree.map(jnp.asarray, optimiser.init(parameters)))
    return Process(start, advance, observe, times, step, steps=records * steps_per_record)


def _as(tree: Any, like: Any) -> Any:
    """A tree in the precision of another: a schedule, say, must not turn float32 into float64."""
    return jax.tree.map(lambda leaf, kind: jnp.asarray(leaf, kind.dtype), tree, like)
