"""Two pathways of one gated network that differ in data, depth, start or sharing: who learns faster?"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from pydantic import Field, ValidationInfo, field_validator

import festina as fs
from festina._lazy import jax, jnp, np
from festina.config import continuous, knows_numbers, structural
from festina.model import Equation, Model, Preset, Variable
from festina.ranges import LogDuration, Share
from festina.sources import LECTURE, SAXE_2022

if TYPE_CHECKING:
    from festina.models._types import Array, Curves, Float, Gated, Key, Observed, Process, Solution, State

Depth = Annotated[int, Field(ge=2, le=8)]
Paths = Annotated[int, Field(ge=1, le=16)]
Strength = Annotated[float, Field(ge=1e-9, le=0.999)]
Factor = Annotated[float, Field(ge=1e-3, le=1e3)]
Ratio = Annotated[float, Field(ge=1e-2, le=1e2)]
PATHWAYS = ("first", "rival")
FIRST = 1e-3  # of the duration: the first recording after the start


class Begin(NamedTuple):
    """How often both pathways are on and the first alone is, and the network at t = 0."""

    probabilities: Float[Array, " 2"]
    network: Gated


class TwoPathways(Model):
    """A gated network of two pathways, a first one and a rival, alike but for what is chosen to differ.

    Both lead from x = 1 to n outputs y_k = 1, the first along n paths of its own, the rival along n paths that share
    their first edge; their outputs are their own, or the same. The rival's gate is on for a share s of the samples,
    its effective correlation. From decoupled weights, the rival's shared edge a, its other L − 1 edges b (alike in all
    n paths) and the strength π = a b^(L−1) obey, for outputs of their own,

        τ ȧ = n b^(L−1) s (1 − π),    τ ḃ = a b^(L−2) s (1 − π),    so that a² − n b² is kept.

    From a balanced start, a = √n b, this is a chain of L weights which sharing has made faster by n^(1/L):

        τ π̇ = n^(1/L) s L π^(2−2/L) (1 − π).

    Any other start of the same π is faster, for π grows with n (∂π/∂a)² + (L − 1) (∂π/∂b)², a sum of L terms whose
    product π alone decides, and which is least where they are equal. The first pathway is such a chain with n = s = 1.
    With the same outputs both see the error 1 − π_first − π_rival, and race for it.

    Example:
        >>> import festina as fs
        >>> model = fs.models.TwoPathways(rival_correlation=0.5)
        >>> model.theory()([5.0, 10.0])["learned"].round(2)  # half the correlation takes twice the time
        array([[0.96, 0.13],
               [1.  , 0.96]])
    """

    name = "two-pathways"
    sources = (SAXE_2022, LECTURE)
    variables = {
        "learned": Variable("strength π of a pathway, as a share of its target", ("pathway",)),
        "loss": Variable("loss ½⟨|y − h|²⟩"),
    }
    quick = {"records": 100}

    answers: Literal["own", "same"] = structural("own", help="outputs of their own for either pathway, or the same")
    depth: Depth = structural(2, help="layers of the first pathway")
    rival_depth: Depth = structural(2, help="layers L of the rival")
    path_count: Paths = structural(1, help="outputs n, and paths that share the rival's first edge")
    rival_correlation: Share = continuous(
        1.0, help="share s of samples on which the rival's gate is on: its correlation"
    )
    initial: Strength = continuous(1e-3, scale="log", help="strength π₀ of the first pathway at t = 0")
    rival_start: Factor = continuous(1.0, scale="log", help="strength of the rival at t = 0, over that of the first")
    rival_imbalance: Ratio = continuous(
        1.0, scale="log", help="first weight of the rival over its others at the same strength; balanced at 1"
    )
    width: int = structural(4, ge=1, le=256, help="hidden units in every layer of a path")
    until: LogDuration = continuous(50.0, unit="τ", help="when to stop")
    records: int = structural(300, ge=10, le=10_000, help="recordings, evenly spaced in log time")

    equations = (
        Equation(
            r"\tau \dot \pi = n^{1/L}\, s\, L\, \pi^{2 - 2/L}\, (1 - \pi)",
            "A pathway of L layers with the correlation s, whose first edge n paths share, from a balanced start.",
        ),
    )
    presets = (
        Preset("less data", "A gate that is on for half of the samples: twice the time.", {"rival_correlation": 0.5}),
        Preset("deeper", "From a small start a third layer is slow.", {"rival_depth": 3}),
        Preset("large and deeper", "From a large start it is fast.", {"rival_depth": 3, "initial": 0.4}),
        Preset("shared edge", "Four paths through one edge: twice as fast.", {"path_count": 4}),
        Preset("one target", "The faster pathway has most of it in the end.", {"path_count": 4, "answers": "same"}),
    )

    @field_validator("rival_start")
    @classmethod
    def _leaves_something_to_learn(cls, rival_start: float, info: ValidationInfo) -> float:
        initial = info.data.get("initial", 0.0)
        if knows_numbers(info) and rival_start * initial >= 1.0:
            raise ValueError(f"be below 1/`initial`, {1.0 / initial:g}, for the rival to have something to learn")
        return rival_start

    def coordinates(self) -> dict[str, list[str]]:
        return {"pathway": list(PATHWAYS)}

    @property
    def routes(self) -> dict[str, list[list[str]]]:
        """The nodes of every path: those of the rival share their first hidden node."""
        found: dict[str, list[list[str]]] = {name: [] for name in PATHWAYS}
        for number in range(1, self.path_count + 1):
            for name, depth in zip(PATHWAYS, (self.depth, self.rival_depth), strict=True):
                own = [f"{name}{number}.{layer}" for layer in range(1, depth)]
                hidden = ["rival", *own[1:]] if name == "rival" else own
                output = f"y{number}" if self.answers == "same" else f"y{number}.{name}"
                found[name].append(["x", *hidden, output])
        return found

    @property
    def weights(self) -> Float[Array, " 3"]:
        """At t = 0: every weight of the first pathway, the rival's first, and its others."""
        ratio = self.path_count**0.5 * self.rival_imbalance
        own = (self.initial * self.rival_start / ratio) ** (1.0 / self.rival_depth)
        return jnp.stack([jnp.asarray(self.initial, float) ** (1.0 / self.depth), ratio * own, own])

    def start(self, key: Key) -> Begin:
        """Weights along random directions of the hidden units, with the strengths chosen."""
        weight, shared, own = self.weights
        sizes = {"first": (weight, weight), "rival": (shared, own)}
        edges, bases = {}, {}
        directions = iter(_directions(key, self.path_count * (self.depth + self.rival_depth), self.width))
        for name, routes in self.routes.items():
            for route in routes:
                for place, (source, target) in enumerate(pairwise(route)):
                    edges[f"{source}->{target}"] = sizes[name][min(place, 1)][None]
                bases |= {node: next(directions) for node in route[1:-1] if node not in bases}
                bases |= {node: jnp.ones((1, 1)) for node in (route[0], route[-1])}
        written = [" -> ".join(route) for routes in self.routes.values() for route in routes]
        graph = fs.networks.Graph.of(*written, widths={node: basis.shape[0] for node, basis in bases.items()})
        share = jnp.asarray(self.rival_correlation, float)
        return Begin(jnp.stack([share, 1.0 - share]), fs.networks.Gated.decoupled(graph, edges, bases))

    def world(self, start: Begin) -> fs.worlds.GatedDataset:
        """Two samples: the rival's gate is on for the first. What only a closed pathway could answer is 0."""
        always, sometimes = np.ones((2, 1)), np.array([[1.0], [0.0]])
        outputs = {route[-1]: name for name, routes in self.routes.items() for route in routes}
        alone = self.answers == "own"
        targets = {node: sometimes if alone and name == "rival" else always for node, name in outputs.items()}
        return fs.worlds.GatedDataset({"x": always}, targets, {"rival": sometimes[:, 0]}, start.probabilities)

    def process(self, start: Begin) -> Process:
        samples, last = self.world(start).samples, {name: routes[0] for name, routes in self.routes.items()}

        def rate(network: Gated, stage: Array) -> Gated:
            return jax.tree.map(jnp.negative, jax.grad(samples.loss)(network))

        def strength(network: Gated, route: list[str]) -> Float[Array, ""]:
            signal = jnp.ones(1)
            for source, target in pairwise(route):
                signal = network.weights[f"{source}->{target}"] @ signal
            return signal[0]

        def observe(state: State) -> Observed:
            network = state.parameters
            return {
                "learned": jnp.stack([strength(network, last[name]) for name in PATHWAYS]),
                "loss": samples.loss(network),
            }

        times = jnp.concatenate([jnp.zeros(1), self.until * jnp.geomspace(FIRST, 1.0, self.records)])
        tolerance, solver = fs.learning.Tolerance(1e-9, 1e-12), fs.learning.TSITOURAS
        return fs.learning.flow_process(rate, start.network, times, observe, tolerance=tolerance, solver=solver)

    def solution(self, start: Begin) -> Solution:
        """The race reduction, in which paths of one pathway are alike."""
        depths, on = (self.depth, self.rival_depth), float(start.probabilities[0])
        weights, same = np.asarray(self.weights), self.answers == "same"
        race = fs.theory.speeds.race(depths, weights, paths=self.path_count, correlation=on, same=same)

        def curves(time: np.ndarray) -> Curves:
            found = race(time)
            return {"learned": found["strength"], "loss": found["loss"]}

        return curves


def _directions(key: Key, count: int, width: int) -> Float[Array, "count width 1"]:
    """Random unit vectors."""
    drawn = jnp.asarray(fs.draws.normal(key, (count, width, 1)))
    return drawn / jnp.linalg.norm(drawn, axis=1, keepdims=True)
