"""Which views, which headline and which conditions belong to an experiment or a model."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from festina.config import notes
from festina.views.vocabulary import View

if TYPE_CHECKING:
    from festina.experiment import Experiment

FAMILIES = ("linear", "race", "rectified", "abstraction", "coding")
"""Modules of this package: each has ``VIEWS``, ``HEADLINES`` and ``MATTERS``, by names of experiments and models."""


def views_of(experiment: Experiment) -> tuple[View, ...]:
    """The views of an experiment, or of a model run by itself: its own, or those that stand here; of an experiment that
    has none, those of its only model.

    Example:
        >>> import festina as fs
        >>> from festina.views import views_of
        >>> [type(view).__name__ for view in views_of(fs.lab.find("linear/chain"))]
        ['Curves', 'Plane']
    """
    return _declared("pictures", "VIEWS", experiment) or ()


def headline_of(experiment: Experiment) -> tuple[str, ...]:
    """The fields that matter most, the first of them most of all.

    Unless they are declared: real numbers with several values, one for each arm, else the first real number.
    """
    known = experiment.Config.model_fields
    declared = _declared("headline", "HEADLINES", experiment)
    if declared:
        return tuple(name for name in declared if name in known)
    several = [name for name, field in known.items() if notes(field).get("several") == "continuous"]
    first = [name for name, field in known.items() if notes(field)["kind"] == "continuous"][:1]
    return tuple(several or first)


def matters_of(experiment: Experiment) -> dict[str, dict[str, list[Any]]]:
    """Fields that have an effect only if others have certain values: {field: {other: [values]}}.

    A rule is left out where the experiment does not have the other field as a single value, for its arms settle it.
    """
    found: dict[str, dict[str, list[Any]]] = {}
    for name in reversed(names_of(experiment)):
        found |= declared_in("MATTERS").get(name, {})
    single = {name for name, field in experiment.Config.model_fields.items() if "several" not in notes(field)}
    known = {name: rule for name, rule in found.items() if name in experiment.Config.model_fields}
    return {name: rule for name, rule in known.items() if set(rule) <= single}


def _declared(attribute: str, table: str, experiment: Experiment) -> Any:
    """What a class says itself comes first, then what stands here of it, then what is said of its only model."""
    own = getattr(experiment, attribute, None) or getattr(_only_model(experiment), attribute, None)
    if own:
        return tuple(own)
    return next((found for name in names_of(experiment) if (found := declared_in(table).get(name))), None)


def names_of(experiment: Experiment) -> list[str]:
    """Under which something may stand here: the experiment's own name, then that of its only model."""
    model = _only_model(experiment)
    return [experiment.name] + ([f"model/{model.name}"] if model is not None else [])


def _only_model(experiment: Experiment) -> Any:
    models = experiment.arms.models
    return models[0] if len(models) == 1 else None


@cache
def declared_in(table: str) -> dict[str, Any]:
    """A table of all families together."""
    found: dict[str, Any] = {}
    for family in FAMILIES:
        found |= getattr(import_module(f"festina.views.{family}"), table, {})
    return found
