"""Initial strengths of the closed form, fitted to a loss curve."""

from collections.abc import Callable
from functools import cache
from typing import Any

import festina as fs
from festina._lazy import jax, jnp, np

GUESSES = (-18.0, -10.0)  # logarithms, of the common and of the other paths
CLOSE = {"xatol": 1e-3, "fatol": 1e-6}  # in logarithms, and in shares of the loss


@cache
def best_curve(contexts: int, scale: float, starts: int, clock: tuple[float, ...], curve: tuple[float, ...]) -> Any:
    """The closed form L/L(0), with one or two initial strengths, whose largest distance from a curve is least."""
    from scipy.optimize import minimize

    predicted = closed_form(contexts, scale, clock)

    def squares(logs: Any) -> float:
        return float(np.mean((predicted(logs) - curve) ** 2))

    def largest(logs: Any) -> float:
        return float(np.max(np.abs(predicted(logs) - curve)))

    near = minimize(squares, np.array(GUESSES[:starts]), method="Nelder-Mead", options=CLOSE).x
    return predicted(minimize(largest, near, method="Nelder-Mead", options=CLOSE).x)


@cache
def closed_form(contexts: int, scale: float, clock: tuple[float, ...]) -> Callable[[Any], Any]:
    """L/L(0) on a clock, by the logarithms of initial strengths (one for both kinds of path, or two); compiled."""
    strengths = fs.worlds.multitask(contexts).strengths
    theory, whole = (
        fs.theory.rectified.two_phases(contexts, strengths, contexts - 1, scale),
        fs.theory.rectified.initial_loss(strengths),
    )

    @jax.jit
    def curve(first: Any, last: Any) -> Any:
        return theory(jnp.asarray(clock), jnp.exp(first), jnp.exp(last)) / whole

    def predicted(logs: Any) -> Any:
        with fs.double():
            return np.asarray(curve(logs[0], logs[-1]))

    return predicted
