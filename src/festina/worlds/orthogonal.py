"""Random orthogonal matrices."""

import jax.numpy as jnp
from jaxtyping import Array, Float


def orthogonal_factor(normal: Float[Array, "rows columns"]) -> Float[Array, "rows columns"]:
    """The orthogonal factor of a normal matrix, Haar-distributed: QR with a positive diagonal of R.

    Of a wide matrix the rows are orthonormal, of a tall or square one the columns.
    """
    if normal.shape[0] < normal.shape[1]:
        return orthogonal_factor(normal.T).T
    factor, upper = jnp.linalg.qr(normal)
    return factor * jnp.where(jnp.diagonal(upper) < 0, -1.0, 1.0)[None, :]
