"""Gradient descent in steps of length dt, each parameter on its own timescale, with fresh data in every step."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from festina.errors import require
from festina.learning.process import Observed, Process, State

Update = Callable[[Any, Array, Int[Array, ""]], Any]


def descent_process(
    rate: Update,
    parameters: Any,
    key: Array,
    step_size: Any,
    records: int,
    steps_per_record: int,
    observe: Callable[[State], Observed],
    switches: Float[Array, " switches"] | None = None,
) -> Process:
    """θ ← θ + dt · rate(θ, key of the step, stage): Euler's method, or stochastic gradient descent.

    The key of step n is fold_in(key of the run, n), so that a run draws the same numbers alone, in a batch, or
    resumed. A switch takes effect at the first step that begins at or after it.
    """
    require(records >= 1, "records", "be at least 1", records)
    require(steps_per_record >= 1, "steps_per_record", "be at least 1", steps_per_record)
    step_size = jnp.asarray(step_size)
    switch_steps = None if switches is None else jnp.ceil(jnp.asarray(switches) / step_size - 1e-9)

    # Unrolling spares XLA a copy of the state in three steps of four, and is worth compiling only for long scans.
    unroll = 4 if steps_per_record >= 64 else 1

    def step(state: State) -> State:
        count = state.step.astype(step_size.dtype)
        stage = jnp.asarray(0) if switch_steps is None else jnp.searchsorted(switch_steps, count, side="right")
        change = rate(state.parameters, jax.random.fold_in(key, state.step), stage)
        parameters = jax.tree.map(lambda p, c: p + step_size.astype(p.dtype) * c, state.parameters, change)
        return State((count + 1.0) * step_size, state.step + 1, parameters)

    def advance(state: State, index: Int[Array, ""]) -> State:
        body = lambda state, _: (step(state), None)  # noqa: E731
        return jax.lax.scan(body, state, None, length=steps_per_record, unroll=unroll)[0]

    times = jnp.arange(records + 1).astype(step_size.dtype) * (steps_per_record * step_size)
    return Process(State.start(parameters, times[0]), advance, observe, times, step)


def scaled_by(timescale: Any, gradient: Any) -> Any:
    """−gradient/τ, with τ one number for all, or a tree with (the beginning of) the network's structure."""
    return jax.tree.map(
        lambda tau, part: jax.tree.map(lambda g: -g / jnp.asarray(tau, g.dtype), part), timescale, gradient
    )
