"""Random orthogonal matrices."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


def orthogonal_factor(normal: Float[Array | np.ndarray, "rows columns"]) -> Float[Array | np.ndarray, "rows columns"]:
    """The orthogonal factor of a normal matrix, Haar-distributed: QR with a positive diagonal of R.

    Of a wide matrix the rows are orthonormal, of a tall or square one the columns.
    """
    if normal.shape[0] < normal.shape[1]:
        return orthogonal_factor(normal.T).T
    module = np if isinstance(normal, np.ndarray) else jnp  # what is known needs no compiling
    factor, upper = module.linalg.qr(normal)
    return factor * module.where(module.diagonal(upper) < 0, -1.0, 1.0)[None, :]
