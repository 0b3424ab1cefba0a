"""Crossing times and stage indices."""

import numpy as np
import pytest

from festina.measures import crossing_time, stage_index


def test_crossing_a_straight_line():
    time = np.linspace(0.0, 1.0, 11)
    np.testing.assert_allclose(crossing_time(time, np.stack([time, 2 * time]), 0.55), [0.55, 0.275])
    assert np.isnan(crossing_time(time, time, 2.0))
    assert crossing_time(time, time + 1.0, 0.5) == 0.0


@pytest.mark.parametrize("rate", [0.5, 3.0])
def test_stage_index_of_an_exponential_does_not_depend_on_its_rate(rate):
    time = np.linspace(0.0, 10.0, 20_001)
    index = stage_index(time, 1.0 - np.exp(-rate * time), np.asarray(1.0))
    assert np.isclose(index, (np.log(10.0) + np.log(0.9)) / -np.log(0.9), rtol=1e-4)
