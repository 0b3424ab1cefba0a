"""The two verbs for networks in a world: `flow` and `descent`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array

from festina.errors import ArgumentError, require
from festina.learning.asked import (
    Learners,
    Observe,
    Sight,
    accuracy_of,
    as_test,
    check_fit,
    check_sight,
    learners,
    observe_loss,
    suited_loss,
)
from festina.learning.checkpoint import mark_of
from festina.learning.crossed import Crossed, alone
from festina.learning.descent import descent_process, scaled_by, stages_by_time
from festina.learning.flow import Tolerance, flow_process
from festina.learning.loop import Checkpoint, Recording, drive
from festina.learning.optimised import optimised_process
from festina.learning.process import Observed, Process, State
from festina.learning.trajectory import Trajectory, trajectory_of
from festina.precision import double, to_precision
from festina.worlds.curriculum import as_curriculum
from festina.worlds.from_data import from_data
from festina.worlds.gated import GatedDataset
from festina.worlds.losses import Loss
from festina.worlds.statistics import Population, Sampled, Statistics

RECORDS = 200
STEP_SIZE = 1e-3
MOST_STEPS = 1e15  # that can still be counted in a float
SNAPSHOT = "snapshot:"


@dataclass(frozen=True)
class _Watch:
    """What is recorded of a network: what is asked for on all of the world, and how it does on the test set."""

    observe: Observe
    sight: Sight
    static: Any  # what of the network is no weight: activation functions, sizes

    def __call__(self, inputs: dict[str, Any], parameters: Any, stage: Array) -> Observed:
        network = eqx.combine(parameters, self.static)
        key, test = inputs.get("key", jax.random.key(0)), inputs["test"]
        seen = self.observe(network, self.sight.whole(inputs["world"].at(stage), network, key))
        if test is None:
            return seen
        unseen = self.sight.whole(test, network, key)
        tested = {"loss": unseen.loss(network)} | accuracy_of(network, unseen)
        return seen | {f"test_{name}": value for name, value in tested.items()}


@dataclass(frozen=True)
class _Flow:
    """Builds the flow of one run; hashable, so that equal questions share one compilation."""

    watch: _Watch
    tolerance: Tolerance
    solver: diffrax.AbstractERK
    dense: bool = False

    def __call__(self, inputs: dict[str, Any]) -> Process:
        world, timescale = inputs["world"], inputs["timescale"]

        def loss(parameters: Any, stage: Array) -> Array:
            network = eqx.combine(parameters, self.watch.static)
            return self.watch.sight(world.at(stage), network, jax.random.key(0)).loss(network)

        def rate(parameters: Any, stage: Array) -> Any:
            return scaled_by(timescale, jax.grad(loss)(parameters, stage))

        def observe(state: State) -> Observed:
            seen = self.watch(inputs, state.parameters, world.stage_at(state.time))
            return seen | (_snapshot(state.parameters) if self.dense else {})

        return flow_process(
            rate, inputs["network"], inputs["times"], observe, world.switches, self.tolerance, self.solver
        )


@dataclass(frozen=True)
class _Descent:
    """Builds the descent of one run, by plain steps or by those of an optimiser."""

    watch: _Watch
    optimiser: optax.GradientTransformation | None
    records: int
    steps_per_record: int

    def __call__(self, inputs: dict[str, Any]) -> Process:
        world, step_size, key = inputs["world"], inputs["step_size"], inputs["key"]

        def slope(parameters: Any, key: Array, stage: Array) -> Any:
            data = self.watch.sight(world.at(stage), eqx.combine(parameters, self.watch.static), key)
            return jax.grad(lambda params: data.loss(eqx.combine(params, self.watch.static)))(parameters)

        def observe(state: State) -> Observed:
            # as the steps do, a switch that is a whole number of steps away up to rounding has happened
            return self.watch(inputs, state.parameters, world.stage_at(state.time + 1e-9 * step_size))

        stages = stages_by_time(world.switches, step_size)
        counts = (self.records, self.steps_per_record, observe, stages)
        if self.optimiser is not None:
            return optimised_process(slope, self.optimiser, inputs["network"], key, *counts)

        def rate(parameters: Any, key: Array, stage: Array) -> Any:
            return scaled_by(inputs["timescale"], slope(parameters, key, stage))

        return descent_process(rate, inputs["network"], key, step_size, *counts)


def flow(
    network: Any,
    world: Any,
    until: float | None = None,
    *,
    times: Any = None,
    loss: Loss | None = None,
    test: Any = None,
    seeds: int | None = None,
    timescale: Any = 1.0,
    observe: Observe = observe_loss,
    dense: bool = False,
    tolerance: Tolerance | None = None,
    solver: diffrax.AbstractERK | None = None,
    checkpoint: str | Path | None = None,
) -> Trajectory:
    """Gradient flow of a network in a world, τ dθ/dt = −∂L/∂θ, in float64.

    Args:
        network: any Equinox module, whose weights are what flows; an `Ensemble`; or a function that makes a network
            from a key.
        world: a world, or a `Curriculum` of them (the integration stops and restarts at every switch), or anything of
            which `fs.worlds.from_data` makes one, such as a pair (inputs, targets).
        until: when to stop; 200 equal recordings are made. Give either this or ``times``.
        times: when to record, rising from the start of the run.
        loss: L, one of `fs.worlds.losses` or a function of answers and targets; unless given, cross-entropy if targets
            are labels, and squared error ½⟨|y − f|²⟩ otherwise.
        test: a data set of its own, or how many fresh examples to draw for one; `test_loss` is then recorded.
        seeds: how many networks to integrate in one batch, from ``network(jax.random.key(k))`` or an `Ensemble`.
        timescale: τ, one number or a tree with the network's structure.
        observe: ``observe(network, data)`` gives what to record, by name.
        dense: keep the weights at the recordings, so that ``run(t)`` gives the network at any time.
        tolerance: of the integration (default: relative 1e-10, absolute 1e-12).
        solver: an explicit Runge-Kutta method of diffrax (default: Dopri8).
        checkpoint: a file to keep the state in; a run that finds its own state there goes on from it.

    Returns:
        A `Trajectory`: ``run["loss"]`` over ``run.time``, the network before and after, `run.plot()`.

    Example:
        >>> import jax
        >>> import festina as fs
        >>> world = fs.worlds.tree(branching=(2, 2), features=30)
        >>> network = fs.networks.DeepLinear.init(jax.random.key(0), (4, 8, 30))
        >>> run = fs.flow(network, world, until=30.0)
        >>> bool(run["loss"][-1] < 1e-3 * run["loss"][0])
        True
    """
    grid = _times(until, times)
    with double():
        world = from_data(world)
        many = learners(network, seeds, 0)
        require(not (dense and many.seeds), "dense", "be False for several seeds", dense)
        sight = Sight(suited_loss(world, loss), Population())
        _check("flow", many, world, sight)
        shared = _shared(many, world, timescale, test) | {"times": jnp.asarray(grid)}
        inputs = Crossed({"network": to_precision(many.weights, "float64")}, {}, shared, (many.count, 1))
        build = _Flow(_Watch(observe, sight, many.static), tolerance or Tolerance(), solver or diffrax.Dopri8(), dense)
        outcome = drive(build, inputs, label="flow", checkpoint=_checkpoint(checkpoint, build, inputs))
    at = _Between(build, alone(inputs, 0), _split_snapshots(outcome, many.weights), grid) if dense else None
    return trajectory_of(outcome, many, f"flow, {type(build.solver).__name__}", world, at=at)


def descent(
    network: Any,
    world: Any,
    until: float | None = None,
    *,
    steps: int | None = None,
    step_size: float | None = None,
    optimiser: optax.GradientTransformation | None = None,
    loss: Loss | None = None,
    batch: int | None = None,
    statistics: Statistics | None = None,
    test: Any = None,
    seeds: int | None = None,
    seed: int = 0,
    timescale: Any = 1.0,
    precision: Literal["float64", "float32"] = "float64",
    records: int = RECORDS,
    observe: Observe = observe_loss,
    checkpoint: str | Path | None = None,
) -> Trajectory:
    """Gradient descent of a network in a world, θ ← θ − (dt/τ) ∂L/∂θ, or by an optimiser of optax.

    Args:
        network: any Equinox module; an `Ensemble`; or a function that makes a network from a key.
        world: a world, a `Curriculum` of them, or anything of which `fs.worlds.from_data` makes one.
        until: when to stop, in units of time: until/step_size steps are taken, or as many more as it takes to fill the
            last recording. Give either this or ``steps``.
        steps: how many to take.
        step_size: dt (default: .001).
        optimiser: of optax, such as ``optax.adam(1e-3)``; the unit of time is then one step, and the size of steps and
            their timescales are the optimiser's own.
        loss: L, one of `fs.worlds.losses` or a function of answers and targets; unless given, cross-entropy if targets
            are labels, and squared error ½⟨|y − f|²⟩ otherwise.
        batch: fresh examples in every step; short for ``statistics=Sampled(batch)``.
        statistics: what is seen in one step: `Population()` (default), `Sampled(batch)` or `Wishart(batch)`.
        test: a data set of its own, or how many fresh examples to draw for one; `test_loss` is then recorded.
        seeds: how many runs to make in one batch: seed k sees data of its own, and starts from ``network`` itself, from
            member k of an `Ensemble`, or from ``network(jax.random.key(k))``.
        seed: of all random numbers; the first of them, if there are several.
        timescale: τ, one number or a tree with the network's structure.
        precision: of weights and data.
        records: how many recordings to make; at most one a step.
        observe: ``observe(network, data)``, with the whole world's data, gives what to record; of a world without end,
            1000 examples that are drawn once stand for the whole.
        checkpoint: a file to keep the state in, with that of the optimiser.

    Returns:
        A `Trajectory`, with a dimension ``seed`` if there are several: ``run["loss"]`` over ``run.time``, the network
        before and after, `run.plot()`.

    Example:
        >>> import equinox as eqx, jax, optax
        >>> import festina as fs
        >>> teacher = eqx.nn.MLP(5, 1, 2, depth=1, key=jax.random.key(9))
        >>> world = fs.worlds.Taught(teacher, inputs=5)  # fresh examples in every step
        >>> student = lambda key: eqx.nn.MLP(5, 1, 16, depth=1, key=key)
        >>> run = fs.descent(student, world, steps=200, optimiser=optax.adam(1e-2), batch=32, seeds=2, records=10)
        >>> run["loss"].dims
        ('seed', 'time')
    """
    count, per_record = _recordings(_steps(until, steps, step_size, optimiser, timescale, records), records)
    require(batch is None or statistics is None, "batch", "be left out if `statistics` is given", batch)
    require(precision in ("float64", "float32"), "precision", "be 'float64' or 'float32'", precision)
    statistics = statistics or (Population() if batch is None else Sampled(batch))
    with double():
        world = from_data(world)
        many = learners(network, seeds, seed)
        sight = Sight(suited_loss(world, loss), statistics)
        _check("descent", many, world, sight)
        size = 1.0 if optimiser is not None else step_size or STEP_SIZE
        shared = _shared(many, world, timescale, test, precision, whole=isinstance(statistics, Population))
        shared |= {"step_size": jnp.asarray(float(size))}
        own = {"network": to_precision(many.weights, precision), "key": many.keys}
        inputs = Crossed(own, {}, shared, (many.count, 1))
        build = _Descent(_Watch(observe, sight, many.static), optimiser, count, per_record)
        outcome = drive(build, inputs, label="descent", checkpoint=_checkpoint(checkpoint, build, inputs))
    method = f"descent, dt = {size:g}" if optimiser is None else "descent by an optimiser"
    return trajectory_of(outcome, many, method, world, unit="τ" if optimiser is None else "steps")


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
            networks = jax.tree.map(lambda leaf: jnp.asarray(leaf[before]), self.snapshots)
            shared = {name: self.inputs[name] for name in ("world", "timescale", "test")}
            inputs = Crossed({"network": networks, "times": grids}, {}, shared, (len(flat), 1))
            outcome = drive(self.build, inputs, label="dense")
        weights = jax.tree.map(
            lambda leaf: np.reshape(leaf, (*wanted.shape, *leaf.shape[1:])), outcome.state.parameters
        )
        return eqx.combine(weights, self.build.watch.static)


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


def _steps(
    until: float | None,
    steps: int | None,
    step_size: float | None,
    optimiser: optax.GradientTransformation | None,
    timescale: Any,
    records: int,
) -> int:
    """How many steps are asked for, in whichever way."""
    require(isinstance(records, int) and records >= 1, "records", "be at least 1", records)
    if (until is None) == (steps is None):
        raise ArgumentError("Argument `until` or `steps` must be given, and not both.")
    if optimiser is not None:
        made = isinstance(optimiser, optax.GradientTransformation)
        require(made, "optimiser", "be one of optax, such as `optax.adam(1e-3)`", optimiser)
        require(steps is not None, "steps", "be given with an optimiser, instead of `until`", steps)
        require(step_size is None, "step_size", "be left out with an optimiser, which has its own", step_size)
        plain = isinstance(timescale, int | float) and timescale == 1.0
        require(plain, "timescale", "be left out with an optimiser; see `optax.multi_transform`", timescale)
    if steps is not None:
        whole = isinstance(steps, int | np.integer) and 1 <= steps < MOST_STEPS
        require(whole, "steps", f"be a whole number from 1 to {MOST_STEPS:.0e}", steps)
        require(step_size is None or step_size > 0, "step_size", "be positive", step_size)
        return int(steps)
    size, end = STEP_SIZE if step_size is None else step_size, float(until or 0.0)
    require(size > 0, "step_size", "be positive", step_size)
    require(0 < end < np.inf, "until", "be positive and finite", until)
    require(end / size < MOST_STEPS, "until", f"hold fewer than {MOST_STEPS:.0e} steps of {size}", until)
    require(round(end / size) >= 1, "until", f"hold at least one step of {size}", until)
    return round(end / size)


def _recordings(steps: int, records: int) -> tuple[int, int]:
    """How many recordings to make and how many steps apart: exactly ``steps`` in all, if that costs few recordings."""
    apart = -(-steps // records)
    even = next(steps // count for count in range(min(records, steps), 0, -1) if steps % count == 0)
    apart = even if even <= 2 * apart else apart
    return -(-steps // apart), apart


def _check(verb: str, many: Learners, world: Any, sight: Sight) -> None:
    """Refuse networks, worlds and losses that do not go together."""
    one = jax.tree.map(lambda leaf: leaf[0], many.weights)
    network = eqx.combine(one, many.static)
    check_sight(verb, world, network, sight)
    check_fit(network, world, sight)


def _shared(
    many: Learners, world: Any, timescale: Any, test: Any, precision: str = "float64", *, whole: bool = True
) -> dict[str, Any]:
    """What all runs have in common; where all of a gated world is seen, it is seen condensed."""
    _check_timescale(timescale, jax.tree.map(lambda leaf: leaf[0], many.weights))
    stages = as_curriculum(world.condensed if whole and isinstance(world, GatedDataset) else world)
    shared = {
        "world": eqx.tree_at(lambda world: world.stages, stages, to_precision(stages.stages, precision)),
        "timescale": jax.tree.map(lambda leaf: jnp.asarray(leaf, float), timescale),
        "test": to_precision(
            as_test(test, world, jax.random.fold_in(jax.random.key(many.first), 2), from_data), precision
        ),
    }
    return jax.tree.map(jnp.asarray, shared)


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


def _checkpoint(path: str | Path | None, build: Any, inputs: Crossed) -> Checkpoint | None:
    """Where to keep the state; the mark is that of the program, in whichever process it is built."""
    return None if path is None else Checkpoint(Path(path), mark=mark_of(build, alone(inputs, 0)))


def _snapshot(network: Any) -> Observed:
    return {f"{SNAPSHOT}{k}": leaf for k, leaf in enumerate(jax.tree.leaves(network))}


def _split_snapshots(outcome: Recording, weights: Any) -> Any:
    """Take the weights out of what was observed, as one network with a leading axis of recordings."""
    names = [name for name in outcome.observed if name.startswith(SNAPSHOT)]
    leaves = [outcome.observed.pop(name)[0] for name in names]
    return jax.tree.unflatten(jax.tree.structure(weights), leaves)
