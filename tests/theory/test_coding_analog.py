"""Linear networks: the analog code at any temperature and, without noise, at any depth."""

import jax
import numpy as np
import pytest

from festina.errors import ArgumentError
from festina.theory.coding import analog, analog_at_zero, analog_onsets, planted
from festina.theory.coding.analog import Action
from festina.theory.coding.prediction import check_kernel
from festina.worlds.classes import random_classes, toy_classes

TOY = toy_classes()
RANDOM = random_classes(jax.random.key(1), (8, 6, 6), 30, similarity=0.4)
KERNEL = RANDOM.inputs @ RANDOM.inputs.T
VARIANCE = 1 / 20


def relative(a, b):
    return np.linalg.norm(a - b) / np.linalg.norm(b)


def test_the_slope_of_the_action_is_its_derivative_with_few_neurons_too():
    random, step = np.random.default_rng(0), 1e-5
    made = Action(random.uniform(0.2, 3.0, 6), random.normal(size=(6, 2)), 0.4, 0.3, neurons=5.0)
    covariance = np.array([[0.7, 0.2], [0.2, 0.5]])
    slope = made.action(covariance)[1]
    for along in (np.diag([1.0, 0.0]), np.diag([0.0, 1.0]), np.ones((2, 2))):
        up, down = (made.action(covariance + sign * step * along)[0] for sign in (1.0, -1.0))
        assert (up - down) / (2 * step) == pytest.approx(float(np.sum(slope * along)), rel=1e-7)


def test_onset_temperatures_of_the_toy_task():
    np.testing.assert_allclose(analog_onsets(np.eye(100), TOY.targets, 0.01), [0.75, 0.968], atol=5e-4)


def test_readouts_grow_below_the_onset_and_keep_their_prior_above():
    hot = analog(np.eye(100), TOY.targets, 30.0, 0.01).readout_covariance
    np.testing.assert_allclose(hot, 0.01 * np.eye(3), atol=2e-5)
    cold = np.linalg.eigvalsh(analog(np.eye(100), TOY.targets, 0.2, 0.01).readout_covariance)
    assert cold[0] == pytest.approx(0.01) and cold[1] > 0.4


@pytest.mark.parametrize("temperature", (0.02, 0.3, 2.0))
def test_equations_hold_at_any_temperature(temperature):
    """t = (Y − f)/T, f = K_0 t U, and Φ is stationary: U/s − 1 + (1/N)Σ λU/(λU+T) = Uᵗ tᵀK_0 t."""
    found = analog(KERNEL, RANDOM.targets, temperature, VARIANCE, neurons=50)
    covariance, residual = found.readout_covariance, found.residual
    np.testing.assert_allclose(temperature * residual, RANDOM.targets - found.mean, atol=1e-9)
    values = np.linalg.eigvalsh(KERNEL)
    used = sum(v * np.linalg.inv(v * covariance + temperature * np.eye(3)) for v in values) / 50
    slope = np.eye(3) / VARIANCE - np.linalg.inv(covariance) + used - residual.T @ KERNEL @ residual
    np.testing.assert_allclose(covariance @ slope @ covariance, 0.0, atol=1e-7)
    assert found.diagnostics["gap"] < 1e-8


def test_low_temperature_meets_the_solution_without_noise():
    cold = analog(KERNEL, RANDOM.targets, 1e-7, VARIANCE, neurons=200)
    limit = analog_at_zero(KERNEL, RANDOM.targets, VARIANCE, neurons=200)
    assert relative(cold.kernels[0], limit.kernels[0]) < 1e-4
    assert relative(cold.residual, limit.residual) < 1e-3
    overlaps, norms = RANDOM.inputs[:5] @ RANDOM.inputs.T * 0.9, np.ones(5)
    for one, other in zip(cold.predict(overlaps, norms, 200), limit.predict(overlaps, norms, 200), strict=True):
        assert relative(one, other) < 1e-3


def test_fluctuations_at_finite_temperature_are_those_of_a_gaussian_neuron():
    """The variance of answers by Wick's theorem: C = U⊗K_1 + (swapped answers), Var = [C_** − C_*t(T+C_tt)⁻¹C_t*]/N."""
    temperature, width = 0.3, 1e9
    found = analog(KERNEL, RANDOM.targets, temperature, VARIANCE)
    other = random_classes(jax.random.key(2), (2, 1), 30).inputs
    cross, norms = other @ RANDOM.inputs.T, np.ones(3)
    inputs = np.concatenate([RANDOM.inputs, other])
    covariance, residual = found.readout_covariance, found.residual
    shift = inputs @ RANDOM.inputs.T @ residual  # ⟨z⟩ = shift · a
    answers, kernel = shift @ covariance, inputs @ inputs.T + shift @ covariance @ shift.T
    joint = np.einsum("rs,mn->mrns", covariance, kernel) + np.einsum("ms,nr->mrns", answers, answers)
    joint = joint.reshape(69, 69)
    seen, unseen = slice(0, 60), slice(60, 69)
    held = np.linalg.solve(joint[seen, seen] + temperature * np.eye(60), joint[seen, unseen])
    expected = np.diag(joint[unseen, unseen] - joint[unseen, seen] @ held).reshape(3, 3)
    predicted = found.predict(cross, norms, int(width))
    np.testing.assert_allclose(predicted.variance * width, expected, rtol=1e-4)
    np.testing.assert_allclose(predicted.mean, answers[20:], atol=1e-8)


@pytest.mark.parametrize("depth", (1, 2, 3))
def test_deep_networks_without_noise(depth):
    variance, neurons = 1 / 20 ** (1 / depth), 100
    found = analog_at_zero(KERNEL, RANDOM.targets, variance, depth, neurons)
    strength = RANDOM.targets.T @ np.linalg.solve(KERNEL, RANDOM.targets)
    power = np.linalg.matrix_power
    covariance = found.readout_covariance
    left = power(covariance, depth + 1) - (1 - 20 / neurons) * variance * power(covariance, depth)
    np.testing.assert_allclose(left, variance**depth * strength, atol=1e-12)
    assert len(found.kernels) == depth
    last = found.kernels[-1] - (found.kernels[-2] if depth > 1 else KERNEL)
    np.testing.assert_allclose(last, RANDOM.targets @ np.linalg.solve(covariance, RANDOM.targets.T), atol=1e-9)
    np.testing.assert_allclose(found.predict(KERNEL, np.diag(KERNEL), neurons).mean, RANDOM.targets, atol=1e-9)


def test_planted_networks_have_the_kernel_and_the_answers_of_the_theory():
    found = analog(KERNEL, RANDOM.targets, 0.1, VARIANCE)
    (weights,), readout = planted(jax.random.key(0), found, RANDOM.inputs, 20000, VARIANCE)
    activity = weights @ RANDOM.inputs.T
    assert relative(activity.T @ activity / 20000, found.kernels[0]) < 0.03
    assert relative(activity.T @ (np.sqrt(VARIANCE) * readout.T) / 20000, found.mean) < 0.04
    outside = np.linalg.svd(RANDOM.inputs)[2][20:]
    assert (weights @ outside.T).var() == pytest.approx(1.0, abs=0.02)


def test_what_cannot_be_is_refused():
    with pytest.raises(ArgumentError, match="temperature"):
        analog(KERNEL, RANDOM.targets, 0.0, VARIANCE)
    with pytest.raises(ArgumentError, match="neurons"):
        analog_at_zero(KERNEL, RANDOM.targets, VARIANCE, neurons=10)
    with pytest.raises(ArgumentError, match="inputs"):
        analog_at_zero(np.ones((20, 20)), RANDOM.targets, VARIANCE)


def test_a_kernel_of_low_rank_is_solved():
    """Directions that inputs do not have are never learned: their onset is zero, and their residual Y/T."""
    inputs = np.random.default_rng(2).normal(size=(20, 1))
    targets = np.random.default_rng(3).normal(size=(20, 3))
    onsets = analog_onsets(inputs @ inputs.T, targets, VARIANCE)
    assert np.all(np.isfinite(onsets)) and np.sum(onsets > 1e-6) == 1
    found = analog(inputs @ inputs.T, targets, 0.1, VARIANCE)
    np.testing.assert_allclose(found.mean + 0.1 * found.residual, targets, atol=1e-12)
    off = np.eye(20) - inputs @ inputs.T / np.sum(inputs**2)
    np.testing.assert_allclose(off @ found.residual, off @ targets / 0.1, atol=1e-10)


CROOKED = KERNEL + np.triu(np.ones_like(KERNEL), 1)


@pytest.mark.parametrize(
    ("inputs", "targets", "message"),
    [
        (CROOKED, RANDOM.targets, "`inputs` must be a symmetric kernel"),
        (-KERNEL, RANDOM.targets, "`inputs` must have no negative eigenvalue"),
        (KERNEL * np.nan, RANDOM.targets, "`inputs` must be finite"),
        (KERNEL, np.inf * RANDOM.targets, "`targets` must be finite"),
        (KERNEL, 0 * RANDOM.targets, "`targets` must not be zero"),
    ],
)
def test_what_is_no_kernel_or_no_target_is_refused(inputs, targets, message):
    with pytest.raises(ArgumentError, match=message):
        analog(inputs, targets, 0.1, VARIANCE)
    if "zero" not in message:
        with pytest.raises(ArgumentError, match=message):
            analog_at_zero(inputs, targets, VARIANCE)


def test_numbers_that_are_none_are_refused():
    for temperature in (np.nan, np.inf, -1.0):
        with pytest.raises(ArgumentError, match="`temperature` must be positive and finite"):
            analog(KERNEL, RANDOM.targets, temperature, VARIANCE)
    with pytest.raises(ArgumentError, match="`neurons` must be at least 1"):
        analog(KERNEL, RANDOM.targets, 0.1, VARIANCE, 0)
    with pytest.raises(ArgumentError, match="`inputs` must be a square kernel"):
        check_kernel(KERNEL[:, :5], RANDOM.targets)
    for targets in (RANDOM.targets[:5], RANDOM.targets[:, 0]):
        with pytest.raises(ArgumentError, match="`targets` must have a row for each"):
            check_kernel(KERNEL, targets)
    single = KERNEL.astype(np.float32)
    np.testing.assert_allclose(check_kernel(single, RANDOM.targets)[0], KERNEL, rtol=1e-6)
