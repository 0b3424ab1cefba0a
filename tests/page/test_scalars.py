"""Numbers of whole runs, for maps, against closed forms; and where theory draws a line on a map."""

import numpy as np
import pytest
import xarray as xr

import festina as fs
from festina.lab.registry import find
from festina.page.maps import MapAxis, MapQuestion, _picture, boundary
from festina.page.questions import read_question
from festina.views.scalars import half_time, scalars_of, stage


def course(values, times):
    return xr.DataArray(np.asarray(values, float), dims="time", coords={"time": np.asarray(times, float)})


def test_half_time_and_stage_of_an_exponential():
    times = np.linspace(0.0, 40.0, 40_001)
    found = course(1 - np.exp(-times), times)
    assert float(half_time(found)) == pytest.approx(np.log(2), rel=1e-6)
    assert float(stage(found)) == pytest.approx(np.log(0.9 / 0.1) / -np.log(0.9), rel=1e-5)


def test_a_course_that_falls_has_a_half_time_too():
    times = np.linspace(0.0, 40.0, 40_001)
    assert float(half_time(course(np.exp(-2 * times), times))) == pytest.approx(np.log(2) / 2, rel=1e-6)


@pytest.mark.parametrize("values", [[1.0, 1.0, 1.0], [np.nan, 1.0, 2.0], [0.0, 1.0, np.nan]])
def test_what_never_moves_or_is_not_known_has_none(values):
    assert np.isnan(half_time(course(values, [0, 1, 2])))


def test_half_times_of_a_chain_are_those_of_its_closed_form():
    model = fs.models.Chain(depth=2, initial=1e-2, strength=3.0, input_variance=2.0)
    result = model.run()
    scalar = {each.name: each for each in scalars_of(result.experiment)}["half_time:product"]
    times = np.linspace(0, 100.0, 200_001)
    exact = model.theory()(times)["product"]
    expected = times[np.argmax(exact >= (exact[0] + exact[-1]) / 2)]
    assert float(scalar.of(result.data).squeeze()) == pytest.approx(expected, rel=0.01)


def test_arms_with_clocks_of_their_own_keep_them():
    values = xr.DataArray([[[0.0, 0.0], [1.0, 1.0]]], dims=("run", "time", "arm"))
    clock = xr.DataArray([[[0.0, 0.0], [2.0, 20.0]]], dims=("run", "time", "arm"))
    np.testing.assert_allclose(half_time(values.assign_coords(clock=clock)).values, [[1.0, 10.0]])


def asked(name, x, y, **fields):
    question = read_question({"experiment": name, "budget": "quick", "fields": fields})
    return MapQuestion(question, x, y, "loss", {}, 0)


def test_the_line_of_theory_runs_along_the_other_axis():
    across = MapAxis("imbalance", (-1.0, 0.0, 1.0))
    up = MapAxis("scale", (0.1, 0.2))
    assert boundary(asked("model/two-layer", across, up)) == [[[0.0, 0.1], [0.0, 0.2]]]
    assert boundary(asked("model/two-layer", up, across)) == [[[0.1, 0.0], [0.2, 0.0]]]
    assert boundary(asked("model/chain", MapAxis("initial", (0.1, 0.2)), MapAxis("strength", (1.0, 2.0)))) == []


@pytest.mark.full
def test_onsets_of_outliers_are_lines_on_a_map_of_temperature():
    amplitude = MapAxis("amplitude", (0.8, 1.0))
    temperature = MapAxis("temperature", (0.01, 1.0))
    lines = boundary(asked("model/wide-bayesian", amplitude, temperature, nonlinearity="rectified"))
    expected = [fs.models.WideBayesian(nonlinearity="rectified", amplitude=a).onsets() for a in (0.8, 1.0)]
    np.testing.assert_allclose([[y for _, y in line] for line in lines], np.transpose(expected))
    assert boundary(asked("model/wide-bayesian", amplitude, temperature, nonlinearity="linear")) == []


def test_a_finer_level_has_no_holes():
    question = asked(
        "model/chain", MapAxis("initial", tuple(np.linspace(0.1, 0.9, 9))), MapAxis("strength", (1.0, 2.0))
    )
    known, done = np.full((2, 9), np.nan), np.zeros((2, 9), bool)
    known[:, ::2], done[:, ::2] = [[0, 2, 4, 6, 8]], True
    known[0, 1], done[0, 1] = 1.0, True
    picture = _picture(question, known, done, 1, np.arange(9), np.arange(2))
    assert picture["values"] == [[0, 1, 2, 2, 4, 4, 6, 6, 8], [0, 0, 2, 2, 4, 4, 6, 6, 8]]


def test_every_scalar_has_a_name_of_its_own():
    for name in ("model/chain", "linear/chain", "model/task-abstraction"):
        names = [scalar.name for scalar in scalars_of(find(name))]
        assert len(set(names)) == len(names) > 0
