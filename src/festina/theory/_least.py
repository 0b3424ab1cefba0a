"""The least loss of a linear map on white inputs, to its last digits however small it is.

    floor = min_W ½ share Σ |y − W x|² + rest

is the sum of squares of what is left of the targets. Where inputs explain nearly all of them, so little is left that
y − W x in ordinary arithmetic is mostly rounding errors; products and sums are therefore taken with theirs (Dekker's
and Knuth's, added up as in the `Dot2` of Ogita, Rump & Oishi 2005).
"""

import numpy as np
from jaxtyping import Float

from festina.worlds.data import Moments, Root, root_of

SPLITTER = 2.0**27 + 1.0  # of 53 binary digits into halves
REFINEMENTS = 3  # the share 1e-9 by which inputs may fail to be white is cubed


def least_loss(moments: Moments, variance: float) -> float:
    """The least loss of any linear map in a world with Σxx = ``variance`` · I; never negative.

    Where a world gives moments alone, without the pairs that they were made of, it is known up to the rounding errors
    of these moments, some 1e-16 of ½ tr Σyy.
    """
    root: Root = root_of(moments) if moments.root is None else moments.root
    inputs, targets = np.asarray(root.inputs, float), np.asarray(root.targets, float)
    share = float(root.share)
    left = residual(targets, inputs, np.asarray(moments.cross, float) / variance)
    for _ in range(REFINEMENTS):  # errors of the map are second order, but the residual may be as small as they are
        left = left - inputs @ (share / variance * (inputs.T @ left))
    return 0.5 * share * float(np.sum(left**2)) + float(root.rest)


def residual(
    targets: Float[np.ndarray, "n o"], inputs: Float[np.ndarray, "n i"], mapping: Float[np.ndarray, "o i"]
) -> Float[np.ndarray, "n o"]:
    """y − W x, rounded once: as if computed with twice the digits."""
    total, lost = targets, np.zeros_like(targets)
    for column, weights in zip(inputs.T, -mapping.T, strict=True):
        product, beyond = _product(column[:, None], weights[None])
        total, rounded = _sum(total, product)
        lost = lost + (beyond + rounded)
    return total + lost


def _sum(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rounded sum, and what was rounded off it."""
    total = one + other
    part = total - one
    return total, (one - (total - part)) + (other - part)


def _product(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rounded product, and what was rounded off it."""
    product = one * other
    (high, low), (far, near) = _halves(one), _halves(other)
    return product, low * near - (((product - high * far) - low * far) - high * near)


def _halves(number: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scaled = SPLITTER * number
    high = scaled - (scaled - number)
    return high, number - high
