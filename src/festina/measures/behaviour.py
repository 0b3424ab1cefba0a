"""What an animal does in a two-choice task with gratings, from P(right) for each stimulus.

Stimuli are on the last axis, from the strongest grating on the left, over none, to the strongest on the right: three of
them (left, none and right), or any other odd number. Slopes are those of the strongest gratings.
"""

import numpy as np
from jaxtyping import Float


def bias(right: Float[np.ndarray, "*batch stimulus"]) -> Float[np.ndarray, "*batch"]:
    """p0 − ½: the preference for the right choice when there is nothing to see.

    Args:
        right: P(right) for every stimulus, on the last axis.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> float(fs.measures.behaviour.bias(np.array([0.25, 0.75, 1.0])))
        0.25
    """
    return np.asarray(right[..., right.shape[-1] // 2] - 0.5)


def slopes(right: Float[np.ndarray, "*batch stimulus"]) -> Float[np.ndarray, "*batch 2"]:
    """(p0 − pL, pR − p0): how much a grating on the left, and one on the right, changes the choice.

    Args:
        right: P(right) for every stimulus, on the last axis.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> fs.measures.behaviour.slopes(np.array([0.25, 0.75, 1.0]))
        array([0.5 , 0.25])
    """
    return np.diff(right[..., :: right.shape[-1] // 2], axis=-1)


def slope_difference(right: Float[np.ndarray, "*batch stimulus"]) -> Float[np.ndarray, "*batch"]:
    """(pR − p0) − (p0 − pL): the right slope of the psychometric curve minus its left one.

    Args:
        right: P(right) for every stimulus, on the last axis.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> float(fs.measures.behaviour.slope_difference(np.array([0.25, 0.75, 1.0])))
        -0.25
    """
    return np.asarray(np.diff(slopes(right), axis=-1)[..., 0])


def accuracy(right: Float[np.ndarray, "*batch stimulus"]) -> Float[np.ndarray, "*batch"]:
    """(1 − pL + pR)/2: the share of correct choices among trials with a grating, each shown equally often.

    Args:
        right: P(right) for every stimulus, on the last axis.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> float(fs.measures.behaviour.accuracy(np.array([0.25, 0.75, 1.0])))
        0.875
    """
    none = right.shape[-1] // 2
    return np.asarray(0.5 * (1.0 - right[..., :none].mean(axis=-1) + right[..., none + 1 :].mean(axis=-1)))


def window(
    course: Float[np.ndarray, "*batch sessions stimulus"], first: int, last: int
) -> Float[np.ndarray, "*batch stimulus"]:
    """The mean over the sessions ``first`` to ``last``, both included; entry 0 is the state before the first.

    Args:
        course: P(right) by session and stimulus, on the last two axes.
        first: session of the window.
        last: session of the window.

    Returns:
        P(right) for every stimulus.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> course = np.array([[0.5, 0.5, 0.5], [0.4, 0.5, 0.6], [0.2, 0.5, 0.8]])  # before, and after two sessions
        >>> fs.measures.behaviour.window(course, 1, 2).round(3)
        array([0.3, 0.5, 0.7])
    """
    return np.asarray(np.mean(course[..., first : last + 1, :], axis=-2))


def nearest(
    slopes: Float[np.ndarray, "*batch sessions 2"], places: Float[np.ndarray, "places 2"]
) -> Float[np.ndarray, "*batch"]:
    """How near a course in the plane of left and right slope comes to the nearest of several places.

    Args:
        slopes: left and right slope by session, as `slopes` has them.
        places: in the same plane, one a row, such as those of saddles.

    Returns:
        The least distance, over sessions and places, of each course.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> course = np.array([[0.0, 0.0], [0.0, 0.5], [0.5, 0.5]])
        >>> float(fs.measures.behaviour.nearest(course, np.array([[0.0, 0.75], [1.0, 0.5]])))
        0.25
    """
    distances = np.linalg.norm(slopes[..., None, :] - places, axis=-1)
    return np.asarray(distances.min(axis=(-2, -1)))


def across_animals(one: Float[np.ndarray, " animals"], other: Float[np.ndarray, " animals"]) -> float:
    """Pearson's correlation of two measures across animals; NaN if either does not vary.

    Args:
        one: a number for each animal, such as its early bias.
        other: of the same animals, such as their late one.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> early, late = np.array([-0.2, 0.1, 0.4]), np.array([-0.1, 0.0, 0.1])
        >>> round(fs.measures.behaviour.across_animals(early, late), 6)
        1.0
    """
    if np.std(one) == 0 or np.std(other) == 0:
        return float("nan")
    return float(np.corrcoef(one, other)[0, 1])
