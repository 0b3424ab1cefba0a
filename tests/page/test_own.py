"""A folder of one's own: what is in it is found, opened and shown as it is, and what is damaged gets a sentence."""

import numpy as np
import pytest
import xarray as xr
from serving import real_server
from test_telling import WHOLE

import festina as fs
from festina.errors import ArgumentError, FestinaError
from festina.page import own


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A result, a sweep over two axes, a report, a story, and files that are none of these."""
    here = tmp_path_factory.mktemp("mine")
    fs.run("linear/chain", budget="quick", depth=(1, 2), records=20).save(here / "chain")
    over = {"initial": [1e-3, 1e-2, 1e-1], "strength": [1.0, 2.0]}
    fs.sweep("model/chain", over, store=here / "sweeps", executor=fs.lab.InProcess(), records=20)
    watch = fs.watch((lambda p, x: x @ p["w"], {"w": np.zeros((2, 1))}), np.eye(2), np.ones((2, 1)))
    for step in (1, 2, 4):
        watch(step, {"w": np.full((2, 1), 1 - 0.5**step)})
    watch.report().save(here / "training.nc")
    (here / "mine.toml").write_text(WHOLE)
    (here / "pyproject.toml").write_text('[project]\nname = "x"\n')
    (here / "notes.txt").write_text("nothing")
    return here


def item(folder, kind):
    return next(each for each in own.items_in(folder) if each.kind == kind)


def test_everything_is_found_once(folder):
    assert sorted(each.kind for each in own.items_in(folder)) == ["report", "result", "story", "sweep"]


def test_a_result_is_shown_as_it_was_saved(folder):
    shown, saved = own.opened(item(folder, "result")), fs.load(folder / "chain")
    assert shown["experiment"]["name"] == "linear/chain"
    scene = shown["simulation"]["scenes"][0]
    np.testing.assert_array_equal(scene["lines"][1]["y"], saved["product"].sel(depth=2).isel(run=0))


def test_a_slice_of_a_sweep_is_where_its_runs_end(folder):
    sweep = item(folder, "sweep")
    told = own.opened(sweep)
    assert {axis["name"]: axis["values"] for axis in told["axes"]} == {
        "initial": [1e-3, 1e-2, 1e-1],
        "strength": [1.0, 2.0],
    }
    assert told["variables"][-1]["name"] == "failed"
    cells = own.slice_of(sweep, {"variable": "product", "x": "initial", "y": "strength"})
    expected = fs.lab.open_sweep(sweep.path)["product"].isel(time=-1).transpose("strength", "initial", ...)
    np.testing.assert_array_equal(np.array(cells["values"]), expected.values.reshape(2, 3))
    row = own.slice_of(sweep, {"variable": "product", "x": "initial", "at": {"strength": 1}})
    assert row["values"][0] == cells["values"][1]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"variable": "prodct"}, "variable"),
        ({"variable": "product", "x": "depth"}, "`x` must be one of"),
        ({"variable": "product", "x": "initial", "at": {"strength": 2}}, "index from 0 to 1"),
        ({"variable": "product", "x": "initial", "at": {"strength": True}}, "index from 0 to 1"),
        ({"variable": "product", "x": "initial", "at": [1]}, "index from 0 to 1"),
    ],
)
def test_a_slice_that_cannot_be_gets_a_sentence(folder, asked, said):
    with pytest.raises(FestinaError, match=said):
        own.slice_of(item(folder, "sweep"), asked)


def test_a_report_has_its_verdict_and_its_curves(folder):
    shown = own.opened(item(folder, "report"))
    assert shown["verdict"].startswith("lazy")
    titles = [scene["title"] for scene in shown["simulation"]]
    assert titles[:2] == ["Loss on the probes", "How far from the linearised network"]
    with xr.open_dataset(folder / "training.nc", engine="scipy") as data:
        np.testing.assert_allclose(shown["simulation"][0]["lines"][0]["y"], data["loss"])


def test_a_damaged_file_gets_a_sentence(tmp_path):
    (tmp_path / "bad.nc").write_bytes(b"no netCDF")
    with pytest.raises(FestinaError, match=r"cannot read bad.nc"):
        own.opened(item(tmp_path, "report"))
    xr.Dataset({"a": ("b", [1.0])}).to_netcdf(tmp_path / "bad.nc", engine="scipy")
    with pytest.raises(FestinaError, match="no report of a training"):
        own.opened(item(tmp_path, "report"))


def test_what_is_no_folder_is_refused(tmp_path):
    for path in (tmp_path / "nothing", __file__):
        with pytest.raises(ArgumentError, match="`folder` must be a folder"):
            own.items_in(type(tmp_path)(path))


def test_the_server_opens_what_is_there(folder):
    with real_server(folder=folder) as client:
        listed = client.get("/api/own").json()
        kinds = {each["kind"]: each["id"] for each in listed}
        assert client.get(f"/api/own/{kinds['result']}").json()["experiment"]["name"] == "linear/chain"
        asked = {"variable": "product", "x": "initial", "y": "strength"}
        assert client.post(f"/api/own/{kinds['sweep']}/slice", json=asked).status_code == 200
        assert client.post(f"/api/own/{kinds['result']}/slice", json=asked).status_code == 409
        assert client.get("/api/own/99").status_code == 404
        assert client.get("/api/stories").json()[0]["name"] == "mine"
