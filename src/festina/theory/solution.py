"""The contract of theory: a function of time that gives named variables."""

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Solution(Protocol):
    """A solution with its initial condition inside, callable at any times.

    ``solution(t)`` gives a dictionary of arrays, under the names the simulation uses, each with the shape of
    ``t`` before its own.

    Example:
        >>> import festina as fs
        >>> isinstance(fs.theory.chain(2, strength=1.0, initial=1e-3), fs.theory.Solution)
        True
        >>> sorted(fs.theory.chain(2, strength=1.0, initial=1e-3)([0.0, 1.0]))
        ['loss', 'product']
    """

    def __call__(self, time: Any) -> dict[str, Any]: ...
