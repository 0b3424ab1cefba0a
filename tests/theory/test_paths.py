"""Path statistics and the sum over paths, against automatic differentiation on samples."""

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


def test_gates_of_units_and_wrong_nodes_are_refused(world):
    units = fs.worlds.GatedDataset(world.inputs, world.targets, {"h1": np.ones((50, 4))})
    with pytest.raises(ArgumentError, match="one number a sample"):
        path_statistics(GRAPH, units.patterns)
    with pytest.raises(ArgumentError, match="nodes and widths"):
        path_statistics(
            Graph.of("x -> h1 -> y", widths={"x": 3, "h1": 4, "y": 2}),
            fs.worlds.GatedDataset(world.inputs, world.targets).patterns,
        )
