"""The kernels that festina spends its time in, small: a step of a batch, and the state it starts from."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

import festina as fs
from festina import draws
from festina.learning import JointDescent, closed_process, joint_process
from festina.learning.crossed import Crossed, every_run
from festina.learning.descent import descent_process, no_data
from festina.learning.samplers import _forces
from festina.worlds import MEAN, Blocks, Tasks
from narrowing import there

RUNS, ARMS = 3, 20
KEY = jax.random.key(0)


def batch_of(build):
    """One step of several runs at once, and where they start."""
    with fs.double():
        state = jax.vmap(lambda seed: build(seed).initial)(jnp.arange(RUNS))
    return lambda state: jax.vmap(lambda seed, state: build(seed).step(state))(jnp.arange(RUNS), state), state


def joint(statistics):
    """Joint descent of twenty cells, two paths, two tasks, 20 inputs and 10 outputs.

    All take the step of one number, as the arms of a seed do. Networks become columns and columns networks around it,
    which a run does once in every recording and not in every step: a quarter of the bytes.
    """
    blocks = Blocks.of((0, 1), 0.5, 1e-3)

    def build(given):
        key = draws.fold_in(KEY, given["seed"])
        tasks = Tasks.orthogonal(draws.fold_in(key, 0), 2, 10, 20, MEAN)
        network = fs.networks.PathGated.init(draws.fold_in(key, 1), 2, 10, 20, 0.01)
        bounds = fs.networks.Regularizer(jnp.asarray(0.5), jnp.asarray(1.25))
        rule = JointDescent(jnp.asarray(0.1), given["gate_timescale"], bounds)
        settings: dict[str, Any] = {
            "step_size": 1e-3,
            "records": 1,
            "steps_per_record": 100,
            "observe": lambda view: {"loss": view.loss},
        }
        if statistics is None:
            return closed_process(network, rule, blocks, tasks, key, **settings)
        return joint_process(network, rule, blocks, tasks, key, statistics=statistics, **settings)

    def step(given, state):
        return there(build(given).step)(replace(state, step=jnp.zeros((), int)))

    with fs.double():
        timescales = {"gate_timescale": jnp.linspace(0.02, 0.1, ARMS)}
        inputs = Crossed({"seed": jnp.arange(RUNS)}, timescales, {}, (RUNS, ARMS))
        state = every_run(lambda given: build(given).initial, inputs)
    return lambda state: every_run(step, inputs, state), state


def descending(loss, start):
    """Gradient descent of networks that differ in their start."""

    def build(seed):
        rate = lambda network, data, stage: jax.tree.map(jnp.negative, jax.grad(loss)(network))  # noqa: E731
        network = start(draws.fold_in(KEY, seed))
        return descent_process(rate, network, KEY, 1e-3, 1, 10, lambda state: {}, draw=no_data)

    return batch_of(build)


def deep_linear():
    """Four layers of 16 units, moments of a teacher."""
    moments = fs.worlds.Teacher(np.eye(16)).moments
    return descending(moments.loss, lambda key: fs.networks.DeepLinear.init(key, (16,) * 5, 0.5))


def gated():
    """Three layers of four nodes each, 200 samples in six gate patterns."""
    graph = fs.networks.Graph.layered((4, 4, 4, 4), width=4)
    random, samples = np.random.default_rng(0), 200
    hidden = [node for node in graph.widths if node not in graph.inputs and node not in graph.outputs]
    pattern = random.integers(0, 6, samples)
    world = fs.worlds.GatedDataset(
        {node: random.normal(size=(samples, 4)) for node in graph.inputs},
        {node: random.normal(size=(samples, 4)) for node in graph.outputs},
        {node: random.integers(0, 2, 6).astype(float)[pattern] for node in hidden},
    )
    return descending(world.condensed.loss, lambda key: fs.networks.Gated.init(key, graph, scale=0.5))


def rectified():
    """100 hidden units, two contexts, float32."""
    data = jax.tree.map(lambda leaf: np.asarray(leaf, np.float32), fs.worlds.multitask(2).dataset)
    sizes = (data.inputs.shape[1], 100, data.targets.shape[1])
    return descending(data.samples.loss, lambda key: fs.networks.Rectified.init(key, sizes, 1e-4, np.float32))


def posterior():
    """A force on 200 neurons and 40 examples, in float32."""
    network = fs.networks.Bayesian.init(KEY, (40, 200, 3), readout_variance=1 / 40)
    x, y = np.eye(40, dtype=np.float32), np.eye(3, dtype=np.float32)[np.arange(40) % 3]
    energy = lambda whitened: network.having(whitened).energy(x, y, 0.05)  # noqa: E731
    with fs.double():
        start, shaped = ravel_pytree(jax.tree.map(jnp.asarray, network.whitened))
        return _forces(energy, shaped, "float32"), start
