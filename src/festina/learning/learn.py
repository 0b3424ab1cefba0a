"""The two verbs for one network in one world: `flow` and `descent`."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from festina.errors import ArgumentError, Interrupted, require
from festina.learning.descent import descent_process, scaled_by, stages_by_time
from festina.learning.flow import Tolerance, flow_process
from festina.learning.loop import Checkpoint, Recording, drive
from festina.learning.process import Observed, Process, State
from festina.learning.trajectory import Diverged, Trajectory, as_dataset
from festina.precision import double, to_double, to_numpy
from festina.worlds.curriculum import Curriculum, as_curriculum
from festina.worlds.gated import GatedDataset
from festina.worlds.statistics import Population, Statistics

RECORDS = 200
MOST_STEPS = 1e15  # that can still be counted in a float
SNAPSHOT = "snapshot:"

Observe = Callable[[Any, Any], Observed]


def observe_linear(network: Any, data: Any) -> Observed:
    """What is recorded unless something else is asked for: the loss, and a linear network's whole map."""
    observed = {"loss": data.loss(network)}
    return observed | {"map": network.map} if hasattr(network, "map") else observed


@dataclass(frozen=True)
class _Flow:
    """Builds the flow of one run; hashable, so that equal questions share one compilation."""

    observe: Observe
    tolerance: Tolerance
    solver: diffrax.AbstractERK
    static: Any  # what of the network is no weight: activation functions, sizes
    dense: bool = False

    def __call__(self, inputs: dict[str, Any]) -> Process:
        world, timescale = inputs["world"], inputs["timescale"]

        def data(network: Any, stage: Array) -> Any:
            return Population()(world.at(stage), network, jax.random.key(0))

        def loss(parameters: Any, stage: Array) -> Array:
            network = eqx.combine(parameters, self.static)
            return data(network, stage).loss(network)

        def rate(parameters: Any, stage: Array) -> Any:
            return scaled_by(timescale, jax.grad(loss)(parameters, stage))

        def observe(state: State) -> Observed:
            network = eqx.combine(state.parameters, self.static)
            seen = self.observe(network, data(network, world.stage_at(state.time)))
            return seen | (_snapshot(state.parameters) if self.dense else {})

        return flow_process(
            rate, inputs["network"], inputs["times"], observe, world.switches, self.tolerance, self.solver
        )


@dataclass(frozen=True)
class _Descent:
    """Builds the descent of one run."""

    observe: Observe
    statistics: Statistics
    records: int
    steps_per_record: int
    static: Any

    def __call__(self, inputs: dict[str, Any]) -> Process:
        world, timescale = inputs["world"], inputs["timescale"]

        def rate(parameters: Any, key: Array, stage: Array) -> Any:
            data = self.statistics(world.at(stage), eqx.combine(parameters, self.static), key)
            slope = jax.grad(lambda params: data.loss(eqx.combine(params, self.static)))(parameters)
            return scaled_by(timescale, slope)

        def observe(state: State) -> Observed:
            # as the steps do, a switch that is a whole number of steps away up to rounding has happened
            here = world.at(world.stage_at(state.time + 1e-9 * inputs["step_size"]))
            network = eqx.combine(state.parameters, self.static)
            return self.observe(network, Population()(here, network, inputs["key"]))

        return descent_process(
            rate,
            inputs["network"],
            inputs["key"],
            inputs["step_size"],
            self.records,
            self.steps_per_record,
            observe,
            stages_by_time(world.switches, inputs["step_size"]),
        )


def flow(
    network: Any,
    world: Any,
    until: float | None = None,
    *,
    times: Any = None,
    timescale: Any = 1.0,
    observe: Observe = observe_linear,
    dense: bool = False,
    tolerance: Tolerance | None = None,
    solver: diffrax.AbstractERK | None = None,
    checkpoint: str | Path | None = None,
) -> Trajectory:
    """Gradient flow of a network in a world, τ dθ/dt = −∂L/∂θ, in float64.

    Args:
        network: any Equinox module; its weights are what flows.
        world: a world, or a `Curriculum` of them; the integration stops and restarts at every switch.
        until: when to stop; 200 equal recordings are made. Give either this or ``times``.
        times: when to record, rising from the start of the run.
        timescale: τ, one number or a tree with the network's structure.
        observe: ``observe(network, data)`` gives what to record, by name.
        dense: keep the weights at the recordings, so that ``run(t)`` gives the network at any time.
        tolerance: of the integration (default: relative 1e-10, absolute 1e-12).
        solver: an explicit Runge-Kutta method of diffrax (default: Dopri8).
        checkpoint: a file to keep the state in; a run that finds its own state there goes on from it.
    """
    grid = _times(until, times)
    weights, static = split(network)
    build = _Flow(observe, tolerance or Tolerance(), solver or diffrax.Dopri8(), static, dense)
    with double():
        _check_fit(network, world)
        inputs = _inputs(weights, world, timescale) | {"times": jnp.asarray(grid)}
        outcome = drive(build, _batch_of_one(inputs), label="flow", checkpoint=_checkpoint(checkpoint, build))
    at = None
    if dense:
        snapshots = _split_snapshots(outcome, weights)
        at = _Between(build, inputs, snapshots, grid)
    return _trajectory(outcome, network, f"flow, {type(build.solver).__name__}", at)


def descent(
    network: Any,
    world: Any,
    until: float,
    *,
    step_size: float = 1e-3,
    statistics: Statistics | None = None,
    seed: int = 0,
    timescale: Any = 1.0,
    records: int = RECORDS,
    observe: Observe = observe_linear,
    checkpoint: str | Path | None = None,
) -> Trajectory:
    """Gradient descent of a network in a world, θ ← θ − (dt/τ) ∂L/∂θ.

    Args:
        network: any Equinox module.
        world: a world, or a `Curriculum` of them.
        until: when to stop, in units of time: until/step_size steps are taken, or as many more as it takes to fill the
            last recording.
        step_size: dt.
        statistics: what is seen in one step: `Population()` (default), `Sampled(batch)` or `Wishart(batch)`.
        seed: of all random numbers.
        timescale: τ, one number or a tree with the network's structure.
        records: how many recordings to make; at most one a step.
        observe: ``observe(network, data)``, with the whole world's data, gives what to record.
        checkpoint: a file to keep the state in.
    """
    require(step_size > 0, "step_size", "be positive", step_size)
    require(0 < until < np.inf, "until", "be positive and finite", until)
    require(records >= 1, "records", "be at least 1", records)
    require(until / step_size < MOST_STEPS, "until", f"hold fewer than {MOST_STEPS:.0e} steps of {step_size}", until)
    steps = round(until / step_size)
    require(steps >= 1, "until", f"hold at least one step of {step_size}", until)
    count, per_record = _recordings(steps, records)
    weights, static = split(network)
    build = _Descent(observe, statistics or Population(), count, per_record, static)
    with double():
        _check_fit(network, world)
        inputs = _inputs(weights, world, timescale, whole=isinstance(statistics or Population(), Population))
        inputs |= {"key": jax.random.key(seed), "step_size": jnp.asarray(float(step_size))}
        outcome = drive(build, _batch_of_one(inputs), label="descent", checkpoint=_checkpoint(checkpoint, build))
    return _trajectory(outcome, network, f"descent, dt = {step_size:g}")


@dataclass(frozen=True)
class _Between:
    """Networks between recordings: integrate anew from the recording before."""

    build: _Flow
    inputs: dict[str, Any]
    snapshots: Any
    times: np.ndarray

    def __call__(self, wanted: np.ndarray) -> Any:
        flat = wanted.reshape(-1)
        before = np.clip(np.searchsorted(self.times, flat, side="right") - 1, 0, len(self.times) - 2)
        with double():
            grids = jnp.stack([jnp.asarray(self.times[before]), jnp.asarray(flat)], axis=1)
            runs = len(flat)
            shared = jax.tree.map(
                lambda leaf: jnp.broadcast_to(jnp.asarray(leaf), (runs, *np.shape(leaf))),
                {name: self.inputs[name] for name in ("world", "timescale")},
            )
            networks = jax.tree.map(lambda leaf: jnp.asarray(leaf[before]), self.snapshots)
            outcome = drive(self.build, shared | {"network": networks, "times": grids}, label="dense")
        weights = jax.tree.map(
            lambda leaf: np.reshape(leaf, (*wanted.shape, *leaf.shape[1:])), outcome.state.parameters
        )
        return eqx.combine(weights, self.build.static)


def _times(until: float | None, times: Any) -> np.ndarray:
    if (until is None) == (times is None):
        raise ArgumentError("Argument `until` or `times` must be given, and not both.")
    if times is None:
        require(until is not None and 0 < until < np.inf, "until", "be positive and finite", until)
        return np.linspace(0.0, float(until or 0.0), RECORDS + 1)
    grid = np.asarray(times, dtype=float)
    rising = grid.ndim == 1 and len(grid) >= 2 and np.all(np.diff(grid) > 0) and np.all(np.isfinite(grid))
    require(bool(rising), "times", "be at least two finite numbers that rise", times)
    return grid


def _inputs(network: Any, world: Any, timescale: Any, *, whole: bool = True) -> dict[str, Any]:
    """What a run starts from; where all of a gated world is seen, it is seen condensed."""
    _check_timescale(timescale, network)
    return to_double(
        {
            "network": jax.tree.map(jnp.asarray, network),
            "world": as_curriculum(world.condensed if whole and isinstance(world, GatedDataset) else world),
            "timescale": jax.tree.map(lambda leaf: jnp.asarray(leaf, float), timescale),
        }
    )


def split(network: Any) -> tuple[Any, Any]:
    """The weights of a network (its real arrays), and everything else in it."""
    weights, static = eqx.partition(network, eqx.is_inexact_array)
    require(len(jax.tree.leaves(weights)) > 0, "network", "hold at least one real array", type(network).__name__)
    return weights, static


def _recordings(steps: int, records: int) -> tuple[int, int]:
    """How many recordings to make and how many steps apart: exactly ``steps`` in all, if that costs few recordings."""
    apart = -(-steps // records)
    even = next(steps // count for count in range(min(records, steps), 0, -1) if steps % count == 0)
    apart = even if even <= 2 * apart else apart
    return -(-steps // apart), apart


def _check_timescale(timescale: Any, network: Any) -> None:
    try:
        jax.tree.map(lambda tau, part: None, timescale, network)
    except (ValueError, TypeError):
        raise ArgumentError(
            "Argument `timescale` must be one number, or a tree with the network's structure "
            f"{jax.tree.structure(network)}, but is {timescale!r}."
        ) from None
    for path, leaf in jax.tree_util.tree_leaves_with_path(timescale):
        name = f"timescale{jax.tree_util.keystr(path)}"
        number = isinstance(leaf, int | float | np.ndarray | np.generic | jax.Array)
        require(number and bool(np.all(np.asarray(leaf) > 0)), name, "be positive", leaf)


def _check_fit(network: Any, world: Any) -> None:
    if not hasattr(network, "sizes"):
        return
    example = world.at(jnp.asarray(0)) if isinstance(world, Curriculum) else world
    outputs, inputs = example.moments.cross.shape
    fits = network.sizes[0] == inputs and network.sizes[-1] == outputs
    require(fits, "network", f"map {inputs} inputs to {outputs} outputs, as the world does", network.sizes)


def _batch_of_one(inputs: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf[None], inputs)


def _checkpoint(path: str | Path | None, build: Any) -> Checkpoint | None:
    """Where to keep the state; the mark must be the same in another process, and another for another question."""
    if path is None:
        return None
    watched = build.observe
    code = getattr(watched, "__code__", None)
    name = f"{watched.__module__}.{getattr(watched, '__qualname__', watched)}"
    compiled = "" if code is None else hashlib.sha256(code.co_code).hexdigest()
    settings = {field.name: getattr(build, field.name) for field in fields(build)}
    told = {key: repr(value) for key, value in settings.items() if key not in ("observe", "static")}
    return Checkpoint(Path(path), mark=repr((name, compiled, told)))


def _snapshot(network: Any) -> Observed:
    return {f"{SNAPSHOT}{k}": leaf for k, leaf in enumerate(jax.tree.leaves(network))}


def _split_snapshots(outcome: Recording, network: Any) -> Any:
    """Take the weights out of what was observed, as one network with a leading axis of recordings."""
    names = [name for name in outcome.observed if name.startswith(SNAPSHOT)]
    leaves = [outcome.observed.pop(name)[0] for name in names]
    return jax.tree.unflatten(jax.tree.structure(network), leaves)


def _trajectory(outcome: Recording, network: Any, method: str, at: Any = None) -> Trajectory:
    done = slice(0, outcome.records)
    data = as_dataset(outcome.times[0, done], {name: values[0, done] for name, values in outcome.observed.items()})
    weights = jax.tree.map(lambda leaf: np.asarray(leaf[0]), outcome.state.parameters)
    final = eqx.combine(weights, split(network)[1])
    run = Trajectory(data, to_numpy(network), final, method, outcome.steps, outcome.seconds, outcome.interrupted, at)
    if outcome.failures:
        raise Diverged(f"{outcome.failures[0]}; what was recorded before is in `.trajectory`", run)
    if run.interrupted:
        reached = outcome.times[0, outcome.records - 1]
        interrupted = Interrupted(f"interrupted at t = {reached:g}; what was recorded is in `.trajectory`")
        interrupted.trajectory = run
        raise interrupted
    return run
