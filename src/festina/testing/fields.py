"""Fields: each with bounds that are refused beyond, a line of help, and a kind."""

import math
import re
from collections.abc import Callable, Iterator
from typing import Annotated, Any, get_args, get_origin

from festina.config import ExperimentConfig, OrInfinite, notes
from festina.errors import ArgumentError

LARGEST, SMALLEST = 1.7e308, 5e-324
Configure = Callable[..., Any]


def field_findings(kind: type[ExperimentConfig], configure: Configure) -> Iterator[str]:
    """What is missing from fields; ``configure(**fields)`` is how a configuration is made and checked."""
    for name, field in kind.model_fields.items():
        if not field.description:
            yield f"field `{name}` has no line of help"
        if not notes(field) or notes(field).get("kind") not in ("continuous", "structural"):
            yield f"field `{name}` is neither `continuous` nor `structural`"
    for name, of in numbers(kind):
        yield from _bound_findings(kind, configure, name, of)


def numbers(kind: type[ExperimentConfig]) -> Iterator[tuple[str, Callable[[float], Any]]]:
    """Fields of real numbers, and for each what makes a value of a number."""
    for name, field in kind.model_fields.items():
        several = get_origin(field.annotation) is tuple
        inner = get_args(field.annotation)[0] if several else field.annotation
        if (get_args(inner)[0] if get_origin(inner) is Annotated else inner) is float:
            yield name, (lambda number: (number,)) if several else (lambda number: number)


def _bound_findings(
    kind: type[ExperimentConfig], configure: Configure, name: str, of: Callable[[float], Any]
) -> Iterator[str]:
    """Refused for their size, whatever else may be wrong with them; the smallest number may pass only for zero."""
    must = f"Argument `{name}` must be"
    large, small, none, tiny = (_refusal(configure, name, of(x)) for x in (LARGEST, -LARGEST, 0.0, SMALLEST))
    if not re.match(rf"{must} less than or equal to [-\d.e+]+,", large):
        yield f"field `{name}` has no upper bound (`le=`) that is refused beyond: {large or 'nothing was said'}"
    if not re.match(rf"{must} greater than or equal to [-\d.e+]+,", small):
        yield f"field `{name}` has no lower bound (`ge=`) that is refused beyond: {small or 'nothing was said'}"
    if tiny.startswith(f"{must} greater") != none.startswith(f"{must} greater"):
        yield f"field `{name}` takes the smallest of all numbers, which no solver can tell from zero"
    if not _refusal(configure, name, of(math.nan)):
        yield f"field `{name}` takes NaN"
    if (_refusal(configure, name, of(math.inf)) == "") != _may_be_infinite(kind, name):
        yield f"field `{name}` takes infinity, and does not say so by `OrInfinite`"


def _may_be_infinite(kind: type[ExperimentConfig], name: str) -> bool:
    field = kind.model_fields[name]
    inner = get_args(get_args(field.annotation)[0]) if get_origin(field.annotation) is tuple else field.metadata
    return any(isinstance(rule, OrInfinite) for rule in inner)


def _refusal(configure: Configure, name: str, value: Any) -> str:
    """The sentence that refuses a value, or nothing."""
    try:
        configure(**{name: value})
    except ArgumentError as error:
        return str(error)
    return ""
