"""How well a sequence of inferred tasks agrees with the true one, and how soon it notices a switch."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from festina._lazy import optimize
from festina.errors import require
from festina.notebook import told


class Switching(NamedTuple):
    """Agreement of inferred tasks with true ones, as `switching` finds it.

    Args:
        accuracy: share of all steps in which the inferred task is the true one.
        detected: share of switches that are answered by a change to the right task within the time allowed.
        delay: median number of steps from a detected switch to its answer.
        false_alarms: inferred switches that answer no true one, for each true one.
        labels: the true task that each inferred one stands for (−1: none).

    Example:
        >>> import festina as fs
        >>> found = fs.measures.switching(inferred=[1, 1, 1, 1, 0, 0, 0, 0], true=[0, 0, 0, 1, 1, 1, 1, 1])
        >>> found.delay, found.labels
        (1.0, array([1, 0]))
    """

    accuracy: float
    detected: float
    delay: float
    false_alarms: float
    labels: np.ndarray

    def __repr__(self) -> str:
        return (
            f"right in {self.accuracy:.1%} of steps; {self.detected:.0%} of switches detected, "
            f"after {self.delay:g} steps in the median; {self.false_alarms:.2g} false alarms a switch"
        )

    def _repr_html_(self) -> str:
        return told(repr(self))


def switching(inferred: Any, true: Any, within: int = 10, after: int = 0) -> Switching:
    """Compare inferred with true tasks, whatever the numbers by which each calls them.

    Inferred tasks are matched one to one with true ones so that they agree as often as possible. A switch is detected
    if within a number of steps (and before the next switch) the inferred task changes to the right one.

    Args:
        inferred: the inferred task of every step, as `Abstracted.tasks`.
        true: the true one.
        within: steps after a switch in which it has to be noticed.
        after: steps at the beginning that do not count, such as those in which the tasks are still being learned.

    Returns:
        A `Switching`: accuracy, share of switches detected, their delay, and false alarms.

    Example:
        >>> import festina as fs
        >>> fs.measures.switching(inferred=[1, 1, 1, 1, 0, 0, 0, 0], true=[0, 0, 0, 1, 1, 1, 1, 1])
        right in 87.5% of steps; 100% of switches detected, after 1 steps in the median; 0 false alarms a switch
    """
    guess, truth = (np.asarray(values) for values in (inferred, true))
    fits = guess.ndim == truth.ndim == 1 and len(guess) == len(truth)
    require(fits, "true", f"have one task for each of the {len(guess)} steps", f"of shape {truth.shape}")
    require(within >= 0, "within", "be zero or positive", within)
    require(0 <= after < len(guess), "after", f"leave some of the {len(guess)} steps", after)
    guess, truth = guess[after:].astype(int), truth[after:].astype(int)
    labels = matched_labels(guess, truth)
    meant = labels[guess]
    right = meant == truth
    switches = (np.flatnonzero(np.diff(truth)) + 1).tolist()
    ends = [*switches[1:], len(truth)][: len(switches)]
    delays = np.array([_answer(meant, truth, start, end) for start, end in zip(switches, ends, strict=True)], float)
    noticed = delays <= within
    alarms = len(np.flatnonzero(np.diff(guess))) - np.isfinite(delays).sum()
    some = len(switches) > 0
    return Switching(
        float(right.mean()),
        float(noticed.mean()) if some else float("nan"),
        float(np.median(delays[noticed])) if noticed.any() else float("nan"),
        float(alarms / len(switches)) if some else float("nan"),
        labels,
    )


def _answer(meant: np.ndarray, truth: np.ndarray, start: int, end: int) -> float:
    """Steps from a switch to the step in which the inferred task becomes the new one; infinite if it never does.

    Who believed in the new task before it came has not noticed the switch.
    """
    if meant[start - 1] == truth[start]:
        return float("inf")
    right = meant[start:end] == truth[start]
    return float(np.argmax(right)) if right.any() else float("inf")


def matched_labels(inferred: Int[np.ndarray, " steps"], true: Int[np.ndarray, " steps"]) -> Int[np.ndarray, " kinds"]:
    """For each inferred label the true one it stands for: the one-to-one matching that agrees most often.

    Args:
        inferred: a label for every step, from 0 on.
        true: the same for the true labels.

    Returns:
        The true label of each inferred one; −1 for those that are left over.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> fs.measures.matched_labels(np.array([2, 2, 0, 0, 1]), np.array([0, 0, 1, 1, 1]))
        array([ 1, -1,  0])
    """
    for name, values in (("inferred", inferred), ("true", true)):
        require(values.min() >= 0, name, "be numbered from 0", int(values.min()))
    table = np.zeros((inferred.max() + 1, true.max() + 1), int)
    np.add.at(table, (inferred, true), 1)
    rows, columns = optimize.linear_sum_assignment(table, maximize=True)
    labels = np.full(len(table), -1)
    labels[rows] = columns
    return labels
