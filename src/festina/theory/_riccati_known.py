"""The matrix Riccati equation behind two-layer linear networks for known numbers: NumPy and LAPACK, nothing compiled.

The steps are those of `_riccati`, many times together: all that are a short step away from the last one reached, or
all of a row of long steps.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotrf

from festina.theory._riccati_basis import (
    SHORT,
    Correlation,
    First,
    Modes,
    Named,
    Rates,
    Scalar,
    Second,
    forever,
    layers,
    modes_of,
    named,
    obstructed,
    products,
    to_modes,
)

#: Entries of all factors that are advanced together: what a processor keeps at hand.
CHUNK = 65536
#: A growing part of the weights that is as well conditioned as this has no direction that could be mere rounding.
SOUND = 1e6

Factor = Float[np.ndarray, "rows columns"]
Factors = Float[np.ndarray, "time rows columns"]
Times = Float[np.ndarray, " time"]


def evaluate(
    first: First, second: Second, correlation: Correlation, time: Float[np.ndarray, "*t"], timescale: Scalar,
    variance: Scalar,
) -> Named:  # fmt: skip
    """The network at any times."""
    times = time.ravel() / timescale
    order = np.argsort(times)
    root = np.sqrt(variance)  # with √c·W in place of W, input variance c becomes 1
    modes = modes_of(root * first, root * second, correlation)
    start, rank = initial_factor(modes, root * first, root * second, correlation)
    found = _empty(len(times), first.shape[1], len(second))
    for chunk, factors in course(modes.rates, start, rank, times[order]):
        _write({name: values[chunk] for name, values in found.items()}, modes, factors, correlation, variance)
    if np.any(order[1:] < order[:-1]):
        found = {name: values[np.argsort(order)] for name, values in found.items()}
    return {name: values.reshape(time.shape + values.shape[1:]) for name, values in found.items()}


def _empty(times: int, inputs: int, outputs: int) -> dict[str, np.ndarray]:
    shapes = {"map": (outputs, inputs), "input_gram": (inputs, inputs), "output_gram": (outputs, outputs), "loss": ()}
    return {name: np.empty((times, *shape)) for name, shape in shapes.items()}


def _write(
    found: dict[str, np.ndarray], modes: Modes, factors: Factors, correlation: Correlation, variance: Scalar
) -> None:
    """What `named` makes of P at some times, in the place of ``found``: memory is what large networks wait for."""
    into, out = layers(modes, factors)
    for name, one, other in (("map", out, into), ("input_gram", into, into), ("output_gram", out, out)):
        np.matmul(one, other.mT, out=found[name])
        if variance != 1.0:
            found[name] /= variance
    error = correlation / variance - found["map"]
    found["loss"][...] = variance / 2 * np.einsum("toi,toi->t", error, error)


def evaluate_limit(first: First, second: Second, correlation: Correlation, variance: Scalar) -> Named:
    """The network for t → ∞."""
    root = np.sqrt(variance)
    modes = modes_of(root * first, root * second, correlation)
    start, rank = initial_factor(modes, root * first, root * second, correlation)
    factor = _long_steps(modes.rates, start, np.array([forever(modes.rates)]), rank)[0]
    return named(products(modes, factor), correlation, variance)


def initial_factor(modes: Modes, first: First, second: Second, correlation: Correlation) -> tuple[Factor, int]:
    """P at t = 0 and the rank of its growing part: as `_riccati.initial_factor` has it.

    Where there are as many growing modes as hidden units and their part of P is far from singular, nothing has to be
    set apart: P is as good as any other factor of PPᵀ.
    """
    factor = to_modes(modes, first, second)
    growing, columns = modes.rates > 0, factor.shape[1]
    most = columns - int(obstructed(first, second, correlation))
    size = np.linalg.norm(to_modes(modes, first, second, size=True), axis=1)
    floor = np.finfo(float).eps * len(factor) * size
    if most == columns == np.count_nonzero(growing) and _is_sound(factor[growing], floor[growing]):
        return factor, columns
    claimed, count = _sorted_factors(factor, np.where(growing, 0.0, -1e6)[None], floor, growing, most)
    return claimed[0], int(count[0])


def _is_sound(rows: Float[np.ndarray, "n n"], floor: Float[np.ndarray, " n"]) -> bool:
    """Whether rows, each known up to ``floor``, are far from dependent."""
    lengths = np.linalg.norm(rows, axis=1)
    return bool(np.all(lengths > SOUND * floor) and np.linalg.cond(rows / lengths[:, None], 1) < SOUND)


def course(rates: Rates, start: Factor, rank: int, times: Times) -> Iterator[tuple[slice, Factors]]:
    """P at times that do not fall, from P at t = 0: which times, and P at them."""
    factor, now = start, 0.0
    for chunk, is_short in _chunks(np.max(np.abs(rates)), times, max(1, CHUNK // max(start.size, 1))):
        gaps = times[chunk] - now
        factors = _short_steps(rates, factor, gaps) if is_short else _long_steps(rates, factor, gaps, rank)
        yield chunk, factors
        factor, now = factors[-1], times[chunk.stop - 1]


def _chunks(fastest: float, times: Times, most: int) -> Iterator[tuple[slice, bool]]:
    """Which times are reached together from the last one before them, and whether by short steps."""
    is_long = fastest * np.diff(times, prepend=0.0) > SHORT
    done, now = 0, 0.0
    while done < len(times):
        if is_long[done]:
            following = np.flatnonzero(~is_long[done:])
            end = done + following[0] if len(following) else len(times)
        else:
            end = np.searchsorted(fastest * (times - now), SHORT, side="right")
        chunk = slice(done, min(max(end, done + 1), done + most))
        yield chunk, not is_long[done]
        done, now = chunk.stop, times[chunk.stop - 1]


def _short_steps(rates: Rates, factor: Factor, gaps: Times) -> Factors:
    """P ← e^{ΛdT} P L⁻ᵀ with LLᵀ = I + Pᵀ (e^{2ΛdT} − 1)/(2Λ) P, for each gap dT."""
    exponent = 2 * np.multiply.outer(gaps, rates)
    still = exponent == 0
    spread = gaps[:, None] * np.where(still, 1.0, np.expm1(exponent) / np.where(still, 1.0, exponent))
    scaled = np.sqrt(spread)[:, None, :] * factor.T
    gram = scaled @ scaled.mT
    _diagonal(gram)[:] += 1.0
    return _times_inverse_root(np.exp(exponent / 2)[:, None, :] * factor.T, gram)


def _long_steps(rates: Rates, factor: Factor, gaps: Times, rank: int) -> Factors:
    """The same steps when e^{ΛdT} may overflow: see `_riccati.long_step`."""
    gaps = np.maximum(gaps, np.finfo(float).tiny)[:, None]  # no step at all is the limit of a short one
    decay = 2 * np.abs(rates) * gaps
    ratio = np.where(decay == 0, 1.0, -np.expm1(-decay) / np.where(decay == 0, 1.0, decay))
    weight = np.maximum(rates, 0.0) * gaps + np.log(gaps * ratio) / 2
    tiny = 4 * np.finfo(float).eps * factor.shape[1] ** 0.5
    factors, _ = _sorted_factors(factor, weight, tiny * np.linalg.norm(factor, axis=1), rates > 0, rank)
    with np.errstate(divide="ignore"):  # the logarithm of an exact zero
        size = weight[..., None] + np.log(np.abs(factors))
    column = np.logaddexp(0.0, np.logaddexp.reduce(2 * size, axis=1)) / 2
    scaled = np.sign(factors) * np.exp(size - column[:, None, :])
    gram = scaled.mT @ scaled
    _diagonal(gram)[:] += np.exp(-2 * column)
    grown = np.exp(np.minimum(rates, 0.0) * gaps) / np.sqrt(gaps * ratio)  # e^{ΛdT}/√Φ, which is bounded
    return _times_inverse_root((grown[..., None] * scaled).mT, gram)


def _diagonal(matrices: Float[np.ndarray, "time n n"]) -> Float[np.ndarray, "time n"]:
    """The diagonals, to be written to."""
    return np.einsum("tnn->tn", matrices)


def _times_inverse_root(
    transposed: Float[np.ndarray, "time columns rows"], grams: Float[np.ndarray, "time columns columns"]
) -> Factors:
    """X L⁻ᵀ with LLᵀ = G for each pair of Xᵀ and G, whose places are taken; rows of NumPy are columns of LAPACK."""
    transposed, grams = np.ascontiguousarray(transposed), np.ascontiguousarray(grams)
    for matrix, gram in zip(transposed, grams, strict=True):
        _, failed = dpotrf(gram.T, clean=0, overwrite_a=1)
        if failed:
            matrix[:] = np.nan  # as it comes out of a compiled program
        dtrsm(1.0, gram.T, matrix.T, side=1, overwrite_b=1)
    return transposed.mT


def _sorted_factors(
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
