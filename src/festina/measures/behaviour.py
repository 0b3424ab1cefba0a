"""What an animal does in a two-choice task with the stimuli left, none and right, from P(right) for each of them."""

import numpy as np
from jaxtyping import Float


def bias(right: Float[np.ndarray, "*batch 3"]) -> Float[np.ndarray, "*batch"]:
    """p0 − ½: the preference for the right choice when there is nothing to see."""
    return np.asarray(right[..., 1] - 0.5)


def slopes(right: Float[np.ndarray, "*batch 3"]) -> Float[np.ndarray, "*batch 2"]:
    """(p0 − pL, pR − p0): how much a grating on the left, and one on the right, changes the choice."""
    return np.diff(right, axis=-1)


def slope_difference(right: Float[np.ndarray, "*batch 3"]) -> Float[np.ndarray, "*batch"]:
    """(pR − p0) − (p0 − pL): the right slope of the psychometric curve minus its left one."""
    return np.asarray(np.diff(slopes(right), axis=-1)[..., 0])


def accuracy(right: Float[np.ndarray, "*batch 3"]) -> Float[np.ndarray, "*batch"]:
    """(1 − pL + pR)/2: the share of correct choices among trials with a grating, as often left as right."""
    return np.asarray(0.5 * (1.0 - right[..., 0] + right[..., 2]))


def window(course: Float[np.ndarray, "*batch sessions 3"], first: int, last: int) -> Float[np.ndarray, "*batch 3"]:
    """The mean over the sessions ``first`` to ``last``, both included; entry 0 is the state before the first."""
    return np.asarray(np.mean(course[..., first : last + 1, :], axis=-2))


def nearest(
    slopes: Float[np.ndarray, "*batch sessions 2"], places: Float[np.ndarray, "places 2"]
) -> Float[np.ndarray, "*batch"]:
    """How near a course in the plane of left and right slope comes to the nearest of several places."""
    distances = np.linalg.norm(slopes[..., None, :] - places, axis=-1)
    return np.asarray(distances.min(axis=(-2, -1)))


def across_animals(one: Float[np.ndarray, " animals"], other: Float[np.ndarray, " animals"]) -> float:
    """Pearson's correlation of two measures across animals; NaN if either does not vary."""
    if np.std(one) == 0 or np.std(other) == 0:
        return float("nan")
    return float(np.corrcoef(one, other)[0, 1])
