"""Joint descent by kernels in C, where they are there: in the loop they stand where a program of JAX would.

A process that the kernels know has a `Plan`. The plans of all runs become one `Descent`, which takes the steps of all
runs up to the next recording; states, recordings and checkpoints are those of JAX.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import accumulate
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, UInt32

from festina import fast
from festina.compiling import brief_jit
from festina.fast.joint import MOST_PATHS
from festina.journal import journal
from festina.learning.crossed import every_run
from festina.learning.process import Observed, State
from festina.networks.abstraction import PathGated
from festina.precision import bytes_of, to_numpy
from festina.worlds.blocks import Blocks
from festina.worlds.statistics import Population, Statistics, Wishart
from festina.worlds.wishart import FEWEST, REACH, chi_polynomial

JOURNAL = journal(__name__)
Build = Callable[[Any], Any]
Watch = Callable[[Sequence[State]], Observed]
MOST_BYTES = 2**26  # of states that are looked at together


class Plan(eqx.Module):
    """What the kernels have to know of a run besides its state.

    Args:
        rule: how students and gates learn.
        ends: of the blocks of a round.
        order: the task of each block.
        key: of the data, as two words.
        step_size: dt.
        statistics: what is seen in one step.
        steps: between two recordings.
    """

    rule: Any
    ends: Float[Any, "*n blocks"]
    order: tuple[int, ...] = eqx.field(static=True)
    key: UInt32[Any, "*n 2"]
    step_size: Float[Any, "*n"]
    statistics: Statistics = eqx.field(static=True)
    steps: int = eqx.field(static=True)

    @classmethod
    def of(cls, rule: Any, blocks: Blocks, key: Array, step_size: Any, statistics: Statistics, steps: int) -> "Plan":
        return cls(rule, blocks.ends, blocks.order, jax.random.key_data(key), step_size, statistics, steps)


@dataclass(frozen=True)
class NativeChunk:
    """Some recordings of a batch of runs, as a compiled chunk of the loop; see `festina.compiling.quick_jit`.

    Attributes:
        descent: of all runs.
        steps: between two recordings.
        watch: what is recorded of all runs (runs × states × …), given their states one after the other.
    """

    descent: fast.Descent
    steps: int
    watch: Watch

    def bound(self, build: Build, inputs: Any, state: State, first: Any, count: int) -> Callable[..., Any]:
        """The work on chunks of one length."""
        return partial(self._advance, count)

    def _advance(self, count: int, inputs: Any, state: State, first: Any) -> tuple[State, Observed]:
        most, seen = max(1, MOST_BYTES // bytes_of(state.parameters)), []
        for begin in range(int(first), int(first) + count, most):
            places = range(begin, min(begin + most, int(first) + count))
            states = list(accumulate(places, self.next, initial=state))[1:]
            seen.append(to_numpy(self.watch(states)))
            state = states[-1]
        return state, {name: np.concatenate([each[name] for each in seen], axis=1) for name in seen[0]}

    def next(self, state: State, index: int) -> State:
        """All runs at one recording, from the one before it."""
        network = state.parameters
        begin, done = (index - 1) * self.steps, index * self.steps
        students, gates = self.descent.after(network.students, network.gates, begin, self.steps)
        like_time, like_step = np.asarray(state.time), np.asarray(state.step)
        return State(
            np.full_like(like_time, done * self.descent.step_size),
            np.full_like(like_step, done),
            network.rebuilt(students, gates),
            state.memory,
        )


def kernels_are_there() -> bool:
    """Whether there are kernels, where JAX itself computes on the processor that they are for."""
    return jax.default_backend() == "cpu" and fast.library() is not None


@dataclass(frozen=True)
class Together:
    """A batch of runs that begins outside of JAX; nothing is traced or compiled.

    Attributes:
        chunk: takes the steps.
        state: of all runs at the start.
        first: what is recorded of it.
        times: of the recordings (runs × records).
        steps: of each run.
        drawn: what the runs begin with, if that is handed back.
    """

    chunk: NativeChunk
    state: State
    first: Observed
    times: Float[np.ndarray, "n records"]
    steps: int
    drawn: Any = None


def begun_together(build: Build, inputs: Any) -> Together | None:
    """A batch that begins outside of JAX, if who builds its processes knows how, and the kernels are there."""
    make = getattr(build, "together", None)
    return make(inputs) if make is not None and kernels_are_there() else None


def native_chunk(build: Build, inputs: Any, state: State, against: str | None) -> NativeChunk | None:
    """The runs of a batch by kernels in C; None where these do not know them, or are not there.

    Args:
        build: makes the process of one run.
        inputs: of all runs.
        state: of all runs at the start.
        against: what `reason_by_structure` says of a run; None if it has no plan.
    """
    if against is None or not kernels_are_there():
        return None
    if against:
        return tell_once(against)
    plan = to_numpy(_plans(build, inputs))
    reason = reason_by_numbers(plan)
    if reason:
        return tell_once(reason)
    shifts, tasks = to_numpy(state.memory)
    descent = descent_of(plan, tasks.maps, np.arange(len(tasks.maps)), tasks.loss_share, shifts)
    return NativeChunk(descent, plan.steps, partial(_watched, build, inputs))


@partial(brief_jit, static_argnums=0)
def _plans(build: Build, inputs: Any) -> Plan:
    return every_run(lambda inputs: build(inputs).plan, inputs)


def _watched(build: Build, inputs: Any, states: Sequence[State]) -> Observed:
    """Many recordings at once: a call of a program takes as long as what it computes here."""
    course = jax.tree.map(
        lambda *leaves: np.stack(leaves, axis=1), *((state.time, state.step, state.parameters) for state in states)
    )
    return _observed(build, inputs, states[0].memory, course)


@partial(brief_jit, static_argnums=0)
def _observed(build: Build, inputs: Any, memory: Any, course: Any) -> Observed:
    """What is recorded of all runs at all states of a course, (time, step, parameters) of each (runs × states × …)."""

    def one(inputs: Any, memory: Any, course: Any) -> Observed:
        process = build(inputs)

        def at(time: Any, step: Any, parameters: Any) -> Observed:
            return process.observe(State(time, step, parameters, memory))

        return jax.vmap(at)(*course)

    return every_run(one, inputs, memory, course)


def reason_by_structure(plan: Plan, network: PathGated) -> str:
    """Why the kernels cannot take the steps of such a network; nothing if they may."""
    statistics, inputs = plan.statistics, network.students[0].shape[-1]
    if len(network.students) > MOST_PATHS:
        return f"they know networks of up to {MOST_PATHS} paths"
    if isinstance(statistics, Wishart) and statistics.batch - inputs + 1 < FEWEST:
        return f"they draw moments of batches that have at least {FEWEST - 1} more examples than inputs"
    if not isinstance(statistics, Wishart | Population):
        return f"they do not know {type(statistics).__name__.lower()} data"
    return "" if network.students[0].dtype in (np.float32, np.float64) else "they compute in float32 and float64"


def reason_by_numbers(plan: Plan) -> str:
    """The same for the numbers of all runs."""
    ends = plan.ends
    if not np.all((ends == np.rint(ends)) & (np.abs(ends) < 2.0**53)) or np.any(np.diff(ends, axis=-1, prepend=0) < 1):
        return "they know blocks of whole steps"
    if np.any(plan.step_size != plan.step_size.flat[0]):
        return "they take steps of one length in all runs"
    return ""


@lru_cache
def tell_once(reason: str) -> None:
    """Why some runs are left to JAX, in the journal."""
    JOURNAL.info("kernels in C are not used for some runs, JAX does their work: %s", reason)


def descent_of(plan: Plan, maps: Any, set_of: Any, loss_share: float, shifts: Any) -> fast.Descent:
    """The descent of all runs, given their plans and the sets of their teachers."""
    rule, bounds, statistics = plan.rule, plan.rule.regularizer, plan.statistics
    high, low = (plan.key[..., part].astype(np.uint64) for part in (0, 1))
    drawn = isinstance(statistics, Wishart)
    return fast.Descent(
        maps,
        set_of,
        rule.weight_timescale,
        rule.gate_timescale,
        bounds.nonnegativity,
        bounds.normalization,
        plan.ends.astype(np.int64),
        plan.order,
        (high << np.uint64(32)) | low,
        float(plan.step_size.flat[0]),
        loss_share,
        bounds.order,
        shifts,
        statistics.batch if drawn else 0,
        chi_polynomial(statistics.batch, maps.shape[-1]) if drawn else None,
        REACH,
    )
