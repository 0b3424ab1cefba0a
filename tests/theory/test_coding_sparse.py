"""Rectified networks: condensation of outliers."""

import jax
import numpy as np
import pytest

from festina.theory.coding import RECTIFIED, planted, sparse, sparse_onsets
from festina.worlds.classes import toy_classes

TOY = toy_classes()


@pytest.fixture(scope="module")
def cold():
    return sparse(TOY.counts, TOY.class_targets, 0.03, 0.01)


def relative(a, b):
    return np.linalg.norm(a - b) / np.linalg.norm(b)


@pytest.mark.full
def test_outliers_appear_at_their_temperatures():
    np.testing.assert_allclose(sparse_onsets(TOY.counts, TOY.class_targets, 0.01, 0.5), [0.77, 0.62, 0.62], atol=0.01)


def test_one_outlier_a_class_in_the_cold(cold):
    assert cold.diagnostics["gap"] < 1e-9
    assert cold.diagnostics["certificate"] == pytest.approx(1.0, abs=1e-6)
    assert sorted(cold.codes.subsets @ [4, 2, 1]) == [1, 2, 4]
    np.testing.assert_allclose(cold.mean, TOY.targets - 0.03 * cold.residual, atol=1e-9)


def test_no_direction_exceeds_the_bound(cold):
    angles = np.linspace(0, 2 * np.pi, 5000)
    basis = cold.bulk.task.basis
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1) @ basis.T
    heights = 0.01 * np.sum(np.maximum(directions @ cold.residual.T, 0.0) ** 2, axis=1)
    assert heights.max() == pytest.approx(1.0, abs=1e-5)
    own = cold.outliers / np.linalg.norm(cold.outliers, axis=1)[:, None]
    np.testing.assert_allclose(0.01 * np.sum(np.maximum(own @ cold.residual.T, 0.0) ** 2, axis=1), 1.0, atol=1e-8)


def test_two_opposite_classes_have_one_outlier_each_of_known_size():
    """By symmetry the bulk answers nothing, so that ā z̄ = ±1 as T → 0, and ā²/s = n z̄² makes ā² = √(s n)."""
    found = sparse((200, 200), np.array([[1.0], [-1.0]]), 1e-3, 1 / 400)
    np.testing.assert_allclose(np.sort(found.outliers[:, 0]), np.array([-1.0, 1.0]) * 0.5**0.25, rtol=0.01)


def test_above_the_onset_it_is_a_minimum_of_the_dual():
    hot = sparse(TOY.counts, TOY.class_targets, 50.0, 0.01)
    assert hot.codes is None and hot.diagnostics["certificate"] < 0.01
    np.testing.assert_allclose(
        hot.kernels[0], np.full((100, 100), 1 / (2 * np.pi)) + np.eye(100) * (0.5 - 0.5 / np.pi), atol=2e-3
    )


def test_planted_networks_have_the_kernel_and_the_answers_of_the_theory(cold):
    width = 6000
    (weights,), readout = planted(jax.random.key(0), cold, TOY.inputs, width, 0.01)
    activity, readouts = RECTIFIED.function(weights @ TOY.inputs.T), 0.1 * readout.T
    assert relative(activity.T @ activity / width, cold.kernels[0]) < 0.02
    assert relative(activity.T @ readouts / width, cold.mean) < 0.02
    assert (np.linalg.norm(readouts, axis=1) > 10.0).sum() == 3
    inputs = 0.1 * np.random.default_rng(0).normal(size=(5, 100)) + 0.1 * (TOY.labels == 0)
    predicted = cold.predict(inputs, np.sum(inputs**2, axis=1), width)
    assert relative(RECTIFIED.function(weights @ inputs.T).T @ readouts / width, predicted.mean) < 0.02
