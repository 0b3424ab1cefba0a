"""The flow of small starts: nothing happens for long, then everything, so that recordings are even in log time."""

from typing import Annotated, Any

from pydantic import Field

import festina as fs
from festina._lazy import jnp

FIRST = 1.0  # time of the first recording after the start

LateDuration = Annotated[float, Field(ge=2 * FIRST, le=1e4)]
"""When to stop: well after the first recording."""


def log_time_flow(config: Any, rate: Any, start: Any, observe: Any) -> Any:
    """The flow from t = 0 to ``config.until`` with ``config.records`` recordings after the first.

    Tsit5 has half as many stages as the default method, and takes half the time to compile for as much to run.
    """
    from diffrax import Tsit5

    later = jnp.exp(jnp.linspace(jnp.log(FIRST), jnp.log(config.until), config.records))
    times = jnp.concatenate([jnp.zeros(1), later])
    tolerance = fs.learning.Tolerance(relative=1e-8, absolute=1e-11)
    return fs.learning.flow_process(rate, start, times, observe, tolerance=tolerance, solver=Tsit5())
