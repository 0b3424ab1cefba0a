"""What is expected of a measured quantity: a bound on each of its values, or a value of their mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from festina._lazy import np


@dataclass(frozen=True)
class Relation:
    """What is expected of a quantity, as text and as a test of its values."""

    says: str
    tolerance: str
    holds: Callable[[Any], bool]

    def __str__(self) -> str:
        return spelled(self.says, self.tolerance)


def spelled(says: str, tolerance: str) -> str:
    """What is expected, give or take what, as in `0.8165 ± 0.02`; a bound is its own sentence."""
    return f"{says} {tolerance}" if tolerance.startswith("±") else says


def below(bound: float) -> Relation:
    """Each value lies below a bound.

    Args:
        bound: which no value may reach.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> expected = fs.claims.below(0.2)
        >>> str(expected), expected.holds(np.array([0.1, 0.15])), expected.holds(np.array([0.1, 0.3]))
        ('< 0.2', True, False)
    """
    return Relation(f"< {bound:g}", "each", lambda values: bool(np.all(values < bound)))


def above(bound: float) -> Relation:
    """Each value lies above a bound.

    Args:
        bound: which no value may reach.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> fs.claims.above(0.9).holds(np.array([0.95, 0.85]))
        False
    """
    return Relation(f"> {bound:g}", "each", lambda values: bool(np.all(values > bound)))


def between(low: float, high: float) -> Relation:
    """The mean of the values lies between two bounds.

    Args:
        low: the least mean that is allowed.
        high: the largest one.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> fs.claims.between(0.4, 0.6).holds(np.array([0.2, 0.8]))
        True
    """
    return Relation(f"{low:g} … {high:g}", "mean", lambda values: bool(low <= np.mean(values) <= high))


def near(value: float, tolerance: float) -> Relation:
    """The mean of the values is a number, give or take a tolerance.

    Args:
        value: of the mean.
        tolerance: by how much it may be off, to either side.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> expected = fs.claims.near(0.8165, 0.02)
        >>> str(expected), expected.holds(np.array([0.81, 0.83]))
        ('0.8165 ± 0.02', True)
    """
    return Relation(f"{value:g}", f"± {tolerance:g}", lambda values: bool(abs(np.mean(values) - value) <= tolerance))
