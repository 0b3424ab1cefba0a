"""The files in which networks are kept, each read by itself: of NumPy, of safetensors and of PyTorch.

They may come from anywhere: what they hold is compared with what they say of themselves before room is made for it, and
nothing in them is run.
"""

import json
import pickle
import pickletools
import zipfile
from collections.abc import Callable, Iterator, Mapping
from math import prod
from pathlib import Path
from typing import IO, Any

import ml_dtypes
import numpy as np
from numpy.lib import format as npy

from festina.errors import FestinaError

LONGEST_HEADER = 100_000_000  # bytes, as in the reference implementation of safetensors
KINDS = {
    "BOOL": np.bool_,
    "U8": "u1",
    "I8": "i1",
    "U16": "<u2",
    "I16": "<i2",
    "U32": "<u4",
    "I32": "<i4",
    "U64": "<u8",
    "I64": "<i8",
    "F16": "<f2",
    "F32": "<f4",
    "F64": "<f8",
    "C64": "<c8",
    "BF16": ml_dtypes.bfloat16,
    "F8_E4M3": ml_dtypes.float8_e4m3fn,
    "F8_E5M2": ml_dtypes.float8_e5m2,
    "F8_E8M0": ml_dtypes.float8_e8m0fnu,
}
"""What safetensors calls the types of numbers that take whole bytes."""

WRAPPERS = ("state_dict", "model_state_dict", "model")  # where training scripts put the weights, beside other things
Arrays = dict[str, np.ndarray]


class CheckpointError(FestinaError):
    """A file that is no checkpoint, or files that are not checkpoints of one network.

    Example:
        >>> fs.watching.files.read_checkpoint("nowhere/model_100.npz")
        Traceback (most recent call last):
        festina.watching.formats.CheckpointError: nowhere/model_100.npz cannot be read: No such file or directory
    """


def _npz(path: Path, most_bytes: int) -> Arrays:
    """A file of NumPy, after its directory and the headers of its arrays have been looked at."""
    total, names = 0, []
    with path.open("rb") as stream:
        with zipfile.ZipFile(stream) as archive:
            for member in archive.infolist():
                names.append(member.filename.removesuffix(".npy"))
                with archive.open(member) as content:
                    shape, dtype = _npy_header(content)
                    begin = content.tell()
                if dtype.kind not in "biufc":
                    code = ", which only executing code in it could load" if dtype.hasobject else ""
                    raise CheckpointError(f"array `{names[-1]}` of {path} must be numbers, but is {dtype}{code}")
                if begin + prod(shape) * dtype.itemsize != member.file_size:
                    raise CheckpointError(f"{path} is damaged: array `{names[-1]}` has another size than its shape")
                total += prod(shape) * dtype.itemsize
        if len(set(names)) < len(names):
            raise CheckpointError(f"{path} is damaged: two of its arrays have one name")
        _bound(path, total, most_bytes)
        stream.seek(0)
        with np.load(stream, allow_pickle=False) as found:
            return {name: found[name] for name in found.files}


def _npy_header(content: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
    first = npy.read_magic(content) == (1, 0)
    shape, _, dtype = (npy.read_array_header_1_0 if first else npy.read_array_header_2_0)(content)
    return shape, dtype


def _safetensors(path: Path, most_bytes: int) -> Arrays:
    """A file of safetensors: the length of a header, the header in JSON, the arrays one after another."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if size < 8 or length > min(size - 8, LONGEST_HEADER):
            raise CheckpointError(f"{path} is damaged or no safetensors file: {length} bytes of header in {size}")
        header = json.loads(stream.read(length).decode(), object_pairs_hook=_without_repeats)
        header.pop("__metadata__", None)
        places = {name: _safetensors_place(path, name, entry) for name, entry in header.items()}
        end = 0
        for name, (_, _, *place) in sorted(places.items(), key=lambda item: item[1][2:]):
            if place[0] != end:
                what = "overlaps another" if place[0] < end else "leaves a gap"
                raise CheckpointError(f"{path} is damaged: array `{name}` {what} at byte {place[0]}")
            end = place[1]
        if end != size - 8 - length:
            raise CheckpointError(f"{path} is damaged: its arrays take {end} bytes, but it has {size - 8 - length}")
        _bound(path, end, most_bytes)
        arrays = {}
        for name, (dtype, shape, begin, end) in places.items():
            stream.seek(8 + length + begin)
            content = np.fromfile(stream, np.uint8, end - begin)
            if dtype.kind == "b" and np.any(content > 1):
                raise CheckpointError(f"{path} is damaged: array `{name}` must be true or false everywhere")
            arrays[name] = content.view(dtype).reshape(shape)
        return arrays


def _safetensors_place(path: Path, name: str, entry: Any) -> tuple[np.dtype, tuple[int, ...], int, int]:
    """Type, shape and first and last byte of an array, if they agree with one another."""
    match entry:
        case {"dtype": str(kind), "shape": [*shape], "data_offsets": [begin, end]}:
            if kind not in KINDS:
                known = ", ".join(KINDS)
                raise CheckpointError(f"array `{name}` of {path} must be of type {known}, but is {kind}")
            dtype, whole = np.dtype(KINDS[kind]), all(type(each) is int and each >= 0 for each in (*shape, begin, end))
            if whole and end - begin == prod(shape) * dtype.itemsize:
                return dtype, tuple(shape), begin, end
    raise CheckpointError(f"{path} is damaged: array `{name}` must have a type, and a shape that fits its bytes")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a name is there twice")
    return dict(pairs)


def _torch(path: Path, most_bytes: int) -> Arrays:
    """A file of PyTorch, by its own reader of weights, which builds tensors and containers but calls nothing else."""
    try:
        import torch  # pyright: ignore[reportMissingImports]
    except (ImportError, OSError) as error:
        other = "install torch, or save the arrays as .npz or .safetensors"
        raise CheckpointError(f"{path} is a file of PyTorch, which is not installed here: {other}") from error
    zipped = zipfile.is_zipfile(path)
    if zipped:
        with zipfile.ZipFile(path) as archive:
            _bound(path, sum(member.file_size for member in archive.infolist()), most_bytes)
    else:
        _bound(path, path.stat().st_size, most_bytes)
    try:
        found = torch.load(path, weights_only=True, map_location="cpu")
    except pickle.UnpicklingError as error:
        if not zipped and not _complete_pickles(path):
            raise
        why = "it holds more than arrays, and to load it would execute code in it"
        # PyTorch's own words are left out: they advise to load the file all the same.
        raise CheckpointError(f"{path} is refused: {why}; a state_dict of the network can be read") from error
    if not isinstance(found, Mapping):
        raise CheckpointError(f"{path} must hold arrays by name, as a state_dict, but holds one {type(found).__name__}")
    for _ in WRAPPERS:  # one may be in another, but none without end
        found = next((found[key] for key in WRAPPERS if isinstance(found.get(key), Mapping)), found)
    arrays, total = {}, 0
    for name, tensor in _leaves(found):
        total += tensor.numel() * tensor.element_size()
        _bound(path, total, most_bytes)  # before an array that repeats one number without end is written out
        if name in arrays:
            raise CheckpointError(f"{path} has two arrays called `{name}`, but names must differ when joined by dots")
        try:
            arrays[name] = _from_torch(torch, tensor)
        except (TypeError, RuntimeError) as error:
            why = f"must be numbers that NumPy knows, but is {tensor.dtype} ({first_sentence(error)})"
            raise CheckpointError(f"array `{name}` of {path} {why}") from error
    return arrays


def _complete_pickles(path: Path) -> bool:
    """Whether a file begins with whole pickles, as files of PyTorch did before they were archives; none is run."""
    with path.open("rb") as stream:
        try:
            for _ in range(4):  # a magic number, a version, the system, and what was saved
                if stream.peek(1):
                    for _ in pickletools.genops(stream):
                        pass
        except Exception:  # whatever bytes that are no pickle lead to
            return False
    return True


def _leaves(found: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """The tensors in nested mappings and lists, with their names joined by dots."""
    if hasattr(found, "numel"):
        yield name, found
    if isinstance(found, Mapping | list | tuple):
        for key, inner in found.items() if isinstance(found, Mapping) else enumerate(found):
            yield from _leaves(inner, f"{name}.{key}" if name else str(key))


def _from_torch(torch: Any, tensor: Any) -> np.ndarray:
    tensor, kind = tensor.detach(), str(tensor.dtype).removeprefix("torch.")
    if hasattr(ml_dtypes, kind):  # NumPy does not know them, and PyTorch does not give them to it
        same_size = {1: torch.uint8, 2: torch.int16}[tensor.element_size()]
        return np.asarray(tensor.view(same_size).numpy(), order="C").view(getattr(ml_dtypes, kind))
    return np.asarray(tensor.numpy(), order="C")


def _bound(path: Path, total: int, most_bytes: int) -> None:
    if total > most_bytes:
        raise CheckpointError(f"{path} would take {total} bytes, but may take {most_bytes}, the argument `most_bytes`")


def first_sentence(error: Exception) -> str:
    """What a library says of a file, in short."""
    line = next(iter(str(error).splitlines()), "")
    return f"{type(error).__name__}: {line.partition('. ')[0]}"[:200]


READERS: dict[str, Callable[[Path, int], Arrays]] = {
    ".npz": _npz,
    ".safetensors": _safetensors,
    **dict.fromkeys((".pt", ".pth", ".bin", ".ckpt"), _torch),
}
"""Who reads which files, by the ends of their names."""
