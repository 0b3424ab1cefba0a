"""The product of a balanced chain of scalar weights, and its distance to the best fit, depth by depth.

The private functions return (a, a - s/λ). The distance is computed by itself, not by subtraction, so that the
loss keeps its relative precision long after a has become s/λ in floating point.
"""

import math
from functools import partial

import jax
import numpy as np
from jaxtyping import Array, Bool

from festina.arrays import Real, plain_on_host, sigmoid, xp
from festina.compiling import brief_jit
from festina.theory import _beta

Values = Real
Pair = tuple[Values, Values]
Truth = Bool[Array | np.ndarray | np.bool_, "..."]


@jax.custom_jvp
def _quotient(a: Values, b: Values) -> Values:
    """a/b, and zero where b is zero; its derivative does not form b², which underflows for b < 1e-154."""
    return xp.where(b == 0, 0.0, a / xp.where(b == 0, 1.0, b))


@_quotient.defjvp
def _quotient_jvp(primals, tangents):
    (a, b), (a_dot, b_dot) = primals, tangents
    value = quotient(a, b)
    return value, quotient(a_dot - value * b_dot, b)


quotient = plain_on_host(_quotient)


def saturation(rate: Values, time: Values) -> Values:
    """(1 - e^(-rate·time)) / rate, smooth at rate zero; rate·time ≥ 0."""
    exponent = rate * time
    small = exponent < 0.05
    # Written out, since the quotient loses its derivative to cancellation.
    series = xp.polyval(
        np.asarray([(-1) ** k / math.factorial(k + 1) for k in range(9, -1, -1)], dtype=exponent.dtype),
        xp.where(small, exponent, 0.0),
    )
    return xp.where(small, time * series, -xp.expm1(-exponent) / xp.where(small, 1.0, rate))


@plain_on_host
@partial(brief_jit, static_argnums=0)
def balanced(
    depth: float, time: Values, strength: Values, initial: Values, input_variance: Values, timescale: Values
) -> Pair:
    """The product of τȧ = D |a|^(2-2/D) (s - λa), or τȧ = |a|² (s - λa) for infinite D, and its loss."""
    # An infinite time is as good as this one, and its products are numbers.
    time = xp.minimum(time / timescale, math.sqrt(xp.finfo(time.dtype).max))
    if depth == 1:
        product, distance = _shallow(time, strength, initial, input_variance)
        return product, input_variance * distance**2 / 2
    # The weights cannot change the sign of their product, and (a, s) → (-a, -s) leaves the flow as it is.
    sign = xp.where(initial < 0, -1.0, 1.0)
    solve = _deep if depth == 2 else partial(_deeper, depth)
    product, distance = solve(time, sign * strength, sign * initial, input_variance)
    return sign * product, input_variance * distance**2 / 2


def _shallow(time: Values, strength: Values, initial: Values, input_variance: Values) -> Pair:
    best, decay = strength / input_variance, xp.exp(-input_variance * time)
    return -best * xp.expm1(-input_variance * time) + initial * decay, (initial - best) * decay


def _deep(time: Values, strength: Values, initial: Values, input_variance: Values) -> Pair:
    """a = a0 / (E + λ a0 (1-E)/s) with E = e^(-2st), multiplied through by 1/E where s < 0."""
    grows = strength >= 0
    rate = 2 * xp.where(grows, strength, -strength)
    decay = xp.exp(-rate * time)
    growth, shrinkage = xp.where(grows, decay, 1.0), xp.where(grows, 1.0, decay)
    denominator = growth + 2 * input_variance * initial * saturation(rate, time)
    # The denominator vanishes from initial zero, after a time in which any other value would have grown.
    product, best = quotient(initial * shrinkage, denominator), strength / input_variance
    near = quotient((initial - best) * decay, denominator)
    return product, xp.where(grows & (denominator > 0), near, product - best)


def exponents(depth: float) -> tuple[float, float]:
    """q = 2/D - 1 and p = 1 - q = 2 - 2/D, the power of the product in the flow."""
    return 2 / depth - 1, 2 - 2 / depth


def scaled_rate(depth: float, best: Values, input_variance: Values) -> Values:
    """D λ |s/λ|^p (without D where D is infinite): the rate at which the clock of `_beta` runs."""
    speed = 1.0 if math.isinf(depth) else depth
    return speed * input_variance * xp.exp(exponents(depth)[1] * xp.log(best))


def _deeper(depth: float, time: Values, strength: Values, initial: Values, input_variance: Values) -> Pair:
    """Any other depth, initial ≥ 0: a choice between five forms, each with harmless inputs where not chosen."""
    tiny = math.sqrt(xp.finfo(time.dtype).eps)
    gap = strength - input_variance * initial
    stuck = initial == 0
    settled = ~stuck & (xp.abs(gap) <= tiny * strength)
    weak_product, weak_distance, weak = _weak(depth, time, strength, initial, input_variance, stuck, tiny)
    ordinary = ~(stuck | settled | weak)

    best = xp.where(stuck | weak, 1.0, xp.abs(strength)) / input_variance
    ceiling = xp.finfo(time.dtype).max * tiny
    clock = xp.minimum(scaled_rate(depth, best, input_variance) * time, ceiling)
    result = _settled(depth, clock, xp.where(settled, -gap, 0.0) / (input_variance * best), best)
    forms = (
        (_below, ordinary & (strength > 0) & (gap > 0)),
        (_above, ordinary & (strength > 0) & (gap < 0)),
        (_opposite, ordinary & (strength < 0)),
    )
    for form, chosen in forms:
        result = _choose(chosen, form(depth, clock, xp.where(chosen, initial / best, 0.5), best), result)
    result = _choose(weak, (weak_product, weak_distance), result)
    # Below depth 2 zero is reached, and left, in finite time: a start there has no unique future.
    rest = initial if depth >= 2 else xp.where(strength == 0, initial, xp.nan)
    return _choose(stuck, (rest, rest - strength / input_variance), result)


def _choose(condition: Truth, chosen: Pair, other: Pair) -> Pair:
    return xp.where(condition, chosen[0], other[0]), xp.where(condition, chosen[1], other[1])


def _below(depth: float, clock: Values, ratio: Values, best: Values) -> Pair:
    """0 < a < s/λ: y = λa/s."""
    logit = _beta.advance(xp.log(ratio) - xp.log1p(-ratio), clock, exponents(depth)[0], 0.0)
    return best * sigmoid(logit), -best * sigmoid(-logit)


def _above(depth: float, clock: Values, ratio: Values, best: Values) -> Pair:
    """a > s/λ > 0: the same integral with y = s/(λa) and p in place of q."""
    ratio = xp.where(ratio > 1, ratio, 2.0)
    distance = best * xp.exp(-_beta.advance(-xp.log(ratio - 1), clock, exponents(depth)[1], 0.0))
    return best + distance, distance


def _opposite(depth: float, clock: Values, ratio: Values, best: Values) -> Pair:
    """a > 0 > s: the product falls towards the saddle at zero; y = 1 / (1 + λa/|s|)."""
    if depth < 2:
        return xp.full_like(ratio, xp.nan), xp.full_like(ratio, xp.nan)
    power, other = exponents(depth)[1], exponents(depth)[0]
    product = best * xp.exp(-_beta.advance(-xp.log(ratio), clock, power, other))
    return product, product + best


def _settled(depth: float, clock: Values, deviation: Values, best: Values) -> Pair:
    """a = s/λ (1 + δ) with |δ| ≤ √ε, to second order in δ."""
    decay = xp.exp(-clock)
    distance = best * deviation * decay / (1 + exponents(depth)[1] * deviation * (1 - decay))
    return best + distance, distance


def _weak(
    depth: float,
    time: Values,
    strength: Values,
    initial: Values,
    input_variance: Values,
    stuck: Truth,
    tiny: float,
) -> tuple[Values, Values, Truth]:
    """|s/λ| ≪ a: the power law of s = 0, to first order in s, and where it holds."""
    power = exponents(depth)[1]
    initial = xp.where(stuck, 1.0, initial)
    speed = input_variance * xp.exp(power * xp.log(initial)) * (1.0 if math.isinf(depth) else depth)
    log_growth = xp.log1p(power * speed * time)
    largest = 0.9 * math.log(xp.finfo(time.dtype).max)
    shrinkage = xp.exp(xp.minimum(log_growth / power, largest))
    best = strength / input_variance
    weak = ~stuck & (xp.abs(best) * shrinkage <= tiny * initial)
    relative = quotient(xp.where(weak, best, 0.0), initial)
    first_order = relative * (shrinkage - xp.exp(-log_growth)) / (1 + power)
    product = initial / shrinkage * (1 + first_order)
    return product, product - best, weak
