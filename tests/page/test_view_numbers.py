"""What views compute from recorded variables, against what the models and worlds have."""

from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

import festina as fs
from festina.models import GatedMargin, Semantic
from festina.views import _parts, linear_layers, linear_saddles, linear_semantic, race_logic, race_routing
from festina.worlds.logic import ANSWERS, CORNERS
from narrowing import there
from shared import quick


def test_a_panel_is_that_of_the_result():
    result = quick("race/xor")
    for name in ("gated", "rectified"):
        expected = result.panel(name)["loss"]
        found = _parts.panel(result.data, result.config, "race/xor", name, "loss").transpose(*expected.dims)
        np.testing.assert_array_equal(found, expected)
        assert all(found[dim].values.tolist() == expected[dim].values.tolist() for dim in expected.dims[2:])


def test_a_panel_has_the_clocks_of_its_arms():
    result = quick("race/xor")
    arms = result.data.sizes["arm"]
    clock = result.data["time"].values[:, None] * np.arange(1.0, arms + 1.0)
    data = result.data.assign_coords(clock=(("time", "arm"), clock, {"units": "τ"}))
    found = _parts.panel(data, result.config, "race/xor", "rectified", "loss")["clock"].transpose("time", "scale")
    np.testing.assert_array_equal(found, clock[:, 4:])
    assert found.attrs["units"] == "τ"
    both = _parts.beside("pair", {str(k): data["loss"].isel(arm=k, drop=True) for k in (0, 1)})
    np.testing.assert_array_equal(both["clock"].transpose("time", "pair"), clock[:, :2])


@pytest.mark.parametrize("imbalance", [-3.0, -1e-9, 0.0, 0.2, 50.0])
def test_two_weights_of_a_product_and_an_imbalance(imbalance):
    product = xr.DataArray(np.array([-2.0, -1e-8, 0.0, 1e-8, 3.0]), dims="time")
    first, second = linear_layers._weights(product, imbalance)
    np.testing.assert_allclose(first * second, product, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(second**2 - first**2, imbalance, rtol=1e-12, atol=1e-12)


STRUCTURES = {
    "tree": {"branching": (2, 3, 2)},
    "partition": {"classes": 4, "members": 3},
    "ring": {"items": 7},
    "grid": {"rows": 3, "columns": 4},
}


@pytest.mark.parametrize("structure", STRUCTURES)
def test_items_part_along_modes_of_the_world(structure):
    """Every part of a direction stays within a level, so that its learning alone moves items along it."""
    model = Semantic(structure=structure, **STRUCTURES[structure])  # pyright: ignore[reportArgumentType]
    directions, projectors = linear_semantic.directions(model), np.asarray(model.world().projectors)
    parts = np.einsum("lij,jk->lik", projectors, directions)
    squares = (parts**2).sum(axis=1)
    np.testing.assert_allclose(parts.sum(axis=0), directions, atol=1e-12)
    whole = np.isclose(squares, 0.0, atol=1e-12) | np.isclose(squares, 1.0)
    assert whole.all()  # each level that takes part does so with a unit vector
    assert len(np.unique(directions.round(9), axis=0)) == len(directions)  # all items can be told apart


@pytest.mark.parametrize("gating", ["one example", "half-planes", "classes", "always on"])
def test_answers_at_the_examples_have_the_loss_of_the_gated_network(gating):
    model = GatedMargin(gating=gating, initial=0.05)
    exact = model.theory()(np.array([0.0, 4.0, 9.0]))
    sheets = race_logic._gated_sheets(gating, 0.0)
    side = np.asarray(race_logic.SIDE)
    at = np.abs(side[None] - np.array([[-1.0], [1.0]])).argmin(axis=1)  # cells next to −1 and 1
    for strength, loss in zip(exact["strength"], exact["loss"], strict=True):
        answers = np.einsum("p,prc->rc", strength, sheets)
        found = []
        for (first, second), answer in zip(CORNERS, ANSWERS, strict=True):
            row, column = len(side) - 1 - at[int(second > 0)], at[int(first > 0)]
            size = np.abs(side[column])  # answers are linear within a gate, and both places as far out
            found.append((answer - answers[row, column] / size) ** 2)
        assert 0.5 * np.mean(found) == pytest.approx(loss, abs=1e-12)


def test_units_along_examples_answer_as_much_as_their_strength():
    for separation in (0.0, 0.7):
        length = np.sqrt(2.0 + separation**2)
        sheet = race_logic._rectified_sheet(separation)
        corner = sheet.sel(z1=1.1, z2=1.1, method="nearest")
        assert float(corner) == pytest.approx(2.0 * float(corner["z1"]) / length)
        assert float(sheet.sel(z1=1.1, z2=-1.1, method="nearest")) == pytest.approx(-float(corner))
    strength = xr.DataArray(np.array([0.0, 0.3, 1.0 / np.sqrt(2.0)]), dims="time")
    np.testing.assert_allclose(race_logic._from_loss(0.5 * (1.0 - np.sqrt(2.0) * strength) ** 2), strength, atol=1e-12)


def test_pairs_that_are_trained_have_the_loss_of_the_network():
    """The mean over trained cells of the table is the recorded loss, for shared and for private pathways."""
    for pathways in ("shared", "private", "both"):
        model = fs.models.Routing(domains=3, trained=2, pathways=pathways, initial=0.3)
        time = np.array([0.0, 2.0, 20.0])
        exact = model.theory()(time)
        data = xr.Dataset(
            {name: (("time", "mode"), exact[name]) for name in ("shared", "private")},
            coords={"time": time, "mode": [1, 2, 3, 4]},
        )
        table = race_routing._shared_pairs(data, model).transpose("time", "output", "input").values
        trained = fs.worlds.routing.trained_pairs(3, 2) > 0
        energy = 0.5 * np.sum(model.modes.strengths**2)
        lost = energy * (1.0 - table[:, trained]).sum(axis=1) / 9.0  # averaged over all pairs
        np.testing.assert_allclose(lost, exact["loss"], rtol=1e-9, atol=1e-12)
        begun = np.ptp(table[:, ~trained], axis=0).max()
        assert (begun < 1e-12) == (pathways == "private")  # these alone learn nothing of other pairs


def test_maps_are_seen_in_the_plane_of_both_tasks():
    config = SimpleNamespace(modes=2, strongest=2.0, weakest=1.0, angle=60.0, until=1.0)
    strengths = np.diag([2.0, 1.0])
    for name, (x, y) in linear_saddles._tasks(config).items():
        task = np.concatenate([x * strengths, y * strengths], axis=1)[None, None]
        data = xr.Dataset({"map": (("run", "time", "output", "input"), task)}, coords={"input": range(4)})
        found = [float(there(there(linear_saddles._towards(axis).of)(data, config)).squeeze()) for axis in (0, 1)]
        assert found == pytest.approx([x, y]), name
    surface = linear_saddles._task_surface(config)
    lowest = np.unravel_index(surface.values.argmin(), surface.values.shape)
    middle = linear_saddles._task_marks(config)[2]
    assert surface.x[lowest[1]] == pytest.approx(middle.x, abs=0.05)
    assert surface.y[lowest[0]] == pytest.approx(middle.y, abs=0.05)


def test_rules_about_fields_that_arms_settle_are_left_out():
    from festina.views import matters_of

    assert "level" in matters_of(fs.lab.find("model/linear-stack"))
    assert "level" not in matters_of(fs.lab.find("linear/depth"))  # its arms set the initial weights
