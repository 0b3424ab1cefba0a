"""Agreement of inferred with true tasks."""

import numpy as np
import pytest

from festina.errors import ArgumentError
from festina.measures import matched_labels, switching

TRUE = np.repeat([0, 1, 0, 1], 10)


def test_names_of_tasks_do_not_matter():
    found = switching(1 - TRUE, TRUE)
    assert found.accuracy == found.detected == 1.0 and found.delay == 0.0 and found.false_alarms == 0.0
    assert found.labels.tolist() == [1, 0]


def test_a_late_answer_is_a_delay():
    late = np.roll(TRUE, 3)
    late[:3] = 0
    found = switching(late, TRUE, within=5)
    assert found.false_alarms == 0.0
    assert found.delay == 3.0 and found.detected == 1.0
    np.testing.assert_allclose(found.accuracy, 1 - 9 / 40)
    assert switching(late, TRUE, within=2).detected == 0.0
    assert np.isnan(switching(late, TRUE, within=2).delay)


def test_flicker_is_a_false_alarm_and_no_answer_is_no_detection():
    flicker = TRUE.copy()
    flicker[[4, 5, 25]] = 1
    assert switching(flicker, TRUE).false_alarms == pytest.approx(4 / 3)
    deaf = switching(np.zeros(40, int), TRUE)
    assert deaf.accuracy == 0.5 and deaf.detected == 0.0  # right again when the first task returns, but not by noticing


def test_the_beginning_may_be_left_out():
    guess = TRUE.copy()
    guess[:10] = 1
    assert switching(guess, TRUE, after=10).accuracy == 1.0 > switching(guess, TRUE).accuracy


def test_a_path_too_many_stands_for_nothing():
    guess = TRUE.copy()
    guess[30:33] = 2
    assert matched_labels(guess, TRUE).tolist() == [0, 1, -1]
    np.testing.assert_allclose(switching(guess, TRUE).accuracy, 37 / 40)


def test_without_a_switch_there_is_nothing_to_detect():
    found = switching(np.zeros(5, int), np.zeros(5, int))
    assert found.accuracy == 1.0 and np.isnan(found.detected)
    assert "right in 100.0% of steps" in repr(found)


@pytest.mark.parametrize(("fields", "named"), [({"within": -1}, "within"), ({"after": 40}, "after")])
def test_bad_questions(fields, named):
    with pytest.raises(ArgumentError, match=named):
        switching(TRUE, TRUE, **fields)
    with pytest.raises(ArgumentError, match="true"):
        switching(TRUE, TRUE[:-1])
    with pytest.raises(ArgumentError, match="`true` must be numbered from 0"):
        switching(TRUE, TRUE - 1)
