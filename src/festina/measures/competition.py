"""How a race ended: by one pathway or by many, and by which; and what it has kept on the way.

Where networks have different numbers of pathways, NaN stands for those that are not there.
"""

from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Float, Int

from festina.errors import require


def dominance(strengths: Float[Any, "*batch paths"]) -> Float[np.ndarray, "*batch"]:
    """max π/Σπ of strengths π ≥ 0: 1/M if all M pathways are alike, 1 if one has everything.

    Args:
        strengths: of the pathways, on the last axis; NaN for one that is not there.

    Returns:
        One number for each network.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> fs.measures.dominance([[1.0, 1.0, 1.0, 1.0], [0.0, 2.0, 0.0, np.nan]])
        array([0.25, 1.  ])
    """
    values, total = _checked(strengths)
    return values.max(axis=-1) / total


def effective_number(strengths: Float[Any, "*batch paths"]) -> Float[np.ndarray, "*batch"]:
    """(Σπ)²/Σπ² of strengths π ≥ 0: how many pathways take part, from 1 to M.

    Args:
        strengths: of the pathways, on the last axis; NaN for one that is not there.

    Returns:
        One number for each network.

    Example:
        >>> import festina as fs
        >>> fs.measures.effective_number([[1.0, 1.0, 1.0, 1.0], [0.0, 2.0, 0.0, 0.0]])
        array([4., 1.])
    """
    values, total = _checked(strengths)
    return total**2 / (values**2).sum(axis=-1)


def winner_entropy(winners: Int[Any, " runs"], paths: int) -> float:
    """Entropy of the winner over runs, in units of ln M: 0 if it is always the same, 1 if all M win equally often.

    Args:
        winners: the number of the pathway that won each run, from 0 to M − 1.
        paths: how many pathways M there are, at least two.

    Example:
        >>> import festina as fs
        >>> fs.measures.winner_entropy([0, 1, 0, 1], paths=2), fs.measures.winner_entropy([1, 1, 1, 1], paths=2)
        (1.0, 0.0)
    """
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

    Args:
        strengths: of the views' pathways, on the last axis; NaN for one that is not there.
        level: the part of the answer that has to be exceeded.

    Returns:
        One number for each network; NaN for one without views.

    Example:
        >>> import festina as fs
        >>> fs.measures.coverage([[0.9, 0.8, 0.1, 0.6], [0.5, 0.5, 0.0, 0.0]])
        array([0.75, 0.  ])
    """
    values = np.asarray(strengths, float)
    there = np.sum(~np.isnan(values), axis=-1)
    return np.where(there > 0, np.sum(values > level, axis=-1) / np.maximum(there, 1), np.nan)


def ratio_change(strengths: xr.DataArray, paths: str) -> xr.DataArray:
    """The largest |Δ ln π_i/π_j| from the first time to the last; 0 if pathways keep the ratios of their start.

    Args:
        strengths: π > 0, with a dimension ``time`` and one of pathways.
        paths: which dimension that is.

    Returns:
        One number for each network, with all other dimensions.

    Example:
        >>> import xarray as xr
        >>> import festina as fs
        >>> twofold, one_alone = [[1.0, 3.0], [2.0, 6.0]], [[1.0, 3.0], [2.0, 3.0]]
        >>> strengths = xr.DataArray([twofold, one_alone], dims=("run", "time", "view"))
        >>> fs.measures.ratio_change(strengths, "view").values.round(3)
        array([0.   , 0.693])
    """
    change = xr.apply_ufunc(np.log, strengths.isel(time=-1) / strengths.isel(time=0))
    return change.max(paths, skipna=False) - change.min(paths, skipna=False)


def drift(quantities: Float[np.ndarray, "*batch time k"]) -> Float[np.ndarray, "*batch"]:
    """The largest |q(t) − q(0)| of quantities q that ought to be conserved, relative to the largest |q(0)|.

    Args:
        quantities: at all times, on the last but one axis; quantities on the last.

    Returns:
        One number for each network.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> fs.measures.drift(np.array([[[4.0, 1.0], [4.0, 1.0]], [[4.0, 1.0], [4.0, 3.0]]]))
        array([0. , 0.5])
    """
    start = quantities[..., :1, :]
    return np.abs(quantities - start).max(axis=(-2, -1)) / np.abs(start).max(axis=(-2, -1))


def _checked(strengths: Any) -> tuple[np.ndarray, np.ndarray]:
    """Strengths with zero for those that are not there, and their sum; NaN where there is none at all."""
    values = np.asarray(strengths, float)
    there = ~np.isnan(values)
    filled = np.where(there, values, 0.0)
    total = np.where(there.any(axis=-1), filled.sum(axis=-1), np.nan)
    sound = not np.any(filled < 0) and not np.any(total == 0)
    require(sound, "strengths", "be zero or positive, and not all zero", strengths)
    return filled, total
