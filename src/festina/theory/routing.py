"""How routing networks learn: the reduction to three numbers a mode, its conservation laws and its closed forms.

M input and M output domains share one hidden matrix, y_o = W3_o W2 W1_i x_i, and each input is trained on K outputs,
with weight w a pair (w = M⁻² if the loss is averaged over all pairs). From decoupled weights that are the same in all
domains, each mode of strength s follows, with E = s − b1 b2 b3,

    τḃ1 = wK b2 b3 E,    τḃ2 = wKM b1 b3 E,    τḃ3 = wK b1 b2 E,

so that b2² − M b1² and b3² − b1² are conserved. The shared matrix hears all KM trained pairs, each other matrix only K.
Beside it there may be a private pathway for every trained pair, of three equal layers c with product v = c³; both see
what the other leaves, E = s − b1 b2 b3 − v, and τċ = w c² E.

Source: Saxe, Sodhani & Lewallen 2022; the general quadrature and the outcome of the race are derived here.
"""

from collections.abc import Callable
from typing import Any, cast

import equinox as eqx
import numpy as np
from jaxtyping import Float

from festina._lazy import integrate, optimize
from festina.errors import require
from festina.precision import is_traced
from festina.theory.chain import Chain, chain

LEAST_LOG_START = -9.0  # logarithm of the smallest equal layers that are tried

Starts = tuple[Any, Any, Any]
"""b1, b2 and b3 at t = 0, each one number or one for every mode."""


class Reduction(eqx.Module):
    """A solution made by :func:`reduction`: call it with times.

    Example:
        >>> import festina as fs
        >>> course = fs.theory.routing.reduction([2.0, 1.0], (0.1, 0.1, 0.1), domains=4, trained=2)
        >>> {name: values.shape for name, values in course([0.0, 10.0]).items()}
        {'layers': (2, 3, 2), 'strength': (2, 2), 'private': (2, 2), 'loss': (2,)}
    """

    strengths: Float[np.ndarray, " modes"]
    start: Float[np.ndarray, "4 modes"]
    rates: Float[np.ndarray, " 4"]
    loss_weight: float

    def __call__(self, time: Any) -> dict[str, Float[np.ndarray, "..."]]:
        """`layers` b1, b2, b3, their product `strength`, v as `private`, and `loss`, each with the shape of ``time``
        before its own.
        """
        times = np.asarray(time, float)
        flat, back = np.unique(times, return_inverse=True)
        require(bool(np.all((flat >= 0) & np.isfinite(flat))), "time", "be finite and not negative", time)
        until = max(float(flat[-1]), self._shortest())
        solved = integrate.solve_ivp(
            _rate_of(self), (0.0, until), self.start.ravel(), "LSODA", flat, rtol=1e-13, atol=1e-15
        )
        require(solved.success, "time", "be one that the integration reaches", time)
        layers = solved.y.T[back.reshape(times.shape)].reshape(*times.shape, *self.start.shape)
        shared, private = layers[..., :3, :], layers[..., 3, :] ** 3
        strength = shared.prod(axis=-2)
        loss = 0.5 * self.loss_weight * np.sum((self.strengths - strength - private) ** 2, axis=-1)
        return {"layers": shared, "strength": strength, "private": private, "loss": loss}

    def _shortest(self) -> float:
        """A time in which next to nothing changes: over much shorter ones LSODA looks for a step without an end."""
        size = np.max(np.abs(self.start))
        fastest = np.max(self.rates) * size * (np.max(np.abs(self.strengths)) + size**3)
        return float(1e-3 / fastest) if fastest > 1e-300 else 1.0


def _rate_of(reduction: Reduction) -> Callable[[float, Float[np.ndarray, " numbers"]], Float[np.ndarray, " numbers"]]:
    """The rate of all layers of a reduction, as an integration asks for it thousands of times: of plain names."""
    strengths, rates, shape = reduction.strengths, reduction.rates[:, None], reduction.start.shape

    def rate(time: float, state: Float[np.ndarray, " numbers"]) -> Float[np.ndarray, " numbers"]:
        first, second, third, private = state.reshape(shape)
        both = first * second
        found = np.empty(shape)
        found[0], found[1], found[2], found[3] = second * third, first * third, both, private**2
        found *= rates
        found *= strengths - both * third - private**3
        return found.ravel()

    return rate


def reduction(
    strengths: Any, initial: Starts, domains: int, trained: int, *, pair_weight: float | None = None, private: Any = 0.0
) -> Reduction:
    """The three numbers of each mode from any start, integrated to twelve digits.

    Args:
        strengths: s of each mode.
        initial: b1, b2, b3 at t = 0.
        domains: M.
        trained: K.
        pair_weight: w of one trained pair in the loss; M⁻² unless given.
        private: v at t = 0, if every trained pair has a pathway of its own as well.

    Returns:
        A `Reduction`: ``course(time)`` gives `layers`, `strength`, `private` and `loss`.

    Example:
        >>> import festina as fs
        >>> course = fs.theory.routing.reduction([1.0], (0.1, 0.1, 0.1), domains=4, trained=2)
        >>> course([0.0, 44.05, 300.0])["strength"][:, 0].round(2)  # half learned at `time_to_reach` of ½
        array([0. , 0.5, 1. ])
    """
    weight = _pair_weight(domains, trained, pair_weight)
    modes = np.atleast_1d(np.asarray(strengths, float))
    require(
        modes.ndim == 1 and bool(np.all(np.isfinite(modes))), "strengths", "be finite, one for each mode", strengths
    )
    layers = [np.asarray(layer, float) for layer in initial]
    fits = len(layers) == 3 and all(layer.shape in ((), (1,), modes.shape) for layer in layers)
    require(fits, "initial", f"be three layers, each one number or one for each of {modes.size} modes", initial)
    start = np.stack([np.broadcast_to(layer, modes.shape) for layer in (*layers, np.cbrt(private))])
    require(bool(np.all(np.isfinite(start))), "initial", "be finite, as `private`", initial)
    rates = weight * np.array([trained, trained * domains, trained, 1.0])
    return Reduction(modes, start, rates, weight * trained * domains)


def imbalances(layers: Float[Any, "*times 3 modes"], domains: int) -> Float[Any, "*times 2 modes"]:
    """What the reduction conserves: b2² − M b1² and b3² − b1².

    Args:
        layers: b1, b2, b3 of each mode, as `reduction` gives them.
        domains: M.

    Example:
        >>> import festina as fs
        >>> course = fs.theory.routing.reduction([1.0], (0.1, 0.1, 0.2), domains=4, trained=2)
        >>> layers = course([0.0, 50.0])["layers"]
        >>> fs.theory.routing.imbalances(layers, domains=4)[..., 0].round(6)  # the same at all times
        array([[-0.03,  0.03],
               [-0.03,  0.03]])
    """
    first, second, third = (layers[..., layer, :] for layer in range(3))
    return np.stack([second**2 - domains * first**2, third**2 - first**2], axis=-2)


def time_to_reach(
    level: float, strength: float, initial: Starts, domains: int, trained: int, *, pair_weight: float | None = None
) -> float:
    """When b1 b2 b3 = level · s: t = ∫ db2 / [wKM b1 b3 (s − b1 b2 b3)], b1 and b3 from the conservation laws.

    With equal numbers b0 in all layers and w = M⁻² this is t = (M²/K) ∫ db/[(b² + c0)(s − b(b² + c0)/M)] with
    c0 = (M−1) b0² and b for b2. All three must be positive at the start. Zero where the product begins at or beyond the
    level. With s < 0 the smallest of b1, b2/√M and b3 must change its sign, which it does if it is alone in being the
    smallest; the time is infinite if it is not, and for s = 0.

    Args:
        level: share of s, strictly between 0 and 1.
        strength: s.
        initial: b1, b2, b3 at t = 0, all positive.
        domains: M.
        trained: K.
        pair_weight: w of one trained pair in the loss; M⁻² unless given.

    Example:
        >>> import festina as fs
        >>> for trained in (1, 2, 4):  # in inverse proportion to what each input is trained on
        ...     print(f"{fs.theory.routing.time_to_reach(0.5, 1.0, (0.1, 0.1, 0.1), domains=4, trained=trained):.2f}")
        88.11
        44.05
        22.03
    """
    require(0 < level < 1, "level", "lie strictly between 0 and 1", level)
    require(bool(np.isfinite(strength)), "strength", "be finite", strength)
    begin = tuple(float(layer) for layer in initial)
    require(0 < min(begin) <= max(begin) < np.inf, "initial", "be positive", initial)
    rate = _pair_weight(domains, trained, pair_weight) * trained * domains
    if strength <= 0:
        return _time_through_zero(level, strength, (begin[0], begin[1] / domains**0.5, begin[2]), rate, domains)

    def outer(second: float) -> float:
        """b1 b3, both following b2: written so that nothing cancels near the start."""
        grown = (second - begin[1]) * (second + begin[1]) / domains
        return float(np.sqrt((begin[0] ** 2 + grown) * (begin[2] ** 2 + grown)))

    if begin[0] * begin[1] * begin[2] >= level * strength:
        return 0.0
    last = _root(
        lambda log: np.exp(log) * outer(np.exp(log)) - level * strength,
        np.log(begin[1]),
        np.log(begin[1] + np.sqrt(domains) * strength ** (1 / 3) + strength / (begin[0] * begin[2])),
    )

    def pace(log: float) -> float:
        second = np.exp(log)
        return second / (rate * outer(second) * (strength - second * outer(second)))

    return integrate.quad(pace, np.log(begin[1]), last, epsabs=0.0, epsrel=1e-12, limit=500)[0]


def equal_start(
    time: float, level: float, strength: float, domains: int, trained: int, *, pair_weight: float | None = None
) -> float:
    """b0 of three equal layers from which b1 b2 b3 = level · s at a given time: the inverse of `time_to_reach`.

    0 if that needs a start below e⁻⁹, and infinite if it needs one above 1.

    Args:
        time: when the level is reached.
        level: share of s, strictly between 0 and 1.
        strength: s.
        domains: M.
        trained: K.
        pair_weight: w of one trained pair in the loss; M⁻² unless given.

    Example:
        >>> import festina as fs
        >>> time = fs.theory.routing.time_to_reach(0.5, 1.0, (0.1, 0.1, 0.1), domains=4, trained=2)
        >>> round(fs.theory.routing.equal_start(time, 0.5, 1.0, domains=4, trained=2), 6)
        0.1
    """

    def late(log_start: float) -> float:
        start = float(np.exp(log_start))
        return time_to_reach(level, strength, (start, start, start), domains, trained, pair_weight=pair_weight) - time

    if late(LEAST_LOG_START) < 0:
        return 0.0
    return float("inf") if late(0.0) > 0 else float(np.exp(cast(float, optimize.brentq(late, LEAST_LOG_START, 0.0))))


def _time_through_zero(level: float, strength: float, begin: Starts, rate: float, domains: int) -> float:
    """The same for s ≤ 0, in c = (b1, b2/√M, b3), whose squares keep their differences.

    With x the smallest of them and x² + α, x² + β the squares of the others, α ≤ β, the product is
    u = √M x √(x² + α) √(x² + β) and t = ∫ dx √M / [wKM √(x² + α) √(x² + β) (u − s)] down to where u = level · s < 0. In
    y = asinh(x/√α) the first root is gone, and with it the peak at x = 0 of a nearly balanced start.
    """
    small, middle, large = sorted(begin)
    inner, outer = ((other - small) * (other + small) for other in (middle, large))
    alone = inner > 8 * np.finfo(float).eps * small**2  # a smaller difference is rounding, not the start's
    if strength == 0 or not alone:
        return np.inf
    root = inner**0.5

    def product(x: float) -> float:
        return domains**0.5 * x * float(np.hypot(x, root)) * float(np.hypot(x, outer**0.5))

    def pace(y: float) -> float:
        x = root * np.sinh(y)
        return domains**0.5 / (rate * float(np.hypot(x, outer**0.5)) * (product(x) - strength))

    lowest = -((-strength / domains**0.5) ** (1 / 3))  # |u| is at least √M|x|³
    last = _root(lambda x: product(x) - level * strength, lowest, 0.0)
    first, last = np.arcsinh(small / root), np.arcsinh(last / root)
    return sum(
        integrate.quad(pace, *ends, epsabs=0.0, epsrel=1e-12, limit=500)[0] for ends in ((last, 0.0), (0.0, first))
    )


def balanced(strength: Any, initial: Any, domains: int, trained: int, *, pair_weight: float | None = None) -> Chain:
    """The balanced start b2 = √M b1 = √M b3, in which u = b1 b2 b3 alone obeys τu̇ = 3wKM^(1/3) u^(4/3) (s − u).

    With w = M⁻² that is τu̇ = 3K M^(−5/3) u^(4/3) (s − u): a chain of depth 3 on the timescale M^(5/3)/K.

    Args:
        strength: s, one or several.
        initial: u at t = 0.
        domains: M.
        trained: K.
        pair_weight: w; M⁻² unless given.

    Returns:
        A `festina.theory.chain` of depth 3: ``solution(time)`` gives `product` u and `loss`.

    Example:
        >>> import festina as fs
        >>> solution = fs.theory.routing.balanced(1.0, 1e-3, domains=8, trained=2)
        >>> round(float(solution.timescale), 6)  # M^(5/3)/K
        16.0
        >>> solution([0.0, 1000.0])["product"].round(3)
        array([0.001, 1.   ])
    """
    weight = _pair_weight(domains, trained, pair_weight)
    return chain(3, strength, initial, timescale=1.0 / (weight * trained * domains ** (1 / 3)))


def balanced_start(product: Any, domains: int) -> Starts:
    """b1, b2, b3 of a balanced start with a given product, which may be traced: b1 = b3 = (u/√M)^(1/3), b2 = √M b1.

    Args:
        product: u ≥ 0, one number or any array.
        domains: M.

    Example:
        >>> import festina as fs
        >>> first, second, third = fs.theory.routing.balanced_start(2.0, domains=4)
        >>> float(first), float(second), float(third)
        (1.0, 2.0, 1.0)
    """
    require(domains >= 1, "domains", "be at least 1", domains)
    known = is_traced(product) or bool(np.all((np.asarray(product) >= 0) & np.isfinite(np.asarray(product))))
    require(known, "product", "be finite and not negative", product)
    root = domains**0.5
    outer = ((product if is_traced(product) else np.asarray(product, float)) / root) ** (1 / 3)
    return outer, root * outer, outer


def speed_up(domains: Any, trained: Any) -> Any:
    """K M^(1/3): how much faster a shared pathway is than a network of its own for every pair, from balanced starts.

    Args:
        domains: M.
        trained: K, from 1 to M.

    Example:
        >>> import festina as fs
        >>> fs.theory.routing.speed_up(domains=8, trained=2)
        4.0
    """
    possible = bool(np.all((np.asarray(trained) >= 1) & (np.asarray(trained) <= np.asarray(domains))))
    require(possible, "trained", "lie between 1 and the number of domains", trained)
    return trained * domains ** (1 / 3)


def race_outcome(strength: float, shared: float, private: float, domains: int, trained: int) -> tuple[float, float]:
    """Where a shared pathway u and private ones v, one for each trained pair, end when both learn the same pairs.

    Both see the same error, so that τ d(u^(−1/3))/dt = −wKM^(1/3) E and τ d(v^(−1/3))/dt = −wE from balanced starts,
    whatever E does. Hence u^(−1/3) − K M^(1/3) v^(−1/3) is conserved, and the end is where u + v = s. The faster
    pathway takes nearly all as the starts get smaller, as in every race of depth beyond two.

    Args:
        strength: s.
        shared: u at t = 0.
        private: v at t = 0.
        domains: M.
        trained: K.

    Returns:
        u and v at the end.

    Example:
        >>> import festina as fs
        >>> shared, private = fs.theory.routing.race_outcome(1.0, shared=1e-3, private=1e-3, domains=8, trained=2)
        >>> print(f"{shared:.3f} {private:.3f}")
        0.998 0.002
    """
    for name, value in (("shared", shared), ("private", private)):
        require(value > 0, name, "be positive", value)
    require(shared + private < strength, "shared", "sum with `private` to less than the strength", shared)
    gain = speed_up(domains, trained)

    def excess(final: float) -> float:
        """Falls as u rises from its start to s − v0."""
        grown = shared ** (-1 / 3) - final ** (-1 / 3)
        return gain * (private ** (-1 / 3) - (strength - final) ** (-1 / 3)) - grown

    final = _root(excess, shared, strength - private)
    return final, strength - final


def race_share(strength: Any, initial: Any, trained: Any, *, domains: int) -> Float[Any, "..."]:
    """The share of s that a shared pathway ends with (`race_outcome`) if both kinds start from the same product.

    Args:
        strength: s.
        initial: u = v at t = 0.
        trained: K.
        domains: M.

    Returns:
        The shares, in the shape to which strength, initial and trained broadcast.

    Example:
        >>> import festina as fs
        >>> fs.theory.routing.race_share(1.0, [1e-1, 1e-2, 1e-4], 2, domains=8).round(3)  # small starts: one has all
        array([0.849, 0.981, 1.   ])
    """

    def share(strength: float, initial: float, trained: int) -> float:
        return race_outcome(strength, initial, initial, domains, trained)[0] / strength

    return np.vectorize(share, otypes=[float])(strength, initial, trained)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    return cast(float, optimize.brentq(function, low, high, xtol=1e-15))


def _pair_weight(domains: int, trained: int, weight: float | None) -> float:
    require(domains >= 1, "domains", "be at least 1", domains)
    require(1 <= trained <= domains, "trained", f"lie between 1 and the {domains} domains", trained)
    require(weight is None or weight > 0, "pair_weight", "be positive", weight)
    return float(domains) ** -2 if weight is None else float(weight)
