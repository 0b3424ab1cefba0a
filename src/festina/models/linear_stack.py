"""A linear network of any depth that learns one task, from four kinds of initial weights."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from math import log
from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import ValidationInfo, field_validator

import festina as fs
from festina._lazy import jax, jnp, np, xr
from festina.config import continuous, structural
from festina.model import Equation, Model, Preset, Variable
from festina.ranges import LogDuration
from festina.sources import BRAUN_2022, LECTURE, SAXE_2013

if TYPE_CHECKING:
    from festina.models._types import Array, Curves, Float, Key, Observed, Process, Solution, Stack, State

FIRST = 1e-3  # time of the first recording after the start
TRAINED = 0.01  # of the loss at zero weights: a network below it is trained
LONGEST = 1e3  # in τ: a layer that is not pretrained by then never is

Trained = tuple["Stack", "Float[Array, ' layers']"]
Encoder = tuple["Float[Array, 'hidden seen']", "Float[Array, '']"]


class Begin(NamedTuple):
    """U, s and V of the target S = U diag(s) Vᵀ, and the network before any pretraining."""

    left: Float[Array, "outputs outputs"]
    strengths: Float[Array, " outputs"]
    right: Float[Array, "inputs inputs"]
    network: Stack

    @property
    def target(self) -> Float[Array, "outputs inputs"]:
        return (self.left * self.strengths[None]) @ self.right[:, : len(self.left)].T


class LinearStack(Model):
    """A linear network W_D ⋯ W_1 of depth D that learns S = U diag(s) Vᵀ from white inputs.

    τ dW_l/dt = (1/D) (W_D⋯W_{l+1})ᵀ (S − W_D⋯W_1) (W_{l−1}⋯W_1)ᵀ. The rate is ∝ 1/D, so that depth as such buys no
    speed. A network is trained when |S − W_D⋯W_1|² has fallen to 1 % of |S|². Networks of all depths share the target
    and layers: one of depth D uses the first D − 1 of them, and the same last one. Initial weights are

    aligned: b times orthogonal layers that hand each mode of S on; the product is b^D UVᵀ. Each mode is a chain,
        τȧ = a^(2−2/D) (s − a), and takes b^(2−D)/(s(1−2/D)) if b^D is small: the lecture's O(1/(s b^D)) with its
        prefactor. With a gain b near 1 training time falls a little with depth towards a limit, as the speed s^(2−2/D)
        at the end rises.
    gaussian: normal, with singular values of mean square b² in every layer. Modes are learned one after the other, the
        last of them later than the law has it; that time grows by 1/b per layer only from some depth on.
    orthogonal: b times random orthogonal layers. Those between the ends stay balanced, which reduces the flow to that
        of three matrices for any depth; with D → ∞ it has a limit, and so has the training time. If all layers are
        square and S = sO with O orthogonal, each eigenvalue z of OᵀW_D⋯W_1 goes straight to s in the complex plane,
        τż = |z|^(2−2/D) (s − z). If the determinants of S and of the product differ in sign, one z is real and negative
        and ends in the saddle at zero: a balanced product cannot change the sign of its determinant. One output less
        than there are units, and no sign is left to be wrong. (At D = 2 rounding errors let a simulation escape that
        saddle after about 75 τ/s.)
    pretrained: from Gaussian weights every layer but the last, one after the other, learns to reproduce its inputs h as
        the encoder of an autoencoder with decoder Wᵀ, until ⟨|h − WᵀWh|²⟩ is a given share of ⟨|h|²⟩; then all layers
        learn S. Durations of both parts are measured, and the training time is their sum. Each layer shrinks what it
        hands on, the more the earlier it stops; a deep stack that stops early slows itself down.

    Time counts from the beginning of learning S. The training time of a network that is not trained when last seen,
    or of which a layer was not pretrained after 1000 τ, is NaN. Theory has the loss from aligned and from orthogonal
    weights, and the pretraining of the first layer.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> model = fs.models.LinearStack(depth=3, width=4, inputs=4, outputs=2, initial="aligned")
        >>> model.theory()(np.array([0.0, 100.0]))["loss"].round(3)
        array([0.385, 0.   ])
    """

    name = "linear-stack"
    sources = (SAXE_2013, LECTURE, BRAUN_2022)
    variables = {
        "loss": Variable("loss, relative to that of zero weights"),
        "determinant": Variable("det W_D⋯W_1 S⁺, with the pseudoinverse of S"),
        "pretraining": Variable("duration of the pretraining of a layer", ("layer",), "τ", final=True),
        "training_time": Variable("training time", unit="τ", final=True),
    }
    quick = {"depth": 4, "until": 40.0, "records": 100}

    depth: int = structural(8, ge=2, le=64, help="layers D")
    width: int = structural(32, ge=1, le=256, help="units N of every hidden layer")
    inputs: int = structural(24, ge=1, le=256, help="inputs, no more than units")
    outputs: int = structural(4, ge=1, le=64, help="outputs, no more than inputs")
    initial: Literal["aligned", "gaussian", "orthogonal", "pretrained"] = structural(
        "orthogonal", help="initial weights: orthogonal along the modes of the target, or at random; normal; pretrained"
    )
    gain: float = continuous(1.0, ge=0.1, le=2, help="gain b of a layer: root mean square of its singular values")
    strength: float = continuous(2.0, ge=0.01, le=10, help="smallest singular value s of the target")
    spread: float = continuous(1.5, ge=1, le=3, help="largest over smallest singular value; the others lie between")
    level: float = continuous(
        1e-3, ge=1e-8, le=0.1, scale="log", help="reconstruction error, as a share of the variance, that ends a stage"
    )
    until: LogDuration = continuous(150.0, unit="τ", help="when to stop")
    records: int = structural(160, ge=20, le=10_000, help="recordings, evenly spaced in log time")

    equations = (
        Equation(
            r"t_D \simeq \frac{\tau\, b^{2 - D}}{s\, (1 - 2/D)} \qquad (D > 2)",
            "From small weights of gain b the training time is exponential in the depth D, though the rate is scaled "
            "by 1/D.",
        ),
        Equation(
            r"\tau \dot W = \tfrac{1}{2} W (R + R^\top), \qquad R = (1 - W^\top W) \langle h h^\top \rangle",
            "Pretraining: each layer W in turn learns to reproduce its inputs h, until the error is small enough.",
        ),
        Equation(
            r"\tau \dot z = |z|^{2 - 2/D}\, (s - z)",
            "In a square network each eigenvalue z of an orthogonal start goes straight to s in the complex plane; a "
            "negative one stops at zero.",
        ),
    )
    presets = (
        Preset("orthogonal", "Random orthogonal layers are trained in a time that hardly depends on depth."),
        Preset("small", "Each further layer of a small gain multiplies the training time.",
               {"initial": "aligned", "gain": 0.75}),
        Preset("pretrained", "Layers learn to reproduce their inputs, one after the other, before they learn the task.",
               {"initial": "pretrained", "gain": 0.75}),
        Preset("square", "Half of all square networks never get trained: their determinant has the wrong sign.",
               {"width": 4, "inputs": 4, "spread": 1.0}),
    )  # fmt: skip

    @field_validator("inputs", "outputs")
    @classmethod
    def _narrower(cls, count: int, info: ValidationInfo) -> int:
        wider = "width" if info.field_name == "inputs" else "inputs"
        if count > info.data.get(wider, count):
            raise ValueError(f"not be above `{wider}`, {info.data[wider]}")
        return count

    def coordinates(self) -> dict[str, list[int]]:
        return {"layer": list(range(1, self.depth))}

    def start(self, key: Key) -> Begin:
        from festina.worlds.orthogonal import orthogonal_factor

        width, inputs, outputs = self.width, self.inputs, self.outputs
        for_target, for_ends, for_middle = fs.draws.split(key, 3)
        pair = fs.draws.normal(for_target, (2, inputs, inputs))
        left, right = map(orthogonal_factor, (pair[0, :outputs, :outputs], pair[1]))
        strengths = self.strength * (1.0 + (self.spread - 1.0) * jnp.linspace(0.0, 1.0, outputs))
        first, last = fs.draws.normal(for_ends, (2, width, width))
        middle = fs.draws.normal(for_middle, (self.depth - 2, width, width))  # a deeper network begins with the same
        normal = fs.networks.Stack(first[:, :inputs], middle, last[:outputs])
        if self.initial == "aligned":
            network = fs.networks.Stack.aligned(left, right, width, self.depth, self.gain)
        else:
            network = (normal.orthogonal if self.initial == "orthogonal" else normal.gaussian)(self.gain)
        return Begin(left, strengths, right, network)

    def process(self, start: Begin) -> Process:
        target, network, durations = start.target, start.network, jnp.zeros(self.depth - 1)
        inverse = (start.right[:, : self.outputs] / start.strengths[None]) @ start.left.T
        if self.initial == "pretrained":
            network, durations = jax.jit(pretrain)(network, self.level)  # traced once for all programs of a run

        def rate(parameters: Trained, stage: Array) -> Trained:
            return parameters[0].rate(target), jnp.zeros_like(parameters[1])

        def observe(state: State) -> Observed:
            product = state.parameters[0].map
            loss = jnp.sum((product - target) ** 2) / jnp.sum(target**2)
            return {"loss": loss, "determinant": jnp.linalg.det(product @ inverse)}

        later = jnp.exp(jnp.linspace(log(FIRST), jnp.log(self.until), self.records))
        times, tolerance = jnp.concatenate([jnp.zeros(1), later]), fs.learning.Tolerance(relative=1e-9, absolute=1e-11)
        # Durations go with the weights, so that layers are pretrained once.
        flow = fs.learning.flow_process(
            rate, (network, durations), times, observe, None, tolerance, fs.learning.TSITOURAS
        )
        return replace(flow, conclude=lambda state: {"pretraining": state.parameters[1]})

    def solution(self, start: Begin) -> Solution | None:
        strengths = start.strengths
        if self.initial == "aligned":
            return self._lines(strengths, np.full(self.outputs, self.gain**self.depth))
        if self.initial == "orthogonal" and self.is_square:
            network = start.network
            product = reduce(lambda product, weights: weights @ product, [*network.middle, network.last], network.first)
            return self._lines(strengths, np.linalg.eigvals(start.target.T @ product / self.strength))
        if self.initial == "orthogonal":
            layers = start.network.first, start.network.middle, start.network.last
            return lambda time: {"loss": fs.theory.stack.orthogonal_loss(*layers, start.target, np.asarray(time))}
        if self.initial == "pretrained":
            durations = np.full(self.depth - 1, np.nan)
            durations[0] = fs.theory.stack.encoder_duration(start.network.first, self.level)
            return lambda time: {"pretraining": np.broadcast_to(durations, (*np.shape(time), self.depth - 1))}
        return None

    @property
    def is_square(self) -> bool:
        """Whether all layers are square, and the target a multiple of an orthogonal matrix."""
        return self.width == self.inputs == self.outputs and self.spread == 1.0

    def _lines(self, strengths: Float[np.ndarray, " modes"], starts: np.ndarray) -> Solution:
        """Loss and determinant if modes, or eigenvalues, go straight to their strengths."""

        def curves(time: Float[np.ndarray, " times"]) -> Curves:
            lines = fs.theory.stack.straight_lines(self.depth, strengths, starts, np.asarray(time))
            loss = np.sum(np.abs(strengths - lines) ** 2, axis=-1) / np.sum(strengths**2)
            return {"loss": loss, "determinant": np.prod(lines / strengths, axis=-1).real}

        return curves

    @classmethod
    def measure(cls, data: xr.Dataset) -> dict[str, xr.DataArray]:
        """Training times, with the pretraining of all layers but the last."""
        stages = data["pretraining"]
        done = ~(stages > 0.999 * LONGEST).any("layer")
        times = (time_to_loss(data["loss"]) + stages.sum("layer")).where(done)
        return {"training_time": times.assign_attrs(long_name=cls.variables["training_time"].label, units="τ")}


def time_to_loss(loss: xr.DataArray) -> xr.DataArray:
    """When networks are trained, from the beginning of learning; NaN if they are not."""
    return fs.measures.crossings(-xr.ufuncs.log(1e-300 + loss), -log(TRAINED))


def reconstruction(encoder: Float[Array, "hidden seen"], activity: Float[Array, "seen inputs"]) -> Float[Array, ""]:
    """⟨|h − WᵀWh|²⟩/⟨|h|²⟩, where h is what ``activity`` makes of white inputs."""
    return jnp.sum((activity - encoder.T @ (encoder @ activity)) ** 2) / jnp.sum(activity**2)


def pretrain_layer(
    encoder: Float[Array, "hidden seen"], activity: Float[Array, "seen inputs"], level: Float[Array, ""]
) -> Encoder:
    """An encoder trained until its reconstruction error has fallen to ``level``, and how long that took.

    The autoencoder WᵀW has two layers, and so half the rate: with R = (1 − WᵀW)⟨hhᵀ⟩, τ dW/dt = ½ W (R + Rᵀ). A factor
    stops this flow, and its clock, as soon as the error is at the level; the integrator's control of errors finds
    that moment. The clock stands at `LONGEST` if it never comes.
    """

    def slope(encoder: Float[Array, "hidden seen"]) -> Float[Array, "hidden seen"]:
        missing = (activity - encoder.T @ (encoder @ activity)) @ activity.T
        return 0.5 * encoder @ (missing + missing.T)

    def rate(state: Encoder, stage: Array) -> Encoder:
        goes_on = jnp.where(reconstruction(state[0], activity) > level, 1.0, 0.0)
        return goes_on * slope(state[0]), goes_on

    start, times = (encoder, jnp.zeros(())), jnp.asarray([0.0, LONGEST])
    flow = fs.learning.flow_process(rate, start, times, lambda state: {}, solver=fs.learning.TSITOURAS)
    encoder, duration = flow.advance(flow.initial, jnp.asarray(1)).parameters
    # One step of Newton's method: the moment depends on level and weights, and so has a derivative.
    error, falling = jax.jvp(lambda weights: reconstruction(weights, activity), (encoder,), (slope(encoder),))
    stopped = (duration > 0.0) & (duration < 0.999 * LONGEST)
    further = jnp.where(stopped, (level - error) / jnp.where(stopped, falling, -1.0), 0.0)
    return encoder + further * slope(encoder), duration + further


def pretrain(network: Stack, level: Float[Array, ""]) -> Trained:
    """A network whose layers but the last were pretrained one after the other, and how long each of them took.

    Each is the encoder of an autoencoder of what the layers before it, which are done, make of white inputs.
    """
    width, inputs = network.first.shape
    first = jnp.zeros((width, width)).at[:, :inputs].set(network.first)  # there is no other input, and never will be

    def stage(activity: Float[Array, "hidden inputs"], encoder: Float[Array, "hidden hidden"]) -> tuple[Array, Encoder]:
        encoder, duration = pretrain_layer(encoder, activity, level)
        return encoder @ activity, (encoder, duration)

    encoders = jnp.concatenate([first[None], network.middle])
    _, (encoders, durations) = jax.lax.scan(stage, jnp.eye(width, inputs), encoders)
    return fs.networks.Stack(encoders[0, :, :inputs], encoders[1:], network.last), durations
