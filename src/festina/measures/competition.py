"""How a race ended: by one pathway or by many, and by which."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from festina.errors import require


def dominance(strengths: Float[Any, "*batch paths"]) -> Float[np.ndarray, "*batch"]:
    """max π/Σπ of strengths π ≥ 0: 1/M if all M pathways are alike, 1 if one has everything."""
    values = _checked(strengths)
    return values.max(axis=-1) / values.sum(axis=-1)


def effective_number(strengths: Float[Any, "*batch paths"]) -> Float[np.ndarray, "*batch"]:
    """(Σπ)²/Σπ² of strengths π ≥ 0: how many pathways take part, from 1 to M."""
    values = _checked(strengths)
    return values.sum(axis=-1) ** 2 / (values**2).sum(axis=-1)


def winner_entropy(winners: Int[Any, " runs"], paths: int) -> float:
    """Entropy of the winner over runs, in units of ln M: 0 if it is always the same, 1 if all M win equally often."""
    require(paths >= 2, "paths", "be at least 2", paths)
    counts = np.bincount(np.asarray(winners), minlength=paths)
    require(counts.size == paths and counts.sum() > 0, "winners", f"be numbers from 0 to {paths - 1}", winners)
    shares = counts[counts > 0] / counts.sum()
    return float(-np.sum(shares * np.log(shares)) / np.log(paths)) + 0.0


def coverage(strengths: Float[Any, "*batch views"], level: float = 0.5) -> Float[np.ndarray, "*batch"]:
    """The share of views that, shown alone, get more than a part of the answer.

    A view of amplitude 1 and strength π is answered with π. Beware: V views that share one target equally give 1/V
    each. From V = 2 on none is then above one half, and coverage reads 0 for a network that answers perfectly whenever
    all views are there. It says how an answer is shared out, not whether views were learned.
    """
    return np.mean(np.asarray(strengths) > level, axis=-1)


def _checked(strengths: Any) -> np.ndarray:
    values = np.asarray(strengths)
    sound = bool(np.all(values >= 0) and np.all(values.sum(axis=-1) > 0))
    require(sound, "strengths", "be zero or positive, and not all zero", strengths)
    return values
