"""The neural race at exclusive-or with a margin, x = (z₁, z₂, Δ·y): a nonlinear and a linear kind of pathway.

A pathway that is on for one example alone has the input-output correlation s = √(2+Δ²)/P. A pathway that is on for all
examples of one class, and so for a half-space, has s = Δ/2. With strength π in each of the four pathways of the first
kind and ρ in each of the two of the second, every example is answered by π√(2+Δ²) + ρΔ, and gradient flow is

    τπ̇ = 2 s_XoR π E,    τρ̇ = 2 s_lin ρ E,    E = 1 − π√(2+Δ²) − ρΔ.

Both kinds share E, so that with T = ∫E dt/τ the solution is π = π₀ e^{2 s_XoR T}, ρ = ρ₀ e^{2 s_lin T}, and learning
ends where E = 0. The two grow equally fast at Δ* = √(2/3): there, and only there, the end does not depend on the scale
of the start.

Source: A. M. Saxe, S. Sodhani, S. Lewallen, "The neural race reduction: dynamics of abstraction in gated networks"
(2022), and Saxe's lecture, for the two strengths. The law in T, its end state and `captured` were derived here.
"""

from itertools import product
from math import sqrt
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Bool, Float

from festina.errors import require
from festina.precision import is_traced
from festina.theory._free_units import free_growth
from festina.theory._sobol import sobol
from festina.theory.chain import Chain, chain
from festina.worlds.logic import CORNERS

EXAMPLES = len(CORNERS)
NEWTON_STEPS = 20
NEGLIGIBLE = 1e-12
DIGITS = 50.0  # e^{−50} of any clock is below its last digit
LARGEST = 1e40  # of a start and of a margin: beyond, the error estimate of the integration overflows
TOGETHER = 3e3  # relaxation times; beyond, the fastest run would slow down all others


def strengths(separation: Any, examples: int = EXAMPLES) -> tuple[Any, Any]:
    """s_XoR = √(2+Δ²)/P of a pathway for one example, and s_lin = Δ/2 of one for the examples of a class.

    Args:
        separation: Δ ≥ 0, one or any array of them.
        examples: P.

    Returns:
        s_XoR and s_lin, each in the shape of the separation.

    Example:
        >>> import festina as fs
        >>> one_example, one_class = fs.theory.margin.strengths([0.0, 2**0.5])
        >>> one_example.round(3), one_class.round(3)  # without a margin nothing is linear; with a wide one most is
        (array([0.354, 0.5  ]), array([0.   , 0.707]))
    """
    margin = _separation(separation)
    require(examples >= 1, "examples", "be at least 1", examples)
    return (2.0 + margin**2) ** 0.5 / examples, margin / 2.0


def crossing(examples: int = EXAMPLES) -> float:
    """Δ* = √(8/(P²−4)), where both strengths are equal: √(2/3) for the four examples of exclusive-or.

    Args:
        examples: P > 2.

    Example:
        >>> import festina as fs
        >>> round(fs.theory.margin.crossing() ** 2, 6)  # ⅔
        0.666667
    """
    require(examples > 2, "examples", "be more than 2", examples)
    return sqrt(8.0 / (examples**2 - 4.0))


def xor(initial: Any) -> "ExclusiveOr":
    """Exclusive-or with one pathway for each example, all from the strength π₀; call it with times.

    Each is a chain of two weights with s = √2/4 and input variance ½: π(t) = (s/d)/(1 − (1 − s/(dπ₀))e^{−2st/τ}).

    Args:
        initial: π₀ > 0, one or any array of them.

    Returns:
        An `ExclusiveOr`: ``solution(time)`` gives `strength` and `loss`, of shape ``time.shape + initial.shape``.

    Example:
        >>> import festina as fs
        >>> solution = fs.theory.margin.xor(1e-3)
        >>> solution([0.0, 10.0, 50.0])["strength"].round(3)  # to 1/√2
        array([0.001, 0.442, 0.707])
    """
    return ExclusiveOr(chain(2, sqrt(2.0) / EXAMPLES, initial, input_variance=0.5))


class ExclusiveOr(eqx.Module):
    """A solution made by :func:`xor`.

    Example:
        >>> import festina as fs
        >>> fs.theory.margin.xor([1e-3, 1e-2])([0.0, 50.0])["loss"].round(3)  # ½ before anything is learned
        array([[0.499, 0.486],
               [0.   , 0.   ]])
    """

    pathway: Chain

    def __call__(self, time: Any) -> dict[str, Any]:
        """The `strength` π(t) of each pathway, and the `loss` ½(1 − √2π)²."""
        answer = self.pathway(time)
        return {"strength": answer["product"], "loss": EXAMPLES * answer["loss"]}


def xor_start(
    time: Float[np.ndarray, " time"], losses: Float[np.ndarray, "time runs"], guess: float
) -> Float[np.ndarray, " runs"]:
    """The start π₀ with which the loss of `xor` lies nearest to each of some losses.

    Nearest in squares, on a fine grid of ln π₀, up to a factor e from a guess, and between its points by a parabola.

    Args:
        time: when the losses were measured.
        losses: one run a column.
        guess: of π₀.

    Returns:
        π₀ of each run.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> time = np.linspace(0.0, 30.0, 61)
        >>> losses = fs.theory.margin.xor([1e-3, 2e-3])(time)["loss"]
        >>> fs.theory.margin.xor_start(time, losses, guess=1.5e-3).round(5)
        array([0.001, 0.002])
    """
    grid = np.log(guess) + np.linspace(-1.0, 1.0, 401)
    curves = xor(np.exp(grid))(time)["loss"]
    squares = (losses**2).sum(axis=0)[:, None] - 2.0 * losses.T @ curves + (curves**2).sum(axis=0)
    best = np.clip(squares.argmin(axis=1), 1, len(grid) - 2)
    left, middle, right = (np.take_along_axis(squares, (best + k)[:, None], axis=1)[:, 0] for k in (-1, 0, 1))
    return np.exp(grid[best] + 0.5 * (grid[1] - grid[0]) * (left - right) / (left - 2.0 * middle + right))


class Race(eqx.Module):
    """A race made by :func:`race`: its end, and its course.

    Attributes:
        nonlinear: π₀.
        linear: ρ₀.
        separation: Δ.

    Example:
        >>> import festina as fs
        >>> race = fs.theory.margin.race(nonlinear=1e-3, linear=1e-3, separation=[0.5, 1.2])
        >>> race([0.0, 100.0])["loss"].round(3)
        array([[0.498, 0.497],
               [0.   , 0.   ]])
    """

    nonlinear: Float[np.ndarray, "*runs"]
    linear: Float[np.ndarray, "*runs"]
    separation: Float[np.ndarray, "*runs"]

    @property
    def end(self) -> dict[str, Float[np.ndarray, "*runs"]]:
        """`nonlinear` π and `linear` ρ where E = 0, and the `single_share` of strength in pathways for one example."""
        return self._grown(_final_clock(*self._contributions))

    def __call__(self, time: Any) -> dict[str, Float[np.ndarray, "..."]]:
        """The same over time, and the `loss` ½E², by integrating τ dT/dt = E: of shape ``time.shape + runs``.

        Args:
            time: t ≥ 0, one or any array of them, in any order.
        """
        times = np.asarray(time, float)
        require(bool(np.all((times >= 0) & np.isfinite(times))), "time", "be finite and not negative", time)
        grown = self._grown(_clock(times, *self._contributions))
        answer = grown["nonlinear"] * np.sqrt(2.0 + self.separation**2) + grown["linear"] * self.separation
        return grown | {"loss": np.asarray(0.5 * (1.0 - answer) ** 2)}

    @property
    def _contributions(self) -> tuple[np.ndarray, np.ndarray]:
        """ln of what each kind adds to an answer at the start, and the rate 2s at which it grows with T."""
        sizes = np.stack([np.sqrt(2.0 + self.separation**2) * self.nonlinear, self.separation * self.linear])
        with np.errstate(divide="ignore"):
            return np.log(sizes), 2.0 * np.stack(strengths(self.separation))

    def _grown(self, clock: np.ndarray) -> dict[str, np.ndarray]:
        fast, slow = strengths(self.separation)
        with np.errstate(divide="ignore"):  # in logarithms, since a kind that is absent would be 0·∞ after a long time
            nonlinear = np.exp(np.log(self.nonlinear) + 2.0 * fast * clock)
            linear = np.exp(np.log(self.linear) + 2.0 * slow * clock)
        grown = {"nonlinear": nonlinear, "linear": linear, "single_share": single_share(nonlinear, linear)}
        return {name: np.asarray(values) for name, values in grown.items()}


def race(nonlinear: Any, linear: Any, separation: Any) -> Race:
    """The race between both kinds of pathway, from the strengths π₀ and ρ₀, for any number of runs at once.

    Args:
        nonlinear: π₀ ≥ 0, of each pathway that is on for one example.
        linear: ρ₀ ≥ 0, of each pathway that is on for one class.
        separation: Δ ≥ 0.

    Returns:
        A `Race`: ``race.end`` where it ends, ``race(time)`` its course; `nonlinear` π, `linear` ρ and `single_share`.

    Example:
        >>> import festina as fs
        >>> margins = [0.5, fs.theory.margin.crossing(), 1.2]
        >>> race = fs.theory.margin.race(nonlinear=1e-3, linear=1e-3, separation=margins)
        >>> race.end["single_share"].round(3)  # ⅔ at Δ*, where the start decides
        array([0.945, 0.667, 0.318])
    """
    arrays = [np.asarray(part, float) for part in (nonlinear, linear, _separation(separation))]
    for name, value in zip(("nonlinear", "linear", "separation"), arrays, strict=True):
        must = f"be zero or positive, and at most {LARGEST:g}"
        require(bool(np.all((value >= 0) & (value <= LARGEST))), name, must, value)
    runs = arrays[0] + arrays[1] * arrays[2] > 0
    require(bool(np.all(runs)), "linear", "be positive where `nonlinear` is zero, and so must Δ", linear)
    return Race(*np.broadcast_arrays(*arrays))


def single_share(nonlinear: Any, linear: Any) -> Any:
    """4π/(4π + 2ρ): the share of strength in pathways that are on for exactly one example.

    Args:
        nonlinear: π ≥ 0.
        linear: ρ ≥ 0.

    Example:
        >>> import festina as fs
        >>> fs.theory.margin.single_share(nonlinear=1.0, linear=2.0)
        0.5
    """
    whole = 2.0 * nonlinear + linear
    require(is_traced(whole) or bool(np.all(whole > 0)), "linear", "be positive where `nonlinear` is zero", linear)
    return 2.0 * nonlinear / whole


def pure_index(separation: Any) -> Any:
    """(2−Δ²)/(2+Δ²): the index 2⟨y f(z₁, z₂, 0)⟩ − 1 of a network in which pathways for one example do it all.

    The index asks the *function*: what is left of its answers without the third input. It is −1 for a solution that
    uses the third input alone. But a pathway for one example follows all of its input, the third part included, and so
    the index is below 1 in a network that has no linear pathway at all.

    Args:
        separation: Δ ≥ 0, one or any array of them.

    Example:
        >>> import festina as fs
        >>> fs.theory.margin.pure_index([0.0, 1.0]).round(3)
        array([1.   , 0.333])
    """
    margin = _separation(separation)
    return (2.0 - margin**2) / (2.0 + margin**2)


def self_consistent_sets(
    inputs: Float[np.ndarray, "n i"], targets: Float[np.ndarray, " n"]
) -> Bool[np.ndarray, "sets n"]:
    """The gatings a rectified unit can keep: sets of examples on which the weights they grow are positive, and no more.

    A pathway that is on for the set G grows the weights w ∝ ±Σ_{i∈G} y_i x_i, with the sign of its output weight. If
    w·x_i > 0 for i ∈ G and for no other example, a rectified unit does the same; if not, it leaves the set.

    Args:
        inputs: one example a row; few, since every set of them is tried.
        targets: y of each example.

    Returns:
        One set a row: whether each example is in it.

    Example:
        >>> import festina as fs
        >>> for world in (fs.worlds.xor(), fs.worlds.margin(1.0)):
        ...     sets = fs.theory.margin.self_consistent_sets(world.inputs, world.targets[:, 0])
        ...     print(sets.sum(axis=1))  # one example each; with a margin, also the two classes
        [1 1 1 1]
        [1 1 2 1 1 2]
    """
    every = np.asarray(list(product((False, True), repeat=len(targets)))[1:])
    weights = (every * targets[None]) @ inputs
    drive = weights @ inputs.T
    least = NEGLIGIBLE * np.abs(drive).max()
    keeps = [((sign * drive > least) == every).all(axis=1) for sign in (1.0, -1.0)]
    return every[keeps[0] | keeps[1]]


def captured(separation: Any, units: int = 16_384) -> tuple[np.ndarray, np.ndarray]:
    """π₀/(Hσ²) and ρ₀/(Hσ²): where random rectified units of standard deviation σ, H of them, enter the race.

    While weights are small, E = 1 and every unit moves on its own, ẇ = a m, ȧ = w·m with m = Σ_{i on} y_i x_i/P. It
    turns until its set of examples is one that it keeps, and from then on grows at the rate of that set's pathway. What
    it has by then, divided by e^{2sT}, is its share of that pathway's start. All units are followed exactly until they
    have arrived, however long it takes (the linear kind needs times of 1/Δ). The mean over a normal start is taken over
    points of a Sobol sequence, which are the same in every call; 16 384 of them give π₀ to half a per cent and ρ₀ to
    three, for margins from .03. As Δ → 0, π₀ → .165 Hσ² and ρ₀ → 0; at Δ = 0 itself units end on the edge of their
    sets, and no count of active examples means anything.

    Args:
        separation: Δ > 0, one or any array of them.
        units: points of the sequence, a power of 2.

    Returns:
        π₀/(Hσ²) and ρ₀/(Hσ²), each in the shape of the separation.

    Example:
        >>> import festina as fs
        >>> nonlinear, linear = fs.theory.margin.captured([0.1, 0.5], units=1024)
        >>> nonlinear.round(2), linear.round(2)
        (array([0.16, 0.16]), array([0.01, 0.07]))
    """
    margins = np.asarray(_separation(separation), float)
    require(bool(np.all(margins > 0)), "separation", "be positive", separation)
    require(units >= 1 and units & (units - 1) == 0, "units", "be a power of 2", units)
    points = _normal_points(units)
    grown = np.asarray([free_growth(float(margin), points) for margin in margins.ravel()]) / units
    single, pair = (grown[:, size].reshape(margins.shape) for size in (1, 2))
    return np.asarray(single / EXAMPLES), np.asarray(pair / 2.0)


def _normal_points(units: int) -> Float[np.ndarray, "units 4"]:
    from scipy.special import ndtri

    return ndtri(sobol(units, 4))


def _final_clock(log_sizes: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """T where Σ_k e^{ln A_k + r_k T} = 1. Its logarithm is convex and rises: Newton's method comes from the right."""
    with np.errstate(divide="ignore", invalid="ignore"):
        alone = np.where(np.isfinite(log_sizes) & (rates > 0), -log_sizes / rates, np.inf)
    clock = np.min(alone, axis=0)
    for _ in range(NEWTON_STEPS):
        grown = np.exp(log_sizes + rates * clock)
        total = grown.sum(axis=0)
        clock = clock - np.log(total) * total / (rates * grown).sum(axis=0)
    return np.asarray(clock)


def _clock(time: np.ndarray, log_sizes: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """T(t) of τ dT/dt = 1 − Σ_k e^{ln A_k + r_k T}, at any times, for all runs at once if one step suits them all."""
    shape = time.shape + log_sizes.shape[1:]
    log_sizes, rates = (kinds.reshape(2, -1) for kinds in (log_sizes, rates))
    last = _final_clock(log_sizes, rates)
    until, fastest = _settling(last, log_sizes, rates)
    latest = min(float(np.max(until)), float(np.max(time, initial=0.0)))
    together = float(np.max(fastest)) * latest < TOGETHER
    parts = [slice(None)] if together else [slice(run, run + 1) for run in range(len(last))]
    columns = [
        _integrated_clock(np.minimum(time.ravel(), np.max(until[part])), last[part], log_sizes[:, part], rates[:, part])
        for part in parts
    ]
    clock = np.where(time.ravel()[:, None] < until, np.concatenate(columns, axis=1), last)  # the end is known exactly
    return clock.reshape(shape)


def _settling(last: np.ndarray, log_sizes: np.ndarray, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A time after which T is its end to all digits, and the fastest relaxation on the way.

    E falls with T and is concave. From below the end it is above the chord from (0, E(0)) to (last, 0), and from above
    the end it is below the tangent there: T comes to its end at least as fast as e^{−κt}, κ the slope of either.
    """
    slope = (rates * np.exp(log_sizes + rates * last)).sum(axis=0)
    start = -np.expm1(np.logaddexp(*log_sizes))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        least = np.where(last > 0, np.minimum(start / last, slope), slope)
        steepest = np.maximum(slope, (rates * np.exp(log_sizes)).sum(axis=0))
    return DIGITS / least, np.where(last < 0, np.minimum(steepest, 1e300), slope)


def _integrated_clock(time: np.ndarray, last: np.ndarray, log_sizes: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """The same for times and runs that one sequence of steps serves, times before runs."""
    from scipy.integrate import solve_ivp

    highest = np.maximum(last, 0.0)  # between its start and its end; a step too long must not overflow
    unit = 1.0 / np.max(rates, axis=0)  # strengths are as exact as T is in units of the fastest growth

    def rate(_: float, clock: np.ndarray) -> np.ndarray:
        return -np.expm1(np.logaddexp(*(log_sizes + rates * np.minimum(unit * clock, highest)))) / unit

    rising, places = np.unique(np.append(time, 0.0), return_inverse=True)
    if len(rising) == 1:  # one time is no interval
        return np.zeros((len(time), len(last)))
    solved = solve_ivp(rate, rising[[0, -1]], np.zeros(len(last)), "DOP853", rising, rtol=1e-11, atol=1e-13)
    require(solved.success, "time", "be one that the integration reaches", time)
    return unit * solved.y.T[places[:-1]]


def _separation(separation: Any) -> Any:
    """Margins as an array, unless they are traced; zero or positive."""
    if is_traced(separation):
        return separation
    margins = np.asarray(separation, float)
    require(bool(np.all((margins >= 0) & np.isfinite(margins))), "separation", "be zero or positive", separation)
    return margins
