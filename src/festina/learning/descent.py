"""Gradient descent in steps of length dt, each parameter on its own timescale, with fresh data in every step."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from festina import draws
from festina.errors import require
from festina.learning.process import Observed, Process, State

Update = Callable[[Any, Any, Any], Any]
Stages = Callable[[Int[Array, ""], Any], Any]

BULK = 128  # steps whose data are drawn together: random numbers are cheaper by the thousand
LONGEST = 2**20  # steps that are numbered together


def descent_process(
    rate: Update,
    parameters: Any,
    key: Array,
    step_size: Any,
    records: int,
    steps_per_record: int,
    observe: Callable[[State], Observed],
    stage_at: Stages = lambda step, memory: jnp.asarray(0),
    draw: Callable[[Array], Any] | None = None,
    memory: Any = None,
) -> Process:
    """θ ← θ + dt · rate(θ, data of the step, stage): Euler's method, or stochastic gradient descent.

    The key of step n is fold_in(key of the run, n), so that a run draws the same numbers alone, in a batch, or
    resumed.

    Args:
        rate: dθ/dt, given θ, what is seen in a step, and what ``stage_at`` says of it.
        parameters: θ at the start.
        key: of the run.
        step_size: dt.
        records: recordings after the first.
        steps_per_record: steps between two of them.
        observe: what is recorded of a state.
        stage_at: what is going on in a step, by its number and the memory; see `stages_by_time`.
        draw: what is seen in a step, from its key alone (`no_data` for nothing); unless given, the key itself.
        memory: what never changes and is costly to make, such as a world; it is made once and then carried along.

    Returns:
        A `Process`, to be run by `drive`.

    Example:
        >>> def build(inputs):  # x ← x − 0.1 x, ten times
        ...     rate, observe = lambda x, key, stage: -x, lambda state: {"x": state.parameters}
        ...     return fs.learning.descent_process(rate, inputs["x"], jax.random.key(0), 0.1, 5, 2, observe)
        >>> outcome = fs.learning.drive(build, {"x": np.array([1.0, 2.0])})  # two runs
        >>> outcome.observed["x"].shape, outcome.observed["x"][:, -1].round(6).tolist()
        ((2, 6), [0.348678, 0.697357])
    """
    step_size = jnp.asarray(step_size, float)

    def take(parameters: Any, memory: Any, first: Int[Array, ""], steps: int) -> Any:
        return descend(rate, parameters, key, first, steps, step_size, stage_at, draw, memory)

    return stepping_process(take, parameters, step_size, records, steps_per_record, observe, memory)


def stepping_process(
    take: Callable[[Any, Any, Int[Array, ""], int], Any],
    parameters: Any,
    step_size: Float[Array, ""],
    records: int,
    steps_per_record: int,
    observe: Callable[[State], Observed],
    memory: Any = None,
) -> Process:
    """A dynamics of numbered steps: ``take(parameters, memory, first, steps)`` takes some, the first being ``first``.

    Steps are numbered by the recordings, which all arms of a seed have in common, and not by what each has counted:
    what depends on the number of a step and on the seed alone is then computed once for all of them.
    """
    require(records >= 1, "records", "be at least 1", records)
    require(steps_per_record >= 1, "steps_per_record", "be at least 1", steps_per_record)

    def moved(state: State, first: Int[Array, ""], steps: int) -> State:
        done = first + steps
        parameters = take(state.parameters, state.memory, first, steps)
        return State(done.astype(step_size.dtype) * step_size, done, parameters, state.memory)

    def advance(state: State, index: Int[Array, ""]) -> State:
        return moved(state, ((index - 1) * steps_per_record).astype(state.step.dtype), steps_per_record)

    times = jnp.arange(records + 1).astype(step_size.dtype) * (steps_per_record * step_size)
    start = State.start(parameters, times[0], memory)
    one = lambda state: moved(state, state.step, 1)  # noqa: E731
    return Process(start, advance, observe, times, one, steps=records * steps_per_record)


def descend(
    rate: Update,
    parameters: Any,
    key: Array,
    first: Int[Array, ""],
    steps: int,
    step_size: Float[Array, ""],
    stage_at: Stages,
    draw: Callable[[Array], Any] | None = None,
    memory: Any = None,
) -> Any:
    """The parameters after some steps, of which the first has the number ``first``; see `descent_process`."""

    def key_at(step: Int[Array, ""]) -> Array:
        return draws.fold_in(key, step)

    def body(parameters: Any, given: tuple[Any, Any]) -> tuple[Any, None]:
        number, drawn = given
        data = key_at(number) if draw is None else drawn
        change = rate(parameters, data, stage_at(number, memory))
        return jax.tree.map(lambda p, c: p + step_size.astype(p.dtype) * c, parameters, change), None

    def many(parameters: Any, first: Int[Array, ""]) -> Any:
        numbers = first + jnp.arange(bulk, dtype=first.dtype)
        drawn = None if draw is None else jax.vmap(draw)(jax.vmap(key_at)(numbers))
        return jax.lax.scan(body, parameters, (numbers, drawn))[0]

    bulk = largest_divisor(steps, LONGEST if draw in (None, no_data) else BULK)
    if bulk == steps:
        return many(parameters, first)
    starts = first + bulk * jnp.arange(steps // bulk, dtype=first.dtype)
    return jax.lax.scan(lambda parameters, first: (many(parameters, first), None), parameters, starts)[0]


def no_data(key: Array) -> None:
    """The ``draw`` of a dynamics that sees nothing random."""


def stages_by_time(switches: Float[Array, " switches"], step_size: Any) -> Callable[[Any, Any], Int[Array, ""]]:
    """The number of switches behind a step; one takes effect at the first step that begins at or after it.

    Args:
        switches: when one stage gives way to the next, rising.
        step_size: dt.

    Returns:
        The ``stage_at`` of `descent_process`.

    Example:
        >>> stage_at = fs.learning.stages_by_time(jax.numpy.array([1.0, 2.0]), step_size=0.5)
        >>> [int(stage_at(jax.numpy.asarray(step), None)) for step in range(6)]
        [0, 0, 1, 1, 2, 2]
    """
    step_size = jnp.asarray(step_size)
    switch_steps = jnp.ceil(jnp.asarray(switches) / step_size - 1e-9)
    return lambda step, memory: jnp.searchsorted(switch_steps, step.astype(step_size.dtype), side="right")


def scaled_by(timescale: Any, gradient: Any) -> Any:
    """−gradient/τ, with τ one number for all, or a tree with (the beginning of) the network's structure.

    Args:
        timescale: τ.
        gradient: a tree of arrays.

    Example:
        >>> one = jax.numpy.ones(())
        >>> rate = fs.learning.scaled_by({"fast": 1.0, "slow": 4.0}, {"fast": one, "slow": (one, one)})
        >>> float(rate["fast"]), float(rate["slow"][0])
        (-1.0, -0.25)
    """
    return jax.tree.map(
        lambda tau, part: jax.tree.map(lambda g: -g / jnp.asarray(tau, g.dtype), part), timescale, gradient
    )


def largest_divisor(number: int, most: int) -> int:
    """The largest divisor of a number that is no larger than ``most``."""
    return next(divisor for divisor in range(min(number, most), 0, -1) if number % divisor == 0)
