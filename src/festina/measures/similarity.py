"""How alike two layers are: centred kernel alignment.

Layers are (samples, units), (contexts, items, units) or feature maps (samples, channels, height, width), of which a
channel counts as a unit, with the mean over positions as its activity (`festina.measures.layers`); NumPy, xarray,
PyTorch, JAX or lists. None of the measures depends on the unit in which activations are given.

Sources: S. Kornblith, M. Norouzi, H. Lee, G. Hinton, "Similarity of neural network representations revisited" (2019),
for the alignment; L. Song, A. Smola, A. Gretton, J. Bedo, K. Borgwardt, "Feature selection via dependence maximization"
(2012), for its unbiased terms.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from festina.errors import require
from festina.measures.layers import read_layer
from festina.measures.unit_free import ROUNDING, centred, read_kernel, squares

EACH_ALONE = "but for what a sample adds to all pairs it is in"


def cka(first: Any, second: Any) -> float:
    """Linear centered kernel alignment, |XᵀY|²/(|XᵀX||YᵀY|), with X and Y less their means over samples.

    Norms are those of Frobenius. It does not change if either layer is rotated, shifted or scaled as a whole; it does
    change under other invertible maps, since it weighs directions by their variance. With few samples and many units it
    is close to 1 even for layers that have nothing in common: `unbiased_cka` is not.

    Args:
        first: X, (samples, units), or another shape of a layer; at least two samples, which are not all the same.
        second: Y, on the same samples, of any width.

    Returns:
        From 0 to 1; 1 if one layer is the other, rotated, shifted and scaled.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> layer = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
        >>> round(fs.measures.cka(layer, 3 * layer[:, ::-1] + 5), 6)
        1.0
        >>> round(fs.measures.cka(layer, layer[:, :1]), 6)  # half of it
        0.707107
    """
    one, other = _centred_pair(first, second, fewest=2)
    own, others, across = (_grams if _grams_are_cheaper(one, other) else _correlations)(one, other)
    return float(min(across / np.sqrt(own * others), 1.0))


def kernel_cka(first: Any, second: Any) -> float:
    """Centered kernel alignment of two kernels, ⟨HKH, HLH⟩/(|HKH||HLH|) with H = I − 11ᵀ/n.

    `cka` of two layers is that of their kernels XXᵀ and YYᵀ.

    Args:
        first: K, (samples, samples), symmetric; it must not be the same for all pairs.
        second: L, of the same samples.

    Returns:
        From 0 to 1 for kernels without negative eigenvalues, and otherwise from −1 to 1.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> classes = np.kron(np.eye(2), np.ones((2, 2)))  # two classes of two samples
        >>> round(fs.measures.kernel_cka(classes, 5 * classes + 1), 6)
        1.0
        >>> round(fs.measures.kernel_cka(classes, np.eye(4)), 6)
        0.57735
    """
    kernels = read_kernel("first", first), read_kernel("second", second)
    count = len(kernels[0])
    require(count >= 2, "first", "hold at least 2 samples", count)
    require(len(kernels[1]) == count, "second", f"hold the {count} samples of `first`", len(kernels[1]))
    own, others = (_centred_kernel(*named) for named in zip(("first", "second"), kernels, strict=True))
    return float(np.clip(np.sum(own * others) / np.sqrt(squares(own) * squares(others)), -1.0, 1.0))


def unbiased_cka(first: Any, second: Any) -> float:
    """`cka` of which each of the three terms is unbiased, so that it does not grow as samples get fewer.

    With kernels K and L of n samples, their diagonals set to zero, every term |XᵀY|² of `cka` becomes

        [tr KL + 1ᵀK1 1ᵀL1/((n−1)(n−2)) − 2 1ᵀKL1/(n−2)]/(n(n−3)),

    the estimate of the Hilbert-Schmidt independence criterion of Song et al., which has no bias; the ratio of three
    such terms has little. What one sample has with itself counts for nothing: layers have to agree on pairs.

    Args:
        first: (samples, units), or another shape of a layer; at least four samples.
        second: on the same samples, of any width.

    Returns:
        From −1 to 1; around 0 for layers that have nothing in common.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> random = np.random.default_rng(0)
        >>> first, second = random.normal(size=(2, 20, 1000))  # 20 samples, 1000 units, nothing in common
        >>> bool(fs.measures.cka(first, second) > 0.9), bool(abs(fs.measures.unbiased_cka(first, second)) < 0.2)
        (True, True)
    """
    one, other = _centred_pair(first, second, fewest=4)
    own, others, across = (_pair_grams if _grams_are_cheaper(one, other) else _pair_correlations)(one, other)
    for name, term in (("first", own), ("second", others)):
        must = "make some pairs of samples more alike than others"
        require(term > 0, name, must, f"equally alike for all, {EACH_ALONE}")
    return float(np.clip(across / np.sqrt(own * others), -1.0, 1.0))


def _centred_pair(first: Any, second: Any, fewest: int) -> tuple[np.ndarray, np.ndarray]:
    """Two layers of the same samples, each less its mean over them."""
    one, other = read_layer(first, "first").values, read_layer(second, "second").values
    require(len(other) == len(one), "second", f"hold the {len(one)} samples of `first`", len(other))
    return centred("first", one, fewest), centred("second", other, fewest)


def _grams_are_cheaper(one: Float[np.ndarray, "n u"], other: Float[np.ndarray, "n v"]) -> bool:
    """Whether XXᵀ and YYᵀ take fewer products than XᵀX, YᵀY and XᵀY; the sums of their squares are the same."""
    samples, first, second = len(one), one.shape[1], other.shape[1]
    return samples * (first + second) < first**2 + second**2 + first * second


def _grams(one: Float[np.ndarray, "n u"], other: Float[np.ndarray, "n v"]) -> tuple[float, float, float]:
    """|XᵀX|², |YᵀY|² and |XᵀY|² as inner products of XXᵀ and YYᵀ."""
    own, others = one @ one.T, other @ other.T
    return squares(own), squares(others), max(float(np.sum(own * others)), 0.0)


def _correlations(one: Float[np.ndarray, "n u"], other: Float[np.ndarray, "n v"]) -> tuple[float, float, float]:
    """|XᵀX|², |YᵀY|² and |XᵀY|²."""
    return squares(one.T @ one), squares(other.T @ other), squares(one.T @ other)


def _pair_grams(one: Float[np.ndarray, "n u"], other: Float[np.ndarray, "n v"]) -> tuple[float, float, float]:
    """The same with every term unbiased, but for 1/(n(n−3)); exactly zero where a layer has nothing but rounding.

    Each is the inner product of kernels from which what fits a_i + a_j on all pairs i ≠ j has been taken off, which
    keeps digits that the difference of large terms would lose.
    """
    own, others = (_paired(each @ each.T) for each in (one, other))
    return squares(own), squares(others), float(np.sum(own * others))


def _paired(kernel: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n"]:
    """K_ij − a_i − a_j off the diagonal, with a such that all rows sum to zero, and zero on it."""
    count = len(kernel)
    pairs = kernel * (1.0 - np.eye(count))
    rows = pairs.sum(axis=1)
    part = rows / (count - 2) - rows.sum() / (2 * (count - 1) * (count - 2))
    rest = (pairs - part[:, None] - part[None]) * (1.0 - np.eye(count))
    rounding = (8 + count) * ROUNDING * float(np.max(np.abs(kernel)))
    return rest if float(np.max(np.abs(rest))) > rounding else np.zeros_like(rest)


def _pair_correlations(one: Float[np.ndarray, "n u"], other: Float[np.ndarray, "n v"]) -> tuple[float, float, float]:
    """`_pair_grams` without kernels: rows of centred ones sum to zero, and so terms need their diagonals alone."""
    count = len(one)
    own, others, across = _correlations(one, other)
    first, second = np.sum(one**2, axis=1), np.sum(other**2, axis=1)

    def unbiased(term: float, left: np.ndarray, right: np.ndarray) -> float:
        alone = float(left @ right) * count / (count - 2)
        return term - alone + float(left.sum() * right.sum()) / ((count - 1) * (count - 2))

    def beyond_rounding(term: float, left: np.ndarray) -> float:
        rest = unbiased(term, left, left)
        return rest if rest > (8 + count) * ROUNDING * term else 0.0

    return beyond_rounding(own, first), beyond_rounding(others, second), unbiased(across, first, second)


def _centred_kernel(name: str, kernel: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n"]:
    """HKH."""
    rows = kernel.mean(axis=0)
    rest = kernel - rows[:, None] - rows[None] + rows.mean()
    varies = float(np.max(np.abs(rest))) > (8 + len(kernel)) * ROUNDING  # in sums of entries of about 1
    require(varies, name, "differ between samples", f"constant, {EACH_ALONE}")
    return rest
