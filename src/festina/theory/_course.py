"""The course of a flow at any times: explicit steps where they suffice, implicit ones where the flow is stiff.

What an integration did not finish is never handed out: it is NaN inside a JAX transformation, and refused elsewhere.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from festina.arrays import real, xp
from festina.compiling import brief_jit
from festina.errors import require
from festina.learning.flow import Tolerance, flow_process
from festina.precision import is_traced, to_numpy

RELATIVE, ABSOLUTE = 1e-11, 1e-13
STIFF = 1e4  # relaxation times; explicit steps are bound to be shorter than about three of them

Rate = Callable[[Any, Any], Any]


def course(rate: Rate, start: Any, time: Any, timescale: Any, given: Any, fastest: Callable[[], Any]) -> Any:
    """The flow of ``rate(state, given)`` from t = 0, at any finite times, with their shape before its own.

    Args:
        rate: what is integrated; two that are equal share one compilation.
        start: the state at t = 0.
        time: t ≥ 0, in any order.
        timescale: τ.
        given: constants of ``rate``.
        fastest: an estimate of the fastest relaxation, in units of 1/τ.

    Example:
        >>> import jax.numpy as jnp
        >>> import festina as fs
        >>> from festina.theory.views import course
        >>> with fs.double():
        ...     decay = course(lambda state, speed: -speed * state, jnp.ones(1), [0.0, 1.0], 1.0, 2.0, lambda: 2.0)
        >>> decay.round(4).tolist()  # e^−2
        [[1.0], [0.1353]]
    """
    if not is_traced(time):
        values = np.asarray(time, float)
        require(bool(np.all((values >= 0) & np.isfinite(values))), "time", "be finite, and not be negative", time)
    times = real(time)
    order = xp.argsort(times.reshape(-1))
    rising = xp.concatenate([np.zeros(1), times.reshape(-1)[order] / timescale])
    found = _traced(rate, start, rising, given) if is_traced((start, rising, given)) else None
    if found is None:
        stiff = float(fastest()) * float(rising[-1]) > STIFF
        found, reached = (None, False) if stiff else _explicit(rate, start, rising, given)
        if not np.all(reached):
            found = _implicit(rate, start, np.asarray(rising), given)
    back, found = xp.argsort(order), to_numpy(found)
    return jax.tree.map(lambda leaf: leaf[1:][back].reshape(times.shape + leaf.shape[1:]), found)


def _traced(rate: Rate, start: Any, times: Float[Array, " n"], given: Any) -> Any:
    found, reached = _explicit(rate, start, times, given)
    return jax.tree.map(lambda leaf: jnp.where(reached.reshape(-1, *(1,) * (leaf.ndim - 1)), leaf, jnp.nan), found)


@partial(brief_jit, static_argnums=0)
def _explicit(rate: Rate, start: Any, times: Float[Array, " n"], given: Any) -> tuple[Any, Any]:
    """The states, and which of them are those of their times."""
    process = flow_process(
        lambda state, stage: rate(state, given),
        start,
        times,
        lambda state: {"here": state.parameters},
        tolerance=Tolerance(RELATIVE, ABSOLUTE),
    )

    def to_next(state: Any, index: Any) -> Any:
        state = process.advance(state, index)
        return state, (state.parameters, state.time >= times[index])

    later, reached = jax.lax.scan(to_next, process.initial, jnp.arange(1, times.shape[0]))[1]
    states = jax.tree.map(lambda first, rest: jnp.concatenate([first[None], rest]), start, later)
    return states, jnp.concatenate([jnp.ones(1, bool), reached])


def _implicit(rate: Rate, start: Any, times: np.ndarray, given: Any) -> Any:
    """The same by backward differentiation with the exact Jacobian."""
    from scipy.integrate import solve_ivp

    begin, restore = ravel_pytree(start)

    def field(state: Any) -> Any:
        return ravel_pytree(rate(restore(state), given))[0]

    moves, slopes = brief_jit(field), brief_jit(jax.jacfwd(field))
    apart, places = np.unique(times, return_inverse=True)
    solved = solve_ivp(
        lambda _, state: np.asarray(moves(state)), apart[[0, -1]], np.asarray(begin), "LSODA", apart,
        rtol=RELATIVE, atol=ABSOLUTE, jac=lambda _, state: np.asarray(slopes(state)),
    )  # fmt: skip
    whole = solved.success and solved.y.shape[1] == len(apart) and bool(np.all(np.isfinite(solved.y)))
    require(whole, "time", "be one that the integration reaches", float(times[-1]))
    rows = [restore(state) for state in solved.y.T]
    return jax.tree.map(lambda *leaves: np.stack(leaves)[places], *to_numpy(rows))
