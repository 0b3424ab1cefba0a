"""Where a result comes from: version, code, machine and time."""

import hashlib
import json
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from festina._version import __version__
from festina.experiment import Experiment
from festina.lab.identity import identity


@cache
def commit() -> str:
    """The commit of the checkout festina runs from; empty if it is installed without one."""
    if not _git("ls-files", "--error-unmatch", Path(__file__).name):
        return ""
    return _git("rev-parse", "--short=12", "HEAD")


def _git(*words: str) -> str:
    """What git answers about the folder of this file; empty if it is not git's."""
    command = ["git", "-C", str(Path(__file__).resolve().parent), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def provenance(experiment: Experiment) -> dict[str, Any]:
    """What is written into every result of an experiment."""
    return {"code": identity(experiment), "created": datetime.now(UTC).isoformat(timespec="seconds"), **machinery()}


def machinery() -> dict[str, Any]:
    """Which festina this is, and what it runs on."""
    return {
        "version": __version__,
        "commit": commit(),
        "jax": version("jax"),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "precision": "float64",
    }


def digest(*parts: Any) -> str:
    """A short hash of anything that is JSON, the same on every machine."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
