"""The periodic orbit of two equal paths that learn two tasks in alternation, and what it does to a small difference.

Three numbers are the whole state: both weights w and the gate c of either path. Steps of so few numbers are quicker
taken one by one in plain Python than compiled, anew for every length of a block.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

CLOSER = 4  # steps of Newton's method that lead onto the orbit

State = tuple[float, ...]  # w_1, w_2 and c
Rates = tuple[float, float]  # dt/τ_w and dt/τ_c


class Orbit(NamedTuple):
    """One round of two blocks on the orbit.

    Attributes:
        errors: ε in every step.
        multiplier: by which a small difference of the paths grows.
        drift: by how much errors changed in the last round on the way there.
        distance: how far they then were from those of the orbit; infinite if there is no single orbit.
    """

    errors: Float[np.ndarray, "t 2"]
    multiplier: float
    drift: float
    distance: float


def followed_round(rates: Rates, normalization: float, steps: int, rounds: int) -> Orbit:
    """The orbit that two equal paths come to after so many rounds, made exact by Newton's method.

    Args:
        rates: of weights and gates, dt/τ_w and dt/τ_c.
        normalization: coefficient of (‖c‖₁ − 1)².
        steps: of a block.
        rounds: on the way, at least two.
    """

    def through(state: State, rounds: int) -> tuple[State, np.ndarray, np.ndarray]:
        course = _course(state, rates, normalization, steps, rounds)
        states = np.asarray(course[-2 * steps * min(rounds, 2) - 1 : -1])
        shown = np.tile(np.repeat(np.eye(2), steps, axis=0), (min(rounds, 2), 1))
        return course[-1], states, shown - 2.0 * states[:, 2:] * states[:, :2]

    with np.errstate(over="ignore", invalid="ignore"):  # of steps that are too long, as the drift then says
        state, _, errors = through((0.1, 0.1, 0.5), rounds)
        before, last = errors[: 2 * steps], errors[2 * steps :]
        drift = float(np.max(np.abs(last - before)))
        for _ in range(CLOSER):
            after, states, errors = through(state, 1)
            slope = _product(_slopes(states, errors, rates, normalization)) - np.eye(3)
            if not np.isfinite(slope).all() or np.linalg.matrix_rank(slope) < 3:
                return Orbit(last, np.nan, drift, np.inf)
            state = tuple((np.asarray(state) - np.linalg.solve(slope, np.subtract(after, state))).tolist())
        errors = through(state, 1)[2]
        multiplier = np.max(np.abs(np.linalg.eigvals(_product(_factors(errors, rates)))))
        return Orbit(errors, float(multiplier), drift, float(np.max(np.abs(errors - last))))


def _course(state: State, rates: Rates, normalization: float, steps: int, rounds: int) -> list[State]:
    """Both weights and the gate of two equal paths, from step to step through rounds of two blocks."""
    (of_weights, of_gate), (first, second, gate) = rates, state
    course = [state]
    for task in [0.0, 1.0] * rounds:
        for _ in range(steps):
            first_error = (1.0 - task) - 2.0 * gate * first
            second_error = task - 2.0 * gate * second
            pull = (first * first_error + second * second_error) - 2.0 * normalization * (2.0 * gate - 1.0)
            first = first + of_weights * gate * first_error
            second = second + of_weights * gate * second_error
            gate = gate + of_gate * pull
            course.append((first, second, gate))
    return course


def _slopes(
    states: Float[np.ndarray, "t 3"], errors: Float[np.ndarray, "t 2"], rates: Rates, normalization: float
) -> Float[np.ndarray, "t 3 3"]:
    """The derivative of each step of two equal paths with respect to the state before it."""
    (of_weights, of_gate), weights, gates = rates, states[:, :2], states[:, 2]
    slopes = np.tile(np.eye(3), (len(states), 1, 1))
    slopes[:, [0, 1], [0, 1]] -= 2.0 * of_weights * gates[:, None] ** 2
    slopes[:, :2, 2] = of_weights * (errors - 2.0 * gates[:, None] * weights)
    slopes[:, 2, :2] = of_gate * (errors - 2.0 * gates[:, None] * weights)
    slopes[:, 2, 2] -= of_gate * (2.0 * np.sum(weights**2, axis=1) + 4.0 * normalization)
    return slopes


def _factors(errors: Float[np.ndarray, "t 2"], rates: Rates) -> Float[np.ndarray, "t 3 3"]:
    """What each step makes of a small difference (d, c̄) of two paths that are equal otherwise."""
    factors = np.tile(np.eye(3), (len(errors), 1, 1))
    factors[:, :2, 2], factors[:, 2, :2] = rates[0] * errors, rates[1] * errors
    return factors


def _product(factors: Float[np.ndarray, "t 3 3"]) -> Float[np.ndarray, "3 3"]:
    """The product of all factors, later ones on the left: pairs of neighbours, pairs of pairs, and so on."""
    while len(factors) > 1:
        paired = factors[1::2] @ factors[: len(factors) - len(factors) % 2 : 2]
        factors = np.concatenate([paired, factors[len(factors) - len(factors) % 2 :]])
    return factors[0]
