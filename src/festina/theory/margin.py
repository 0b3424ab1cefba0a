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
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float

from festina.errors import require
from festina.precision import is_traced, precise
from festina.theory.chain import Chain, chain
from festina.worlds.logic import ANSWERS, CORNERS

EXAMPLES = len(CORNERS)
NEWTON_STEPS = 20
FREE_TIME, FREE_STEP = 12.0, 0.02
NEGLIGIBLE = 1e-12


def strengths(separation: ArrayLike, examples: int = EXAMPLES) -> tuple[Any, Any]:
    """s_XoR = √(2+Δ²)/P of a pathway for one example, and s_lin = Δ/2 of one for the examples of a class."""
    _check_separation(separation)
    return (2.0 + separation**2) ** 0.5 / examples, separation / 2.0


def crossing(examples: int = EXAMPLES) -> float:
    """Δ* = √(8/(P²−4)), where both strengths are equal: √(2/3) for the four examples of exclusive-or."""
    require(examples > 2, "examples", "be more than 2", examples)
    return sqrt(8.0 / (examples**2 - 4.0))


def xor(initial: ArrayLike) -> "ExclusiveOr":
    """Exclusive-or with one pathway for each example, all from the strength π₀; call it with times.

    Each is a chain of two weights with s = √2/4 and input variance ½: π(t) = (s/d)/(1 − (1 − s/(dπ₀))e^{−2st/τ}).
    """
    return ExclusiveOr(chain(2, sqrt(2.0) / EXAMPLES, initial, input_variance=0.5))


class ExclusiveOr(eqx.Module):
    """A solution made by :func:`xor`."""

    pathway: Chain

    def __call__(self, time: Any) -> dict[str, Any]:
        """The `strength` π(t) of each pathway, and the `loss` ½(1 − √2π)²."""
        answer = self.pathway(time)
        return {"strength": answer["product"], "loss": EXAMPLES * answer["loss"]}


class Race(eqx.Module):
    """A race made by :func:`race`: its end, and its course."""

    nonlinear: Float[np.ndarray, "*runs"]
    linear: Float[np.ndarray, "*runs"]
    separation: Float[np.ndarray, "*runs"]

    @property
    def end(self) -> dict[str, Float[np.ndarray, "*runs"]]:
        """`nonlinear` π and `linear` ρ where E = 0, and the `single_share` of strength in pathways for one example."""
        return self._grown(_final_clock(*self._contributions))

    def __call__(self, time: Float[Any, " time"]) -> dict[str, Float[np.ndarray, "time *runs"]]:
        """The same over time, and the `loss` ½E², by integrating τ dT/dt = E over rising times ≥ 0."""
        grown = self._grown(_clock(np.asarray(time, float), *self._contributions))
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
        nonlinear, linear = self.nonlinear * np.exp(2.0 * fast * clock), self.linear * np.exp(2.0 * slow * clock)
        grown = {"nonlinear": nonlinear, "linear": linear, "single_share": single_share(nonlinear, linear)}
        return {name: np.asarray(values) for name, values in grown.items()}


def race(nonlinear: ArrayLike, linear: ArrayLike, separation: ArrayLike) -> Race:
    """The race between both kinds of pathway, from the strengths π₀ and ρ₀, for any number of runs at once.

    Args:
        nonlinear: π₀ ≥ 0, of each pathway that is on for one example.
        linear: ρ₀ ≥ 0, of each pathway that is on for one class.
        separation: Δ ≥ 0.
    """
    _check_separation(separation)
    arrays = [np.asarray(part, float) for part in (nonlinear, linear, separation)]
    for name, start in zip(("nonlinear", "linear"), arrays, strict=False):
        require(bool(np.all(start >= 0)), name, "be zero or positive", start)
    runs = arrays[0] + arrays[1] * arrays[2] > 0
    require(bool(np.all(runs)), "linear", "be positive where `nonlinear` is zero, and so must Δ", linear)
    return Race(*np.broadcast_arrays(*arrays))


def single_share(nonlinear: Any, linear: Any) -> Any:
    """4π/(4π + 2ρ): the share of strength in pathways that are on for exactly one example."""
    return 2.0 * nonlinear / (2.0 * nonlinear + linear)


def pure_index(separation: ArrayLike) -> Any:
    """(2−Δ²)/(2+Δ²): the index 2⟨y f(z₁, z₂, 0)⟩ − 1 of a network in which pathways for one example do it all.

    The index asks the *function*: what is left of its answers without the third input. It is −1 for a solution that
    uses the third input alone. But a pathway for one example follows all of its input, the third part included, and so
    the index is below 1 in a network that has no linear pathway at all.
    """
    _check_separation(separation)
    return (2.0 - separation**2) / (2.0 + separation**2)


def self_consistent_sets(
    inputs: Float[np.ndarray, "n i"], targets: Float[np.ndarray, " n"]
) -> Bool[np.ndarray, "sets n"]:
    """The gatings a rectified unit can keep: sets of examples on which the weights they grow are positive, and no more.

    A pathway that is on for the set G grows the weights w ∝ ±Σ_{i∈G} y_i x_i, with the sign of its output weight. If
    w·x_i > 0 for i ∈ G and for no other example, a rectified unit does the same; if not, it leaves the set.
    """
    every = np.asarray(list(product((False, True), repeat=len(targets)))[1:])
    weights = (every * targets[None]) @ inputs
    drive = weights @ inputs.T
    least = NEGLIGIBLE * np.abs(drive).max()
    keeps = [((sign * drive > least) == every).all(axis=1) for sign in (1.0, -1.0)]
    return every[keeps[0] | keeps[1]]


@precise
def captured(separation: Float[Any, " runs"], units: int = 4096) -> tuple[Any, Any]:
    """π₀/(Hσ²) and ρ₀/(Hσ²): where random rectified units of standard deviation σ, H of them, enter the race.

    While weights are small, E = 1 and every unit moves on its own, ẇ = a m, ȧ = w·m with m = Σ_{i on} y_i x_i/P. It
    turns until its set of examples is one that it keeps, and then grows at the rate of that set's pathway. What it has
    by then, divided by e^{2sT}, is its share of that pathway's start. The mean over a normal start is taken over points
    of a Sobol sequence, which are the same in every call. At Δ = 0 units slide along the edge of their sets, and no
    count of active examples means anything; the limit Δ → 0 has π₀ = .162 Hσ².

    Args:
        separation: Δ > 0 of each run.
        units: points of the sequence, a power of 2.
    """
    positive = is_traced(separation) or bool(np.all(np.asarray(separation) > 0))
    require(positive, "separation", "be positive", separation)
    require(units >= 1 and units & (units - 1) == 0, "units", "be a power of 2", units)
    separation = jnp.asarray(separation, float)
    single, pair = _free_growth(separation, jnp.asarray(_normal_points(units)))
    return single / EXAMPLES, pair / 2.0


def _normal_points(units: int) -> Float[np.ndarray, "units 4"]:
    from scipy.special import ndtri
    from scipy.stats import qmc

    return ndtri(qmc.Sobol(4, rng=np.random.default_rng(0)).random(units))


@jax.jit
def _free_growth(separation: Array, start: Array) -> tuple[Array, Array]:
    """Mean strength of units with one and with two active examples, over what growth at the rate of each makes of 1."""
    answers = jnp.asarray(ANSWERS)
    steps = round(FREE_TIME / FREE_STEP)

    def one(separation: Array) -> tuple[Array, Array]:
        inputs = jnp.concatenate([jnp.asarray(CORNERS), separation * answers[:, None]], axis=1)
        pushes = answers[:, None] * inputs / EXAMPLES

        def step(_: Any, unit: tuple[Array, Array]) -> tuple[Array, Array]:
            incoming, outgoing = unit
            push = (incoming @ inputs.T > 0).astype(incoming.dtype) @ pushes
            turned = outgoing + FREE_STEP * jnp.sum(incoming * push, axis=-1)
            return incoming + FREE_STEP * outgoing[:, None] * push, turned

        incoming, outgoing = jax.lax.fori_loop(0, steps, step, (start[:, :3], start[:, 3]))
        strength = jnp.linalg.norm(incoming, axis=-1) * jnp.abs(outgoing)
        active = jnp.sum(incoming @ inputs.T > 0, axis=-1)
        means = [jnp.mean(jnp.where(active == size, strength, 0.0)) for size in (1, 2)]
        fast, slow = ((1.0 + FREE_STEP * rate) ** (2 * steps) for rate in strengths(separation))
        return means[0] / fast, means[1] / slow

    return jax.vmap(one)(separation)


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
    """T(t) of τ dT/dt = 1 − Σ_k e^{ln A_k + r_k T}, for all runs at once."""
    from scipy.integrate import solve_ivp

    last = _final_clock(log_sizes, rates)

    def rate(_: float, clock: np.ndarray) -> np.ndarray:
        bounded = np.minimum(clock.reshape(last.shape), last)  # a step too long must not overflow
        return 1.0 - np.exp(log_sizes + rates * bounded).sum(axis=0).reshape(-1)

    span = (0.0, float(time[-1]))
    solved = solve_ivp(rate, span, np.zeros(last.size), "DOP853", time, rtol=1e-11, atol=1e-13)
    return solved.y.T.reshape(len(time), *last.shape)


def _check_separation(separation: Any) -> None:
    if not is_traced(separation):
        require(bool(np.all(np.asarray(separation) >= 0)), "separation", "be zero or positive", separation)
