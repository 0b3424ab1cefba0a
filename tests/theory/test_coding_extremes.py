"""The theory of coding at the edges of what it is given: right, or refused with a sentence."""

from functools import cache

import jax
import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.theory.coding.prediction import check_common, check_unit
from festina.theory.coding.units import RECTIFIED, SIGMOIDAL

C = fs.theory.coding
INPUTS = np.random.default_rng(0).normal(size=(6, 8))
KERNEL = INPUTS @ INPUTS.T
TARGETS = np.random.default_rng(1).normal(size=(6, 2))
TWO, ONE, OPPOSITE = np.eye(2), np.ones((1, 1)), np.array([[1.0], [-1.0]])


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e6, 1e12])
def test_an_analog_code_knows_no_units(scale):
    """U/s depends on λs/T and y²/T alone."""
    one = C.analog(KERNEL, TARGETS, 0.1, 0.05)
    for other in (
        C.analog(scale * KERNEL, TARGETS, 0.1, 0.05 / scale).readout_covariance * scale,
        C.analog(scale * KERNEL, np.sqrt(scale) * TARGETS, scale * 0.1, 0.05).readout_covariance,
    ):
        np.testing.assert_allclose(other, one.readout_covariance, rtol=1e-9)


def test_an_analog_code_of_large_targets_has_the_size_of_its_limit():
    """U² → s S for strong targets, S = Yᵀ K_0⁻¹ Y."""
    found = C.analog(KERNEL, 1e9 * TARGETS, 0.1, 0.05)
    strength = 1e18 * TARGETS.T @ np.linalg.solve(KERNEL, TARGETS)
    np.testing.assert_allclose(found.readout_covariance @ found.readout_covariance, 0.05 * strength, rtol=1e-6)
    assert found.diagnostics["gap"] < 1e-12


def test_nothing_is_learned_from_inputs_that_are_zero():
    found = C.analog(0 * KERNEL, TARGETS, 0.1, 0.05)
    np.testing.assert_allclose(found.mean, 0.0, atol=0)
    np.testing.assert_allclose(found.readout_covariance, 0.05 * np.eye(2), atol=1e-15)


@pytest.mark.parametrize(("variance", "depth"), [(1e-8, 3), (1e8, 3), (0.5, 400), (1e60, 6), (1e-60, 6)])
def test_deep_networks_without_noise_at_any_scale(variance, depth):
    found = C.analog_at_zero(KERNEL, TARGETS, variance, depth)
    assert found.diagnostics["gap"] < 1e-13 and np.all(np.isfinite(found.kernels[-1]))


def test_single_precision_is_taken_for_what_it_is():
    single = np.float32
    found = C.analog(KERNEL.astype(single), TARGETS.astype(single), 0.1, 0.05)
    assert found.kernels[0].dtype == np.float64
    np.testing.assert_allclose(found.mean, C.analog(KERNEL, TARGETS, 0.1, 0.05).mean, rtol=1e-4)
    answers = found.predict(KERNEL.astype(single), np.diag(KERNEL).astype(single), 10).mean
    np.testing.assert_allclose(answers, found.mean, rtol=1e-4)


@pytest.mark.full
@pytest.mark.parametrize("field", [-1e6, -1e3, -201.0, 201.0, 1e3, 1e6])
def test_strong_fields_have_cumulants(field):
    """d²G/db² = d⟨φ⟩/db, by differences; for the sigmoid beyond its tables."""
    step = 1e-4 * abs(field)
    for unit in (SIGMOIDAL, RECTIFIED):
        low, here, high = (unit.site(np.array(field + sign * step)) for sign in (-1, 0, 1))
        assert here.variance > 0 and here.spread > 0 and here.covariance > 0
        shift = low.mean - high.mean if field > 0 else high.mean - low.mean
        assert abs(shift) / (2 * step) == pytest.approx(float(here.variance), rel=1e-5)
    off = SIGMOIDAL.site(np.array(-field))
    assert SIGMOIDAL.site(np.array(field)).preactivation == pytest.approx(-float(off.preactivation), rel=1e-12)


def test_a_sigmoid_is_summed_finely_where_it_is_steep():
    """A preactivation much wider than the step of the sigmoid is a coin that falls: ⟨φ⟩ = ½ and ⟨φ²⟩ nearly so."""
    site = SIGMOIDAL.tilted(np.array(0.0), np.array(2500.0), np.array(0.0))
    assert site.mean == pytest.approx(0.5, abs=1e-13)
    exact = float(SIGMOIDAL.square(np.array(0.0), np.array(2500.0))) - 0.25
    assert site.variance == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("size", [1e-9, 1e-3])
@pytest.mark.full
def test_small_targets_are_learned_in_proportion(size):
    ratio = [C.redundant((10,), one * ONE, 0.3, 0.1).mean[0, 0] / one for one in (size, 1e-6)]
    assert ratio[0] == pytest.approx(ratio[1], rel=1e-4)
    ratio = [C.sparse((10, 10), one * OPPOSITE, 0.3, 0.05).mean[0, 0] / one for one in (size, 1e-6)]
    assert ratio[0] == pytest.approx(ratio[1], rel=1e-3)


@pytest.mark.full
def test_outliers_in_one_direction_are_one():
    """Two of them leave open how they share what they do, and a search for a root could not go on from there."""
    found = C.sparse((19, 33), np.array([[1.16], [-1.34]]), 0.0655, 0.0231)
    assert len(found.outliers) == 2 and found.outliers[0, 0] * found.outliers[1, 0] < 0
    assert found.diagnostics["gap"] < 1e-9 and found.diagnostics["certificate"] == pytest.approx(1.0, abs=1e-9)


def test_neurons_that_cannot_be_told_from_the_bulk_are_no_outliers():
    """One class, for which no example is silent: the density is wide, and all of it is summed."""
    found = C.sparse((10,), ONE, 0.03, 0.1)
    assert len(found.outliers) == 0 and found.diagnostics["certificate"] < 1.0
    assert found.bulk.probability[[0, -1]].max() < 1e-12 * found.bulk.probability.max()


def test_a_hot_pair_of_layers_is_settled_at_once():
    (found,) = C.two_layers((4,), ONE, [1e9], 0.1)
    assert found.diagnostics["mismatch"] < 1e-3
    assert C.sparse_onsets((10, 10), OPPOSITE, 0.05, lowest=50.0) == []


@cache
def redundant():
    return C.redundant((10, 5), TWO, 0.3, 0.1)


CASES = {
    "`temperature` must be one number": lambda: check_common(np.array([0.1, 0.2]), 0.05),
    "`readout_variance` must be one number": lambda: check_common(0.3, np.ones(1)),
    "`temperature` must be larger": lambda: C.lazy(np.ones((6, 6)), TARGETS, 1e-300, C.RECTIFIED),
    "`unit` must be one of": lambda: check_unit("rectified"),
    "`inputs` must be a square kernel, but is .*\\(6,\\)": lambda: C.kernels(np.ones(6), C.SIGMOIDAL),
    "`inputs` must be a square kernel, but is .*\\(2, 6\\)": lambda: C.kernels(KERNEL[:2], C.SIGMOIDAL),
    "`inputs` must be a square kernel, but is .*\\(0, 0\\)": lambda: C.kernels(np.ones((0, 0)), C.SIGMOIDAL),
    "`inputs` must have no negative eigenvalue": lambda: C.kernels(-KERNEL, C.RECTIFIED),
    "`inputs` must be finite": lambda: C.kernels(np.nan * KERNEL, C.SIGMOIDAL),
    "`depth` must be a whole number": lambda: C.kernels(KERNEL, C.SIGMOIDAL, 0),
    "`diagonal` must be at least": lambda: C.analog(KERNEL, TARGETS, 0.1, 0.05).predict(KERNEL, np.ones(6), 5),
    "`diagonal` must be at least k": lambda: redundant().predict(np.ones((1, 15)), np.ones(1), 10),
    "`counts` must give every class": lambda: C.redundant((), np.zeros((0, 2)), 0.3, 0.1),
    "`targets` must be such that the equations": lambda: C.sparse((10, 10), 1e8 * OPPOSITE, 0.3, 0.05),
    "`targets` must be such that .* off by": lambda: C.sparse((5, 5), 1e3 * OPPOSITE, 0.3, 0.1),
    "`targets` must have a rank of at most 2": lambda: C.sparse_onsets((5, 5, 5), np.eye(3), 0.1),
    "`readouts` must be finite": lambda: C.frozen((10, 5), TWO, 0.3, 0.1, np.array([[np.nan, 0.0]]), np.ones(1)),
    "`readouts` must lie apart": lambda: C.frozen((10, 5), TWO, 0.3, 0.1, np.zeros((2, 2)), np.full(2, 0.5)),
    "`weights` must not be negative": lambda: C.many_examples(redundant(), np.nan * redundant().codes.weights),
    "`fields` must be finite": lambda: C.expectation_propagation(KERNEL, np.full((1, 6), np.nan), C.SIGMOIDAL),
    "`fields` must have a row": lambda: C.expectation_propagation(KERNEL, np.ones((0, 6)), C.SIGMOIDAL),
    "`inputs` must have a diagonal": lambda: C.expectation_propagation(1e9 * KERNEL, np.ones((1, 6)), C.SIGMOIDAL),
    "`readouts` must have a row": lambda: C.implied(KERNEL, TARGETS, np.ones((0, 2)), C.LINEAR),
    "`labels` must be the number": lambda: C.blocks(np.eye(4), np.array([0, 0, -1, -1])),
    "`temperatures` must be one after": lambda: C.two_layers((4, 4), OPPOSITE, [], 0.1),
    "`first` must have an entry": lambda: C.second_layer((4,), ONE, 1.0, 0.1, C.Blocks(np.eye(2), np.ones(2))),
    "`first` must be a kernel": lambda: C.second_layer((4,), ONE, 1.0, 0.1, C.Blocks(-np.eye(1), np.ones(1))),
    "`neurons` must be a whole number": lambda: C.planted(jax.random.key(0), redundant(), np.eye(15), 0, 0.1),
}


@pytest.mark.parametrize("message", CASES)
def test_what_has_no_answer_is_refused(message):
    with pytest.raises(ArgumentError, match=message):
        CASES[message]()
