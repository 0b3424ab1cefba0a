"""The clock of a chain: an incomplete beta integral of a logit, and its inverse.

Every flow ``ȧ ∝ |a|^p (s - λ a)`` takes, in a suitable variable y in (0, 1) with logit v, the time

    T(v) = ∫ y^left (1-y)^right dv,    v = ln(y / (1-y)).

``left`` and ``right`` are plain Python numbers, and ``right`` is at most zero. Both ends are exact: v keeps
its precision where y or 1-y would round to zero. Only differences of T have a meaning.
"""

import math
from functools import lru_cache, partial

import jax
import numpy as np
from numpy.polynomial import chebyshev

from festina.arrays import Real, log_sigmoid, plain_on_host, repeat, xp

# Power series are used for y ≤ 1/2 only: this many terms, or this degree, reach the rounding of float64.
TERMS, DEGREE = 56, 19
# After 5 iterations nothing changes for depths from 1.001 to infinity and logits from -100 to 100.
ITERATIONS = 6


def _vanishes(exponent: float) -> bool:
    """Whether T is counted from y = 0, which keeps small T precise; near exponent zero 1/exponent would not."""
    return exponent > 0.01


def _power(log_y: Real, exponent: float) -> Real:
    """∫ y^(exponent-1) dy as a function of ln y, with a logarithm at exponent zero."""
    if exponent == 0:
        return log_y
    if _vanishes(exponent):
        return xp.exp(exponent * log_y) / exponent
    return xp.expm1(exponent * log_y) / exponent


def _unpower(value: Real, exponent: float) -> Real:
    """The inverse of `_power`."""
    if exponent == 0:
        return value
    if _vanishes(exponent):
        return xp.log(exponent * value) / exponent
    return xp.log1p(exponent * value) / exponent


@lru_cache
def _coefficients(left: float, right: float) -> list[float]:
    """Σ_k≥2 (1-right)_k/k! · y^(k-2)/(left+k) as a polynomial in 4y-1, highest power first.

    The series is economised on y ≤ 1/2, which leaves less than half of its terms.
    """
    binomial = np.cumprod([1.0] + [(k - right) / k for k in range(1, TERMS)])
    series = binomial[2:] / (left + np.arange(2, TERMS))
    nodes = chebyshev.chebpts1(DEGREE + 1)
    economised = chebyshev.chebfit(nodes, np.polyval(series[::-1], (nodes + 1) / 4), DEGREE)
    return chebyshev.cheb2poly(economised)[::-1].tolist()


def _tail(log_y: Real, left: float, right: float) -> Real:
    """∫ y^(left-1) (1-y)^(right-1) dy for y ≤ 1/2; two terms apart, as left and left + 1 may vanish."""
    log_y = xp.minimum(log_y, math.log(0.5))
    first = _power(log_y, left) + (1 - right) * _power(log_y, left + 1)
    coefficients = np.asarray(_coefficients(left, right), dtype=log_y.dtype)
    return first + xp.exp((left + 2) * log_y) * xp.polyval(coefficients, 4 * xp.exp(log_y) - 1)


def _half(left: float, right: float) -> float:
    """The same up to y = 1/2; a constant, and so no work for JAX."""
    return float(_tail(np.float64(0), left, right))


def _log_rate(logit: Real, left: float, right: float) -> Real:
    """ln dT/dv."""
    return left * log_sigmoid(logit) + right * log_sigmoid(-logit)


@partial(jax.custom_jvp, nondiff_argnums=(1, 2))
def _elapsed(logit: Real, left: float, right: float) -> Real:
    """T(v), up to a constant."""
    below = _tail(log_sigmoid(logit), left, right)
    above = _half(left, right) + _half(right, left) - _tail(log_sigmoid(-logit), right, left)
    return xp.where(logit < 0, below, above)


@_elapsed.defjvp
def _elapsed_jvp(left, right, primals, tangents):
    (logit,), (logit_dot,) = primals, tangents
    return elapsed(logit, left, right), xp.exp(_log_rate(logit, left, right)) * logit_dot


elapsed = plain_on_host(_elapsed)


def _unstretch(stretched: Real, left: float, right: float) -> Real:
    """v from the variable in which T is nearly a straight line: e^(left v) below, e^(-right v) above v = 0."""
    middle = _power(xp.zeros_like(stretched), left)
    below = _unpower(xp.minimum(stretched, middle), left)
    above = -_unpower(-xp.maximum(stretched - middle, 0.0), right)
    return xp.where(stretched < middle, below, above)


@partial(jax.custom_jvp, nondiff_argnums=(2, 3))
def _advance(logit: Real, time: Real, left: float, right: float) -> Real:
    """The logit after a time: the solution v of T(v) = T(logit) + time, by Newton's method in a bracket.

    In the stretched variable the slope of T lies between 1 and 2^-(left+right), which is at most 4 away from 1:
    the bracket is tight from the start and Newton converges from anywhere. For left = -1, right = 0 the equation
    is v - e^-v = T, which is Wright's omega function of -T with ω = e^-v.
    """
    target = elapsed(logit, left, right) + time
    origin = 0.0 if _vanishes(left) else _half(left, right)
    offset, steepest = target - origin, 2.0 ** (left + right)
    lower, upper = xp.minimum(offset, offset * steepest), xp.maximum(offset, offset * steepest)
    if left > 0 and not _vanishes(left):
        # The stretched variable ends at -1/left, where v = -∞; the smallest floats stay clear of it.
        lower = xp.maximum(lower, -(1 - 1e-4) / left)

    def improve(stretched):
        guess = _unstretch(stretched, left, right)
        slope = xp.exp((left + right) * log_sigmoid(xp.abs(guess)))
        return xp.clip(stretched - (elapsed(guess, left, right) - target) / slope, lower, upper)

    start = xp.clip(offset * math.sqrt(steepest), lower, upper)
    solution = _unstretch(repeat(ITERATIONS, improve, start), left, right)
    # A start so close to the saddle that its clock overflows does not move in any time a float can express.
    return xp.where(xp.isfinite(target), solution, logit)


@_advance.defjvp
def _advance_jvp(left, right, primals, tangents):
    (logit, time), (logit_dot, time_dot) = primals, tangents
    end = advance(logit, time, left, right)
    before, after = _log_rate(logit, left, right), _log_rate(end, left, right)
    return end, xp.exp(-after) * time_dot + xp.exp(before - after) * logit_dot


advance = plain_on_host(_advance)
