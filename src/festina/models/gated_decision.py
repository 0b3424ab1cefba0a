"""A gated linear network at context-dependent decisions: pathways for each context, one that is always on, or all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

import festina as fs
from festina._lazy import np
from festina.config import continuous, structural
from festina.model import Equation, Preset, Variable
from festina.models._pathways import Begin, GatedPathways
from festina.sources import LECTURE, SAXE_2022

if TYPE_CHECKING:
    from festina.models._types import Array, Curves, Dataset, Float, Solution

Ratio = Annotated[float, Field(ge=1e-3, le=1e3)]
ALWAYS, *CONTEXTS = PATHWAYS = ("always on", "motion", "colour")


class GatedDecision(GatedPathways):
    """A gated linear network that reports motion or colour, whichever is cued, with pathways that are given.

    Motion and colour are ±1, and the answer is the cued feature, all P = 8 examples alike (`festina.worlds.decision`).
    A pathway that is always on sees s = 1/√2 and λ = 1, and stops at L = ¼. Two pathways, each on in one context, see
    s = ½ and λ = ½: slower at first, but exact, with L = ½(1 − a)². Alone either kind is a chain of two weights. In one
    network they race, and turn as they do: theory is the race reduction for vectors (`festina.theory.views`), with one
    hidden unit for each pathway. A pathway that a network does not have is recorded with strength 0.

    Example:
        >>> import festina as fs
        >>> always, context = (fs.models.GatedDecision(gating=gating).theory() for gating in ("always on", "contexts"))
        >>> float(always(100.0)["loss"].round(3)), float(context(100.0)["loss"].round(3))
        (0.25, 0.0)
    """

    name = "gated-decision"
    sources = (SAXE_2022, LECTURE)
    variables = {
        "loss": Variable("loss"),
        "strength": Variable("strength of each pathway", ("pathway",)),
    }
    quick = {"records": 150}

    gating: Literal["always on", "contexts", "all"] = structural("all", help="which pathways there are")
    advantage: Ratio = continuous(
        1.0, scale="log", help="strength of pathways for contexts over that of the one always on, at t = 0"
    )

    equations = (
        Equation(
            r"\tau \dot a = 2a\, (s - \lambda a), \qquad (s, \lambda) = \bigl(\tfrac{1}{\sqrt 2}, 1\bigr) "
            r"\ \text{or}\ \bigl(\tfrac12, \tfrac12\bigr)",
            "A pathway that is always on sees the first pair of values, and one that is on in one context only the "
            "second.",
        ),
        Equation(
            r"L_{\text{always}} = \tfrac14 + \tfrac12 \bigl(a - \tfrac{1}{\sqrt 2}\bigr)^2, "
            r"\qquad L_{\text{context}} = \tfrac12 (1 - a)^2",
            "The pathway that is always on is faster, but explains no more than half; pathways for each context "
            "explain all.",
        ),
    )
    presets = (
        Preset("race", "The linear pathway is first, and leaves to the others what it cannot explain."),
        Preset("always on", "A pathway that is always on stops at L = ¼.", {"gating": "always on"}),
        Preset("head start", "From ten times the strength pathways for contexts are first.", {"advantage": 10.0}),
    )

    def coordinates(self) -> dict[str, list[str]]:
        return {"pathway": list(PATHWAYS)}

    @property
    def data(self) -> Dataset:
        """With a cue of size 1, which is uncorrelated with all answers: nothing depends on it."""
        return fs.worlds.decision().dataset

    @property
    def gates(self) -> dict[str, np.ndarray]:
        """Which pathway is on for which of the eight examples."""
        found = {ALWAYS: np.ones(len(self.data.inputs)), **fs.worlds.decision().gated.gates}
        chosen = {"always on": [ALWAYS], "contexts": CONTEXTS, "all": PATHWAYS}[self.gating]
        return {name: found[name] for name in chosen}

    @property
    def initials(self) -> Float[Array, " paths"]:
        chosen = np.array([name in CONTEXTS for name in self.gates], float)
        return self.initial * (1.0 + chosen * (self.advantage - 1.0))

    def placed(self, strengths: Float[Array, "*times paths"]) -> Float[Array, "*times pathways"]:
        """All three pathways, those that are not there with strength 0."""
        return strengths @ np.eye(len(PATHWAYS))[[PATHWAYS.index(name) for name in self.gates]]

    def solution(self, start: Begin) -> Solution:
        if self.gating != "all":
            return super().solution(start)
        world, on = self.data, np.stack(list(self.gates.values()))
        cross = start.strengths[:, None] * start.directions
        race = fs.theory.views.vector_race(cross, on @ on.T / on.shape[1], np.asarray(self.initials))

        def curves(time: np.ndarray) -> Curves:
            maps = np.asarray(race(time)["map"])
            answers = np.einsum("pn,ni,...pi->...n", on, world.inputs, maps)
            loss = 0.5 * np.mean((np.asarray(world.targets)[:, 0] - answers) ** 2, axis=-1)
            return {"loss": loss, "strength": self.placed(np.linalg.norm(maps, axis=-1))}

        return curves
