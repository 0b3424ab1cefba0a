"""Deep linear networks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from festina.errors import ArgumentError
from festina.networks import DeepLinear
from festina.precision import double


def test_the_map_is_the_network():
    network = DeepLinear.init(jax.random.key(0), (4, 6, 5, 3), 1.0)
    x = np.random.default_rng(0).normal(size=(10, 4))
    np.testing.assert_allclose(network(x), x @ network.map.T, atol=1e-13)
    assert network.sizes == (4, 6, 5, 3)
    assert network.depth == 3


def test_weights_are_float64_numpy_even_without_the_global_flag():
    with jax.enable_x64(False):
        network = DeepLinear.init(jax.random.key(0), (4, 3), 1.0)
    assert all(isinstance(weight, np.ndarray) and weight.dtype == np.float64 for weight in network.weights)


def test_random_weights_have_the_stated_scale():
    network = DeepLinear.init(jax.random.key(0), (400, 300), 0.5)
    assert np.isclose(network.weights[0].std(), 0.5 / 20, rtol=0.02)


@pytest.mark.parametrize("sizes", [(4, 4), (4, 6), (6, 4)])
def test_orthogonal_weights_are_orthogonal(sizes):
    weight = DeepLinear.orthogonal(jax.random.key(0), sizes, 2.0).weights[0]
    gram = weight @ weight.T if sizes[0] >= sizes[1] else weight.T @ weight
    np.testing.assert_allclose(gram, 4.0 * np.eye(len(gram)), atol=1e-12)


def test_aligned_weights_are_balanced_and_have_the_asked_map():
    left, _, right = np.linalg.svd(np.random.default_rng(0).normal(size=(5, 3)), full_matrices=False)
    network = DeepLinear.aligned(left, np.array([0.1, 0.2, 0.3]), right.T, (4, 6))
    np.testing.assert_allclose(network.map, left @ np.diag([0.1, 0.2, 0.3]) @ right, atol=1e-14)
    assert max(np.abs(balance).max() for balance in network.balances[:1]) < 1e-14


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: DeepLinear.init(jax.random.key(0), (4, 0, 2)), r"`sizes` must be positive widths, but is \(4, 0, 2\)"),
        (lambda: DeepLinear.init(jax.random.key(0), (4,)), "`sizes` must name at least an input and an output"),
        (lambda: DeepLinear((np.ones((2, 3)), np.ones((2, 3)))), "`weights` must fit together"),
        (lambda: DeepLinear.aligned(np.eye(3), np.ones(3), np.eye(3), (2,)), "`hidden` must be at least the 3 modes"),
    ],
)
def test_bad_networks_are_refused_in_one_sentence(make, message):
    with pytest.raises(ArgumentError, match=message):
        make()


@pytest.mark.full
@pytest.mark.parametrize("imbalance", [-0.5, 0.0, 0.5])
def test_balanced_weights_have_derivatives_by_their_imbalance(imbalance):
    """At zero, too, where |λ| has none."""

    def layers(imbalance):
        return DeepLinear.balanced(jax.random.key(0), (4, 2, 3), imbalance, 0.3).weights

    with double():
        slopes = jax.jvp(layers, (jnp.asarray(imbalance),), (jnp.asarray(1.0),))[1]
        high, low = layers(imbalance + 1e-5), layers(imbalance - 1e-5)
    for slope, above, below in zip(slopes, high, low, strict=True):
        np.testing.assert_allclose(slope, (above - below) / 2e-5, atol=1e-8)
