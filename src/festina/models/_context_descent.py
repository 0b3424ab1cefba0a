"""What models in a world with contexts share: the world, and gradient descent on all its samples at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, ValidationInfo, field_validator

import festina as fs
from festina._lazy import jax, jnp, np
from festina.config import continuous, structural
from festina.model import Model
from festina.ranges import LearningRate, Start, Strength

if TYPE_CHECKING:
    from festina.models._types import Array, ContextWorld, Float, Observed, Process

Contexts = Annotated[int, Field(ge=2, le=8)]


class ContextDescent(Model):
    """Eight objects in C contexts, P = 8C samples, and descent on ½Σ|y − f(x)|²; see `festina.worlds.contexts`."""

    time_unit = "steps"

    contexts: Contexts = structural(3, help="contexts C")
    context_scale: Strength = continuous(1.0, help="size κ of the context's input")
    deviation: Start = continuous(0.005 / 600, scale="log", help="s.d. of initial weights")
    rate: LearningRate = continuous(1e-3, scale="log", help="learning rate on the loss summed over samples")
    steps: int = structural(8000, ge=10, le=1_000_000, help="steps of gradient descent")
    records: int = structural(160, ge=2, le=100_000, help="recordings; must divide the steps")

    @field_validator("records")
    @classmethod
    def _whole(cls, records: int, info: ValidationInfo) -> int:
        if info.data.get("steps", 0) % records:
            raise ValueError(f"divide the {info.data['steps']} steps")
        return records

    @property
    def world(self) -> ContextWorld:
        """In float32: precise enough for curves, and twice as fast."""
        world = fs.worlds.multitask(self.contexts, self.context_scale)
        return jax.tree.map(lambda leaf: jnp.asarray(leaf, np.float32), world)

    def descend(
        self, network: Any, loss: Callable[[Any], Float[Array, ""]], observe: Callable[[Any], Observed]
    ) -> Process:
        """Descent of a network on its mean loss; a rate on the sum over P samples is P times that rate on the mean."""
        from festina.learning.descent import no_data

        samples = fs.worlds.contexts.OBJECTS * self.contexts

        def rate(network: Any, data: None, stage: Array) -> Any:
            slopes = jax.grad(loss)(network)
            return jax.tree.map(lambda slope: -jnp.asarray(self.rate * samples, slope.dtype) * slope, slopes)

        return fs.learning.descent_process(
            rate,
            network,
            jax.random.key(0),
            1.0,
            self.records,
            self.steps // self.records,
            lambda state: observe(state.parameters),
            draw=no_data,
        )
