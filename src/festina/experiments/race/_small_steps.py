"""Rectified networks that learn side by side, in small steps.

Where a unit slides along the edge of its active set, the slope jumps at every step of an adaptive solver, which then
hardly gets on. Descent with a small fixed step slides along without harm.
"""

from collections.abc import Callable
from math import ceil
from typing import Any

import festina as fs
from festina._lazy import jax
from festina.experiment import ExperimentConfig, structural
from festina.ranges import Duration, SmallStepSize

SMALL = 1e-2  # up to this standard deviation of its weights the start of a network is called small


class SmallStepsConfig(ExperimentConfig):
    """The fields of descent in small steps; a longer run has more of them, and not larger ones."""

    until: Duration = structural(50.0, unit="τ", help="when to stop")
    step_size: SmallStepSize = structural(0.01, unit="τ", help="longest step of descent")
    records: int = structural(200, ge=10, le=10_000, help="recordings, evenly spaced")

    @property
    def steps_per_record(self) -> int:
        """Steps between two recordings, as few as ``step_size`` allows."""
        return max(1, ceil(self.until / (self.records * self.step_size) - 1e-9))


def small_steps(
    config: SmallStepsConfig,
    key: Any,
    networks: Any,
    losses: Callable[[Any], Any],
    observe: Callable[[Any], dict[str, Any]],
) -> Any:
    """Descent of all networks on the sum of their losses, so that each follows its own.

    Args:
        config: how long, how often to record and in which steps.
        key: of the run.
        networks: stacked.
        losses: of all networks, an array.
        observe: what is recorded of all networks.
    """
    from festina.learning.descent import no_data

    def rate(networks: Any, data: Any, stage: Any) -> Any:
        return jax.grad(lambda networks: -losses(networks).sum())(networks)

    return fs.learning.descent_process(
        rate,
        networks,
        key,
        config.until / (config.records * config.steps_per_record),
        config.records,
        config.steps_per_record,
        lambda state: observe(state.parameters),
        draw=no_data,
    )
