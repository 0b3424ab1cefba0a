"""A chain of scalar weights that learns y = (s/λ) x: the exact course of learning at every depth.

With weights w_1 … w_D, product a, input variance λ = ⟨x²⟩ and input-output correlation s = ⟨yx⟩, gradient flow
from balanced weights (all |w_l| equal, which the flow conserves) is an equation for the product alone:

    τ da/dt = D |a|^(2-2/D) (s - λ a).

One mode of a deep linear network with decoupled initial weights follows the same equation, so that one call with
arrays serves all modes of a network at once.

Sources: A. M. Saxe, J. L. McClelland, S. Ganguli, "Exact solutions to the nonlinear dynamics of learning in deep
linear neural networks" (2013); A. Saxe, lecture "Models of representation learning dynamics", on the depths 1, 2
and ∞. Two of the lecture's equations are misprinted, see :func:`chain`.
"""

import math
from functools import partial
from typing import Any, SupportsFloat

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from festina.arrays import ArrayLike, Real, plain_on_host, real, xp
from festina.compiling import brief_jit
from festina.errors import ArgumentError, require
from festina.precision import is_traced, precise
from festina.theory import _beta
from festina.theory._product import Values, balanced, exponents, quotient, saturation, scaled_rate


class Chain(eqx.Module):
    """A solution made by :func:`chain`: call it with times.

    Example:
        >>> import festina as fs
        >>> solution = fs.theory.chain(1, strength=2.0, initial=0.0, input_variance=0.5)
        >>> float(solution(1000.0)["product"])  # s/λ
        4.0
    """

    depth: float = eqx.field(static=True)
    strength: Float[Array | np.ndarray, "*modes"]
    initial: Float[Array | np.ndarray, "*modes"]
    input_variance: Float[Array | np.ndarray, "*modes"]
    timescale: Float[Array | np.ndarray, "*modes"]

    @precise
    def __call__(self, time: ArrayLike) -> dict[str, Real]:
        """The `product` a(t) and the `loss` ½λ(a - s/λ)², of shape ``time.shape + modes``; time ≥ 0."""
        modes = (self.strength, self.initial, self.input_variance, self.timescale)
        product, loss = balanced(self.depth, *_over_time(time, *modes))
        return {"product": product, "loss": loss}


@precise
def chain(
    depth: SupportsFloat,
    strength: ArrayLike,
    initial: ArrayLike,
    *,
    input_variance: ArrayLike = 1.0,
    timescale: ArrayLike = 1.0,
) -> Chain:
    """The flow τȧ = D |a|^(2-2/D) (s - λa) from a(0) = a0, for any real depth D ≥ 1.

    ======  =====================  ================================================================
    depth   flow                   solution
    ======  =====================  ================================================================
    1       τȧ = s - λa            a = (s/λ)(1-E) + a0 E,  E = e^(-λt/τ)
    2       τȧ = 2|a|(s - λa)      a = s a0 / (λ a0 + (s - λ a0) e^(-2st/τ))  for a0 > 0
    ∞       τȧ = a²(s - λa)        a = (s/λ) / (1 + y),  y + ln|y| = y0 + ln|y0| - s²t/(λτ)
    other   as above               Dλ|s/λ|^(2-2/D) t/τ = F(λa/s) - F(λa0/s), inverted numerically
    ======  =====================  ================================================================

    with y = s/(λa) - 1 and F(x) = ∫ x^(q-1)/(1-x) dx = x^q/q · ₂F₁(1, q; 1+q; x), q = 2/D - 1. In infinite depth
    y is Wright's omega function while a grows, the branch W₀ of Lambert's function from a0 > s/λ, and W₋₁ from a0
    of the wrong sign. The lecture's equation for depth 1 has e^(-t/τ), right for λ = 1 only; its equation for
    infinite depth lacks the factor s²/λ of the time in the exponent. For infinite depth the learning rate is taken
    to be ∝ 1/D: the time constant of each weight is D·`timescale`, and the factor D of the flow is gone.

    From depth 2 on zero is a saddle which a balanced chain cannot cross: the product keeps the sign of a0, and with
    a0 = 0, or with the sign of a0 opposite to that of s, learning is stuck there. A depth strictly between 1 and 2
    is only a curiosity; there zero is reached in finite time, and what follows is not unique. Such starts are
    refused (and give NaN inside a JAX transformation, where values cannot be inspected).

    Args:
        depth: number of layers D, a Python number; `math.inf` for the infinitely deep limit.
        strength: input-output correlation s, of any sign; zero is allowed.
        initial: product of the weights at t = 0.
        input_variance: λ > 0.
        timescale: τ > 0.

    Returns:
        A `Chain`: ``solution(time)`` gives `product` and `loss`.

    Example:
        >>> import festina as fs
        >>> solution = fs.theory.chain(2, strength=[3.0, 1.0], initial=1e-3)  # two modes of a network of two layers
        >>> solution([0.0, 3.0, 30.0])["product"].round(2)  # the strong mode is learned first
        array([[0.  , 0.  ],
               [3.  , 0.29],
               [3.  , 1.  ]])
    """
    layers = _depth(depth)
    modes = _arrays(strength, initial, input_variance, timescale)
    _check(layers, *modes)
    return Chain(layers, *modes)


@precise
def time_to_reach(
    depth: SupportsFloat,
    strength: ArrayLike,
    initial: ArrayLike,
    level: ArrayLike,
    *,
    input_variance: ArrayLike = 1.0,
    timescale: ArrayLike = 1.0,
) -> Real:
    """The time at which the product reaches `level`·s/λ, 0 < level < 1, in the flow of :func:`chain`.

    Depth 1: t = (τ/λ) ln((1-x0)/(1-level)), x0 = λa0/s. Otherwise t = τ |s/λ|^(2/D-2) (F(level) - F(x0)) / (Dλ),
    without D in infinite depth. Zero where the product begins at or beyond the level, infinite where it never gets
    there: stuck at the saddle, or nothing to learn (s = 0).

    Args:
        depth: number of layers D ≥ 1, a Python number; `math.inf` for the infinitely deep limit.
        strength: s, one or one for each mode.
        initial: a0, likewise.
        level: share of s/λ, strictly between 0 and 1.
        input_variance: λ > 0.
        timescale: τ > 0.

    Returns:
        The times, in the shape to which strength, initial, level, λ and τ broadcast.

    Example:
        >>> import festina as fs
        >>> round(float(fs.theory.time_to_reach(2, strength=1.0, initial=1e-4, level=0.5)), 4)  # ½ ln(s/a0 − 1)
        4.6051
        >>> fs.theory.time_to_reach(3, strength=1.0, initial=[0.0, 0.9], level=0.5)  # at the saddle; there already
        array([inf,  0.])
    """
    layers = _depth(depth)
    *modes, level = _arrays(strength, initial, input_variance, timescale, level)
    _check(layers, *modes)
    inside = is_traced(level) or bool(np.all((np.asarray(level) > 0) & (np.asarray(level) < 1)))
    require(inside, "level", "lie strictly between 0 and 1", level)
    return _crossing(layers, level, *modes)


@plain_on_host
@partial(brief_jit, static_argnums=0)
def _crossing(
    depth: float, level: Values, strength: Values, initial: Values, input_variance: Values, timescale: Values
) -> Values:
    learnable = strength != 0
    best = xp.where(learnable, strength, 1.0) / input_variance
    ratio = initial / best
    stuck = ~learnable | ((ratio <= 0) & (depth > 1))
    on_the_way = ~stuck & (ratio < level)
    ratio = xp.where(on_the_way, ratio, level)
    if depth == 1:
        duration = (xp.log1p(-ratio) - xp.log1p(-level)) / input_variance
    else:
        start, end = (xp.log(x) - xp.log1p(-x) for x in (ratio, level))
        power = exponents(depth)[0]
        clock = _beta.elapsed(end, power, 0.0) - _beta.elapsed(start, power, 0.0)
        duration = clock / scaled_rate(depth, xp.abs(best), input_variance)
    never = xp.where(learnable, xp.nan, xp.inf) if 1 < depth < 2 else xp.full_like(duration, xp.inf)
    return xp.where(stuck, never, timescale * duration)


@precise
def stage_index(
    depth: SupportsFloat,
    strength: ArrayLike,
    initial: ArrayLike,
    *,
    input_variance: ArrayLike = 1.0,
    timescale: ArrayLike = 1.0,
) -> Real:
    """How stage-like learning is: (t90 - t10)/t10, the duration of the transition over the wait before it.

    It goes to zero with the initial product at depth 2 and beyond; from zero, depth 1 has ln 9 / ln(10/9) ≈ 20.9.
    Infinite if there is no wait, from a0 ≥ s/10λ. A product that does not pass 90 % on its way, because it begins
    there or is stuck, has no such number and is refused (NaN inside a JAX transformation).

    Args:
        depth: number of layers D ≥ 1, a Python number; `math.inf` for the infinitely deep limit.
        strength: s, one or one for each mode.
        initial: a0, likewise.
        input_variance: λ > 0.
        timescale: τ > 0; it does not matter.

    Returns:
        The indices, in the shape to which the arguments broadcast.

    Example:
        >>> import festina as fs
        >>> round(float(fs.theory.stage_index(1, strength=1.0, initial=0.0)), 1)
        20.9
        >>> fs.theory.stage_index(2, strength=1.0, initial=[1e-2, 1e-4, 1e-6]).round(2)
        array([1.83, 0.63, 0.38])
    """
    where = {"input_variance": input_variance, "timescale": timescale}
    early, late = (time_to_reach(depth, strength, initial, level, **where) for level in (0.1, 0.9))
    passes = is_traced(late) or bool(np.all((np.asarray(late) > 0) & np.isfinite(np.asarray(late))))
    require(passes, "initial", "be below 90 % of s/λ and not be stuck at zero", initial)
    return (late - early) / early


class ImbalancedChain(eqx.Module):
    """A solution made by :func:`imbalanced`: call it with times.

    Example:
        >>> import festina as fs
        >>> solution = fs.theory.imbalanced(1.0, initial=-0.5, imbalance=1.0)
        >>> solution([0.0, 20.0])["product"].round(6)  # unlike a balanced chain, it crosses zero
        array([-0.5,  1. ])
    """

    strength: Float[Array | np.ndarray, "*modes"]
    initial: Float[Array | np.ndarray, "*modes"]
    imbalance: Float[Array | np.ndarray, "*modes"]
    input_variance: Float[Array | np.ndarray, "*modes"]
    timescale: Float[Array | np.ndarray, "*modes"]

    @precise
    def __call__(self, time: ArrayLike) -> dict[str, Real]:
        """The `product` a(t) and the `loss` ½λ(a - s/λ)², of shape ``time.shape + modes``; time ≥ 0."""
        modes = (self.strength, self.initial, self.imbalance, self.input_variance, self.timescale)
        product, loss = _unbalanced(*_over_time(time, *modes))
        return {"product": product, "loss": loss}

    @precise
    def time_to_reach(self, level: ArrayLike) -> Real:
        """The time at which the product reaches `level`·s/λ, 0 < level < 1, as :func:`time_to_reach` has it of ℓ = 0.

        The solution, solved for t (with λ = τ = 1): t = ln[(p - p₋)(p₊ - p0) / ((p0 - p₋)(p₊ - p))] / 2R.
        """
        *modes, level = _arrays(self.strength, self.initial, self.imbalance, self.input_variance, self.timescale, level)
        inside = is_traced(level) or bool(np.all((np.asarray(level) > 0) & (np.asarray(level) < 1)))
        require(inside, "level", "lie strictly between 0 and 1", level)
        return _unbalanced_crossing(level, *modes)


@precise
def imbalanced(
    strength: ArrayLike,
    initial: ArrayLike,
    imbalance: ArrayLike,
    *,
    input_variance: ArrayLike = 1.0,
    timescale: ArrayLike = 1.0,
) -> ImbalancedChain:
    """Two weights a = w2·w1 with the conserved imbalance ℓ = w2² - w1²: τȧ = √(ℓ² + 4a²) (s - λa).

    With p = a + √(a² + ℓ²/4) this is the Riccati equation ṗ = -p² + 2sp + ℓ²/4 (for λ = τ = 1), whose solution,
    with R = √(s² + ℓ²/4), p± = s ± R, E = e^(-2Rt) and φ = (1-E)/2R, is a quotient of sums without cancellation:

        p = p0 (E + (p₊ + n0) φ) / (E + (p0 - p₋) φ),    n = ℓ²/4p,    a = (p - n) / 2.

    With L = √(a0² + ℓ²/4) the difference is a = [a0E² + 2Eφ(a0R + sL) + 2φ²s(a0s + RL + ℓ²/4)] / [(E + (p₊ + n0) φ)
    (E + (p0 - p₋) φ)], in which ℓ may be of any size.
    The sign of ℓ does not matter. ℓ = 0 is the balanced chain of depth 2; from any other ℓ the product crosses zero
    when it must, and large |ℓ| makes the course exponential (lazy) instead of sigmoidal (rich).
    Source: the lecture's imbalanced two-layer network, after Dominé et al. (2025), with the quotient worked out here.

    Args:
        strength: s, one or one for each mode.
        initial: a at t = 0.
        imbalance: ℓ, of any sign and size.
        input_variance: λ > 0.
        timescale: τ > 0.

    Returns:
        An `ImbalancedChain`: ``solution(time)`` gives `product` and `loss`, ``solution.time_to_reach(level)`` a time.

    Example:
        >>> import festina as fs
        >>> rich, lazy = fs.theory.imbalanced(1.0, initial=0.0, imbalance=[0.1, 10.0]).time_to_reach(0.5)
        >>> print(f"{rich:.3f} {lazy:.3f}")  # lazy learning is exponential, ln 2/ℓ
        1.820 0.069
    """
    modes = _arrays(strength, initial, imbalance, input_variance, timescale)
    _check(2.0, modes[0], modes[1], *modes[3:])
    known = is_traced(modes[2]) or bool(np.all(np.isfinite(np.asarray(modes[2]))))
    require(known, "imbalance", "be finite", imbalance)
    return ImbalancedChain(*modes)


@plain_on_host
@brief_jit
def _unbalanced(
    time: Values, strength: Values, initial: Values, imbalance: Values, input_variance: Values, timescale: Values
) -> tuple[Values, Values]:
    """The product and its loss."""
    sign = xp.where(initial < 0, -1.0, 1.0)
    rescaled = xp.minimum(time * input_variance / timescale, math.sqrt(xp.finfo(time.dtype).max))
    product, distance = _riccati(rescaled, sign * strength / input_variance, sign * initial, imbalance / 2)
    return sign * product, input_variance * distance**2 / 2


@plain_on_host
@brief_jit
def _unbalanced_crossing(
    level: Values, strength: Values, initial: Values, imbalance: Values, input_variance: Values, timescale: Values
) -> Values:
    """With L = √(a² + ℓ²/4), p = a + L: p - p₋ is a sum of positive numbers, p₊ - p is (s - a)(1 + (s + a)/(R + L))."""
    best, half = xp.abs(strength / input_variance), xp.abs(imbalance / 2)
    start, root = xp.where(strength < 0, -initial, initial), _hypotenuse(best, half)

    def passed(product: Values) -> Values:
        length = _hypotenuse(product, half)
        larger = length + xp.abs(product)
        p = xp.where(product < 0, half * quotient(half, larger), larger)
        near = (best - product) * (1 + quotient(best + product, root + length))
        return xp.log(p + half * quotient(half, root + best)) - xp.log(xp.where(product < 0, best + root - p, near))

    on_the_way = start < level * best
    duration = passed(level * best) - passed(xp.where(on_the_way, start, level * best))
    return timescale * xp.where(best == 0, xp.inf, duration / (2 * root * input_variance))


def _riccati(time: Values, best: Values, initial: Values, half: Values) -> tuple[Values, Values]:
    """(a, a - s) for initial ≥ 0, λ = τ = 1, half the imbalance; a = (p - n)/2 with pn = ℓ²/4.

    p and n are both of the size of ℓ, and so their difference is taken in symbols, except where the product falls to
    the saddle and would be lost in it: s < -|ℓ|/2.
    """
    half = xp.abs(half)
    grows, wide = best >= 0, half > xp.abs(best)
    length, root = _hypotenuse(initial, half), _hypotenuse(best, half)
    p_start, larger = initial + length, root + xp.where(grows, best, -best)
    n_start = half * quotient(half, p_start)
    # R - |s|; the plain difference only where all is zero, for the sake of its derivative.
    smaller = xp.where(larger == 0, root - xp.where(grows, best, -best), half * quotient(half, larger))
    plus, minus = xp.where(grows, larger, smaller), xp.where(grows, smaller, larger)

    decay, filled = xp.exp(-2 * root * time), saturation(2 * root, time)
    above = decay + (plus + n_start) * filled
    below = decay + (minus + p_start) * filled
    reach, pull = root * filled, best * filled
    crossed = decay * (initial * reach + pull * length) + pull * (
        initial * pull + reach * length + half * filled * half
    )
    symbolic = quotient(quotient(initial * decay**2 + 2 * crossed, above), below)
    falling = (p_start * quotient(above, below) - n_start * quotient(below, above)) / 2
    product = xp.where(grows | wide, symbolic, falling)

    # p0 - p₊ and n₊ - n0, each in the form that does not cancel.
    towards = (initial - best) * (1 + quotient(initial + best, length + root))
    p_gap = xp.where(grows | wide, towards, p_start - plus)
    share = quotient(n_start, xp.where(wide, plus, larger))
    n_gap = xp.where(grows | wide, towards * share, larger * (1 - share))
    distance = decay * (quotient(p_gap, below) + quotient(n_gap, above)) / 2
    return product, xp.where((above == 0) | (below == 0), product - best, distance)


def _hypotenuse(a: Values, b: Values) -> Values:
    """√(a² + b²), with derivative zero instead of NaN where both vanish."""
    longer, shorter = xp.maximum(xp.abs(a), xp.abs(b)), xp.minimum(xp.abs(a), xp.abs(b))
    return xp.where(longer == 0, 0.0, longer * xp.sqrt(1 + quotient(shorter, longer) ** 2))


def _arrays(*values: ArrayLike) -> tuple[Array | np.ndarray, ...]:
    """All as real arrays of one shape."""
    arrays = [real(value) for value in values]
    shapes = [array.shape for array in arrays]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        raise ArgumentError(
            "Argument `strength` must have one entry for each mode, as all others that are not one number, "
            f"but together they are of shapes {', '.join(map(str, shapes))}."
        ) from None
    return tuple(xp.broadcast_to(array, shape) for array in arrays)


def _over_time(time: ArrayLike, *modes: Real) -> tuple[Array | np.ndarray, ...]:
    """Time first, then the modes, all of shape ``time.shape + modes.shape``."""
    if not is_traced(time):
        require(bool(np.all(np.asarray(time, dtype=float) >= 0)), "time", "be a number and not negative", time)
    times, modes = real(time), _arrays(*modes)
    return _arrays(times.reshape(times.shape + (1,) * modes[0].ndim), *modes)


def _depth(depth: Any) -> float:
    known = not is_traced(depth) and np.ndim(depth) == 0 and not isinstance(depth, str)
    require(known, "depth", "be a plain number, known before JAX traces the function", depth)
    require(float(depth) >= 1, "depth", "be at least 1 (`math.inf` is allowed)", float(depth))
    return float(depth)


def _check(depth: float, strength: Real, initial: Real, input_variance: Real, timescale: Real) -> None:
    """Refuse what has no solution; traced values are taken on trust."""
    for name, value in (("strength", strength), ("initial", initial)):
        require(is_traced(value) or bool(np.all(np.isfinite(np.asarray(value)))), name, "be finite", value)
    for name, value in (("input_variance", input_variance), ("timescale", timescale)):
        require(is_traced(value) or bool(np.all(np.asarray(value) > 0)), name, "be positive", value)
        require(is_traced(value) or bool(np.all(np.isfinite(np.asarray(value)))), name, "be finite", value)
    if 1 < depth < 2 and not is_traced((strength, initial)):
        signs = np.sign(np.asarray(strength)) * np.sign(np.asarray(initial))
        must = "have the sign of `strength` if 1 < depth < 2, where zero is no rest point"
        require(bool(np.all((signs > 0) | (np.asarray(strength) == 0))), "initial", must, initial)
