"""Students and gates: what they compute, how they start, and what bounds them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from festina.errors import ArgumentError
from festina.networks import FullyConnected, NeuronGated, PathGated, Regularizer

KEY = jax.random.key(2)
NETWORKS = [
    PathGated.init(KEY, 3, 4, 6, 0.5),
    NeuronGated.init(KEY, 3, 4, 6, 0.5),
    FullyConnected.init(KEY, 5, 4, 6, 0.5),
]


def moved(network):
    """Gates of both signs, away from where they start."""
    leaves, structure = jax.tree.flatten(network.gates)
    rng = np.random.default_rng(0)
    return network.rebuilt(
        network.students, structure.unflatten([jnp.asarray(rng.normal(size=x.shape)) for x in leaves])
    )


def test_path_gates_weigh_whole_students():
    network = moved(NETWORKS[0])
    x = np.arange(6.0)
    expected = sum(float(c) * np.asarray(w) @ x for c, w in zip(network.gates, network.students, strict=True))
    np.testing.assert_allclose(network(x), expected, atol=1e-12)


def test_neuron_gates_weigh_rows():
    network = moved(NETWORKS[1])
    x = np.arange(6.0)
    pairs = zip(network.gates, network.students, strict=True)
    np.testing.assert_allclose(network(x), sum(np.asarray(c) * (np.asarray(w) @ x) for c, w in pairs), atol=1e-12)


def test_the_control_is_two_full_layers():
    network = NETWORKS[2]
    np.testing.assert_allclose(network.map, np.asarray(network.gates) @ np.asarray(network.students), atol=1e-14)


def test_initial_weights_have_their_spread_and_gates_are_half_open():
    network = PathGated.init(KEY, 2, 50, 400, 0.01)
    for student in network.students:
        np.testing.assert_allclose(np.std(student), 0.01 / 20, rtol=0.03)
    np.testing.assert_array_equal(network.gate_vector, [0.5, 0.5])
    layers = FullyConnected.init(KEY, 400, 50, 100, 0.01)
    np.testing.assert_allclose([np.std(layers.students), np.std(layers.gates)], [0.001, 0.0005], rtol=0.03)
    with pytest.raises(ArgumentError, match="sizes"):
        PathGated.init(KEY, 0, 3, 3)


@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: type(network).__name__)
@pytest.mark.parametrize("order", [1, 2])
def test_one_regulariser_for_all_kinds(network, order):
    """Written out over all gates; its slope is that of autodiff."""
    network = moved(network)
    bounds = Regularizer(0.3, 0.7, order=order)
    flat = np.concatenate([np.ravel(gate) for gate in jax.tree.leaves(network.gates)])
    by_hand = 0.3 * np.maximum(0, -flat).sum() + 0.7 * (np.linalg.norm(flat, order) - 1) ** 2
    np.testing.assert_allclose(bounds(network), by_hand, rtol=1e-12)
    for found, expected in zip(
        jax.tree.leaves(bounds.slope(network.gates)),
        jax.tree.leaves(jax.grad(bounds.of_gates)(network.gates)),
        strict=True,
    ):
        np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("order", [1, 2])
def test_slopes_of_many_networks_at_once(order):
    gates = jnp.asarray(np.random.default_rng(1).normal(size=(3, 5)))
    strengths = jnp.linspace(0.1, 0.5, 5)
    many = Regularizer(strengths, 2 * strengths, order=order).slope_by_column(gates)
    for k in range(5):
        alone = Regularizer(strengths[k], 2 * strengths[k], order=order).slope(gates[:, k])
        np.testing.assert_allclose(many[:, k], alone, atol=1e-13)


def test_costs_of_representation():
    network = NETWORKS[0]
    stacked = np.stack(network.students)
    columns = np.linalg.norm(stacked, axis=1)
    bounds = Regularizer(column_cost=0.4, square_cost=0.8)
    expected = 0.4 * columns.mean() + 0.8 / (2 * 3 * 6) * np.sum(stacked**2)
    np.testing.assert_allclose(bounds.of_students(network.students), expected, rtol=1e-12)
    assert bounds.costs_weights and not Regularizer(1.0, 1.0).costs_weights
    with pytest.raises(ArgumentError, match="order"):
        Regularizer(order=3)


def test_nothing_is_undefined_at_zero():
    gates = (jnp.zeros(()), jnp.zeros(()))
    assert np.isfinite(Regularizer(0.1, 0.2, order=2).slope(gates)).all()
    still = jax.grad(Regularizer(column_cost=1.0).of_students)((jnp.zeros((2, 3)),))
    np.testing.assert_array_equal(still[0], 0.0)
