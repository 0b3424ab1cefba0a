"""Gradient flow: τ dθ/dt = −∂L/∂θ, integrated adaptively and stopped exactly at every recording and switch."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from festina.learning.process import Observed, Process, State
from festina.learning.runge_kutta import DORMAND_PRINCE, RungeKutta, is_written_out

Rate = Callable[[Any, Int[Array, ""]], Any]

SAFETY = 0.9
SMALLEST_FACTOR, LARGEST_FACTOR = 0.2, 10.0
SMALLEST_STEP = 1e-13  # relative to the time reached: a step below it hardly moves the clock
MOST_STEPS = 1_000_000  # between two recordings


@dataclass(frozen=True)
class Tolerance:
    """How exact an integration is: local error below ``absolute + relative·|θ|``.

    Args:
        relative: to the size of each parameter.
        absolute: in the unit of the parameters.

    Example:
        >>> fs.learning.Tolerance(relative=1e-6)
        Tolerance(relative=1e-06, absolute=1e-12)
    """

    relative: float = 1e-10
    absolute: float = 1e-12


def flow_process(
    rate: Rate,
    parameters: Any,
    times: Float[Array, " records"],
    observe: Callable[[State], Observed],
    switches: Float[Array, " switches"] | None = None,
    tolerance: Tolerance | None = None,
    solver: RungeKutta = DORMAND_PRINCE,
) -> Process:
    """The flow dθ/dt = rate(θ, stage), where the stage counts the switches that have passed.

    The step-size rule is the usual one for an error estimate e of order p, h ← h · clip(0.9 e^{−1/p}). The step size
    survives from one recording to the next, and steps end exactly on recordings and switches.

    Args:
        rate: dθ/dt, given θ and the stage.
        parameters: θ at the start.
        times: when to record; the first is the start.
        observe: what is recorded of a state.
        switches: when the stage becomes another, rising; none unless given.
        tolerance: of the integration.
        solver: an explicit Runge-Kutta method.

    Returns:
        A `Process`, to be run by `drive`.

    Example:
        >>> def build(inputs):  # dx/dt = −x
        ...     times, observe = jax.numpy.linspace(0.0, 1.0, 3), lambda state: {"x": state.parameters}
        ...     return fs.learning.flow_process(lambda x, stage: -x, inputs["x"], times, observe)
        >>> outcome = fs.learning.drive(build, {"x": np.array([1.0, 2.0])})  # two runs
        >>> outcome.observed["x"][:, -1].round(6).tolist()  # 1/e, 2/e
        [0.367879, 0.735759]
    """
    tolerance = Tolerance() if tolerance is None else tolerance
    switches = jnp.zeros((0,)) if switches is None else jnp.asarray(switches)
    first_step = jax.lax.stop_gradient(times[-1] - times[0]) * 1e-4

    def advance(state: State, index: Int[Array, ""]) -> State:
        target = times[index]
        most = state.step + MOST_STEPS
        on_course = state.time >= times[index - 1]  # a run that was given up at the last recording stays there

        def unfinished(current: State) -> Array:
            moves = current.memory > SMALLEST_STEP * jnp.abs(current.time) + 1e-290
            return (current.time < target) & moves & (current.step < most) & on_course

        def attempt(current: State) -> State:
            return _attempt(solver, rate, tolerance, switches, target, current)

        return jax.lax.while_loop(unfinished, attempt, state)

    passes = len(solver.weights) if is_written_out(parameters) else 0
    return Process(State.start(parameters, times[0], memory=first_step), advance, observe, times, passes=passes)


def _attempt(
    solver: RungeKutta,
    rate: Rate,
    tolerance: Tolerance,
    switches: Float[Array, " switches"],
    target: Float[Array, ""],
    state: State,
) -> State:
    """Try one step, keep it if its error is small enough, and choose the size of the next."""
    stage = jnp.searchsorted(switches, state.time, side="right")
    ahead = jnp.concatenate([switches, jnp.asarray(jnp.inf, switches.dtype)[None]])
    limit = jnp.minimum(target, ahead[stage])
    reaches = state.time + state.memory >= limit
    end = jnp.where(reaches, limit, state.time + state.memory)
    proposal, error = solver.step(lambda params: rate(params, stage), state.parameters, end - state.time)
    size = _scaled_norm(error, state.parameters, proposal, tolerance)
    accepted = size <= 1.0
    factor = jnp.clip(SAFETY * jnp.maximum(size, 1e-30) ** (-1.0 / solver.order), SMALLEST_FACTOR, LARGEST_FACTOR)
    factor = jnp.where(jnp.isfinite(size), factor, SMALLEST_FACTOR)
    next_size = (end - state.time) * factor
    # A step cut short by a recording says nothing against the longer step that was planned.
    next_size = jnp.where(accepted & reaches, jnp.maximum(next_size, state.memory), next_size)
    keep = lambda new, old: jnp.where(accepted, new, old)  # noqa: E731
    return State(
        time=keep(end, state.time),
        step=state.step + 1,
        parameters=jax.tree.map(keep, proposal, state.parameters),
        # How long a step is has no derivative: but for the tolerance, nothing that is computed depends on it.
        memory=jax.lax.stop_gradient(next_size),
    )


def _scaled_norm(error: Any, before: Any, after: Any, tolerance: Tolerance) -> Float[Array, ""]:
    """√mean((error / (absolute + relative·|θ|))²) over all parameters."""

    def squares(e: Array, a: Array, b: Array) -> Array:
        scale = tolerance.absolute + tolerance.relative * jnp.maximum(jnp.abs(a), jnp.abs(b))
        return jnp.sum((e / scale) ** 2)

    total = sum(jax.tree.leaves(jax.tree.map(squares, error, before, after)), start=jnp.asarray(0.0))
    count = sum(leaf.size for leaf in jax.tree.leaves(before))
    return jnp.sqrt(total / count)
