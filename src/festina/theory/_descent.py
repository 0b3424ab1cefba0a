"""Gradient flow of a loss, for theory that has to be integrated: τ dθ/dt = −∂L/∂θ."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

MOST_STEPS = 1_000_000
SHORTEST = 1e-12  # an integration over no time at all still needs an end


def gradient_flow(
    loss: Callable[[Any], Any],
    start: Any,
    times: Float[Array, " times"],
    timescale: Any,
    observe: Callable[[Any], Any],
    *,
    relative: float,
    absolute: float,
) -> Any:
    """What ``observe`` says of θ at rising times from 0 on, the local error below absolute + relative·|θ|."""
    import diffrax  # takes a while, and few ask for it

    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, state, _: jax.tree.map(lambda slope: -slope / timescale, jax.grad(loss)(state))),
        diffrax.Dopri8(),
        0.0,
        jnp.maximum(times[-1], SHORTEST),
        None,
        start,
        saveat=diffrax.SaveAt(ts=times, fn=lambda t, state, _: observe(state)),
        stepsize_controller=diffrax.PIDController(rtol=relative, atol=absolute),
        max_steps=MOST_STEPS,
    )
    assert solution.ys is not None
    return solution.ys
