"""The expected learning of a tutor-executor network, and the hierarchy of saddles it passes.

Averaged over stimuli and choices, with π(a|s) the probability of choice a given stimulus s, p(s) that of the
stimulus and time t = η · trials, the rule of Liebana Garcia et al. (2025) is the flow

    dw1[k]/dt    = Σ_{s,a} p(s) π(a|s) (R[s, a] − Q[s, a]) W2[a, k] x[s, k],
    dW2[a, k]/dt = Σ_s p(s) π(a|s) δ[s, a, k] w1[k] x[s, k],        all weights kept non-negative.

A pathway whose weights are all zero is closed and stays so: each set of open pathways has its own rest point, a saddle
from which the closed ones grow. Everything here works on plain arrays: tutor weights w1 (left, right, const), executor
weights W2 (choice × pathway), and their products W2[a, k] w1[k].
"""

from collections.abc import Iterable
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from festina.arrays import sigmoid, xp
from festina.compiling import brief_jit, quick_jit
from festina.errors import require
from festina.precision import precise
from festina.theory.stationary import weights
from festina.worlds.gratings import PATHWAYS, inputs, rewards, shares

SEEN = inputs()
"""What the stimuli left, none and right switch on."""

Weights = tuple[Float[Any, "3"], Float[Any, "2 3"]]


class MeanField(eqx.Module):
    """The expected update; ``crosstalk`` 0 for partial errors (the published rule), 1 for the total error.

    Made by `mean_field`. It computes with NumPy, or with JAX if it is given what JAX traces: that inside ``with
    fs.double():``.

    Attributes:
        crosstalk: 0 for partial errors, 1 for the total error.
        tutor_speed: learning rate of the tutor in units of the executor's.
        blank: share of trials with nothing to see.
        inverse_temperature: β.
        seen: what each stimulus switches on, from the left over none to the right.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> field = fs.theory.saddles.mean_field()
        >>> on_tutor, on_executor = field(np.full(3, 0.1), np.full((2, 3), 0.1))  # dw1/dt and dW2/dt
        >>> np.round(on_tutor, 3).tolist()
        [0.022, 0.022, 0.048]
    """

    crosstalk: Float[Any, "*lanes"]
    tutor_speed: Float[Any, "*lanes"]
    blank: Float[Any, "*lanes"]
    inverse_temperature: Float[Any, "*lanes"]
    seen: Float[Any, "*lanes stimulus 3"]

    def right(self, products: Float[Any, "2 3"]) -> Float[Any, " stimulus"]:
        """P(right) for every stimulus."""
        values = self.seen @ products.T
        return sigmoid(self.inverse_temperature * (values[:, 1] - values[:, 0]))

    def choices(self, products: Float[Any, "2 3"]) -> Float[Any, "stimulus 2"]:
        """π(a|s), the probability of both choices for every stimulus."""
        right = self.right(products)
        return xp.stack([1.0 - right, right], axis=1)

    def signals(self, products: Float[Any, "2 3"]) -> Float[Any, "3 stimulus 2"]:
        """The expected teaching signals δ_tot, δ_stim and δ_const, by stimulus and choice."""
        seen = self.seen
        reward, stimulus = rewards(len(seen)), seen[:, :2] @ products[:, :2].T
        constant = seen[:, 2:] @ products[:, 2:].T
        for_stimulus = reward - stimulus - self.crosstalk * constant
        for_constant = reward - constant - self.crosstalk * stimulus
        return xp.stack([reward - stimulus - constant, for_stimulus, for_constant])

    def errors(self, products: Float[Any, "2 3"]) -> tuple[Float[Any, "stimulus 2"], Float[Any, "stimulus 2 3"]]:
        """Errors of tutor (stimulus × choice) and executor (… × pathway), times their probability p(s) π(a|s)."""
        chances = shares(len(self.seen), self.blank)[:, None] * self.choices(products)
        total, stimulus, constant = chances[None] * self.signals(products)
        return total, xp.stack([stimulus, stimulus, constant], axis=2)

    def __call__(self, tutor: Float[Any, "3"], executor: Float[Any, "2 3"]) -> Weights:
        """(dw1/dt, dW2/dt), without the bound at zero."""
        for_tutor, for_executor = self.errors(executor * tutor[None, :])
        drive = for_tutor.T @ self.seen
        on_tutor = self.tutor_speed * xp.sum(drive * executor, axis=0)
        return on_tutor, xp.sum(for_executor * self.seen[:, None, :], axis=0) * tutor[None, :]


def mean_field(
    *,
    crosstalk: Any = 0.0,
    tutor_speed: Any = 1.0,
    blank: Any = 0.1,
    inverse_temperature: Any = 9.0,
    seen: Float[Any, "stimulus 3"] = SEEN,
) -> MeanField:
    """The expected update for one network, or for as many as the arguments have entries.

    Args:
        crosstalk: 0 for partial errors of the executor, 1 for the total error.
        tutor_speed: learning rate of the tutor in units of the executor's; 0 for a shallow network.
        blank: share of trials with nothing to see.
        inverse_temperature: β.
        seen: inputs of all stimuli, from `festina.worlds.gratings.inputs`; gratings of one contrast unless given.

    Returns:
        A `MeanField`: ``field(tutor, executor)`` gives the rates of both.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> field = fs.theory.saddles.mean_field(inverse_temperature=2.0)
        >>> right = field.right(np.eye(2, 3))  # P(right) for the stimuli left, none and right
        >>> np.round(right, 2).tolist()
        [0.12, 0.5, 0.88]
    """
    given = {
        "crosstalk": crosstalk,
        "tutor_speed": tutor_speed,
        "blank": blank,
        "inverse_temperature": inverse_temperature,
    }
    fields = {name: np.asarray(value, dtype=float) for name, value in given.items()}
    for name, value in fields.items():
        sound = bool(np.all(np.isfinite(value) & (value >= 0)))
        require(sound, name, "be finite and not negative", given[name])
    require(bool(np.all(fields["blank"] <= 1)), "blank", "be a share, from 0 to 1", blank)
    lanes = dict(zip(fields, np.broadcast_arrays(*fields.values()), strict=True))
    return MeanField(**lanes, seen=np.broadcast_to(seen, (*lanes["blank"].shape, *np.shape(seen))))


@precise
def expected_course(
    field: MeanField,
    tutor: Float[Any, "lanes 3"],
    executor: Float[Any, "lanes 2 3"],
    rate: Float[Any, " lanes"],
    *,
    sessions: int,
    trials: int,
    stride: int = 1,
) -> dict[str, Float[Any, "lanes records ..."]]:
    """What the expected update makes of several networks: W ← |W + η E[ΔW]| in every trial, or ``stride`` at once.

    Gives `tutor` and `executor` at the start and after each session, `right`, P(right) for every stimulus averaged over
    the session, and `signals`, the teaching signals averaged over the session's trials with a stimulus and a choice,
    E[π δ] / E[π] (at the start, what they are there).

    Args:
        field: the expected update, one for each network (lane): `mean_field` with as many entries.
        tutor: w1 at the start.
        executor: W2 at the start.
        rate: η of each network.
        sessions: how many.
        trials: in each session.
        stride: how many trials are one step; it must divide the trials of a session.

    Returns:
        The four by name, each of shape (lanes, sessions + 1, …).

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> field = fs.theory.saddles.mean_field(blank=[0.1])
        >>> start = np.full((1, 3), 0.05), np.full((1, 2, 3), 0.05)
        >>> rate = np.array([0.01])
        >>> course = fs.theory.saddles.expected_course(field, *start, rate, sessions=3, trials=1000, stride=10)
        >>> course["right"][0].round(2)  # left, none and right are told apart
        array([[0.5 , 0.5 , 0.5 ],
               [0.43, 0.5 , 0.57],
               [0.05, 0.5 , 0.95],
               [0.01, 0.5 , 0.99]])
    """
    require(sessions >= 1 and trials >= 1, "sessions", "be at least one, of at least one trial", (sessions, trials))
    require(stride >= 1 and trials % stride == 0, "stride", f"divide the {trials} trials of a session", stride)
    return _courses(field, tutor, executor, rate * stride, sessions, trials // stride)


@partial(quick_jit, static_argnums=(4, 5))
def _courses(field: MeanField, tutor: Any, executor: Any, rate: Any, sessions: int, steps: int) -> dict[str, Any]:
    def one(field: MeanField, tutor: Any, executor: Any, rate: Any) -> dict[str, Any]:
        def met(tutor: Any, executor: Any) -> Any:
            chosen, signals = field.choices(executor * tutor[None, :]), field.signals(executor * tutor[None, :])
            return chosen, chosen[None] * signals

        def step(carry: Any, _: None) -> Any:
            tutor, executor, totals = carry
            on_tutor, on_executor = field(tutor, executor)
            totals = jax.tree.map(jnp.add, totals, met(tutor, executor))
            return (jnp.abs(tutor + rate * on_tutor), jnp.abs(executor + rate * on_executor), totals), None

        def session(carry: Any, _: None) -> Any:
            nothing = jax.tree.map(jnp.zeros_like, met(*carry))
            tutor, executor, (chosen, signals) = jax.lax.scan(step, (*carry, nothing), None, length=steps)[0]
            return (tutor, executor), (tutor, executor, chosen[:, 1] / steps, signals / chosen[None])

        later = jax.lax.scan(session, (tutor, executor), None, length=sessions)[1]
        first = (tutor, executor, field.right(executor * tutor[None, :]), field.signals(executor * tutor[None, :]))
        whole = [jnp.concatenate([start[None], rest]) for start, rest in zip(first, later, strict=True)]
        return dict(zip(("tutor", "executor", "right", "signals"), whole, strict=True))

    return jax.vmap(one)(field, tutor, executor, rate)


def saddle(
    opened: Iterable[str],
    *,
    blank: float = 0.1,
    inverse_temperature: float = 9.0,
    seen: Float[np.ndarray, "stimulus 3"] = SEEN,
) -> Float[np.ndarray, "2 3"]:
    """Products W2[a, k] w1[k] at the rest point of the total-error flow with only the named pathways open.

    An open stimulus pathway leads to the right choice only (its weight to the other one is driven to the bound at
    zero); the rest solves E[(R − Q) 1{a} x_k] = 0. Up to {const} partial and total errors have the same rest points.
    Beyond, partial errors have no finite one (two pathways each ask for the whole reward, so W2 grows and w1
    shrinks without end), and that of the total error is where behaviour lingers.

    Args:
        opened: of the pathways `left`, `right` and `const`, those that are open.
        blank: share of trials with nothing to see.
        inverse_temperature: β.
        seen: inputs of all stimuli, from `festina.worlds.gratings.inputs`; gratings of one contrast unless given.

    Returns:
        The products, choices (left, right) before pathways (left, right, const).

    Example:
        >>> import festina as fs
        >>> fs.theory.saddles.saddle(["const"])  # chance: half a reward is expected of either choice
        array([[0. , 0. , 0.5],
               [0. , 0. , 0.5]])
    """
    from scipy.optimize import root

    names = set(opened)
    require(names <= set(PATHWAYS), "opened", f"be among {PATHWAYS}", sorted(names))
    active = np.array([["left" in names, False, "const" in names], [False, "right" in names, "const" in names]])
    field = mean_field(crosstalk=1.0, blank=blank, inverse_temperature=inverse_temperature, seen=seen)

    def residual(unknown: np.ndarray) -> np.ndarray:
        products = np.zeros((2, 3))
        products[active] = unknown
        return np.asarray(_drifts(field, products))[active]

    products = np.zeros((2, 3))
    if names:
        found = root(residual, np.full(int(active.sum()), 0.5), tol=1e-13)
        require(bool(np.max(np.abs(residual(found.x))) < 1e-10), "opened", "have a rest point", sorted(names))
        products[active] = found.x
    return products


@precise
def _drifts(field: MeanField, products: Float[Any, "2 3"]) -> Float[Any, "2 3"]:
    """E[δ 1{a} x_k], the drift of each executor weight per tutor weight."""
    return xp.sum(field.errors(products)[1] * field.seen[:, None, :], axis=0)


@precise
def growth(field: MeanField, products: Float[Any, "2 3"]) -> tuple[Float[Any, "3"], Float[Any, "3 3"]]:
    """How fast each pathway, were it closed, would grow at a rest point, and how to see it growing.

    Near zero the weights of pathway k obey dw1 = Σ_a g[a] W2[a] and dW2[a] = h[a] w1, with the errors g of the tutor
    and h of the executor at the rest point, so that λ = √(Σ_a g[a] h[a]); weights with h < 0 are held at zero and
    do not count. The amplitude λ w1 + Σ_a g[a] W2[a] grows exactly as e^{λt}.

    Args:
        field: the expected update, of one network.
        products: W2[a, k] w1[k] at the rest point, from `saddle`.

    Returns:
        The rate λ for each pathway, and for each the coefficients of (w1, W2[left], W2[right]) in its amplitude.

    Example:
        >>> import festina as fs
        >>> rates, _ = fs.theory.saddles.growth(fs.theory.saddles.mean_field(), fs.theory.saddles.saddle([]))
        >>> rates.round(3)  # from nothing the constant pathway grows fastest, at 1/√8
        array([0.225, 0.225, 0.354])
    """
    tutor = (field.errors(products)[0].T @ field.seen).T
    executor = _drifts(field, products).T
    held = (executor < -1e-12) & (products.T <= 0.0)
    squared = xp.sum(xp.where(held, 0.0, tutor * executor), axis=1)
    rates = xp.sqrt(xp.maximum(squared * field.tutor_speed, 0.0))
    return rates, xp.concatenate([rates[:, None], xp.where(held, 0.0, tutor)], axis=1)


def directions_out(field: MeanField, products: Float[np.ndarray, "2 3"]) -> int:
    """How many directions lead away from a rest point: eigenvalues above zero of the linearised expected update.

    Weights that are driven against the bound at zero do not count; those of open pathways are taken as balanced. For
    the rest point with some pathways open, that is the index that `festina.theory.stationary` has for weights of
    either sign, and choices made by chance.

    Args:
        field: the expected update, of one network; of one layer if its tutor speed is zero.
        products: W2[a, k] w1[k] at the rest point, from `saddle`.

    Example:
        >>> import festina as fs
        >>> saddles = fs.theory.saddles
        >>> field = saddles.mean_field(crosstalk=1.0)
        >>> [saddles.directions_out(field, saddles.saddle(it)) for it in ([], ["const"], ["left", "const"])]
        [3, 2, 1]
    """
    tutor, executor = weights(products) if float(field.tutor_speed) > 0 else (np.ones(3), products)
    held = (np.asarray(_drifts(field, products)) < -1e-12) & (products <= 0.0)
    free = np.concatenate([np.ones(3, bool), ~held.ravel()])
    motion = np.asarray(_linearised(field, np.concatenate([tutor, executor.ravel()])))
    return int(np.sum(np.linalg.eigvals(motion[np.ix_(free, free)]).real > 1e-9))


@precise
@brief_jit
def _linearised(field: MeanField, both: Float[Any, "9"]) -> Float[Any, "9 9"]:
    def motion(both: Any) -> Any:
        on_tutor, on_executor = field(both[:3], both[3:].reshape(2, 3))
        return jnp.concatenate([on_tutor, on_executor.ravel()])

    return jax.jacfwd(motion)(both)


def amplitudes(
    coefficients: Float[np.ndarray, "3 3"],
    tutor: Float[np.ndarray, "*batch 3"],
    executor: Float[np.ndarray, "*batch 2 3"],
) -> Float[np.ndarray, "*batch 3"]:
    """The amplitude of each pathway, as :func:`growth` defines it, from its weights.

    Args:
        coefficients: of each pathway, from `growth`.
        tutor: w1, pathways last.
        executor: W2, choices before pathways.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> field = fs.theory.saddles.mean_field()
        >>> _, coefficients = fs.theory.saddles.growth(field, fs.theory.saddles.saddle([]))
        >>> fs.theory.saddles.amplitudes(coefficients, np.full(3, 0.1), np.full((2, 3), 0.1)).round(3)
        array([0.045, 0.045, 0.085])
    """
    weights = np.concatenate([tutor[..., None, :], executor], axis=-2)
    return np.asarray(np.sum(weights * coefficients.T, axis=-2))
