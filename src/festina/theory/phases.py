"""The loss of two phases at given times, and the initial strengths with which it comes closest to a curve; in NumPy.

`TwoPhases` (see `festina.theory.rectified`) has one initial strength for the common path and one for all others. Random
weights do not say what these are, so that they are fitted, the only numbers of the theory that are.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from festina.errors import require
from festina.theory.rectified import Modes, TwoPhases

GUESSES = (-18.0, -10.0)  # logarithms of initial strengths where fits begin, of the common and of the other paths
CLOSE = {"xatol": 1e-3, "fatol": 1e-6}  # where fits end, in logarithms and in shares of the loss


def course(modes: Modes, time: Float[np.ndarray, " times"], initial: float) -> Float[np.ndarray, "times modes"]:
    """π(t)/(S/D) of every mode, in NumPy, and 1 where there is nothing to learn; see `festina.theory.rectified.Modes`.

    Args:
        modes: S and D of each.
        time: of gradient flow on the mean loss.
        initial: π₀ > 0 of all modes.

    Example:
        >>> import festina as fs
        >>> modes = fs.theory.rectified.at_start(2, contexts=4, strengths=[2.0, 1.0])
        >>> fs.theory.phases.course(modes, np.array([0.0, 1000.0]), 0.01).round(3).ravel()
        array([0.008, 1.   ])
    """
    alive = np.asarray(modes.strength) > 0
    start = np.where(alive, modes.strength / (modes.input_variance * initial) - 1.0, 0.0)
    return 1.0 / (1.0 + start * np.exp(-2.0 * np.multiply.outer(time, modes.strength)))


def half_time(modes: Modes, initial: float) -> Float[np.ndarray, " modes"]:
    """When a mode has half of what it comes to, log(S/(Dπ₀) − 1)/2S; zero if it has from the start.

    Args:
        modes: S and D of each.
        initial: π₀ > 0 of all modes.

    Example:
        >>> import festina as fs
        >>> modes = fs.theory.rectified.at_start(2, contexts=4, strengths=[2.0, 1.0])
        >>> fs.theory.phases.course(modes, fs.theory.phases.half_time(modes, 0.01), 0.01).round(3)
        array([[0.5]])
    """
    ratio = np.asarray(modes.strength / (modes.input_variance * initial), float)
    return np.log(np.maximum(ratio - 1.0, 1.0)) / (2.0 * np.where(ratio > 0, modes.strength, 1.0))


def loss_of(theory: TwoPhases, time: Float[np.ndarray, " times"]) -> Callable[[np.ndarray], np.ndarray]:
    """The mean loss at given times as a function of logarithms of initial strengths, one for both kinds or one each.

    Example:
        >>> import festina as fs
        >>> theory = fs.theory.rectified.two_phases(4, [2.0, 1.0, 1.0], size=3)
        >>> fs.theory.phases.loss_of(theory, np.array([0.0, 50.0]))(np.log([1e-6])).round(2)
        array([2.  , 0.25])
    """
    common, contextual = theory.common, theory.contextual

    def loss(logs: np.ndarray) -> np.ndarray:
        first, last = np.exp(logs[0]), np.exp(logs[-1])
        left = (1.0 - course(common, time, first)) ** 2 @ common.energy
        return left + (1.0 - course(contextual, time, last)) ** 2 @ contextual.energy

    return loss


def fitted_starts(
    theory: TwoPhases, time: Float[np.ndarray, " times"], curve: Float[np.ndarray, " times"], starts: int
) -> Float[np.ndarray, " starts"]:
    """Logarithms of the one or two initial strengths whose loss has the least maximal distance from a curve.

    Args:
        theory: both kinds of path.
        time: of gradient flow on the mean loss.
        curve: the mean loss at these times.
        starts: 1 for both kinds of path together, 2 for one each.

    Example:
        >>> import festina as fs
        >>> theory, time = fs.theory.rectified.two_phases(4, [2.0, 1.0, 1.0], size=3), np.linspace(0, 200, 100)
        >>> curve = fs.theory.phases.loss_of(theory, time)(np.array([-12.0, -9.0]))
        >>> fs.theory.phases.fitted_starts(theory, time, curve, 2).round(1)
        array([-12.,  -9.])
    """
    from scipy.optimize import minimize

    require(starts in (1, 2), "starts", "be 1 or 2", starts)
    predicted, whole = loss_of(theory, time), curve[0]

    def squares(logs: np.ndarray) -> float:
        return float(np.mean((predicted(logs) - curve) ** 2) / whole**2)

    def largest(logs: np.ndarray) -> float:
        return float(np.max(np.abs(predicted(logs) - curve)) / whole)

    near = minimize(squares, np.array(GUESSES[:starts]), method="Nelder-Mead", options=CLOSE).x
    return minimize(largest, near, method="Nelder-Mead", options=CLOSE).x
