"""A sweep as an array job of SLURM: every task computes its share of the tiles against the one store.

There is no scheduler process and nothing to keep alive: tasks may start in any order, at any time, and again.
"""

import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from festina.errors import FestinaError, require
from festina.files import write_atomically
from festina.lab.sweeps.plan import Plan

SCRIPT = "slurm.sh"


def script(folder: Path, plan: Plan, tasks: int, *, time: str, memory: str, options: Sequence[str] = ()) -> str:
    """The text of an array job.

    Args:
        folder: of the sweep, on a file system that all nodes share.
        plan: of the sweep.
        tasks: of the array; each computes every so many-th tile on one core.
        time: limit of a task, as SLURM writes it: ``1:00:00``.
        memory: of a task, as SLURM writes it: ``4G``.
        options: further ones of sbatch, as ``--partition=short``.
    """
    require(tasks >= 1, "tasks", "be at least 1", tasks)
    tasks = min(tasks, len(plan.tiles()))
    settings = [
        f"--job-name=festina-{plan.experiment.name.replace('/', '-')}",
        f"--array=0-{tasks - 1}",
        "--ntasks=1",
        "--cpus-per-task=1",
        f"--time={time}",
        f"--mem={memory}",
        f"--output={folder.absolute() / 'slurm-%A_%a.out'}",
        *options,
    ]
    command = [sys.executable, "-m", "festina", "sweep", "work", str(folder.absolute())]
    return "\n".join(
        [
            "#!/bin/sh",
            *(f"#SBATCH {each}" for each in settings),
            "",
            f"# {plan.runs} runs of {plan.experiment.name} in {len(plan.tiles())} batches, for {tasks} tasks.",
            "# A task that was killed may be submitted again: it goes on with what is not done.",
            f'exec {shlex.join(command)} --shard "$SLURM_ARRAY_TASK_ID/{tasks}"',
            "",
        ]
    )


def write_script(folder: Path, text: str) -> Path:
    """Put the script beside the sweep."""
    path = folder / SCRIPT
    write_atomically(path, lambda temporary: _write(temporary, text))
    return path


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)


def submit(path: Path) -> str:
    """Hand the script to SLURM; what it says."""
    if shutil.which("sbatch") is None:
        raise FestinaError(f"there is no `sbatch` here; submit {path} on a machine that has it")
    done = subprocess.run(["sbatch", str(path)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise FestinaError(f"sbatch refused {path}: {' '.join(done.stderr.split())}")
    return done.stdout.strip()
