"""Linear networks of any depth at any temperature: limits that are known, and a whole posterior."""

from typing import Any

import numpy as np
import pytest

from festina.errors import ArgumentError
from festina.theory.coding import analog, analog_at_zero, deep_analog
from festina.worlds.classes import toy_classes

TOY = toy_classes()
TARGETS, VARIANCE = np.asarray(TOY.targets)[::5], 1 / 20


@pytest.mark.parametrize("neurons", (np.inf, 50.0, 15.0))
@pytest.mark.parametrize("temperature", (1e-3, 0.3, 0.9, 20.0))
def test_one_layer_is_that_of_the_matrix_equations(temperature, neurons):
    found = deep_analog(TARGETS, temperature, VARIANCE, 1, neurons)
    known = analog(np.eye(20), TARGETS, temperature, VARIANCE, neurons)
    for name in ("residual", "mean", "readout_covariance"):
        np.testing.assert_allclose(getattr(found, name), getattr(known, name), atol=1e-12)
    np.testing.assert_allclose(found.kernels[0], known.kernels[0], atol=1e-12)


@pytest.mark.parametrize("depth", (1, 2, 4))
def test_the_cold_limit_is_that_of_all_layers(depth):
    found, known = deep_analog(TARGETS, 1e-11, 0.3, depth, 100), analog_at_zero(np.eye(20), TARGETS, 0.3, depth, 100)
    np.testing.assert_allclose(np.stack(found.kernels), np.stack(known.kernels), atol=1e-9)
    np.testing.assert_allclose(found.residual, known.residual, atol=1e-9)
    np.testing.assert_allclose(found.input_covariance, known.input_covariance, atol=1e-9)


@pytest.mark.parametrize("target", (0.5, 3.0))
def test_two_layers_have_the_mean_answer_of_their_whole_posterior(target):
    """One example: f is Gaussian with the variance r/N, r = s x y, where x and y are χ² variables over N."""
    neurons, temperature, variance = 2000, 0.3, 0.8
    logs = np.linspace(-0.5, 1.5, 801)
    prior = 0.5 * neurons * (logs - np.exp(logs))
    first = variance * np.exp(logs[:, None] + logs[None])
    weight = prior[:, None] + prior[None] - 0.5 * np.log(first + temperature)
    weight = weight - 0.5 * neurons * target**2 / (first + temperature)
    weight = np.exp(weight - weight.max())
    answer = np.sum(weight * target * first / (first + temperature)) / weight.sum()
    found = deep_analog(np.array([[target]]), temperature, variance, 2, neurons)
    np.testing.assert_allclose(found.mean.item(), answer, rtol=1e-3)


def test_what_two_layers_learn_sets_in_with_a_jump():
    """With one layer it grows from nothing; with two, half of it comes at one temperature if examples are many."""

    def largest_step(depth, heats):
        learned = [deep_analog(np.array([[100.0]]), heat, 1e4 ** (-1 / depth), depth).mean.item() for heat in heats]
        return np.abs(np.diff(learned)).max()

    assert largest_step(1, np.linspace(0.5, 2.0, 151)) < 3.0
    assert largest_step(2, np.linspace(30.0, 60.0, 151)) > 25.0


@pytest.mark.parametrize(("depth", "power"), ((1, 0.0), (1, 0.5), (2, 0.0), (2, 2.0)))
def test_the_law_of_many_examples(depth, power):
    """η²/(1 − η²) ∝ P^(−(1 − γL)/(L + 1)) in the cold."""
    odds = []
    for size in (5, 20):  # times 100 examples, each as a hundredth of its class
        targets = np.asarray(TOY.targets)[::25] * np.sqrt(25.0 * size)
        kernel = deep_analog(targets, 1e-9, (100.0 * size) ** (-power / depth), depth).kernels[-1]
        odds.append(np.linalg.eigvalsh(kernel - np.eye(len(kernel)))[-1] / size)
    exponent = np.log(odds[1] / odds[0]) / np.log(4.0)
    assert exponent == pytest.approx(-(1.0 - power) / (depth + 1.0), abs=0.06)


def test_extremes_stay_finite_and_bad_input_is_refused():
    for temperature, variance, neurons in ((1e-12, 1e-6, np.inf), (1e6, 1e6, 1), (1e-9, 1.0, 2), (1e3, 1e-9, 1e9)):
        found = deep_analog(TARGETS, temperature, variance, 3, neurons)
        assert all(np.all(np.isfinite(kernel)) for kernel in found.kernels), (temperature, variance, neurons)
        assert found.diagnostics["gap"] < 1e-8, (temperature, variance, neurons, found.diagnostics)
    good: dict[str, Any] = {"targets": TARGETS, "temperature": 1.0, "readout_variance": 1.0}
    for bad, name in (({"depth": 0}, "depth"), ({"temperature": 0.0}, "temperature"), ({"neurons": 0}, "neurons")):
        asked: dict[str, Any] = good | bad
        with pytest.raises(ArgumentError, match=name):
            deep_analog(**asked)
    with pytest.raises(ArgumentError, match="targets"):
        deep_analog(np.array([[np.nan]]), 1.0, 1.0)
    with pytest.raises(ArgumentError, match="`targets` must have a row for each example"):
        deep_analog(np.ones((0, 2)), 1.0, 1.0)
