"""What scenes make of views that need more than a recorded variable: codes, branches of theory, maps, switches."""

import json
from typing import Any

import jax
import numpy as np
import pytest
import xarray as xr

import festina as fs
from festina.page.questions import configured
from festina.page.scenes import scenes
from festina.page.scenes.heat import ONLY_RECORDED, opened
from festina.views import Heat, Plane, Quantity, Raster, matters_of, views_of
from festina.views._entries import some
from festina.views._gated import early_and_late, total_alignment
from festina.views._neurons import branches, groups
from festina.views._parts import panel_of
from festina.views.coding_layers import sharpness
from narrowing import there


def scene(view, data, config=None) -> Any:
    (found,) = scenes((view,), data, config)
    if found is not None:
        json.dumps(found, allow_nan=False)
    return found


def recorded(values, *dims):
    return xr.Dataset({"it": (("run", "time", *dims), np.asarray(values, float)[None])}, {"time": [0.0, 1.0]})


def test_rows_of_a_raster_stand_in_the_order_of_their_code():
    rows = [[0, 1, 1], [1, 1, 0], [0.001, 0, 0], [5, 1, 0], [0, 0.4, 1], [2, 2, 0]]  # BC, AB, silent, A, C, AB
    found = scene(Raster("", "it", rows="unit", columns="place"), recorded([rows, rows], "unit", "place"))
    assert found["panels"][0]["orders"][0] == [5, 1, 3, 0, 4, 2]


def test_panels_of_which_nothing_is_known_are_left_out():
    view = Heat("", "it", rows="row", columns="column", panels=("kind",))
    values = np.full((2, 2, 2, 3), np.nan)
    assert scene(view, recorded(values, "kind", "row", "column")) is None
    values[:, 1] = 1.0
    assert [panel["name"] for panel in scene(view, recorded(values, "kind", "row", "column"))["panels"]] == ["kind 1"]


def test_a_quantity_that_cannot_be_made_yet_is_no_scene():
    nothing = Quantity("", of=lambda data, config: None)
    assert scene(Heat("", nothing, rows="row", columns="column"), xr.Dataset()) is None


def test_paths_are_those_of_all_entries_and_do_not_cut_corners():
    time = np.arange(1000)
    values = np.stack([time % 7, time + 0.5], axis=-1)[None, :, :]  # a saw tooth, and a line
    data = xr.Dataset({"it": (("run", "time", "which"), values)}, {"time": time, "which": ["saw", "line"]})
    found = scene(Plane("", Quantity("it"), Quantity("it"), by=("which",)), data)
    assert found["groups"] == ["saw", "line"]
    assert len(found["times"]) == 300
    saw, line = found["paths"]
    assert saw["x"] == (np.asarray(found["times"]) % 7).tolist()
    assert line["y"][:2] == [0.5, found["times"][1] + 0.5]


def test_colours_of_points_may_depend_on_the_configuration():
    data = recorded([[0.0, 1.0, 2.0]] * 2, "point")
    which = Quantity("it", of=lambda data, config: (data["it"] > 0.5).astype(int))
    view = Plane("", Quantity("it"), Quantity("it"), points="point", colour=which, colours=lambda config: config)
    found = scene(view, data, ("low", "high"))
    assert found["groups"] == ["low", "high"]
    assert [cloud["frames"][0]["x"] for cloud in found["clouds"]] == [[0.0], [1.0, 2.0]]


def test_conditions_on_fields_that_an_experiment_does_not_have_are_left_out():
    assert "slow_from" in matters_of(fs.lab.find("model/wide-bayesian"))
    assert "slow_from" not in matters_of(fs.lab.find("coding/sparse"))  # whose chains all start from the prior


@pytest.mark.parametrize("which", ["speed", "strength"])
def test_a_panel_is_that_of_the_result(which):
    experiment = fs.lab.find("abstraction/regimes")
    config = experiment.configure("quick")
    arms = experiment.arms.places(config)
    numbers = xr.DataArray(np.arange(float(len(arms)))[None], dims=("run", "arm"))
    cells = panel_of(numbers, config, experiment.name, which)
    for number, labels in arms.items():
        if labels["panel"] == which:
            own = {dim: label for dim, label in labels.items() if dim != "panel"}
            assert cells.sel(own).item() == number
    assert (np.diff(cells["block_length"]) > 0).all()


def test_some_takes_what_is_there_and_else_the_first():
    array = xr.DataArray([1.0, 2.0, 3.0], {"kind": ["a", "b", "c"]}, ("kind",))
    assert some(array, kind="b").item() == 2.0
    assert some(array, kind="z", other=3).item() == 1.0
    assert some(array, kind=("c", "z", "a")).values.tolist() == [3.0, 1.0]


@pytest.mark.full
@pytest.mark.parametrize("kind", ["linear", "sigmoidal", "rectified"])
def test_branches_are_those_of_the_theory(kind):
    network = fs.models.WideBayesian(nonlinearity=kind, counts=(20, 10, 10), temperature=0.1)
    places, group, names = there(branches(network))
    theory: Any = network.prediction(0.1)
    if kind == "linear":
        inside = np.linalg.inv(theory.readout_covariance[:2, :2])
        length = np.sqrt(np.einsum("ni,ij,nj->n", places, inside, places))
        np.testing.assert_allclose(np.sort(np.unique(length.round(9))), [1.0, 2.0])
    elif kind == "rectified":
        np.testing.assert_allclose(places[1:], network.width**0.5 * theory.outliers)
        assert (group[1:] > 0).all()
        assert names[0] == "bulk"
    else:
        np.testing.assert_allclose(places, theory.codes.readouts)
        assert [name.replace("none", "") for name in names] == [
            "".join(np.array([*"ABC"])[on]) for on in theory.codes.subsets
        ]


def test_neurons_have_the_groups_of_their_codes():
    network = fs.models.WideBayesian(nonlinearity="sigmoidal", counts=(8, 4, 4))
    activity = xr.DataArray([[0.9, 0.1, 0.8], [0.1, 0.2, 0.3], [0.6, 0.7, 0.9]], dims=("neuron", "class"))
    readout = xr.DataArray(np.zeros((3, 3)), dims=("neuron", "output"))
    assert groups(network, activity, readout).values.tolist() == [5, 0, 7]
    sparse = fs.models.WideBayesian(nonlinearity="rectified", counts=(8, 4, 4))
    readout[1, 0] = 8.1 * float(sparse.readout_variance) ** 0.5
    assert groups(sparse, activity, readout).values.tolist() == [0, 3, 0]


def test_total_alignment_of_two_students_is_that_of_the_measure():
    random = np.random.default_rng(0)
    components, norms = random.normal(size=(3, 5, 2, 2)), random.uniform(1, 2, (3, 5, 2))
    dims = ("run", "time")
    data = xr.Dataset({"components": ((*dims, "teacher", "path"), components), "norms": ((*dims, "path"), norms)})
    np.testing.assert_allclose(total_alignment(data, None), fs.measures.total_alignment(components, norms))


def test_sharpness_is_that_of_the_kernel():
    counts, random = (3, 2), np.random.default_rng(1)
    factors = random.normal(size=(2, 2))
    between, excess = factors @ factors.T, np.array([0.5, 2.0])
    members = np.repeat(np.eye(2), counts, axis=0)
    kernel = members @ between @ members.T + np.diag(members @ excess)
    data = xr.Dataset({"between": (("class", "other_class"), between), "excess": (("class",), excess)})
    config = fs.models.WideBayesian(counts=counts)
    assert float(sharpness(data, config)) == pytest.approx(fs.measures.sharpness(kernel, members))


def test_what_follows_a_switch_is_early_and_late():
    config = fs.models.TaskAbstraction(block_length=1.0, until=4.0, step_size=0.25, records=16)
    time = 0.25 * np.arange(17)
    data = xr.Dataset({"loss": (("run", "time"), time[None] ** 2)}, {"time": time})
    staged = there(early_and_late("loss", 2, 2).of)
    stages = there(staged(data, config))
    assert stages.sel(stage="first switch").values.ravel().tolist() == [1.0, 1.25**2]
    np.testing.assert_allclose(stages.sel(stage="late switches").values.ravel(), [(4 + 9) / 2, (2.25**2 + 3.25**2) / 2])
    assert staged(data.isel(time=slice(5)), config) is None  # no switch yet


def test_single_units_are_recorded_with_their_strength_in_each_context():
    model = fs.models.RectifiedContexts(contexts=3, width=70, deviation=0.1)
    network, inputs = model.start(jax.random.key(0)), np.asarray(model.world.samples.inputs)
    gates = network.gates(inputs)
    before, after = network.under(gates, inputs)
    seen = np.asarray(model._look(network.weights, after, before, list(gates.values()))["units"])[0]
    incoming, outgoing = (np.asarray(weights) for weights in network.weights)
    on, contexts = inputs @ incoming.T > 0, model.world_at().contexts
    strength = np.linalg.norm(incoming, axis=1) * np.linalg.norm(outgoing, axis=0)
    expected = np.stack([strength * on[contexts == context].mean(axis=0) for context in range(3)], axis=1)
    np.testing.assert_allclose(seen, expected[:60], rtol=1e-5)


def test_the_strongest_unit_of_a_moment_is_one():
    model = fs.models.RectifiedContexts(contexts=3, width=12, deviation=0.1, steps=40, records=4)
    view = views_of(fs.lab.find("model/rectified-contexts"))[0]
    found = scene(view, model.run().data, model)
    assert [np.max(frame) for frame in found["panels"][0]["frames"]] == [1.0] * 5


@pytest.mark.parametrize("name", ["abstraction/regimes", "abstraction/starts", "abstraction/connected_map"])
def test_cells_of_maps_open_the_arms_that_they_show(name):
    experiment = fs.lab.find(name)
    config = experiment.configure("quick", block_length=(0.1, 0.8, 0.4))
    models = [arm.model.model_dump() for arm in experiment.arms_at(config)]
    for view in views_of(experiment):
        assert isinstance(view, Heat)
        opens = opened(view, config)["opens"]
        rows, columns = (getattr(config, field) for field in (opens["rows"], opens["columns"]))
        for row, column in ((rows[0], columns[-1]), (rows[-1], columns[0])):
            fields = opens["fields"] | {opens["rows"]: row, opens["columns"]: column}
            alone = configured(fs.lab.find(opens["experiment"]), "quick", fields).model_dump()
            assert {key: alone[key] for key in models[0] if key not in ONLY_RECORDED} in [
                {key: model[key] for key in model if key not in ONLY_RECORDED} for model in models
            ]
            if "block_length" not in (opens["rows"], opens["columns"]):
                assert alone["block_length"] == 0.8  # the largest, as the map has it
