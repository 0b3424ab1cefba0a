"""Sweeps on a real dask cluster of worker processes, with kills."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError, FestinaError
from festina.lab.locks import taken
from festina.lab.sweeps import tiles
from festina.lab.sweeps.cluster import Dask, compute_tile
from festina.lab.sweeps.executors import InProcess
from festina.lab.sweeps.folder import prepare, stored_plan, sweep_folder
from festina.lab.sweeps.sweep import planned
from patience import PATIENCE, wait_for
from shared import apart
from toy import Toy

pytest.importorskip("distributed")
pytestmark = pytest.mark.full

QUESTION = {"over": {"strength": [1.0 + k / 10 for k in range(24)]}, "tile": 2, "budget": "quick"}

DRIVER = """
import sys
import festina as fs
from festina.lab.sweeps import cluster
if __name__ == "__main__":
    cluster.PATIENCE = "600s"
    strengths = [1.0 + k / 10 for k in range(24)]
    executor = fs.lab.Dask(scheduler=sys.argv[2])
    fs.sweep("linear/chain", {"strength": strengths}, tile=2, budget="quick", store=sys.argv[1], executor=executor)
"""


@pytest.fixture(autouse=True, scope="module")
def patient(tmp_path_factory, alone):
    """No limits of dask's own: a busy machine may take its time to answer. Some of the processes are killed."""
    import dask.config

    limits = {f"distributed.comm.timeouts.{each}": f"{PATIENCE:g}s" for each in ("connect", "tcp")}
    with pytest.MonkeyPatch.context() as patch, dask.config.set(limits):
        for name, limit in limits.items():
            patch.setenv(f"DASK_{name.upper().replace('.', '__')}", limit)
        for name, value in apart(tmp_path_factory.mktemp("cache")).items():
            patch.setenv(name, value)
        patch.setattr("festina.lab.sweeps.cluster.PATIENCE", f"{PATIENCE:g}s")
        yield


@pytest.fixture(scope="module")
def cluster(patient):
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as made:
        yield made


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    return fs.sweep("linear/chain", store=tmp_path_factory.mktemp("alone"), executor=InProcess(), **QUESTION).load()


def done(store):
    return list(store.rglob("done/c/*"))


def assert_same(data, other):
    assert data["done"].all()
    for name in other.variables:
        assert data[name].equals(other[name]), name


def test_a_driver_and_a_worker_are_killed_and_nothing_is_lost_or_doubled(tmp_path, cluster, alone):
    """The driver is killed in the middle, a worker under the next driver; the bits are those of one process."""
    folder = sweep_folder(tmp_path, planned("linear/chain", **QUESTION))
    with taken(tiles.lock_of_tile(folder, 0, 22)):  # the last tile: it cannot be done before the driver is killed
        driver = subprocess.Popen([sys.executable, "-c", DRIVER, str(tmp_path), cluster.scheduler_address])
        wait_for(lambda: done(tmp_path) or driver.poll() is not None)
        os.kill(driver.pid, signal.SIGKILL)
        driver.wait()
    assert 0 < len(done(tmp_path)) < 12
    second = subprocess.Popen([sys.executable, "-c", DRIVER, str(tmp_path), cluster.scheduler_address])
    before = len(done(tmp_path))
    wait_for(lambda: len(done(tmp_path)) > before or second.poll() is not None)
    victim = next(iter(cluster.workers.values())).process.pid
    os.kill(victim, signal.SIGKILL)
    assert second.wait(timeout=PATIENCE) == 0
    executor = Dask(scheduler=cluster.scheduler_address)
    assert_same(fs.sweep("linear/chain", store=tmp_path, executor=executor, **QUESTION), alone)
    cards = sorted(path.name for path in tmp_path.rglob("tiles/0-*.json"))
    assert len(cards) == 12


def test_a_cluster_is_started_for_the_sweep(tmp_path, alone):
    assert_same(fs.sweep("linear/chain", store=tmp_path, executor=Dask(workers=2), **QUESTION), alone)


def test_what_travels_is_small(tmp_path):
    """A task is a folder and a number, its answer a count; a tile that is done is not computed again."""
    from distributed import Client

    plan = planned("linear/chain", **QUESTION)
    folder = sweep_folder(tmp_path, plan)
    prepare(folder, plan)
    with Client(processes=False, dashboard_address=":0") as client:
        answers = [client.submit(compute_tile, str(folder), 3, pure=False).result() for _ in range(2)]
    assert answers == [2, 0]
    assert stored_plan(folder).tiles()[3].start == 6 and len(done(tmp_path)) == 1


def test_problems_are_said_in_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("festina.lab.sweeps.cluster.PATIENCE", "1s")
    with pytest.raises(FestinaError, match="workers cannot find the experiment 'toy/decay'"):
        fs.sweep(Toy(), "speed=1,2", store=tmp_path, executor=Dask(workers=1))
    with pytest.raises(ArgumentError, match="`scheduler` must be given, or else `workers`"):
        Dask()
    with pytest.raises(ArgumentError, match="`workers` must be at least 1"):
        Dask(workers=0)
    with pytest.raises(FestinaError, match=r"no dask scheduler answers at .tcp://127\.0\.0\.1:9"):
        fs.sweep("linear/chain", store=tmp_path, executor=Dask(scheduler="tcp://127.0.0.1:9"), **QUESTION)
    assert np.size(done(tmp_path)) == 0
