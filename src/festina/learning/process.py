"""The contract of every dynamics: a start, a way to the next recording, and what is recorded."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

Observed = dict[str, Any]


class State(eqx.Module):
    """Where a run is: all that is needed to go on, and so all that a checkpoint keeps.

    Args:
        time: reached.
        step: how many were taken.
        parameters: θ, a tree of arrays.
        memory: what the dynamics carries along.

    Example:
        >>> state = fs.learning.State.start({"w": np.zeros(2)}, time=0.0)
        >>> float(state.time), int(state.step), sorted(state.parameters)
        (0.0, 0, ['w'])
    """

    time: Float[Any, "*runs"]  # of one run, or of all runs of a batch
    step: Int[Any, "*runs"]
    parameters: Any
    memory: Any = None  # what the dynamics carries along, such as the size of its next step

    @classmethod
    def start(cls, parameters: Any, time: Any, memory: Any = None) -> "State":
        return cls(jnp.asarray(time), jnp.zeros((), int), parameters, memory)  # of a fixed type, as all later ones


@dataclass(frozen=True)
class Process:
    """A dynamics ready to run; pure, and written for ONE run. The loop batches it.

    Attributes:
        initial: the state at ``times[0]``.
        advance: ``advance(state, index)`` is the state at ``times[index]``, from that at ``times[index-1]``.
        observe: what is recorded of a state, by name.
        times: when it is recorded; the first is the start.
        step: one step of a dynamics that has steps of its own, so that a failure can be dated to the step.
        conclude: what is recorded of the last state only, by name: for what is too large to be kept at every recording.
        steps: how many there are up to the last recording, if that is known beforehand.
        drawn: what the run begins with beyond its first state, if that is to be handed back, as for its theory.
        passes: how often a step goes through all parameters in a program that runs faster if it is compiled as XLA
            thinks best, instead of quickly: a long run is then worth it. None, unless it is known to be such a program;
            see `festina.compiling`.
        plan: what kernels in C need to take the steps, if they know the dynamics; see `festina.learning.native`.

    Example:
        >>> def halve(state, index):
        ...     return fs.learning.State(state.time + 1, state.step + 1, state.parameters / 2)
        >>> start = fs.learning.State.start(jax.numpy.asarray(8.0), 0.0)
        >>> process = fs.learning.Process(start, halve, lambda state: {"x": state.parameters}, jax.numpy.arange(4.0))
        >>> float(process.observe(process.advance(process.initial, 1))["x"])
        4.0
    """

    initial: State
    advance: Callable[[State, Int[Array, ""]], State]
    observe: Callable[[State], Observed]
    times: Float[Array, " records"]
    step: Callable[[State], State] | None = None
    conclude: Callable[[State], Observed] = lambda state: {}
    steps: int | None = None
    passes: int = 0
    drawn: Any = None
    plan: Any = None
