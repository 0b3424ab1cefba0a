"""A linear network of one layer or two that learns one task, with the shape of its loss where it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

from pydantic import Field, ValidationInfo, field_validator

import festina as fs
from festina._lazy import jax, jnp, np, xr
from festina.config import continuous, structural
from festina.model import Equation, Model, Preset, Variable
from festina.ranges import Duration, Start, Strength
from festina.sources import LECTURE, SAXE_2013

if TYPE_CHECKING:
    from collections.abc import Callable

    from festina.models._types import Array, Curves, DeepLinear, Float, Int, Key, Observed, Process, Solution, State

Width = Annotated[int, Field(ge=1, le=16)]
CLEARLY = 0.5  # of the weakest mode: beyond it a curvature is clearly negative, and a singular value clearly there


class Begin(NamedTuple):
    """The task S = U s Vᵀ, strongest mode first, and the network at t = 0."""

    left: Float[Array, "outputs modes"]
    strengths: Float[Array, " modes"]
    right: Float[Array, "modes inputs"]
    network: DeepLinear

    @property
    def task(self) -> Float[Array, "outputs inputs"]:
        return (self.left * self.strengths[None, :]) @ self.right

    def shares(self, product: Float[Array, "outputs inputs"]) -> Float[Array, " modes"]:
        """u_jᵀ W v_j / s_j of each mode."""
        return ((self.left.T @ product) * self.right).sum(axis=-1) / self.strengths

    def saddles(self) -> Float[Array, "ranks outputs inputs"]:
        """S_k = Σ_{j≤k} s_j u_j v_jᵀ for k = 0, 1, …: the best maps of every rank that lacks something."""
        modes = len(self.strengths)
        kept = np.tri(modes, modes, -1)[:, None, :]
        return (self.left[None] * self.strengths[None, None] * kept) @ self.right[None]


class SaddleToSaddle(Model):
    """A linear network that learns S = Σ_j s_j u_j v_jᵀ from white inputs, and how its loss is curved where it is.

    Gradient flow of L = ½|S − W₂W₁|² from normal weights of standard deviation σ; one layer has L = ½|S − W|². With two
    layers every best map S_k of rank k < m is a saddle with loss L_k = ½ Σ_{j>k} s_j². Its Hessian has one negative
    eigenvalue −s_j for each mode j > k and each of the H − k directions of the hidden layer that no learned mode
    uses (directions in use have the curvatures s_i ∓ s_j > 0): its index is (m − k)(H − k). With one layer the Hessian
    is the identity, and there is no saddle. Here the index is the number of eigenvalues below −s_m/2, and the rank
    that of singular values of the map above s_m/2, both half of the weakest mode.

    From small weights the hidden vector g_j = (W₂ᵀu_j + W₁v_j)/2 of each mode grows as e^(s_j t) until it fills its
    direction, and what weaker modes have in that direction is lost. So mode j follows a chain of two weights,
    τȧ = 2a(s_j − a), from a₀ = |g_j|² without what it shares with g_1 … g_{j−1}. Over seeds a₀ is σ²/2 times a χ²
    number of H − j + 1 degrees of freedom, so that half-times have the standard deviation √ψ₁((H − j + 1)/2)/(2s_j).

    Example:
        >>> import festina as fs
        >>> model = fs.models.SaddleToSaddle(inputs=3, outputs=2, hidden=4)
        >>> model.saddle_losses(), model.saddle_indices()
        (array([8.5, 0.5]), array([8, 3]))
    """

    name = "saddle-to-saddle"
    sources = (SAXE_2013, LECTURE)
    variables = {
        "loss": Variable("loss ½|S − W|²"),
        "gradient": Variable("norm of the gradient of the loss"),
        "index": Variable("negative directions of the Hessian"),
        "curvature": Variable("smallest eigenvalue of the Hessian"),
        "rank": Variable("effective rank of the map"),
        "learned": Variable("share of each mode learned uᵀWv/s", ("mode",)),
        "distance": Variable("distance to the saddle |W − S_k|/|S − S_k|", ("saddle",)),
        "half_time": Variable("when half of the mode is learned", ("mode",), "τ", final=True),
    }
    quick = {"records": 120}

    inputs: Width = structural(5, help="inputs Ni")
    outputs: Width = structural(4, help="outputs No; the narrower end has as many modes m")
    hidden: Width = structural(6, help="hidden units H, no fewer than modes")
    depth: int = structural(2, ge=1, le=2, help="layers of the network")
    strongest: Strength = continuous(4.0, help="largest singular value of the task; the others fall evenly in log s")
    weakest: Strength = continuous(1.0, help="smallest singular value of the task")
    scale: Start = continuous(1e-4, scale="log", help="standard deviation σ of the initial weights")
    until: Duration = continuous(16.0, unit="τ", help="when to stop")
    records: int = structural(320, ge=10, le=10_000, help="recordings after the first, evenly spaced in time")

    equations = (
        Equation(
            r"L_k = \tfrac12 \sum_{j > k} s_j^2, \qquad \mathrm{index}_k = (m - k)(H - k)",
            "The best map of rank k is a saddle: the loss falls along each missing mode in each free hidden direction.",
        ),
        Equation(
            r"t_j = \frac{\tau}{2 s_j} \ln\Bigl(\frac{s_j}{a_j} - 1\Bigr), \qquad "
            r"a_j = \bigl|(1 - P_{<j})\, g_j\bigr|^2, \qquad g_j = \tfrac12 (W_2^\top u_j + W_1 v_j)",
            "Half of mode j is learned by this time, from its part of the initial weights that stronger modes leave.",
        ),
        Equation(
            r"\mathrm{sd}(t_j) = \frac{\tau}{2 s_j} \sqrt{\psi_1\bigl(\tfrac{H - j + 1}{2}\bigr)}",
            "Times differ from one network to the next by as much as the logarithm of a χ² number does.",
        ),
    )
    presets = (
        Preset("small", "From small weights the network goes from saddle to saddle, one rank after the other."),
        Preset("large", "From large weights the network passes far from every saddle.", {"scale": 1.0}),
        Preset("shallow", "One layer has no saddles, and its loss no plateaus.", {"depth": 1}),
    )

    @field_validator("hidden")
    @classmethod
    def _enough(cls, hidden: int, info: ValidationInfo) -> int:
        modes = min(info.data.get("inputs", 1), info.data.get("outputs", 1))
        if hidden < modes:
            raise ValueError(f"be at least the {modes} modes")
        return hidden

    @field_validator("weakest")
    @classmethod
    def _weaker(cls, weakest: float, info: ValidationInfo) -> float:
        strongest = info.data.get("strongest", weakest)
        if weakest > strongest:
            raise ValueError(f"not be above `strongest`, {strongest:g}")
        return weakest

    @property
    def modes(self) -> int:
        """How many modes m the task has."""
        return min(self.inputs, self.outputs)

    def strengths(self) -> Float[np.ndarray, " modes"]:
        """s_j, strongest first."""
        return np.geomspace(self.strongest, self.weakest, self.modes)

    def saddle_losses(self) -> Float[np.ndarray, " ranks"]:
        """L_k = ½ Σ_{j>k} s_j² for k = 0 … m − 1."""
        return 0.5 * np.cumsum(self.strengths()[::-1] ** 2)[::-1]

    def saddle_indices(self) -> Int[np.ndarray, " ranks"]:
        """(m − k)(H − k) for k = 0 … m − 1."""
        rank = np.arange(self.modes)
        return (self.modes - rank) * (self.hidden - rank)

    def half_time_spread(self) -> Float[np.ndarray, " modes"]:
        """√ψ₁((H − j + 1)/2)/(2s_j), the standard deviation over small starts of the half-time of each mode."""
        from scipy.special import polygamma

        return np.sqrt(polygamma(1, (self.hidden - np.arange(self.modes)) / 2)) / (2 * self.strengths())

    def coordinates(self) -> dict[str, list[int]]:
        return {"mode": list(range(1, self.modes + 1)), "saddle": list(range(self.modes))}

    def start(self, key: Key) -> Begin:
        from festina.worlds.orthogonal import orthogonal_factor

        inputs, outputs, hidden = self.inputs, self.outputs, self.hidden
        for_task, for_weights = fs.draws.split(key, 2)
        pair = fs.draws.normal(for_task, (2, max(inputs, outputs), self.modes))
        left, right = orthogonal_factor(pair[0, :outputs]), orthogonal_factor(pair[1, :inputs]).T
        fall = jnp.linspace(0.0, 1.0, self.modes)
        strengths = self.strongest * (self.weakest / self.strongest) ** fall
        drawn = self.scale * fs.draws.normal(for_weights, (outputs + inputs, hidden + inputs))
        first, second, only = drawn[outputs:, :hidden].T, drawn[:outputs, :hidden], drawn[:outputs, hidden:]
        return Begin(left, strengths, right, fs.networks.DeepLinear((first, second) if self.depth == 2 else (only,)))

    def process(self, start: Begin) -> Process:
        task, saddles, least = start.task, start.saddles(), CLEARLY * start.strengths[-1]
        missing = jnp.sqrt(jnp.sum((task[None] - saddles) ** 2, axis=(1, 2)))

        def loss(network: DeepLinear) -> Float[Array, ""]:
            return 0.5 * jnp.sum((task - network.map) ** 2)

        def rate(network: DeepLinear, stage: Array) -> DeepLinear:
            return jax.tree.map(jnp.negative, jax.grad(loss)(network))

        def observe(state: State) -> Observed:
            network = state.parameters
            product, (gradient, curvatures) = network.map, slope_and_curvatures(loss, network)
            apart = jnp.sqrt(jnp.sum((product[None] - saddles) ** 2, axis=(1, 2)))
            singular = jnp.linalg.svd(product, compute_uv=False)
            return {
                "loss": loss(network),
                "gradient": jnp.linalg.norm(gradient),
                "index": jnp.sum(jnp.where(curvatures < -least, 1.0, 0.0)),
                "curvature": curvatures[0],
                "rank": jnp.sum(jnp.where(singular > least, 1.0, 0.0)),
                "learned": start.shares(product),
                "distance": apart / missing,
            }

        times = self.until * jnp.linspace(0.0, 1.0, self.records + 1)
        return fs.learning.flow_process(rate, start.network, times, observe)

    def solution(self, start: Begin) -> Solution:
        """Exact for one layer; for two, mode by mode from small weights."""
        strengths = start.strengths
        initial = growing(start) if self.depth == 2 else start.shares(start.network.map) * strengths
        chains = fs.theory.chain(self.depth, strengths, initial)
        half = fs.theory.time_to_reach(self.depth, strengths, initial, 0.5)
        beside = np.zeros_like(start.task)  # what one layer begins with beside the modes, and forgets
        if self.depth == 1:
            beside = start.network.map - (start.left * initial) @ start.right

        def curves(time: Float[np.ndarray, "*times"]) -> Curves:
            amplitude, rest = np.asarray(chains(time)["product"]), np.exp(-2 * np.asarray(time)) * np.sum(beside**2)
            lacking = (strengths - amplitude) ** 2
            kept = np.tri(self.modes, self.modes, -1)  # saddles × modes they have
            apart = lacking @ kept.T + amplitude**2 @ (1 - kept).T + rest[..., None]
            loss = 0.5 * (lacking.sum(axis=-1) + rest)
            steep = 2 * np.sum(amplitude * lacking, axis=-1) if self.depth == 2 else 2 * loss
            return {
                "loss": loss,
                "gradient": np.sqrt(steep),
                "learned": amplitude / strengths,
                "distance": np.sqrt(apart / ((1 - kept) @ strengths**2)),
                "half_time": np.broadcast_to(half, amplitude.shape),
            }

        return curves

    @classmethod
    def measure(cls, data: xr.Dataset) -> dict[str, xr.DataArray]:
        half = fs.measures.crossings(data["learned"], 0.5)
        return {"half_time": half.assign_attrs(long_name=cls.variables["half_time"].label, units="τ")}


def slope_and_curvatures(
    loss: Callable[[DeepLinear], Float[Array, ""]], network: DeepLinear
) -> tuple[Float[Array, " weights"], Float[Array, " weights"]]:
    """The gradient of a loss, and the eigenvalues of its Hessian, smallest first."""
    from jax.flatten_util import ravel_pytree

    flat, unravel = ravel_pytree(network)

    def of_flat(weights: Float[Array, " weights"]) -> Float[Array, ""]:
        return loss(unravel(weights))

    return jax.grad(of_flat)(flat), jnp.linalg.eigvalsh(jax.hessian(of_flat)(flat))


def growing(start: Begin) -> Float[np.ndarray, " modes"]:
    """|(1 − P_{<j}) g_j|² with g_j = (W₂ᵀu_j + W₁v_j)/2, and P_{<j} on the directions of all stronger modes.

    Of the QR decomposition of (g_1, g_2, …) these are the squares on the diagonal of R.
    """
    first, second = start.network.weights
    vectors = (second.T @ start.left + first @ start.right.T) / 2
    return np.diagonal(np.linalg.qr(np.asarray(vectors, float))[1]) ** 2
