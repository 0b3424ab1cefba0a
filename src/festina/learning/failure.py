"""Runs that diverged: where, when and in which parameter."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from festina.compiling import quick_jit
from festina.learning.process import Process, State
from festina.precision import to_numpy

Build = Callable[[Any], Process]


@dataclass(frozen=True)
class Failure:
    """Why a run was given up: where it was, and which parameter diverged.

    Args:
        run: its number in the batch.
        time: when.
        step: after how many steps.
        parameter: which diverged.
        cause: what happened to it.
        arm: of the run, if it has a name.

    Example:
        >>> print(fs.learning.Failure(3, time=0.5, step=500, parameter="weights[0]", cause="a non-finite value"))
        run 3 failed at step 500 (t = 0.5): a non-finite value in `weights[0]`
    """

    run: int
    time: float
    step: int
    parameter: str
    cause: str
    arm: str = ""

    def __str__(self) -> str:
        run = f"run {self.run}, {self.arm}," if self.arm else f"run {self.run}"
        return f"{run} failed at step {self.step} (t = {self.time:g}): {self.cause} in `{self.parameter}`"


def diagnose(build: Build, run: int, inputs: Any, before: State, end: State, finite: np.ndarray) -> Failure:
    """Where and why one run failed in a chunk that led from ``before`` to ``end``."""
    found = to_numpy(_first_bad_step(build, inputs, before, end.step))
    time, step = end.time, end.step
    if found["known"]:
        finite, time, step = found["finite"], found["time"], found["step"]
    cause = "a non-finite value" if not finite.all() else "growth or stiffness that no step size can follow"
    return Failure(run, float(time), int(step), _name_parameter(end.parameters, finite), cause)


@partial(quick_jit, static_argnums=0)
def _first_bad_step(build: Build, inputs: Any, state: State, last: Int[Array, ""]) -> dict[str, Array]:
    """Repeat the chunk of one run step by step, up to the first step that leaves a value non-finite."""
    step = build(inputs).step
    if step is not None:
        state = jax.lax.while_loop(lambda s: jnp.all(finite(s.parameters)) & (s.step < last), lambda s: step(s), state)
    known = jnp.asarray(step is not None)
    return {"known": known, "finite": finite(state.parameters), "time": state.time, "step": state.step}


def _name_parameter(parameters: Any, finite: np.ndarray) -> str:
    """The first non-finite parameter, or, if all are finite, the largest."""
    named = jax.tree_util.tree_leaves_with_path(parameters)
    sizes = [float(np.max(np.abs(np.nan_to_num(np.asarray(leaf))), initial=0.0)) for _, leaf in named]
    place = int(np.argmin(finite)) if not finite.all() else int(np.argmax(sizes))
    return jax.tree_util.keystr(named[place][0]).lstrip(".") or "state"


def finite(parameters: Any) -> Bool[Array, " leaves"]:
    return jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(parameters)])
