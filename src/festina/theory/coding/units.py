"""What the theory of coding schemes has to know of a nonlinearity φ.

* One preactivation under a field: the density ∝ N(z|0,1) e^{bφ(z)}, with G(b) = log∫Dz e^{bφ(z)}, G' = ⟨φ⟩ and
  G'' = Var φ (`Unit.site`; `Unit.tilted` for z ~ N(m, v)).
* A Gaussian preactivation: ⟨φ⟩, ⟨φ'⟩ and ⟨φ²⟩ for z ~ N(m, v) (`Unit.mean`, `Unit.slope`, `Unit.square`), and ⟨φφᵀ⟩ for
  z ~ N(0, K) (`Unit.kernel`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from jaxtyping import Array, Float

from festina import draws
from festina._lazy import interpolate, special
from festina.theory.coding._cut_normal import cut_moments
from festina.theory.coding._quadrature import MODERATE, Site, by_quadrature

STEEPNESS = np.pi / 2  # ½(1 + erf(√π z/2)) = Φ(√(π/2) z)
FARTHEST = 1e30  # widths above or below zero from which on a preactivation is always of one sign
KNOTS = np.concatenate([np.arange(0.0, MODERATE, 0.05), np.geomspace(MODERATE, 1e6, 4260)])  # fields of a table
OVERLAP = 20.0  # of fields in the tables of moderate and of strong ones

Real = Float[np.ndarray, "..."]


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

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> unit = fs.theory.coding.RECTIFIED
        >>> unit.mean(np.zeros(1), np.ones(1)).round(4), unit.square(np.zeros(1), np.ones(1))  # 1/√2π and ½
        (array([0.3989]), array([0.5]))
        >>> unit.site(np.array([0.0, 1.0])).mean.round(3)  # a field makes it more active
        array([0.399, 0.946])
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
    return special.ndtr(np.sqrt(STEEPNESS) * z)


def _sigmoidal_tilted(mean: Real, variance: Real, field: Real) -> Site:
    return by_quadrature(_sigmoid, mean, variance, field)


def _sigmoidal_site(field: Real) -> Site:
    """By tables for b ≥ 0; φ(−z) = 1 − φ(z) gives G(−b) = G(b) − b and the rest."""
    size, negative = np.asarray(np.abs(field)), field < 0
    value, mean, variance, first, spread, covariance = _from_tables(size)
    return _beyond_tables(field, Site(
        np.where(negative, value - size, value),
        np.where(negative, 1.0 - mean, mean),
        variance,
        np.where(negative, -first, first),
        spread,
        covariance,
    ))  # fmt: skip


def _beyond_tables(field: Real, site: Site) -> Site:
    """The same with what tables do not have: fields that are larger, and those that are no number."""
    beyond = ~(np.abs(field) <= KNOTS[-1])
    if not np.any(beyond):
        return site
    there = field[beyond]
    exact = _sigmoidal_tilted(np.zeros_like(there), np.ones_like(there), there)
    for part, values in zip(site, exact, strict=True):
        part[beyond] = values
    return site


def _from_tables(size: Real) -> list[Real]:
    """All cumulants at fields b ≥ 0; the table of strong ones is made only if there are any."""
    found = _sigmoidal_table(False)(np.minimum(size, MODERATE))
    strong = size > MODERATE
    if np.any(strong):
        found[strong] = _sigmoidal_table(True)(size[strong])
    return [np.asarray(part) for part in np.ascontiguousarray(np.moveaxis(found, -1, 0))]


@cache
def _sigmoidal_table(strong: bool) -> Callable[[Real], Real]:
    """Cubic polynomials between exact values of each cumulant, with exact derivatives where they are cumulants too.

    Both tables overlap, so far that neither has an end where it is used.
    """
    knots = KNOTS[KNOTS > MODERATE - OVERLAP] if strong else KNOTS[KNOTS < MODERATE + OVERLAP]
    moderate = knots <= MODERATE  # for which nodes need not be as close
    parts = [
        by_quadrature(_sigmoid, 0.0 * part, 0.0 * part + 1.0, part) for part in (knots[moderate], knots[~moderate])
    ]
    exact = Site(*(np.concatenate(pair) for pair in zip(*parts, strict=True)))
    splines = (
        interpolate.CubicHermiteSpline(knots, exact.log_partition, exact.mean),
        interpolate.CubicHermiteSpline(knots, exact.mean, exact.variance),
        interpolate.CubicSpline(knots, exact.variance),
        interpolate.CubicHermiteSpline(knots, exact.preactivation, exact.covariance),
        interpolate.CubicSpline(knots, exact.spread),
        interpolate.CubicSpline(knots, exact.covariance),
    )
    return interpolate.PPoly(np.stack([spline.c for spline in splines], axis=-1), knots)


def _sigmoidal_argument(mean: Real, variance: Real) -> tuple[Real, Real]:
    """Φ(√(π/2) z) for z ~ N(m, v) has the mean Φ(h), h = √(π/2) m/√(1+πv/2); and 1 + πv/2."""
    widened = 1.0 + STEEPNESS * variance
    return np.asarray(np.sqrt(STEEPNESS) * mean / np.sqrt(widened)), np.asarray(widened)


def _sigmoidal_mean(mean: Real, variance: Real) -> Real:
    return np.asarray(special.ndtr(_sigmoidal_argument(mean, variance)[0]))


def _sigmoidal_slope(mean: Real, variance: Real) -> Real:
    argument, widened = _sigmoidal_argument(mean, variance)
    return np.asarray(np.sqrt(STEEPNESS / widened) * gaussian_density(argument))


def _sigmoidal_square(mean: Real, variance: Real) -> Real:
    """P(x < h, x' < h) of two normal numbers with correlation ρ = 1 − 1/(1+πv/2): Φ(h) − 2T(h, √((1−ρ)/(1+ρ)))."""
    argument, widened = _sigmoidal_argument(mean, variance)
    return np.asarray(special.ndtr(argument) - 2.0 * special.owens_t(argument, 1.0 / np.sqrt(2.0 * widened - 1.0)))


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
        kept = special.ndtr(np.asarray(draws.normal(for_choice, left.shape))) < chance
        drawn[left[kept]] = candidate[kept]
        left = left[~kept]
        attempt += 1
    return drawn.reshape(field.shape)


def _rectified_tilted(mean: Real, variance: Real, field: Real) -> Site:
    """A mixture of z < 0, left alone, and z > 0, shifted to N(m + bv, v) and cut at 0: G(b) = log(½ + e^{b²/2}Φ(b)).

    The last is for m = 0 and v = 1. All cumulants are sums of positive terms: those within both parts, and between.
    """
    width = np.sqrt(variance)
    height, moved = mean / width, mean / width + field * width
    log_below = special.log_ndtr(-height)
    negative = np.log(0.5 * special.erfcx(-np.minimum(moved, 0.0) / np.sqrt(2.0))) - 0.5 * height**2
    log_above = np.where(moved < 0, negative, field * (mean + 0.5 * variance * field) + special.log_ndtr(moved))
    log_partition = np.logaddexp(log_below, log_above)
    above, below = np.exp(log_above - log_partition), np.exp(log_below - log_partition)
    (high, within_high), (low, within_low) = (cut_moments(np.asarray(x)) for x in (moved, -height))
    high, low, within_high, within_low = width * high, -width * low, variance * within_high, variance * within_low
    apart = high - low
    return Site(
        log_partition,
        above * high,
        above * (within_high + below * high**2),
        above * high + below * low,
        above * within_high + below * within_low + above * below * apart**2,
        above * (within_high + below * high * apart),
    )


def _rectified_place(mean: Real, variance: Real) -> tuple[Real, Real]:
    """√v, and how many of it the mean lies above zero; of no width, as far as it takes."""
    width = np.sqrt(np.maximum(variance, 1e-300))
    return np.asarray(width), np.asarray(np.clip(mean / width, -FARTHEST, FARTHEST))


def _rectified_mean(mean: Real, variance: Real) -> Real:
    """Φ(h) ⟨z⟩ over z > 0, h = m/√v: the sum mΦ(h) + √v N(h|0,1) has no digits left far below zero."""
    width, place = _rectified_place(mean, variance)
    return np.asarray(np.where(place < FARTHEST, width * special.ndtr(place) * cut_moments(place)[0], mean))


def _rectified_slope(mean: Real, variance: Real) -> Real:
    return np.asarray(special.ndtr(_rectified_place(mean, variance)[1]))


def _rectified_square(mean: Real, variance: Real) -> Real:
    """Φ(h) ⟨z²⟩ over z > 0."""
    width, place = _rectified_place(mean, variance)
    first, spread = cut_moments(place)
    return np.asarray(np.where(place < FARTHEST, width**2 * special.ndtr(place) * (first**2 + spread), mean**2))


def _rectified_kernel(one: Real, other: Real, covariance: Real) -> Real:
    """√(K₁₁K₂₂)(sin θ + (π−θ)cos θ)/2π, cos θ the correlation: the arc-cosine kernel of Cho & Saul (2009)."""
    scale = np.sqrt(one * other)
    cosine = np.clip(covariance / np.maximum(scale, 1e-300), -1.0, 1.0)
    angle = np.arccos(cosine)
    return np.asarray(scale * (np.sin(angle) + (np.pi - angle) * cosine) / (2.0 * np.pi))


def _draw_rectified(key: Array, field: Real) -> Real:
    """One of both halves, then that half of a normal distribution, through the inverse of its cumulative function."""
    for_half, for_place = draws.split(key, 2)
    which = special.ndtr(np.asarray(draws.normal(for_half, field.shape)))
    place = special.ndtr(np.asarray(draws.normal(for_place, field.shape)))
    positive = np.exp(0.5 * field**2 + special.log_ndtr(field) - RECTIFIED.site(field).log_partition)
    # N(b, 1) above 0: its complement is uniform below Φ(b)
    above = field - special.ndtri_exp(np.log(place) + special.log_ndtr(field))
    return np.where(which < positive, above, special.ndtri(0.5 * place))


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
