"""Rectified networks that learn side by side, in small steps.

Where a unit slides along the edge of its active set, the slope jumps at every step of an adaptive solver, which then
hardly gets on. Descent with a small fixed step slides along without harm.
"""

from collections.abc import Callable
from typing import Any

import festina as fs
from festina._lazy import jax

SMALL = 1e-2  # up to this standard deviation of its weights the start of a network is called small


def scaled(network: Any, scales: Any) -> Any:
    """One network for each scale, stacked: they differ in nothing else."""
    return jax.vmap(lambda scale: jax.tree.map(lambda leaf: scale * leaf, network))(scales)


def small_steps(
    config: Any, key: Any, networks: Any, losses: Callable[[Any], Any], observe: Callable[[Any], dict[str, Any]]
) -> Any:
    """Descent of all networks on the sum of their losses, so that each follows its own.

    Args:
        config: has ``until``, ``records`` and ``steps_per_record``.
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
