"""The kernels in C take the same steps as JAX does, for all sizes and options that they know."""

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from festina import draws, fast
from festina.fast.joint import normals
from festina.learning import JointDescent
from festina.learning.joint import as_type
from festina.learning.native import Plan, descent_of
from festina.learning.wide import wide_steps
from festina.networks import PathGated, Regularizer
from festina.worlds import Blocks, Population, Tasks, Wishart

pytestmark = pytest.mark.usefixtures("kernels")


@dataclass(frozen=True)
class Case:
    """A batch of networks: how many, of which size, and what they see."""

    arms: int = 5
    paths: int = 2
    tasks: int = 2
    outputs: int = 3
    inputs: int = 8
    batch: int = 0
    order: int = 1
    single: bool = False
    shifted: bool = False
    shown: tuple[int, ...] = ()
    steps: int = 150
    first: int = 0
    loss_share: float = 1.0

    @property
    def statistics(self):
        return Wishart(self.batch) if self.batch else Population()

    @property
    def dtype(self):
        return np.float32 if self.single else np.float64


STEP = 0.01
KEY = draws.fold_in(jax.random.key(7), 3)
CLOSURES = {
    "closure": Case(arms=33, outputs=1, inputs=4, steps=700),
    "reduced": Case(arms=3, outputs=1, inputs=2),
    "three paths": Case(arms=17, paths=3, tasks=3, outputs=1, inputs=6),
    "by row": Case(arms=9, outputs=10, inputs=4),
    "one path, one task": Case(arms=1, paths=1, tasks=1, outputs=1, inputs=2),
    "one number": Case(arms=16, paths=1, tasks=2, outputs=1, inputs=1),
    "seven paths, five tasks": Case(arms=4, paths=7, tasks=5, outputs=1, inputs=12),
    "second norm": Case(arms=8, outputs=1, inputs=4, order=2),
    "second norm of many": Case(arms=3, paths=5, outputs=2, inputs=7, order=2),
    "blocks by chance": Case(arms=6, outputs=1, inputs=4, shifted=True),
    "another order": Case(arms=6, tasks=3, outputs=1, inputs=5, shown=(2, 0, 0, 1)),
    "mean loss": Case(arms=6, outputs=1, inputs=4, loss_share=0.1),
    "later": Case(arms=6, outputs=1, inputs=4, first=5_003, steps=201),
}
POPULATIONS = {
    "population": Case(arms=7, outputs=10, inputs=20),
    "one run": Case(arms=1, outputs=7, inputs=9),
    "one output": Case(arms=5, outputs=1, inputs=63),
    "one input": Case(arms=5, outputs=63, inputs=1),
    "seven paths, five tasks": Case(arms=3, paths=7, tasks=5, outputs=5, inputs=13),
    "one path": Case(arms=3, paths=1, tasks=1, outputs=9, inputs=7),
    "second norm": Case(arms=3, paths=3, outputs=9, inputs=7, order=2),
    "blocks by chance": Case(arms=3, outputs=9, inputs=7, shifted=True),
}
STREAMS = {
    "stream": Case(arms=50, outputs=10, inputs=20, batch=200, steps=300),
    "few degrees of freedom": Case(arms=5, outputs=3, inputs=8, batch=17),
    "one run": Case(arms=1, outputs=10, inputs=20, batch=201),
    "one output": Case(arms=11, outputs=1, inputs=21, batch=77),
    "one input": Case(arms=3, outputs=5, inputs=1, batch=10),
    "one number": Case(arms=3, paths=1, tasks=1, outputs=1, inputs=1, batch=13),
    "seven paths, five tasks": Case(arms=6, paths=7, tasks=5, outputs=4, inputs=11, batch=33),
    "many outputs": Case(arms=2, outputs=70, inputs=5, batch=64),
    "second norm": Case(arms=7, paths=3, outputs=6, inputs=6, batch=50, order=2),
    "blocks by chance": Case(arms=7, outputs=6, inputs=6, batch=50, shifted=True),
    "later": Case(arms=7, outputs=6, inputs=6, batch=50, first=1_001, steps=129),
}


def asked(case: Case) -> tuple[Any, ...]:
    """Networks, rules, blocks and tasks of all arms, in the type of the case."""
    rng = np.random.default_rng(0)
    one_by_one = [one(case, rng, arm % 5 < 4) for arm in range(case.arms)]  # some without bounds
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *one_by_one)


def one(case: Case, rng: np.random.Generator, bounded: bool) -> tuple[Any, ...]:
    shape, shown, seen = (case.outputs, case.inputs), case.shown or tuple(range(case.tasks)), case.first + case.steps
    unit = (case.outputs * case.inputs) ** -0.5  # students and teachers of norms about one, whatever their size
    students = tuple(0.5 * unit * rng.normal(size=(case.paths, *shape)))
    gates = tuple(np.asarray(gate) for gate in rng.uniform(-0.3, 0.8, case.paths))
    bounds = Regularizer(*(rng.uniform(0.0, 1.0, 2) * bounded), order=case.order)
    rule = JointDescent(rng.uniform(0.5, 2.0), rng.uniform(0.05, 0.5), bounds)
    maps = unit * rng.normal(size=(case.tasks, *shape))
    converted = as_type(case.dtype, (PathGated(students, gates), rule, Tasks(maps, case.loss_share)))
    blocks = Blocks.of(shown, STEP * rng.integers(1, 60), STEP).as_type(case.dtype)
    shifts = rng.integers(0, len(shown), seen).repeat(3)[:seen].astype(np.int8) if case.shifted else None
    return *converted[:2], replace(blocks, shifts=shifts), converted[2]


def by_jax(case: Case) -> tuple[Any, Any]:
    take = wide_steps(case.statistics, case.steps)
    first, step_size = jnp.asarray(case.first), jnp.asarray(STEP)
    network = jax.jit(jax.vmap(take, (0, 0, 0, 0, None, None, None)))(*asked(case), KEY, first, step_size)
    return network.students, network.gates


def descent(case: Case) -> tuple[PathGated, fast.Descent]:
    network, rule, blocks, tasks = jax.tree.map(np.asarray, asked(case))
    key = np.tile(np.asarray(jax.random.key_data(KEY)), (case.arms, 1))
    plan = Plan(rule, blocks.ends, blocks.order, key, np.full(case.arms, STEP), case.statistics, case.steps)
    return network, descent_of(plan, tasks.maps, np.arange(case.arms), tasks.loss_share, blocks.shifts)


def by_kernels(case: Case) -> tuple[Any, Any]:
    network, found = descent(case)
    return found.after(network.students, network.gates, case.first, case.steps)


def largest_gap(one: Any, other: Any) -> float:
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return max(float(np.max(np.abs(np.asarray(a) - np.asarray(b)))) for a, b in pairs)


@pytest.mark.mostly_full(4)
@pytest.mark.parametrize("name", CLOSURES)
def test_few_coordinates_agree_to_rounding(name):
    assert largest_gap(by_kernels(CLOSURES[name]), by_jax(CLOSURES[name])) < 1e-12


@pytest.mark.parametrize("name", POPULATIONS)
def test_many_coordinates_agree_to_rounding(name):
    assert largest_gap(by_kernels(POPULATIONS[name]), by_jax(POPULATIONS[name])) < 1e-12


@pytest.mark.mostly_full(3)
@pytest.mark.parametrize("name", STREAMS)
def test_streams_of_moments_agree_as_far_as_random_numbers_do(name):
    assert largest_gap(by_kernels(STREAMS[name]), by_jax(STREAMS[name])) < 1e-7


@pytest.mark.mostly_full
@pytest.mark.parametrize("kind", [CLOSURES["closure"], POPULATIONS["population"], STREAMS["stream"]])
def test_single_precision_agrees_to_its_rounding(kind):
    case = replace(kind, single=True)
    assert largest_gap(by_kernels(case), by_jax(case)) < 5e-5


def test_normal_numbers_are_those_of_jax():
    key = jax.random.key(11)
    high, low = (int(word) for word in jax.random.key_data(key))
    drawn = normals((high << 32) | low, 200_001)
    np.testing.assert_allclose(drawn, draws.normal(key, (200_001,), np.float32), rtol=1e-6, atol=2e-7)


ALL = [CLOSURES["by row"], CLOSURES["closure"], POPULATIONS["population"], STREAMS["stream"], STREAMS["second norm"]]


@pytest.mark.parametrize("case", ALL)
def test_steps_may_be_cut_anywhere(case):
    network, found = descent(case)
    parts, done = (network.students, network.gates), 0
    for steps in (1, 40, case.steps - 41):
        parts, done = found.after(*parts, done, steps), done + steps
    assert largest_gap(parts, by_kernels(case)) == 0.0


@pytest.mark.parametrize("case", ALL)
def test_a_network_does_the_same_alone(case):
    network, found = descent(case)
    together = by_kernels(case)
    for run in {0, case.arms // 2, case.arms - 1}:
        part = lambda leaf, run=run: leaf[run : run + 1]  # noqa: E731
        own = {name: part(getattr(found, name)) for name in PER_RUN if getattr(found, name) is not None}
        students, gates = jax.tree.map(part, (network.students, network.gates))
        alone = replace(found, **own).after(students, gates, 0, case.steps)
        assert largest_gap(alone, jax.tree.map(part, together)) == 0.0


PER_RUN = ("set_of", "weight_timescale", "gate_timescale", "nonnegativity", "normalization", "ends", "keys", "shifts")


def test_networks_with_other_keys_see_other_data():
    case = STREAMS["second norm"]
    network, found = descent(case)
    keys = found.keys.copy()
    keys[3:] += np.uint64(1)
    other = replace(found, keys=keys).after(network.students, network.gates, 0, case.steps)
    gaps = np.abs(other[0][0] - by_kernels(case)[0][0]).max(axis=(1, 2))
    assert np.all(gaps[:3] == 0) and np.all(gaps[3:] > 1e-3)
