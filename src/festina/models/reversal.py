"""A two-layer linear network that is asked for the opposite of what it has learned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import festina as fs
from festina._lazy import jax, jnp, np
from festina.config import continuous, structural
from festina.model import Equation, Model, Preset, Variable
from festina.ranges import Duration, Strength
from festina.sources import BRAUN_2022, DOMINE_2025

if TYPE_CHECKING:
    from festina.models._types import Array, Curves, Float, Key, Observed, Process, Solution, State

Layers = tuple["Float[Array, 'hidden inputs']", "Float[Array, 'outputs hidden']"]


class Begin(NamedTuple):
    """Output modes U and input modes V, as columns, and W₁ and W₂ at the reversal."""

    left: Float[Array, "outputs modes"]
    right: Float[Array, "inputs modes"]
    layers: Layers


class Reversal(Model):
    """A network that has learned S = U s Vᵀ is asked for −S from white inputs.

    It starts at W₂W₁ = S with W₂ᵀW₂ − W₁W₁ᵀ = λI. Each mode is on its own, a = w₂w₁ with w₂² − w₁² = λ and
    τ ȧ = −√(λ² + 4a²)(s + a), from a = s. With λ = 0 the exact flow ends at the saddle W = 0. There the part
    g = (W₁v − W₂ᵀu)/2 of the weights grows as e^(st), and the rest, d = (W₁v + W₂ᵀu)/2, dies as e^(−st). Exactly g = 0;
    in a simulation it is as large as rounding errors make it, and these depend on how one and the same network is
    written: along which axes, with its hidden units in which order, with which form of the gradient, from weights that
    were kept in which precision. Theory is the exact solution, which depends on none of this, nor on a nudge.

    Example:
        >>> import festina as fs
        >>> model = fs.models.Reversal(modes=2, strongest=2.0, weakest=1.0, imbalance=0.01)
        >>> model.theory()(45.0)["strength"].round(3)  # from (2, 1) to what is asked for now
        array([-2., -1.])
    """

    name = "reversal"
    sources = (BRAUN_2022, DOMINE_2025)
    solved_from_start = False
    variables = {
        "strength": Variable("strength uᵀW₂W₁v of a mode", ("mode",)),
        "loss": Variable("loss ½|S + W₂W₁|²"),
        "growing": Variable("part of the weights that grows at the saddle |W₁v − W₂ᵀu|/2", ("mode",)),
        "dying": Variable("part of the weights that dies at the saddle |W₁v + W₂ᵀu|/2", ("mode",)),
    }
    quick = {"records": 450}

    modes: int = structural(3, ge=1, le=64, help="modes of the task: inputs, hidden units and outputs")
    strongest: Strength = continuous(2.0, help="largest singular value s of the task")
    weakest: Strength = continuous(1.0, help="smallest singular value s; the others lie evenly between")
    imbalance: float = continuous(1e-2, ge=0, le=100, scale="log", help="imbalance λ of the layers, W₂ᵀW₂ − W₁W₁ᵀ = λI")
    nudge: float = continuous(0.0, ge=-0.1, le=0.1, help="by which share the first weight of W₁ is too large")
    basis: Literal["random", "axes"] = structural("random", help="where the modes lie: rotated, or along the axes")
    hidden: Literal["drawn", "reversed"] = structural("drawn", help="order of the hidden units")
    kept: Literal["float64", "float32"] = structural("float64", help="precision in which the start was once kept")
    gradient: Literal["factored", "expanded"] = structural(
        "factored", help="how the gradient is computed: W₂ᵀ(S − W₂W₁), or W₂ᵀS − (W₂ᵀW₂)W₁"
    )
    until: Duration = continuous(45.0, unit="τ", help="when to stop")
    records: int = structural(900, ge=100, le=100_000, help="recordings after the first, evenly spaced in time")

    equations = (
        Equation(
            r"\tau \dot a = -\sqrt{\lambda^2 + 4a^2}\; (s + a), \qquad a(0) = s",
            "A mode that has learned s is asked for −s; at λ = 0 its speed vanishes at a = 0, and it never gets "
            "beyond.",
        ),
        Equation(
            r"t_{\text{zero}} \approx \frac{\tau}{2s} \ln \frac1\lambda, "
            r"\qquad t_{\text{half}} \approx \frac{\tau}{s} \ln \frac1\lambda",
            "With unequal layers zero is crossed after the first of these times, and half of the new task known after "
            "the second.",
        ),
    )
    presets = (
        Preset("a little imbalance", "Each mode falls to zero at once, waits, and then learns the opposite."),
        Preset(
            "balanced", "With λ = 0 theory stays at the saddle; rounding errors carry the simulation on.",
            {"imbalance": 0.0},
        ),
        Preset(
            "balanced, along the axes", "Written so that rounding errors treat both layers alike, it stays there.",
            {"imbalance": 0.0, "basis": "axes"},
        ),
    )  # fmt: skip

    def coordinates(self) -> dict[str, list[int]]:
        return {"mode": list(range(1, self.modes + 1))}

    def strengths(self) -> Float[Array, " modes"]:
        """The singular values of the task, the largest first."""
        return jnp.linspace(self.strongest, self.weakest, self.modes)

    def start(self, key: Key) -> Begin:
        """W₁ = R w₁ Vᵀ and W₂ = U w₂ Rᵀ with w₂w₁ = s and w₂² − w₁² = λ, as it is written here."""
        draw = jax.random.normal(key, (3 * self.modes**2,)).reshape((3, self.modes, self.modes))
        drawn = jnp.linalg.qr(draw)[0] if self.basis == "random" else jnp.broadcast_to(jnp.eye(self.modes), draw.shape)
        left, right, turn = drawn
        strengths, size = self.strengths(), jnp.hypot(2 * self.strengths(), self.imbalance)
        outward = jnp.sqrt((size + self.imbalance) / 2)
        # At λ = 0 both layers are alike to the last bit; elsewhere there is no difference of near numbers.
        inward = jnp.where(self.imbalance == 0, jnp.sqrt((size - self.imbalance) / 2), strengths / outward)
        first, second = turn * inward[None, :] @ right.T, left * outward[None, :] @ turn.T
        first = first.at[0, 0].multiply(1.0 + self.nudge)
        if self.hidden == "reversed":
            first, second = first[::-1], second[:, ::-1]
        if self.kept == "float32":
            first, second = (jax.lax.reduce_precision(it, exponent_bits=8, mantissa_bits=23) for it in (first, second))
        return Begin(left, right, (first, second))

    def process(self, start: Begin) -> Process:
        left, right, layers = start
        target = -(left * self.strengths()[None, :]) @ right.T

        def rate(layers: Layers, stage: Array) -> Layers:
            first, second = layers
            if self.gradient == "expanded":
                own = second.T @ target - (second.T @ second) @ first
                return own, target @ first.T - second @ (first @ first.T)
            error = target - second @ first
            return second.T @ error, error @ first.T

        def observe(state: State) -> Observed:
            first, second = state.parameters
            inward, outward = first @ right, second.T @ left
            return {
                "strength": jnp.sum(left * (second @ inward), axis=0),
                "loss": 0.5 * jnp.sum((target - second @ first) ** 2),
                "growing": 0.5 * jnp.linalg.norm(inward - outward, axis=0),
                "dying": 0.5 * jnp.linalg.norm(inward + outward, axis=0),
            }

        times = self.until * jnp.linspace(0.0, 1.0, self.records + 1)
        return fs.learning.flow_process(rate, layers, times, observe)

    def solution(self, start: Begin) -> Solution:
        strengths = np.linspace(self.strongest, self.weakest, self.modes)
        chains = fs.theory.imbalanced(-strengths, strengths, self.imbalance)

        def curves(time: Float[Array, "*times"]) -> Curves:
            strength = np.asarray(chains(time)["product"])
            return {"strength": strength, "loss": 0.5 * np.sum((strength + strengths) ** 2, axis=-1)}

        return curves
