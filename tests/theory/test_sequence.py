"""Sequences of tasks against integration, against one task at a time, and at a saddle."""

import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from festina.errors import ArgumentError, FestinaWarning
from festina.networks.balanced import balanced_weights
from festina.theory.balanced import balanced
from festina.theory.sequence import sequence

SWITCHES = np.array([1.3, 2.0, 4.5])
TIMES = np.array([0.0, 0.4, 1.3, 1.31, 1.9, 2.0, 3.3, 4.4999, 6.0])


@pytest.fixture(autouse=True, scope="module")
def quick_compilation():
    """Most of this file's time is XLA compiling small programs; unoptimised, they compute the same."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


def problem(sizes, imbalance, seed=0, tasks=4):
    first, second = balanced_weights(jax.random.key(seed), sizes, imbalance, 0.1)
    correlations = np.random.default_rng(seed).normal(size=(tasks, sizes[2], sizes[0])) / 1.5
    return first, second, correlations


def integrated(first, second, correlations, switches, times, variance=1.0, timescale=1.0):
    """W₂W₁ and both grams by DOP853, restarted at every switch."""
    weights, reached, found = np.concatenate([first.ravel(), second.ravel()]), 0.0, {}
    for correlation, end in zip(correlations, (*switches, max(times)), strict=True):

        def field(_, weights, correlation=correlation):
            w1, w2 = split(weights, first, second)
            error = correlation - variance * w2 @ w1
            return np.concatenate([(w2.T @ error).ravel(), (error @ w1.T).ravel()]) / timescale

        inside = [time for time in times if reached <= time <= end]
        stops = sorted({*inside, end})
        solved = solve_ivp(field, (reached, end), weights, "DOP853", stops, rtol=1e-12, atol=1e-14)
        found |= dict(zip(stops, solved.y.T, strict=True))
        weights, reached = solved.y[:, -1], end
    pairs = [split(found[time], first, second) for time in times]
    return {
        "map": np.stack([w2 @ w1 for w1, w2 in pairs]),
        "input_gram": np.stack([w1.T @ w1 for w1, _ in pairs]),
        "output_gram": np.stack([w2 @ w2.T for _, w2 in pairs]),
    }


def split(weights, first, second):
    return weights[: first.size].reshape(first.shape), weights[first.size :].reshape(second.shape)


def worst(found, reference):
    return max(np.max(np.abs(found[name] - values)) for name, values in reference.items())


@pytest.mark.full
@pytest.mark.parametrize(
    "sizes, imbalance",
    [((4, 3, 3), 0.0), ((4, 3, 3), -2.0), ((4, 3, 3), 1e-3), ((3, 3, 5), 1.0), ((2, 9, 3), 0.0)],
)
def test_agrees_with_integration(sizes, imbalance):
    weights = problem(sizes, imbalance)
    found, reference = sequence(*weights, SWITCHES)(TIMES), integrated(*weights, SWITCHES, TIMES)
    assert worst(found, reference) < 1e-9
    errors = weights[2][None] - reference["map"][:, None]
    np.testing.assert_allclose(found["losses"], 0.5 * np.sum(errors**2, axis=(2, 3)), atol=1e-9)
    shown = np.searchsorted(SWITCHES, TIMES, side="right")
    np.testing.assert_array_equal(found["loss"], found["losses"][np.arange(len(TIMES)), shown])


def test_input_variance_and_timescale():
    weights = problem((4, 3, 3), 0.5)
    found = sequence(*weights, SWITCHES, 1.7, input_variance=0.4)(TIMES)
    assert worst(found, integrated(*weights, SWITCHES, TIMES, variance=0.4, timescale=1.7)) < 1e-9


@pytest.mark.full
def test_one_task_is_the_balanced_solution():
    first, second, correlations = problem((4, 3, 3), 0.5, tasks=1)
    found, reference = sequence(first, second, correlations, [])(TIMES), balanced(first, second, correlations[0])(TIMES)
    assert worst(found, reference) < 1e-12


@pytest.mark.full
def test_any_order_shape_and_transformation():
    weights = problem((4, 3, 3), 0.5)
    solution = sequence(*weights, SWITCHES)
    reference = solution(TIMES)
    mixed = solution(TIMES[[5, 0, 5, 8]].reshape(2, 2))
    assert mixed["map"].shape == (2, 2, 3, 4) and mixed["losses"].shape == (2, 2, 4)
    np.testing.assert_allclose(mixed["map"].reshape(4, 3, 4), reference["map"][[5, 0, 5, 8]], atol=1e-12)
    assert solution(3.0)["loss"].shape == () and solution(np.zeros(0))["map"].shape == (0, 3, 4)
    assert isinstance(reference["map"], np.ndarray)
    delayed = jax.vmap(lambda switches: sequence(*weights, switches)(TIMES)["map"])(jnp.stack([SWITCHES, SWITCHES + 1]))
    np.testing.assert_allclose(delayed[0], reference["map"], atol=1e-12)
    np.testing.assert_allclose(delayed[1], sequence(*weights, SWITCHES + 1)(TIMES)["map"], atol=1e-12)
    with pytest.raises(ArgumentError, match="task by task"):
        jax.grad(lambda scale: sequence(scale * weights[0], *weights[1:], SWITCHES)(2.5)["loss"])(1.0)


def test_many_tasks_are_compiled_to_the_same(monkeypatch):
    solution = sequence(*problem((4, 3, 3), 0.5), SWITCHES)
    known = solution(TIMES)
    monkeypatch.setattr(sys.modules[sequence.__module__], "FEW", 0)
    for name, values in solution(TIMES).items():
        np.testing.assert_allclose(values, known[name], atol=1e-12)


def test_imbalance_is_conserved_through_all_tasks():
    first, second, correlations = problem((4, 3, 3), -0.7, tasks=30)
    end = sequence(first, second, correlations, np.arange(1.0, 30.0))(31.0)
    conserved = end["map"].T @ end["map"] - end["input_gram"] @ end["input_gram"]
    np.testing.assert_allclose(conserved, -0.7 * end["input_gram"], atol=1e-12)  # W₁ᵀ(W₂ᵀW₂ − W₁W₁ᵀ)W₁ = λ W₁ᵀW₁


def test_forgetting_ends_at_the_same_value_for_every_imbalance():
    for imbalance in (-1.0, 0.0, 1.0):
        first, second, correlations = problem((6, 3, 3), imbalance, seed=3, tasks=2)
        losses = sequence(first, second, correlations, [200.0])([200.0, 400.0])["losses"]
        distance = 0.5 * np.sum((correlations[0] - correlations[1]) ** 2)
        assert losses[1, 0] - losses[0, 0] == pytest.approx(distance, rel=1e-9)


def test_a_reversal_of_aligned_balanced_weights_is_stuck_for_ever():
    """Rounding errors would leave the saddle at t ≈ 36/s after the switch."""
    rng = np.random.default_rng(1)
    left, right, turn = (np.linalg.qr(rng.normal(size=(4, 4)))[0] for _ in range(3))
    first, second = turn * 0.3 @ right.T, left * 0.3 @ turn.T
    task = left * np.array([2.0, 1.5, 1.2, 1.0]) @ right.T
    solution = sequence(first, second, np.stack([task, -task]), [30.0])
    found = solution(np.array([29.9, 60.0, 200.0, 1e4]))
    np.testing.assert_allclose(found["map"][0], task, atol=1e-12)
    np.testing.assert_allclose(found["map"][2:], 0.0, atol=1e-12)
    np.testing.assert_allclose(found["loss"][2:], 0.5 * np.sum(task**2), rtol=1e-12)


def test_refusals():
    first, second, correlations = problem((4, 3, 3), 0.5)
    with pytest.raises(ArgumentError, match="`switches` must have 3 entries"):
        sequence(first, second, correlations, SWITCHES[:2])
    with pytest.raises(ArgumentError, match="`switches` must be finite, not negative and not fall"):
        sequence(first, second, correlations, SWITCHES[::-1])
    with pytest.raises(ArgumentError, match=r"`correlations` must have shape \(tasks, outputs, inputs\)"):
        sequence(first, second, correlations[0], [])
    with pytest.raises(ArgumentError, match=r"`correlations` must have shape .* = \(4, 3, 4\), but is \(4, 4, 3\)"):
        sequence(first, second, correlations.swapaxes(1, 2), SWITCHES)
    for name in ("timescale", "input_variance"):
        with pytest.raises(ArgumentError, match=f"`{name}` must be one number"):
            wrong: dict[str, Any] = {name: np.ones(2)}
            sequence(first, second, correlations, SWITCHES, **wrong)
    with pytest.raises(ArgumentError, match="`second` must be balanced"):
        sequence(first, second + 0.1, correlations, SWITCHES)
    with pytest.raises(ArgumentError, match="`time` must be finite and not negative"):
        sequence(first, second, correlations, SWITCHES)(-1.0)
    square = balanced_weights(jax.random.key(0), (3, 3, 3), 0.0, 0.2)
    with pytest.warns(FestinaWarning, match="saddle"):
        sequence(*square, np.stack([np.eye(3), -np.eye(3)]), [1.0])
