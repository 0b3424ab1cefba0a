"""A decision between left and right: on which side is the grating? With contrasts, and sometimes with no grating.

Stimuli are ordered as a psychometric curve is: from the strongest grating on the left, over none, to the strongest on
the right. Three pathways lead from them to a decision: one for gratings on the left, one for those on the right, and
one that is always on,

    x = (f(c) 1{left}, f(c) 1{right}, 1),    f(c) = (c / c_max)^γ.

With the grading γ = 0 a pathway sees whether there is a grating, as in the model of Liebana Garcia et al. (2025); with
γ = 1 it sees its contrast.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from festina.errors import require

PATHWAYS = ("left", "right", "const")
CHOICES = ("left", "right")
Contrasts = Sequence[float] | Float[np.ndarray, " contrast"]


def signed_contrasts(contrasts: Contrasts) -> Float[np.ndarray, " stimulus"]:
    """All stimuli by their signed contrast: gratings on the left are negative, 0 is none.

    Args:
        contrasts: of gratings on either side, rising.

    Example:
        >>> fs.worlds.gratings.signed_contrasts((0.25, 0.5))
        array([-0.5 , -0.25,  0.  ,  0.25,  0.5 ])
    """
    right = np.asarray(contrasts, dtype=float)
    sound = right.ndim == 1 and right.size > 0 and bool(np.all(np.diff(right, prepend=0.0) > 0))
    require(sound and bool(np.isfinite(right).all()), "contrasts", "be positive, finite and rising", contrasts)
    return np.concatenate([-right[::-1], [0.0], right])


def inputs(contrasts: Contrasts = (1.0,), grading: Any = 0.0) -> Float[Any, "stimulus 3"]:
    """What each stimulus switches on: x for every one of them, in a NumPy array unless γ is one of JAX.

    Args:
        contrasts: of gratings on either side, rising.
        grading: γ ≥ 0.

    Example:
        >>> fs.worlds.gratings.inputs((0.25, 0.5), grading=1.0).tolist()  # left, const; ...; none; ...; right, const
        [[1.0, 0.0, 1.0], [0.5, 0.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.5, 1.0], [0.0, 1.0, 1.0]]
    """
    signed, right = signed_contrasts(contrasts), np.asarray(contrasts, dtype=float)
    strengths = (right / right[-1]) ** grading
    on_side = np.zeros((signed.size, 3, right.size))
    for place in range(right.size):
        on_side[right.size - 1 - place, 0, place] = on_side[right.size + 1 + place, 1, place] = 1.0
    return on_side @ strengths + np.tile([0.0, 0.0, 1.0], (signed.size, 1))


def rewards(count: int) -> Float[np.ndarray, "stimulus 2"]:
    """The expected reward of the choices left and right for each of ``count`` stimuli: ½ where there is no grating.

    Args:
        count: how many stimuli there are; an odd number.

    Example:
        >>> fs.worlds.gratings.rewards(3).tolist()
        [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
    """
    require(count >= 3 and count % 2 == 1, "count", "be odd, and at least 3", count)
    left = np.repeat([1.0, 0.5, 0.0], [count // 2, 1, count // 2])
    return np.stack([left, 1.0 - left], axis=1)


def shares(count: int, blank: Any) -> Float[Any, " stimulus"]:
    """How often each of ``count`` stimuli is shown: none in a share ``blank`` of trials, all gratings equally often.

    Args:
        count: how many stimuli there are; an odd number.
        blank: share of trials with nothing to see.

    Example:
        >>> fs.worlds.gratings.shares(5, 0.1).round(3).tolist()
        [0.225, 0.225, 0.1, 0.225, 0.225]
    """
    none = (np.arange(count) == count // 2).astype(float)
    return none * blank + (1.0 - none) * ((1.0 - blank) / (count - 1))
