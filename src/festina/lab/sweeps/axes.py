"""The axes of a sweep, as people write them: `field=lin:a:b:n`, `field=log:a:b:n`, `field=a,b,c`."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from festina.errors import ArgumentError, UnknownName
from festina.experiment import Experiment

FORMS = "field=lin:first:last:count, field=log:first:last:count or field=value,value,…"


@dataclass(frozen=True)
class Axis:
    """A field and the values it takes."""

    name: str
    values: tuple[Any, ...]


def parse_axis(text: str) -> Axis:
    """Read one `--over` argument."""
    name, equals, values = text.partition("=")
    if not equals or not name.strip() or not values.strip():
        raise ArgumentError(f"Argument `over` must look like {FORMS}, but is {text!r}.")
    kind, _, rest = values.partition(":")
    if kind in ("lin", "log") and rest:
        return Axis(name.strip(), _spaced(text, kind, rest))
    return Axis(name.strip(), tuple(part.strip() for part in values.split(",") if part.strip()))


def _spaced(text: str, kind: str, rest: str) -> tuple[float, ...]:
    parts = rest.split(":")
    try:
        first, last, count = float(parts[0]), float(parts[1]), int(parts[2])
    except (ValueError, IndexError):
        first, last, count = 0.0, 0.0, 0
    if len(parts) != 3 or count < 1 or not np.isfinite([first, last]).all():
        raise ArgumentError(
            f"Argument `over` must look like {FORMS} with finite ends and a count of at least 1, but is {text!r}."
        )
    if kind == "log" and not (first > 0 and last > 0):
        raise ArgumentError(f"Argument `over` must go from and to positive values on a log axis, but is {text!r}.")
    spaced = np.linspace(first, last, count) if kind == "lin" else np.geomspace(first, last, count)
    return tuple(float(value) for value in spaced)


def plain(value: Any) -> Any:
    """A field's value as a coordinate: a tuple of one is its one value, a longer one is text."""
    if not isinstance(value, tuple):
        return value
    return value[0] if len(value) == 1 else ",".join(_short(part) for part in value)


def described(name: str, value: Any) -> str:
    """A field and its value as one reads them."""
    return f"{name}={_short(plain(value))}"


def _short(value: Any) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{value:g}" if is_number else str(value)


def checked(experiment: Experiment, axes: list[Axis], budget: Any, fields: dict[str, Any]) -> list[Axis]:
    """Every value of every axis as its field's own type, or the sentence that says which one is not allowed."""
    seen: set[str] = set()
    result = []
    for axis in axes:
        if axis.name not in experiment.Config.model_fields:
            raise UnknownName(f"field of {experiment.name}", axis.name, experiment.Config.model_fields)
        if axis.name in seen:
            raise ArgumentError(f"Argument `over` must name each field once, but names {axis.name!r} twice.")
        if axis.name in fields:
            raise ArgumentError(
                f"Argument `over` must not name `{axis.name}`, which is also fixed to {fields[axis.name]}."
            )
        if not axis.values:
            raise ArgumentError(f"Argument `over` must give {axis.name!r} at least one value, but gives none.")
        seen.add(axis.name)
        configs = [experiment.configure(budget, **(fields | {axis.name: value})) for value in axis.values]
        values = tuple(getattr(config, axis.name) for config in configs)
        if len(set(values)) < len(values):
            raise ArgumentError(f"Argument `over` must give {axis.name!r} different values, but repeats one: {values}.")
        result.append(Axis(axis.name, values))
    return result
