"""Steps through the matrix Riccati equation behind two-layer linear networks, for known numbers and many gaps at once.

See `festina.theory.balanced` for the equation and `_riccati` for the steps that JAX takes, one by one. All start from
a factor P in the eigenbasis and return P after each gap dT. NumPy and LAPACK, nothing compiled.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotrf

from festina.theory._riccati_basis import Layers, Modes, Rates, from_singular

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


def graph_of(modes: Modes, factor: Factor) -> Graph:
    """For a P₊ that comes first, one mode for each singular value, and is far from singular."""
    inverse = np.linalg.inv(factor[: factor.shape[1]])
    return Graph(modes, (factor[factor.shape[1] :] @ inverse).T, inverse.T @ inverse)


def leaps(graph: Graph, gaps: Times) -> Layers:
    """W₁ᵀ and W₂, the blocks of O P with P = [1; R] L⁻ᵀ and LLᵀ = C, after gaps of any length.

    R ← e^{−|Λ₋|dT} R e^{−Λ₊dT} and C ← e^{−Λ₊dT} (C + RᵀΦ₋R) e^{−Λ₊dT} + Φ₊ with Φ = (1 − e^{−2|Λ|dT})/(2|Λ|).
    """
    modes, count = graph.modes, len(graph.slope)
    speeds = np.abs(modes.rates[count:])  # of the others; those of the growing modes come first among them
    spread, lost = _spread(-speeds, gaps), np.exp(np.multiply.outer(gaps, -speeds))
    slope = lost[:, :count, None] * graph.slope
    scaled = slope * np.sqrt(spread)[:, None]
    gram = scaled @ scaled.mT
    gram += lost[:, :count, None] * graph.inverse_gram * lost[:, None, :count]
    _diagonal(gram)[:] += spread[:, :count]
    both = np.empty((len(gaps), count, count + len(speeds)))  # before L, what is 1 in P stays on diagonals
    into, out, rest = both[..., :count], both[..., count : 2 * count], both[..., 2 * count :]
    np.multiply(slope[..., :count], (lost[:, :count] * -modes.outward[:, 0])[:, None], out=into)
    np.multiply(slope[..., :count], (lost[:, :count] * modes.inward[:, 0])[:, None], out=out)
    np.multiply(slope[..., count:], lost[:, None, count:], out=rest)
    _diagonal(into)[:] += modes.inward[:, 0]
    _diagonal(out)[:] += modes.outward[:, 0]
    _times_inverse_root(both, gram)
    return from_singular(modes, into.mT, out.mT, rest.mT)


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
    """X L⁻ᵀ with LLᵀ = G for each pair of Xᵀ and G, whose places are taken; rows of NumPy are columns of LAPACK."""
    matrices = np.ascontiguousarray(transposed).mT
    for matrix, root in zip(matrices, _roots(grams).mT, strict=True):
        dtrsm(1.0, root, matrix, side=1, overwrite_b=1)
    return matrices


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
