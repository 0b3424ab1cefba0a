"""What a test knows and the types do not say: that something which may be missing is there."""

from typing import Any, TypeVar

from festina.model import Model
from festina.theory.solution import Solution

Kind = TypeVar("Kind")


def there(value: Kind | None) -> Kind:
    """What may be None elsewhere, and is not here."""
    assert value is not None
    return value


def solution_of(model: Model, start: Any = None) -> Solution:
    """The exact solution of a model that has one; most of those that sample do not depend on the start."""
    return there(model.solution(start))


def unsolved(model: Model) -> bool:
    """Whether there is no exact solution at the settings of a model."""
    return model.solution(None) is None
