"""Many workers, one store: kills at random moments, and the same bits in the end."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import xarray as xr

import festina as fs
from festina.errors import ArgumentError, FestinaError, FestinaWarning, Interrupted, StoreError
from festina.lab.damage import read_sealed, write_sealed
from festina.lab.sweeps.crew import Crew, runs_done
from festina.lab.sweeps.executors import InProcess, Processes
from festina.lab.sweeps.folder import prepare, status, stored_plan, sweep_folder
from festina.lab.sweeps.plan import Plan
from festina.lab.sweeps.sweep import planned, resume
from festina.lab.sweeps.worker import Shard, work
from interrupting import answering, at_work_on
from patience import PATIENCE, wait_for
from shared import apart

QUESTION = {"over": {"strength": [1.0 + k / 10 for k in range(24)], "depth": ["1", "2"]}, "tile": 3, "budget": "quick"}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> xr.Dataset:
    return fs.sweep("linear/chain", store=tmp_path_factory.mktemp("alone"), executor=InProcess(), **QUESTION).load()


@pytest.fixture(autouse=True, scope="module")
def cache(tmp_path_factory):
    """Workers share what they compile, as they do from the command line; some of them are killed."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in apart(tmp_path_factory.mktemp("cache")).items():
            patch.setenv(name, value)
        yield


def begun(store: Path) -> tuple[Path, Plan]:
    plan = planned("linear/chain", **QUESTION)
    folder = sweep_folder(store, plan)
    prepare(folder, plan)
    return folder, plan


def assert_undamaged_and_same(folder: Path, undisturbed: xr.Dataset) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", FestinaWarning)
        data = resume(folder, executor=InProcess()).load()
    assert data["done"].all()
    for name in undisturbed.variables:
        assert data[name].equals(undisturbed[name]), name


def kill_now_and_then(processes: Callable[[], list[subprocess.Popen]], times: int, seed: int) -> int:
    """Kill some of the processes, at random moments, as long as there are any; how many."""
    killed, chance = 0, random.Random(seed)
    while killed < times and (alive := [each for each in processes() if each.poll() is None]):
        chance.choice(alive).kill()
        killed += 1
        time.sleep(chance.uniform(0.3, 1.2))
    return killed


@pytest.mark.full
def test_killed_workers_are_replaced_and_nothing_is_lost(tmp_path, undisturbed):
    folder, plan = begun(tmp_path)
    crew, heard = Crew(folder, 2), []

    def wait_for_the_first_tile():
        wait_for(lambda: runs_done(folder, plan))
        kill_now_and_then(lambda: [worker.process for worker in list(crew._workers)], 2, seed=1)

    killer = threading.Thread(target=wait_for_the_first_tile)
    killer.start()
    crew.run(plan, heard.append)
    killer.join()
    assert heard[-1] == plan.runs == 48 and heard == sorted(heard)
    assert status(folder).done == 48 and status(folder).at_work == 0
    assert_undamaged_and_same(folder, undisturbed)


DRIVER = """
import sys
from pathlib import Path
from festina.lab.sweeps.crew import Crew
from festina.lab.sweeps.folder import stored_plan
folder = Path(sys.argv[1])
Crew(folder, 2).run(stored_plan(folder))
"""


@pytest.mark.full
def test_a_killed_driver_takes_its_workers_along_and_another_goes_on(tmp_path, undisturbed):
    folder, plan = begun(tmp_path)
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, str(folder)])
    wait_for(lambda: len(at_work_on(folder)) > 2)
    wait_for(lambda: runs_done(folder, plan) > 0)
    os.kill(driver.pid, signal.SIGKILL)
    driver.wait()
    wait_for(lambda: not at_work_on(folder))
    assert_undamaged_and_same(folder, undisturbed)


def test_an_interrupted_driver_takes_its_workers_along(tmp_path):
    folder, plan = begun(tmp_path)
    crew, pids = Crew(folder, 2), []

    def interrupt(runs: int) -> None:
        pids.extend(worker.process.pid for worker in crew._workers)
        signal.raise_signal(signal.SIGINT)

    with answering(signal.default_int_handler), pytest.raises(Interrupted, match=r"sweep interrupted; .*ask again"):
        crew.run(plan, interrupt)
    assert len(pids) == 2 and crew._workers == [] and not at_work_on(folder)


def worker(folder: Path, *words: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "festina", "sweep", "work", str(folder), *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.full
def test_workers_who_know_nothing_of_each_other_never_harm_the_store(tmp_path, undisturbed):
    """Four at once on one sweep, two of them killed on the way and started again: the stress test of the store."""
    folder, plan = begun(tmp_path)
    crowd = [worker(folder) for _ in range(4)]
    wait_for(lambda: runs_done(folder, plan) > 0)
    crowd += [worker(folder) for _ in range(kill_now_and_then(lambda: crowd, 2, seed=2))]
    said = [each.communicate(timeout=PATIENCE) for each in crowd]
    assert all(each.returncode in (0, -signal.SIGKILL) for each in crowd), said
    assert status(folder).done == 48
    assert_undamaged_and_same(folder, undisturbed)


@pytest.mark.full
def test_shards_run_at_once_and_together_they_are_the_sweep(tmp_path, undisturbed):
    folder, _ = begun(tmp_path)
    shards = [worker(folder, "--shard", f"{k}/3") for k in range(3)]
    said = [each.communicate(timeout=PATIENCE) for each in shards]
    runs = [int(out.split(": ")[1].split()[0]) for out, _ in said]
    assert sum(runs) == 48 and min(runs) >= 15, said
    assert_undamaged_and_same(folder, undisturbed)


def test_a_shard_computes_its_tiles_and_no_others(tmp_path):
    folder, plan = begun(tmp_path)
    computed = []
    work(folder, plan, shard=Shard(1, 8), tell=lambda tile, outcome: computed.append(tile))
    assert computed == plan.tiles()[1::8]
    with pytest.raises(ArgumentError, match="`shard` must be i/n with i from 0 to 7, but is '8/8'"):
        Shard(8, 8)


@pytest.mark.full
def test_a_worker_that_fails_says_why(tmp_path):
    folder, plan = begun(tmp_path)
    card = folder / "sweep.json"
    write_sealed(card, read_sealed(card) | {"code": "another"})
    with pytest.raises(FestinaError, match=r"a worker failed: .*was begun by festina"):
        Crew(folder, 1).run(plan)


@pytest.mark.full
def test_processes_are_started_only_if_it_is_worth_it(tmp_path, monkeypatch):
    started = []
    monkeypatch.setattr(Crew, "run", lambda self, plan, tell: started.append(self.size) or work(self.folder, plan))
    monkeypatch.setattr("festina.lab.sweeps.executors.START_UP", 1e9)
    fs.sweep("linear/chain", store=tmp_path / "short", executor=Processes(4), **QUESTION)
    assert started == []
    monkeypatch.setattr("festina.lab.sweeps.executors.START_UP", 0.0)
    data = fs.sweep("linear/chain", store=tmp_path / "long", executor=Processes(4), **QUESTION)
    assert started == [4] and data["done"].all()
    with pytest.raises(ArgumentError, match="`processes` must be at least 1"):
        Processes(0)


@pytest.mark.full
def test_a_sweep_goes_on_from_its_folder_alone(tmp_path, undisturbed):
    folder, plan = begun(tmp_path)
    work(folder, plan, tell=lambda tile, outcome: True)
    assert status(folder).done == 3
    assert stored_plan(folder).question() == plan.question()
    assert_undamaged_and_same(folder, undisturbed)
    with pytest.raises(StoreError, match="holds no readable sweep"):
        resume(tmp_path)


@pytest.mark.full
def test_bits_do_not_depend_on_cores(tmp_path):
    """Products long enough for XLA to share them out among threads, had it several."""
    question = {"over": {"scale": [0.01, 0.02]}, "tile": 1, "budget": "quick", "seeds": 1, "variables": ["similarity"]}
    question |= {"hidden": 300, "features": 400, "records": 10, "until": 0.3}
    plan = planned("linear/semantics", **question)
    found = []
    for name, threads in (("one", "1"), ("two", "2")):
        folder = sweep_folder(tmp_path / name, plan)
        prepare(folder, plan)
        command = [sys.executable, "-m", "festina", "sweep", "resume", str(folder)]
        given = os.environ | dict.fromkeys(("NPROC", "OPENBLAS_NUM_THREADS"), threads)  # of XLA and of NumPy
        subprocess.run(command, check=True, capture_output=True, env=given, timeout=PATIENCE)
        found.append(fs.lab.open_sweep(folder)["similarity"].load())
    assert found[0].equals(found[1])


def test_with_several_threads_nothing_is_computed_here(tmp_path, monkeypatch):
    started = []
    monkeypatch.setenv("NPROC", "2")
    monkeypatch.setattr(Crew, "run", lambda self, plan, tell: started.append(self.size) or work(self.folder, plan))
    monkeypatch.setattr("festina.lab.sweeps.executors.START_UP", 1e9)
    fs.sweep("linear/chain", store=tmp_path, executor=Processes(2), **QUESTION)
    assert started == [2]
