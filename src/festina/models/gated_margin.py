"""A gated linear network at exclusive-or with a margin: the reduction of the rectified one, its gates given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import festina as fs
from festina._lazy import np
from festina.config import continuous, structural
from festina.model import Equation, Preset, Variable
from festina.models._pathways import GatedPathways
from festina.models.margin import Separation
from festina.sources import LECTURE, SAXE_2022

if TYPE_CHECKING:
    from festina.models._types import Dataset, Float

Gating = Literal["one example", "half-planes", "classes", "always on"]


class GatedMargin(GatedPathways):
    """A gated linear network that learns y = z₁z₂ from x = (z₁, z₂, Δ·y), z = (±1, ±1), with pathways that are given.

    Pathways of two layers are on for one example each, for either side of z₁ = 0, for either class, or one is always
    on. No two of them share an example, and Δ = 0 is exclusive-or. From weights along v a pathway sees its correlation
    s and input variance d alone, and is a chain of two weights: π(t) = (s/d)/(1 − (1 − s/(dπ₀))e^{−2st/τ}). A pathway
    that sees no correlation at all starts along the direction in which its inputs vary most, and is stuck.

    Example:
        >>> import festina as fs
        >>> model = fs.models.GatedMargin(gating="half-planes", separation=0.0)
        >>> model.theory()(100.0)["strength"].round(3)  # of two pathways, each with half of exclusive-or
        array([1., 1.])
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

    @property
    def data(self) -> Dataset:
        return fs.worlds.logic.margin(self.separation)

    @property
    def blind(self) -> Float[np.ndarray, "paths 3"]:
        """In which direction the inputs of each pathway vary most without a margin."""
        corners = fs.worlds.logic.xor().inputs
        return np.stack([np.append(np.linalg.svd(gate[:, None] * corners)[2][0], 0.0) for gate in self.gates.values()])
