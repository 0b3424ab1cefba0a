"""What can be said of a configuration field without running anything: its flag, what it allows, its default."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin

from festina.config import OrInfinite, notes
from festina.experiment import Experiment
from festina.lab.tables import value_text

WORDS = {float: "number", int: "whole number", bool: "true or false", str: "text"}
METAVARS = {float: "X", int: "N", bool: "BOOL"}
SIGNS = {"gt": ">", "ge": "≥", "lt": "<", "le": "≤"}


@dataclass(frozen=True)
class Facts:
    """A field as help texts and tables show it."""

    name: str
    help: str
    default: str
    quick: str
    allowed: str
    unit: str
    kind: str
    metavar: str

    @property
    def sentence(self) -> str:
        """One line of help with everything in it."""
        default = f"default {self.default}" + (f", at the quick budget {self.quick}" if self.quick else "")
        unit = f"in {self.unit}" if self.unit else ""
        return f"{self.help} [{'; '.join(part for part in (self.allowed, unit, default, self.kind) if part)}]"

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


def facts_of(experiment: Experiment) -> list[Facts]:
    """Every field of an experiment, in order."""
    return [_facts(experiment, name, field) for name, field in experiment.Config.model_fields.items()]


def _facts(experiment: Experiment, name: str, field: Any) -> Facts:
    about = notes(field) or {}
    return Facts(
        name=name,
        help=field.description or "",
        default=value_text(field.default),
        quick=value_text(experiment.quick[name]) if name in experiment.quick else "",
        allowed=_allowed(field),
        unit=about.get("unit", ""),
        kind=about.get("kind", ""),
        metavar=_metavar(field.annotation),
    )


def _allowed(field: Any) -> str:
    return " ".join([_type(field.annotation), _bounds(field.metadata)]).strip()


def _bounds(rules: Iterable[Any]) -> str:
    """The bounds among the rules of a type, as in `> 0, ≤ 10`; rules may hold others, as pydantic's `Field` does."""
    flat = [each for rule in rules for each in getattr(rule, "metadata", None) or [rule]]
    return ", ".join(
        f"{sign} {value_text(getattr(rule, name))}{' or inf' if isinstance(rule, OrInfinite) else ''}"
        for rule in flat
        for name, sign in SIGNS.items()
        if getattr(rule, name, None) is not None
    )


def _type(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        return " or ".join(map(value_text, get_args(annotation)))
    if get_origin(annotation) is tuple:
        inner = [part for part in get_args(annotation) if part is not Ellipsis]
        return _several(inner[0]) if inner else "values with commas"
    return WORDS.get(annotation, getattr(annotation, "__name__", str(annotation)))


def _several(element: Any) -> str:
    """Elements of a tuple, with the bounds of each: `numbers with commas, each ≥ 1`."""
    element, *rules = get_args(element) if get_origin(element) is Annotated else (element,)
    if get_origin(element) is tuple:
        return f"lists of {_type(element)}, with semicolons between them"
    bounds = _bounds(rules)
    return f"{_type(element)}s with commas" + (f", each {bounds}" if bounds else "")


def _metavar(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        return "|".join(map(value_text, get_args(annotation)))
    if get_origin(annotation) is tuple:
        return "A,B,…"
    return METAVARS.get(annotation, "VALUE")
