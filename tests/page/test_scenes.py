"""Scenes from small data made by hand: every kind of view, groups and frames, what is thinned and what is not known."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import xarray as xr
from scene_checks import sound

from festina.page.scenes import kind_of, scenes
from festina.page.scenes.bars import MOST_BARS
from festina.page.scenes.common import MOST_FRAMES, MOST_GROUPS, MOST_NUMBERS, MOST_RUNS
from festina.page.scenes.curves import MOST_LINES
from festina.page.scenes.heat import MOST_CELLS, MOST_UNITS
from festina.page.scenes.plane import LABELLED, MOST_PATHS, MOST_POINTS
from festina.page.series import MOST_TIMES
from festina.views import Bars, Curves, Edge, Graph, Heat, Mark, Node, Plane, Quantity, Raster, Surface

CONFIG = SimpleNamespace(goal=2.0)


def made(view, data, config=CONFIG) -> Any:
    return scenes([view], data, config)[0]


def dataset(dims, times=None, run=1, seed=0, name="x", **coords):
    """One variable of random numbers; `dims` are those besides run and time."""
    times = np.linspace(0.0, 1.0, 5) if times is None else times
    shape = (run, len(times), *dims.values())
    values = np.random.default_rng(seed).normal(size=shape)
    array = xr.DataArray(values, dims=("run", "time", *dims), attrs={"long_name": "a thing", "units": "m"})
    found = xr.Dataset({name: array}, coords={"time": ("time", times, {"units": "τ"})} | coords)
    return found.assign_coords(seed=("run", np.arange(run)), config_goal=("run", np.full(run, 2.0)))


def rows(scene):
    return {(scene["groups"][line["group"]], line["run"]): line["y"] for line in scene["lines"]}


def test_curves_one_for_each_arm_and_run():
    data = dataset({"depth": 2}, run=3, depth=[1.0, np.inf])
    scene = sound(made(Curves("Title", "x", by=("depth",), note="A note."), data))
    assert (scene["kind"], scene["title"], scene["note"]) == ("curves", "Title", "A note.")
    assert scene["groups"] == ["depth 1", "depth inf"]
    assert scene["times"] == []
    assert (scene["x"]["label"], scene["y"]["label"]) == ("time (τ)", "a thing (m)")
    assert len(scene["grids"]) == 1
    for (depth, run), row in rows(scene).items():
        np.testing.assert_array_equal(row, data["x"].values[run, :, scene["groups"].index(depth)])
    assert len(scene["lines"]) == 6
    assert (scene["y"]["low"], scene["y"]["high"]) == (None, None)  # the axis is as long as what is drawn, and a little


def test_many_runs_are_a_mean_with_its_spread():
    data = dataset({}, run=MOST_RUNS + 1)
    data["x"][0, 2] = np.nan
    (line,) = sound(made(Curves("", "x"), data))["lines"]
    values = data["x"].values
    np.testing.assert_allclose(line["y"], np.nanmean(values, axis=0))
    np.testing.assert_array_equal([line["low"], line["high"]], [np.nanmin(values, axis=0), np.nanmax(values, axis=0)])
    assert line["run"] is None


def test_what_is_left_are_further_lines_of_one_colour():
    data = dataset({"depth": 2, "mode": 3}, depth=[1, 2], mode=[1, 2, 3])
    scene = sound(made(Curves("", "x", by=("depth",)), data))
    assert [line["name"] for line in scene["lines"]] == ["mode 1", "mode 2", "mode 3"] * 2
    assert [line["group"] for line in scene["lines"]] == [0, 0, 0, 1, 1, 1]


def test_unknown_numbers_are_null_and_unknown_lines_are_left_out():
    data = dataset({"arm": 2}, arm=["begun", "waiting"])
    data["x"][0, 3:, 0] = np.nan
    data["x"][:, :, 1] = np.nan
    scene = sound(made(Curves("", "x", by=("arm",)), data))
    assert scene["groups"] == ["begun", "waiting"]  # colours are those of the theory
    assert [line["group"] for line in scene["lines"]] == [0]
    assert [value is None for value in scene["lines"][0]["y"]] == [False, False, False, True, True]
    assert made(Curves("", "x", by=("arm",)), data.where(False)) is None


def test_arms_with_clocks_of_their_own():
    data = dataset({"arm": 2}, times=np.arange(4.0), run=2, arm=["slow", "fast"])
    clock = np.arange(16.0).reshape(2, 4, 2)
    data = data.assign_coords(clock=(("run", "time", "arm"), clock, {"units": "steps"}))
    scene = sound(made(Curves("", "x", by=("arm",)), data))
    assert scene["x"]["label"] == "time (steps)"
    for line in scene["lines"]:
        np.testing.assert_array_equal(scene["grids"][line["grid"]], clock[line["run"], :, line["group"]])
    assert len(scene["grids"]) == 4
    plane = sound(made(Plane("", Quantity("x"), Quantity("x"), by=("arm",)), data))
    assert plane["times"] == clock[0, :, 0].tolist()


def test_runs_with_clocks_of_their_own():
    data = dataset({"arm": 2}, times=np.arange(3.0), run=2, arm=["a", "b"])
    clock = np.array([[0.0, 1.0, 2.0], [0.0, 10.0, 20.0]])
    scene = sound(made(Curves("", "x", by=("arm",)), data.assign_coords(clock=(("run", "time"), clock))))
    assert all(scene["grids"][line["grid"]] == clock[line["run"]].tolist() for line in scene["lines"])
    assert len(scene["grids"]) == 2


def test_along_another_dimension_curves_have_frames():
    data = dataset({"dose": 3, "arm": 2}, run=2, dose=[0.1, 1.0, 10.0], arm=["a", "b"])
    scene = sound(made(Curves("", "x", by=("arm",), along="dose", x="log"), data))
    assert scene["times"] == data["time"].values.tolist()
    assert scene["grids"] == [[0.1, 1.0, 10.0]]
    assert scene["x"] == {"label": "dose", "log": True}
    for line in scene["lines"]:
        np.testing.assert_array_equal(line["y"], data["x"].values[line["run"], :, :, line["group"]])
    many = sound(made(Curves("", "x", along="dose"), dataset({"dose": 3}, run=MOST_RUNS + 1)))
    assert len(many["lines"]) == 1
    without_time = data.isel(time=0, drop=True)
    assert sound(made(Curves("", "x", along="dose"), without_time))["times"] == []


def test_names_along_an_axis_become_places():
    scene = sound(made(Curves("", "x", along="arm"), dataset({"arm": 2}, arm=["a", "b"])))
    assert scene["grids"] == [[0.0, 1.0]]


def test_ends_marks_and_labels_of_curves():
    marks = [Mark("goal", y=2.0), Mark("when", x=0.5)]
    view = Curves("", Quantity("x", "share"), marks=lambda config: marks, y="log", low=1e-3, high=CONFIG.goal)
    scene = sound(made(view, dataset({})))
    assert scene["y"] == {"label": "share", "log": True, "low": 1e-3, "high": 2.0}
    assert [(mark["x"], mark["y"], mark["label"]) for mark in scene["marks"]] == [
        (None, 2.0, "goal"),
        (0.5, None, "when"),
    ]


def test_thinned_to_what_eyes_can_tell_apart():
    times = np.linspace(0.0, 1.0, 3 * MOST_TIMES)
    scene = sound(made(Curves("", "x"), dataset({}, times=times)))
    (grid,) = scene["grids"]
    assert MOST_TIMES - 2 <= len(grid) <= MOST_TIMES
    assert (grid[0], grid[-1]) == (0.0, 1.0)
    crowded = sound(made(Curves("", "x", by=("arm",)), dataset({"arm": 100, "mode": 100})))
    assert len(crowded["groups"]) == MOST_GROUPS
    assert len(crowded["lines"]) <= MOST_LINES
    heat = sound(made(Heat("", "x", rows="i", columns="j"), dataset({"i": 200, "j": 300})))
    assert (len(heat["y"]["values"]), len(heat["x"]["values"])) == (MOST_CELLS, MOST_CELLS)
    assert len(heat["times"]) <= max(2, MOST_NUMBERS // MOST_CELLS**2)
    bars = sound(made(Bars("", "x", along="i"), dataset({"i": 200})))
    assert len(bars["bars"]) == MOST_BARS
    often = sound(made(Bars("", "x", along="i"), dataset({"i": 2}, times=times)))
    assert len(often["times"]) == MOST_FRAMES
    paths = sound(made(Plane("", Quantity("x"), Quantity("x")), dataset({}, run=1000)))
    assert len(paths["paths"]) == MOST_PATHS
    cloud = sound(made(Plane("", Quantity("x"), Quantity("x"), points="i"), dataset({"i": 2 * MOST_POINTS})))
    assert len(cloud["clouds"][0]["frames"][0]["x"]) == MOST_POINTS


def test_heat_has_a_panel_for_each_arm_and_a_frame_for_each_recording():
    data = dataset({"arm": 2, "i": 3, "j": 4}, run=2, arm=["a", "b"], i=[1, 2, 3])
    scene = sound(made(Heat("", "x", rows="i", columns="j", panels=("arm",)), data))
    assert [panel["name"] for panel in scene["panels"]] == ["a", "b"]
    assert scene["y"] == {"label": "i", "values": [1, 2, 3]}
    assert scene["times"] == data["time"].values.tolist()
    for number, panel in enumerate(scene["panels"]):
        np.testing.assert_allclose(panel["frames"], data["x"].values[0, :, number], rtol=1e-3)
    data["x"][:, :, 0] = np.nan
    assert [panel["name"] for panel in made(Heat("", "x", rows="i", columns="j", panels=("arm",)), data)["panels"]] == [
        "b"
    ]
    assert made(Heat("", "x", rows="i", columns="j"), data.where(False)) is None
    assert made(Heat("", "x", rows="i", columns="elsewhere"), data) is None


def test_diverging_colours_are_even_on_both_sides():
    data = dataset({"i": 2, "j": 2})
    data["x"][:] = np.array([[-1.0, 0.5], [np.nan, 0.25]])
    scene = sound(made(Heat("", "x", rows="i", columns="j", diverging=True), data))
    assert (scene["value"]["low"], scene["value"]["high"]) == (-1.0, 1.0)
    assert scene["panels"][0]["frames"][0][1][0] is None
    given = made(Heat("", "x", rows="i", columns="j", low=0.0, high=3.0), data)
    assert (given["value"]["low"], given["value"]["high"]) == (0.0, 3.0)


def test_raster_puts_rows_in_the_order_of_what_they_prefer():
    data = dataset({"unit": 4, "class": 2})
    data["x"][:] = np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 3.0], [1.0, 0.0]])
    scene = sound(made(Raster("", "x", rows="unit", columns="class"), data))
    assert scene["kind"] == "raster"
    assert scene["panels"][0]["orders"][0] == [1, 3, 2, 0]
    assert scene["bands"] == []
    many = sound(made(Raster("", "x", rows="unit", columns="class"), dataset({"unit": 500, "class": 2})))
    assert len(many["y"]["values"]) == MOST_UNITS


def both_axes(run=1, **dims):
    data = dataset(dims, run=run)
    return data.assign(y=2.0 * data["x"])


def test_plane_has_a_path_for_each_run_and_a_surface_behind():
    data = both_axes(run=2, arm=2).assign_coords(arm=["a", "b"])
    side = np.array([0.0, 1.0])
    view = Plane(
        "",
        Quantity("x", "across"),
        Quantity("y", "up"),
        by=("arm",),
        surface=lambda config: Surface(side, side, np.array([[1.0, np.nan], [3.0, config.goal]]), "loss"),
        marks=lambda config: [Mark("saddle", 0.0, 0.0, "saddle")],
        equal=True,
    )
    scene = sound(made(view, data))
    assert scene["equal"]
    assert (scene["x"]["label"], scene["y"]["label"]) == ("across", "up")
    assert scene["surface"]["values"] == [[1.0, None], [3.0, 2.0]]
    assert scene["marks"] == [{"x": 0.0, "y": 0.0, "label": "saddle", "shape": "saddle"}]
    assert [(path["group"], path["run"]) for path in scene["paths"]] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    for path in scene["paths"]:
        expected = data["x"].values[path["run"], :, path["group"]]
        np.testing.assert_allclose(path["x"], expected, rtol=1e-3)
        np.testing.assert_allclose(path["y"], 2.0 * expected, rtol=1e-3)
    assert scene["clouds"] == []
    assert made(view, data.where(False)) is None


def test_paths_can_have_colours_of_their_own():
    data = both_axes(run=3)
    data["side"] = ("run", [1.0, 0.0, np.nan])
    view = Plane("", Quantity("x"), Quantity("y"), colour=Quantity("side"), colours=("left", "right"))
    scene = sound(made(view, data))
    assert scene["groups"] == ["left", "right"]
    assert [path["group"] for path in scene["paths"]] == [1, 0, 0]  # the first, where it is not known
    data["side"] = (("run", "time"), np.array([[0, 0, 0, 1, np.nan], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]]))
    assert [path["group"] for path in sound(made(view, data))["paths"]] == [1, 0, 1]  # the last that is known


def test_cloud_of_points_with_labels_or_with_colours():
    data = both_axes(run=2, item=3).assign_coords(item=["cat", "dog", "oak"])
    scene = sound(made(Plane("", Quantity("x"), Quantity("y"), points="item"), data))
    (cloud,) = scene["clouds"]
    assert cloud["labels"] == ["cat", "dog", "oak"]
    np.testing.assert_allclose([frame["x"] for frame in cloud["frames"]], data["x"].values[0], rtol=1e-3)
    assert (
        sound(made(Plane("", Quantity("x"), Quantity("y"), points="item"), both_axes(item=LABELLED + 1)))["clouds"][0][
            "labels"
        ]
        is None
    )
    data["kind"] = (("run", "item"), np.array([[0, 0, 1], [1, 1, 1]]))
    view = Plane("", Quantity("x"), Quantity("y"), points="item", colour=Quantity("kind"), colours=("animal", "tree"))
    animals, trees = sound(made(view, data))["clouds"]
    assert (len(animals["frames"][0]["x"]), len(trees["frames"][0]["x"])) == (2, 1)


def test_graph_follows_the_strengths_of_its_edges():
    data = dataset({"pathway": 2}, run=2, pathway=["a", "b"])
    nodes = [Node("in", "input", 0.0, 0.5), Node("out", "output", 1.0, 0.5)]
    edges = [Edge("in", "out", name, {"pathway": name}) for name in ("a", "b")]
    scene = sound(made(Graph("", "x", drawing=lambda config: (nodes, edges)), data))
    assert scene["groups"] == ["a", "b"]
    np.testing.assert_allclose([edge["values"] for edge in scene["edges"]], data["x"].mean("run").values.T)
    assert scene["value"]["low"] == 0.0


def test_bars_are_means_over_runs_with_their_spread():
    data = dataset({"code": 3, "arm": 2}, run=4, code=["x", "y", "z"], arm=["a", "b"])
    scene = sound(made(Bars("", "x", along="code", by=("arm",)), data))
    assert [(bar["name"], bar["group"]) for bar in scene["bars"]] == [(c, g) for g in (0, 1) for c in "xyz"]
    np.testing.assert_allclose(scene["bars"][4]["frames"], data["x"].values[:, :, 1, 1].mean(axis=0))
    np.testing.assert_allclose(scene["bars"][4]["errors"], data["x"].values[:, :, 1, 1].std(axis=0))
    assert sound(made(Bars("", "x", along="code"), data.isel(run=[0])))["bars"][0]["errors"] is None
    assert made(Bars("", "x", along="elsewhere"), data) is None


EVERY = [
    Curves("", "x", by=("arm",)),
    Heat("", "x", rows="arm", columns="i"),
    Raster("", "x", rows="arm", columns="i"),
    Plane("", Quantity("x"), Quantity("x"), by=("arm",)),
    Plane("", Quantity("x"), Quantity("x"), points="arm"),
    Graph("", "x", drawing=lambda config: ([Node("a", "", 0, 0), Node("b", "", 1, 1)], [Edge("a", "b", "path")])),
    Bars("", "x", along="arm"),
]


@pytest.mark.parametrize("view", EVERY, ids=kind_of)
def test_every_kind_of_one_recording_and_of_another_variable(view):
    data = dataset({"arm": 2, "i": 2}, arm=["a", "b"])
    scene = sound(made(view, data.isel(time=slice(0, 1))))
    assert scene["kind"] == kind_of(view)
    assert made(view, data.rename(x="other")) is None  # theory that has no such variable


@pytest.mark.parametrize("view", EVERY, ids=kind_of)
def test_every_kind_before_the_first_recording(view):
    data = dataset({"arm": 2, "i": 2}, arm=["a", "b"]).isel(time=slice(0, 0))
    assert made(view, data) is None


def test_a_quantity_is_an_entry_or_what_a_function_makes_of_the_data():
    data = dataset({"arm": 3}, arm=["a", "b", "c"])
    one = sound(made(Curves("", Quantity("x", where={"arm": "b", "absent": 1})), data))
    np.testing.assert_array_equal(one["lines"][0]["y"], data["x"].values[0, :, 1])
    some = sound(made(Curves("", Quantity("x", where={"arm": ("c", "a")}), by=("arm",)), data))
    assert some["groups"] == ["c", "a"]
    double = Quantity("x", "twice", of=lambda data, config: config.goal * data["x"].isel(run=0, arm=0))
    scene = sound(made(Curves("", double), data))
    np.testing.assert_array_equal(scene["lines"][0]["y"], 2.0 * data["x"].values[0, :, 0])
    assert scene["y"]["label"] == "twice"


def test_numbers_in_names_have_sensible_digits():
    data = dataset({"scale": 2}, scale=[0.00948683298050514, 1e-8])
    assert made(Curves("", "x", by=("scale",)), data)["groups"] == ["scale 0.009487", "scale 1e-08"]
