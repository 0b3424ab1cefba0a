"""Gratings of several contrasts: inputs, rewards and shares, and what is refused."""

import numpy as np
import pytest

from festina.errors import ArgumentError
from festina.worlds.gratings import inputs, rewards, shares, signed_contrasts


def test_contrasts_count_as_the_grading_says():
    for grading, weak in ((0.0, 1.0), (1.0, 0.5), (2.0, 0.25)):
        expected = [[1, 0, 1], [weak, 0, 1], [0, 0, 1], [0, weak, 1], [0, 1, 1]]
        np.testing.assert_allclose(inputs((0.25, 0.5), grading), expected, atol=1e-15)
    np.testing.assert_array_equal(inputs(), inputs((0.3,), 1.0))


def test_all_gratings_are_shown_equally_often_and_pay_on_their_side():
    chances, paid = shares(7, 0.4), rewards(7)
    assert chances.sum() == pytest.approx(1.0) and chances[3] == 0.4 and np.ptp(np.delete(chances, 3)) < 1e-15
    np.testing.assert_array_equal(paid[:, 1], np.sign(signed_contrasts((0.1, 0.2, 0.3))) / 2 + 0.5)
    np.testing.assert_array_equal(paid.sum(axis=1), 1.0)


@pytest.mark.parametrize("contrasts", [(), (0.0, 0.5), (0.5, 0.25), (0.5, 0.5), (np.nan,), (np.inf,)])
def test_contrasts_that_are_none_are_refused(contrasts):
    with pytest.raises(ArgumentError, match="`contrasts` must be positive, finite and rising"):
        signed_contrasts(contrasts)


def test_an_even_number_of_stimuli_is_refused():
    with pytest.raises(ArgumentError, match="`count` must be odd"):
        rewards(4)
