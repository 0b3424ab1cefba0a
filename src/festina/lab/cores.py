"""One core for one worker: small operations lose by being shared out among threads."""

import fcntl
import os
import tempfile
from pathlib import Path
from typing import IO

_held: list[IO[str]] = []  # locks end when their files are closed: these stay open as long as the process lives


def available() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def take_core() -> int | None:
    """Keep this process to a core that no other worker of the same user has taken; None if there is none.

    To be called before JAX is imported, which counts the cores it may use and starts as many threads.
    """
    if not hasattr(os, "sched_setaffinity"):
        return None
    for core in sorted(os.sched_getaffinity(0)):
        path = Path(tempfile.gettempdir()) / f"festina-{os.getuid()}-core-{core}.lock"
        try:
            stream = path.open("a")
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:  # taken, or no place for locks
            continue
        _held.append(stream)
        os.sched_setaffinity(0, {core})
        return core
    return None
