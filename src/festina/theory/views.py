"""The race of pathways for one target: who wins, when nobody does, and where it ends.

Pathway m of depth L has the strength π_m, the product of its L equal weights. It is driven by its correlation S_m with
the target, of which the other pathways take away through the overlaps D_mj, a Gram matrix:

    τ π̇_m = L π_m^(2−2/L) [S_m − Σ_j D_mj π_j].                                                        (1)

Whatever is in null(D), data do not see. For n in null(D), Eq. (1) conserves Σ_m n_m f(π_m) with f' = π^(2/L−2): ratios
of co-occurring pathways at depth 2 (f = ln π), differences of π^(2/L−1) beyond. Elsewhere all memory of the start is
lost: if D is positive definite, every start with π > 0 ends in the one non-negative least-squares solution.

Source: the race reduction of Saxe, Sodhani & Lewallen 2022; all that follows from it was derived here.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from festina._lazy import optimize
from festina.arrays import xp
from festina.errors import require
from festina.precision import is_traced, precise
from festina.theory._course import course
from festina.theory.chain import Chain, chain

NEGLIGIBLE = 1e-12  # eigenvalues of D below this share of the largest one are rounding


class Competition(eqx.Module):
    """A solution of Eq. (1) made by :func:`competition`: call it with times.

    Attributes:
        depth: L.
        strengths: S_m.
        overlaps: D_mj.
        initial: π_m(0).
        timescale: τ.
        alone: the closed form, where pathways do not meet.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> race = fs.theory.views.competition(2, strengths=[1.0, 0.5], overlaps=np.eye(2), initial=[1e-3, 1e-3])
        >>> race(np.inf)["strength"]  # pathways that do not meet: each has what it can get
        array([1. , 0.5])
    """

    depth: float = eqx.field(static=True)
    strengths: Float[Any, "*lanes paths"]
    overlaps: Float[Any, "*lanes paths paths"]
    initial: Float[Any, "*lanes paths"]
    timescale: Any = 1.0
    alone: Chain | None = None

    @precise
    def __call__(self, time: Any) -> dict[str, Float[Any, "..."]]:
        """`strength` π_m(t), of shape ``time.shape + lanes + (paths,)``; times ≥ 0, in any order.

        t = ∞ is allowed where data alone decide the end, which is where D is positive definite or diagonal.
        """
        if self.alone is not None:
            return {"strength": self.alone(time)["product"]}
        moments = (xp.asarray(self.strengths), xp.asarray(self.overlaps))

        def logs(finite: Any) -> Any:
            return course(_LogRate(self.depth), xp.log(self.initial), finite, self.timescale, moments, self._fastest)

        return {"strength": _with_end(time, lambda finite: xp.exp(logs(finite)), self._end)}

    def _fastest(self) -> float:
        """About the fastest relaxation, that of the largest strength which a pathway has or would reach alone."""
        own = np.einsum("...mm->...m", self.overlaps)
        goal = np.divide(self.strengths, own, out=np.zeros_like(own), where=own > 0)
        most = np.maximum(goal, self.initial) ** (2.0 - 2.0 / self.depth)
        return float(np.max(own * most)) * (1.0 if math.isinf(self.depth) else self.depth)

    def _end(self) -> np.ndarray:
        paths = self.initial.shape[-1]
        lanes = zip(self.strengths.reshape(-1, paths), self.overlaps.reshape(-1, paths, paths), strict=True)
        ends = [end_state(*moments) for moments in lanes]
        must = "be finite where D is singular and the start decides, as for views that co-occur (`co_occurring_end`)"
        require(all(end.unique for end in ends), "time", must, math.inf)
        return np.stack([end.strength for end in ends]).reshape(self.initial.shape)


def competition(depth: Any, strengths: Any, overlaps: Any, initial: Any, timescale: Any = 1.0) -> Competition:
    """The race of Eq. (1) from π(0) > 0, for one set of pathways or for many (lanes) at once.

    Where D is diagonal, pathways do not meet and each is a `chain` with its closed form, which can be differentiated.
    Otherwise ln π is integrated, so that small strengths are as accurate as large ones. For L = ∞ the rate is divided
    by L, as in `chain`.

    Args:
        depth: layers L ≥ 2 of every pathway, or `math.inf`.
        strengths: S_m, pathways last.
        overlaps: D_mj.
        initial: π_m(0).
        timescale: τ.

    Returns:
        A `Competition`: ``race(time)`` gives `strength`, of shape ``time.shape + lanes + (paths,)``.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> race = fs.theory.views.competition(2, [1.0, 0.8], [[1.0, 0.5], [0.5, 1.0]], initial=[1e-3, 1e-3])
        >>> race([0.0, 10.0, np.inf])["strength"].round(3)  # to D⁻¹S, from any start
        array([[0.001, 0.001],
               [0.807, 0.39 ],
               [0.8  , 0.4  ]])
    """
    _check_depth(depth)
    moments = tuple(np.asarray(values, float) for values in (strengths, overlaps, initial))
    strengths, overlaps, initial = moments
    shape = initial.shape
    fits = strengths.shape == shape and overlaps.shape == (*shape, shape[-1])
    require(fits, "overlaps", "be a matrix of pathways for each row of `strengths` and `initial`", overlaps.shape)
    require(bool(np.all((initial > 0) & np.isfinite(initial))), "initial", "be positive", initial)
    known = is_traced(timescale) or bool(np.all((np.asarray(timescale) > 0) & np.isfinite(timescale)))
    require(known and np.ndim(timescale) == 0, "timescale", "be one positive number", timescale)
    _eigen(strengths, overlaps)
    diagonal = np.einsum("...mm->...m", overlaps)
    apart = bool(np.all(overlaps == diagonal[..., None] * np.eye(shape[-1])) and np.all(diagonal > 0))
    alone = chain(depth, strengths, initial, input_variance=diagonal, timescale=timescale) if apart else None
    return Competition(float(depth), strengths, overlaps, initial, timescale, alone)


class EndState(NamedTuple):
    """Where a race ends.

    Attributes:
        strength: one non-negative least-squares solution π.
        fit: Dπ, the same for all of them.
        null: an orthonormal basis of null(D), one vector a column: two solutions differ by its members.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> fs.theory.views.end_state([1.0, 1.0], np.ones((2, 2))).unique  # views that co-occur: the start decides
        False
    """

    strength: np.ndarray
    fit: np.ndarray
    null: np.ndarray

    @property
    def unique(self) -> bool:
        """Whether data alone decide: D is positive definite."""
        return self.null.shape[1] == 0


def end_state(strengths: Any, overlaps: Any) -> EndState:
    """The π ≥ 0 that minimise ½πᵀDπ − Sᵀπ: where every start with π > 0 ends.

    Unique if D is positive definite. If it is singular, what the pathways achieve together, Dπ, is still unique, and so
    is the loss, but π only up to null(D): there the start decides, see :func:`co_occurring_end`.

    Args:
        strengths: S_m, one for each pathway.
        overlaps: D_mj, a Gram matrix.

    Returns:
        An `EndState` with `strength`, `fit`, `null` and `unique`.

    Example:
        >>> import festina as fs
        >>> fs.theory.views.end_state([1.0, 0.8], [[1.0, 0.5], [0.5, 1.0]]).strength.round(6)
        array([0.8, 0.4])
        >>> fs.theory.views.end_state([1.0, 0.8], [[1.0, 0.9], [0.9, 1.0]]).strength.round(6)  # the weaker one has none
        array([1., 0.])
    """
    correlation, gram = np.asarray(strengths, float), np.asarray(overlaps, float)
    fits = correlation.ndim == 1 and gram.shape == 2 * correlation.shape
    require(fits, "overlaps", "be a matrix of pathways, as many as `strengths`", gram.shape)
    values, vectors, kept = _eigen(correlation, gram)
    if not kept.any():  # nothing is seen of any pathway
        return EndState(np.zeros_like(correlation), np.zeros_like(correlation), vectors)
    root = np.sqrt(values[kept])[:, None] * vectors[:, kept].T
    solution = optimize.nnls(root, vectors[:, kept].T @ correlation / np.sqrt(values[kept]))[0]
    return EndState(solution, gram @ solution, vectors[:, ~kept])


def conserved(depth: Any, strength: Float[Any, "*batch paths"], null: Float[Any, "paths k"]) -> Float[Any, "*batch k"]:
    """Σ_m n_m f(π_m) for every n in a basis of null(D): ln π at depth 2, π^(2/L−1)/(2/L−1) beyond.

    Args:
        depth: L ≥ 2.
        strength: π > 0, pathways last.
        null: a basis of null(D), one vector a column, as `end_state` gives it.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> end, null = fs.theory.views.co_occurring_end(2, [1.0, 1.0], [1e-3, 2e-3]), np.array([[1.0], [-1.0]])
        >>> [fs.theory.views.conserved(2, strength, null).round(4).item() for strength in ([1e-3, 2e-3], end)]  # −ln 2
        [-0.6931, -0.6931]
    """
    _check_depth(depth)
    return _potential(float(depth), np.asarray(strength, float)) @ np.asarray(null, float)


def co_occurring_end(depth: Any, amplitudes: Any, initial: Any) -> Float[np.ndarray, " paths"]:
    """The end of a race of views that always co-occur, D = aaᵀ and S = a, from π(0) > 0.

    f(π_m) − f(π_m(0)) = a_m μ for one μ, found from Σ_m a_m π_m = 1. At depth 2 with equal amplitudes π ∝ π(0). At
    depth L ≥ 3 and a small start the strongest view has all, and the others stay about where they began.

    Args:
        depth: L ≥ 2, or `math.inf`.
        amplitudes: a_m > 0.
        initial: π_m(0) > 0.

    Example:
        >>> import festina as fs
        >>> fs.theory.views.co_occurring_end(2, amplitudes=[1.0, 1.0], initial=[1e-3, 2e-3]).round(3)  # in proportion
        array([0.333, 0.667])
        >>> fs.theory.views.co_occurring_end(3, amplitudes=[1.0, 1.0], initial=[1e-6, 2e-6]).round(3)  # one has all
        array([0., 1.])
    """
    _check_depth(depth)
    size, begin = np.asarray(amplitudes, float), np.asarray(initial, float)
    require(begin.shape == size.shape == (size.size,), "initial", "be one for each amplitude", begin.shape)
    sound = [np.all((values > 0) & np.isfinite(values)) for values in (size, begin)]
    require(bool(np.all(sound)), "initial", "be positive and finite, as the amplitudes", initial)
    start = _potential(float(depth), begin)

    def strength(shift: float) -> np.ndarray:
        return _strength_at(float(depth), start + size * shift)

    # Σaπ rises with the shift; it is below 1 where every view has less than its share, above where one has all
    goals = _potential(float(depth), np.stack([0.5 / size / len(size), 1.0 / size]))
    low, high = (float(np.min((goal - start) / size)) for goal in goals)
    return strength(_zero(lambda shift: float(size @ strength(shift)) - 1.0, low, high))


class LotkaVolterra(eqx.Module):
    """A solution made by :func:`lotka_volterra`: call it with times.

    Attributes:
        rates: r_m.
        initial: s_m(0).
        capacity: K.

    Example:
        >>> import festina as fs
        >>> fs.theory.views.lotka_volterra([1.0, 1.0], [0.3, 0.4], capacity=1.0).end.round(6)  # to Σs² = K
        array([0.6, 0.8])
    """

    rates: Float[Any, "*lanes paths"]
    initial: Float[Any, "*lanes paths"]
    capacity: Any = 1.0

    @precise
    def __call__(self, time: Any) -> dict[str, Float[Any, "..."]]:
        """`strength` s_m(t), of shape ``time.shape + lanes + (paths,)``; t = ∞ is allowed."""
        begin, rates = xp.asarray(self.initial), xp.asarray(self.rates)
        given = begin, rates / xp.max(rates), xp.max(rates), xp.asarray(self.capacity)

        def strength(finite: Any) -> Any:
            clock = course(_own_time_rate, xp.zeros(begin.shape[:-1]), finite, 1.0, given, self._fastest)
            logs, growth = (xp.broadcast_to(part, clock.shape + part.shape[-1:]) for part in (xp.log(begin), given[1]))
            return xp.exp(logs + growth * clock[..., None])

        return {"strength": _with_end(time, strength, lambda: self.end)}

    def _fastest(self) -> float:
        filled = np.sum(np.asarray(self.initial, float) ** 2) / float(self.capacity)
        return 2.0 * float(np.max(self.rates)) * max(1.0, float(filled))

    @property
    def end(self) -> np.ndarray:
        """The strengths at the end: those along the course whose squares sum to the capacity."""
        begin, rates = np.asarray(self.initial, float), np.asarray(self.rates, float)
        paths = begin.shape[-1]
        lanes = zip(begin.reshape(-1, paths), rates.reshape(-1, paths), strict=True)
        return np.stack([self._end_of(*lane) for lane in lanes]).reshape(begin.shape)

    def _end_of(self, begin: np.ndarray, rates: np.ndarray) -> np.ndarray:
        logs, most = np.log(begin), math.log(float(self.capacity)) / 2.0
        # where each has less than its share of the capacity, and where one has all
        low, high = (float(np.min((goal - logs) / rates)) for goal in (most - math.log(2.0 * len(begin)), most))

        def excess(clock: float) -> float:
            return float(np.logaddexp.reduce(2.0 * (logs + rates * clock))) - 2.0 * most

        return np.exp(logs + rates * _zero(excess, low, high))


def lotka_volterra(rates: Any, initial: Any, capacity: Any = 1.0) -> LotkaVolterra:
    """A race as competing species, ṡ_m = r_m s_m (1 − Σ_j s_j²/K), which a secondary summary of the race proposes.

    All species share one clock φ, s_m = s_m(0) e^{r_m φ} with φ̇ = 1 − Σs²/K, so that s_m^{1/r_m} keep their ratios for
    ever: at equal rates the smallest advantage neither grows nor shrinks, and nobody takes all. Eq. (1) has this form
    only at depth 2 with co-occurring views of one amplitude a, where s = √π, r = a and K = 1/a.

    Args:
        rates: r_m > 0, species last.
        initial: s_m(0) > 0, of the same shape.
        capacity: K > 0.

    Returns:
        A `LotkaVolterra`: ``course(time)`` gives `strength`; ``course.end`` is where it ends.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> strength = fs.theory.views.lotka_volterra([1.0, 1.0], [1e-3, 2e-3])([0.0, 5.0, np.inf])["strength"]
        >>> (strength[:, 1] / strength[:, 0]).round(6)  # nobody takes all
        array([2., 2., 2.])
    """
    growth, begin = np.asarray(rates, float), np.asarray(initial, float)
    require(growth.shape == begin.shape, "rates", f"have the shape {begin.shape} of `initial`", growth.shape)
    positive = np.all((growth > 0) & np.isfinite(growth)) and np.all((begin > 0) & np.isfinite(begin))
    require(bool(positive) and begin.ndim > 0, "initial", "be positive, as the rates", initial)
    require(0 < float(capacity) < math.inf, "capacity", "be positive", capacity)
    return LotkaVolterra(growth, begin, capacity)


class VectorRace(eqx.Module):
    """A solution made by :func:`vector_race`: call it with times.

    Attributes:
        cross: Σyx(p).
        overlaps: D_pj.
        initial: |m_p(0)|.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> race = fs.theory.views.vector_race(np.ones((2, 3)), np.eye(2), [1e-3, 1e-3])  # to three outputs
        >>> race(np.zeros(5))["map"].shape
        (5, 2, 3)
    """

    cross: Float[Any, "*lanes paths outputs"]
    overlaps: Float[Any, "paths paths"]
    initial: Float[Any, "*lanes paths"]

    @precise
    def __call__(self, time: Any) -> dict[str, Float[Any, "..."]]:
        """`map` m_p(t), of shape ``time.shape + lanes + (paths, outputs)``."""
        cross, begin, gram = xp.asarray(self.cross), xp.asarray(self.initial), xp.asarray(self.overlaps)
        size = xp.linalg.norm(cross, axis=-1, keepdims=True)
        grows = begin > 0  # each in units of its start, so that small ones are as exact as large ones
        start = (xp.where(grows, 1.0, 0.0), xp.where(grows[..., None], cross / xp.where(size > 0, size, 1.0), 0.0))
        weight, vector = course(_vector_rate, start, time, 1.0, (cross, gram, begin), self._fastest)
        return {"map": xp.broadcast_to(begin, weight.shape)[..., None] * weight[..., None] * vector}

    def _fastest(self) -> float:
        return 2.0 * float(np.max(np.linalg.norm(self.cross, axis=-1)) + np.max(self.overlaps) * np.max(self.initial))


def vector_race(cross: Any, overlaps: Any, initial: Any) -> VectorRace:
    """The race of pathways of two layers from one input to several outputs, each of which may turn as it learns.

    A balanced pathway of any width is one hidden unit, m_p = w_p v_p with |v_p| = w_p, and

        τ ẇ_p = v_p·R_p,    τ v̇_p = w_p R_p,    R_p = Σyx(p) − Σ_j D_pj m_j.

    It starts along its own Σyx(p), the direction in which small random weights grow first.

    Args:
        cross: Σyx(p), pathways before outputs.
        overlaps: D_pj = ⟨g_p g_j x²⟩.
        initial: |m_p(0)|, the strength of the weights that grow: |(W₂ᵀu + W₁)/2|² along u = Σyx(p)/|Σyx(p)|.

    Returns:
        A `VectorRace`: ``race(time)`` gives `map`, of shape ``time.shape + lanes + (paths, outputs)``.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> race = fs.theory.views.vector_race([[1.0, 0.0], [0.0, 2.0]], np.eye(2), initial=[1e-3, 1e-3])
        >>> race(20.0)["map"].round(3)
        array([[1., 0.],
               [0., 2.]])
    """
    moments, gram, begin = (np.asarray(values, float) for values in (cross, overlaps, initial))
    fits = moments.shape[:-1] == begin.shape and gram.shape == (begin.shape[-1],) * 2
    require(fits, "cross", "have a vector for each pathway of `initial` and of `overlaps`", moments.shape)
    require(bool(np.all((begin >= 0) & np.isfinite(begin))), "initial", "be finite, and not be negative", initial)
    require(bool(np.all(np.isfinite(moments))), "cross", "be finite", cross)
    _eigen(np.zeros(len(gram)), gram)
    return VectorRace(moments, gram, begin)


def shared_rate(tasks: int, cosine: Any) -> Any:
    """S of a pathway shared by C tasks with unit targets of cosine ρ: |ȳ| = √((1 + (C−1)ρ)/C).

    Args:
        tasks: C ≥ 2.
        cosine: ρ, from −1/(C − 1) to 1.

    Example:
        >>> import festina as fs
        >>> float(fs.theory.views.shared_rate(4, 1.0)), float(fs.theory.views.shared_rate(4, 0.0))
        (1.0, 0.5)
    """
    return np.sqrt(energy_share(tasks, cosine))


def private_rate(tasks: int) -> float:
    """S of a pathway that serves one of C tasks: 1/C.

    Args:
        tasks: C ≥ 1.

    Example:
        >>> import festina as fs
        >>> fs.theory.views.private_rate(4)
        0.25
    """
    require(tasks >= 1, "tasks", "be at least 1", tasks)
    return 1.0 / tasks


def energy_share(tasks: int, cosine: Any) -> Any:
    """What a shared pathway explains if it wins, as a share of |y|²: |ȳ|² = (1 + (C−1)ρ)/C.

    Args:
        tasks: C ≥ 2.
        cosine: ρ, from −1/(C − 1) to 1.

    Example:
        >>> import festina as fs
        >>> fs.theory.views.energy_share(4, [0.0, 0.5, 1.0])
        array([0.25 , 0.625, 1.   ])
    """
    require(tasks >= 2, "tasks", "be at least 2", tasks)
    share = (1.0 + (tasks - 1) * np.asarray(cosine, float)) / tasks
    possible = bool(np.all((share >= -NEGLIGIBLE) & (share <= 1.0 + NEGLIGIBLE)))
    require(possible, "cosine", f"lie between {-1.0 / (tasks - 1):.3g} and 1 for {tasks} tasks", cosine)
    return np.clip(share, 0.0, 1.0)  # rounding


def critical_cosine(tasks: int) -> float:
    """ρ* = −1/C, where the shared and the private rate are equal: the shared pathway wins above, private ones below.

    Args:
        tasks: C ≥ 2.

    Example:
        >>> import festina as fs
        >>> cosine = fs.theory.views.critical_cosine(4)
        >>> float(fs.theory.views.shared_rate(4, cosine)) == fs.theory.views.private_rate(4)
        True
    """
    require(tasks >= 2, "tasks", "be at least 2", tasks)
    return -1.0 / tasks


def bottleneck(strengths: Any, width: int) -> Float[np.ndarray, " modes"]:
    """What a linear network with a layer of r units learns of white inputs: its r strongest modes, whole, no other.

    Args:
        strengths: s of each mode, none negative.
        width: r ≥ 1.

    Returns:
        What is learned of each mode, in the given order.

    Example:
        >>> import festina as fs
        >>> fs.theory.views.bottleneck([3.0, 1.0, 2.0], width=2)
        array([3., 0., 2.])
    """
    require(width >= 1, "width", "be at least 1", width)
    size = np.asarray(strengths, float)
    sound = size.ndim == 1 and bool(np.all((size >= 0) & np.isfinite(size)))
    require(sound, "strengths", "be a row of finite numbers, none of them negative", strengths)
    learned = np.zeros_like(size)
    strongest = np.argsort(-size, kind="stable")[:width]
    learned[strongest] = size[strongest]
    return learned


def _eigen(strengths: np.ndarray, overlaps: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvalues and eigenvectors of D, and which are more than rounding; S and D must be possible moments."""
    finite = np.all(np.isfinite(strengths)) and np.all(np.isfinite(overlaps))
    require(bool(finite), "strengths", "be finite, as the overlaps", strengths)
    values, vectors = np.linalg.eigh(overlaps)
    least = NEGLIGIBLE * np.abs(values).max(axis=-1, keepdims=True)
    symmetric = np.allclose(overlaps, np.swapaxes(overlaps, -1, -2), rtol=0.0, atol=float(np.max(least)))
    require(bool(symmetric and np.all(values >= -least)), "overlaps", "be a Gram matrix", overlaps)
    kept = values > least
    unseen = np.where(kept, 0.0, np.einsum("...pe,...p->...e", vectors, strengths))
    beyond = np.linalg.norm(unseen, axis=-1) > 1e-6 * np.linalg.norm(strengths, axis=-1)
    require(not bool(np.any(beyond)), "strengths", "lie in the range of D", strengths)
    return values, vectors, kept


def _check_depth(depth: Any) -> None:
    require(float(depth) >= 2, "depth", "be at least 2 (`math.inf` is allowed)", depth)


def _with_end(time: Any, finite: Callable[[Any], Any], end: Callable[[], Any]) -> Any:
    """A course at finite times, and its end at infinite ones."""
    if is_traced(time):
        return finite(time)
    endless = np.asarray(np.asarray(time, float) == np.inf)
    if not endless.any():
        return finite(time)
    last = np.asarray(end())
    early = np.asarray(finite(np.where(endless, 0.0, time)))
    return np.where(endless.reshape(endless.shape + (1,) * last.ndim), last, early)


def _zero(function: Callable[[float], float], low: float, high: float) -> float:
    return float(optimize.root_scalar(function, bracket=(low, high), xtol=1e-15, rtol=1e-14).root)


def _potential(depth: float, strength: np.ndarray) -> np.ndarray:
    """f with f' = π^(2/L−2)."""
    power = 2.0 / depth - 1.0
    return np.log(strength) if depth == 2 else strength**power / power


def _strength_at(depth: float, potential: np.ndarray) -> np.ndarray:
    """π at f(π); infinite beyond the reach of f."""
    if depth == 2:
        return np.exp(potential)
    power = 2.0 / depth - 1.0
    with np.errstate(divide="ignore"):
        return np.maximum(power * potential, 0.0) ** (1.0 / power)


@dataclass(frozen=True)
class _LogRate:
    """d ln π/dt of Eq. (1) with τ = 1; two of one depth are equal, and so share one compilation."""

    depth: float

    def __call__(self, logs: Any, moments: Any) -> Any:
        strengths, overlaps = moments
        strength = jnp.exp(logs)
        mobility = strength if math.isinf(self.depth) else self.depth * jnp.exp((1.0 - 2.0 / self.depth) * logs)
        return mobility * (strengths - jnp.einsum("...mj,...j->...m", overlaps, strength))


def _own_time_rate(clock: Any, given: Any) -> Any:
    """Of the clock in units of the fastest growth, in which strengths are as exact as it is."""
    initial, rates, fastest, capacity = given
    logs = jnp.log(initial) + rates * clock[..., None]
    return fastest * (1.0 - jnp.sum(jnp.exp(2.0 * logs), axis=-1) / capacity)


def _vector_rate(parts: Any, moments: Any) -> Any:
    (weight, vector), (cross, overlaps, initial) = parts, moments
    left = cross - jnp.einsum("pj,...j,...jo->...po", overlaps, initial * weight, vector)
    return jnp.sum(vector * left, axis=-1), weight[..., None] * left
