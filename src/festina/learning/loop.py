"""ONE loop drives every dynamics: about a hundred compiled chunks, and between them everything a user needs.

Progress, checkpoint and resume, word of runs that diverged, Ctrl-C without loss, streaming to a page: all
of it happens here, on the host, between two chunks. A chunk is a `lax.scan` over recordings, batched over runs.
"""

import warnings
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from festina.compiling import brief_jit, is_tracing, quick_jit, thorough_jit
from festina.errors import FestinaError, FestinaWarning, StoreError
from festina.interrupts import held
from festina.learning import checkpoint as checkpoints
from festina.learning.crossed import alone, every_run, in_tiles
from festina.learning.failure import Build, Failure, diagnose, finite
from festina.learning.native import NativeChunk, Together, begun_together, native_chunk, reason_by_structure
from festina.learning.outlook import Clock, Outlook, Recorded, check_memory, check_steps
from festina.learning.process import Process, State
from festina.learning.progress import Progress
from festina.precision import bytes_of, double, to_numpy

CHUNKS = 100
LONG = 2e8  # bytes of parameters passed through, a second or so: from there on a program may be compiled thoroughly
USUAL = 1000  # steps of a flow, which chooses them itself


@dataclass
class Recording:
    """What a batch of runs left behind; arrays lead with the axes (run, record), those concluded with (run).

    Attributes:
        times: of the recordings.
        observed: what was recorded, by name.
        state: of all runs at the end.
        failures: of the runs that diverged; what they recorded is NaN from there on.
        records: how many recordings are done; fewer than asked for only if interrupted.
        seconds: that it took.
        resumed_from: how many recordings a checkpoint held.
        concluded: what was recorded of the last state only.
        drawn: what the processes hand back of what they begin with.
        warm_seconds: what the same would take with everything compiled, from all chunks but the first.

    Example:
        >>> def build(inputs):  # x ← x + 0.5
        ...     rate, observe = lambda x, key, stage: 1.0, lambda state: {"x": state.parameters}
        ...     return fs.learning.descent_process(rate, inputs["x"], jax.random.key(0), 0.5, 2, 1, observe)
        >>> outcome = fs.learning.drive(build, {"x": np.array([1.0, 2.0])})
        >>> outcome.times[0].tolist(), outcome.observed["x"].tolist(), outcome.steps, outcome.interrupted
        ([0.0, 0.5, 1.0], [[1.0, 1.5, 2.0], [2.0, 2.5, 3.0]], 4, False)
    """

    times: np.ndarray
    observed: dict[str, np.ndarray]
    state: Any
    failures: list[Failure]
    records: int  # how many recordings are done; fewer than asked for only if interrupted
    seconds: float
    resumed_from: int = 0
    concluded: dict[str, np.ndarray] = field(default_factory=dict)
    drawn: Any = None
    warm_seconds: float = 0.0  # what the same would take with everything compiled, from all chunks but the first

    @property
    def interrupted(self) -> bool:
        return self.records < self.times.shape[1]

    @property
    def steps(self) -> int:
        """Steps taken by all runs together."""
        return int(np.sum(self.state.step))


@dataclass(frozen=True)
class Checkpoint:
    """Where to keep a checkpoint, and how many seconds apart to write it.

    Args:
        path: of the file.
        every: seconds.
        mark: what the runs are to be known by, besides their inputs; a checkpoint of others is set aside.
        last: whether to keep the end of the runs, too.

    Example:
        >>> from pathlib import Path
        >>> fs.learning.Checkpoint(Path("long_run.npz"), every=60.0).last
        False
    """

    path: Path
    every: float = 5.0
    mark: Hashable = ""
    last: bool = False  # whether to keep the end of the runs, too


@jax.tree_util.register_static
@dataclass(frozen=True)
class _Ahead:
    """What a process is known to have ahead of it: whether there is something to conclude, its steps, how often each of
    these passes through all parameters, why kernels in C do not know them (None if they are none of their business),
    and whether they are worth compiling thoroughly.
    """

    concludes: bool
    steps: int | None
    passes: int
    not_in_c: str | None
    thorough: bool = False


@dataclass
class _Journey:
    """The loop's own state: it only ever changes between chunks, so an interrupt finds it whole."""

    chunk: quick_jit | NativeChunk
    state: Any
    observed: dict[str, np.ndarray]
    records: int
    failures: dict[int, Failure] = field(default_factory=dict)
    programs: dict[int, Callable[..., Any]] = field(default_factory=dict)  # of chunks, by how many recordings they have

    def program(self, build: Build, inputs: Any, count: int) -> Callable[..., Any]:
        """That of a chunk, looked up once for all chunks of one length."""
        if count not in self.programs:
            self.programs[count] = self.chunk.bound(build, inputs, self.state, np.asarray(self.records), count)
        return self.programs[count]


def chunk_length(intervals: int) -> int:
    """Recordings per chunk: about a hundred chunks, and all of one length if that is at all possible."""
    if intervals <= CHUNKS:
        return 1
    for chunks in sorted(range(CHUNKS // 2, CHUNKS * 3 // 2), key=lambda count: abs(count - CHUNKS)):
        if intervals % chunks == 0:
            return intervals // chunks
    return -(-intervals // CHUNKS)


def drive(
    build: Build,
    inputs: Any,
    *,
    label: str = "learning",
    checkpoint: Checkpoint | None = None,
    listen: Callable[[int, dict[str, np.ndarray]], None] | None = None,
) -> Recording:
    """Run a batch of processes to their end.

    Args:
        build: makes the process of ONE run from its inputs; hashable, for it is part of the compiled program.
        inputs: what differs between the runs; every array has a leading axis of runs, or is `Crossed`.
        label: what the progress bar says.
        checkpoint: where to keep the state, so that a killed run goes on where it was, to the last bit.
        listen: called after every chunk with the number of recordings done and everything observed so far; who
            listens shows progress in their own way, so that there is no bar.

    Returns:
        A `Recording`.

    Example:
        >>> def build(inputs):  # one run, in which x halves from one recording to the next
        ...     halve = lambda state, index: fs.learning.State(state.time + 1, state.step + 1, state.parameters / 2)
        ...     start, times = fs.learning.State.start(inputs["x"], 0.0), jax.numpy.arange(4.0)
        ...     return fs.learning.Process(start, halve, lambda state: {"x": state.parameters}, times)
        >>> fs.learning.drive(build, {"x": np.array([8.0, 16.0])}).observed["x"].tolist()
        [[8.0, 4.0, 2.0, 1.0], [16.0, 8.0, 4.0, 2.0]]
    """
    if is_tracing():
        raise FestinaError(
            f"{label} cannot run inside `jit`, `vmap` or `grad`: it is a loop on the host, with programs of its own. "
            "Call it outside; many runs are one batch (`seeds=`, `fs.sweep`), and what JAX is to differentiate is a "
            "model's `solution`, or the `advance` of its process."
        )
    began = monotonic()
    with double():
        together = begun_together(build, inputs)
        begin = _start if together is None else _Begun(together)
        ahead = _look_ahead(begin, build, inputs, label)
        state, first, times, _, drawn = begin(build, inputs)
        times = np.asarray(times)
        runs, records = times.shape
        native = together.chunk if together else native_chunk(build, inputs, state, ahead.not_in_c)
        chunk = native or (_thorough_chunk if ahead.thorough else _chunk)
        journey = _Journey(chunk, state, _allocate(first, records), 1)
        mark = "" if checkpoint is None else checkpoints.fingerprint(checkpoint.mark, inputs, times, first)
        resumed = 0 if checkpoint is None else _resume(checkpoint.path, mark, journey)
        length, heard = chunk_length(records - 1), listen is not None
        clock = Clock()
        outlook = Outlook(label, _place(journey, times), (records - journey.records) / length, silent=heard)
        with outlook.watched(), Progress(label, total=runs * (records - 1), silent=heard) as progress:
            progress.advance(runs * (journey.records - 1))
            progress.say("compiling")
            saved = monotonic()

            def unfinished() -> bool:
                return journey.records < records and len(journey.failures) < runs

            def next_chunk() -> None:
                nonlocal saved
                count = min(length, records - journey.records)
                _advance_journey(build, inputs, journey, count, times[:, journey.records + count - 1])
                clock.tick(count)
                outlook.tick(lambda: _place(journey, times), (records - journey.records) / length)
                progress.advance(runs * count)
                progress.say("")
                if listen is not None:
                    listen(journey.records, journey.observed)
                if checkpoint is not None and monotonic() - saved >= checkpoint.every:
                    _save(checkpoint.path, mark, journey)
                    saved = monotonic()

            try:
                if unfinished():
                    next_chunk()  # is compiled first, and there is nothing yet that Ctrl-C could lose
                with held() as interrupted:
                    while unfinished() and not interrupted():
                        next_chunk()
            except KeyboardInterrupt:
                if checkpoint is not None:
                    _save(checkpoint.path, mark, journey)
                if not unfinished():
                    raise
        concluded = _conclude(build, inputs, journey) if ahead.concludes and not unfinished() else {}
        if checkpoint is not None and checkpoint.last and not unfinished() and resumed < records:
            _save(checkpoint.path, mark, journey)
    finished = records if len(journey.failures) == runs else journey.records
    failures = [journey.failures[run] for run in sorted(journey.failures)]
    seconds = monotonic() - began
    return Recording(
        times,
        journey.observed,
        to_numpy(journey.state),
        failures,
        finished,
        seconds,
        resumed,
        concluded,
        to_numpy(drawn),
        clock.seconds_for(records - 1, seconds),
    )


def _look_ahead(begin: "quick_jit | _Begun", build: Build, inputs: Any, label: str) -> _Ahead:
    """What a batch of runs has ahead of it, before anything is compiled; refused if there is no room for it."""
    state, first, times, ahead, _ = begin.shapes(build, inputs)
    runs, records = times.shape
    owner = "a run" if runs == 1 else f"{runs} runs"
    check_memory(f"The recordings of {owner}", bytes_of(first) * records)
    check_memory(f"The weights of {owner}", bytes_of(state))
    check_steps(label, ahead.steps)
    passed = ahead.passes * (USUAL if ahead.steps is None else ahead.steps) * bytes_of(state.parameters)
    return replace(ahead, thorough=passed >= LONG)


def _place(journey: _Journey, times: np.ndarray) -> Recorded:
    """Where the runs of a journey are; one that does not get to its recordings was given up."""
    steps, reached = np.asarray(journey.state.step), np.asarray(journey.state.time)
    arrived = _arrived(reached, times[:, journey.records - 1])
    return Recorded(journey.records, times.shape[1], steps, reached, np.where(arrived, times[:, -1], reached))


def _advance_journey(build: Build, inputs: Any, journey: _Journey, count: int, until: np.ndarray) -> None:
    """One chunk, up to the times ``until``, taken over into the journey only when all of it is there."""
    first = np.asarray(journey.records)
    state, observed = journey.program(build, inputs, count)(inputs, journey.state, first)
    for name, values in observed.items():
        journey.observed[name][:, journey.records : journey.records + count] = np.asarray(values)
    diverged = np.flatnonzero(~_sound(state, until))
    for run in journey.failures:  # nothing after a failure may look like a result
        _blank(journey, run, journey.records)
    new = np.asarray([run for run in diverged if run not in journey.failures], int)
    if len(new) > 0:  # only then is it worth a second look, recording by recording
        health = to_numpy(_health(build, inputs, journey.state, first, count))
        _note_failures(build, inputs, journey, new, health, state)
    journey.state, journey.records = state, journey.records + count


def _sound(state: State, until: np.ndarray) -> np.ndarray:
    """Which runs are finite in all their parameters, and have got where they should be."""
    sound = _arrived(np.asarray(state.time), until)
    for leaf in jax.tree.leaves(state.parameters):
        sound = sound & np.isfinite(np.asarray(leaf).reshape(len(until), -1)).all(axis=1)
    return sound


def _arrived(time: Any, until: Any) -> Any:
    return time >= until - 1e-14 * abs(until)  # up to rounding


@partial(brief_jit, static_argnums=0)
def _start(build: Build, inputs: Any) -> tuple[State, dict[str, Array], Array, _Ahead, Any]:
    """The first state, what is observed of it, when recordings are made, what is known to be ahead, what was drawn."""

    def one(inputs: Any) -> tuple[State, dict[str, Array], Array, _Ahead, Any]:
        process = build(inputs)
        initial = jax.tree.map(jnp.asarray, process.initial)
        plan = process.plan
        not_in_c = None if plan is None else reason_by_structure(plan, initial.parameters)
        ahead = _Ahead(bool(process.conclude(initial)), process.steps, process.passes, not_in_c)
        return initial, process.observe(initial), process.times, ahead, process.drawn

    return every_run(one, inputs)


@dataclass(frozen=True)
class _Begun:
    """The same of runs that begin outside of JAX."""

    together: Together

    def __call__(self, build: Build, inputs: Any) -> tuple[State, dict[str, Any], Any, _Ahead, Any]:
        begun = self.together
        return begun.state, begun.first, begun.times, _Ahead(False, begun.steps, 0, None), begun.drawn

    shapes = __call__


@partial(quick_jit, static_argnums=(0, 4))
def _chunk(build: Build, inputs: Any, state: State, first: Int[Array | np.ndarray, ""], count: int) -> tuple:
    """Advance every run over ``count`` recordings.

    The process is rebuilt inside the compiled chunk, so that it may close over anything its inputs determine and
    only the state has to be carried, and kept in checkpoints.
    """
    return _watched(build, inputs, state, first, count, lambda process, state, index: process.observe(state))


_thorough_chunk = thorough_jit(_chunk.function, static_argnums=(0, 4))


@partial(quick_jit, static_argnums=(0, 4))
def _health(build: Build, inputs: Any, state: State, first: Int[Array | np.ndarray, ""], count: int) -> dict:
    """The same chunk once more, to see in which recording what diverged."""

    def look(process: Process, state: State, index: Int[Array, ""]) -> dict[str, Array]:
        return {"finite": finite(state.parameters), "arrived": _arrived(state.time, process.times[index])}

    return _watched(build, inputs, state, first, count, look)[1]


def _watched(build: Build, inputs: Any, state: State, first: Any, count: int, look: Callable[..., Any]) -> tuple:
    """Advance every run, with a look at each recording."""

    def one(inputs: Any, state: State) -> tuple:
        process = build(inputs)

        def to_next(state: State, index: Int[Array, ""]) -> tuple:
            state = process.advance(state, index)
            return state, look(process, state, index)

        if count == 1:  # loops are slow to compile
            state, seen = to_next(state, jnp.asarray(first))
            return state, jax.tree.map(lambda leaf: leaf[None], seen)
        return jax.lax.scan(to_next, state, jnp.asarray(first) + jnp.arange(count))

    return in_tiles(one, inputs, state, bytes_of(state.parameters) // state.step.shape[0])


def _conclude(build: Build, inputs: Any, journey: _Journey) -> dict[str, np.ndarray]:
    """What is recorded of the last state only."""
    concluded = {name: np.array(values) for name, values in _concluded(build, inputs, journey.state).items()}
    for values in concluded.values():
        _erase(values, list(journey.failures))
    return concluded


@partial(brief_jit, static_argnums=0)
def _concluded(build: Build, inputs: Any, state: State) -> dict[str, Array]:
    return every_run(lambda inputs, state: build(inputs).conclude(state), inputs, state)


def _allocate(first: dict[str, Any], records: int) -> dict[str, np.ndarray]:
    """NaN for every recording (zero for what is not a real number), with the first one filled in."""
    observed = {}
    for name, values in to_numpy(first).items():
        fill = np.nan if np.issubdtype(values.dtype, np.floating) else 0
        observed[name] = np.full((values.shape[0], records, *values.shape[1:]), fill, values.dtype)
        observed[name][:, 0] = values
    return observed


def _note_failures(
    build: Build, inputs: Any, journey: _Journey, diverged: np.ndarray, health: dict[str, np.ndarray], after: State
) -> None:
    """Note the runs that diverged, each dated as exactly as its dynamics allows, and blank what they recorded."""
    well = health["finite"].all(axis=2) & health["arrived"]
    for run in (int(run) for run in diverged):
        record = int(np.argmin(well[run]))
        before, end = jax.tree.map(lambda leaf, run=run: leaf[run], (journey.state, after))
        journey.failures[run] = diagnose(build, run, alone(inputs, run), before, end, health["finite"][run, record])
        _blank(journey, run, journey.records + record)


def _blank(journey: _Journey, run: int, record: int) -> None:
    for values in journey.observed.values():
        _erase(values, (run, slice(record, None)))


def _erase(values: np.ndarray, where: Any) -> None:
    """NaN, in place, if there can be one."""
    if np.issubdtype(values.dtype, np.floating):
        values[where] = np.nan


def _save(path: Path, mark: str, journey: _Journey) -> None:
    arrays = {f"state:{k}": np.asarray(leaf) for k, leaf in enumerate(jax.tree.leaves(journey.state))}
    arrays |= {f"observed:{name}": values[:, : journey.records] for name, values in journey.observed.items()}
    notes = {"failures": [vars(failure) for failure in journey.failures.values()]}
    try:
        checkpoints.save(path, mark, journey.records, arrays, notes)
    except StoreError as error:  # a full disk must not cost the run
        warnings.warn(f"no checkpoint: {error}; going on without", FestinaWarning, stacklevel=3)


def _resume(path: Path, mark: str, journey: _Journey) -> int:
    """Take over a checkpoint, if there is a sound one of this very run; how many recordings it holds."""
    found = checkpoints.load(path, mark)
    if found is None:
        return 0
    records, arrays, notes = found
    leaves, structure = jax.tree.flatten(journey.state)
    stored = [jnp.asarray(arrays[f"state:{k}"], leaf.dtype) for k, leaf in enumerate(leaves)]
    journey.state = jax.tree.unflatten(structure, stored)
    for name, values in journey.observed.items():
        values[:, :records] = arrays[f"observed:{name}"]
    journey.records = records
    journey.failures = {entry["run"]: Failure(**entry) for entry in notes["failures"]}
    return records
