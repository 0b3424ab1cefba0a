"""Steps through the matrix Riccati equation behind two-layer linear networks, for known numbers and many gaps at once.

See `festina.theory.balanced` for the equation and `_riccati` for the steps that JAX takes, one by one. All start from
a factor P in the eigenbasis and return P after each gap dT. NumPy and LAPACK, nothing compiled.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotrf

from festina.theory._riccati_basis import Layers, Modes, Rates, bases

#: Matrices from here on are better factorised where they are than copied by NumPy, which saves one call for each.
LARGE = 128

Factor = Float[np.ndarray, "rows columns"]
Factors = Float[np.ndarray, "time rows columns"]
Times = Float[np.ndarray, " time"]


class Graph(NamedTuple):
    """P with as many growing modes P₊ as columns, written as P₋ = R P₊ for the others and C = (P₊P₊ᵀ)⁻¹.

    R moves as if the equation were linear, C along with it, and nothing in them grows.
    """

    modes: Modes
    slope: Float[np.ndarray, "columns others"]  # Rᵀ
    inverse_gram: Float[np.ndarray, "columns columns"]  # C
    inputs: Float[np.ndarray, "_ in"]  # the directions of the inputs, one a row
    outputs: Float[np.ndarray, "_ out"]


def graph_of(modes: Modes, factor: Factor, inverse: Float[np.ndarray, "columns columns"]) -> Graph:
    """For a P₊ that comes first, one mode for each singular value, and is far from singular, and its ``inverse``."""
    inputs, outputs = (np.ascontiguousarray(basis.T) for basis in bases(modes))
    return Graph(modes, (factor[factor.shape[1] :] @ inverse).T, inverse.T @ inverse, inputs, outputs)


def leaps(graph: Graph, gaps: Times) -> Layers:
    """W₁ᵀ and W₂, the blocks of O P with P = [1; R] L⁻ᵀ and LLᵀ = C, after gaps of any length.

    R ← e^{−|Λ₋|dT} R e^{−Λ₊dT} and C ← e^{−Λ₊dT} (C + RᵀΦ₋R) e^{−Λ₊dT} + Φ₊ with Φ = (1 − e^{−2|Λ|dT})/(2|Λ|).
    """
    modes, count, total = graph.modes, len(graph.slope), len(gaps)
    speeds = np.abs(modes.rates[count:])  # of the others; those of the growing modes come first among them
    spread, lost = _spread(-speeds, gaps), np.exp(np.multiply.outer(gaps, -speeds))
    gram = graph.slope * spread[:, None] @ graph.slope.T.copy()  # never with a second factor that is transposed: slow
    gram += graph.inverse_gram
    faded = lost[:, :count, None] * lost[:, None, :count]
    gram *= faded
    _diagonal(gram)[:] += spread[:, :count]
    faded *= graph.slope[:, :count]  # Rᵀ of the modes that come in pairs
    both = np.empty((total, count, len(graph.inputs) + len(graph.outputs)))
    first, second = both[..., : len(graph.inputs)], both[..., len(graph.inputs) :]
    for layer, slope, diagonal in ((first, -modes.outward, modes.inward), (second, modes.inward, modes.outward)):
        np.multiply(faded, slope[:, 0], out=layer[..., :count])  # before L, what is 1 in P stays on diagonals
        _diagonal(layer[..., :count])[:] += diagonal[:, 0]
        if layer.shape[-1] > count:
            alone = lost[:, :count, None] * graph.slope[:, count:]
            np.multiply(alone, lost[:, None, count:], out=layer[..., count:])
    _solve(_roots(gram), both)
    return (first @ graph.inputs).mT, (second @ graph.outputs).mT


def short_steps(rates: Rates, factor: Factor, gaps: Times) -> Factors:
    """P ← e^{ΛdT} P L⁻ᵀ with LLᵀ = I + Pᵀ (e^{2ΛdT} − 1)/(2Λ) P."""
    scaled = np.sqrt(_spread(rates, gaps))[:, None, :] * factor.T
    gram = scaled @ scaled.mT
    _diagonal(gram)[:] += 1.0
    return _times_inverse_root(np.exp(np.multiply.outer(gaps, rates))[:, None, :] * factor.T, gram)


def long_steps(rates: Rates, factor: Factor, gaps: Times, rank: int) -> Factors:
    """The same steps when e^{ΛdT} may overflow: see `_riccati.long_step`."""
    gaps = np.maximum(gaps, np.finfo(float).tiny)  # no step at all is the limit of a short one
    spread = _spread(-np.abs(rates), gaps)
    weight = np.multiply.outer(gaps, np.maximum(rates, 0.0)) + np.log(spread) / 2
    tiny = 4 * np.finfo(float).eps * factor.shape[1] ** 0.5
    factors, _ = sorted_factors(factor, weight, tiny * np.linalg.norm(factor, axis=1), rates > 0, rank)
    with np.errstate(divide="ignore"):  # the logarithm of an exact zero
        size = weight[..., None] + np.log(np.abs(factors))
    column = np.logaddexp(0.0, np.logaddexp.reduce(2 * size, axis=1)) / 2
    scaled = np.sign(factors) * np.exp(size - column[:, None, :])
    gram = scaled.mT @ scaled
    _diagonal(gram)[:] += np.exp(-2 * column)
    grown = np.exp(np.multiply.outer(gaps, np.minimum(rates, 0.0))) / np.sqrt(spread)  # e^{ΛdT}/√Φ, which is bounded
    return _times_inverse_root((grown[..., None] * scaled).mT, gram)


def _spread(rates: Rates, gaps: Times) -> Float[np.ndarray, "time rows"]:
    """(e^{2ΛdT} − 1)/(2Λ), which is dT where nothing moves."""
    exponent = np.multiply.outer(gaps, 2 * rates)
    relative = np.ones_like(exponent)
    np.divide(np.expm1(exponent), exponent, out=relative, where=exponent != 0)
    return gaps[:, None] * relative


def _diagonal(matrices: Float[np.ndarray, "time n n"]) -> Float[np.ndarray, "time n"]:
    """The diagonals, to be written to."""
    return np.einsum("tnn->tn", matrices)


def _times_inverse_root(
    transposed: Float[np.ndarray, "time columns rows"], grams: Float[np.ndarray, "time columns columns"]
) -> Factors:
    """X L⁻ᵀ with LLᵀ = G for each pair of Xᵀ and G, whose places are taken."""
    matrices = np.ascontiguousarray(transposed)
    _solve(_roots(grams), matrices)
    return matrices.mT


def _solve(roots: Float[np.ndarray, "time n n"], matrices: Float[np.ndarray, "time n rows"]) -> None:
    """Y ← L⁻¹ Y for each pair of L and Y; rows of NumPy are columns of LAPACK."""
    for matrix, root in zip(matrices.mT, roots.mT, strict=True):
        dtrsm(1.0, root, matrix, side=1, overwrite_b=1)


def _roots(grams: Float[np.ndarray, "time n n"]) -> Float[np.ndarray, "time n n"]:
    """L of each G = LLᵀ, whose place is taken; above the diagonal, anything."""
    if grams.shape[-1] < LARGE:
        try:
            return np.linalg.cholesky(grams)
        except np.linalg.LinAlgError:  # which does not say where
            pass
    for gram in grams:
        _, failed = dpotrf(gram.T, clean=0, overwrite_a=1)
        if failed:
            gram[:] = np.nan  # as it comes out of a compiled program
    return grams


def sorted_factors(
    factor: Factor, weight: Float[np.ndarray, "time rows"], floor: Rates, growing: Bool[np.ndarray, " rows"], most: int
) -> tuple[Float[np.ndarray, "time rows _"], np.ndarray]:
    """The same PPᵀ in hidden coordinates that the modes claim one by one, by weights of each time.

    As `_riccati.sorted_factor`, which says why.
    """
    times, columns = np.arange(len(weight)), min(factor.shape)
    left_over = np.repeat(factor[None], len(weight), axis=0)
    claimed = np.zeros((*weight.shape, columns))
    count = np.zeros(len(weight), int)
    for column in reversed(range(columns)):
        length = np.sqrt(np.einsum("trc,trc->tr", left_over, left_over))
        alive = (length > floor) & ~(growing & (count >= most)[:, None])
        with np.errstate(divide="ignore"):
            best = np.argmax(np.where(alive, weight + np.log(length), -np.inf), axis=1)
        found = alive[times, best]
        direction = left_over[times, best] / np.where(found, length[times, best], np.inf)[:, None]
        entries = np.where(alive, (left_over @ direction[..., None])[..., 0], 0.0)
        left_over -= entries[..., None] * direction[:, None, :]
        claimed[..., column] = entries
        count += found & growing[best]
    return claimed, count
