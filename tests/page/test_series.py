"""Lines of charts: thinning, names, bands, and no NaN in JSON."""

import json

import numpy as np
import pytest

from festina.page.events import Events, as_text
from festina.page.series import MOST_LINES, Recording, chosen, lines, numbers, telling


def recording(values, dims=(), coordinates=None):
    return Recording("loss", "loss L", "V", np.asarray(values, float), dims, coordinates or {})


@pytest.mark.parametrize("count", [1, 2, 299, 300, 301, 5000, 100_000])
def test_chosen_are_few_even_and_have_both_ends(count):
    found = chosen(count, 300)
    assert len(found) == min(count, 300)
    assert found[0] == 0
    assert found[-1] == count - 1
    assert np.diff(found).max(initial=1) <= -(-count // 299)


def test_peaks_are_kept_where_records_are_left_out():
    values = np.zeros((2, 5000))
    values[0, 137::250] = 1.0  # even records would meet but some of them
    values[1, 4321] = np.nan
    found = telling(values, 300)
    assert len(found) <= 300
    assert (found[0], found[-1]) == (0, 4999)
    assert set(range(137, 5000, 250)) <= set(found.tolist())
    np.testing.assert_array_equal(telling(values[:, :200], 300), np.arange(200))


def test_what_is_not_finite_is_null():
    assert numbers(np.array([1.0, np.nan, -np.inf])) == [1.0, None, None]
    assert json.loads(as_text({"a": float("nan"), "b": np.float64(2.0)})) == {"a": None, "b": 2.0}


def test_runs_are_shown_one_by_one_up_to_five():
    found = lines([recording(np.arange(10).reshape(5, 2))], np.arange(2))
    assert [one["run"] for one in found] == [0, 1, 2, 3, 4]
    assert found[3]["values"] == [6.0, 7.0]
    assert found[0]["unit"] == "V"


def test_more_runs_are_a_mean_between_the_smallest_and_the_largest():
    values = np.array([[0.0, 1.0]] * 5 + [[6.0, np.nan]])
    (found,) = lines([recording(values)], np.arange(2))
    assert found["run"] is None
    assert found["values"] == [1.0, 1.0]
    assert found["low"] == [0.0, 1.0]
    assert found["high"] == [6.0, 1.0]


def test_many_entries_are_thinned_and_named():
    values = np.tile(np.arange(100.0), (1, 3, 1))
    found = lines([recording(values, ("mode",), {"mode": [k / 2 for k in range(100)]})], np.array([0, 2]))
    assert len(found) == MOST_LINES
    assert found[0]["line"] == "mode 0"
    assert found[-1]["line"] == "mode 49.5"
    assert found[-1]["values"] == [99.0, 99.0]


def test_runs_of_many_entries_become_a_band_before_lines_are_lost():
    found = lines([recording(np.ones((3, 2, 10)), ("mode",))], np.arange(2))
    assert len(found) == 10
    assert all(one["run"] is None for one in found)


def test_only_the_latest_picture_is_kept():
    events = Events()
    for k in range(3):
        events.publish("points", {"records": k})
    events.publish("done", {}, last=True)
    events.publish("points", {"records": 9})
    found, more = events.after(0)
    assert [event.name for event in found] == ["points", "done"]
    assert json.loads(found[0].data) == {"records": 2}
    assert not more
