"""Rectified networks: condensation of outliers."""

import jax
import numpy as np
import pytest
from scipy.optimize import brentq

from festina.theory.coding import RECTIFIED, class_task, planted, sparse, sparse_onsets
from festina.theory.coding._bulk import bulk_builder
from festina.theory.coding.sparse import _slope
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


@pytest.mark.full
def test_one_outlier_a_class_in_the_cold(cold):
    assert cold.diagnostics["gap"] < 1e-9
    assert cold.diagnostics["certificate"] == pytest.approx(1.0, abs=1e-6)
    assert sorted(cold.codes.subsets @ [4, 2, 1]) == [1, 2, 4]
    np.testing.assert_allclose(cold.mean, TOY.targets - 0.03 * cold.residual, atol=1e-9)


@pytest.mark.full
def test_no_direction_exceeds_the_bound(cold):
    angles = np.linspace(0, 2 * np.pi, 5000)
    basis = cold.bulk.task.basis
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1) @ basis.T
    heights = 0.01 * np.sum(np.maximum(directions @ cold.residual.T, 0.0) ** 2, axis=1)
    assert heights.max() == pytest.approx(1.0, abs=1e-5)
    own = cold.outliers / np.linalg.norm(cold.outliers, axis=1)[:, None]
    np.testing.assert_allclose(0.01 * np.sum(np.maximum(own @ cold.residual.T, 0.0) ** 2, axis=1), 1.0, atol=1e-8)


@pytest.mark.full
def test_two_opposite_classes_have_one_outlier_each_of_known_size():
    """By symmetry the bulk answers nothing, so that ā z̄ = ±1 as T → 0, and ā²/s = n z̄² makes ā² = √(s n)."""
    found = sparse((200, 200), np.array([[1.0], [-1.0]]), 1e-3, 1 / 400)
    np.testing.assert_allclose(np.sort(found.outliers[:, 0]), np.array([-1.0, 1.0]) * 0.5**0.25, rtol=0.01)


@pytest.mark.full
def test_a_tail_is_summed_on_one_side_while_neurons_condense_on_the_other():
    """Few examples are silent for positive readouts, many for negative ones; the bulk again, by a fine sum."""
    counts, targets, temperature, variance = np.array([2.0, 1.0, 11.0]), [1.776, -1.965, 1.158], 0.069, 0.09
    found = sparse(counts.astype(int), np.array(targets)[:, None], temperature, variance)
    residual, (outlier,) = found.residual[[0, 2, 3], 0], found.outliers[:, 0]
    assert outlier < 0 and residual[1] == pytest.approx(-1.0 / np.sqrt(variance), rel=1e-9)  # h = 1 on its side
    spacing = 0.6 * np.sqrt(variance)
    readouts = np.arange(found.bulk.readouts[0, 0] - spacing / 2, 150 * np.sqrt(variance), 1e-3)
    site = RECTIFIED.site(readouts[:, None] * residual)
    heights = site.log_partition @ counts - readouts**2 / (2 * variance)
    probability = np.exp(heights - heights.max()) / np.exp(heights - heights.max()).sum()
    answers = probability * readouts @ site.mean + np.maximum(residual * outlier, 0.0) * outlier
    # the sums differ where the negative tail is cut, at a thousandth of its height
    np.testing.assert_allclose(temperature * residual + answers, targets, atol=2e-5)


@pytest.mark.parametrize(("counts", "target", "temperature", "variance"), [(100, 1.0, 0.5, 0.3), (5, 30.0, 0.05, 0.1)])
def test_a_single_class_is_the_minimum_of_its_dual(counts, target, temperature, variance):
    """Many examples, for which Y/T is no start, and a tail that is 16 times as wide as the prior."""
    found = sparse((counts,), np.array([[target]]), temperature, variance)
    assert found.codes is None
    readouts = np.sqrt(variance) * np.arange(-15.0, 300.0, 0.01)

    def missing(residual):
        site = RECTIFIED.site(readouts * residual)
        heights = counts * site.log_partition - readouts**2 / (2 * variance)
        weights = np.exp(heights - heights.max())
        return temperature * residual - target + np.average(readouts * site.mean, weights=weights)

    exact = brentq(missing, 0.0, 0.9999 / np.sqrt(variance * counts), xtol=1e-15, rtol=1e-14)
    np.testing.assert_allclose(found.residual, exact, rtol=1e-9)


def test_above_the_onset_it_is_a_minimum_of_the_dual():
    hot = sparse(TOY.counts, TOY.class_targets, 50.0, 0.01)
    assert hot.codes is None and hot.diagnostics["certificate"] < 0.01
    np.testing.assert_allclose(
        hot.kernels[0], np.full((100, 100), 1 / (2 * np.pi)) + np.eye(100) * (0.5 - 0.5 / np.pi), atol=2e-3
    )


@pytest.mark.full
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


def test_slopes_of_the_equations_are_their_differences():
    task = class_task((8, 7, 7), TOY.class_targets, 0.5, 0.04, RECTIFIED)
    outliers, build = np.array([[0.9, 0.3], [-0.2, 0.7]]), bulk_builder(task)

    def mismatch(flat):
        residual, readouts = flat[:6].reshape(3, 2), flat[6:].reshape(2, 2)
        drive = np.maximum(residual @ readouts.T, 0.0)
        pull = task.readout_variance * (task.counts[:, None] * drive).T @ residual - readouts
        return np.concatenate([(build(residual).mismatch + drive @ readouts).ravel(), pull.ravel()])

    place = np.concatenate([0.6 * task.targets.ravel(), outliers.ravel()])
    steps = 1e-5 * np.eye(len(place))
    differences = np.stack([(mismatch(place + step) - mismatch(place - step)) / 2e-5 for step in steps], axis=1)
    np.testing.assert_allclose(_slope(build(0.6 * task.targets), outliers), differences, atol=1e-7)
