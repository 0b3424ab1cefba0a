"""Two gates that feel nothing but their bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import ValidationInfo, field_validator

import festina as fs
from festina._lazy import jnp, np
from festina.config import continuous, knows_numbers, structural
from festina.model import Equation, Model, Preset, Variable
from festina.ranges import Coefficient, Duration
from festina.sources import SANDBRINK_2024

if TYPE_CHECKING:
    from festina.learning.process import State
    from festina.models._types import Array, Curves, Float, Key, Observed, Process, Solution

NOTHING = 1e-12  # a gate that is no larger counts as zero


class Begin(NamedTuple):
    """Gates at t = 0, and a key that is not used, since no data are drawn."""

    gates: Float[Array, " gates"]
    data: Key


class BoundedGates(Model):
    """Two gates that descend on R(c) = λ₁ Σ max(0, −c) + λ₂ (‖c‖_k − 1)² alone, in Euler steps of τ_c ċ = −∂R/∂c.

    From gates that are not negative the flow is solved in closed form, with s = c₁ + c₂, d = c₁ − c₂ and r = ‖c‖₂:

    - k = 1: s = 1 + (s₀ − 1) e^(−4λ₂t) and d is conserved, until a gate reaches zero. That happens if |d| > 1; the
      other gate then goes on alone, c = 1 + (|d| − 1) e^(−2λ₂(t − t*)), to the end of the segment;
    - k = 2: r = 1 + (r₀ − 1) e^(−2λ₂t), and the direction of c is conserved.

    Example:
        >>> import festina as fs
        >>> model = fs.models.BoundedGates(first=0.9, second=0.3)
        >>> model.theory()(100.0)["gates"].round(3)  # their sum has become 1, and their difference is kept
        array([0.8, 0.2])
    """

    name = "bounded-gates"
    sources = (SANDBRINK_2024,)
    time_unit = "τ_c"
    variables = {"gates": Variable("gates c", ("gate",)), "penalty": Variable("regulariser R")}
    quick = {"records": 200}
    equations = (
        Equation(
            r"\tau_c\, \dot c = -\nabla R, "
            r"\qquad R = \lambda_1 \sum_p \max(0, -c^p) + \lambda_2\, \bigl(\|c\|_k - 1\bigr)^2",
            "Gates that feel nothing but their bounds, which vanish on a whole curve where no gate is negative.",
        ),
        Equation(
            r"c_1 + c_2 = 1 + (s_0 - 1)\, e^{-4 \lambda_2 t/\tau_c}, \qquad c_1 - c_2 = \text{const} \qquad (k = 1)",
            "Positive gates come to the segment along its normal, so that their difference is kept.",
        ),
        Equation(
            r"\|c\|_2 = 1 + (r_0 - 1)\, e^{-2 \lambda_2 t/\tau_c} \qquad (k = 2)",
            "With the Euclidean norm they come to the arc along a ray, so that their direction is kept.",
        ),
    )
    presets = (
        Preset("unequal gates", "Their difference is kept: nothing makes the larger one win."),
        Preset("negative gates", "Gates that both begin below zero are held there.", {"first": -0.6, "second": -0.2}),
    )

    first: float = continuous(0.9, ge=-10, le=10, help="first gate at t = 0")
    second: float = continuous(0.3, ge=-10, le=10, help="second gate at t = 0; not both can be 0")
    nonnegativity: Coefficient = continuous(1 / 11, help="coefficient λ₁ of Σ max(0, −c)")
    normalization: float = continuous(5 / 11, ge=1e-3, le=100, help="coefficient λ₂ of (‖c‖ − 1)²")
    order: Literal[1, 2] = structural(1, help="order k of the norm: ‖c‖₁ or ‖c‖₂")
    until: Duration = structural(200.0, unit="τ_c", help="when to stop")
    steps: int = structural(200_000, ge=1, le=10_000_000, help="Euler steps; gates at zero oscillate by one of them")
    records: int = structural(1000, ge=1, le=1_000_000, help="recordings, evenly spaced; must divide the steps")

    @field_validator("second")
    @classmethod
    def _not_both_zero(cls, second: float, info: ValidationInfo) -> float:
        if knows_numbers(info) and max(abs(second), abs(info.data.get("first", 1.0))) < NOTHING:
            raise ValueError("not be 0 where `first` is, for ‖c‖ has no gradient at (0, 0)")
        return second

    @field_validator("records")
    @classmethod
    def _whole(cls, records: int, info: ValidationInfo) -> int:
        if (steps := info.data.get("steps", 0)) % records:
            raise ValueError(f"divide the {steps} steps there are")
        return records

    def start(self, key: Key) -> Begin:
        return Begin(jnp.stack([jnp.asarray(self.first, float), jnp.asarray(self.second, float)]), key)

    def process(self, start: Begin) -> Process:
        bounds = fs.networks.Regularizer(self.nonnegativity, self.normalization, order=self.order)

        def rate(gates: Float[Array, " gates"], data: None, stage: Array) -> Float[Array, " gates"]:
            return -bounds.slope(gates)

        def observe(state: State) -> Observed:
            return {"gates": state.parameters, "penalty": bounds.of_gates(state.parameters)}

        step, each = self.until / self.steps, self.steps // self.records
        return fs.learning.descent_process(
            rate, start.gates, start.data, step, self.records, each, observe, draw=lambda key: None
        )

    def solution(self, start: Begin) -> Solution | None:
        """The closed form, where no gate begins below zero."""
        if np.min(start.gates) < 0:
            return None
        relaxed = along_segment if self.order == 1 else along_ray

        def curves(time: Any) -> Curves:
            return {"gates": relaxed(np.asarray(start.gates), float(self.normalization), np.asarray(time, float))}

        return curves


def along_ray(
    start: Float[np.ndarray, " gates"], normalization: float, time: Float[np.ndarray, "*t"]
) -> Float[np.ndarray, "*t gates"]:
    """Gates that are not negative, for k = 2: their norm relaxes at the rate 2λ₂, and their direction stays."""
    norm = np.hypot(*start)
    return start * ((1.0 + (norm - 1.0) * np.exp(-2.0 * normalization * time)) / norm)[..., None]


def along_segment(
    start: Float[np.ndarray, " gates"], normalization: float, time: Float[np.ndarray, "*t"]
) -> Float[np.ndarray, "*t gates"]:
    """The same for k = 1: the sum relaxes at the rate 4λ₂ and the difference stays, until the smaller gate is zero."""
    total, apart = start.sum(), abs(start[0] - start[1])
    closes = np.log((total - 1.0) / (apart - 1.0)) / (4.0 * normalization) if apart > 1.0 else np.inf
    alone = 1.0 + (apart - 1.0) * np.exp(-2.0 * normalization * np.maximum(time - closes, 0.0))
    together = 1.0 + (total - 1.0) * np.exp(-4.0 * normalization * time)
    larger = np.where(time < closes, (together + apart) / 2.0, alone)
    smaller = np.where(time < closes, (together - apart) / 2.0, 0.0)
    return np.stack([larger, smaller] if start[0] >= start[1] else [smaller, larger], axis=-1)
