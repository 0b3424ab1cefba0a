"""Where a result comes from: version, code, machine and time."""

import hashlib
import json
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from inspect import getfile
from pathlib import Path
from typing import Any

from festina._version import __version__

PACKAGE = Path(__file__).resolve().parent.parent


@cache
def code_digest() -> str:
    """A hash of festina's own source, so that a changed formula never answers with an old result."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(path.relative_to(PACKAGE).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def own_code(experiment: object) -> str:
    """A hash of an experiment's own file if it is none of festina's, which `code_digest` covers."""
    try:
        path = Path(getfile(type(experiment))).resolve()
        return "" if PACKAGE in path.parents else hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    except (OSError, TypeError):  # typed in at a prompt: there is no file to tell one version from another
        return str(id(type(experiment)))


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


def provenance() -> dict[str, Any]:
    """What is written into every result."""
    return {
        "version": __version__,
        "code": code_digest(),
        "commit": commit(),
        "jax": version("jax"),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "precision": "float64",
    }


def digest(*parts: Any) -> str:
    """A short hash of anything that is JSON, the same on every machine."""
    text = json.dumps(parts, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
