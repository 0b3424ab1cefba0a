"""When something is recorded, and how many steps are taken in between."""

import numpy as np
import pytest

from festina.learning.schedule import recording_times, spread_recordings


def test_without_times_a_flow_is_recorded_at_its_start_and_two_hundred_times_more():
    np.testing.assert_allclose(recording_times(5.0, None), 0.025 * np.arange(201), rtol=1e-15)


@pytest.mark.parametrize(
    ("steps", "records", "made", "apart"),
    [
        (1000, 200, 200, 5),
        (7, 200, 7, 1),  # a recording at every step is all there can be
        (1010, 200, 101, 10),  # fewer recordings, equally far apart, up to half as many
        (1009, 200, 169, 6),  # a prime number: the last recording is beyond the last step
    ],
)
def test_recordings_are_spread_over_exactly_the_steps_unless_that_costs_more_than_half_of_them(
    steps, records, made, apart
):
    assert spread_recordings(steps, records) == (made, apart)
