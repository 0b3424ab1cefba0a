"""What can be said of a configuration field without running anything: its flag, what it allows, its default."""

from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from festina.config import notes
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
    bounds = [
        f"{sign} {value_text(getattr(rule, name))}"
        for rule in field.metadata
        for name, sign in SIGNS.items()
        if getattr(rule, name, None) is not None
    ]
    return " ".join([_type(field.annotation), ", ".join(bounds)]).strip()


def _type(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        return " or ".join(map(value_text, get_args(annotation)))
    if get_origin(annotation) is tuple:
        inner = [part for part in get_args(annotation) if part is not Ellipsis]
        return f"{_type(inner[0])}s with commas" if inner else "values with commas"
    return WORDS.get(annotation, getattr(annotation, "__name__", str(annotation)))


def _metavar(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        return "|".join(map(value_text, get_args(annotation)))
    if get_origin(annotation) is tuple:
        return "A,B,…"
    return METAVARS.get(annotation, "VALUE")
