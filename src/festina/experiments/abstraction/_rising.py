"""The check of fields that name several cases, in the order that claims rely on."""

from itertools import pairwise
from math import inf


def rising(values: tuple[float, ...]) -> tuple[float, ...]:
    """Values that are positive and rise, each of them named once; for `field_validator`."""
    if not all(0 < value < inf for value in values):
        raise ValueError("be positive")
    if not all(one < other for one, other in pairwise(values)):
        raise ValueError("rise")
    return values
