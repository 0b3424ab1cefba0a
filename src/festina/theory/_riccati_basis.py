"""The eigenbasis in which the matrix Riccati equation behind two-layer linear networks is solved.

See `festina.theory.balanced` for the equation. What JAX traces goes on in `_riccati`, what is made of known numbers in
`_riccati_known`; the functions here serve both.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float

from festina.arrays import xp
from festina.precision import namespace

#: Largest max|Λ|·dT of a short step; I + PᵀΦP then has a condition number of about e⁸.
SHORT = 4.0

Matrix = Float[Any, "... _ _"]
First = Float[Array | np.ndarray, "hidden in"]
Second = Float[Array | np.ndarray, "out hidden"]
Correlation = Float[Array | np.ndarray, "out in"]
Scalar = Float[Array | np.ndarray | np.floating, ""]
Rates = Float[Any, " rows"]
Named = dict[str, Array | np.ndarray]
Products = tuple[Matrix, Matrix, Matrix]
Layers = tuple[Matrix, Matrix]


class Modes(NamedTuple):
    """The eigenvectors of F that the weights can reach, and their eigenvalues Λ (``rates``).

    A singular triple (u, s, v) of S gives the eigenvectors [a v; b u] and [−b v; a u] for ±√(s² + λ²/4),
    with a = ``inward``, b = ``outward``. What the wider side has beyond the singular vectors of S has the
    eigenvalue ±λ/2; of it only the span of the initial weights, ``rest``, is kept.
    """

    right: Matrix
    left: Matrix
    inward: Matrix
    outward: Matrix
    rest: Matrix
    rates: Rates


def modes_of(first: First, second: Second, correlation: Correlation) -> Modes:
    imbalance = imbalance_of(first, second)
    left, strength, right = xp.linalg.svd(correlation, full_matrices=True)
    count, wider_out = len(strength), len(second) > first.shape[1]
    angle = xp.arctan2(imbalance / 2, strength)[:, None] / 2
    cosine, sine = xp.cos(angle), xp.sin(angle)
    inward, outward = (cosine - sine) / 2**0.5, (cosine + sine) / 2**0.5
    beyond, wide = (left[:, count:], second) if wider_out else (right[count:].T, first.T)
    rest = beyond @ xp.linalg.qr(beyond.T @ wide)[0] if beyond.size else beyond
    growth = xp.hypot(strength, imbalance / 2)
    leftover = (imbalance if wider_out else -imbalance) / 2 * np.ones(rest.shape[1], growth.dtype)
    rates = xp.concatenate([growth, -growth, leftover])
    return Modes(right[:count].T, left[:, :count], inward, outward, rest, rates)


def to_modes(modes: Modes, first: First, second: Second, size: bool = False) -> Matrix:
    """P = OᵀQ; with ``size``, |O|ᵀ|Q|, the size of what was added up and hence of the rounding error."""
    if size:
        modes, first, second = Modes(*map(abs, modes)), abs(first), abs(second)
    sign = 1.0 if size else -1.0
    into, out = modes.right.T @ first.T, modes.left.T @ second
    rest = modes.rest.T @ (second if len(second) > first.shape[1] else first.T)
    a, b = modes.inward, modes.outward
    return xp.concatenate([a * into + b * out, sign * b * into + a * out, rest])


def layers(modes: Modes, factor: Matrix) -> Layers:
    """W₁ᵀ and W₂ from P, up to a rotation of the hidden layer: the blocks of O P."""
    count = modes.right.shape[1]
    plus, minus, rest = factor[..., :count, :], factor[..., count : 2 * count, :], factor[..., 2 * count :, :]
    a, b = modes.inward, modes.outward
    into, out = modes.right @ (a * plus - b * minus), modes.left @ (b * plus + a * minus)
    if len(modes.left) > len(modes.right):
        return into, out + modes.rest @ rest
    return (into + modes.rest @ rest, out) if len(modes.right) > len(modes.left) else (into, out)


def bases(modes: Modes) -> tuple[Matrix, Matrix]:
    """The directions of inputs and of outputs that the weights can reach, those of ``rest`` last."""
    inputs, outputs = modes.right, modes.left
    if len(outputs) > len(inputs):
        return inputs, xp.concatenate([outputs, modes.rest], axis=1)
    return (xp.concatenate([inputs, modes.rest], axis=1), outputs) if len(inputs) > len(outputs) else (inputs, outputs)


def products(modes: Modes, factor: Matrix) -> Products:
    """W₂W₁, W₁ᵀW₁ and W₂W₂ᵀ from P."""
    into, out = layers(modes, factor)
    return out @ into.mT, into @ into.mT, out @ out.mT


def named(products: Products, correlation: Correlation, variance: Scalar) -> Named:
    """What is handed out: products of the weights for input variance c, and the loss that they leave."""
    product, inward, outward = (block / variance for block in products)
    error = xp.broadcast_to(correlation / variance, product.shape) - product
    loss = variance / 2 * xp.sum(error**2, axis=(-2, -1))
    return {"map": product, "input_gram": inward, "output_gram": outward, "loss": loss}


def forever(rates: Rates) -> Any:
    """A time long enough to decide every race between rates that double precision can tell apart."""
    return 1e12 / xp.maximum(xp.max(xp.abs(rates)), np.finfo(rates.dtype).tiny ** 0.5)


def obstructed(first: First, second: Second, correlation: Correlation) -> Any:
    """Whether Ni = Nh = No, λ = 0, and the determinants of W₂W₁ and of S have opposite signs.

    Then W₂ᵀ = W₁O with O orthogonal, and the growing part W₂ᵀU + W₁V = W₁V(VᵀOU + I) is singular, since an orthogonal
    matrix of determinant −1 has the eigenvalue −1.
    """
    matrices = first, second, correlation
    count = len(first)
    if any(np.shape(matrix) != (count, count) for matrix in matrices):
        return np.asarray(False)
    inward, outward = (first**2).sum(), (second**2).sum()
    level = abs(outward - inward) <= 1e-12 * (inward + outward)
    if namespace(matrices) is np and not level:  # as is almost always the case, and what follows takes its time
        return np.asarray(False)
    signs = [xp.linalg.slogdet(matrix)[0] for matrix in matrices]
    ranks = [xp.linalg.matrix_rank(matrix) for matrix in matrices]
    full = (ranks[0] == count) & (ranks[1] == count) & (ranks[2] == count)
    return level & full & (signs[0] * signs[1] * signs[2] < 0)


def imbalance_of(first: First, second: Second) -> Any:
    """λ, the mean of the diagonal of W₂ᵀW₂ − W₁W₁ᵀ."""
    return ((second**2).sum() - (first**2).sum()) / first.shape[0]
