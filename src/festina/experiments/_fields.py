"""Checks that configurations of several experiments share."""

from typing import Any

from pydantic import AfterValidator


def _once(values: tuple[Any, ...]) -> tuple[Any, ...]:
    if len(set(values)) < len(values):
        raise ValueError("hold every value once")
    return values


Distinct = AfterValidator(_once)
"""For tuples whose values become coordinates: ``Annotated[tuple[float, ...], Distinct]``."""
