"""The matrix Riccati equation behind two-layer linear networks for known numbers: which step leads to which time.

Where as many modes grow as there are hidden units, and independently, every time is a leap away from t = 0. Otherwise
P is carried along, many times together: all that are a short step away from the last one reached, or all of a row of
long steps. See `_riccati_steps` for the steps.
"""

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from festina.theory._riccati_basis import (
    SHORT,
    Correlation,
    First,
    Layers,
    Modes,
    Named,
    Scalar,
    Second,
    forever,
    layers,
    modes_of,
    obstructed,
    to_modes,
)
from festina.theory._riccati_steps import (
    Factor,
    Times,
    graph_of,
    leaps,
    long_steps,
    short_steps,
    sorted_factors,
)

#: Entries of all factors that are advanced together: what a processor keeps at hand.
CHUNK = 65536
#: Numbers that, asked for in one piece, are given the same memory call after call; beyond that, every page is new.
RECYCLED = 2**22
#: Below this width a matrix times its own transpose is faster as a product of two matrices.
SMALL = 32
#: A growing part of the weights that is as well conditioned as this has no direction that could be mere rounding.
SOUND = 1e6
#: And one as well conditioned as this loses no more digits in a leap, as its square, than a short step may lose.
LEVEL = np.exp(SHORT)


class Start(NamedTuple):
    """P at t = 0, the rank of its growing part, and the inverse of that part where it allows leaps."""

    factor: Factor
    rank: int
    inverse: Float[np.ndarray, "columns columns"] | None = None


def evaluate(
    first: First, second: Second, correlation: Correlation, time: Float[np.ndarray, "*t"], timescale: Scalar,
    variance: Scalar,
) -> Named:  # fmt: skip
    """The network at any times."""
    root = np.sqrt(variance)  # with √c·W in place of W, input variance c becomes 1
    modes = modes_of(root * first, root * second, correlation)
    start = initial_factor(modes, root * first, root * second, correlation)
    times = time.ravel() / timescale
    order = np.argsort(times)
    found = _at(modes, start, times[order], correlation, variance)
    if np.any(order[1:] < order[:-1]):
        found = {name: values[np.argsort(order)] for name, values in found.items()}
    return {name: values.reshape(time.shape + values.shape[1:]) for name, values in found.items()}


def evaluate_limit(first: First, second: Second, correlation: Correlation, variance: Scalar) -> Named:
    """The network for t → ∞."""
    root = np.sqrt(variance)
    modes = modes_of(root * first, root * second, correlation)
    start = initial_factor(modes, root * first, root * second, correlation)
    found = _at(modes, start, np.array([forever(modes.rates)]), correlation, variance)
    return {name: values[0] for name, values in found.items()}


def _at(modes: Modes, start: Start, times: Times, correlation: Correlation, variance: Scalar) -> dict[str, np.ndarray]:
    """What is handed out, at times that do not fall: what `_riccati_basis.named` says, written in place."""
    found, target = _room(len(times), *correlation.shape), correlation / variance
    for chunk, (into, out) in course(modes, start, times):
        for name, one, other in (("map", out, into), ("input_gram", into, into), ("output_gram", out, out)):
            np.matmul(one, _apart(other, one).mT, out=found[name][chunk])
            if variance != 1.0:
                found[name][chunk] /= variance
        error = (target - found["map"][chunk]).reshape(len(into), -1)
        found["loss"][chunk] = variance / 2 * np.vecdot(error, error)
    return found


def _apart(layer: Float[np.ndarray, "time _ hidden"], other: Float[np.ndarray, "time _ hidden"]) -> np.ndarray:
    """The same numbers elsewhere if both are one: NumPy has its own way to a square, slow for small matrices."""
    return layer.mT.copy().mT if layer is other and layer.shape[-1] < SMALL else layer


def _room(times: int, outputs: int, inputs: int) -> dict[str, np.ndarray]:
    """Memory for what is handed out, which is what large networks wait for."""
    shapes = {"map": (outputs, inputs), "input_gram": (inputs, inputs), "output_gram": (outputs, outputs), "loss": ()}
    sizes = [times * math.prod(shape) for shape in shapes.values()]
    if sum(sizes) <= RECYCLED:
        block, ends = np.empty(sum(sizes)), itertools.accumulate(sizes)
        pieces = [block[end - size : end] for size, end in zip(sizes, ends, strict=True)]
    else:  # not as NumPy would, in huge pages, which a virtual machine may have to fetch one by one
        pieces = [np.frombuffer(bytearray(8 * size)) for size in sizes]
    return {name: piece.reshape(times, *shape) for piece, (name, shape) in zip(pieces, shapes.items(), strict=True)}


def initial_factor(modes: Modes, first: First, second: Second, correlation: Correlation) -> Start:
    """P at t = 0: as `_riccati.initial_factor` has it.

    Where there are as many growing modes as hidden units and their part of P is far from singular, nothing has to be
    set apart: P is as good as any other factor of PPᵀ.
    """
    factor = to_modes(modes, first, second)
    growing, columns = modes.rates > 0, factor.shape[1]
    most = columns - int(obstructed(first, second, correlation))
    if most == columns == np.count_nonzero(growing):
        condition, inverse = _condition(factor[growing], np.finfo(float).eps * len(factor) * np.linalg.norm(factor))
        if condition < SOUND:
            return Start(factor, columns, inverse if condition < LEVEL and columns == len(modes.inward) else None)
    size = np.linalg.norm(to_modes(modes, first, second, size=True), axis=1)
    floor = np.finfo(float).eps * len(factor) * size
    claimed, count = sorted_factors(factor, np.where(growing, 0.0, -1e6)[None], floor, growing, most)
    return Start(claimed[0], int(count[0]))


def _condition(rows: Float[np.ndarray, "n n"], floor: float) -> tuple[float, Float[np.ndarray, "n n"] | None]:
    """How far from dependent rows of any lengths are, and their inverse; ∞ where one may be errors like ``floor``.

    |A|·|A⁻¹| in the norm of Frobenius is never below the condition number; only where it is too large, singular values
    are needed.
    """
    lengths = np.sqrt(np.vecdot(rows, rows))
    if not np.all(lengths > SOUND * floor):
        return np.inf, None
    try:
        inverse = np.linalg.inv(rows)
    except np.linalg.LinAlgError:
        return np.inf, None
    at_most = len(rows) ** 0.5 * np.linalg.norm(inverse * lengths)
    return at_most if at_most < LEVEL else np.linalg.cond(rows / lengths[:, None]), inverse


def course(modes: Modes, start: Start, times: Times) -> Iterator[tuple[slice, Layers]]:
    """The layers at times that do not fall, from P at t = 0: which times, and W₁ᵀ and W₂ at them."""
    rates, factor, now, most = modes.rates, start.factor, 0.0, max(1, CHUNK // max(start.factor.size, 1))
    if start.inverse is not None:
        graph = graph_of(modes, factor, start.inverse)
        for begin in range(0, len(times), most):
            chunk = slice(begin, min(begin + most, len(times)))
            yield chunk, leaps(graph, times[chunk])
        return
    for chunk, is_short in _chunks(np.max(np.abs(rates)), times, most):
        gaps = times[chunk] - now
        factors = short_steps(rates, factor, gaps) if is_short else long_steps(rates, factor, gaps, start.rank)
        yield chunk, layers(modes, factors)
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
