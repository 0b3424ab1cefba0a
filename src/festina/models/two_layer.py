"""A two-layer linear network that learns one task from λ-balanced weights, with its exact solution."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import hypot, log
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import Field

import festina as fs
from festina._lazy import jax, jnp, np
from festina.config import continuous, structural
from festina.model import Equation, Model, Preset, Variable
from festina.ranges import Imbalance, LogDuration, Start, Strength
from festina.sources import BRAUN_2022, DOMINE_2025, LECTURE

if TYPE_CHECKING:
    from festina.models._types import Array, Curves, DeepLinear, Float, Int, Key, Observed, Process, Solution, State

Width = Annotated[int, Field(ge=1, le=64)]


class Begin(NamedTuple):
    """The task S = U s Vᵀ and the network at t = 0."""

    left: Float[Array, "outputs modes"]
    strength: Float[Array, " modes"]
    right: Float[Array, "modes inputs"]
    network: DeepLinear

    @property
    def task(self) -> Float[Array, "outputs inputs"]:
        return (self.left * self.strength[None, :]) @ self.right

    def learned(self, product: Float[Array, "*times outputs inputs"]) -> Float[Array, "*times modes"]:
        """The share u_kᵀ W₂W₁ v_k / s_k of each mode."""
        return ((self.left.T @ product) * self.right).sum(axis=-1) / self.strength


class TwoLayer(Model):
    """A two-layer linear network that learns S = U s Vᵀ from white inputs and λ-balanced weights.

    τẆ₁ = W₂ᵀ(S − W₂W₁), τẆ₂ = (S − W₂W₁)W₁ᵀ, from weights with W₂ᵀW₂ − W₁W₁ᵀ = λI, which the flow conserves. The hidden
    layer is as wide as the narrower end of the network. The initial map is normal with standard deviation `scale`; its
    singular value α is split into d₁d₂ = α, d₂² − d₁² = λ. In a square network the task has the sign of the determinant
    of that map: with the other one, learning from λ = 0 ends at a saddle. An aligned start has the modes of the task,
    with α = `scale`, so that each mode learns on its own, τȧ = √(λ² + 4a²)(s − a). With one input and one output that
    is a network of two weights.

    The tangent kernel K = I ⊗ W₁ᵀW₁ + W₂W₂ᵀ ⊗ I says how rich learning was: `distance` 1 − cos(K₀, K) is its change of
    direction, `movement` |K − K₀|/|K₀| that of direction and size.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> model = fs.models.TwoLayer(imbalance=-5.0, initial="aligned", inputs=2, outputs=2)
        >>> exact = model.theory()  # a function of time
        >>> exact(np.array([0.0, 0.1, 10.0]))["learned"].round(3)
        array([[0.05 , 0.1  ],
               [0.431, 0.456],
               [1.   , 1.   ]])
    """

    name = "two-layer"
    sources = (DOMINE_2025, BRAUN_2022, LECTURE)
    variables = {
        "loss": Variable("loss ½|S − W₂W₁|²"),
        "learned": Variable("share of each mode learned uᵀW₂W₁v/s", ("mode",)),
        "distance": Variable("distance of the tangent kernel from its start"),
        "movement": Variable("movement of the tangent kernel"),
        "first_similarity": Variable("similarity of W₁ᵀW₁ and SᵀS"),
        "second_similarity": Variable("similarity of W₂W₂ᵀ and SSᵀ"),
        "rotation": Variable("loss that remains while the visible part turns"),
    }
    quick = {"records": 120, "until": 120.0}

    inputs: Width = structural(8, help="inputs Ni")
    outputs: Width = structural(4, help="outputs No; the hidden layer is as wide as the narrower of the two")
    imbalance: Imbalance = continuous(0.0, help="imbalance λ of the layers, W₂ᵀW₂ − W₁W₁ᵀ = λI")
    weakest: Strength = continuous(1.0, help="smallest singular value s of the task")
    strongest: Strength = continuous(2.0, help="largest singular value s; the others lie evenly between")
    initial: Literal["random", "aligned"] = structural(
        "random", help="initial map W₂W₁: of normal numbers, or along the modes of the task"
    )
    scale: Start = continuous(0.1, scale="log", help="standard deviation, or singular values, of the initial map")
    first: float = continuous(1e-3, ge=1e-6, le=5e-3, scale="log", unit="τ", help="when to record first after t = 0")
    until: LogDuration = continuous(300.0, unit="τ", help="when to stop")
    records: int = structural(200, ge=10, le=100_000, help="recordings, evenly spaced in log time")

    equations = (
        Equation(
            r"\tau \frac{d}{dt} QQ^\top = F QQ^\top + QQ^\top F - (QQ^\top)^2, \quad "
            r"Q = \begin{pmatrix} W_1^\top \\ W_2 \end{pmatrix}, \quad "
            r"F = \begin{pmatrix} -\frac{\lambda}{2} I & S^\top \\ S & \frac{\lambda}{2} I \end{pmatrix}",
            "Stacked on each other, layers with W₂ᵀW₂ − W₁W₁ᵀ = λI obey a Riccati equation, which is solved exactly.",
        ),
        Equation(
            r"\tau r = \sqrt{s^2 + \lambda^2/4} - |\lambda|/2 \approx s^2/|\lambda|",
            "Where the wide side holds the large weights, mode s leaves the plateau at this slow rate r, by rotation.",
        ),
    )
    presets = (
        Preset("rich", "From small balanced weights the kernel turns and grows manyfold."),
        Preset("lazy", "With large λ > 0 in a funnel the kernel hardly moves.", {"imbalance": 20.0}),
        Preset(
            "delayed rich", "With large λ < 0 a funnel first learns what it sees, then turns.", {"imbalance": -20.0}
        ),
    )

    @property
    def modes(self) -> int:
        """How many modes the task has; so many hidden units, too."""
        return min(self.inputs, self.outputs)

    @property
    def is_delayed(self) -> bool:
        """Whether the larger layer sees only a part of the wide side of the network, (No − Ni)·λ > 0."""
        return (self.outputs - self.inputs) * self.imbalance > 0

    @property
    def slowest_turn(self) -> float:
        """√(s² + λ²/4) − |λ|/2 of the weakest mode, without a difference of near numbers."""
        return self.weakest**2 / (hypot(self.weakest, self.imbalance / 2) + abs(self.imbalance) / 2)

    @property
    def duration(self) -> float:
        """How long learning takes, generously: until e^(−5) is left of what the slowest mode has to turn or to grow."""
        if self.is_delayed:
            return 5.0 / self.slowest_turn
        waiting = log(max(10.0 * self.weakest / self.scale, 1.0))  # a mode may begin with a tenth of the scale
        return (waiting + 5.0) / (2.0 * hypot(self.weakest, self.imbalance / 2))

    def coordinates(self) -> dict[str, list[int]]:
        return {"mode": list(range(1, self.modes + 1))}

    def start(self, key: Key) -> Begin:
        """A task with the singular values that are asked for, and a λ-balanced network.

        The hidden layer's own rotation changes nothing that is measured here, and is left out.
        """
        left, strength, right, weights = self._parts(jax.random.normal(key, (2, self.outputs, self.inputs)))
        return Begin(left, strength, right, fs.networks.DeepLinear(weights))

    def _parts(self, drawn: Float[Array, "2 outputs inputs"]) -> tuple[Array, Array, Array, tuple[Array, Array]]:
        """U, s, Vᵀ, and W₁ and W₂, made of normal numbers; with λ of shape (…, 1) both layers have … in front."""
        from festina.arrays import xp

        left, size, right = xp.linalg.svd(drawn, full_matrices=False)
        strength = xp.linspace(self.strongest, self.weakest, self.modes)
        if self.initial == "aligned":
            own, first, second = 0, *split(self.scale * np.ones(self.modes), self.imbalance)
        else:
            own, first, second = 1, *split(self.scale * size[1], self.imbalance)
            if self.inputs == self.outputs:  # the sign of the determinant of the initial map
                sign = xp.prod(xp.sign(xp.linalg.det(drawn)))
                strength = strength * xp.where(np.arange(self.modes) < self.modes - 1, 1.0, sign)
        weights = first[..., :, None] * right[own], left[own] * second[..., None, :]
        return left[0], strength, right[0], weights

    def process(self, start: Begin) -> Process:
        task, network = start.task, start.network

        def loss(network: DeepLinear) -> Float[Array, ""]:
            return 0.5 * jnp.sum((task - network.map) ** 2)

        def rate(network: DeepLinear, stage: Array) -> DeepLinear:
            return jax.tree.map(jnp.negative, jax.grad(loss)(network))

        def observe(state: State) -> Observed:
            seen = compare_grams(task, grams_of(network.weights), grams_of(state.parameters.weights))
            return {"loss": loss(state.parameters), "learned": start.learned(state.parameters.map), **seen}

        later = jnp.exp(jnp.linspace(jnp.log(self.first), jnp.log(self.until), self.records))
        times = jnp.concatenate([jnp.zeros(1), later])
        return fs.learning.flow_process(rate, network, times, observe)

    def solution(self, start: Begin) -> Solution:
        """The exact solution, and beside it the loss while only the visible part of the network turns."""
        exact = self._modes_alone(start) if self.initial == "aligned" else self._modes_together(start)
        task, grams = start.task, grams_of(start.network.weights)

        def curves(time: Float[Array, "*times"]) -> Curves:
            found = exact(time)
            loss = 0.5 * np.sum((task - found["map"]) ** 2, axis=(-2, -1))
            seen = compare_grams(task, grams, (found["input_gram"], found["output_gram"]))
            learned = start.learned(found["map"])
            return {"loss": loss, "learned": learned, "rotation": self.rotation(start, time), **seen}

        return curves

    def _modes_together(self, start: Begin) -> Solution:
        """Map and grams from λ-balanced weights.

        An anti-funnel is solved as the funnel it is when seen from its outputs: the flow does not change if W₁ and W₂ᵀ
        are exchanged, S is transposed and λ changes its sign. That compiles one solution less.
        """
        first, second = start.network.weights
        if self.outputs <= self.inputs:
            return fs.theory.balanced(first, second, start.task)
        mirrored = fs.theory.balanced(second.T, first.T, start.task.T)

        def exact(time: Float[Array, "*times"]) -> Curves:
            found = mirrored(time)
            return {
                "map": np.swapaxes(found["map"], -1, -2),
                "input_gram": found["output_gram"],
                "output_gram": found["input_gram"],
            }

        return exact

    def _modes_alone(self, start: Begin) -> Solution:
        """Map and grams from aligned weights: d₁² and d₂² are (√(λ² + 4a²) ∓ λ)/2 with the product a of each mode."""
        chains = fs.theory.imbalanced(start.strength, self.scale, self.imbalance)

        def exact(time: Float[Array, "*times"]) -> Curves:
            product = np.asarray(chains(time)["product"])[..., None, :]
            size = np.hypot(self.imbalance, 2 * product)
            return {
                "map": (start.left * product) @ start.right,
                "input_gram": (start.right.T * (size - self.imbalance) / 2) @ start.right,
                "output_gram": (start.left * (size + self.imbalance) / 2) @ start.left.T,
            }

        return exact

    def limit(self, start: Begin) -> Curves:
        """What is measured of the kernel and the layers for t → ∞, if the whole task is learned.

        W₁ᵀW₁ → V (√(4s² + λ²) − λ)/2 Vᵀ and W₂W₂ᵀ → U (√(4s² + λ²) + λ)/2 Uᵀ.
        """
        return self._limit(start.left, start.strength, start.right, start.network.weights)

    def _limit(self, left: Array, strength: Array, right: Array, weights: tuple[Array, ...]) -> Curves:
        imbalance = np.asarray(self.imbalance)[..., None]
        size = np.hypot(imbalance, 2 * strength)
        first, second = (right.T * (size - imbalance) / 2) @ right, (left * (size + imbalance) / 2) @ left.T
        return compare_grams((left * strength) @ right, grams_of(weights), (first, second))

    def limits(self, imbalances: Float[np.ndarray, " imbalances"], seeds: Int[np.ndarray, " seeds"]) -> Curves:
        """`limit` for many λ and seeds, each of shape (imbalances, seeds)."""

        with fs.double():
            drawn = np.asarray(_drawing(2 * self.outputs * self.inputs)(seeds))
        draws = drawn.reshape(-1, 2, self.outputs, self.inputs)
        many = self.model_copy(update={"imbalance": imbalances[:, None]})
        found = [many._limit(*many._parts(drawn)) for drawn in draws]
        return {name: np.stack([one[name] for one in found], axis=1) for name in found[0]}

    def rotation(self, start: Begin, time: Float[Array, "*times"]) -> Float[np.ndarray, "*times"]:
        """The loss while the visible part turns; NaN unless learning is delayed.

        With Q₀ = VA + V⊥B an orthonormal basis of the visible part and r the rates, span e^(Rt)Q₀ leaves the loss
        ½ tr s²(I + C)⁻¹C, where C = e^(−rt) ((AAᵀ)⁻¹ − I) e^(−rt). At t = 0 it is the plateau.
        """
        if not self.is_delayed:
            return np.full(np.shape(time), np.nan)
        first, second = start.network.weights
        visible, basis = (second, start.left) if self.outputs > self.inputs else (first.T, start.right.T)
        strength = start.strength
        overlap = basis.T @ np.linalg.qr(visible)[0]
        unseen = np.linalg.inv(overlap @ overlap.T) - np.eye(len(strength))
        rates = np.hypot(strength, self.imbalance / 2) - abs(self.imbalance) / 2
        faded = np.exp(-np.multiply.outer(time, rates))
        remains = faded[..., :, None] * unseen * faded[..., None, :]
        remains = np.linalg.solve(np.eye(len(strength)) + remains, remains)
        return np.einsum("k,...kk->...", strength**2, remains) / 2


def split(product: Float[Array, " modes"], imbalance: Float[Array, ""]) -> tuple[Array, Array]:
    """d₁ and d₂ with d₁d₂ = product > 0 and d₂² − d₁² = λ, without a difference of near numbers.

    The larger of the two is √((√(λ² + 4α²) + |λ|)/2). Written without |λ|, which has no derivative at zero.
    """
    from festina.arrays import xp

    positive, size = imbalance >= 0, xp.hypot(imbalance, 2.0 * product)
    second = xp.sqrt(xp.where(positive, size + imbalance, 1.0) / 2.0)
    first = xp.sqrt(xp.where(positive, 1.0, size - imbalance) / 2.0)
    return xp.where(positive, product / second, first), xp.where(positive, second, product / first)


@cache
def _drawing(count: int) -> Callable[[Any], Array]:
    """What draws so many normal numbers for each of many seeds, as `start` does for one."""
    from festina.compiling import brief_jit

    return brief_jit(jax.vmap(lambda seed: jax.random.normal(jax.random.key(seed), (count,))))


def grams_of(weights: tuple[Array, ...]) -> tuple[Array, Array]:
    """W₁ᵀW₁ and W₂W₂ᵀ."""
    first, second = weights
    return first.mT @ first, second @ second.mT


def compare_grams(task: Array, start: tuple[Array, Array], grams: tuple[Array, Array]) -> Curves:
    """What is measured of W₁ᵀW₁ and W₂W₂ᵀ, at one time or at many."""
    return {
        "distance": fs.measures.kernel_distance(*grams, *start),
        "movement": fs.measures.kernel_movement(*grams, *start),
        "first_similarity": fs.measures.representational_similarity(grams[0], task.T @ task),
        "second_similarity": fs.measures.representational_similarity(grams[1], task @ task.T),
    }
