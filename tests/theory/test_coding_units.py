"""Cumulants, Gaussian averages and kernels of each nonlinearity, against brute-force integration."""

import jax
import numpy as np
import pytest

from festina.networks.bayesian import NONLINEARITIES
from festina.theory.coding import kernels, lazy
from festina.theory.coding._quadrature import by_quadrature
from festina.theory.coding.units import LINEAR, RECTIFIED, SIGMOIDAL, UNITS

GRID = np.linspace(-16.0, 16.0, 64001)
every_unit = pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())


def brute_force(unit, mean, variance, field):
    """log Z and the cumulants of N(z|m, v) e^{bφ(z)} by a fine sum."""
    z = mean + np.sqrt(variance) * GRID
    phi = unit.function(z)
    exponent = -0.5 * GRID**2 + field * phi
    weight = np.exp(exponent - exponent.max())
    log_partition = exponent.max() + np.log(weight.sum() * (GRID[1] - GRID[0]) / np.sqrt(2 * np.pi))
    weight = weight / weight.sum()
    average, first = weight @ phi, weight @ z
    products = (phi - average) ** 2, (z - first) ** 2, (phi - average) * (z - first)
    return np.array([log_partition, average, weight @ products[0], first, weight @ products[1], weight @ products[2]])


@pytest.mark.mostly_full
@every_unit
def test_cumulants_under_a_field(unit):
    cases = [(0.0, 1.0, b) for b in (-7.0, -0.3, 0.0, 2.02, 7.0)] + [(0.7, 0.3, 2.0), (-1.2, 2.0, -1.5), (-0.5, 0.2, 4)]
    mean, variance, field = (np.array(column, float) for column in zip(*cases, strict=True))
    expected = np.stack([brute_force(unit, *case) for case in cases], axis=1)
    np.testing.assert_allclose(unit.tilted(mean, variance, field), expected, atol=2e-6)
    np.testing.assert_allclose(np.stack(unit.site(field[:5])), expected[:, :5], atol=2e-6)


def test_the_table_of_the_sigmoid_reaches_as_far_as_fields_do():
    fields = np.array([-150.0, -31.7, 63.33, 190.0])
    expected = np.stack([brute_force(SIGMOIDAL, 0.0, 1.0, b) for b in fields], axis=1)
    np.testing.assert_allclose(np.stack(SIGMOIDAL.site(fields)), expected, atol=1e-8)


@pytest.mark.parametrize(("field", "curvature"), [(188.0, 0.0), (-188.0, 0.0), (-40.0, 300.0), (0.0, -300.0)])
def test_nodes_follow_a_narrow_preactivation_that_a_field_pulls_far(field, curvature):
    """By more than four of its widths, of which nodes at rest would reach nine: against a sum that is wide enough."""
    mean, variance = 0.2, 0.02
    found = by_quadrature(SIGMOIDAL.function, *(np.array(x) for x in (mean, variance, field, curvature)))
    z = mean + np.sqrt(variance) * np.linspace(-40.0, 40.0, 200001)
    phi = SIGMOIDAL.function(z)
    exponent = -((z - mean) ** 2) / (2 * variance) + field * phi + 0.5 * curvature * phi**2
    weight = np.exp(exponent - exponent.max())
    log_partition = exponent.max() + np.log(weight.sum() * (z[1] - z[0]) / np.sqrt(2 * np.pi * variance))
    average, first = np.average(phi, weights=weight), np.average(z, weights=weight)
    assert abs(first - mean) > 4 * np.sqrt(variance)
    apart = phi - average, z - first
    products = (np.average(one * other, weights=weight) for one, other in (apart[:1] * 2, apart[1:] * 2, apart))
    spread_of_phi, spread, covariance = products
    expected = log_partition, average, spread_of_phi, first, spread, covariance
    np.testing.assert_allclose([float(part) for part in found], expected, rtol=1e-11)


def test_a_rectified_preactivation_far_below_zero_keeps_its_digits():
    """⟨z₊⟩ and ⟨z₊²⟩ for z ~ N(m, v) satisfy ⟨z₊²⟩ = m⟨z₊⟩ + vΦ and ⟨z₊⟩ = mΦ + √v N; here by their series, d = −m."""
    distance = np.array([21.0, 30.0, 36.0])
    density = np.exp(-(distance**2) / 2) / np.sqrt(2 * np.pi)
    odd, signs = np.cumprod(np.arange(1.0, 20.0, 2.0)), (-1.0) ** np.arange(10)
    power = np.arange(1, 11)
    # ∫₀^∞ y^k e^{−y²/2 − dy} dy = Σ_j (−½)^j (k + 2j)!/(j! d^{k+2j+1}), of which (2j + 1)!/(2^j j!) = (2j + 1)!!
    first = density * ((signs * odd)[None] / distance[:, None] ** (2 * power)).sum(axis=1)
    second = density * ((signs * odd * 2 * power)[None] / distance[:, None] ** (2 * power + 1)).sum(axis=1)
    np.testing.assert_allclose(RECTIFIED.mean(-distance, np.ones(3)), first, rtol=1e-12)
    np.testing.assert_allclose(RECTIFIED.square(-distance, np.ones(3)), second, rtol=1e-12)
    certain = RECTIFIED.mean(np.array([-2.0, 3.0]), np.zeros(2)), RECTIFIED.square(np.array([-2.0, 3.0]), np.zeros(2))
    np.testing.assert_allclose(certain, [[0.0, 3.0], [0.0, 9.0]], rtol=1e-15)


@every_unit
def test_gaussian_averages(unit):
    for mean, variance in ((0.0, 1.0), (0.8, 0.4), (-1.3, 2.0)):
        _, average, spread, _, width, joint = brute_force(unit, mean, variance, 0.0)
        at = np.array(mean), np.array(variance)
        assert unit.mean(*at) == pytest.approx(average, abs=1e-7)
        assert unit.square(*at) == pytest.approx(spread + average**2, abs=1e-6)
        assert unit.slope(*at) == pytest.approx(joint / width, abs=1e-6)  # Stein's lemma


@every_unit
def test_lazy_kernels_are_averages_over_the_prior(unit):
    kernel = np.array([[1.0, 0.6, -0.3], [0.6, 1.5, 0.2], [-0.3, 0.2, 0.7]])
    nodes = np.linspace(-9.0, 9.0, 1201)
    weights = np.exp(-0.5 * nodes**2) / np.exp(-0.5 * nodes**2).sum()
    (layer,) = kernels(kernel, unit)
    for i, j in ((0, 0), (0, 1), (1, 2), (0, 2)):
        if i == j:
            expected = weights @ unit.function(np.sqrt(kernel[i, i]) * nodes) ** 2
        else:
            factor = np.linalg.cholesky(kernel[np.ix_([i, j], [i, j])])
            first = unit.function(factor[0, 0] * nodes)[:, None]
            second = unit.function(factor[1, 0] * nodes[:, None] + factor[1, 1] * nodes[None])
            expected = weights @ (first * second) @ weights
        assert layer[i, j] == pytest.approx(expected, abs=2e-5 if unit is RECTIFIED else 1e-9)


@every_unit
def test_units_are_the_nonlinearities_of_networks(unit):
    z = np.linspace(-2.0, 2.0, 9)
    np.testing.assert_allclose(NONLINEARITIES[unit.name](jax.numpy.asarray(z)), unit.function(z), atol=1e-12)


@every_unit
def test_draws_have_the_cumulants_of_their_density(unit):
    fields = np.repeat([[-4.0], [0.5], [6.0]], 20000, axis=1)
    drawn = unit.draw(jax.random.key(0), fields)
    exact = unit.site(fields[:, 0])
    np.testing.assert_allclose(drawn.mean(axis=1), exact.preactivation, atol=0.03)
    np.testing.assert_allclose(drawn.var(axis=1), exact.spread, atol=0.04)
    np.testing.assert_allclose(unit.function(drawn).mean(axis=1), exact.mean, atol=0.03)


def test_a_lazy_network_is_regression_with_its_kernel():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(9, 5)) / np.sqrt(5)
    targets, temperature = rng.normal(size=(6, 2)), 0.3
    prediction = lazy(points[:6] @ points[:6].T, targets, temperature, RECTIFIED, depth=2)
    answer = prediction.predict(points[6:] @ points[:6].T, np.sum(points[6:] ** 2, axis=1))
    # by definition: condition the joint Gaussian of all nine answers on six noisy ones
    joint = kernels(points @ points.T, RECTIFIED, depth=2)[-1]
    gain = np.linalg.solve(joint[:6, :6] + temperature * np.eye(6), joint[:6, 6:]).T
    np.testing.assert_allclose(answer.mean, gain @ targets, atol=1e-12)
    np.testing.assert_allclose(answer.variance[:, 0], np.diag(joint[6:, 6:] - gain @ joint[:6, 6:]), atol=1e-12)
    np.testing.assert_allclose(prediction.mean, targets - temperature * prediction.residual, atol=1e-12)
    assert lazy(np.eye(3), np.ones((3, 1)), 1.0, LINEAR).mean == pytest.approx(0.5)
