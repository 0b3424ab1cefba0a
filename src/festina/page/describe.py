"""What there is to see, as JSON: the gallery, one experiment, and its fields as controls."""

import re
from collections.abc import Sequence
from inspect import cleandoc
from typing import Any, Literal, get_args, get_origin

from festina._version import __version__
from festina.claims import Claim
from festina.config import notes
from festina.experiment import Budget, Experiment
from festina.lab.tables import as_json
from festina.page import limits, thumbnails
from festina.page.scenes import kind_of
from festina.page.sliders import as_control, bounds_of, slider, values_of
from festina.sources import Source
from festina.views import course, headline_of, matters_of, views_of
from festina.views.first import move_of
from festina.views.scalars import scalars_of

BUDGETS: tuple[Budget, ...] = ("quick", "full")
TYPES = {bool: "boolean", int: "integer", float: "number"}


def gallery(experiments: Sequence[Experiment], statuses: dict[str, Any]) -> dict[str, Any]:
    """Every experiment in a few words, and the families they belong to with their sources."""
    families: dict[str, dict[str, Source]] = {}
    for experiment in experiments:
        families.setdefault(experiment.family(), {}).update({source.key: source for source in experiment.sources})
    return {
        "version": __version__,
        "families": [
            {
                "name": name,
                "step": course.FAMILIES.get(name, ""),
                "sources": [{"key": source.key, "label": source.short} for source in sources.values()],
            }
            for name, sources in families.items()
        ],
        "experiments": [_card(experiment, statuses.get(experiment.name)) for experiment in experiments],
    }


def _card(experiment: Experiment, status: Any) -> dict[str, Any]:
    return {
        "name": experiment.name,
        "family": experiment.family(),
        "course": course.place(experiment.name),
        "summary": experiment.summary(),
        "sources": [source.key for source in experiment.sources],
        "claims": [{"id": claim.id, "sentence": claim.statement} for claim in experiment.claims],
        "status": status,
        "thumbnail": f"/api/experiments/{experiment.name}/thumbnail.svg",
        "picture": thumbnails.titles().get(experiment.name, ""),
        "try": move.sentence if (move := move_of(experiment)) else "",
    }


def describe(experiment: Experiment) -> dict[str, Any]:
    """All there is to know about an experiment before it runs."""
    matters = matters_of(experiment)
    return as_json(
        {
            "name": experiment.name,
            "family": experiment.family(),
            "summary": experiment.summary(),
            "text": paragraphs(experiment),
            "sources": [
                {"key": source.key, "label": source.short, "citation": source.citation} for source in experiment.sources
            ],
            "equations": [{"tex": equation.tex, "sentence": equation.sentence} for equation in experiment.equations],
            "presets": [
                {
                    "name": preset.name,
                    "sentence": preset.sentence,
                    "budget": preset.budget,
                    "fields": {name: as_control(value) for name, value in preset.fields.items()},
                }
                for preset in experiment.presets
            ],
            "time_unit": experiment.time_unit,
            "theory": experiment.has_theory(),
            "seeds": {budget: min(experiment.seeds_at(budget), limits.MOST_SEEDS) for budget in BUDGETS},
            "variables": [
                {"name": name, "label": kind.label, "unit": kind.unit, "dims": list(kind.dims)}
                for name, kind in experiment.variables.items()
            ],
            "claims": [_claim(claim) for claim in experiment.claims],
            "views": [{"kind": kind_of(view), "title": view.title} for view in views_of(experiment)],
            "headline": list(headline_of(experiment)),
            "try": _first(experiment),
            "scalars": [{"name": scalar.name, "label": scalar.label} for scalar in scalars_of(experiment)],
            "fields": [_field(experiment, name, matters) for name in experiment.Config.model_fields],
        }
    )


def _first(experiment: Experiment) -> dict[str, Any] | None:
    """What to try first: the sentence, and the move that it is about."""
    move = move_of(experiment)
    return None if move is None else {"sentence": move.sentence, "field": move.field, "value": as_control(move.value)}


def paragraphs(experiment: Experiment) -> list[str]:
    """The docstring below its first line, paragraph by paragraph."""
    text = cleandoc(type(experiment).__doc__ or "")
    blocks = re.split(r"\n\s*\n", text)[1:]
    return [" ".join(block.split()) for block in blocks if block.strip()]


def _claim(claim: Claim) -> dict[str, Any]:
    return {
        "id": claim.id,
        "kind": claim.kind,
        "sentence": claim.statement,
        "source": claim.source,
        "expectation": str(claim.expect),
        "budget": claim.budget,
    }


def _field(experiment: Experiment, name: str, matters: dict[str, Any]) -> dict[str, Any]:
    """A field as a control: what it is, what it allows, and where its slider might go."""
    field = experiment.Config.model_fields[name]
    about = notes(field)
    quick = experiment.quick.get(name, field.default)
    low, high = bounds_of(field)
    return {
        "name": name,
        "label": name.replace("_", " "),
        "help": field.description or "",
        "unit": about.get("unit", ""),
        "kind": about["kind"],
        "type": type_of(field.annotation),
        "default": as_control(field.default),
        "quick": as_control(quick),
        "minimum": low.value,
        "maximum": high.value,
        "exclusive_minimum": low.exclusive,
        "exclusive_maximum": high.exclusive,
        "slider": slider(field, quick),
        "values": values_of(field, quick),
        "matters": matters.get(name),
        "choices": list(get_args(field.annotation)) if get_origin(field.annotation) is Literal else None,
    }


def type_of(annotation: Any) -> str:
    """How a field is entered: several values are a text with commas."""
    return "choice" if get_origin(annotation) is Literal else TYPES.get(annotation, "text")
