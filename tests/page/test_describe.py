"""What the page is told of experiments, and where sliders go."""

import json

import pytest

import festina as fs
from festina.config import continuous, notes, structural
from festina.experiment import ExperimentConfig
from festina.lab.registry import all_experiments, find, names
from festina.page import thumbnails
from festina.page.describe import describe, gallery, paragraphs
from festina.page.questions import configured
from festina.page.sketch import sketched
from festina.page.sliders import as_control, bounds_of, slider
from festina.views import course
from narrowing import there


class Sample(ExperimentConfig):
    free: float = continuous(2.0, help="no bounds")
    share: float = continuous(0.25, gt=0, lt=1, help="between two ends")
    small: float = continuous(1e-3, gt=0, scale="log", help="a start")
    far: float = continuous(5.0, ge=1e-3, le=1e3, help="may go far")
    decades: int = structural(5, ge=1, le=1000, help="spans decades")
    zero: float = continuous(0.0, ge=0, help="off")
    units: int = structural(20, ge=1, le=50, help="how many")
    several: tuple[float, ...] = structural((1.0, 2.0), help="some")
    on: bool = structural(True, help="whether")


def slider_of(name):
    field = Sample.model_fields[name]
    return slider(field, field.default)


def test_sliders():
    assert slider_of("free") == {"from": -2.0, "to": 6.0, "scale": "lin"}
    share = there(slider_of("share"))
    assert 0 < share["from"] < 1e-3
    assert 0.99 < share["to"] < 1
    assert slider_of("small") == {"from": pytest.approx(1e-5), "to": pytest.approx(0.1), "scale": "log"}
    assert slider_of("far") == {"from": 1e-3, "to": 15.0, "scale": "lin"}
    assert slider_of("decades") == {"from": 1, "to": 500, "scale": "log"}
    assert slider_of("zero") == {"from": 0.0, "to": 1.0, "scale": "lin"}
    assert slider_of("units") == {"from": 1, "to": 50, "scale": "lin"}
    assert slider_of("several") is None
    assert slider_of("on") is None


@pytest.mark.parametrize("name", names())
def test_every_experiment_can_be_described_and_its_controls_are_taken_back(name):
    experiment = find(name)
    told = json.loads(json.dumps(describe(experiment), allow_nan=False))
    assert told["summary"] == experiment.summary()
    assert [field["name"] for field in told["fields"]] == list(experiment.Config.model_fields)
    quick = {field["name"]: field["quick"] for field in told["fields"]}
    assert configured(experiment, "full", quick) == experiment.configure("quick")
    for preset, declared in zip(told["presets"], experiment.presets, strict=True):
        expected = experiment.configure(declared.budget, **declared.fields)
        assert configured(experiment, preset["budget"], preset["fields"]) == expected


@pytest.mark.parametrize("name", names())
def test_every_slider_is_within_bounds_around_its_value(name):
    experiment = find(name)
    for field in describe(experiment)["fields"]:
        if field["slider"] is None:
            continue
        ends = field["slider"]
        low, high = bounds_of(experiment.Config.model_fields[field["name"]])
        assert ends["from"] < ends["to"]
        assert ends["from"] <= field["quick"] <= ends["to"]
        assert ends["scale"] == "lin" or ends["from"] > 0
        for end in (ends["from"], ends["to"]):
            assert low.value is None or (end > low.value if low.exclusive else end >= low.value)
            assert high.value is None or (end < high.value if high.exclusive else end <= high.value)
        if notes(experiment.Config.model_fields[field["name"]]).get("scale") == "log":
            assert ends["scale"] == "log"


def test_the_example_of_a_model_is_for_code_alone():
    assert ">>>" in (fs.models.Chain.__doc__ or "")
    told = " ".join(paragraphs(find("model/chain")))
    assert told.startswith("With input variance λ") and told.endswith("all that defines them.")


def test_values_of_controls():
    assert as_control((1, 2.5, float("inf"))) == "1,2.5,inf"
    assert as_control(((2, 1), (3,))) == "[[2, 1], [3]]"
    assert as_control(0.1) == 0.1


def test_the_gallery_has_families_sources_and_status():
    status = {"reproduced": 5, "budget": "quick"}
    told = gallery([find("linear/chain")], {"linear/chain": status})
    assert told["families"] == [
        {
            "name": "linear",
            "step": course.FAMILIES["linear"],
            "sources": [{"key": "saxe2013", "label": "Saxe et al. 2013"}, {"key": "lecture", "label": "Saxe, lecture"}],
        }
    ]
    (card,) = told["experiments"]
    assert card["status"] == status
    assert card["thumbnail"] == "/api/experiments/linear/chain/thumbnail.svg"
    assert gallery([find("linear/chain")], {})["experiments"][0]["status"] is None


def test_thumbnails_are_small_and_plain(monkeypatch):
    drawing = {
        "lines": [[0, [0.0, 0.3, 0.6, 1.0], [0.0, None, 0.5, 1.0]]],
        "dots": [[1, [0.5], [1.0]]],
        "cells": [[0.0, 1.0]],
    }
    monkeypatch.setattr(thumbnails, "stored", lambda: {"a/b": {"drawing": drawing}})
    drawn = thumbnails.thumbnail("a/b")
    assert drawn.count("M") == 3  # the frame, and a line in two pieces
    assert "L154.0 6.0" in drawn
    assert 'cx="80.0" cy="6.0"' in drawn
    assert drawn.count("<rect") == 2 and "#440154" in drawn and "#FDE725" in drawn
    assert "<path" in thumbnails.thumbnail("nobody/knows")


def test_a_sketch_is_the_end_of_a_scene_in_shares_of_the_picture():
    axes = {"x": {"log": True}, "y": {"log": False}}
    line = {"group": 2, "grid": 0, "y": [0.0, 5.0, None]}
    curves = {"kind": "curves", "grids": [[1.0, 10.0, 100.0]], "lines": [line]} | axes
    assert sketched(curves) == {"lines": [[2, [0.0, 0.5, 1.0], [0.0, 1.0, None]]]}
    panel = {"frames": [[[9.0], [9.0]], [[1.0], [3.0]]], "orders": [[0, 1], [1, 0]]}
    assert sketched({"kind": "raster", "panels": [panel], "value": {"low": 1.0, "high": 3.0}}) == {
        "cells": [[1.0], [0.0]]
    }
    cloud = {"group": 1, "frames": [{"x": [7.0], "y": [7.0]}, {"x": [0.0, 2.0], "y": [1.0, 3.0]}]}
    assert sketched({"kind": "plane", "paths": [], "clouds": [cloud]})["dots"] == [[1, [0.0, 1.0], [0.0, 1.0]]]
    bars = [{"group": 0, "frames": [1.0, 4.0]}, {"group": 0, "frames": [1.0, 2.0]}]
    assert sketched({"kind": "bars", "bars": bars})["lines"] == [
        [0, [0.0, 0.0], [0.0, 1.0]],
        [0, [1.0, 1.0], [0.0, 0.5]],
    ]
    nodes = [{"id": "a", "x": 0.0, "y": 0.0}, {"id": "b", "x": 1.0, "y": 1.0}]
    edge = {"from": "a", "to": "b", "group": 3}
    assert sketched({"kind": "graph", "nodes": nodes, "edges": [edge]})["lines"] == [[3, [0.0, 1.0], [0.0, 1.0]]]


def test_stored_thumbnails_are_normalised_and_few():
    assert set(thumbnails.stored()) == set(names())
    for name, entry in thumbnails.stored().items():
        assert entry["title"] and entry["drawing"]
        lines = [*entry["drawing"].get("lines", []), *entry["drawing"].get("dots", [])]
        shares = [value for _, xs, ys in lines for value in (*xs, *ys)]
        shares += [value for row in entry["drawing"].get("cells", []) for value in row]
        assert shares and all(value is None or 0 <= value <= 1 for value in shares)
        assert sum(sum(found.values()) for found in entry["status"]["counts"].values()) == len(find(name).claims)


def test_the_course_has_every_experiment_once():
    listed = [f"{family}/{name}" for family, names in course.ORDER.items() for name in names.split()]
    assert sorted(listed) == sorted(experiment.name for experiment in all_experiments())
    assert [course.place(name) for name in listed] == sorted(course.place(name) for name in listed)
