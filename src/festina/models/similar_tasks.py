"""Several tasks on one input, and a network with a shared pathway and one for each task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import Field

import festina as fs
from festina._lazy import jnp, np, xr
from festina.config import continuous, structural
from festina.model import Equation, Preset, Variable
from festina.models._log_time import LogTime
from festina.ranges import Start
from festina.sources import SAXE_2022

if TYPE_CHECKING:
    from festina.models._types import Array, Curves, Float, Gated, Key, Observed, Process, Solution

TaskCount = Annotated[int, Field(ge=2, le=12)]
Norm = Annotated[float, Field(ge=0, le=1)]
TOGETHER = 128  # networks whose reductions are integrated as one


class Begin(NamedTuple):
    """Unit targets of the tasks, Σyx of every pathway, the strength of its weights that grow, and the network."""

    targets: Float[Array, "tasks outputs"]
    cross: Float[Array, "paths outputs"]
    growing: Float[Array, " paths"]
    network: Gated


class SimilarTasks(LogTime):
    """A gated network that learns C tasks on one input, by a pathway shared by all and one of its own for each.

    Unit targets y_c have the cosine ρ, pair by pair, which their mean target decides: ρ = (C|ȳ|² − 1)/(C − 1), from
    −1/(C−1) at |ȳ| = 0 to 1 at |ȳ| = 1. One pathway of two layers is always on, one more for each task is on in that
    task only, all equally wide and equally small at first. Small weights grow along Σyx(p), at the rate 2S_p: S = |ȳ|
    for the shared pathway and 1/C for a private one, which are equal at ρ* = −1/C. Theory is the race reduction
    for vectors (`festina.theory.views.vector_race`) from the start of the network, with nothing fitted; it neglects the
    part of a random start that does not grow, and so is for small starts.

    Example:
        >>> import festina as fs
        >>> model = fs.models.SimilarTasks(tasks=2, mean_target=0.75, width=4)
        >>> model.theory()(200.0)["strength"].shape  # of the shared pathway, and of one for each task
        (3,)
    """

    name = "similar-tasks"
    sources = (SAXE_2022,)
    variables = {
        "strength": Variable("norm of each pathway's map", ("path",)),
        "loss": Variable("loss ½⟨|y − h|²⟩"),
    }
    quick = {"width": 8, "until": 120.0, "records": 60}

    tasks: TaskCount = structural(2, help="tasks C")
    mean_target: Norm = continuous(0.75, help="norm |ȳ| of the mean target; the cosine ρ of targets is (C|ȳ|²−1)/(C−1)")
    initial: Start = continuous(1e-4, scale="log", help="strength of the pathways at t = 0 (its mean)")
    width: int = structural(16, ge=1, le=1024, help="hidden units of every pathway")

    equations = (
        Equation(
            r"S_{\text{shared}} = |\bar y| = \sqrt{\frac{1 + (C - 1)\rho}{C}}, "
            r"\qquad S_{\text{private}} = \frac1C, \qquad \rho^* = -\frac1C",
            "Small pathways grow at the rates 2S, which are equal if the targets of C tasks have the cosine ρ*.",
        ),
        Equation(
            r"\frac{|\bar y|^2}{\langle |y|^2 \rangle} = \frac{1 + (C - 1)\rho}{C}",
            "Above ρ* the shared pathway learns the mean target ȳ and ends with this share of all energy; below, with "
            "nothing.",
        ),
    )
    presets = (
        Preset("shared", "The shared pathway learns the mean target first; private ones are left with the rest."),
        Preset("private", "Below ρ* private pathways learn all, and the shared one nothing.", {"mean_target": 0.3}),
        Preset("large start", "From large weights all pathways learn side by side.", {"initial": 0.3}),
    )

    @property
    def cosine(self) -> float:
        """ρ of the targets."""
        return cosine_at(self.tasks, self.mean_target)

    def coordinates(self) -> dict[str, list[str]]:
        return {"path": ["shared", *(f"task{number}" for number in range(1, self.tasks + 1))]}

    def start(self, key: Key) -> Begin:
        """W₁ ~ N(0, σ²) and W₂ ~ N(0, σ²/H) give a pathway the strength |(W₂ᵀu + W₁)/2|² = σ²(H + 1)/4, on average."""
        world = fs.worlds.similar_tasks(self.tasks, self.cosine)
        hidden = world.pathways
        widths = {"x": 1, "y": self.tasks, **dict.fromkeys(hidden, self.width)}
        graph = fs.networks.Graph.of(f"x -> {', '.join(hidden)} -> y", widths=widths)
        scale = jnp.sqrt(4.0 * self.initial / (self.width + 1.0))
        network = fs.networks.Gated.init(fs.draws.fold_in(key, self.tasks), graph, scale)
        return Begin(world.targets, world.cross, growing(network, world.cross), network)

    def process(self, start: Begin) -> Process:
        samples = fs.worlds.similar_tasks(self.tasks, self.cosine).dataset.samples

        def observe(network: Gated) -> Observed:
            return {"strength": jnp.linalg.norm(pathway_maps(network), axis=-1), "loss": samples.loss(network)}

        return self.flow(start.network, samples.loss, observe)

    def solution(self, start: Begin) -> Solution:
        return lambda time: curves_of([start], time)[0]

    @classmethod
    def solutions(cls, models: Sequence[SimilarTasks], starts: Sequence[Begin], times: np.ndarray) -> Iterator[Curves]:
        """Many at once where they record at the same times."""
        if not np.all(times == times[:1]):
            yield from super().solutions(models, starts, times)  # pyright: ignore[reportReturnType]
            return
        for first in range(0, len(starts), TOGETHER):
            yield from curves_of(starts[first : first + TOGETHER], times[0])

    @classmethod
    def measure(cls, data: xr.Dataset) -> dict[str, xr.DataArray]:
        strength = data["strength"].transpose(..., "path")
        counts = {"dominance": fs.measures.dominance, "effective_number": fs.measures.effective_number}
        return {"share": shared_energy(strength)} | {
            name: strength.isel(path=0, drop=True).copy(data=function(strength.values))
            for name, function in counts.items()
        }


def cosine_at(tasks: Any, mean_target: Any) -> Any:
    """ρ of C unit targets whose mean has the norm |ȳ|: (C|ȳ|² − 1)/(C − 1)."""
    return (tasks * mean_target**2 - 1.0) / (tasks - 1.0)


def shared_energy(strength: xr.DataArray) -> xr.DataArray:
    """|m_shared|²/(|m_shared|² + mean over tasks of |m_task|²)."""
    energy = strength**2
    shared, private = energy.isel(path=0, drop=True), energy.isel(path=slice(1, None)).mean("path")
    return shared / (shared + private)


def pathway_maps(network: Gated) -> Float[Array, "paths outputs"]:
    """m_p = W₂(p) W₁(p) of every pathway from the one input."""
    first, second = network.blocks
    pathways = first.shape[0] // network.graph.nodes[1][1]
    return jnp.einsum("oph,ph->po", second.reshape(second.shape[0], pathways, -1), first.reshape(pathways, -1))


def growing(network: Gated, cross: Float[Array, "paths outputs"]) -> Float[Array, " paths"]:
    """|(W₂ᵀu + W₁)/2|² of every pathway along u, the direction of its Σyx."""
    first, second = network.blocks
    squares = jnp.sum(cross**2, axis=1, keepdims=True)
    along = cross / jnp.sqrt(jnp.where(squares > 0, squares, 1.0))
    first = first.reshape(cross.shape[0], -1)
    return jnp.sum(((jnp.einsum("oph,po->ph", second.reshape(-1, *first.shape), along) + first) / 2) ** 2, axis=1)


def curves_of(starts: Sequence[Begin], time: np.ndarray) -> list[Curves]:
    """The reduction of networks with equally many tasks, integrated as one."""
    overlaps = fs.worlds.similar_tasks(len(starts[0].targets), 0.0).overlaps
    cross, begin = (np.stack([getattr(start, name) for start in starts]) for name in ("cross", "growing"))
    maps = np.asarray(fs.theory.views.vector_race(cross, overlaps, begin)(time)["map"])
    found = []
    for number, start in enumerate(starts):
        own = maps[..., number, :, :]
        left = start.targets - own[..., :1, :] - own[..., 1:, :]
        loss = 0.5 * np.mean(np.sum(left**2, axis=-1), axis=-1)
        found.append({"strength": np.linalg.norm(own, axis=-1), "loss": loss})
    return found
