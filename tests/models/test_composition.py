"""model/composition: blocks and pairs, the limit of many inputs, rows with gates of their own."""

from typing import Any

import numpy as np
import pytest
import xarray as xr

import festina as fs
from festina.errors import ArgumentError
from festina.lab.batch import Builder, make_batch, starts_of
from festina.models.composition import Composition, sort_rows
from festina.testing.model import model_findings
from narrowing import there

SMALL: dict[str, Any] = {
    "inputs": 7,
    "outputs": 2,
    "training_blocks": 4,
    "novel_blocks": 3,
    "block_length": 0.1,
    "step_size": 0.01,
    "until": 0.9,
    "records": 18,
    "scale": 0.5,
    "strength": 0.2,
}
ROWS: dict[str, Any] = {"gated": "rows", "composed": "subtasks"}


@pytest.mark.full
@pytest.mark.parametrize("gated", ["paths", "rows"])
def test_the_model_is_what_it_should_be(gated):
    """All but that either paths or rows are recorded, and totals not at all."""
    absent = [*(["gates", "alignment", "components", "norms", "speeds"] if gated == "rows" else []), "separation"]
    absent += [] if gated == "rows" else ["row_gates", "row_alignment", "row_norms"]
    fields = SMALL | {"until": 0.2, "records": 4, "gated": gated}
    said = [f"neither simulation nor theory has {absent}"]
    if gated == "rows":
        said.append("it has a theory that says nothing at its quick settings")
    assert list(model_findings(Composition, "quick", gated == "paths", fields)) == said


def test_blocks_come_as_published():
    order = Composition().shown()
    assert (order[:4], order[20:]) == ((0, 1, 2, 0), (2, 0, 1, 5, 3, 4, 5, 3, 4, 5))


@pytest.mark.parametrize("composed", ["tasks", "subtasks"])
def test_new_tasks_are_made_of_two_teachers(composed):
    model = Composition(**SMALL, composed=composed)
    with fs.double():
        maps = np.asarray(starts_of(make_batch(Builder.of(model), [0], [[model]], [3])).tasks.maps)[0]
    assert maps.shape == (6, 2, 7)
    for task, (first, second) in enumerate(((0, 1), (1, 2), (2, 0))):
        made = (maps[first] + maps[second]) / 2 if composed == "tasks" else [maps[first, 0], maps[second, 1]]
        np.testing.assert_allclose(maps[3 + task], made, atol=1e-15)


@pytest.mark.parametrize("fields", [{"data": "population"}, {"data": "closure"}, {"composed": "subtasks"}], ids=str)
@pytest.mark.full
def test_without_noise_gates_of_paths_follow_their_limit(fields):
    """Through old tasks, new ones, and old ones again."""
    result = Composition(**SMALL | {"data": "closure"} | fields).run(seeds=2)
    assert {"loss", "gates", "components", "norms"} <= set(there(result.theory))
    assert result.errors().max() < 1e-10
    assert result["alignment"].sizes["teacher"] == 3
    assert np.ptp(result["loss"].isel(time=slice(1, None)).values) > 1e-2


@pytest.mark.full
def test_rows_in_the_coordinates_of_the_closure_go_the_same_way():
    whole, small = (Composition(**SMALL, **ROWS, data=data).run(seeds=2) for data in ("population", "closure"))
    for name in ("loss", "row_gates", "row_alignment", "row_norms", "total_alignment"):
        np.testing.assert_allclose(whole[name], small[name], atol=1e-11)
    assert whole.theory is None and np.ptp(whole["row_gates"].isel(time=-1).values) > 0.01


@pytest.mark.full
def test_gates_of_rows_that_stay_equal_are_a_gate_of_the_path():
    """One output only: then a row is a path, and both kinds of network are one."""
    paths, rows = (
        Composition(**SMALL | {"outputs": 1, "gated": gated, "batch": 50}).run() for gated in ("paths", "rows")
    )
    np.testing.assert_allclose(rows["row_gates"].isel(output=0), paths["gates"], atol=1e-12)
    np.testing.assert_allclose(rows["sorted_gates"], paths["sorted_gates"], atol=1e-12)
    np.testing.assert_allclose(rows["total_alignment"], paths["total_alignment"], atol=1e-12)


def test_rows_are_matched_output_by_output():
    """Two outputs whose students stand in opposite order, one of half length; and an arm that has no rows."""
    exchange = np.array([[np.eye(2), np.eye(2)[::-1]]])
    rows = {
        "row_alignment": (("run", "time", "output", "teacher", "path"), exchange[None]),
        "row_gates": (("run", "time", "output", "path"), np.array([[[[0.9, 0.1], [0.2, 0.8]]]])),
        "row_norms": (("run", "time", "output", "path"), np.array([[[[1.0, 0.5], [1.0, 1.0]]]])),
    }
    data = xr.Dataset(rows).expand_dims(arm=["rows", "paths"])
    data = data.where(data["arm"] == "rows")
    found = {name: values.sel(arm=0) for name, values in sort_rows(data).items()}
    np.testing.assert_allclose(found["sorted_gates"].values.ravel(), [0.85, 0.15])
    np.testing.assert_allclose(found["sorted_alignment"].values[0, 0], np.eye(2))
    np.testing.assert_allclose(found["total_alignment"].values.ravel(), 3.5 / np.sqrt(4 * 3.25))
    assert np.isnan(sort_rows(data)["total_alignment"].isel(arm=1)).all()


@pytest.mark.full
def test_totals_are_of_paths():
    with pytest.raises(ArgumentError, match="`gated` must be paths where totals are recorded"):
        Composition.checked("model/composition", SMALL | {"recorded": "totals", "gated": "rows"})
    totals = Composition(**SMALL, data="closure", recorded="totals").run()
    assert totals.errors("total_alignment", "separation").max() < 1e-10
