"""What a claim that does not apply, or is undecided, says that it needs."""

from collections.abc import Callable
from math import ceil, floor, inf, log10
from typing import Any

from festina._lazy import np
from festina.claims import NotApplicable, Undecided


def require_case(condition: Any, what: str) -> None:
    """Not applicable unless a condition holds: `needs margins on either side of √(2/3)`."""
    if not condition:
        raise NotApplicable(f"needs {what}")


def entries(config: Any, name: str, which: Callable[[Any], bool], what: str) -> list[Any]:
    """Those of a field's several values for which something holds; not applicable if it holds of none."""
    found = [value for value in getattr(config, name) if which(value)]
    require_case(found, what)
    return found


def require_enough(enough: Any, why: str, config: Any, name: str, value: float | Callable[[], float]) -> None:
    """Undecided unless a condition holds everywhere: `not learned yet: needs --until 340`, the value of a field.

    If the value has a meaning only where the condition does not hold, it is a function.
    """
    if not np.all(enough):
        raise Undecided(f"{why}: {needs(config, name, value() if callable(value) else value)}")


def needs(config: Any, name: str, value: float) -> str:
    """`needs --until 340`: a value for a field, rounded up to two digits, or that the field does not go so far."""
    enough, most = rounded_up(value), most_of(config, name)
    option = f"--{name.replace('_', '-')}"
    return f"needs {option} {enough:g}" + (f", but {most:g} is the most there is" if enough > most else "")


def rounded_up(value: float) -> float:
    """To two digits."""
    digit = 10.0 ** (floor(log10(value)) - 1)
    return ceil(value / digit - 1e-9) * digit


def most_of(config: Any, name: str) -> float:
    """The largest value that a field allows; infinite if it has no bound."""
    return next((bound.le for bound in type(config).model_fields[name].metadata if hasattr(bound, "le")), inf)
