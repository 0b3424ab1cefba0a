"""Losses of linear networks keep their digits however small they are, are never negative, and have the old slopes."""

from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import festina as fs
from festina.networks import DeepLinear, Gated, Graph
from festina.theory.paths import path_statistics
from festina.theory.reduction import reduction
from festina.worlds import Dataset, GatedDataset, Moments, Teacher

SIZES = [1e-1, 1e-3, 1e-6, 1e-12]
GRAIN = np.finfo(float).eps


def exact_loss(inputs, targets, mapping, share):
    """½ share Σ |y − W x|² of the numbers as they are, in rational arithmetic."""
    exact = [[[Fraction(value) for value in row] for row in np.asarray(part).tolist()] for part in (inputs, targets)]
    rows = [[Fraction(value) for value in row] for row in np.asarray(mapping).tolist()]
    total = Fraction(0)
    for x, y in zip(*exact, strict=True):
        left = [y[o] - sum(w * a for w, a in zip(row, x, strict=True)) for o, row in enumerate(rows)]
        total += sum(value * value for value in left)
    return float(total * share / 2)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("size", [*SIZES, 3e-13])
def test_a_teacher_is_approached_with_all_digits(rng, size):
    """Down to a loss of 1e-25 the loss is right to 1e-12 of itself, with noise and without."""
    goal = rng.normal(size=(3, 4))
    network = DeepLinear((goal + size * rng.normal(size=(3, 4)),))
    exact = exact_loss(np.eye(4), goal.T, network.map, 1)
    assert size > 1e-12 or exact < 1e-23
    assert abs(float(Teacher(goal).moments.loss(network)) / exact - 1.0) < 1e-12
    assert abs(float(Teacher(goal, 0.5).moments.loss(network)) / (exact + 0.375) - 1.0) < 1e-12


@pytest.mark.parametrize("size", SIZES)
def test_a_data_set_is_learned_with_the_digits_of_its_residual(rng, size):
    """The residual y − W x is known to some 1e-16 of y, and the loss to that share of the residual."""
    inputs, goal = rng.normal(size=(30, 4)), rng.normal(size=(3, 4))
    data = Dataset(inputs, inputs @ goal.T)
    network = DeepLinear((goal + size * rng.normal(size=(3, 4)),))
    exact = exact_loss(inputs, data.targets, network.map, Fraction(1, 30))
    assert abs(float(data.moments.loss(network)) / exact - 1.0) < 20 * GRAIN / size


def test_moments_alone_do_not_make_a_loss_negative(rng):
    """Without samples a loss is known to the grain of the moments; it ends in zero, singular inputs included."""
    inputs, goal = rng.normal(size=(30, 3)) @ rng.normal(size=(3, 5)), rng.normal(size=(2, 5))
    whole = Dataset(inputs, inputs @ goal.T).moments
    bare = Moments(whole.inputs, whole.cross, whole.outputs)
    for size in (1.0, 1e-3, 1e-6, 0.0):
        network = DeepLinear((goal + size * rng.normal(size=(2, 5)),))
        found, exact = float(bare.loss(network)), float(whole.loss(network))
        assert found >= 0.0
        assert abs(found - exact) < 1e-12 * size * np.trace(whole.outputs) + 1e-25
    noisy = Dataset(inputs, rng.normal(size=(30, 2))).moments
    bare = Moments(noisy.inputs, noisy.cross, noisy.outputs)
    np.testing.assert_allclose(bare.loss(network), noisy.loss(network), rtol=1e-13)


@pytest.mark.full
def test_slopes_are_those_of_the_moments(rng):
    """First and second derivatives by the network, and those by the moments themselves."""
    data = Dataset(rng.normal(size=(9, 4)), rng.normal(size=(9, 3)))

    def expanded(mapping, moments):
        fitted = jnp.sum(mapping * (mapping @ moments.inputs))
        return 0.5 * jnp.trace(moments.outputs) - jnp.sum(mapping * moments.cross) + 0.5 * fitted

    def loss(mapping, moments):
        return moments.loss(DeepLinear((mapping,)))

    with fs.double():
        mapping, moments = jnp.asarray(rng.normal(size=(3, 4))), jax.tree.map(jnp.asarray, data.moments)
        for derivative in (jax.grad, jax.hessian, lambda function: jax.grad(function, argnums=1)):
            found, known = (derivative(function)(mapping, moments) for function in (loss, expanded))
            for name in ("inputs", "cross", "outputs"):
                one, other = (getattr(slope, name, slope) for slope in (found, known))
                np.testing.assert_array_equal(one, other)


@pytest.mark.full
def test_a_run_ends_without_a_negative_loss(rng):
    """A loss that falls to rounding stays positive, and is that of the final weights."""
    inputs, goal = rng.normal(size=(20, 3)), rng.normal(size=(2, 3))
    for world in (Teacher(goal), Dataset(inputs, inputs @ goal.T)):
        run = fs.flow(DeepLinear.init(jax.random.key(0), (3, 4, 2), 0.5), world, until=60.0)
        assert run["loss"].values.min() >= 0.0
        assert run["loss"].values[-1] < 1e-18


@pytest.mark.full
def test_a_drawn_batch_has_the_loss_of_a_batch():
    """Mean and spread of the loss of batches seen by their moments alone, and never below zero."""
    teacher = Teacher(10.0 * np.random.default_rng(1).normal(size=(2, 3)), 0.7)
    network = DeepLinear((teacher.map,))
    keys = jax.random.split(jax.random.key(2), 4000)
    rules = (fs.worlds.Sampled(4), fs.worlds.Wishart(4))
    sampled, direct = (
        np.asarray(jax.jit(jax.vmap(lambda key, rule=rule: rule(teacher, network, key).loss(network)))(keys))
        for rule in rules
    )
    assert direct.min() >= 0.0
    assert abs(sampled.mean() - direct.mean()) < 5 * np.sqrt((sampled.var() + direct.var()) / len(keys))


GRAPH = Graph.of("x -> h -> y", "x -> g -> y, z", widths={"x": 3, "h": 4, "g": 4, "y": 2, "z": 3})


def gated_pair(rng, size):
    """A gated world that a network has learned but for ``size``."""
    gates = {"h": np.repeat([1.0, 0.0, 1.0], 10), "g": np.repeat([0.0, 1.0, 1.0], 10)}
    learned = Gated.init(jax.random.key(0), GRAPH, scale=1.0)
    inputs = {"x": rng.normal(size=(30, 3))}
    world = GatedDataset(inputs, learned(inputs, gates), gates)
    return world, jax.tree.map(lambda block: np.asarray(block) * (1.0 + size), learned)


@pytest.mark.parametrize("size", SIZES)
def test_gated_pictures_agree_however_little_is_left(rng, size):
    """Samples, condensed samples, moments of patterns and moments of paths."""
    world, network = gated_pair(rng, size)
    exact = float(world.samples.loss(network))
    weights = network.weights
    found = {
        "condensed": world.condensed.loss(network),
        "patterns": world.patterns.loss(network),
        "paths": path_statistics(GRAPH, world.patterns).loss(weights),
    }
    for name, value in found.items():
        assert abs(float(value) / exact - 1.0) < 100 * GRAIN / size, name
    assert world.condensed.constant >= 0.0 and world.condensed.constant < 1e-28


def test_what_no_network_explains_is_kept(rng):
    """Targets that are noise: all pictures have the loss of the samples, and no less than the floor of the paths."""
    world, network = gated_pair(rng, 0.3)
    world = GatedDataset(
        world.inputs, {name: rng.normal(size=part.shape) for name, part in world.targets.items()}, world.gates
    )
    statistics, exact = path_statistics(GRAPH, world.patterns), float(world.samples.loss(network))
    for loss in (world.condensed.loss(network), world.patterns.loss(network), statistics.loss(network.weights)):
        np.testing.assert_allclose(loss, exact, rtol=1e-13)
    best = 0.0
    for node, paths in (("y", (("h",), ("g",))), ("z", (("g",),))):
        table = np.concatenate([world.gates[path[0]][:, None] * world.inputs["x"] for path in paths], axis=1)
        left = world.targets[node] - table @ np.linalg.lstsq(table, world.targets[node], rcond=None)[0]
        best += 0.5 * np.sum(left**2) / 30
    np.testing.assert_allclose(statistics.floor, best, rtol=1e-13)


@pytest.mark.full
def test_a_reduced_race_ends_in_a_loss_that_is_right(rng):
    """Two paths that overlap: the loss of the reduction is that of the weights it stands for, all the way down."""
    graph = Graph.of("x -> h -> y", "z -> g -> y", widths={"x": 2, "z": 2, "h": 2, "g": 2, "y": 2})
    items, first = np.tile(np.eye(2), (3, 1)), np.repeat([1.0, 0.0, 1.0], 2)
    world = GatedDataset(
        {"x": items, "z": items},
        {"y": np.concatenate([items[:4], 2.0 * items[4:]]) * np.array([3.0, 1.0])},
        {"x": first, "z": np.repeat([0.0, 1.0, 1.0], 2)},
    )
    race = reduction(graph, world).starting(0.1)
    found = race(np.linspace(0.0, 60.0, 200))
    assert found["loss"].min() >= 0.0 and found["loss"][-1] < 1e-20
    for place in (0, 20, 40, 199):
        strengths = {f"{s}->{t}": edge for (s, t), edge in zip(graph.edges, found["edges"][place], strict=True)}
        network = Gated.decoupled(graph, strengths, {node: race.bases[node] for node in ("x", "z", "y")})
        exact = float(world.samples.loss(network))
        assert abs(found["loss"][place] - exact) < 1e-13 * np.sqrt(exact) + 1e-28


def test_the_closure_of_joint_descent_has_no_negative_loss(rng):
    """One task and one path: the loss falls to rounding, as that of the matrices themselves does."""
    students, teachers = 0.1 * rng.normal(size=(1, 3, 4)), rng.normal(size=(1, 3, 4))
    settings: dict[str, Any] = {"weight_timescale": 1.0, "gate_timescale": np.inf, "nonnegativity": 0.0}
    settings |= {"normalization": 0.0, "block_length": 1.0, "step_size": 0.01, "gates": 1.0}
    solution = fs.theory.closure(students, teachers, **settings)
    loss = solution(np.arange(0.0, 40.0))["loss"][:, 0]
    exact = 0.5 * np.sum((teachers - students) ** 2) * 0.99 ** (200 * np.arange(40.0))
    assert loss.min() >= 0.0
    np.testing.assert_allclose(loss[:10], exact[:10], rtol=1e-11)
    assert loss[-1] < 1e-26  # steps of a hundredth of the error end where they no longer change the last digit
