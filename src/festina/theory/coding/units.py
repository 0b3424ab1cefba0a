"""What the theory of coding schemes has to know of a nonlinearity φ.

* One preactivation under a field: the density ∝ N(z|0,1) e^{bφ(z)}, with G(b) = log∫Dz e^{bφ(z)}, G' = ⟨φ⟩ and
  G'' = Var φ (`Unit.site`; `Unit.tilted` for z ~ N(m, v)).
* A Gaussian preactivation: ⟨φ⟩, ⟨φ'⟩ and ⟨φ²⟩ for z ~ N(m, v) (`Unit.mean`, `Unit.slope`, `Unit.square`), and ⟨φφᵀ⟩ for
  z ~ N(0, K) (`Unit.kernel`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float
from scipy.interpolate import CubicHermiteSpline, CubicSpline
from scipy.special import log_ndtr, ndtr, ndtri, ndtri_exp, owens_t

from festina import draws

STEEPNESS = np.pi / 2  # ½(1 + erf(√π z/2)) = Φ(√(π/2) z)
NODES = np.arange(-9.0, 9.0 + 1e-9, 0.15)  # of the trapezoidal rule, which is exact to rounding for such integrands
KNOTS = np.arange(0.0, 200.0 + 1e-9, 0.05)  # fields of a table; larger ones do not occur

Real = Float[np.ndarray, "..."]


class Site(NamedTuple):
    """One preactivation under a field b: all cumulants that the theory asks for, in the shape of b.

    Attributes:
        log_partition: G(b).
        mean: G' = ⟨φ⟩.
        variance: G'' = ⟨φ²⟩ − ⟨φ⟩².
        preactivation: ⟨z⟩.
        spread: ⟨z²⟩ − ⟨z⟩².
        covariance: ⟨zφ⟩ − ⟨z⟩⟨φ⟩.
    """

    log_partition: Real
    mean: Real
    variance: Real
    preactivation: Real
    spread: Real
    covariance: Real


@dataclass(frozen=True)
class Unit:
    """A nonlinearity φ as the theory sees it.

    Attributes:
        name: the same as that of the network's nonlinearity.
        function: φ(z).
        site: cumulants of z ~ N(0, 1) under a field b.
        tilted: cumulants of z ~ N(m, v) under a field b, from m, v and b.
        mean: ⟨φ⟩ for z ~ N(m, v).
        slope: ⟨φ'⟩ for z ~ N(m, v).
        square: ⟨φ²⟩ for z ~ N(m, v).
        kernel: ⟨φφᵀ⟩ for z ~ N(0, K), from the two variances and the covariance.
        draw: preactivations from the density ∝ N(z|0,1) e^{bφ(z)}, one for each b.
    """

    name: str
    function: Callable[[Any], Any]
    site: Callable[[Real], Site]
    tilted: Callable[[Real, Real, Real], Site]
    mean: Callable[[Real, Real], Real]
    slope: Callable[[Real, Real], Real]
    square: Callable[[Real, Real], Real]
    kernel: Callable[[Real, Real, Real], Real]
    draw: Callable[[Array, Real], Real]


def by_quadrature(
    function: Callable[[Any], Any], mean: Real, variance: Real, field: Real, curvature: Any = 0.0
) -> Site:
    """The cumulants for a bounded φ by the trapezoidal rule, exact to rounding for fields up to ±200.

    Args:
        function: φ.
        mean: m, in the shape of the answer, as the next two.
        variance: v.
        field: b.
        curvature: δ of a density ∝ N(z|m,v) exp(bφ + ½δφ²); zero unless given.
    """
    z = mean[..., None] + np.sqrt(variance)[..., None] * NODES
    phi = function(z)
    exponent = -0.5 * NODES**2 + field[..., None] * phi + 0.5 * np.asarray(curvature)[..., None] * phi**2
    top = exponent.max(axis=-1)
    weight = np.exp(exponent - top[..., None])
    total = weight.sum(axis=-1)
    weight = weight / total[..., None]
    average, first = (weight * phi).sum(axis=-1), (weight * z).sum(axis=-1)
    deviation, shift = phi - average[..., None], z - first[..., None]
    return Site(
        top + np.log(total * (NODES[1] - NODES[0]) / np.sqrt(2.0 * np.pi)),
        average,
        (weight * deviation**2).sum(axis=-1),
        first,
        (weight * shift**2).sum(axis=-1),
        (weight * deviation * shift).sum(axis=-1),
    )


def gaussian_density(z: Any) -> Real:
    """e^{−z²/2}/√2π."""
    return np.asarray(np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi))


def _linear_tilted(mean: Real, variance: Real, field: Real) -> Site:
    moved = mean + variance * field
    return Site(mean * field + 0.5 * variance * field**2, moved, variance, moved, variance, variance)


def _standard(tilted: Callable[[Real, Real, Real], Site]) -> Callable[[Real], Site]:
    """The cumulants of z ~ N(0, 1) from those of any z."""
    return lambda field: tilted(np.zeros_like(field), np.ones_like(field), field)


def _draw_shifted(key: Array, field: Real) -> Real:
    return field + np.asarray(draws.normal(key, field.shape))


def _sigmoid(z: Any) -> Any:
    return ndtr(np.sqrt(STEEPNESS) * z)


def _sigmoidal_tilted(mean: Real, variance: Real, field: Real) -> Site:
    return by_quadrature(_sigmoid, mean, variance, field)


def _sigmoidal_site(field: Real) -> Site:
    """By tables for b ≥ 0; φ(−z) = 1 − φ(z) gives G(−b) = G(b) − b and the rest."""
    size, negative = np.abs(field), field < 0
    value, mean, variance, first, spread, covariance = (table(size) for table in _sigmoidal_tables())
    return Site(
        np.where(negative, value - size, value),
        np.where(negative, 1.0 - mean, mean),
        variance,
        np.where(negative, -first, first),
        spread,
        covariance,
    )


@cache
def _sigmoidal_tables() -> tuple[Callable[[Real], Real], ...]:
    """Cubic polynomials between exact values of each cumulant, with exact derivatives where they are cumulants too."""
    exact = by_quadrature(_sigmoid, np.zeros_like(KNOTS), np.ones_like(KNOTS), KNOTS)
    return (
        CubicHermiteSpline(KNOTS, exact.log_partition, exact.mean),
        CubicHermiteSpline(KNOTS, exact.mean, exact.variance),
        CubicSpline(KNOTS, exact.variance),
        CubicHermiteSpline(KNOTS, exact.preactivation, exact.covariance),
        CubicSpline(KNOTS, exact.spread),
        CubicSpline(KNOTS, exact.covariance),
    )


def _sigmoidal_argument(mean: Real, variance: Real) -> tuple[Real, Real]:
    """Φ(√(π/2) z) for z ~ N(m, v) has the mean Φ(h), h = √(π/2) m/√(1+πv/2); and 1 + πv/2."""
    widened = 1.0 + STEEPNESS * variance
    return np.asarray(np.sqrt(STEEPNESS) * mean / np.sqrt(widened)), np.asarray(widened)


def _sigmoidal_mean(mean: Real, variance: Real) -> Real:
    return np.asarray(ndtr(_sigmoidal_argument(mean, variance)[0]))


def _sigmoidal_slope(mean: Real, variance: Real) -> Real:
    argument, widened = _sigmoidal_argument(mean, variance)
    return np.asarray(np.sqrt(STEEPNESS / widened) * gaussian_density(argument))


def _sigmoidal_square(mean: Real, variance: Real) -> Real:
    """P(x < h, x' < h) of two normal numbers with correlation ρ = 1 − 1/(1+πv/2): Φ(h) − 2T(h, √((1−ρ)/(1+ρ)))."""
    argument, widened = _sigmoidal_argument(mean, variance)
    return np.asarray(ndtr(argument) - 2.0 * owens_t(argument, 1.0 / np.sqrt(2.0 * widened - 1.0)))


def _sigmoidal_kernel(one: Real, other: Real, covariance: Real) -> Real:
    """¼ + arcsin(ρ)/2π with ρ = (π/2)K₁₂/√((1+πK₁₁/2)(1+πK₂₂/2)): the erf kernel of Williams (1997), for 0 … 1."""
    correlation = STEEPNESS * covariance / np.sqrt((1.0 + STEEPNESS * one) * (1.0 + STEEPNESS * other))
    return np.asarray(0.25 + np.arcsin(correlation) / (2.0 * np.pi))


def _draw_sigmoidal(key: Array, field: Real) -> Real:
    """By rejection: a normal number is kept with probability e^{b(φ−1)} for b > 0, e^{bφ} for b < 0."""
    flat = field.reshape(-1)
    drawn = np.empty_like(flat)
    left = np.arange(flat.size)
    attempt = 0
    while left.size:
        for_normal, for_choice = draws.split(draws.fold_in(key, attempt), 2)
        candidate = np.asarray(draws.normal(for_normal, left.shape))
        here = flat[left]
        chance = np.exp(here * (_sigmoid(candidate) - (here > 0)))
        kept = ndtr(np.asarray(draws.normal(for_choice, left.shape))) < chance
        drawn[left[kept]] = candidate[kept]
        left = left[~kept]
        attempt += 1
    return drawn.reshape(field.shape)


def _rectified_tilted(mean: Real, variance: Real, field: Real) -> Site:
    """A mixture of z < 0, left alone, and z > 0, shifted to N(m + bv, v) and cut at 0: G(b) = log(½ + e^{b²/2}Φ(b)).

    The last is for m = 0 and v = 1.
    """
    width = np.sqrt(variance)
    height, moved = mean / width, mean / width + field * width
    log_below = log_ndtr(-height)
    log_above = 0.5 * (moved**2 - height**2) + log_ndtr(moved)
    log_partition = np.logaddexp(log_below, log_above)
    above, below = np.exp(log_above - log_partition), np.exp(log_below - log_partition)
    hazard, other = (np.exp(-0.5 * x**2 - 0.5 * np.log(2.0 * np.pi) - log_ndtr(x)) for x in (moved, -height))
    average, square = above * width * (moved + hazard), above * variance * (1.0 + moved**2 + moved * hazard)
    first = average + below * width * (height - other)
    second = square + below * variance * (1.0 + height**2 - height * other)
    return Site(log_partition, average, square - average**2, first, second - first**2, square - first * average)


def _rectified_mean(mean: Real, variance: Real) -> Real:
    width = np.sqrt(np.maximum(variance, 1e-300))
    return np.asarray(mean * ndtr(mean / width) + width * gaussian_density(mean / width))


def _rectified_slope(mean: Real, variance: Real) -> Real:
    return np.asarray(ndtr(mean / np.sqrt(np.maximum(variance, 1e-300))))


def _rectified_square(mean: Real, variance: Real) -> Real:
    width = np.sqrt(np.maximum(variance, 1e-300))
    return np.asarray((mean**2 + variance) * ndtr(mean / width) + mean * width * gaussian_density(mean / width))


def _rectified_kernel(one: Real, other: Real, covariance: Real) -> Real:
    """√(K₁₁K₂₂)(sin θ + (π−θ)cos θ)/2π, cos θ the correlation: the arc-cosine kernel of Cho & Saul (2009)."""
    scale = np.sqrt(one * other)
    cosine = np.clip(covariance / np.maximum(scale, 1e-300), -1.0, 1.0)
    angle = np.arccos(cosine)
    return np.asarray(scale * (np.sin(angle) + (np.pi - angle) * cosine) / (2.0 * np.pi))


def _draw_rectified(key: Array, field: Real) -> Real:
    """One of both halves, then that half of a normal distribution, through the inverse of its cumulative function."""
    for_half, for_place = draws.split(key, 2)
    which = ndtr(np.asarray(draws.normal(for_half, field.shape)))
    place = ndtr(np.asarray(draws.normal(for_place, field.shape)))
    positive = np.exp(0.5 * field**2 + log_ndtr(field) - RECTIFIED.site(field).log_partition)
    above = field - ndtri_exp(np.log(place) + log_ndtr(field))  # N(b, 1) above 0: its complement is uniform below Φ(b)
    return np.where(which < positive, above, ndtri(0.5 * place))


LINEAR = Unit(
    "linear",
    lambda z: z,
    _standard(_linear_tilted),
    _linear_tilted,
    lambda mean, variance: mean + 0.0 * variance,
    lambda mean, variance: np.ones_like(mean + variance),
    lambda mean, variance: mean**2 + variance,
    lambda one, other, covariance: covariance,
    _draw_shifted,
)
SIGMOIDAL = Unit(
    "sigmoidal",
    _sigmoid,
    _sigmoidal_site,
    _sigmoidal_tilted,
    _sigmoidal_mean,
    _sigmoidal_slope,
    _sigmoidal_square,
    _sigmoidal_kernel,
    _draw_sigmoidal,
)
RECTIFIED = Unit(
    "rectified",
    lambda z: np.maximum(z, 0.0),
    _standard(_rectified_tilted),
    _rectified_tilted,
    _rectified_mean,
    _rectified_slope,
    _rectified_square,
    _rectified_kernel,
    _draw_rectified,
)
UNITS = {unit.name: unit for unit in (LINEAR, SIGMOIDAL, RECTIFIED)}
