"""The hot kernels do no more work than they did: operations, bytes and instructions of one compiled step, not seconds.

XLA counts what it has compiled: floating-point operations, bytes read and written if no cache helped, instructions.
These numbers do not depend on how busy a machine is. The ones below were read off; a step may have a fifth more flops
and bytes, and half as many instructions again, before a test fails. One that does less passes: lower its numbers then.
"""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import festina as fs
from festina import draws
from festina.learning import JointDescent, closed_process, joint_process
from festina.learning.crossed import Crossed, every_run
from festina.learning.descent import descent_process, no_data
from festina.learning.samplers import _forces
from festina.worlds import MEAN, Blocks, Population, Sampled, Tasks, Wishart

MORE, MANY_MORE = 1.2, 1.5
RUNS, ARMS = 3, 20
KEY = jax.random.key(0)


@dataclass(frozen=True)
class Work:
    """Of one step of a batch; flops and bytes in thousands."""

    flops: float
    bytes: float
    instructions: int

    @classmethod
    def of(cls, step, state):
        with fs.double():
            compiled = jax.jit(step).lower(state).compile()
        cost = compiled.cost_analysis()
        instructions = sum(" = " in line for line in compiled.as_text().splitlines())
        return cls(cost["flops"] / 1e3, cost["bytes accessed"] / 1e3, instructions)

    def exceeds(self, known):
        """What there is too much of, in words."""
        limits = {"flops": MORE, "bytes": MORE, "instructions": MANY_MORE}
        pairs = {name: (getattr(self, name), limit * getattr(known, name)) for name, limit in limits.items()}
        return [f"{name}: {now:.0f} > {most:.0f}" for name, (now, most) in pairs.items() if now > most]


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
        settings = {
            "step_size": 1e-3,
            "records": 1,
            "steps_per_record": 100,
            "observe": lambda view: {"loss": view.loss},
        }
        if statistics is None:
            return closed_process(network, rule, blocks, tasks, key, **settings)
        return joint_process(network, rule, blocks, tasks, key, statistics=statistics, **settings)

    def step(given, state):
        return build(given).step(replace(state, step=jnp.zeros((), int)))

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


KERNELS = {
    "wishart": (lambda: joint(Wishart(200)), Work(827, 2990, 650)),
    "sampled": (lambda: joint(Sampled(200)), Work(4121, 3953, 884)),
    "population": (lambda: joint(Population()), Work(220, 2666, 259)),
    "closure": (lambda: joint(None), Work(9.4, 56.6, 249)),
    "deep-linear": (deep_linear, Work(283, 301, 108)),
    "gated": (gated, Work(1256, 1051, 220)),
    "rectified": (rectified, Work(1563, 647, 91)),
    "posterior": (posterior, Work(1524, 613, 77)),
}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.full
def test_a_step_does_no_more_work_than_it_did(name):
    make, known = KERNELS[name]
    now = Work.of(*make())
    assert not now.exceeds(known), now


@pytest.mark.full
@pytest.mark.parametrize("name", ["population", "closure", "rectified"])
def test_twice_the_work_is_noticed(name):
    make, known = KERNELS[name]
    step, state = make()
    found = Work.of(lambda state: step(step(state)), state).exceeds(known)
    assert any("flops" in words for words in found), found
