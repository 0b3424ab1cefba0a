"""Sweeps: axes, batches, kills, failures, and how often they compile."""

import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import festina as fs
from festina.errors import ArgumentError, FestinaWarning, StoreError, UnknownName
from festina.experiment import Arms, Variable, continuous, structural
from festina.lab import open_sweep, resume
from festina.lab.locks import shared, taken
from festina.lab.sweeps import grid, tiles
from festina.lab.sweeps.axes import parse_axis
from festina.lab.sweeps.folder import status
from festina.lab.sweeps.plan import make_plan
from patience import wait_for
from shared import apart
from toy import Toy, Units


class TimedUnits(Units):
    """The toy's units with an end that can be swept, and levels measured at chosen places."""

    variables = Units.variables | {"probe": Variable("level at a place", ("place",))}

    until: float = continuous(2.0, gt=0, help="when to stop")
    place: tuple[float, ...] = structural((1.0,), min_length=1, help="where to look")

    def coordinates(self) -> dict[str, Any]:
        return {"place": list(self.place)}

    def process(self, start: Any) -> Any:
        def observe(state: Any) -> dict[str, Any]:
            level = state.parameters
            return {"level": level, "total": jnp.sum(level), "probe": jnp.asarray(self.place) * level[0]}

        times = self.until * jnp.linspace(0.0, 1.0, self.records + 1)
        return fs.learning.flow_process(lambda level, _: -self.speed * level, jnp.ones(self.units), times, observe)

    def solution(self, start: Any) -> None:
        return None


class Timed(Toy):
    """The toy with such units."""

    arms = Arms(TimedUnits)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("speed=lin:0:1:3", (0.0, 0.5, 1.0)),
        ("speed=log:0.01:1:3", (0.01, 0.1, 1.0)),
        ("speed=1,2,5", ("1", "2", "5")),
        ("speed=3", ("3",)),
    ],
)
def test_axes_as_people_write_them(text, values):
    axis = parse_axis(text)
    assert axis.name == "speed"
    assert all(a == b or np.isclose(a, b) for a, b in zip(axis.values, values, strict=True))


@pytest.mark.parametrize(
    "text", ["speed", "speed=", "=1", "speed=lin:0:1", "speed=log:0:1:5", "speed=lin:0:1:0", "speed=lin:0:inf:3"]
)
def test_bad_axes_say_what_an_axis_looks_like(text):
    with pytest.raises(ArgumentError, match="`over` must"):
        parse_axis(text)


def test_every_point_is_the_run_it_would_be_alone(tmp_path):
    over = {"speed": [0.5, 1.0, 2.0], "units": [1, 3], "spread": [0.1, 0.2]}
    data = fs.sweep(Toy(), over, store=tmp_path, seeds=2)
    assert dict(data.sizes) == {"seed": 2, "speed": 3, "spread": 2, "units": 2, "time": 41, "unit": 3}
    alone = fs.run(Toy(), speed=2.0, units=3, spread=0.2, seeds=1, first_seed=1)
    there = data.sel(seed=1, speed=2.0, units=3, spread=0.2)
    np.testing.assert_allclose(there["level"].values, alone["level"][0].values, atol=1e-10)
    np.testing.assert_allclose(there["final"].values, alone["final"][0].values, atol=1e-10)
    assert data["done"].all() and not data["failed"].any()


@pytest.mark.full
def test_a_hundred_points_compile_once(tmp_path, monkeypatch):
    """One program for a 100-point sweep over a continuous field, cut into several tiles."""
    traced, original = [], Units.process
    monkeypatch.setattr(Units, "process", lambda self, *args: traced.append(args) or original(self, *args))
    jax.clear_caches()
    fs.sweep(Toy(), {"speed": np.linspace(0.1, 3, 100)}, store=tmp_path, tile=16)
    assert len(traced) == 3  # for the start, the chunk and the end, however many tiles and chunks there are


def test_variables_can_be_chosen(tmp_path):
    data = fs.sweep(Toy(), ["speed=1,2"], store=tmp_path, variables=["final"])
    assert set(data.data_vars) == {"final", "done", "failed"}


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ({"variables": ["nothing"]}, "`variables` must name some of final, level, rest, total, but names nothing"),
        ({"variables": []}, "`variables` must name some of final, level, rest, total, but is empty"),
        ({"speed": 3.0}, "`over` must not name `speed`, which is also fixed to 3.0"),
        ({"budget": "huge"}, "`budget` must be 'quick' or 'full', but is 'huge'"),
        ({"first_seed": -1}, "`first_seed` must be zero or positive, but is -1"),
        ({"seeds": 1_000_001}, "`seeds` must be at least 1 and at most 1_000_000, but is 1000001"),
    ],
)
def test_bad_questions_are_refused_before_anything_runs(tmp_path, question, message):
    with pytest.raises(ArgumentError, match=message):
        fs.sweep(Toy(), "speed=1,2", store=tmp_path, **question)
    assert not list(tmp_path.iterdir())


@pytest.mark.full
def test_failed_runs_are_kept_and_the_others_go_on(tmp_path):
    data = fs.sweep(Toy(), {"speed": [-1.0, 1.0, -2.0]}, store=tmp_path, explode=True)
    assert data["failed"].values.tolist() == [[True, False, True]]
    assert data["done"].all()
    assert len(data.attrs["failures"]) == 2 and "run 2 failed" in data.attrs["failures"][1]
    assert data.attrs["failures"][1].startswith("speed=-2, seed 0: run 2 failed")
    assert np.isfinite(data["final"].sel(speed=1.0)).all()


def test_asked_again_nothing_is_computed(tmp_path, monkeypatch):
    first = fs.sweep(Toy(), ["speed=1,2"], store=tmp_path)
    monkeypatch.setattr("festina.lab.answer.simulate", None)
    assert fs.sweep(Toy(), ["speed=1,2"], store=tmp_path).identical(first)


def test_an_interrupted_sweep_goes_on_and_ends_bit_identical(tmp_path, monkeypatch):
    question = {"over": ["speed=lin:0.1:3:20"], "tile": 4, "spread": 0.3}
    whole = fs.sweep(Toy(), store=tmp_path / "whole", **question)
    from festina.lab import answer as module

    simulate, calls = module.simulate, []

    def interrupted(*args, **kwargs):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return simulate(*args, **kwargs)

    monkeypatch.setattr(module, "simulate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fs.sweep(Toy(), store=tmp_path / "cut", **question)
    folder = next((tmp_path / "cut").glob("toy/decay/sweep-*"))
    assert open_sweep(folder, Toy())["done"].sum() == 8
    monkeypatch.setattr("festina.lab.answer.simulate", simulate)
    assert_same(fs.sweep(Toy(), store=tmp_path / "cut", **question), whole)


def assert_same(one: xr.Dataset, other: xr.Dataset) -> None:
    assert set(one.variables) == set(other.variables)
    for name in one.variables:
        np.testing.assert_array_equal(one[name].values, other[name].values)


KILLED = """
import sys
sys.path[:0] = [{tests!r}]
import conftest, jax, festina as fs
from toy import Toy
with jax.enable_x64(True):
    fs.sweep(Toy(), ["speed=lin:0.1:3:60"], store={store!r}, tile=2, spread=0.3)
"""


@pytest.mark.full
def test_killed_at_any_moment_it_resumes_bit_identical(tmp_path):
    command = [sys.executable, "-c", KILLED.format(tests=str(Path(__file__).parent.parent), store=str(tmp_path / "k"))]
    own = os.environ | apart(tmp_path / "cache")
    for delay in (0.05, 0.6):
        process = subprocess.Popen(command, env=own)
        wait_for(lambda: list((tmp_path / "k").rglob("done/c/*")))
        time.sleep(delay)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    question = {"over": ["speed=lin:0.1:3:60"], "tile": 2, "spread": 0.3}
    assert_same(
        fs.sweep(Toy(), store=tmp_path / "k", **question), fs.sweep(Toy(), store=tmp_path / "whole", **question)
    )


def test_another_version_of_the_code_sweeps_anew_and_goes_on_with_nothing_of_the_old(tmp_path, monkeypatch):
    data = fs.sweep(Toy(), ["speed=1,2"], store=tmp_path)
    folder = Path(data.attrs["store"])
    monkeypatch.setattr("festina.lab.sweeps.folder.identity", lambda experiment: "another")
    monkeypatch.setattr("festina.lab.provenance.identity", lambda experiment: "another")
    assert fs.sweep(Toy(), ["speed=1,2"], store=tmp_path).attrs["store"] != str(folder)
    assert_same(resume(folder, experiment=Toy()), data)  # finished: any version opens it
    (folder / "data.zarr/group-0/done/c/0").unlink()
    with pytest.raises(StoreError, match=r"was begun by festina .* or ask for it anew"):
        resume(folder, experiment=Toy())


def test_a_damaged_card_is_named_and_written_anew(tmp_path):
    data = fs.sweep(Toy(), ["speed=1,2"], store=tmp_path)
    folder = Path(data.attrs["store"])
    for number, text in enumerate(("{", "[]", "{}", '{"question": 1, "version": "", "code": ""}'), start=1):
        (folder / "sweep.json").write_text(text)
        with pytest.raises(StoreError, match=r"sweep.json is damaged \(it .*\); ask the sweep again to mend it"):
            open_sweep(folder, Toy())
        with pytest.warns(FestinaWarning, match=rf"sweep.json.damaged-{number} and written anew"):
            assert_same(fs.sweep(Toy(), ["speed=1,2"], store=tmp_path), data)
    with pytest.raises(StoreError, match="holds no readable sweep"):
        open_sweep(tmp_path)


@pytest.mark.parametrize(
    ("over", "error", "message"),
    [
        (["units=0,1"], ArgumentError, "`units` must be greater than or equal to 1, but is '0'"),
        (["units=lin:1:2:3"], ArgumentError, "`units` must be a valid integer"),
        (["sped=1,2"], UnknownName, "did you mean 'speed'"),
        (["speed=1", "speed=2"], ArgumentError, "names 'speed' twice"),
        (["speed=1,1.0"], ArgumentError, "must give 'speed' different values"),
    ],
)
def test_bad_axes_are_refused_before_anything_runs(tmp_path, over, error, message):
    with pytest.raises(error, match=message):
        fs.sweep(Toy(), over, store=tmp_path)
    assert not list(tmp_path.iterdir())


def test_tiles_keep_memory_bounded():
    small, large = (make_plan(Toy(), [], tuple(range(2000)), "full", {"units": u}).groups[0].tile for u in (1, 64))
    assert small == 128
    huge = make_plan(Toy(), [], tuple(range(2000)), "full", {"units": 64, "records": 50_000}).groups[0].tile
    assert huge == 64 * 2**20 // ((64 + 1) * 8 * 50_001) < large


class Killed(BaseException):
    pass


@pytest.mark.parametrize("survived", range(5))
def test_killed_while_a_tile_is_cleared_it_is_not_marked_as_done(tmp_path, monkeypatch, survived):
    """The mark goes first: at no moment does a tile look done of which a file is missing."""
    fs.sweep(Toy(), "speed=1,2", store=tmp_path, tile=1)
    (folder,) = (path.parent for path in tmp_path.rglob("sweep.json"))
    remove, removed = Path.unlink, []

    def killed(path, *rest, **more):
        if len(removed) == survived:
            raise Killed
        removed.append(path)
        remove(path, *rest, **more)

    monkeypatch.setattr(Path, "unlink", killed)
    with suppress(Killed):
        tiles.clear_tile(folder, 0, 0, 1, ["level", "total"])
    assert len(removed) == min(survived, 3)  # the mark and two arrays
    assert tiles.is_marked(folder, 0, 0, 1) == (survived == 0)


def test_a_tile_is_marked_as_done_when_all_else_is_written(tmp_path, monkeypatch):
    """Killed before any of its writes, a tile is computed again, and never believed."""
    written, write, card = [], grid._write, tiles.write_tile_card

    def noted(root, name, start, values):
        written.append(name)
        write(root, name, start, values)

    def carded(*given):
        written.append("card")
        card(*given)

    monkeypatch.setattr(grid, "_write", noted)
    monkeypatch.setattr(tiles, "write_tile_card", carded)
    fs.sweep(Toy(), "speed=1,2", store=tmp_path, tile=2)
    assert written[-2:] == ["card", "done"] and "level" in written[:-2] and written.count("done") == 1


@pytest.mark.full
def test_runs_that_end_at_different_times_keep_their_clocks(tmp_path):
    """Tiles of equal and of unequal ends make no difference."""
    over = {"until": [1.0, 2.0, 4.0], "units": [1, 2]}
    for tile in (1, 2):
        data = fs.sweep(Timed(), over, store=tmp_path, tile=tile)
        assert data["clock"].dims == ("units", "seed", "until", "time") and data["clock"].attrs["units"] == "τ"
        assert data["time"].values.tolist() == list(range(41)) and "clock" in data.coords
        np.testing.assert_allclose(data["clock"].isel(time=-1, seed=0, units=0), [1.0, 2.0, 4.0])
        np.testing.assert_allclose(data["level"].isel(unit=0, seed=0, units=1), np.exp(-data["clock"][1, 0]), atol=1e-7)


def test_runs_that_share_their_times_have_one_clock(tmp_path):
    data = fs.sweep(Timed(), "speed=1,2,3", store=tmp_path, tile=2, until=3.0)
    alone = fs.run(Timed(), until=3.0)
    assert "clock" not in data.variables
    np.testing.assert_array_equal(data["time"].values, alone["time"].values)
    assert data["time"].attrs == alone["time"].attrs


@pytest.mark.parametrize(
    ("places", "sizes"),
    [
        ([(1.0,), (2.0,)], {"place": 2}),
        ([(1.0, 2.0), (2.0, 3.0)], {"place_swept": 2, "place": 3}),
        ([(1.0,), (2.0, 3.0)], {"place_swept": 2, "place": 3}),
    ],
)
def test_a_swept_field_gives_way_to_a_dimension_of_its_name(tmp_path, places, sizes):
    data = fs.sweep(Timed(), {"place": places}, store=tmp_path)
    assert {name: size for name, size in data.sizes.items() if str(name).startswith("place")} == sizes
    assert data["probe"].isel(time=0).notnull().sum() == sum(map(len, places))


def test_a_sweep_cut_between_structures_opens(tmp_path, monkeypatch):
    from festina.lab import answer as module

    simulate, calls = module.simulate, []

    def interrupted(*args, **kwargs):
        calls.append(1)
        if len(calls) in (1, 3):
            raise KeyboardInterrupt
        return simulate(*args, **kwargs)

    monkeypatch.setattr(module, "simulate", interrupted)
    question = {"over": {"units": [1, 2], "speed": [1.0, 2.0]}, "store": tmp_path}
    with pytest.raises(KeyboardInterrupt):
        fs.sweep(Toy(), **question)
    folder = next(tmp_path.glob("toy/decay/sweep-*"))
    with pytest.raises(StoreError, match="holds no finished batch yet"):
        open_sweep(folder, Toy())
    with pytest.raises(KeyboardInterrupt):
        fs.sweep(Toy(), **question)
    data = open_sweep(folder, Toy())
    assert data["done"].sel(units=1).all() and not data["done"].sel(units=2).any()
    assert data["final"].sel(units=2).isnull().all() and data["time"][-1] == 2.0
    assert fs.sweep(Toy(), **question)["done"].all()


SMALL = {"over": {"units": [1, 2], "speed": [-1.0, 1.0, 2.0]}, "tile": 2, "explode": True}


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    """A finished sweep in two groups of two tiles each, with failures."""
    with jax.enable_x64(True):
        return fs.sweep(Toy(), store=tmp_path_factory.mktemp("healthy"), **SMALL)


def copy_of(healthy: xr.Dataset, store: Path) -> Path:
    folder = store / Path(healthy.attrs["store"]).relative_to(Path(healthy.attrs["store"]).parents[2])
    shutil.copytree(healthy.attrs["store"], folder)
    return folder


@pytest.mark.full
@pytest.mark.parametrize(
    ("name", "computed"),
    [
        ("data.zarr/group-1/level/c/1/0/0", [(1, 2, 3)]),
        ("data.zarr/group-0/done/c/0", [(0, 0, 2)]),
        ("data.zarr/group-0/clock/c/0/0", [(0, 0, 2)]),
        ("failures/1-0.json", [(1, 0, 2)]),
        ("tiles/0-2.json", [(0, 2, 3)]),
        ("tiles/group-0.json", [(0, 0, 2), (0, 2, 3)]),
        ("data.zarr/group-1/done/zarr.json", [(1, 0, 2), (1, 2, 3)]),
        ("data.zarr/group-1/time/c/0", [(1, 0, 2), (1, 2, 3)]),
    ],
)
@pytest.mark.parametrize("harm", ["changed", "removed"])
def test_what_is_damaged_is_named_and_computed_again(tmp_path, monkeypatch, healthy, name, computed, harm):
    from festina.lab.sweeps import worker as module

    folder, compute, calls = copy_of(healthy, tmp_path), module.compute, []
    monkeypatch.setattr(module, "compute", lambda *args: calls.append(tuple(args[2])) or compute(*args))
    if harm == "changed":
        (folder / name).write_bytes(b"\x00damaged")
    else:
        (folder / name).unlink()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FestinaWarning)
        mended = fs.sweep(Toy(), store=tmp_path, **SMALL)
    said = [str(warning.message) for warning in caught if warning.category is FestinaWarning]
    silent = name.endswith("done/c/0") and harm == "removed"  # no mark: a tile not done yet
    assert silent or (len(said) == 1 and name in said[0] and "computed again" in said[0])
    assert calls == computed
    assert_same(mended, healthy)
    assert mended.attrs["failures"] == healthy.attrs["failures"] and len(mended.attrs["failures"]) == 2
    assert len(list((folder / "data.zarr").glob("group-?.damaged-1"))) == (len(computed) == 2)


@pytest.mark.full
def test_a_missing_group_is_computed_again(tmp_path, healthy):
    folder = copy_of(healthy, tmp_path)
    shutil.rmtree(folder / "data.zarr" / "group-1")
    with pytest.raises(StoreError, match="group-1 is damaged"):
        open_sweep(folder, Toy())
    with pytest.warns(FestinaWarning, match=r"group-1 is damaged .* computed again"):
        assert_same(fs.sweep(Toy(), store=tmp_path, **SMALL), healthy)


@pytest.mark.full
def test_who_comes_while_others_work_computes_the_rest_and_waits(tmp_path, monkeypatch, healthy):
    """Another worker holds the first tile, which is not marked as done: it is left alone until that worker lets go."""
    folder = copy_of(healthy, tmp_path)
    for mark in folder.glob("data.zarr/group-*/done/c/*"):
        mark.unlink()
    other, seen = ExitStack(), []
    other.enter_context(shared(folder / ".lock"))
    assert other.enter_context(taken(folder / "claims" / "0-0"))

    def look(seconds):
        seen.append(status(folder, Toy()))
        other.close()

    monkeypatch.setattr("festina.lab.sweeps.sweep.sleep", look)
    assert_same(fs.sweep(Toy(), store=tmp_path, **SMALL), healthy)
    assert [(each.done, each.at_work) for each in seen] == [(4, 1)]
