"""Locks between processes on files of a store, also on a file system that several machines share.

A lock belongs to the process that holds it and ends with it, however it ends: a killed worker blocks nobody.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from festina.errors import StoreError


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Wait until nobody else holds the lock, and hold it alone."""
    with _opened(path) as stream:
        _lock(stream, fcntl.LOCK_EX, path)
        yield


@contextmanager
def shared(path: Path) -> Iterator[None]:
    """Wait until nobody holds the lock alone, and hold it with others."""
    with _opened(path) as stream:
        _lock(stream, fcntl.LOCK_SH, path)
        yield


@contextmanager
def taken(path: Path) -> Iterator[bool]:
    """Hold the lock alone if it is free, and say whether it was; never wait."""
    with _opened(path) as stream:
        yield _lock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB, path)


def _opened(path: Path) -> IO[str]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a")
    except OSError as error:
        raise StoreError(f"cannot write {path.parent}: {error.strerror or error}") from error


def _lock(stream: IO[str], kind: int, path: Path) -> bool:
    try:
        fcntl.flock(stream, kind)
    except BlockingIOError:
        return False
    except OSError as error:
        raise StoreError(f"cannot lock {path}: {error.strerror or error}") from error
    return True
