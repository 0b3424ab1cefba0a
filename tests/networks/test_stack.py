"""Stacks of linear layers: against autodiff, plain products, and what the ways to draw them promise."""

from functools import reduce

import jax
import numpy as np
import pytest

from festina.networks import Stack


def normal(seed, inputs, width, outputs, depth):
    rng = np.random.default_rng(seed)
    shapes = [(width, inputs), (depth - 2, width, width), (outputs, width)]
    return Stack(*(rng.normal(size=shape) for shape in shapes))


def layers(network):
    return [network.first, *network.middle, network.last]


@pytest.mark.parametrize("depth", [2, 3, 6])
def test_the_rate_is_that_of_descent_divided_by_the_depth(depth):
    network, target = normal(depth, 4, 5, 3, depth), np.random.default_rng(0).normal(size=(3, 4))

    def loss(layers):
        return ((target - reduce(lambda product, weights: weights @ product, layers)) ** 2).sum() / 2

    np.testing.assert_allclose(network.map, reduce(lambda product, weights: weights @ product, layers(network)))
    slopes = jax.grad(loss)(layers(network))
    for rate, slope in zip(layers(network.rate(target)), slopes, strict=True):
        np.testing.assert_allclose(rate, -slope / depth, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("sizes", [(3, 5, 2), (4, 4, 4)])
def test_orthogonal_layers_have_one_singular_value(sizes):
    for weights in layers(normal(1, *sizes, depth=4).orthogonal(0.7)):
        np.testing.assert_allclose(np.linalg.svd(weights)[1], 0.7)


def test_singular_values_of_gaussian_layers_have_the_mean_square_of_the_gain():
    """Of a layer that does not narrow, which has a singular value for every input."""
    for weights in layers(normal(2, 30, 200, 4, depth=4).gaussian(0.7))[:-1]:
        size = np.mean(np.linalg.svd(weights)[1] ** 2) * weights.shape[1] / weights.shape[0]
        assert size == pytest.approx(0.49, rel=0.05)


@pytest.mark.full
def test_aligned_layers_hand_each_mode_on():
    rng = np.random.default_rng(3)
    left, right = (np.linalg.qr(rng.normal(size=(size, size)))[0] for size in (2, 3))
    network = Stack.aligned(left, right, width=5, depth=6, gain=0.9)
    np.testing.assert_allclose(network.map, 0.9**6 * left @ right[:, :2].T, atol=1e-14)
    assert network.depth == 6
