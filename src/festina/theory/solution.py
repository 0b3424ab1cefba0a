"""The contract of theory: a function of time that gives named variables."""

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Solution(Protocol):
    """A solution with its initial condition inside, callable at any times.

    ``solution(t)`` gives a dictionary of arrays, under the names the simulation uses, each with the shape of
    ``t`` before its own.
    """

    def __call__(self, time: Any) -> dict[str, Any]: ...
