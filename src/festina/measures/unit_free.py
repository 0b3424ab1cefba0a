"""Layers and kernels in a unit of their own, so that measures that do not depend on the unit never overflow.

They are scaled by powers of two before anything is squared: activations of 1e150 or 1e-150 are as good as others.
"""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from festina.errors import require
from festina.measures.arrays import as_real

ROUNDING = float(np.finfo(float).eps)
COARSER = {"float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}  # precisions in which layers come
SYMMETRIC_TO = 1e-3  # of the largest entry: kernels in half precision pass, layers with as many units as samples do not


def centred(name: str, values: Float[np.ndarray, "n units"], fewest: int = 2) -> Float[np.ndarray, "n units"]:
    """A layer less its mean over samples, in a unit of its own."""
    require(len(values) >= fewest, name, f"hold at least {fewest} samples", len(values))
    require(bool(varies(values).any()), name, "differ between samples", "constant")
    return unit_free(values)[0]


def read_kernel(name: str, kernel: Any) -> Float[np.ndarray, "n n"]:
    """A symmetric matrix in a unit in which its largest entry is about 1."""
    matrix = as_real(name, kernel)
    square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] >= 1
    require(square, name, "be (samples, samples)", f"of shape {matrix.shape}")
    matrix = scaled(matrix)
    uneven = float(np.max(np.abs(matrix - matrix.T)))
    require(uneven <= SYMMETRIC_TO, name, "be symmetric", f"off by {uneven:.2g} of its largest entry")
    return (matrix + matrix.T) / 2


def varies(values: Float[np.ndarray, "n units"]) -> Bool[np.ndarray, " units"]:
    return np.any(values != values[:1], axis=0)


def unit_free(
    values: Float[np.ndarray, "n units"], precision: float = ROUNDING
) -> tuple[Float[np.ndarray, "n units"], float]:
    """A layer less its mean over samples, in a unit in which its largest entry is about 1, and its rounding error.

    Powers of two change no digit. Each unit has one of its own until its mean is taken off: a large constant must
    neither overflow nor push what varies out of the range of numbers. What does not vary is then exactly zero.
    """
    differ, exponents = varies(values), powers(values, axis=0)
    own = np.ldexp(values, -exponents)
    rest = np.where(differ, own - own.mean(axis=0), 0.0)
    unit = int(np.max((powers(rest, axis=0) + exponents)[differ]))
    error = precision * float(np.max(np.ldexp(1.0, (exponents - unit)[differ])))
    return np.ldexp(rest, exponents - unit), error


def scaled(values: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """The same in a unit in which the largest entry is about 1."""
    return np.ldexp(values, -powers(values, axis=None))


def powers(values: Float[np.ndarray, "..."], axis: int | None) -> Any:
    """The power of two just above the largest size."""
    return np.frexp(np.abs(values).max(axis=axis))[1]


def precision(values: Any) -> float:
    """The relative rounding of an array's own type of numbers."""
    return COARSER.get(str(getattr(values, "dtype", "")).removeprefix("torch."), ROUNDING)


def squares(values: Float[np.ndarray, "..."]) -> float:
    return float(np.sum(values**2))
