"""Crossing times and stage indices."""

import numpy as np
import pytest
import xarray as xr

from festina.measures import crossing_time, growth_rate, overshoot, stage_index, zero_crossing, zero_crossings


def test_crossing_a_straight_line():
    time = np.linspace(0.0, 1.0, 11)
    np.testing.assert_allclose(crossing_time(time, np.stack([time, 2 * time]), 0.55), [0.55, 0.275])
    assert np.isnan(crossing_time(time, time, 2.0))
    assert crossing_time(time, time + 1.0, 0.5) == 0.0


@pytest.mark.parametrize("rate", [0.5, 3.0])
def test_stage_index_of_an_exponential_does_not_depend_on_its_rate(rate):
    time = np.linspace(0.0, 10.0, 20_001)
    ends = np.array([1.0, -3.0])
    index = stage_index(time, ends[:, None] * (1.0 - np.exp(-rate * time)), ends)
    np.testing.assert_allclose(index, (np.log(10.0) + np.log(0.9)) / -np.log(0.9), rtol=1e-4)


def test_zeros_are_found_where_values_change_their_sign():
    position = np.array([0.0, 1.0, 3.0, 4.0, 5.0])
    values = np.array([-1.0, 3.0, -1.0, 0.0, 2.0])
    np.testing.assert_allclose(zero_crossings(position, values), [0.25, 4.0])
    np.testing.assert_allclose(zero_crossings(position, values, rising=False), [2.5])
    assert zero_crossings(position, np.ones(5)).size == 0
    assert zero_crossings(np.zeros(1), np.ones(1)).size == 0


def test_of_several_zeros_the_first_or_the_nearest_to_a_place_is_taken():
    """Upwards at 0.25 and 4, downwards at 2.5; nowhere in a row that stays positive, or is unknown."""
    rows = [[-1.0, 3.0, -1.0, 0.0, 2.0], [1.0, 2.0, 1.0, 2.0, 1.0], [np.nan] * 5]
    values = xr.DataArray(rows, {"place": [0.0, 1.0, 3.0, 4.0, 5.0]}, ("run", "place"))
    np.testing.assert_allclose(zero_crossing(values, "place"), [0.25, np.nan, np.nan])
    np.testing.assert_allclose(zero_crossing(values.T, "place", near=3.0), [4.0, np.nan, np.nan])
    np.testing.assert_allclose(zero_crossing(values, "place", rising=False), [2.5, np.nan, np.nan])


def test_what_is_above_its_end_before_half_is_learned_does_not_overshoot():
    values = xr.DataArray([[0.9, 0.8, 0.6, 0.4], [0.1, 0.2, 0.3, 0.4]], dims=("run", "time"))
    learned = xr.DataArray([0.0, 0.8, 0.9, 1.8], dims="time")
    np.testing.assert_allclose(overshoot(values, learned), [0.2, 0.0])


def test_the_rate_of_growth_is_the_largest_eigenvalue_whatever_the_directions():
    """Differences that turn and mix among each other, seen from a basis that is not orthogonal."""
    rng = np.random.default_rng(0)
    basis, columns = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    time = np.arange(7.0) * 0.5
    apart = np.stack(
        [basis @ np.diag(np.exp(np.array([-1.0, 0.3, 0.1]) * t)) @ np.linalg.solve(basis, columns) for t in time]
    )
    np.testing.assert_allclose(growth_rate(time, apart, 2), 0.3, rtol=1e-9)
    apart[:3] = rng.normal(size=(3, 3, 3))  # before the middle
    np.testing.assert_allclose(growth_rate(time, apart, 3), 0.3, rtol=1e-9)
