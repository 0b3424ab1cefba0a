"""One core for one worker: small operations lose by being shared out among threads."""

import fcntl
import os
import tempfile
from pathlib import Path
from typing import IO

THREADS = "NPROC"  # the variable of the environment by which XLA sizes its pool of threads
_held: list[IO[str]] = []  # locks end when their files are closed: these stay open as long as the process lives


def available() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def keep_to_one_thread() -> None:
    """Let XLA compute with one thread in this process; to be called before it starts.

    With several it sums long products in another order, and the last bits of a result depend on how many there are.
    """
    os.environ[THREADS] = "1"


def threads() -> int:
    """How many threads XLA computes with in this process."""
    asked = os.environ.get(THREADS, "")
    return int(asked) if asked.isdigit() and int(asked) > 0 else available()


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
