"""The check of fields that name several cases, in the order that claims rely on."""

from itertools import pairwise


def rising(values: tuple[float, ...]) -> tuple[float, ...]:
    """Values that rise, each of them named once; for `field_validator`."""
    if not all(one < other for one, other in pairwise(values)):
        raise ValueError("rise")
    return values
