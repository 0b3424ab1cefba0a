"""A two-layer linear network with one output, from random or mirrored weights, and its small-weight solution."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import festina as fs
from festina._lazy import jax, jnp, np, xr
from festina.config import continuous, structural
from festina.model import Equation, Model, Preset, Variable
from festina.ranges import Duration, Start, Strength
from festina.sources import ATANASOV_2021

if TYPE_CHECKING:
    from festina.models._types import Array, Curves, Float, Key, Observed, Process, Solution, State

FALLEN = 0.1  # share of the initial loss by which it has visibly fallen


class Layers(NamedTuple):
    """W and a of y = aᵀWx."""

    first: Float[Array, "hidden inputs"]
    second: Float[Array, " hidden"]


class SingleOutput(Model):
    """A linear network y = aᵀWx with one output that learns s·ŝᵀx from white inputs.

    All weights start as σ/√Nh times normal numbers, so that the tangent kernel K = WᵀW + |a|²I begins as ≈ 2σ²I; its
    alignment with the target is A = ŝᵀKŝ/|K|. Each hidden unit of the first half has a mirrored partner in the second
    one, with which its weights are correlated, but for the sign of a. At a correlation of 1, mirrored weights, the
    output begins at zero, and from large weights K changes to second order only, in proportion to (1 − √(L/L₀))².

    With w = Wŝ and c = aᵀw the flow along the target is τẇ = (s − c)a, τȧ = (s − c)w. Theory (right for small σ): with
    r = e^θ, τ dθ/dt = s − c, and g = (w + a)/2, d = (w − a)/2 at the start, the weights along the target are
    w = gr + d/r and a = gr − d/r, so that c = |g|²r² − |d|²/r² is the product of a two-weight chain with imbalance
    4|g||d|, in closed form. The other columns W⊥ lose what would leak into the output: W⊥(t) = (I − (1 − q)ĝĝᵀ)W⊥(0)
    with q² = (s − c)/(s − c(0)). From mirrored weights with WᵀW ∝ I nothing leaks, and this is exact for every σ.

    Example:
        >>> import festina as fs
        >>> model = fs.models.SingleOutput(inputs=2, hidden=4, scale=0.003)
        >>> round(float(model.theory()(15.0)["alignment"]), 2)
        0.89
    """

    name = "single-output"
    sources = (ATANASOV_2021,)
    variables = {
        "loss": Variable("loss ½|sŝ − Wᵀa|²"),
        "alignment": Variable("alignment of the kernel with the target"),
        "remaining": Variable("share of the loss that is left"),
        "aligned": Variable("share of the alignment that is done"),
        "silent": Variable("share of the alignment done when the loss has fallen by 10 %", final=True),
        "alignment_time": Variable("when half of the alignment is done", unit="τ", final=True),
        "learning_time": Variable("when half of the loss is gone", unit="τ", final=True),
    }
    quick = {"records": 300}

    inputs: int = structural(10, ge=2, le=1000, help="inputs Ni")
    hidden: int = structural(50, ge=2, le=10_000, multiple_of=2, help="hidden units Nh, even")
    scale: Start = continuous(3e-3, scale="log", help="initial scale σ of the weights")
    mirroring: float = continuous(
        0.0, ge=0, le=1, help="correlation of weights between mirrored hidden units, whose readouts are opposite"
    )
    strength: Strength = continuous(1.0, help="size s of the target")
    until: Duration = continuous(15.0, unit="τ", help="when to stop")
    records: int = structural(600, ge=90, le=100_000, help="recordings, a third of them in early logarithmic time")

    equations = (
        Equation(
            r"\tau \dot w = (s - c)\, a, \qquad \tau \dot a = (s - c)\, w, \qquad c = a^\top w",
            "Along the target the readout a and the first layer's w = Wŝ drive each other, until c has reached s.",
        ),
        Equation(
            r"K = W^\top W + |a|^2 I, \qquad A = \frac{\hat s^\top K \hat s}{|K|} \to \frac{2}{\sqrt{N_i + 3}}",
            "The tangent kernel K comes to favour the target's direction ŝ; from every small start A ends at this "
            "value.",
        ),
        Equation(
            r"t_1 \approx \frac{\tau}{s}, \qquad t_2 = \frac{\tau}{2s} \ln \frac{s}{\sigma^2}",
            "The kernel aligns by t₁, whatever the initial scale σ; the loss falls at t₂, the later the smaller σ is.",
        ),
    )
    presets = (
        Preset("silent", "From small weights the kernel aligns before the loss falls."),
        Preset(
            "lazy", "From large mirrored weights the kernel turns with the loss, and little.",
            {"scale": 3.0, "mirroring": 1.0},
        ),
    )  # fmt: skip

    def start(self, key: Key) -> Layers:
        """Normal weights; the target lies along the first input."""
        half, shape = self.hidden // 2, (self.hidden, self.inputs + 1)
        # One flat draw compiles faster.
        draw = jax.random.normal(key, (shape[0] * shape[1],)).reshape(shape) / self.hidden**0.5
        signs = jnp.where(jnp.arange(self.inputs + 1) < self.inputs, 1.0, -1.0)
        own = jnp.sqrt(1.0 - self.mirroring**2) * draw[half:]
        twins = self.mirroring * signs[None] * draw[:half] + own
        weights = self.scale * jnp.concatenate([draw[:half], twins])
        return Layers(weights[:, :-1], weights[:, -1])

    def process(self, start: Layers) -> Process:
        target = jnp.zeros(self.inputs).at[0].set(self.strength)

        def rate(layers: Layers, stage: Array) -> Layers:
            error = target - layers.second @ layers.first
            return Layers(layers.second[:, None] * error[None, :], layers.first @ error)

        def observe(state: State) -> Observed:
            first, second = state.parameters
            aligned = alignment(first.T @ first, jnp.sum(second**2))
            return {"loss": 0.5 * jnp.sum((target - second @ first) ** 2), "alignment": aligned}

        early = self.records // 3
        late = jnp.linspace(1e-2, 1.0, self.records - early + 1)[1:]
        times = jnp.concatenate([jnp.zeros(1), jnp.geomspace(1e-6, 1e-2, early), late])
        return fs.learning.flow_process(rate, start, self.until * times, observe)

    def solution(self, start: Layers) -> Solution:
        return lambda time: small_weights(self.strength, start, np.asarray(time))

    @classmethod
    def measure(cls, data: xr.Dataset) -> dict[str, xr.DataArray]:
        """What is left of the loss, and done of the alignment, and when; the last recording stands for t = ∞."""
        loss, aligned = data["loss"], data["alignment"]
        gone, done = ((x - x.isel(time=0)) / (x.isel(time=-1) - x.isel(time=0)) for x in (loss, aligned))
        silent = xr.apply_ufunc(fs.measures.silent_share, loss, aligned, FALLEN, input_core_dims=[["time"]] * 2 + [[]])
        found = {
            "remaining": loss / loss.isel(time=0),
            "aligned": done,
            "silent": silent,
            "alignment_time": fs.measures.crossings(done, 0.5),
            "learning_time": fs.measures.crossings(gone, 0.5),
        }
        kinds = cls.variables
        return {n: x.assign_attrs(long_name=kinds[n].label, units=kinds[n].unit) for n, x in found.items()}


def alignment(gram: Array | np.ndarray, size: Array | np.ndarray) -> Float[Array, " *times"]:
    """ŝᵀKŝ/|K| of K = WᵀW + |a|²I, with ŝ the first input."""
    target = np.eye(1, gram.shape[-1])
    return fs.measures.target_alignment(gram, size[..., None, None], target)


def small_weights(strength: float, start: Layers, time: Float[np.ndarray, " *times"]) -> Curves:
    """Loss and alignment of the small-weight solution; see the docstring of the model."""
    along, rest = start.first[:, 0], start.first[:, 1:]
    growing, decaying = (along + start.second) / 2, (along - start.second) / 2
    grown, decayed = np.sum(growing**2), np.sum(decaying**2)
    product = np.asarray(fs.theory.imbalanced(strength, grown - decayed, 4 * np.sqrt(grown * decayed))(time)["product"])
    ratio = np.sqrt((product + np.hypot(product, 2 * np.sqrt(grown * decayed))) / (2 * grown))[..., None]
    inward, outward = growing * ratio + decaying / ratio, growing * ratio - decaying / ratio
    lost = 1.0 - np.sqrt(np.maximum((strength - product) / (strength - (grown - decayed)), 0.0))  # 0 up to rounding
    direction = growing / np.sqrt(grown)
    leak = direction @ rest

    def seen(part: Float[np.ndarray, "*times hidden"]) -> Float[np.ndarray, "*times others"]:  # W⊥ᵀ times a vector
        return part @ rest - (lost * (part @ direction))[..., None] * leak

    gram = np.empty((*product.shape, rest.shape[1] + 1, rest.shape[1] + 1))
    gram[..., 0, 0] = np.sum(inward**2, axis=-1)
    gram[..., 0, 1:] = gram[..., 1:, 0] = seen(inward)
    gram[..., 1:, 1:] = rest.T @ rest - np.outer(leak, leak) * (1.0 - (1.0 - lost) ** 2)[..., None, None]
    loss = 0.5 * (strength - product) ** 2 + 0.5 * np.sum(seen(outward) ** 2, axis=-1)
    return {"loss": loss, "alignment": alignment(gram, np.sum(outward**2, axis=-1))}
