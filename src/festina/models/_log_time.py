"""The flow of small starts: nothing happens for long, then everything, so that recordings are even in log time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

import festina as fs
from festina._lazy import jax, jnp
from festina.config import continuous, structural
from festina.model import Model

if TYPE_CHECKING:
    from festina.models._types import Array, Float, Observed, Process

FIRST = 1.0  # time of the first recording after the start

LateDuration = Annotated[float, Field(ge=2 * FIRST, le=1e4)]
"""When to stop: well after the first recording."""


class LogTime(Model):
    """A model that follows gradient flow from a small start."""

    until: LateDuration = continuous(200.0, unit="τ", help="when to stop")
    records: int = structural(80, ge=2, le=10_000, help="recordings, evenly spaced in log time")

    def flow(
        self, network: Any, loss: Callable[[Any], Float[Array, ""]], observe: Callable[[Any], Observed]
    ) -> Process:
        """Gradient flow of a network on its loss, from t = 0.

        Tsitouras' method has half as many stages as the default one, and takes as long to run.
        """

        def rate(network: Any, stage: Array) -> Any:
            return jax.tree.map(jnp.negative, jax.grad(loss)(network))

        later = jnp.exp(jnp.linspace(jnp.log(FIRST), jnp.log(self.until), self.records))
        times = jnp.concatenate([jnp.zeros(1), later])
        tolerance = fs.learning.Tolerance(relative=1e-8, absolute=1e-11)
        return fs.learning.flow_process(
            rate,
            network,
            times,
            lambda state: observe(state.parameters),
            tolerance=tolerance,
            solver=fs.learning.TSITOURAS,
        )
