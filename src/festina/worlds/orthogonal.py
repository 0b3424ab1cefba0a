"""Random orthogonal matrices."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from festina.precision import is_traced


def orthogonal_factor(normal: Float[Array | np.ndarray, "rows columns"]) -> Float[Array | np.ndarray, "rows columns"]:
    """The orthogonal factor of a normal matrix, Haar-distributed: QR with a positive diagonal of R.

    Of a wide matrix the rows are orthonormal, of a tall or square one the columns.
    """
    if normal.shape[0] < normal.shape[1]:
        return orthogonal_factor(normal.T).T
    if isinstance(normal, np.ndarray):  # what is known needs no compiling
        return _tall_factor(np, normal)
    return _traced_factor(normal) if is_traced(normal) else _tall_factor(jnp, normal)


def _tall_factor(module: Any, normal: Any) -> Any:
    """That of a tall or square matrix, by NumPy or JAX."""
    factor, upper = module.linalg.qr(normal)
    return factor * module.where(module.diagonal(upper) < 0, -1.0, 1.0)[None, :]


_traced_factor = jax.jit(partial(_tall_factor, jnp))  # traced once for all programs that have matrices of one shape
