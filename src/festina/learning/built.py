"""The processes of the verbs: how one run of a network in a world is built from what is asked for."""

from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from festina._lazy import optax
from festina.learning.asked import Observe, Sight, tested_on
from festina.learning.crossed import Crossed
from festina.learning.descent import descent_process, scaled_by, stages_by_time
from festina.learning.flow import Tolerance, flow_process
from festina.learning.loop import Recording, drive
from festina.learning.optimised import optimised_process
from festina.learning.process import Observed, Process, State
from festina.learning.runge_kutta import RungeKutta
from festina.precision import double
from festina.worlds.statistics import Population

SNAPSHOT = "snapshot:"


@dataclass(frozen=True)
class Watch:
    """What is recorded of a network: what is asked for on all of the world, and how it does on the test set."""

    observe: Observe
    sight: Sight
    static: Any  # what of the network is no array: activation functions, sizes

    def network(self, inputs: dict[str, Any], parameters: Any) -> Any:
        """The network with some weights; its other arrays, such as a choice of inputs, are data."""
        return eqx.combine(parameters, inputs["fixed"], self.static)

    def __call__(self, inputs: dict[str, Any], parameters: Any, stage: Array) -> Observed:
        network = self.network(inputs, parameters)
        key, test = inputs.get("key", jax.random.key(0)), inputs["test"]
        seen = self.observe(network, self.sight.whole(inputs["world"].at(stage), network, key))
        return seen if test is None else seen | tested_on(self.sight.whole(test, network, key), network)


@dataclass(frozen=True)
class FlowOf:
    """Builds the flow of one run; hashable, so that equal questions share one compilation."""

    watch: Watch
    tolerance: Tolerance
    solver: RungeKutta
    dense: bool = False

    def __call__(self, inputs: dict[str, Any]) -> Process:
        world, timescale = inputs["world"], inputs["timescale"]

        def loss(parameters: Any, stage: Array) -> Array:
            network = self.watch.network(inputs, parameters)
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
class DescentOf:
    """Builds the descent of one run, by plain steps or by those of an optimiser."""

    watch: Watch
    optimiser: "optax.GradientTransformation | None"
    records: int
    steps_per_record: int

    def __call__(self, inputs: dict[str, Any]) -> Process:
        world, step_size, key = inputs["world"], inputs["step_size"], inputs["key"]

        def see(key: Array, stage: Array) -> Any:
            return self.watch.sight(world.at(stage), self.watch.network(inputs, inputs["network"]), key)

        def uphill(parameters: Any, data: Any, stage: Array) -> Any:
            return jax.grad(lambda params: data.loss(self.watch.network(inputs, params)))(parameters)

        def slope(parameters: Any, key: Array, stage: Array) -> Any:
            return uphill(parameters, see(key, stage), stage)

        def observe(state: State) -> Observed:
            # as the steps do, a switch that is a whole number of steps away up to rounding has happened
            return self.watch(inputs, state.parameters, world.stage_at(state.time + 1e-9 * step_size))

        stages = stages_by_time(world.switches, step_size)
        counts = (self.records, self.steps_per_record, observe, stages)

        def rate(parameters: Any, key: Array, stage: Array) -> Any:
            return scaled_by(inputs["timescale"], slope(parameters, key, stage))

        if self.optimiser is None:
            process = descent_process(rate, inputs["network"], key, step_size, *counts)
        elif isinstance(self.watch.sight.statistics, Population):  # the whole world, which is there in every step
            process = optimised_process(slope, self.optimiser, inputs["network"], key, *counts)
        else:
            process = optimised_process(uphill, self.optimiser, inputs["network"], key, *counts, see)
        return replace(process, passes=1)


@dataclass(frozen=True)
class Between:
    """Networks between recordings: integrate anew from the recording before."""

    build: FlowOf
    inputs: dict[str, Any]
    snapshots: Any
    times: np.ndarray

    def __call__(self, wanted: np.ndarray) -> Any:
        flat = wanted.reshape(-1)
        before = np.clip(np.searchsorted(self.times, flat, side="right") - 1, 0, len(self.times) - 2)
        with double():
            grids = jnp.stack([jnp.asarray(self.times[before]), jnp.asarray(flat)], axis=1)
            networks = jax.tree.map(lambda leaf: jnp.asarray(leaf[before]), self.snapshots)
            shared = {name: self.inputs[name] for name in ("world", "timescale", "test", "fixed")}
            inputs = Crossed({"network": networks, "times": grids}, {}, shared, (len(flat), 1))
            outcome = drive(self.build, inputs, label="dense")
        weights = jax.tree.map(
            lambda leaf: np.reshape(leaf, (*wanted.shape, *leaf.shape[1:])), outcome.state.parameters
        )
        return self.build.watch.network(self.inputs, weights)


def _snapshot(network: Any) -> Observed:
    return {f"{SNAPSHOT}{k}": leaf for k, leaf in enumerate(jax.tree.leaves(network))}


def split_snapshots(outcome: Recording, weights: Any) -> Any:
    """Take the weights out of what was observed, as one network with a leading axis of recordings."""
    names = [name for name in outcome.observed if name.startswith(SNAPSHOT)]
    leaves = [outcome.observed.pop(name)[0] for name in names]
    return jax.tree.unflatten(jax.tree.structure(weights), leaves)
