"""How a race ended, in numbers that can be worked out by hand."""

import numpy as np
import pytest
import xarray as xr

from festina.errors import ArgumentError
from festina.measures.competition import coverage, dominance, drift, effective_number, ratio_change, winner_entropy


def test_dominance_and_effective_number_at_both_ends_and_between():
    strengths = np.array([[1.0, 1.0, 1.0], [0.0, 2.0, 0.0], [3.0, 1.0, 0.0]])
    np.testing.assert_allclose(dominance(strengths), [1 / 3, 1.0, 0.75])
    np.testing.assert_allclose(effective_number(strengths), [3.0, 1.0, 1.6])


def test_the_entropy_of_winners():
    assert winner_entropy(np.array([2, 2, 2, 2]), 3) == 0.0
    np.testing.assert_allclose(winner_entropy(np.array([0, 1, 2]), 3), 1.0)
    np.testing.assert_allclose(winner_entropy(np.array([0, 0, 1, 1]), 4), 0.5)


def test_coverage_reads_zero_where_views_share_equally():
    np.testing.assert_array_equal(coverage(np.array([[1 / 3, 1 / 3, 1 / 3], [0.6, 0.4, 0.0]])), [0.0, 1 / 3])


def test_what_is_no_strength_is_refused():
    with pytest.raises(ArgumentError, match="`strengths` must be zero or positive"):
        dominance(np.array([1.0, -0.1]))
    with pytest.raises(ArgumentError, match="`winners` must be numbers from 0 to 1"):
        winner_entropy(np.array([0, 2]), 2)


def test_pathways_that_are_not_there_do_not_count():
    strengths = np.array([[3.0, 1.0, np.nan], [1.0, 1.0, 2.0], [np.nan, np.nan, np.nan]])
    np.testing.assert_allclose(dominance(strengths), [0.75, 0.5, np.nan])
    np.testing.assert_allclose(effective_number(strengths), [1.6, 16 / 6, np.nan])


def test_ratios_are_kept_by_common_growth_and_by_nothing_else():
    """Both grow threefold; one grows e times more than the other; what happens on the way does not matter."""
    course = [[[1.0, 2.0], [9.0, 9.0], [3.0, 6.0]], [[1.0, 2.0], [1.0, 2.0], [1.0, 2.0 * np.e]]]
    change = ratio_change(xr.DataArray(course, dims=("run", "time", "path")), "path")
    np.testing.assert_allclose(change, [0.0, 1.0], atol=1e-15)


def test_drift_is_the_largest_change_relative_to_the_start():
    quantities = np.array([[[4.0, -1.0], [4.0, 1.0], [4.0, -1.0]], [[5.0, 0.0], [5.0, 0.0], [5.0, 0.0]]])
    np.testing.assert_allclose(drift(quantities), [0.5, 0.0])
