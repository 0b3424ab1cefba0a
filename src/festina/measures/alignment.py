"""Silent alignment: how much of its final direction a kernel takes before the loss shows anything.

The kernel's alignment with the target over time, A(t) = ⟨K, yyᵀ⟩/(|K||yyᵀ|), is
:func:`festina.measures.kernels.target_alignment`. Let t* be the moment at which the loss has fallen by a share f (10 %)
of its initial value. The alignment is silent to the degree to which it is done by then,

    silent share = (A(t*) − A(0)) / (A(∞) − A(0)),

1 if the kernel first turns and then only grows (small initial weights), near 0 if it turns while, or after, the loss
falls (large initial weights). Atanasov, Bordelon & Pehlevan 2021 describe the effect; the number is defined here.
"""

import numpy as np
from jaxtyping import Float

from festina.errors import require


def silent_share(
    loss: Float[np.ndarray, "*batch time"], alignment: Float[np.ndarray, "..."], fallen: float = 0.1
) -> Float[np.ndarray, "*batch"]:
    """(A(t*) − A(0))/(A(∞) − A(0)), with t* the first time at which L(t*) = (1 − fallen)·L(0).

    Between recordings the alignment is taken as a linear function of the loss; the last recording stands for t = ∞.
    NaN for a loss that never falls so far, and for an alignment that ends where it began.

    Args:
        loss: over time, on the last axis.
        alignment: at the same times: with the target, with the final kernel, or any other.
        fallen: share of the initial loss, between 0 and 1.

    Returns:
        One number for each run: 1 if the kernel has turned before the loss falls, 0 if it only turns afterwards.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> loss, alignment = np.array([1.0, 1.0, 0.9, 0.0]), np.array([0.2, 0.6, 0.8, 1.0])
        >>> round(float(fs.measures.silent_share(loss, alignment)), 6)
        0.75
    """
    require(0 < fallen < 1, "fallen", "lie strictly between 0 and 1", fallen)
    require(loss.shape == alignment.shape, "alignment", f"have the shape of the loss, {loss.shape}", alignment.shape)
    there = at_fall(loss, alignment, fallen)
    start, end = alignment[..., 0], alignment[..., -1]
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(end == start, np.nan, (there - start) / (end - start)))


def at_fall(
    loss: Float[np.ndarray, "*batch time"], curve: Float[np.ndarray, "*batch time"], fallen: float = 0.1
) -> Float[np.ndarray, "*batch"]:
    """The value of a curve (or the time itself) when the loss has first fallen by a share of its initial value.

    Linear in the loss between recordings; NaN if the loss never falls so far.

    Args:
        loss: over time, on the last axis.
        curve: at the same times.
        fallen: share of the initial loss, between 0 and 1.

    Returns:
        One value for each run.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> time, loss = np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, 1.0, 0.5, 0.0])
        >>> round(float(fs.measures.at_fall(loss, time, fallen=0.25)), 6)
        1.5
    """
    level = (1.0 - fallen) * loss[..., :1]
    below = loss <= level
    after = np.maximum(np.argmax(below, axis=-1), 1)[..., None]
    (loss_before, loss_after), (before, behind) = (
        (np.take_along_axis(values, after - 1, axis=-1), np.take_along_axis(values, after, axis=-1))
        for values in (loss, curve)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (loss_before - level) / (loss_before - loss_after)
    found = (before + share * (behind - before))[..., 0]
    return np.asarray(np.where(below.any(axis=-1), found, np.nan))
