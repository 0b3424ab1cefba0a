"""Sweeps: axes, batches, kills, failures, and how often they compile."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax
import numpy as np
import pytest
import xarray as xr

import festina as fs
from festina.errors import ArgumentError, StoreError, UnknownName
from festina.lab.axes import parse_axis
from festina.lab.grid import open_sweep
from festina.lab.plan import make_plan
from toy import Toy


@pytest.fixture(autouse=True)
def known_toy(monkeypatch):
    """A sweep is opened again through the registry: let it know the toy."""
    find = lambda name: Toy()  # noqa: E731
    monkeypatch.setattr("festina.lab.grid.find", find)


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


@pytest.mark.parametrize("text", ["speed", "speed=", "=1", "speed=lin:0:1", "speed=log:0:1:5", "speed=lin:0:1:0"])
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


def test_a_hundred_points_compile_once(tmp_path, monkeypatch):
    """One program for a 100-point sweep over a continuous field, cut into several tiles."""
    traced, original = [], Toy.simulate
    monkeypatch.setattr(Toy, "simulate", lambda self, *args: traced.append(args) or original(self, *args))
    jax.clear_caches()
    fs.sweep(Toy(), {"speed": np.linspace(0.1, 3, 100)}, store=tmp_path, tile=16)
    assert len(traced) == 2  # once for the start, once for the chunk, however many tiles and chunks there are


def test_variables_can_be_chosen(tmp_path):
    data = fs.sweep(Toy(), ["speed=1,2"], store=tmp_path, variables=["final"])
    assert set(data.data_vars) == {"final", "done", "failed"}
    with pytest.raises(ArgumentError, match="`variables` must name some of final, level, total, but names nothing"):
        fs.sweep(Toy(), ["speed=1,2"], store=tmp_path, variables=["nothing"])


def test_failed_runs_are_kept_and_the_others_go_on(tmp_path):
    data = fs.sweep(Toy(), {"speed": [-1.0, 1.0, -2.0]}, store=tmp_path, explode=True)
    assert data["failed"].values.tolist() == [[True, False, True]]
    assert data["done"].all()
    assert len(data.attrs["failures"]) == 2 and "run 2 failed" in data.attrs["failures"][1]
    assert np.isfinite(data["final"].sel(speed=1.0)).all()


def test_asked_again_nothing_is_computed(tmp_path, monkeypatch):
    first = fs.sweep(Toy(), ["speed=1,2"], store=tmp_path)
    monkeypatch.setattr("festina.lab.sweep.simulate", None)
    assert fs.sweep(Toy(), ["speed=1,2"], store=tmp_path).identical(first)


def test_an_interrupted_sweep_goes_on_and_ends_bit_identical(tmp_path, monkeypatch):
    question = {"over": ["speed=lin:0.1:3:20"], "tile": 4, "spread": 0.3}
    whole = fs.sweep(Toy(), store=tmp_path / "whole", **question)
    from festina.lab import sweep as module

    simulate, calls = module.simulate, []

    def interrupted(*args, **kwargs):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return simulate(*args, **kwargs)

    monkeypatch.setattr("festina.lab.sweep.simulate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fs.sweep(Toy(), store=tmp_path / "cut", **question)
    folder = next((tmp_path / "cut").glob("toy/decay/sweep-*"))
    assert open_sweep(folder)["done"].sum() == 8
    monkeypatch.setattr("festina.lab.sweep.simulate", simulate)
    assert_same(fs.sweep(Toy(), store=tmp_path / "cut", **question), whole)


def assert_same(one: xr.Dataset, other: xr.Dataset) -> None:
    assert set(one.variables) == set(other.variables)
    for name in one.variables:
        np.testing.assert_array_equal(one[name].values, other[name].values)


KILLED = """
import sys
sys.path[:0] = [{tests!r}]
import conftest, jax, festina as fs, festina.lab.grid
from toy import Toy
festina.lab.grid.find = lambda name: Toy()
with jax.enable_x64(True):
    fs.sweep(Toy(), ["speed=lin:0.1:3:60"], store={store!r}, tile=2, spread=0.3)
"""


def test_killed_at_any_moment_it_resumes_bit_identical(tmp_path):
    command = [sys.executable, "-c", KILLED.format(tests=str(Path(__file__).parent.parent), store=str(tmp_path / "k"))]
    for delay in (0.05, 0.6):
        process = subprocess.Popen(command)
        deadline = time.monotonic() + 120
        while not list((tmp_path / "k").rglob("done/c/*")) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(delay)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    question = {"over": ["speed=lin:0.1:3:60"], "tile": 2, "spread": 0.3}
    assert_same(
        fs.sweep(Toy(), store=tmp_path / "k", **question), fs.sweep(Toy(), store=tmp_path / "whole", **question)
    )


def test_a_store_of_another_version_is_not_gone_on_with(tmp_path, monkeypatch):
    fs.sweep(Toy(), ["speed=1,2"], store=tmp_path)
    monkeypatch.setattr("festina.lab.sweep.code_digest", lambda: "another")
    with pytest.raises(StoreError, match=r"was begun by festina .* choose another store"):
        fs.sweep(Toy(), ["speed=1,2"], store=tmp_path)


def test_a_damaged_card_is_named(tmp_path):
    data = fs.sweep(Toy(), ["speed=1,2"], store=tmp_path)
    (Path(data.attrs["store"]) / "sweep.json").write_text("{")
    with pytest.raises(StoreError, match=r"sweep.json is damaged; remove"):
        fs.sweep(Toy(), ["speed=1,2"], store=tmp_path)
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
    small, large = (make_plan(Toy(), [], tuple(range(1000)), "full", {"units": u}).groups[0].tile for u in (1, 64))
    assert small == 128
    huge = make_plan(Toy(), [], tuple(range(1000)), "full", {"units": 64, "records": 50_000}).groups[0].tile
    assert huge == 256 * 2**20 // ((64 + 1) * 8 * 50_001) < large
