"""Rectified networks learn in small steps.

Where a unit slides along the edge of its active set, the slope jumps at every step of an adaptive solver, which then
hardly gets on. Descent with a small fixed step slides along without harm.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import TYPE_CHECKING, Any

import festina as fs
from festina._lazy import jax
from festina.config import structural
from festina.model import Model
from festina.ranges import Duration, SmallStepSize

if TYPE_CHECKING:
    from festina.models._types import Array, Float, Observed, Process


class SmallSteps(Model):
    """A model that learns by descent in small steps; a longer run has more of them, and not larger ones."""

    until: Duration = structural(50.0, unit="τ", help="when to stop")
    step_size: SmallStepSize = structural(0.01, unit="τ", help="longest step of descent")
    records: int = structural(200, ge=10, le=10_000, help="recordings, evenly spaced")

    @property
    def steps_per_record(self) -> int:
        """Steps between two recordings, as few as ``step_size`` allows."""
        return max(1, ceil(self.until / (self.records * self.step_size) - 1e-9))

    def descend(
        self, network: Any, loss: Callable[[Any], Float[Array, ""]], observe: Callable[[Any], Observed]
    ) -> Process:
        """Descent of a network on its loss, with what is observed of it; nothing in it is random."""
        from festina.learning.descent import no_data

        return fs.learning.descent_process(
            lambda network, data, stage: jax.grad(lambda network: -loss(network))(network),
            network,
            jax.random.key(0),
            self.until / (self.records * self.steps_per_record),
            self.records,
            self.steps_per_record,
            lambda state: observe(state.parameters),
            draw=no_data,
        )
