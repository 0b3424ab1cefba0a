"""Building the C kernels: once for each machine, into the folder of compiled programs; never an error if it fails."""

import ctypes
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from festina.errors import StoreError
from festina.files import cache_folder, write_atomically
from festina.journal import journal
from festina.programs import processor

JOURNAL = journal(__name__)
HERE = Path(__file__).resolve().parent
SOURCES = ("joint.c", "joint_kernels.h")
FLAGS = ("-std=gnu11", "-O3", "-fno-math-errno", "-fno-trapping-math", "-fno-strict-aliasing", "-fPIC", "-shared")
FOR_THIS_PROCESSOR = (("-march=native",), ("-mcpu=native",), ())  # as compilers and processors have it
NAMES = ("cc", "gcc", "clang")
PATIENCE = 300.0  # seconds for a compiler
OFF = ("", "0")


def library() -> ctypes.CDLL | None:
    """The kernels, built if need be; None if they are switched off or cannot be had, which the journal tells once.

    ``FESTINA_FAST=0`` switches them off; ``CC`` names a compiler other than cc, gcc, clang or that of the package
    `ziglang`. They are kept where compiled programs are, see ``FESTINA_CACHE``.
    """
    if os.environ.get("FESTINA_FAST", "1") in OFF:
        return None
    return _library(*(os.environ.get(name) for name in ("CC", "PATH", "FESTINA_CACHE", "XDG_CACHE_HOME", "HOME")))


@lru_cache
def _library(wanted: str | None, path: str | None, *where: str | None) -> ctypes.CDLL | None:
    """The kernels by a compiler, kept in a folder; looked for once in each environment."""
    try:
        return _loaded(compiler(wanted or "", path), cache_folder())
    except (OSError, StoreError, subprocess.SubprocessError) as error:
        JOURNAL.info("kernels in C are not used, JAX does their work: %s", " ".join(str(error).split()))
        return None


def compiler(wanted: str = "", path: str | None = None) -> list[str]:
    """The words that call a C compiler: the wanted one, or one that is on the path, or that of the package `ziglang`.

    Raises:
        FileNotFoundError: there is none.

    Example:
        >>> from festina.fast.building import compiler
        >>> import sys
        >>> compiler(f"{sys.executable} -m ziglang cc")[1:]  # whatever is wanted, if its first word can be run
        ['-m', 'ziglang', 'cc']
    """
    for words in [shlex.split(wanted)] if wanted.strip() else [[name] for name in NAMES]:
        found = shutil.which(words[0], path=path)
        if found:
            return [found, *words[1:]]
    if wanted.strip():
        raise FileNotFoundError(f"CC names {wanted!r}, which cannot be run")
    if find_spec("ziglang") is not None:
        return [sys.executable, "-m", "ziglang", "cc"]
    raise FileNotFoundError("no C compiler was found (cc, gcc, clang, or the extra `fast`)")


def _loaded(words: list[str], folder: Path | None) -> ctypes.CDLL:
    if folder is None:
        raise OSError("there is no folder to keep them in")
    path = folder / "kernels" / f"joint-{_digest(words)}.so"
    if path.exists():
        try:
            return _opened(path)
        except OSError:  # damaged: it is made anew
            path.unlink(missing_ok=True)
    JOURNAL.info("building kernels in C, once on this machine")
    write_atomically(path, lambda temporary: _build(words, temporary))
    return _opened(path)


def _digest(words: list[str]) -> str:
    """All that the kernels depend on: source, compiler, flags and processor."""
    told = subprocess.run([*words, "--version"], capture_output=True, timeout=PATIENCE, check=False).stdout
    parts = [
        told,
        str((words, FLAGS)).encode(),
        processor().encode(),
        *((HERE / name).read_bytes() for name in SOURCES),
    ]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:32]


def _build(words: list[str], path: Path) -> None:
    """One shared library, for this very processor if the compiler knows how."""
    done = None
    for own in FOR_THIS_PROCESSOR:
        call = [*words, *FLAGS, *own, "-o", str(path), str(HERE / SOURCES[0]), "-lm"]
        done = subprocess.run(call, capture_output=True, text=True, timeout=PATIENCE, check=False)
        if done.returncode == 0 and path.exists():
            return
    said = (done.stderr.strip().splitlines() or ["it says nothing"])[0] if done else ""
    raise OSError(f"{words[0]} could not build them: {said}")


def _opened(path: Path) -> ctypes.CDLL:
    """A library that has what is asked of it."""
    opened = ctypes.CDLL(str(path))
    for name in ("festina_joint_32", "festina_joint_64", "festina_normals"):
        if not hasattr(opened, name):
            raise OSError(f"{path} has no {name}")
    return opened
