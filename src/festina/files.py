"""Files that appear whole or not at all, and the folder of what is compiled."""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from festina.errors import StoreError

RESULTS = "runs"
"""The folder of results, unless another is named."""


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Let ``write`` fill a temporary neighbour, then put it in place in one move."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(temporary)
        with temporary.open("rb") as stream:
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from error


def write_json(path: Path, content: Any) -> None:
    """Write JSON whole or not at all."""
    write_text(path, json.dumps(content, indent=1))


def write_text(path: Path, text: str) -> None:
    """Write text whole or not at all."""
    write_bytes(path, text.encode())


def write_bytes(path: Path, content: bytes) -> None:
    """Write bytes whole or not at all."""

    def write(temporary: Path) -> None:
        temporary.write_bytes(content)

    write_atomically(path, write)


def cache_folder() -> Path | None:
    """Where compiled programs are kept; None if nowhere (FESTINA_CACHE is set and empty, or there is no home)."""
    chosen = os.environ.get("FESTINA_CACHE")
    if chosen is not None:
        return Path(chosen) if chosen else None
    shared = os.environ.get("XDG_CACHE_HOME")
    try:
        base = Path(shared) if shared and Path(shared).is_absolute() else Path.home() / ".cache"
    except RuntimeError:
        return None
    return base / "festina" / "compiled"
