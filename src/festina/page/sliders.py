"""Where a field's slider goes: within what is allowed, around the value it starts at."""

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from festina.config import notes
from festina.lab.tables import value_text

WIDE = 100.0  # a range of such a ratio, or a value so far below its end, is seen better in logarithms
AROUND = 100.0  # how far a logarithmic slider goes, up and down, where nothing bounds it
NARROW = 5.0  # times the reach of a linear slider: a range of real numbers that is seen whole
NUDGE = 1e-3  # of the range, to stay clear of an end that is excluded


@dataclass(frozen=True)
class Bound:
    """An end of what is allowed; None where there is none."""

    value: float | None = None
    exclusive: bool = False


def bounds_of(field: Any) -> tuple[Bound, Bound]:
    """The smallest and the largest value of a field."""
    low, high = Bound(), Bound()
    for rule in field.metadata:
        for name, exclusive in (("ge", False), ("gt", True)):
            if getattr(rule, name, None) is not None:
                low = Bound(getattr(rule, name), exclusive)
        for name, exclusive in (("le", False), ("lt", True)):
            if getattr(rule, name, None) is not None:
                high = Bound(getattr(rule, name), exclusive)
    return low, high


def slider(field: Any, value: Any) -> dict[str, Any] | None:
    """The ends and the scale of a slider around a value; None for what is no number, or only one."""
    if field.annotation not in (int, float) or isinstance(value, bool):
        return None
    low, high = bounds_of(field)
    whole = field.annotation is int
    if _is_wide(field, low, high, float(value)):
        first, last = value / AROUND, value * AROUND
        first, last = max(first, _inner(low, value, 1)), min(last, _inner(high, value, -1))
        scale = "log"
    else:
        first, last = _linear_ends(low, high, float(value))
        if not whole:
            first, last = _near(first, last, float(value))
        scale = "lin"
    if whole:
        first, last = max(round(first), int(low.value) if low.value is not None else round(first)), round(last)
        first = max(first, 1) if scale == "log" else first  # a fraction of a small number is rounded to none
    last = max(last, value)
    return {"from": first, "to": last, "scale": scale} if first < last else None


MOST_VALUES = 12  # of a field that has several


def values_of(field: Any, value: Any) -> dict[str, Any] | None:
    """How single values of a field are entered that holds several, one for each arm; None for any other field."""
    if "several" not in notes(field):
        return None
    single = FieldInfo.from_annotation(get_args(field.annotation)[0])
    single.json_schema_extra = notes(field)
    low, high = bounds_of(single)
    choices = list(get_args(single.annotation)) if get_origin(single.annotation) is Literal else None
    kinds = {int: "integer", float: "number"}
    return {
        "type": "choice" if choices else kinds.get(single.annotation, "text"),  # pyright: ignore[reportArgumentType]
        "slider": None if choices else _slider_for_all(single, value),
        "minimum": low.value,
        "maximum": high.value,
        "choices": choices,
        "most": MOST_VALUES,
    }


def _slider_for_all(field: Any, values: Any) -> dict[str, Any] | None:
    """A slider on which all values have a place; those that are not finite have none."""
    finite = [each for each in values if isinstance(each, int | float) and math.isfinite(each)]
    ranges = [found for each in finite if (found := slider(field, each)) is not None]
    if not ranges:
        return None
    scale = "lin" if any(each["scale"] == "lin" for each in ranges) else "log"
    return {"from": min(each["from"] for each in ranges), "to": max(each["to"] for each in ranges), "scale": scale}


def _is_wide(field: Any, low: Bound, high: Bound, value: float) -> bool:
    if value <= 0 or (low.value is None or low.value < 0):
        return False
    if notes(field).get("scale") == "log":
        return True
    if high.value is None or field.annotation is float:
        return False
    return value * WIDE < high.value or (low.value > 0 and high.value / low.value > WIDE)


def _linear_ends(low: Bound, high: Bound, value: float) -> tuple[float, float]:
    first = value - _reach(value) if low.value is None else _inner(low, value, 1)
    last = value + _reach(value) if high.value is None else _inner(high, value, -1)
    return first, last


def _near(first: float, last: float, value: float) -> tuple[float, float]:
    """The part of a range around a value; all of it, if it does not go much further."""
    reach = _reach(value)
    if last - first <= NARROW * reach:
        return first, last
    return max(first, value - reach), min(last, value + reach)


def _reach(value: float) -> float:
    return 2 * abs(value) or 1.0


def _inner(bound: Bound, value: float, direction: int) -> float:
    """A bound that may be reached; where it is excluded, a step inside, where there is none, infinitely far."""
    if bound.value is None:
        return -direction * float("inf")
    distance = abs(value - bound.value) or 1.0
    return bound.value + direction * NUDGE * distance if bound.exclusive else float(bound.value)


def as_control(value: Any) -> Any:
    """A value as it stands in a control, and as the server takes it back."""
    if isinstance(value, list | tuple):
        nested = any(isinstance(part, list | tuple) for part in value)
        return str([list(part) for part in value]) if nested else value_text(value)
    return value
