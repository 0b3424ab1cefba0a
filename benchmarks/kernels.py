"""The kernels that festina spends its time in, each as the compiled chunk of its loop: for roofline.py and scaling.py.

A `Kernel` is built from the same processes as the experiments and compiled by the same function, with the same options
and the same tiles; only the number of steps in a chunk is chosen here.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import festina as fs
from festina import draws
from festina.learning import DORMAND_PRINCE, JointDescent, Process, closed_process, flow_process, joint_process
from festina.learning.crossed import TILE_BYTES, Crossed, every_run
from festina.learning.descent import descent_process, no_data
from festina.learning.loop import _chunk, _start, _thorough_chunk
from festina.learning.posterior import constant, posterior_process
from festina.worlds import Blocks, Population, Sampled, Tasks, Wishart

STEP = 1e-3


@dataclass
class Kernel:
    """A batch of processes, and how to advance it by one chunk.

    Attributes:
        build: the process of one run, from its inputs.
        inputs: of all runs.
        flops: of one step of one run, counted by hand: products and sums of the formulas, nothing else.
        counted: from how the state has changed over a chunk, the steps (or gradients) of all runs.
        length: steps of the whole batch in one chunk, if they are all alike, so that one can be looked at; or none.
    """

    build: Callable[[Any], Process]
    inputs: Any
    flops: float
    counted: Callable[[Any, Any], float]
    length: int | None = None

    def __post_init__(self) -> None:
        with fs.double():
            self.state = _start(self.build, self.inputs)[0]

    def chunk(self) -> Any:
        """From the start over one recording; the state at its end."""
        program = _thorough_chunk if self.is_thorough else _chunk  # as in a long run
        with fs.double():
            return jax.block_until_ready(program(self.build, self.inputs, self.state, np.asarray(1), 1)[0])

    @cached_property
    def is_thorough(self) -> bool:
        with fs.double():
            return _start.shapes(self.build, self.inputs)[3].passes > 0

    def steps(self) -> float:
        """Steps of all runs in one chunk."""
        return self.counted(self.state, self.chunk())

    @property
    def tiles(self) -> int:
        """How many tiles of runs go through a chunk one after the other, as the loop cuts them."""
        runs = self.state.step.shape[0]
        seeds = self.inputs.counts[0] if isinstance(self.inputs, Crossed) else runs
        size = sum(leaf.nbytes for leaf in jax.tree.leaves(self.state.parameters)) // seeds
        fits = [count for count in range(1, seeds + 1) if seeds % count == 0 and count * size <= TILE_BYTES]
        return seeds // max(fits, default=1)

    def optimised(self) -> Any:
        """ONE step of all runs, compiled: for what XLA says about it."""

        def step(inputs: Any, state: Any) -> Any:
            advance = self.build(inputs).step
            assert advance is not None
            return advance(replace(state, step=jnp.zeros((), int)))  # of one number, as all runs are at one recording

        with fs.double():
            return jax.jit(lambda *given: every_run(step, *given)).lower(self.inputs, self.state).compile()


def launched(compiled: Any) -> int:
    """How many operations of a compiled program do work: each is one fused loop, one product, one copy."""
    text = compiled.as_text()
    entry = text[text.index("ENTRY") :]
    silent = ("parameter(", "constant(", "tuple(", "get-tuple-element(", "bitcast(")
    lines = [line for line in entry.splitlines() if " = " in line]
    return sum(not any(f" {word}" in line for word in silent) for line in lines)


def _steps(before: Any, after: Any) -> float:
    return float(np.sum(np.asarray(after.step)) - np.sum(np.asarray(before.step)))


def joint(
    data: str = "wishart",
    dtype: Any = jnp.float64,
    *,
    paths: int = 2,
    tasks: int = 2,
    inputs: int = 20,
    outputs: int = 10,
    batch: int = 200,
    arms: int = 50,
    runs: int = 10,
    steps: int = 700,
) -> Kernel:
    """Joint descent on students and gates, as the map of regimes has it: every seed with every arm.

    A step of one arm has io(2M − 1) operations for its target, 2Pio each for its error and its gates, 2i²o for the
    product with S, and 3Pio for the students. What a seed draws for all its arms is i³ for S = LLᵀ of a Wishart matrix
    (symmetric, i²·i), or 2Bi² for that of a batch.
    """

    def build(given: Any) -> Process:
        key = jax.random.key(given["seed"])
        maps = draws.normal(draws.fold_in(key, 0), (tasks, outputs, inputs), float) / inputs**0.5
        world = Tasks(jnp.asarray(maps), 1 / outputs)
        network = fs.networks.PathGated.init(draws.fold_in(key, 1), paths, outputs, inputs, 0.01)

        bounds = fs.networks.Regularizer(jnp.asarray(0.5), jnp.asarray(1.25))
        rule = JointDescent(jnp.asarray(0.1), given["gate_timescale"], bounds)
        blocks = Blocks.of(range(tasks), 0.5, STEP)
        settings = {
            "step_size": STEP,
            "records": 1,
            "steps_per_record": steps,
            "observe": lambda view: {"loss": view.loss},
            "dtype": dtype,
        }
        if data == "closure":
            return closed_process(network, rule, blocks, world, key, **settings)
        statistics = {"wishart": Wishart(batch), "sampled": Sampled(batch), "population": Population()}[data]
        return joint_process(network, rule, blocks, world, key, statistics=statistics, **settings)

    rows, columns = (1, paths + tasks) if data == "closure" else (outputs, inputs)
    flops = rows * columns * (2 * tasks - 1 + 7 * paths)
    if data in ("wishart", "sampled"):
        flops += 2 * rows * columns**2 + (2 * columns**3 if data == "wishart" else 2 * batch * columns**2) / arms
    given = Crossed({"seed": np.arange(runs)}, {"gate_timescale": np.linspace(0.02, 0.1, arms)}, {}, (runs, arms))
    return Kernel(build, given, flops, _steps, steps)


def deep_linear(depth: int = 2, width: int = 32, *, runs: int = 8) -> Kernel:
    """Gradient flow of a deep linear network under the population gradient, an attempted Runge–Kutta step at a time.

    A gradient has 3D − 2 or so products of w × w matrices; Dopri8 takes `EVALUATIONS` of them a step.
    """

    def build(given: Any) -> Process:
        key = jax.random.key(given["seed"])
        network = fs.networks.DeepLinear.init(draws.fold_in(key, 0), (width,) * (depth + 1), 0.5)
        target = jnp.asarray(draws.normal(draws.fold_in(key, 1), (width, width), float)) / width**0.5
        moments = fs.worlds.Teacher(target).moments
        loss = lambda network: moments.loss(network)  # noqa: E731
        return flow_process(
            lambda network, stage: jax.tree.map(jnp.negative, jax.grad(loss)(network)),
            network,
            jnp.asarray([0.0, 1.0]),
            lambda state: {"loss": loss(state.parameters)},
        )

    return Kernel(build, {"seed": np.arange(runs)}, EVALUATIONS * (3 * depth - 2) * 2 * width**3, _steps)


EVALUATIONS = len(DORMAND_PRINCE.weights)
"""Gradients of one attempted step of Dopri8."""


def gated(*, nodes: int = 4, layers: int = 4, width: int = 4, patterns: int = 8, runs: int = 8) -> Kernel:
    """Gradient flow of a gated network, each layer's nodes joined to all of the next, from condensed gate patterns.

    A gradient has three products (values forward, values backward, weights) of every edge with every condensed sample.
    """
    graph = fs.networks.Graph.layered((nodes,) * (layers + 1), width=width)
    random, samples = np.random.default_rng(0), 500
    pattern = random.integers(0, patterns, samples)
    hidden = [node for node in graph.widths if node not in graph.inputs and node not in graph.outputs]
    world = fs.worlds.GatedDataset(
        {node: random.normal(size=(samples, width)) for node in graph.inputs},
        {node: random.normal(size=(samples, width)) for node in graph.outputs},
        {node: random.integers(0, 2, patterns).astype(float)[pattern] for node in hidden},
    )
    condensed = world.condensed

    def build(given: Any) -> Process:
        network = fs.networks.Gated.init(jax.random.key(given["seed"]), graph, scale=0.5)
        rate = lambda network, stage: jax.tree.map(jnp.negative, jax.grad(condensed.loss)(network))  # noqa: E731
        watch = lambda state: {"loss": condensed.loss(state.parameters)}  # noqa: E731
        return flow_process(rate, network, jnp.asarray([0.0, 2.0]), watch)

    rows = next(iter(condensed.inputs.values())).shape[0]
    flops = EVALUATIONS * 3 * 2 * rows * len(graph.edges) * width**2
    return Kernel(build, {"seed": np.arange(runs)}, flops, _steps)


def rectified(*, width: int = 600, contexts: int = 3, runs: int = 10, steps: int = 400) -> Kernel:
    """Descent of a ReLU network on all its samples, float32, as `rectified/selectivity` has it.

    Two products for the first layer, of which nothing before it is asked, and three for the second.
    """
    data = fs.worlds.multitask(contexts).dataset
    inputs, targets = (np.asarray(part, np.float32) for part in (data.inputs, data.targets))
    samples = fs.worlds.Dataset(inputs, targets).samples
    sizes = (inputs.shape[1], width, targets.shape[1])

    def build(given: Any) -> Process:
        network = fs.networks.Rectified.init(jax.random.key(given["seed"]), sizes, 0.005 / width, np.float32)
        rate = lambda network, data, stage: jax.tree.map(jnp.negative, jax.grad(samples.loss)(network))  # noqa: E731
        watch = lambda state: {"loss": samples.loss(state.parameters)}  # noqa: E731
        return descent_process(rate, network, jax.random.key(0), 1e-3, 1, steps, watch, draw=no_data)

    first, second = (rows * columns for columns, rows in pairwise(sizes))
    return Kernel(build, {"seed": np.arange(runs)}, 2 * len(inputs) * (2 * first + 3 * second), _steps, steps)


def posterior(*, neurons: int = 1000, examples: int = 100, outputs: int = 3) -> Kernel:
    """A draw of Hamiltonian Monte Carlo, one chain: steps are gradients (float32), with all a draw has around them.

    Two products of the hidden layer with the inputs and three with the readouts; the nonlinearity is not counted.
    """
    variance = 1.0 / examples

    def build(given: Any) -> Process:
        key = jax.random.key(given["seed"])
        x = jnp.asarray(draws.normal(draws.fold_in(key, 0), (examples, examples), float)) / examples**0.5
        y = jnp.eye(outputs)[jnp.arange(examples) % outputs]
        sizes = (examples, neurons, outputs)
        network = fs.networks.Bayesian.init(draws.fold_in(key, 1), sizes, readout_variance=variance)

        def energy(whitened: Any, data: Any, heat: Any) -> Any:
            inputs, targets = data
            return network.having(whitened).energy(inputs, targets, heat)

        watch = lambda state: {"acceptance": state.memory.acceptance}  # noqa: E731
        start = jax.tree.map(jnp.asarray, network.whitened)
        return posterior_process(energy, start, (x, y), key, 1, 2, watch, constant(0.05), 0)

    flops = 2 * examples * neurons * (2 * examples + 3 * outputs)
    counted = lambda before, after: float(np.sum(np.asarray(after.memory.gradients)))  # noqa: E731
    return Kernel(build, {"seed": np.arange(1)}, flops, counted)
