"""A run's state on disk: written whole or not at all, and never trusted if it is damaged or of another run."""

import hashlib
import json
import re
import warnings
from itertools import count
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from festina.errors import FestinaWarning, StoreError
from festina.files import write_atomically
from festina.learning.failure import Build

ARCHIVE = b"PK"  # how a NumPy archive begins


def fingerprint(*parts: Any) -> str:
    """A hash of arrays and of anything with a faithful `repr`."""
    digest = hashlib.sha256()
    for leaf in jax.tree.leaves(parts):
        if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            leaf = jax.random.key_data(leaf)
        is_array = isinstance(leaf, jax.Array | np.ndarray | np.generic)
        digest.update(np.ascontiguousarray(leaf).tobytes() if is_array else repr(leaf).encode())
        digest.update(b"|")
    return digest.hexdigest()


def mark_of(build: Build, inputs: Any) -> str:
    """A hash of the program of a run: the same in every process that builds it, another for any other program.

    Neither the names of functions say what they compute nor their addresses; their traced program does.
    """

    def program(inputs: Any) -> Any:
        process = build(inputs)
        state = process.advance(process.initial, jnp.asarray(1))
        return state, process.observe(state), process.conclude(state)

    traced = jax.make_jaxpr(program)(inputs)
    return fingerprint(re.sub(r"0x[0-9a-f]+", "", str(traced.jaxpr)), *traced.consts)


def save(path: Path, mark: str, progress: int, arrays: dict[str, np.ndarray], notes: dict[str, Any]) -> None:
    """Write a checkpoint: how far the run is, its arrays, and notes that are JSON."""
    content = {"mark": mark, "progress": progress, "notes": notes, "arrays": sorted(arrays)}
    header = np.frombuffer(json.dumps(content).encode(), dtype=np.uint8)

    def write(temporary: Path) -> None:
        with temporary.open("wb") as stream:
            np.savez(stream, allow_pickle=False, header=header, **{f"a:{name}": a for name, a in arrays.items()})

    write_atomically(path, write)


def load(path: Path, mark: str) -> tuple[int, dict[str, np.ndarray], dict[str, Any]] | None:
    """Read a checkpoint; None if there is none that can be trusted."""
    if not path.exists():
        return None
    if path.is_dir() or path.read_bytes()[:2] != ARCHIVE:
        raise StoreError(f"{path} is no checkpoint; it is left alone, remove it or choose another path")
    try:
        with np.load(path) as stored:
            header = json.loads(stored["header"].tobytes())
            arrays = {name[2:]: stored[name] for name in stored.files if name.startswith("a:")}
        whole = sorted(arrays) == header["arrays"]  # a garbled directory of an archive may lose some without a word
    except Exception:  # an archive that is damaged is answered by errors of many kinds
        whole, header, arrays = False, {}, {}
    if not whole:
        return _refuse(path, "is damaged")
    if header["mark"] != mark:
        return _refuse(path, "belongs to another run")
    return header["progress"], arrays, header["notes"]


def _refuse(path: Path, why: str) -> None:
    """Set a checkpoint aside, say why, and let the run start anew."""
    aside = next(name for k in count(1) if not (name := path.with_name(f"{path.name}.unusable-{k}")).exists())
    path.replace(aside)
    warnings.warn(f"checkpoint {path} {why}; moved to {aside.name}, starting anew", FestinaWarning, stacklevel=4)
