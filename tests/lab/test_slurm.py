"""Sweeps as array jobs: the script's text and, where there is a SLURM, the job itself with a task cancelled."""

import shutil
import subprocess

import pytest

from festina.errors import ArgumentError, FestinaError
from festina.lab.sweeps import slurm
from festina.lab.sweeps.executors import InProcess
from festina.lab.sweeps.folder import prepare, status, sweep_folder
from festina.lab.sweeps.sweep import planned, resume
from patience import PATIENCE, wait_for


def begun(store):
    plan = planned("linear/chain", {"strength": [1.0 + k / 10 for k in range(24)]}, tile=2, budget="quick")
    folder = sweep_folder(store, plan)
    prepare(folder, plan)
    return folder, plan


def test_the_script_gives_every_task_its_share(tmp_path):
    folder, plan = begun(tmp_path / "a folder")
    text = slurm.script(folder, plan, 5, time="30:00", memory="2G", options=["--partition=short"])
    lines = text.splitlines()
    assert lines[0] == "#!/bin/sh"
    for setting in ("--array=0-4", "--cpus-per-task=1", "--time=30:00", "--mem=2G", "--partition=short"):
        assert f"#SBATCH {setting}" in lines
    assert lines[-1].endswith(f"""sweep work '{folder}' --shard "$SLURM_ARRAY_TASK_ID/5\"""")
    assert "--array=0-11" in slurm.script(folder, plan, 100, time="1", memory="1G")  # no more tasks than batches
    with pytest.raises(ArgumentError, match="`tasks` must be at least 1"):
        slurm.script(folder, plan, 0, time="1", memory="1G")


@pytest.mark.full
def test_a_task_of_the_script_computes_its_share(tmp_path):
    """The script itself, run as SLURM would run a task."""
    folder, plan = begun(tmp_path)
    path = slurm.write_script(folder, slurm.script(folder, plan, 4, time="10:00", memory="2G"))
    environment = {"SLURM_ARRAY_TASK_ID": "3", "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run([str(path)], env=environment, capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert done.stdout.strip() == "linear/chain: 6 runs computed in 3 batches"
    assert status(folder).done == 6


def test_without_slurm_one_is_told_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(FestinaError, match=r"there is no `sbatch` here; submit .*slurm.sh on a machine that has it"):
        slurm.submit(tmp_path / "slurm.sh")


def slurm_answers() -> bool:
    if shutil.which("sinfo") is None or shutil.which("sbatch") is None:
        return False
    found = subprocess.run(["sinfo", "-h", "-o", "%T"], capture_output=True, text=True, check=False, timeout=PATIENCE)
    return found.returncode == 0 and any(word in found.stdout for word in ("idle", "mixed", "alloc"))


def running(job: str) -> str:
    return subprocess.run(["squeue", "-h", "-j", job], capture_output=True, text=True, check=False).stdout


@pytest.mark.skipif(not slurm_answers(), reason="no SLURM answers here")
def test_a_real_array_job_with_a_task_cancelled(tmp_path):
    folder, plan = begun(tmp_path)
    path = slurm.write_script(folder, slurm.script(folder, plan, 3, time="10:00", memory="2G"))
    job = slurm.submit(path).split()[-1]
    subprocess.run(["scancel", f"{job}_1"], check=True)
    wait_for(lambda: not running(job))
    assert status(folder).done == 16
    again = slurm.submit(path).split()[-1]
    wait_for(lambda: not running(again))
    assert status(folder).done == 24
    assert resume(folder, executor=InProcess())["done"].all()
