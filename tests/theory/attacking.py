"""What attacks on exact solutions share: draws of parameters, and an integration that owes festina nothing."""

from collections.abc import Callable
from typing import Any, overload

import numpy as np
from scipy.integrate import solve_ivp

SOMETIMES = 0.15  # how often a parameter takes a degenerate value


@overload
def between(random: np.random.Generator, low: float, high: float, size: None = None) -> float: ...
@overload
def between(random: np.random.Generator, low: float, high: float, size: int | tuple[int, ...]) -> np.ndarray: ...
def between(random: np.random.Generator, low: float, high: float, size: int | tuple[int, ...] | None = None) -> Any:
    """Log-uniform numbers; a single one unless told how many."""
    return np.exp(random.uniform(np.log(low), np.log(high), size))


def sometimes(random: np.random.Generator) -> bool:
    return bool(random.random() < SOMETIMES)


def orthonormal(random: np.random.Generator, size: int, count: int) -> np.ndarray:
    """Columns of a random orthogonal matrix."""
    return np.linalg.qr(random.normal(size=(size, size)))[0][:, :count]


def instants(random: np.random.Generator, until: float, count: int = 5) -> np.ndarray:
    """The start, the end, and times between them."""
    return np.concatenate([[0.0], np.sort(random.uniform(0.0, until, count - 2)), [until]])


def integrate(
    rate: Callable[[np.ndarray], np.ndarray], start: np.ndarray, times: np.ndarray, fastest: float, small: float = 1e-16
) -> np.ndarray:
    """The flow from ``start`` at rising times from 0 on, times first.

    Args:
        rate: the time derivative of a flat state.
        start: the state at t = 0.
        times: when.
        fastest: about the fastest relaxation; steps are kept below its inverse, since the error estimate of an
            explicit method fails at the edge of its stability.
        small: absolute tolerance.
    """
    settings: dict[str, Any] = {"method": "DOP853", "rtol": 1e-13, "atol": small, "max_step": 1.0 / fastest}
    solved = solve_ivp(lambda _, state: rate(state), (0.0, times[-1]), start, t_eval=times, **settings)
    assert solved.success, solved.message
    return solved.y.T


def until_rest(rate: Callable[[np.ndarray], np.ndarray], start: np.ndarray, fastest: float) -> np.ndarray:
    """Where the flow ends: integrated by stretches until it moves by no more than rounding does."""
    state = start
    for _ in range(500):
        state = integrate(rate, state, np.array([0.0, 10.0 / fastest]), fastest)[-1]
        if np.max(np.abs(rate(state))) < 1e-14 * fastest:
            return state
    raise AssertionError("It does not come to rest.")


def largest(difference: Any, scale: Any = 1.0) -> float:
    """The largest error in units of a scale; what is no number stays none."""
    return float(np.max(np.abs(np.asarray(difference) / scale)))
