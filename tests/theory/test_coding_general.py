"""Any kernel of the inputs: expectation propagation against direct integration and exact cases."""

import jax
import numpy as np
import pytest

from festina.theory.coding import LINEAR, UNITS, analog, expectation_propagation, implied, redundant
from festina.theory.coding.units import SIGMOIDAL
from festina.worlds.classes import orthogonal_classes, random_classes

KERNEL = np.array([[1.0, 0.5], [0.5, 1.0]])
FIELDS = np.array([[3.0, -2.0], [1.0, 4.0]])


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())
def test_two_examples_by_direct_integration(unit):
    axis = np.linspace(-9.0, 12.0, 421)
    z = np.stack([part.reshape(-1) for part in np.meshgrid(axis, axis, indexing="ij")], axis=1)
    phi = unit.function(z)
    found = expectation_propagation(KERNEL, FIELDS, unit)
    assert found.gap < 1e-8
    for k, field in enumerate(FIELDS):
        weight = np.exp(-0.5 * np.sum(z @ np.linalg.inv(KERNEL) * z, axis=1) + phi @ field)
        total = weight.sum()
        log_partition = np.log(total * 0.05**2 / (2 * np.pi * np.sqrt(np.linalg.det(KERNEL))))
        assert found.log_partition[k] == pytest.approx(log_partition, abs=5e-3)
        np.testing.assert_allclose(found.site.mean[k], weight @ phi / total, atol=5e-3)
        second = (weight[:, None] * phi).T @ phi / total
        np.testing.assert_allclose(found.second_moments[k], second, atol=2e-2)


def test_linear_networks_are_exact():
    world = random_classes(jax.random.key(3), (6, 6), 20, similarity=0.3)
    kernel = world.inputs @ world.inputs.T
    theory = analog(kernel, world.targets, 0.1, 0.1)
    root = np.linalg.cholesky(theory.readout_covariance)
    readouts = np.sqrt(2.0) * np.concatenate([root.T, -root.T])  # four neurons with this very covariance
    found = implied(kernel, theory.residual, readouts, LINEAR)
    np.testing.assert_allclose(found.answers, theory.mean, atol=1e-7)
    np.testing.assert_allclose(found.kernel, theory.kernels[0], atol=1e-7)
    cross = 0.5 * kernel[:3]
    expected = theory.predict(cross, np.ones(3), 100).mean
    np.testing.assert_allclose(found.answers_at(cross, np.ones(3)), expected, atol=1e-7)


def test_orthogonal_inputs_are_exact():
    world = orthogonal_classes((8, 4, 4))
    theory = redundant(world.counts, world.class_targets, 0.2, 0.1)
    readouts = theory.draw_readouts(jax.random.key(0), 30)
    found = implied(np.eye(16), theory.residual, readouts, SIGMOIDAL)
    site = SIGMOIDAL.site(readouts @ theory.residual.T)
    np.testing.assert_allclose(found.answers, site.mean.T @ readouts / 30, atol=1e-8)
    kernel = site.mean.T @ site.mean / 30 + np.diag(site.variance.mean(axis=0))
    np.testing.assert_allclose(found.kernel, kernel, atol=1e-8)


@pytest.mark.parametrize(("name", "seed"), [("sigmoidal", 0), ("rectified", 1)])
def test_neurons_for_which_propagation_goes_astray_are_known_by_their_gap(name, seed):
    """Strong fields of both signs on inputs that are nearly alike: a factor takes more precision than there is."""
    random = np.random.default_rng(seed)
    inputs = random.normal(size=(20, 2))
    inputs /= np.linalg.norm(inputs, axis=1)[:, None]
    fields = 10.0 * random.normal(size=(1, 20))
    with np.errstate(all="ignore"):
        found = expectation_propagation(inputs @ inputs.T, fields, UNITS[name])
    assert found.gap == np.inf and np.all(np.isfinite(found.site.mean))
