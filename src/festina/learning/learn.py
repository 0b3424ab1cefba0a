"""The two verbs for networks in a world: `flow` and `descent`."""

from pathlib import Path
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from festina._lazy import optax
from festina.errors import ArgumentError, require
from festina.learning.asked import (
    Learners,
    Observe,
    Sight,
    as_test,
    check_fit,
    check_sight,
    learners,
    observe_loss,
    suited_loss,
)
from festina.learning.built import Between, DescentOf, FlowOf, Watch, split_snapshots
from festina.learning.checkpoint import mark_of
from festina.learning.crossed import Crossed, alone
from festina.learning.flow import Tolerance
from festina.learning.loop import Checkpoint, drive
from festina.learning.runge_kutta import DORMAND_PRINCE, RungeKutta
from festina.learning.schedule import RECORDS, STEP_SIZE, count_steps, recording_times, spread_recordings
from festina.learning.trajectory import Trajectory, trajectory_of
from festina.precision import double, to_precision
from festina.worlds.curriculum import as_curriculum
from festina.worlds.from_data import from_data
from festina.worlds.gated import GatedDataset
from festina.worlds.losses import Loss
from festina.worlds.statistics import Population, Sampled, Statistics


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
    solver: Any = DORMAND_PRINCE,
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
            are labels, and squared error ``½⟨|y − f|²⟩`` otherwise.
        test: a data set of its own, or how many fresh examples to draw for one; `test_loss` is then recorded.
        seeds: how many networks to integrate in one batch, from ``network(jax.random.key(k))`` or an `Ensemble`.
        timescale: τ, one number or a tree with the network's structure.
        observe: ``observe(network, data)`` gives what to record, by name.
        dense: keep the weights at the recordings, so that ``run(t)`` gives the network at any time.
        tolerance: of the integration (default: relative 1e-10, absolute 1e-12).
        solver: an explicit Runge-Kutta method, a `RungeKutta` or one of diffrax (default: of order 8).
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
    grid = recording_times(until, times)
    with double():
        world = from_data(world)
        many = learners(network, seeds, 0)
        require(not (dense and many.seeds), "dense", "be False for several seeds", dense)
        sight = Sight(suited_loss(world, loss), Population())
        _check("flow", many, world, sight)
        shared = _shared(many, world, timescale, test) | {"times": jnp.asarray(grid)}
        inputs = Crossed({"network": to_precision(many.weights, "float64")}, {}, shared, (many.count, 1))
        build = FlowOf(Watch(observe, sight, many.functions), tolerance or Tolerance(), RungeKutta.of(solver), dense)
        outcome = drive(build, inputs, label="flow", checkpoint=_checkpoint(checkpoint, build, inputs))
    at = Between(build, alone(inputs, 0), split_snapshots(outcome, many.weights), grid) if dense else None
    return trajectory_of(outcome, many, f"flow, {build.solver.name}", world, at=at)


def descent(
    network: Any,
    world: Any,
    until: float | None = None,
    *,
    steps: int | None = None,
    step_size: float | None = None,
    optimiser: "optax.GradientTransformation | None" = None,
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
            are labels, and squared error ``½⟨|y − f|²⟩`` otherwise.
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
    count, per_record = spread_recordings(count_steps(until, steps, step_size, optimiser, timescale, records), records)
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
        build = DescentOf(Watch(observe, sight, many.functions), optimiser, count, per_record)
        outcome = drive(build, inputs, label="descent", checkpoint=_checkpoint(checkpoint, build, inputs))
    method = f"descent, dt = {size:g}" if optimiser is None else "descent by an optimiser"
    return trajectory_of(outcome, many, method, world, unit="τ" if optimiser is None else "steps")


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
        "fixed": many.fixed,
        "world": eqx.tree_at(lambda world: world.stages, stages, to_precision(stages.stages, precision)),
        "timescale": jax.tree.map(lambda leaf: jnp.asarray(leaf, float), timescale),
        "test": to_precision(as_test(test, world, jax.random.fold_in(jax.random.key(many.first), 2)), precision),
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
