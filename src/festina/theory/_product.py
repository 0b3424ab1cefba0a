"""The product of a balanced chain of scalar weights, and its distance to the best fit, depth by depth.

The private functions return (a, a - s/λ). The distance is computed by itself, not by subtraction, so that the
loss keeps its relative precision long after a has become s/λ in floating point.
"""

import math
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from festina.theory import _beta

Values = Float[Array, "..."]
Pair = tuple[Values, Values]


@jax.custom_jvp
def quotient(a: Values, b: Values) -> Values:
    """a/b, and zero where b is zero; its derivative does not form b², which underflows for b < 1e-154."""
    return jnp.where(b == 0, 0.0, a / jnp.where(b == 0, 1.0, b))


@quotient.defjvp
def _quotient_jvp(primals, tangents):
    (a, b), (a_dot, b_dot) = primals, tangents
    value = quotient(a, b)
    return value, quotient(a_dot - value * b_dot, b)


def saturation(rate: Values, time: Values) -> Values:
    """(1 - e^(-rate·time)) / rate, smooth at rate zero; rate·time ≥ 0."""
    exponent = rate * time
    small = exponent < 0.05
    # Written out, since the quotient loses its derivative to cancellation.
    series = jnp.polyval(
        jnp.asarray([(-1) ** k / math.factorial(k + 1) for k in range(9, -1, -1)], dtype=exponent.dtype),
        jnp.where(small, exponent, 0.0),
    )
    return jnp.where(small, time * series, -jnp.expm1(-exponent) / jnp.where(small, 1.0, rate))


@partial(jax.jit, static_argnums=0)
def balanced(
    depth: float, time: Values, strength: Values, initial: Values, input_variance: Values, timescale: Values
) -> Pair:
    """The product of τȧ = D |a|^(2-2/D) (s - λa), or τȧ = |a|² (s - λa) for infinite D, and its loss."""
    # An infinite time is as good as this one, and its products are numbers.
    time = jnp.minimum(time / timescale, math.sqrt(jnp.finfo(time.dtype).max))
    if depth == 1:
        product, distance = _shallow(time, strength, initial, input_variance)
        return product, input_variance * distance**2 / 2
    # The weights cannot change the sign of their product, and (a, s) → (-a, -s) leaves the flow as it is.
    sign = jnp.where(initial < 0, -1.0, 1.0)
    solve = _deep if depth == 2 else partial(_deeper, depth)
    product, distance = solve(time, sign * strength, sign * initial, input_variance)
    return sign * product, input_variance * distance**2 / 2


def _shallow(time: Values, strength: Values, initial: Values, input_variance: Values) -> Pair:
    best, decay = strength / input_variance, jnp.exp(-input_variance * time)
    return -best * jnp.expm1(-input_variance * time) + initial * decay, (initial - best) * decay


def _deep(time: Values, strength: Values, initial: Values, input_variance: Values) -> Pair:
    """a = a0 / (E + λ a0 (1-E)/s) with E = e^(-2st), multiplied through by 1/E where s < 0."""
    grows = strength >= 0
    rate = 2 * jnp.where(grows, strength, -strength)
    decay = jnp.exp(-rate * time)
    growth, shrinkage = jnp.where(grows, decay, 1.0), jnp.where(grows, 1.0, decay)
    denominator = growth + 2 * input_variance * initial * saturation(rate, time)
    # The denominator vanishes from initial zero, after a time in which any other value would have grown.
    product, best = quotient(initial * shrinkage, denominator), strength / input_variance
    near = quotient((initial - best) * decay, denominator)
    return product, jnp.where(grows & (denominator > 0), near, product - best)


def exponents(depth: float) -> tuple[float, float]:
    """q = 2/D - 1 and p = 1 - q = 2 - 2/D, the power of the product in the flow."""
    return 2 / depth - 1, 2 - 2 / depth


def scaled_rate(depth: float, best: Values, input_variance: Values) -> Values:
    """D λ |s/λ|^p (without D where D is infinite): the rate at which the clock of `_beta` runs."""
    speed = 1.0 if math.isinf(depth) else depth
    return speed * input_variance * jnp.exp(exponents(depth)[1] * jnp.log(best))


def _deeper(depth: float, time: Values, strength: Values, initial: Values, input_variance: Values) -> Pair:
    """Any other depth, initial ≥ 0: a choice between five forms, each with harmless inputs where not chosen."""
    tiny = math.sqrt(jnp.finfo(time.dtype).eps)
    gap = strength - input_variance * initial
    stuck = initial == 0
    settled = ~stuck & (jnp.abs(gap) <= tiny * strength)
    weak_product, weak_distance, weak = _weak(depth, time, strength, initial, input_variance, stuck, tiny)
    ordinary = ~(stuck | settled | weak)

    best = jnp.where(stuck | weak, 1.0, jnp.abs(strength)) / input_variance
    ceiling = jnp.finfo(time.dtype).max * tiny
    clock = jnp.minimum(scaled_rate(depth, best, input_variance) * time, ceiling)
    result = _settled(depth, clock, jnp.where(settled, -gap, 0.0) / (input_variance * best), best)
    forms = (
        (_below, ordinary & (strength > 0) & (gap > 0)),
        (_above, ordinary & (strength > 0) & (gap < 0)),
        (_opposite, ordinary & (strength < 0)),
    )
    for form, chosen in forms:
        result = _choose(chosen, form(depth, clock, jnp.where(chosen, initial / best, 0.5), best), result)
    result = _choose(weak, (weak_product, weak_distance), result)
    # Below depth 2 zero is reached, and left, in finite time: a start there has no unique future.
    rest = initial if depth >= 2 else jnp.where(strength == 0, initial, jnp.nan)
    return _choose(stuck, (rest, rest - strength / input_variance), result)


def _choose(condition: Array, chosen: Pair, other: Pair) -> Pair:
    return jnp.where(condition, chosen[0], other[0]), jnp.where(condition, chosen[1], other[1])


def _below(depth: float, clock: Values, ratio: Values, best: Values) -> Pair:
    """0 < a < s/λ: y = λa/s."""
    logit = _beta.advance(jnp.log(ratio) - jnp.log1p(-ratio), clock, exponents(depth)[0], 0.0)
    return best * jax.nn.sigmoid(logit), -best * jax.nn.sigmoid(-logit)


def _above(depth: float, clock: Values, ratio: Values, best: Values) -> Pair:
    """a > s/λ > 0: the same integral with y = s/(λa) and p in place of q."""
    ratio = jnp.where(ratio > 1, ratio, 2.0)
    distance = best * jnp.exp(-_beta.advance(-jnp.log(ratio - 1), clock, exponents(depth)[1], 0.0))
    return best + distance, distance


def _opposite(depth: float, clock: Values, ratio: Values, best: Values) -> Pair:
    """a > 0 > s: the product falls towards the saddle at zero; y = 1 / (1 + λa/|s|)."""
    if depth < 2:
        return jnp.full_like(ratio, jnp.nan), jnp.full_like(ratio, jnp.nan)
    power, other = exponents(depth)[1], exponents(depth)[0]
    product = best * jnp.exp(-_beta.advance(-jnp.log(ratio), clock, power, other))
    return product, product + best


def _settled(depth: float, clock: Values, deviation: Values, best: Values) -> Pair:
    """a = s/λ (1 + δ) with |δ| ≤ √ε, to second order in δ."""
    decay = jnp.exp(-clock)
    distance = best * deviation * decay / (1 + exponents(depth)[1] * deviation * (1 - decay))
    return best + distance, distance


def _weak(
    depth: float,
    time: Values,
    strength: Values,
    initial: Values,
    input_variance: Values,
    stuck: Array,
    tiny: float,
) -> tuple[Values, Values, Array]:
    """|s/λ| ≪ a: the power law of s = 0, to first order in s, and where it holds."""
    power = exponents(depth)[1]
    initial = jnp.where(stuck, 1.0, initial)
    speed = input_variance * jnp.exp(power * jnp.log(initial)) * (1.0 if math.isinf(depth) else depth)
    log_growth = jnp.log1p(power * speed * time)
    largest = 0.9 * math.log(jnp.finfo(time.dtype).max)
    shrinkage = jnp.exp(jnp.minimum(log_growth / power, largest))
    best = strength / input_variance
    weak = ~stuck & (jnp.abs(best) * shrinkage <= tiny * initial)
    relative = quotient(jnp.where(weak, best, 0.0), initial)
    first_order = relative * (shrinkage - jnp.exp(-log_growth)) / (1 + power)
    product = initial / shrinkage * (1 + first_order)
    return product, product - best, weak
