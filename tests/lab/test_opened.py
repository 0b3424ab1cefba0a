"""Sweeps larger than memory: computed tile by tile, and read only as far as they are asked for."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import zarr

import festina as fs
from festina.experiment import Arms
from festina.lab import open_sweep
from festina.lab.sweeps.executors import InProcess
from festina.lab.sweeps.opened import Part
from patience import PATIENCE
from toy import Toy, Units

OVER = {"units": [1, 3], "speed": [1.0, 2.0, 3.0, 4.0], "records": [10, 20]}


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    return fs.sweep(Toy(), OVER, seeds=2, store=tmp_path_factory.mktemp("store"), tile=3, spread=0.1)


@pytest.fixture
def reads(monkeypatch):
    """Which tiles are read."""
    seen, read = [], Part.read
    monkeypatch.setattr(Part, "read", lambda self, name, start: seen.append((name, start)) or read(self, name, start))
    return seen


@pytest.mark.full
def test_every_selection_is_what_it_would_be_in_memory(swept):
    level = open_sweep(swept.attrs["store"], Toy())["level"]
    whole = level.load().copy()
    assert level.dims == ("units", "records", "seed", "speed", "time", "unit")
    for selection in (
        {"time": -1},
        {"units": 1, "speed": [0, 3], "unit": slice(1, None)},
        {"records": 0, "seed": 1, "speed": 2},
        {"speed": slice(None, None, -2), "time": [3, 1]},
        {"units": [0], "records": [1, 0], "unit": 0},
    ):
        fresh = open_sweep(swept.attrs["store"], Toy())["level"]
        assert fresh.isel(selection).equals(whole.isel(selection)), selection
    rest = whole.sel(units=1, records=10)
    assert rest.isel(unit=slice(1, None)).isnull().all() and rest.isel(time=slice(11, None)).isnull().all()
    assert rest.isel(unit=0, time=slice(0, 11)).notnull().all()


@pytest.mark.full
def test_values_are_those_of_single_runs(swept):
    alone = fs.run(Toy(), units=3, speed=3.0, records=20, first_seed=1, seeds=1, spread=0.1)
    here = swept["level"].sel(units=3, speed=3.0, records=20, seed=1)
    np.testing.assert_allclose(here, alone["level"].isel(run=0), rtol=1e-9)


@pytest.mark.full
def test_only_the_tiles_that_hold_it_are_read(swept, reads):
    data = open_sweep(swept.attrs["store"], Toy())
    del reads[:]
    assert data["level"].isel(units=0, records=0, seed=0, speed=0, time=10, unit=0).notnull()
    assert reads == [("level", 0)]


@pytest.mark.full
def test_what_was_read_once_is_kept(swept, reads):
    data = open_sweep(swept.attrs["store"], Toy())
    data["total"].load()
    del reads[:]
    assert data["total"].isel(speed=1).notnull().any() and reads == []


class AlikeUnits(Units):
    """Units that all have the same label."""

    def coordinates(self):
        return {"unit": [2.0] * self.units}


class Alike(Toy):
    """The toy with such units."""

    arms = Arms(AlikeUnits)


def test_labels_that_repeat_are_read_by_position(tmp_path):
    data = fs.sweep(Alike(), {"units": [2, 3]}, seeds=1, store=tmp_path, spread=0.1, executor=InProcess())
    alone = fs.run(Alike(), units=3, seeds=1, spread=0.1)
    assert alone["unit"].values.tolist() == [2.0, 2.0, 2.0]
    np.testing.assert_allclose(data["level"].isel(units=1, seed=0), alone["level"].isel(run=0), rtol=1e-9)


MEMORY = """
import resource, sys
sys.path[:0] = [{tests!r}]
import conftest, jax
jax.config.update("jax_enable_x64", True)
import festina as fs
from patience import PATIENCE
from toy import Toy
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
question = dict(units=40, records=2000, variables=["level"])
fs.sweep(Toy(), {{"speed": [1.0]}}, seeds=60, store={store!r}, **question)
before = peak()
data = fs.sweep(Toy(), {{"speed": [1.0, 2.0]}}, seeds=600, store={store!r}, spread=0.5, **question)
last = data["level"].isel(time=-1).load()
print(before, peak(), data["level"].nbytes / 2**20, int(last.notnull().sum()))
"""


@pytest.mark.full
def test_memory_is_bounded_for_a_sweep_that_would_not_fit(tmp_path):
    """733 MB of trajectories: the process that computes them, and then reads all their ends, grows by less than 250 MB.

    The bound is about four tiles of 64 MB: recordings, their data set, what is being compressed.
    """
    code = MEMORY.format(tests=str(Path(__file__).parent.parent), store=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=PATIENCE)
    before, after, whole, ends = map(float, done.stdout.split())
    assert whole > 700 and ends == 2 * 600 * 40
    assert after - before < 250


@pytest.mark.full
def test_a_tile_is_one_chunk(swept):
    for path in Path(swept.attrs["store"]).glob("data.zarr/group-*"):
        for name, array in zarr.open_group(path, mode="r").arrays():
            names = getattr(array.metadata, "dimension_names", None) or ()
            if names[:1] == ("run",):
                assert array.chunks[0] == 3 and array.chunks[1:] == array.shape[1:], name
