"""In how many dimensions a layer, or a kernel, varies.

Layers are (samples, units), (contexts, items, units) or feature maps (samples, channels, height, width), of which a
channel counts as a unit, with the mean over positions as its activity (`festina.measures.layers`); NumPy, xarray,
PyTorch, JAX or lists. Neither measure depends on the unit in which activations are given.

Source: O. Roy, M. Vetterli, "The effective rank" (2007).
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from festina.errors import require
from festina.measures.layers import read_layer
from festina.measures.unit_free import centred, read_kernel, squares

POSITIVE_TO = 1e-4  # of the largest eigenvalue: below it a negative one is the rounding of a kernel in low precision


def participation_ratio(activations: Any) -> float:
    """(Σλ)²/Σλ² with λ the eigenvalues of the covariance of units: in how many dimensions a layer varies.

    D if the layer varies equally in D directions and not in others. Small variances hardly count; `effective_rank`
    lets them count for more.

    Args:
        activations: (samples, units), or another shape of a layer; at least two samples, which are not all the same.

    Returns:
        From 1 to the smaller of the number of units and that of samples less one.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> corners = np.array([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [-1.0, -1.0, 0.0]])
        >>> round(fs.measures.participation_ratio(corners), 6)
        2.0
    """
    layer = centred("activations", read_layer(activations).values)
    product = layer @ layer.T if len(layer) < layer.shape[1] else layer.T @ layer
    return float(squares(layer) ** 2 / squares(product))


def kernel_participation_ratio(kernel: Any) -> float:
    """(tr K)²/|K|² = (Σλ)²/Σλ² with λ the eigenvalues of a kernel, which is taken as it is, without centring.

    The exponential of the Rényi entropy of order two of λ/Σλ; that of the kernel of a layer less its mean is the
    layer's `participation_ratio`.

    Args:
        kernel: K, (samples, samples), symmetric, with no negative eigenvalues and not zero.

    Returns:
        From 1 to the number of samples, and never above `effective_rank`.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> round(fs.measures.kernel_participation_ratio(np.diag([3.0, 1.0, 0.0])), 6)  # 4²/(9 + 1)
        1.6
    """
    eigenvalues = _eigenvalues(kernel)
    return float(eigenvalues.sum() ** 2 / squares(eigenvalues))


def effective_rank(kernel: Any) -> float:
    """exp(−Σ p ln p) with p = λ/Σλ and λ the eigenvalues of a kernel, which is taken as it is, without centring.

    The exponential of Shannon's entropy, as Roy and Vetterli have it. Of a layer X they take the singular values s
    where the kernel XXᵀ has λ = s²: for theirs give the square root of the kernel.

    Args:
        kernel: (samples, samples), symmetric, with no negative eigenvalues and not zero.

    Returns:
        From 1 to the rank of the kernel, and the latter if all its eigenvalues but those that are zero are equal.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> round(fs.measures.effective_rank(np.diag([2.0, 2.0, 0.0])), 6)
        2.0
        >>> round(fs.measures.effective_rank(np.diag([3.0, 1.0, 0.0])), 6)
        1.754765
    """
    eigenvalues = _eigenvalues(kernel)
    shares = eigenvalues[eigenvalues > 0] / eigenvalues.sum()
    return float(np.exp(-np.sum(shares * np.log(shares))))


def _eigenvalues(kernel: Any) -> Float[np.ndarray, " n"]:
    """Of a kernel, those below zero by no more than rounding as zero."""
    matrix = read_kernel("kernel", kernel)
    require(bool(matrix.any()), "kernel", "have entries other than 0", "0 everywhere")
    eigenvalues = np.linalg.eigvalsh(matrix)
    lowest = float(eigenvalues[0] / np.max(np.abs(eigenvalues)))
    must = "have no negative eigenvalues"
    require(lowest >= -POSITIVE_TO, "kernel", must, f"a matrix with one of {lowest:.2g} times the largest")
    return np.maximum(eigenvalues, 0.0)
