"""Descent by an optimiser of optax: momentum, Adam and whatever else keeps a memory of earlier slopes."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from festina import draws
from festina._lazy import optax
from festina.learning.descent import BULK, largest_divisor
from festina.learning.process import Observed, Process, State
from festina.precision import bytes_of

DRAWN_BYTES = 2**19  # of data that are drawn together: they have to stay in the cache until their step comes


def optimised_process(
    slope: Callable[[Any, Any, Int[Array, ""]], Any],
    optimiser: "optax.GradientTransformation",
    parameters: Any,
    key: Array,
    records: int,
    steps_per_record: int,
    observe: Callable[[State], Observed],
    stage_at: Callable[[Int[Array, ""], Any], Int[Array, ""]],
    draw: Callable[[Array, Int[Array, ""]], Any] | None = None,
) -> Process:
    """θ, m ← optimiser(∂L/∂θ, m, θ): the optimiser's memory m is a part of the state, and so of every checkpoint.

    Args:
        slope: ∂L/∂θ, given θ, what is seen in a step, and its stage; the key of step n is fold_in(key of the run, n).
        optimiser: of optax.
        parameters: θ at the start.
        key: of the run.
        records: recordings after the first.
        steps_per_record: steps between two of them.
        observe: what is recorded of a state.
        stage_at: the stage of a step, by its number; see `stages_by_time`.
        draw: what is seen in a step, from its key and stage alone; unless given, the key itself.
    """

    def seen_in(number: Int[Array, ""]) -> tuple[Any, Int[Array, ""]]:
        own, stage = draws.fold_in(key, number), stage_at(number, None)
        return (own if draw is None else draw(own, stage)), stage

    def move(state: State, seen: tuple[Any, Int[Array, ""]]) -> State:
        uphill = slope(state.parameters, *seen)
        with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):  # optax relies on both
            changes, memory = optimiser.update(uphill, state.memory, state.parameters)
            moved = optax.apply_updates(state.parameters, changes)
        number = state.step + 1
        return State(number.astype(state.time.dtype), number, _as(moved, state.parameters), _as(memory, state.memory))

    def step(state: State) -> State:
        return move(state, seen_in(state.step))

    def many(state: State, _: None) -> tuple[State, None]:
        seen = jax.vmap(seen_in)(state.step + jnp.arange(bulk, dtype=state.step.dtype))
        return jax.lax.scan(lambda state, seen: (move(state, seen), None), state, seen)[0], None

    def advance(state: State, index: Int[Array, ""]) -> State:
        return jax.lax.scan(many, state, None, length=steps_per_record // bulk)[0]

    bulk = largest_divisor(steps_per_record, _together(seen_in))
    times = jnp.arange(records + 1).astype(float) * steps_per_record
    start = State.start(parameters, times[0], jax.tree.map(jnp.asarray, optimiser.init(parameters)))
    return Process(start, advance, observe, times, step, steps=records * steps_per_record)


def _together(seen_in: Callable[[Int[Array, ""]], Any]) -> int:
    """Of how many steps the data are drawn together: random numbers are cheaper by the thousand."""
    size = bytes_of(jax.eval_shape(seen_in, jnp.zeros((), int)))
    return max(1, min(BULK, DRAWN_BYTES // max(1, size)))


def _as(tree: Any, like: Any) -> Any:
    """A tree in the precision of another: a schedule, say, must not turn float32 into float64."""
    return jax.tree.map(lambda leaf, kind: jnp.asarray(leaf, kind.dtype), tree, like)
