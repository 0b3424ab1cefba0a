"""How fast a pathway learns: the race reduction of two pathways, what decides their speeds, and closed forms.

Two pathways of a gated network lead to n outputs whose targets are 1, the first along n paths of its own, the rival
along n paths that share their first edge. The first is always on and has D equal weights w; the rival is on for a share
s of the samples and has a shared weight a and L − 1 others b in each path. With strengths π₁ = w^D, π₂ = a b^(L−1),

    τẇ = w^(D−1) (1 − π₁ − c s π₂),    τȧ = n b^(L−1) s (1 − c π₁ − π₂),    τḃ = a b^(L−2) s (1 − c π₁ − π₂),    (1)

where c = 0 for outputs of their own and c = 1 for the same. The shared edge hears all n paths, so a² − n b² is kept.

Source: the race reduction of Saxe, Sodhani & Lewallen 2022 and Saxe's lecture; what follows from it was derived here.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from festina.arrays import Real, xp
from festina.errors import require
from festina.precision import precise
from festina.theory._course import course
from festina.theory.chain import imbalanced
from festina.theory.chain import time_to_reach as chain_time

Numbers = Array | np.ndarray


class Race(eqx.Module):
    """A solution of Eq. (1) made by :func:`race`: call it with times.

    Example:
        >>> import festina as fs
        >>> slow = fs.theory.speeds.race((2, 3), (0.1, 0.1, 0.2))  # two layers, and three
        >>> slow([0.0, 5.0, 20.0])["strength"].round(3)
        array([[0.01 , 0.004],
               [0.996, 0.398],
               [1.   , 1.   ]])
    """

    depths: tuple[float, float]
    weights: Float[Any, " 3"]
    paths: float
    correlation: float
    same: bool

    @precise
    def __call__(self, time: Any) -> dict[str, Float[Any, "..."]]:
        """`strength` π of the first and of the rival, (*time, 2), and the `loss` ½⟨|y − h|²⟩; times ≥ 0, any order."""
        given = np.asarray([*self.depths, self.paths, self.correlation, float(self.same)], float)
        states = course(_rate, np.asarray(self.weights, float), time, 1.0, given, self._fastest)
        first, rival = _strengths(states, given)
        on, met = self.correlation, 1.0 - first - rival
        shared = on * met**2 + (1.0 - on) * (1.0 - first) ** 2
        loss = shared if self.same else (1.0 - first) ** 2 + on * (1.0 - rival) ** 2
        return {"strength": xp.stack([first, rival], axis=-1), "loss": 0.5 * self.paths * loss}

    def _fastest(self) -> float:
        """About the fastest relaxation, that of the largest weights."""
        return float(self.paths * max(self.depths) * max(1.0, np.max(self.weights)) ** 2)


def race(
    depths: tuple[float, float],
    weights: Any,
    *,
    paths: float = 1,
    correlation: float = 1.0,
    same: bool = False,
) -> Race:
    """The race of Eq. (1) between two pathways, with outputs of their own or for the same.

    Args:
        depths: layers of the first and of the rival, D and L ≥ 2.
        weights: w, a and b at t = 0, all positive.
        paths: n, outputs of either, and paths that share the rival's first edge.
        correlation: s, the share of samples on which the rival is on.
        same: whether both lead to the same outputs.

    Returns:
        A `Race`: ``race(time)`` gives `strength` of both and the `loss`.

    Example:
        >>> import festina as fs
        >>> contest = fs.theory.speeds.race((2, 2), (0.03, 0.04, 0.02), paths=4, same=True)
        >>> contest(50.0)["strength"].round(2)  # four paths through one edge beat paths of their own
        array([0.03, 0.97])
    """
    require(min(depths) >= 2, "depths", "be at least 2", depths)
    positive = np.asarray(weights, float)
    require(positive.shape == (3,) and bool(np.all(positive > 0)), "weights", "be w, a and b, all positive", weights)
    require(paths >= 1, "paths", "be at least 1", paths)
    require(0 < correlation <= 1, "correlation", "lie above 0 and not above 1", correlation)
    return Race((float(depths[0]), float(depths[1])), positive, float(paths), float(correlation), bool(same))


def _strengths(state: Float[Numbers, "*times 3"], given: Float[Numbers, " 5"]) -> tuple[Real, Real]:
    weight, shared, own = xp.moveaxis(state, -1, 0)
    return weight ** given[0], shared * own ** (given[1] - 1.0)


def _rate(state: Float[Array, " 3"], given: Float[Numbers, " 5"]) -> Float[Array, " 3"]:
    """Eq. (1)."""
    weight, shared, own = state
    depth, rival_depth, paths, correlation, same = given
    first, rival = _strengths(state, given)
    error = 1.0 - first - same * correlation * rival
    rival_error = correlation * (1.0 - same * first - rival)
    slopes = paths * own ** (rival_depth - 1.0), shared * own ** (rival_depth - 2.0)
    return jnp.stack([weight ** (depth - 1.0) * error, slopes[0] * rival_error, slopes[1] * rival_error])


def time_to_reach(
    depth: int, level: float, initial: Any, *, correlation: Any = 1.0, paths: Any = 1, imbalance: Any = 1.0
) -> Float[Any, "..."]:
    """When a rival with outputs of its own reaches a level, in closed form.

    From a balanced start, a = √n b, Eq. (1) is a chain of L weights which sharing makes faster by n^(1/L),

        τ π̇ = n^(1/L) s L π^(2−2/L) (1 − π);

    at depth 2, a = ρ √n b is a chain of two weights a/√n and b, with the imbalance (π₀/√n) (1/ρ − ρ), for any ρ.

    Args:
        depth: layers L ≥ 2.
        level: of the strength π, strictly between 0 and 1.
        initial: π at t = 0.
        correlation: s.
        paths: n.
        imbalance: ρ = a/(√n b) at t = 0; 1 where there are more than two layers.

    Returns:
        The times, of the shape of the arguments together; 0 where the level is passed already.

    Example:
        >>> import festina as fs
        >>> fs.theory.speeds.time_to_reach(2, 0.5, 1e-3, paths=[1, 4]).round(3)  # √4 times as fast
        array([3.453, 1.727])
    """
    root = np.sqrt(np.asarray(paths, float))
    if depth == 2:
        ratio, start = np.asarray(imbalance, float), np.asarray(initial, float) / root
        weights = imbalanced(
            correlation, start, start * (1.0 / ratio - ratio), input_variance=correlation * root, timescale=1.0 / root
        )
        return weights.time_to_reach(level)
    require(bool(np.all(np.asarray(imbalance) == 1.0)), "imbalance", "be 1 beyond depth 2", imbalance)
    speed = root ** (2.0 / depth)
    return chain_time(depth, correlation, initial, level, input_variance=correlation, timescale=1.0 / speed)


def overtaking(shallow: float, deep: float) -> float:
    """The strength above which the deeper of two balanced pathways is the faster one, (M/L)^(LM/2(L−M)).

    There L π^(2−2/L) = M π^(2−2/M). For two layers against three it is 8/27, against four 1/4.

    Args:
        shallow: layers M ≥ 2.
        deep: layers L > M.

    Example:
        >>> import festina as fs
        >>> fs.theory.speeds.overtaking(2, 4)
        0.25
    """
    require(2 <= shallow < deep, "shallow", "be at least 2, and below `deep`", shallow)
    return float((shallow / deep) ** (shallow * deep / (2.0 * (deep - shallow))))
