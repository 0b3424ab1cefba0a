"""Worlds from what people have: arrays, labels, correlations, tables, loaders of other libraries."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from festina.errors import ArgumentError, require
from festina.precision import detached, is_traced
from festina.worlds.curriculum import Curriculum
from festina.worlds.data import Moments, Samples
from festina.worlds.gated import GatedDataset, GatedSamples, Patterns
from festina.worlds.streams import Stream, Taught
from festina.worlds.world import Dataset, Teacher, World, as_array

MOST = 1_000_000  # examples that are taken from something that is read one by one
READY = World | Curriculum | Moments | Samples | GatedDataset | GatedSamples | Patterns | Stream | Taught
PAIRS = (("inputs", "targets"), ("x", "y"), ("X", "y"))
WANTED = (
    "be a world, a pair (inputs, targets), a matrix of correlations Σyx, a table with named targets, or a data set of "
    "pairs"
)


def from_data(data: Any, targets: Any = None, *, most: int = MOST) -> Any:
    """A world made of what is at hand.

    Args:
        data: one of these.

            - a world: handed back as it is.
            - ``(inputs, targets)``, or inputs alone with ``targets`` beside them: a `Dataset`, one example a row. Whole
              numbers (or names) in one column are labels, and the world is one of classes.
            - a matrix Σyx = ⟨y xᵀ⟩: a `Teacher` with that map; inputs are taken as white, Σxx = I.
            - an `xarray.Dataset` with variables ``inputs`` and ``targets`` (or ``x`` and ``y``).
            - a pandas data frame, with the names of the columns to be answered in ``targets``.
            - a PyTorch data set or loader of pairs, or another that can be gone through: it is read once, to its end.
        targets: what to answer, or, of a table, in which columns that stands.
        most: examples to read from a loader at the most; a longer one is refused.

    Example:
        >>> import numpy as np
        >>> from_data((np.eye(3), [0, 1, 1])).classes
        2
        >>> from_data(np.diag([3.0, 1.0])).moments.cross[0, 0]
        np.float64(3.0)
    """
    if isinstance(data, READY):
        require(targets is None, "targets", f"be left out, for a {type(data).__name__} has its own", targets)
        return data
    if _is_frame(data):
        return _from_frame(data, targets)
    if targets is not None:
        return _from_pair(data, targets)
    if _is_labelled(data):
        return _from_variables(data)
    if isinstance(data, tuple | list) and len(data) == 2 and not _is_matrix(data):
        return _from_pair(*data)
    if hasattr(data, "__array__") or isinstance(data, list | tuple):
        return _from_correlations(data)
    if hasattr(data, "__getitem__") or isinstance(data, Iterable):
        return _from_pairs(data, most)
    raise ArgumentError(f"Argument `world` must {WANTED}, but is a {type(data).__name__}.")


def _from_pair(inputs: Any, targets: Any) -> Dataset:
    """Two arrays, of which the second may be labels."""
    answers = targets if is_traced(targets) else np.asarray(detached(targets))
    if answers.ndim == 1 and not np.issubdtype(answers.dtype, np.floating):
        return Dataset.labelled(inputs, answers)
    if answers.ndim == 1:
        answers = answers[:, None]
    require(answers.dtype.kind in "fiub", "targets", "be numbers", f"of type {answers.dtype}")
    inputs = as_array(inputs)
    return Dataset(inputs[:, None] if inputs.ndim == 1 else inputs, answers)


def _is_matrix(data: Any) -> bool:
    """Whether two rows are the rows of a matrix, as in [[1, 0], [0, 2]], and not inputs and targets."""
    if any(hasattr(row, "__array__") for row in data):
        return False
    rows = [np.shape(row) for row in data]
    return all(len(row) == 1 for row in rows) and len(set(rows)) == 1


def _from_correlations(data: Any) -> Teacher:
    matrix = as_array(data)
    require(matrix.ndim == 2, "world", WANTED, f"an array of shape {tuple(matrix.shape)}")
    return Teacher(matrix)


def _is_labelled(data: Any) -> bool:
    return hasattr(data, "data_vars") or isinstance(data, dict)


def _from_variables(data: Any) -> Dataset:
    """An `xarray.Dataset`, or a dictionary of arrays."""
    names = list(getattr(data, "data_vars", data))
    for pair in PAIRS:
        if set(pair) <= set(names):
            return _from_pair(*(np.asarray(data[name]) for name in pair))
    raise ArgumentError(f"Argument `world` must have variables `inputs` and `targets`, but has {', '.join(names)}.")


def _is_frame(data: Any) -> bool:
    return hasattr(data, "columns") and hasattr(data, "iloc")


def _from_frame(frame: Any, targets: Any) -> Dataset:
    columns = [str(name) for name in frame.columns]
    wanted = [targets] if isinstance(targets, str) else list(targets or ())
    known = bool(wanted) and all(name in columns for name in wanted)
    require(known, "targets", f"name some of the columns {', '.join(columns)}", targets)
    others = [name for name in frame.columns if str(name) not in wanted]
    require(len(others) > 0, "targets", "leave a column for the inputs", targets)
    kinds = {str(name): frame[name].dtype for name in others}
    odd = [name for name, kind in kinds.items() if getattr(kind, "kind", "O") not in "fiub"]
    require(not odd, "world", "hold numbers in all columns of inputs", f"not a number in {', '.join(odd)}")
    answers = [frame[name].to_numpy() for name in frame.columns if str(name) in wanted]
    return _from_pair(frame[others].to_numpy(float), answers[0] if len(answers) == 1 else np.stack(answers, axis=1))


def _from_pairs(data: Any, most: int) -> Dataset:
    """Examples (a data set), or batches of them (a loader), one after the other."""
    batched = hasattr(data, "batch_size") and getattr(data, "batch_size", None) is not None
    length = len(data) if hasattr(data, "__len__") else None
    walk = data if hasattr(data, "__iter__") or length is None else (data[index] for index in range(length))
    inputs: list[np.ndarray] = []
    answers: list[np.ndarray] = []
    read = 0
    for pair in walk:
        two = isinstance(pair, tuple | list) and len(pair) == 2
        require(two, "world", "give pairs (input, target)", type(pair).__name__)
        x, y = (np.asarray(detached(part)) for part in pair)
        read += len(x) if batched else 1
        require(read <= most, "world", f"end after {most} examples (or give `most` to `fs.worlds.from_data`)", "longer")
        inputs.append(x if batched else x[None])
        answers.append(y if batched else y[None])
    require(read > 0, "world", "hold at least one example", "empty")
    shapes = {part.shape[1:] for part in inputs}
    require(
        len(shapes) == 1, "world", "give inputs of one shape", f"{len(shapes)} shapes, such as {sorted(shapes)[:2]}"
    )
    return _from_pair(np.concatenate(inputs).astype(float), np.concatenate(answers))
