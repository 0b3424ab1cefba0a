"""A gated linear network at exclusive-or with a margin: the reduction of the rectified one, its gates given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import festina as fs
from festina._lazy import jax, jnp, np
from festina.config import continuous, structural
from festina.model import Equation, Model, Preset, Variable
from festina.models.margin import Separation
from festina.ranges import Duration, Start
from festina.sources import LECTURE, SAXE_2022

if TYPE_CHECKING:
    from festina.models._types import Array, Curves, Float, Gated, Key, Observed, Process, Solution, State

Gating = Literal["one example", "half-planes", "classes", "always on"]
CHANCE = 0.5  # the loss of answering 0
ROUNDING = 1e-15  # a loss below this share of that one is none


class Begin(NamedTuple):
    """What each pathway sees, and the network at t = 0.

    With ⟨g y x⟩ = s v: the direction v, the strength s and the input variance d = vᵀ⟨g x xᵀ⟩v of every pathway.
    """

    directions: Float[Array, "paths 3"]
    strengths: Float[Array, " paths"]
    variances: Float[Array, " paths"]
    network: Gated


class GatedMargin(Model):
    """A gated linear network that learns y = z₁z₂ from x = (z₁, z₂, Δ·y), z = (±1, ±1), with pathways that are given.

    Pathways of two layers are on for one example each, for either side of z₁ = 0, for either class, or one is always
    on. No two of them share an example, and Δ = 0 is exclusive-or. From weights along v a pathway sees its correlation
    s and input variance d alone, and is a chain of two weights: π(t) = (s/d)/(1 − (1 − s/(dπ₀))e^{−2st/τ}). A pathway
    that sees no correlation at all starts along the direction in which its inputs vary most, and is stuck.
    """

    name = "gated-margin"
    sources = (SAXE_2022, LECTURE)
    variables = {
        "strength": Variable("strength π of each pathway", ("pathway",)),
        "loss": Variable("loss"),
    }
    quick = {"records": 200}

    gating: Gating = structural("one example", help="what pathways are on for")
    separation: Separation = continuous(0.0, help="margin Δ between the classes")
    initial: Start = continuous(1e-3, scale="log", help="strength π₀ of every gated pathway at t = 0")
    until: Duration = structural(30.0, unit="τ", help="when to stop")
    records: int = structural(300, ge=10, le=10_000, help="recordings, evenly spaced")

    equations = (
        Equation(
            r"\pi(t) = \frac{s/d}{1 - \bigl(1 - \frac{s}{d\,\pi_0}\bigr) e^{-2st/\tau}}, "
            r"\qquad s = \frac{\sqrt{2 + \Delta^2}}{4}, \quad d = \frac{2 + \Delta^2}{4}",
            "A pathway that is on for one example alone sees these statistics and follows a sigmoid.",
        ),
    )
    presets = (
        Preset("one example", "Four pathways, one for each example, learn exclusive-or along a sigmoid."),
        Preset("half-planes", "Two pathways for the sides of z₁ = 0 are faster.", {"gating": "half-planes"}),
        Preset("classes", "Pathways for a class learn if there is a margin.", {"gating": "classes", "separation": 1.0}),
    )

    def coordinates(self) -> dict[str, list[int]]:
        return {"pathway": list(range(1, len(self.gates) + 1))}

    @property
    def gates(self) -> dict[str, np.ndarray]:
        """Which pathway is on for which of the four examples."""
        logic = fs.worlds.logic
        chosen = {
            "one example": logic.by_example,
            "half-planes": logic.by_half_plane,
            "classes": logic.by_class,
            "always on": logic.always_on,
        }
        return chosen[self.gating](logic.xor()).gates

    def start(self, key: Key) -> Begin:
        """One unit for each pathway, which has the strength π₀ along the pathway's direction; nothing is random."""
        world, on = fs.worlds.logic.margin(self.separation), jnp.asarray(np.stack(list(self.gates.values())))
        inputs = on[:, :, None] * jnp.asarray(world.inputs)[None]
        cross = jnp.mean(jnp.asarray(world.targets)[None] * inputs, axis=1)
        squares = jnp.sum(cross**2, axis=1)
        sees = squares > 0
        length = jnp.sqrt(jnp.where(sees, squares, 1.0))
        directions = jnp.where(sees[:, None], cross / length[:, None], jnp.asarray(self._widest()))
        variances = jnp.mean(jnp.einsum("pni,pi->pn", inputs, directions) ** 2, axis=1)
        return Begin(directions, jnp.where(sees, length, 0.0), variances, self._network(directions))

    def _widest(self) -> Float[np.ndarray, "paths 3"]:
        """In which direction the inputs of each pathway vary most without a margin."""
        corners = fs.worlds.logic.xor().inputs
        return np.stack([np.append(np.linalg.svd(gate[:, None] * corners)[2][0], 0.0) for gate in self.gates.values()])

    def _network(self, directions: Float[Array, "paths 3"]) -> Gated:
        widths = {"x": 3, "y": 1, **dict.fromkeys(self.gates, 1)}
        graph = fs.networks.Graph.of(f"x -> {', '.join(self.gates)} -> y", widths=widths)
        root = jnp.sqrt(self.initial)
        incoming = {f"x->{node}": root * directions[number][None] for number, node in enumerate(self.gates)}
        return fs.networks.Gated.of(graph, incoming | {f"{node}->y": root * jnp.ones((1, 1)) for node in self.gates})

    def process(self, start: Begin) -> Process:
        whole = fs.worlds.logic.margin(self.separation)
        samples = fs.worlds.GatedDataset({"x": whole.inputs}, {"y": whole.targets}, self.gates).samples

        def rate(network: Gated, stage: Array) -> Gated:
            return jax.grad(lambda network: -samples.loss(network))(network)

        def observe(state: State) -> Observed:
            network, weights = state.parameters, state.parameters.weights
            maps = jnp.concatenate([weights[f"{node}->y"] @ weights[f"x->{node}"] for node in self.gates])
            return {"strength": jnp.sum(maps * start.directions, axis=1), "loss": samples.loss(network)}

        times = jnp.arange(self.records + 1.0) * (self.until / self.records)
        return fs.learning.flow_process(rate, start.network, times, observe)

    def solution(self, start: Begin) -> Solution:
        """Each pathway is a chain of two weights, and the loss is that of all, beyond what none of them can learn."""
        initial = np.full(len(start.strengths), self.initial)
        pathways = fs.theory.chain(2, start.strengths, initial, input_variance=start.variances)
        floor = CHANCE - 0.5 * np.sum(start.strengths**2 / start.variances)

        def curves(time: np.ndarray) -> Curves:
            found = pathways(time)
            loss = (floor if floor > ROUNDING else 0.0) + np.sum(found["loss"], axis=-1)
            return {"strength": found["product"], "loss": loss}

        return curves
