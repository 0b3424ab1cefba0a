"""Wide networks with a prior: their formulas, their kernels under the prior, and coordinates that lose nothing."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import erf

from festina.errors import ArgumentError
from festina.networks.bayesian import (
    LAZY,
    LINEAR,
    NON_LAZY,
    RECTIFIED,
    SIGMOIDAL,
    Bayesian,
    orthonormal_coordinates,
    readout_variance,
)

RANDOM = np.random.default_rng(0)
INPUTS = RANDOM.normal(size=(6, 4))
INPUTS /= np.linalg.norm(INPUTS, axis=1, keepdims=True)


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("scaling", [NON_LAZY, LAZY])
def test_the_answer_is_that_of_the_definition(depth, scaling):
    width = 7
    network = Bayesian.init(jax.random.key(0), (4, *[width] * depth, 2), SIGMOIDAL, scaling, readout_variance=0.3)
    phi = lambda z: 0.5 * (1 + erf(np.pi**0.5 * z / 2))  # noqa: E731
    z = INPUTS @ network.weights[0].T
    for weight in network.weights[1:]:
        z = phi(z) @ weight.T / width**0.5
    answer = phi(z) @ (0.3**0.5 * network.readout).T / (width if scaling is NON_LAZY else width**0.5)
    np.testing.assert_allclose(network(INPUTS), answer, rtol=1e-12)
    targets = RANDOM.normal(size=(6, 2))
    energy = 0.5 * np.sum((targets - answer) ** 2) / 0.1 * (width if scaling is NON_LAZY else 1)
    np.testing.assert_allclose(network.energy(INPUTS, targets, 0.1), energy, rtol=1e-12)


@pytest.mark.parametrize(
    ("nonlinearity", "square"),
    [(LINEAR, 1.0), (RECTIFIED, 0.5), (SIGMOIDAL, 0.25 + np.arcsin(np.pi / (np.pi + 2)) / (2 * np.pi))],
)
def test_kernels_under_the_prior(nonlinearity, square):
    """⟨φ(z)²⟩ for z ~ N(0, 1): 1, ½, and ¼ + arcsin(π/(π + 2))/2π."""
    network = Bayesian.init(jax.random.key(1), (4, 20_000, 1), nonlinearity)
    (kernel,) = network.kernels(INPUTS)
    np.testing.assert_allclose(np.diag(kernel), square, atol=0.03)
    np.testing.assert_allclose(network.preactivations(INPUTS)[0].var(axis=1), 1.0, atol=0.05)


def test_weights_are_standard_normal_a_priori_and_can_be_replaced():
    network = Bayesian.init(jax.random.key(2), (50, 60, 40), RECTIFIED)
    for part in (*network.weights, network.readout):
        assert abs(part.mean()) < 0.1 and abs(part.std() - 1) < 0.05
    doubled = network.having(jax.tree.map(lambda part: 2 * part, network.whitened))
    inputs = jnp.asarray(RANDOM.normal(size=(3, 50)))
    np.testing.assert_allclose(doubled(inputs), 4 * network(inputs), rtol=1e-12)


def test_few_inputs_in_many_dimensions_need_few_coordinates():
    many = RANDOM.normal(size=(5, 300))
    shown, asked = orthonormal_coordinates(many[:3], many[3:])
    assert shown.shape == (3, 5) and asked.shape == (2, 5)
    both = np.concatenate([shown, asked])
    np.testing.assert_allclose(both @ both.T, many @ many.T, atol=1e-10)
    assert orthonormal_coordinates(INPUTS)[0] is INPUTS


def test_the_prior_of_the_readout_and_bad_sizes():
    assert readout_variance(2.0, 100, 2) == pytest.approx(0.4)
    with pytest.raises(ArgumentError, match="one width"):
        Bayesian.init(jax.random.key(0), (3, 4, 5, 1))
    with pytest.raises(ArgumentError, match="hidden widths"):
        Bayesian.init(jax.random.key(0), (3, 1))


@pytest.mark.parametrize("idle", [0, 2])
def test_unit_vectors_pick_weights_and_answers_are_those_of_the_product(idle):
    network = Bayesian.init(jax.random.key(2), (4 + idle, 7, 7, 2), SIGMOIDAL)
    inputs = np.eye(4, 4 + idle)
    np.testing.assert_allclose(network(inputs), network(jnp.asarray(inputs)), rtol=1e-14)
    np.testing.assert_allclose(network.kernels(inputs), network.kernels(jnp.asarray(inputs)), rtol=1e-14)
