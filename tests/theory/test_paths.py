"""Path statistics and the sum over paths, against automatic differentiation on samples."""

from itertools import pairwise

import equinox as eqx
import jax
import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.networks import Gated, Graph
from festina.theory.paths import path_statistics

GRAPH = Graph.of(
    "x -> h1 -> h3 -> y",
    "x -> h2 -> h3",
    "z -> h2 -> y",
    "x -> y",
    "z -> h3 -> w",
    "h1 -> w",
    widths={"x": 3, "z": 2, "h1": 4, "h2": 5, "h3": 3, "y": 2, "w": 1},
)
GATED = ("h1", "h3", "z", "y", "x->h2", "h2->y", "z->h3")


@pytest.fixture(scope="module")
def world():
    random = np.random.default_rng(0)
    return fs.worlds.GatedDataset(
        {node: random.normal(size=(50, GRAPH.widths[node])) for node in GRAPH.inputs},
        {node: random.normal(size=(50, GRAPH.widths[node])) for node in GRAPH.outputs},
        {name: random.integers(0, 2, 50).astype(float) for name in GATED},
    )


@pytest.mark.full
def test_the_sum_over_paths_is_the_gradient(world):
    network = Gated.init(jax.random.key(0), GRAPH, scale=1.0)
    statistics = path_statistics(GRAPH, world.patterns)
    np.testing.assert_allclose(statistics.loss(network.weights), world.samples.loss(network), rtol=1e-13)
    weights, static = eqx.partition(network, eqx.is_inexact_array)
    slope = jax.grad(lambda w: world.samples.loss(eqx.combine(w, static)))(weights)
    downhill = {name: -np.asarray(part) for name, part in Gated(slope.blocks, GRAPH).weights.items()}
    for name, rate in statistics.descent(network.weights).items():
        np.testing.assert_allclose(rate, downhill[name], atol=1e-12)


def test_moments_of_a_path_are_averages_with_its_gate(world):
    statistics = path_statistics(GRAPH, world.patterns)
    p, j = statistics.names.index("z->h2->y"), statistics.names.index("x->h2->h3->y")
    gates = world.gates
    gate = gates["z"] * gates["h2->y"] * gates["y"]
    rival = gates["x->h2"] * gates["h3"] * gates["y"]
    expected = np.mean(gate[:, None, None] * world.targets["y"][:, :, None] * world.inputs["z"][:, None, :], axis=0)
    np.testing.assert_allclose(statistics.cross[p], expected, atol=1e-14)
    both = (gate * rival)[:, None, None] * world.inputs["x"][:, :, None] * world.inputs["z"][:, None, :]
    np.testing.assert_allclose(statistics.inputs[j, p], np.mean(both, axis=0), atol=1e-14)
    assert (statistics.names.index("z->h3->w"), p) not in statistics.inputs  # they end in different nodes


def test_the_floor_is_what_least_squares_leave(world):
    """With a map of its own for every path: its input, gated by all that it goes through, explains its output."""
    statistics = path_statistics(GRAPH, world.patterns)
    seen = {name: [] for name in GRAPH.outputs}
    for name in statistics.names:
        nodes = name.split("->")
        through = [*nodes, *(f"{one}->{other}" for one, other in pairwise(nodes))]
        gate = np.prod([world.gates.get(each, np.ones(50)) for each in through], axis=0)
        seen[nodes[-1]].append(gate[:, None] * world.inputs[nodes[0]])
    left = 0.0
    for output, parts in seen.items():
        table, target = np.concatenate(parts, axis=1), world.targets[output]
        left += 0.5 / 50 * np.sum((target - table @ np.linalg.lstsq(table, target, rcond=None)[0]) ** 2)
    assert statistics.floor == pytest.approx(left, rel=1e-9) and left > 0.01
    largest = 0.5 / 50 * sum(np.sum(world.targets[output] ** 2) for output in GRAPH.outputs)
    assert statistics.energy == pytest.approx(largest)


def test_gates_of_units_and_wrong_nodes_are_refused(world):
    units = fs.worlds.GatedDataset(world.inputs, world.targets, {"h1": np.ones((50, 4))})
    with pytest.raises(ArgumentError, match="one number a sample"):
        path_statistics(GRAPH, units.patterns)
    with pytest.raises(ArgumentError, match="nodes and widths"):
        path_statistics(
            Graph.of("x -> h1 -> y", widths={"x": 3, "h1": 4, "y": 2}),
            fs.worlds.GatedDataset(world.inputs, world.targets).patterns,
        )
