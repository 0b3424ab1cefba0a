"""One preactivation under a field h: the density N(z|0, 1) e^{hφ(z)}/Z(h), to be drawn from.

z is a function of a standard normal number x, by their cumulative functions: Φ(x) = F_h(z). That function is smooth for
a smooth φ, and nearly linear far out. It is computed once for many h and x, to rounding, and interpolated between
them by polynomials.
"""

from functools import lru_cache, reduce
from operator import mul
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from festina._lazy import special
from festina.networks.bayesian import Nonlinearity
from festina.precision import double

STRONGEST = 200.0  # field
BEND, FIELDS = 4.0, 1.0 / 32.0  # rows of the table are evenly spaced in arsinh(h/4)
FARTHEST, PLACES = 8.5, 1.0 / 32.0  # of x, and its spacing
SIX = 6  # neighbours in the table that a polynomial goes through
EDGE, CELL = 12.0, 0.05  # of z: nobody is further out; width of a cell with six nodes
MARGIN = 3  # rows and columns beyond what may be asked for
NODES, WEIGHTS = np.polynomial.legendre.leggauss(6)
SHARES = 0.5 * (1.0 + NODES)  # of a cell's width
NEWTON_STEPS, TINY = 4, 1e-300
QUADRATURE = np.linspace(-EDGE, EDGE, 481)  # a trapezoidal rule with a spacing of .05 is exact to rounding


def log_partitions(nonlinearity: Nonlinearity, fields: Float[Any, "*shape"]) -> Float[Array, "*shape"]:
    """G(h) = log∫Dz e^{hφ(z)}, for a bounded φ.

    Args:
        nonlinearity: φ.
        fields: h.

    Example:
        >>> with fs.double():
        ...     value = fs.learning.tilted.log_partitions(fs.networks.SIGMOIDAL, np.zeros(1))
        >>> round(float(abs(value[0])), 12)
        0.0
    """
    nodes = jnp.asarray(QUADRATURE)
    weight = -0.5 * nodes**2 + np.log((QUADRATURE[1] - QUADRATURE[0]) / np.sqrt(2.0 * np.pi))
    exponent = jnp.asarray(fields).reshape(-1, 1) * nonlinearity(nodes)[None] + weight[None]
    return jax.scipy.special.logsumexp(exponent, axis=1).reshape(jnp.shape(fields))


def quantile_rows(nonlinearity: Nonlinearity, fields: Float[Any, "*shape"]) -> Float[Array, "*shape places"]:
    """z at the places x of the table, for each of some fields, |h| ≤ 200."""
    table = jnp.asarray(_table(nonlinearity))
    place = jnp.arcsinh(jnp.asarray(fields) / BEND) / FIELDS + 0.5 * (table.shape[0] - 1)
    first = _first(place, table.shape[0])
    weights = _lagrange(place - first.astype(float))
    return sum((weight[..., None] * table[first + k] for k, weight in enumerate(weights)), start=jnp.zeros(()))


def at_normal(rows: Float[Array, "rows places"], which: Any, normal: Float[Any, "*shape"]) -> Float[Array, "*shape"]:
    """z of some standard normal numbers x, each in one of the rows."""
    place = jnp.asarray(normal) / PLACES + 0.5 * (rows.shape[-1] - 1)
    first = _first(place, rows.shape[-1])
    weights = _lagrange(place - first.astype(float))
    flat, start = rows.reshape(-1), which * rows.shape[-1] + first
    return sum((weight * flat[start + k] for k, weight in enumerate(weights)), start=jnp.zeros(()))


def _first(place: Any, count: int) -> Any:
    """The first of the six neighbours among which a place is in the middle."""
    middle = SIX // 2
    return jnp.clip(jnp.floor(place).astype(int) - middle + 1, 0, count - SIX)


def _lagrange(place: Any) -> list[Any]:
    """What values at 0, 1, …, 5 contribute to the polynomial through them."""
    apart = [place - float(node) for node in range(SIX)]
    found = []
    for node in range(SIX):
        others = [other for other in range(SIX) if other != node]
        scale = float(np.prod([node - other for other in others]))
        found.append(reduce(mul, (apart[other] for other in others)) / scale)
    return found


@lru_cache(maxsize=8)
def _table(nonlinearity: Nonlinearity) -> Float[np.ndarray, "fields places"]:
    """z of every field h and every x, by Newton's method on the integral of the density; once, on the host.

    The tail that is the smaller one decides, so that both have all of their digits.
    """
    fields = BEND * np.sinh(_around(np.arcsinh(STRONGEST / BEND), FIELDS))[:, None]
    places = _around(FARTHEST, PLACES)[None]
    edges = np.linspace(-EDGE, EDGE, round(2 * EDGE / CELL) + 1)
    masses = _density(nonlinearity, fields[..., None], 0.5 * CELL * (1.0 + NODES[None]) + edges[:-1, None]) @ WEIGHTS
    masses *= 0.5 * CELL
    total, none = masses.sum(axis=1, keepdims=True), np.zeros_like(fields)
    below = np.concatenate([none, np.cumsum(masses, axis=1)], axis=1) / total
    above = np.concatenate([np.cumsum(masses[:, ::-1], axis=1)[:, ::-1], none], axis=1) / total
    cell, z = _nearby(np.where(below < 0.5, _quantile(below), -_quantile(above)), edges, places[0])
    lowest, lower, upper = edges[cell], *(np.take_along_axis(each, cell, axis=1) for each in (below, above))
    left = places < 0
    for _ in range(NEWTON_STEPS):
        inside = _density(nonlinearity, fields[..., None], lowest[..., None] + np.multiply.outer(z - lowest, SHARES))
        part = inside @ WEIGHTS * 0.5 * (z - lowest) / total
        tail = np.maximum(np.where(left, lower + part, upper - part), TINY)
        slope = _density(nonlinearity, fields, z) / total
        step = np.log(tail / special.ndtr(-np.abs(places))) * tail / slope  # on log F, which is nearly a parabola
        z = np.clip(np.where(left, z - step, z + step), lowest, lowest + CELL)
    return z


def _around(farthest: float, spacing: float) -> Float[np.ndarray, " places"]:
    """From −farthest to farthest, and some places beyond."""
    count = int(np.ceil(farthest / spacing)) + MARGIN
    return np.arange(-count, count + 1) * spacing


def _quantile(share: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    return special.ndtri(np.maximum(share, TINY))


def _nearby(
    normal: Float[np.ndarray, "fields edges"], edges: Float[np.ndarray, " edges"], places: Float[np.ndarray, " places"]
) -> tuple[Int[np.ndarray, "fields places"], Float[np.ndarray, "fields places"]]:
    """The cell that each z lies in, and roughly where, from x at the edges of cells."""
    cells = np.stack([np.searchsorted(row, places) for row in normal]) - 1
    cells = np.clip(cells, 0, len(edges) - 2)
    z = np.stack([np.interp(places, row, edges) for row in normal])
    return cells, np.clip(z, edges[cells], edges[cells + 1])


def _density(nonlinearity: Nonlinearity, field: Any, z: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "..."]:
    """N(z|0, 1) e^{hφ(z)}, but for a factor that keeps it from overflowing."""
    with double(), jax.ensure_compile_time_eval():
        activity = np.asarray(nonlinearity(jnp.asarray(z)))
    return np.exp(field * activity - np.maximum(field, 0.0) - 0.5 * z**2)
