"""What gated linear networks with given pathways share: a start along what each sees, flow, and closed forms."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import festina as fs
from festina._lazy import jax, jnp, np
from festina.config import continuous, structural
from festina.model import Model
from festina.ranges import Duration, Start

if TYPE_CHECKING:
    from festina.models._types import Array, Curves, Dataset, Float, Gated, Key, Observed, Process, Solution, State

CHANCE = 0.5  # the loss of answering 0 where answers are ±1
ROUNDING = 1e-15  # a loss below this share of that one is none


class Begin(NamedTuple):
    """What each pathway sees, and the network at t = 0.

    With ⟨g y x⟩ = s v: the direction v, the strength s and the input variance d = vᵀ⟨g x xᵀ⟩v of every pathway.
    """

    directions: Float[Array, "paths i"]
    strengths: Float[Array, " paths"]
    variances: Float[Array, " paths"]
    network: Gated


class GatedPathways(Model):
    """Pathways of two layers and one unit each, with gates that are given, on a few samples with answers ±1.

    From weights along v a pathway that shares its samples with no other sees its correlation s and its input variance d
    alone, and is a chain of two weights.
    """

    initial: Start = continuous(1e-3, scale="log", help="strength π₀ of every gated pathway at t = 0")
    until: Duration = structural(30.0, unit="τ", help="when to stop")
    records: int = structural(300, ge=10, le=10_000, help="recordings, evenly spaced")

    @property
    def data(self) -> Dataset:
        """All samples."""
        raise NotImplementedError

    @property
    def gates(self) -> dict[str, np.ndarray]:
        """Which pathway is on for which of the samples."""
        raise NotImplementedError

    @property
    def initials(self) -> Float[Array, " paths"]:
        """The strength of every pathway at t = 0."""
        return self.initial * np.ones(len(self.gates))

    @property
    def blind(self) -> Float[np.ndarray, "paths i"]:
        """Where a pathway that sees no correlation starts."""
        return np.zeros((len(self.gates), self.data.inputs.shape[1]))

    def placed(self, strengths: Float[Array, "*times paths"]) -> Float[Array, "*times pathways"]:
        """Strengths of the pathways as they are recorded."""
        return strengths

    def start(self, key: Key) -> Begin:
        """One unit for each pathway, with its initial strength along the pathway's direction; nothing is random."""
        world, on = self.data, jnp.asarray(np.stack(list(self.gates.values())))
        inputs = on[:, :, None] * jnp.asarray(world.inputs)[None]
        cross = jnp.mean(jnp.asarray(world.targets)[None] * inputs, axis=1)
        squares = jnp.sum(cross**2, axis=1)
        sees = squares > 0
        length = jnp.sqrt(jnp.where(sees, squares, 1.0))
        directions = jnp.where(sees[:, None], cross / length[:, None], jnp.asarray(self.blind))
        variances = jnp.mean(jnp.einsum("pni,pi->pn", inputs, directions) ** 2, axis=1)
        return Begin(directions, jnp.where(sees, length, 0.0), variances, self._network(directions))

    def _network(self, directions: Float[Array, "paths i"]) -> Gated:
        widths = {"x": directions.shape[1], "y": 1, **dict.fromkeys(self.gates, 1)}
        graph = fs.networks.Graph.of(f"x -> {', '.join(self.gates)} -> y", widths=widths)
        roots = jnp.sqrt(self.initials)
        weights = {f"x->{node}": roots[number] * directions[number][None] for number, node in enumerate(self.gates)}
        weights |= {f"{node}->y": roots[number] * jnp.ones((1, 1)) for number, node in enumerate(self.gates)}
        return fs.networks.Gated.of(graph, weights)

    def process(self, start: Begin) -> Process:
        world = self.data
        samples = fs.worlds.GatedDataset({"x": world.inputs}, {"y": world.targets}, self.gates).samples

        def rate(network: Gated, stage: Array) -> Gated:
            return jax.grad(lambda network: -samples.loss(network))(network)

        def observe(state: State) -> Observed:
            network, weights = state.parameters, state.parameters.weights
            maps = jnp.concatenate([weights[f"{node}->y"] @ weights[f"x->{node}"] for node in self.gates])
            return {"strength": self.placed(jnp.linalg.norm(maps, axis=1)), "loss": samples.loss(network)}

        times = jnp.arange(self.records + 1.0) * (self.until / self.records)
        return fs.learning.flow_process(rate, start.network, times, observe)

    def solution(self, start: Begin) -> Solution:
        """Each pathway is a chain of two weights, and the loss is that of all, beyond what none of them can learn."""
        pathways = fs.theory.chain(2, start.strengths, np.asarray(self.initials), input_variance=start.variances)
        floor = CHANCE - 0.5 * np.sum(start.strengths**2 / start.variances)

        def curves(time: np.ndarray) -> Curves:
            found = pathways(time)
            loss = (floor if floor > ROUNDING else 0.0) + np.sum(found["loss"], axis=-1)
            return {"strength": self.placed(found["product"]), "loss": loss}

        return curves
