"""Checkpoints of a network on disk, read without executing anything.

One file is a network at one step of its training; together they are its course, if they agree with one another.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from festina.watching.formats import READERS, Arrays, CheckpointError, first_sentence

MOST_BYTES = 4 * 2**30
"""What the arrays of one file may take, unless another bound is given."""

START = re.compile(r"(?<![a-z])(init|initial|initiali[sz]ation|start)(?![a-z])[^0-9]*$", re.IGNORECASE)
STEP = re.compile(r"steps?[^a-z0-9]*$", re.IGNORECASE)


@dataclass(frozen=True)
class Checkpoint:
    """A file, and the training step at which it was written.

    Example:
        >>> from pathlib import Path
        >>> fs.watching.files.Checkpoint(100, Path("model_000100.npz")).step
        100
    """

    step: int
    path: Path


def read_checkpoint(path: str | Path, most_bytes: int = MOST_BYTES) -> Arrays:
    """The arrays of one file by name, as they are in it.

    Args:
        path: of a file `.npz` (NumPy), `.safetensors`, or `.pt`, `.pth`, `.bin`, `.ckpt` (PyTorch, which has to be
            installed). What PyTorch saved under `state_dict`, `model_state_dict` or `model` is looked for there.
        most_bytes: that the arrays may take; a file that would take more is refused before they are loaded.

    Returns:
        Arrays by name; names of PyTorch that are nested are joined by dots, and what is no array is left out. A file
        that is damaged, or that could only be read by executing code in it, is refused.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     np.savez(Path(folder) / "model_100.npz", weight=np.ones((3, 2)), bias=np.zeros(3))
        ...     found = fs.watching.files.read_checkpoint(Path(folder) / "model_100.npz")
        >>> {name: array.shape for name, array in found.items()}
        {'weight': (3, 2), 'bias': (3,)}
    """
    path = Path(path).expanduser()
    try:
        size = path.stat().st_size
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if not path.is_file():
        raise CheckpointError(f"{path} must be a file, but is {'a folder' if path.is_dir() else 'none'}")
    if path.suffix.lower() not in READERS:
        raise CheckpointError(f"{path} is not a checkpoint: its name must end in {_ends()}")
    if size == 0:
        raise CheckpointError(f"{path} is empty, but must hold arrays")
    try:
        arrays = READERS[path.suffix.lower()](path, most_bytes)
    except CheckpointError:
        raise
    except Exception as error:  # on bytes that are not theirs, libraries raise whatever they happen to meet
        kind = path.suffix.lower()
        raise CheckpointError(f"{path} is damaged or no {kind} file: {first_sentence(error)}") from error
    if not arrays:
        raise CheckpointError(f"{path} holds no arrays, but must hold those of a network by name")
    return arrays


def list_checkpoints(folder: str | Path) -> list[Checkpoint]:
    """The checkpoints in a folder, ordered by the training step that their names tell.

    Args:
        folder: with files as `model_000100.npz`, `step=100.safetensors` or `epoch3.pt`. The step is the number in the
            name; of several numbers, the one that differs between the files, or else the one after `step`. A name that
            ends in `init` or `start` is step 0. Files with other endings and hidden files are passed over.

    Returns:
        A list of `Checkpoint`. Names that tell no step, several, or one step twice are refused.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for name in ("net1_step20", "net1_step3", "net1_init"):
        ...         np.savez(Path(folder) / f"{name}.npz", weight=np.ones(2))
        ...     found = fs.watching.files.list_checkpoints(folder)
        >>> [(checkpoint.step, checkpoint.path.stem) for checkpoint in found]
        [(0, 'net1_init'), (3, 'net1_step3'), (20, 'net1_step20')]
    """
    folder = Path(folder).expanduser()
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in READERS and path.is_file())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CheckpointError(f"{folder} must be a folder of checkpoints, but cannot be listed: {reason}") from error
    paths = [path for path in paths if not path.name.startswith(".")]
    if not paths:
        raise CheckpointError(f"{folder} holds no checkpoints: there must be files whose names end in {_ends()}")
    return _in_order(paths)


def read_checkpoints(
    paths_or_folder: str | Path | Sequence[str | Path] | Sequence[Checkpoint], most_bytes: int = MOST_BYTES
) -> tuple[list[int], list[Arrays]]:
    """All checkpoints of a training, ordered by step, if they are of one network and all their numbers are finite.

    Args:
        paths_or_folder: a folder, or files; if their names tell no step (see `list_checkpoints`), as `Checkpoint`.
        most_bytes: that the arrays of one file may take.

    Returns:
        The steps, and for each of them the arrays by name. Float32 and float64 stay what they are, and floats of fewer
        bits become float32; integers stay integers.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for step in (0, 10, 100):
        ...         np.savez(Path(folder) / f"model_{step}.npz", weight=np.full(2, step / 10))
        ...     steps, arrays = fs.watching.files.read_checkpoints(folder)
        >>> steps, [each["weight"][0].item() for each in arrays]
        ([0, 10, 100], [0.0, 1.0, 10.0])
    """
    if isinstance(paths_or_folder, str | Path):
        path = Path(paths_or_folder).expanduser()
        checkpoints = _in_order([path]) if path.is_file() else list_checkpoints(path)
    else:
        given = [each for each in paths_or_folder if isinstance(each, Checkpoint)]
        paths = [Path(each) for each in paths_or_folder if not isinstance(each, Checkpoint)]
        checkpoints = _distinct(given + _in_order(paths))
    if not checkpoints:
        raise CheckpointError("there must be one checkpoint or more to read, but none is given")
    read: list[Arrays] = []
    for checkpoint in checkpoints:
        arrays = read_checkpoint(checkpoint.path, most_bytes)
        if read:
            _compare(checkpoints[0].path, read[0], checkpoint.path, arrays)
        read.append({name: _finite(checkpoint.path, name, array) for name, array in arrays.items()})
    return [checkpoint.step for checkpoint in checkpoints], read


def _in_order(paths: Sequence[Path]) -> list[Checkpoint]:
    """Files by the steps that their names tell."""
    counted = {path: re.findall(r"[0-9]+", path.stem) for path in paths if not START.search(path.stem)}
    nameless = [path for path, numbers in counted.items() if not numbers]
    if nameless:
        raise CheckpointError(f"{_listed(nameless)} must have the training step in the name, as `model_100`")
    place = _place_of_step({path: [int(number) for number in numbers] for path, numbers in counted.items()})
    return _distinct([Checkpoint(int(counted[path][place]) if path in counted else 0, path) for path in paths])


def _place_of_step(counted: Mapping[Path, Sequence[int]]) -> int:
    """Which of the numbers in a name is the step: the last, unless only another one differs between names."""
    by_count = {len(numbers): path for path, numbers in counted.items()}
    if len(by_count) > 1:
        odd = _listed(by_count.values())
        raise CheckpointError(f"{odd} must have equally many numbers in their names, of which one is the training step")
    differing = [place for place, numbers in enumerate(zip(*counted.values(), strict=True)) if len(set(numbers)) > 1]
    if len(differing) > 1:  # an epoch and a step, as one framework names its files
        texts = [re.split(r"[0-9]+", path.stem) for path in counted]
        named = [place for place in differing if all(STEP.search(text[place]) for text in texts)]
        if len(named) != 1:
            raise CheckpointError(f"{_listed(counted)} must differ in one number, the training step, but do in several")
        return named[0]
    return differing[0] if differing else -1


def _distinct(checkpoints: Sequence[Checkpoint]) -> list[Checkpoint]:
    """Checkpoints in order, no two of them of one step."""
    found: dict[int, Checkpoint] = {}
    for checkpoint in checkpoints:
        twin = found.setdefault(checkpoint.step, checkpoint)
        if twin is not checkpoint:
            both = _listed([twin.path, checkpoint.path])
            raise CheckpointError(f"{both} are both of step {twin.step}, but there must be one file for a step")
    return [found[step] for step in sorted(found)]


def _compare(first: Path, expected: Arrays, path: Path, arrays: Arrays) -> None:
    """Refuse a checkpoint whose arrays are not called, or not shaped, as those of the first one."""
    for name in [*expected, *arrays]:
        if name not in arrays:
            raise CheckpointError(f"{path} has no array `{name}`, but must have all that {first} has")
        if name not in expected:
            raise CheckpointError(f"{path} has an array `{name}`, but must have none that {first} has not")
        shapes = arrays[name].shape, expected[name].shape
        if shapes[0] != shapes[1]:
            raise CheckpointError(f"array `{name}` of {path} has shape {shapes[0]}, but {shapes[1]} in {first}")


def _finite(path: Path, name: str, array: np.ndarray) -> np.ndarray:
    if array.dtype.kind in "fV":  # V is what NumPy sees in the floats of ml_dtypes
        array = array.astype(np.float64 if array.dtype.itemsize > 4 else np.float32, copy=False)
    bad = array.size - np.count_nonzero(np.isfinite(array))
    if bad:
        raise CheckpointError(f"array `{name}` of {path} must be finite everywhere, but has {bad} non-finite values")
    return array


def _ends() -> str:
    return ", ".join(READERS)


def _listed(paths: Iterable[Path], most: int = 4) -> str:
    names = [str(path) for path in paths]
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
