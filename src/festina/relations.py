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
    """Each value lies below a bound."""
    return Relation(f"< {bound:g}", "each", lambda values: bool(np.all(values < bound)))


def above(bound: float) -> Relation:
    """Each value lies above a bound."""
    return Relation(f"> {bound:g}", "each", lambda values: bool(np.all(values > bound)))


def between(low: float, high: float) -> Relation:
    """The mean of the values lies between two bounds."""
    return Relation(f"{low:g} … {high:g}", "mean", lambda values: bool(low <= np.mean(values) <= high))


def near(value: float, tolerance: float) -> Relation:
    """The mean of the values is a number, give or take a tolerance."""
    return Relation(f"{value:g}", f"± {tolerance:g}", lambda values: bool(abs(np.mean(values) - value) <= tolerance))
