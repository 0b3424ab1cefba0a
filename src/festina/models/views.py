"""Several views of one target, or of answers of their own, and a network with a pathway for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from pydantic import Field

import festina as fs
from festina._lazy import jnp, np
from festina.config import continuous, structural
from festina.model import Equation, Preset, Variable
from festina.models._log_time import LogTime
from festina.sources import JARVIS_2025, SAXE_2022

if TYPE_CHECKING:
    import xarray as xr

    from festina.models._types import Array, Curves, Float, Gated, Key, Observed, Process, Solution

Depth = Annotated[int, Field(ge=2, le=8)]
Probability = Annotated[float, Field(ge=0, le=1)]
Strength = Annotated[float, Field(ge=1e-9, le=0.999)]
Amplitude = Annotated[float, Field(ge=1e-3, le=1)]
TOGETHER = 32  # networks whose reductions are integrated as one


class Begin(NamedTuple):
    """What pathways see, and how they begin.

    Correlations S_m and overlaps D_mj of the pathways; what each pattern of present views shows of every answer
    (pattern, answer, view), with its targets and probabilities; the strengths π_m(0), and the network.
    """

    correlations: Float[Array, " views"]
    overlaps: Float[Array, "views views"]
    shown: Float[Array, "patterns answers views"]
    targets: Float[Array, "patterns answers"]
    probabilities: Float[Array, " patterns"]
    initial: Float[Array, " views"]
    network: Gated


class Views(LogTime):
    """A gated network that learns one target from V views of it, each through a pathway of L layers.

    With probability p all views are present, otherwise one at a time. From decoupled weights the strength π_m of a
    pathway obeys

        τ π̇_m = L π_m^(2−2/L) [S_m − Σ_j D_mj π_j],    S_m = p + (1−p)/V,    D_mj = p + δ_mj (1−p)/V

    for views of amplitude 1. For p < 1, D is positive definite and every start ends in the one non-negative
    least-squares solution. For p = 1 data do not care which view does the work, and the start decides: at depth 2 its
    ratios are kept, from depth 3 on differences of π^(2/L−1). Strengths are log-normal at the start. With answers of
    their own, y_m = a_m x_m, pathways do not interact: D is diagonal, and each is a chain of L weights.

    Example:
        >>> import festina as fs
        >>> model = fs.models.Views(views=3, together=0.5)
        >>> model.theory()(200.0)["strength"].round(3)  # the one least-squares solution, from any start
        array([0.4, 0.4, 0.4])
    """

    name = "views"
    sources = (SAXE_2022, JARVIS_2025)
    variables = {
        "strength": Variable("strength π of each view's pathway", ("view",)),
        "loss": Variable("loss ½⟨|y − h|²⟩"),
    }
    quick = {"until": 250.0, "records": 60}

    views: int = structural(3, ge=2, le=20, help="views V")
    answers: Literal["shared", "own"] = structural("shared", help="one target for all views, or an answer for each")
    depth: Depth = structural(3, help="layers L of every pathway")
    together: Probability = continuous(0.5, help="probability p that all views are present, else one at a time")
    initial: Strength = continuous(1e-3, scale="log", help="typical strength of the pathways at t = 0")
    spread: float = continuous(0.5, ge=1e-3, le=3, help="s.d. of the logarithm of a pathway's strength at t = 0")
    weakest: Amplitude = continuous(1.0, help="amplitude of the weakest view; that of the strongest is 1")
    width: int = structural(4, ge=1, le=256, help="hidden units in every layer of a pathway")

    equations = (
        Equation(
            r"\tau \dot \pi_m = L\, \pi_m^{2 - 2/L} \Bigl[S_m - \sum_j D_{mj} \pi_j\Bigr], \quad "
            r"S_m = p + \frac{1 - p}{V}, \quad D_{mj} = p + \delta_{mj} \frac{1 - p}{V}",
            "Each of V views has a pathway of L layers, and learns what the others have not yet explained.",
        ),
    )
    presets = (
        Preset("seen apart", "Views that are sometimes seen alone race transiently, and end alike."),
        Preset("never apart", "Of views that always come together, one takes most.", {"together": 1.0}),
        Preset("slots", "Views with answers of their own do not interact.", {"answers": "own", "weakest": 0.5}),
    )

    def coordinates(self) -> dict[str, list[int]]:
        return {"view": list(range(1, self.views + 1))}

    def start(self, key: Key) -> Begin:
        """Moments of the world, strengths, and a network every layer of which is π^(1/L) along a random direction."""
        size = jnp.linspace(1.0, self.weakest, self.views)
        world = fs.worlds.co_occurring_views(self.views, self.together, size if self.answers == "shared" else 1.0)
        shown, targets = world.inputs[:, None, :], jnp.ones((len(world.present), 1))
        moments = world.strengths, world.overlaps
        if self.answers == "own":
            shown = world.present[:, :, None] * jnp.eye(self.views)[None]
            targets = world.present * size[None]
            moments = size * world.strengths, jnp.diag(world.strengths)
        drawn = jnp.asarray(fs.draws.normal(fs.draws.fold_in(key, 0), (self.views,)))
        initial = self.initial * jnp.exp(self.spread * drawn)
        return Begin(*moments, shown, targets, world.probabilities, initial, self._network(key, initial))

    def _network(self, key: Key, initial: Float[Array, " views"]) -> Gated:
        """A decoupled network with a pathway of its own from each view to the node that answers it."""
        names = fs.worlds.views.view_names(self.views)
        hidden = [[f"{name}.{layer}" for layer in range(1, self.depth)] for name in names]
        answers = ["y" if self.answers == "shared" else f"answer{view + 1}" for view in range(self.views)]
        routes = [[names[view], *hidden[view], answers[view]] for view in range(self.views)]
        widths = dict.fromkeys([*names, *answers], 1) | {node: self.width for layers in hidden for node in layers}
        graph = fs.networks.Graph.of(*(" -> ".join(route) for route in routes), widths=widths)
        drawn = fs.draws.normal(fs.draws.fold_in(key, self.depth), (self.views, self.depth - 1, self.width))
        directions = jnp.asarray(drawn) / jnp.linalg.norm(jnp.asarray(drawn), axis=-1, keepdims=True)
        bases = {node: jnp.ones((1, 1)) for node in (*names, *answers)}
        edges = {}
        for view, route in enumerate(routes):
            bases |= {node: directions[view, layer][:, None] for layer, node in enumerate(hidden[view])}
            weight = initial[view, None] ** (1.0 / self.depth)
            edges |= {f"{source}->{target}": weight for source, target in pairwise(route)}
        return fs.networks.Gated.decoupled(graph, edges, bases)

    def process(self, start: Begin) -> Process:
        graph = start.network.graph
        present = jnp.sum(start.shown, axis=1)
        samples = fs.worlds.GatedDataset(
            {name: present[:, view, None] for view, name in enumerate(graph.inputs)},
            {node: start.targets[:, number, None] for number, node in enumerate(graph.outputs)},
            {},
            start.probabilities,
        ).samples

        def observe(network: Gated) -> Observed:
            return {"strength": answers_alone(network), "loss": samples.loss(network)}

        return self.flow(start.network, samples.loss, observe)

    def solution(self, start: Begin) -> Solution:
        return lambda time: curves_of(self.depth, [start], time)[0]

    @classmethod
    def solutions(cls, models: Sequence[Views], starts: Sequence[Begin], times: np.ndarray) -> Iterator[Curves]:
        """Many at once where they record at the same times."""
        if not np.all(times == times[:1]):
            yield from super().solutions(models, starts, times)  # pyright: ignore[reportReturnType]
            return
        for first in range(0, len(starts), TOGETHER):
            yield from curves_of(models[0].depth, starts[first : first + TOGETHER], times[0])

    @classmethod
    def measure(cls, data: xr.Dataset) -> dict[str, xr.DataArray]:
        strength = data["strength"].transpose(..., "view")
        return {
            function.__name__: strength.isel(view=0, drop=True).copy(data=function(strength.values))
            for function in (fs.measures.dominance, fs.measures.effective_number, fs.measures.coverage)
        }


def answers_alone(network: Gated) -> Float[Array, " views"]:
    """The product of the weights along each view's pathway: what is answered to the view alone."""
    names = network.graph.inputs
    alone = {name: jnp.eye(len(names))[:, number, None] for number, name in enumerate(names)}
    return jnp.sum(jnp.stack([answer[:, 0] for answer in network(alone).values()]), axis=0)


def curves_of(depth: int, starts: Sequence[Begin], time: np.ndarray) -> list[Curves]:
    """The race of networks of one depth, integrated as one, and the loss it leaves."""
    names = ("correlations", "overlaps", "initial")
    moments = (np.stack([getattr(start, name) for start in starts]) for name in names)
    strength = np.asarray(fs.theory.views.competition(depth, *moments)(time)["strength"])
    found = []
    for number, start in enumerate(starts):
        own = strength[..., number, :]
        left = start.targets - np.einsum("nam,...m->...na", start.shown, own)
        loss = 0.5 * np.einsum("n,...na->...", start.probabilities, left**2)
        found.append({"strength": own, "loss": loss})
    return found
