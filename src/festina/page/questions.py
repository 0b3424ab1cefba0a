"""What a browser asks, read from JSON and checked before anything is done with it."""

import json
from collections.abc import Mapping
from typing import Any

from festina.errors import ArgumentError, FestinaError, UnknownName
from festina.experiment import Experiment
from festina.lab.question import Question
from festina.lab.registry import find
from festina.page import limits

LONGEST_MESSAGE = 600
LONGEST_NAME = 60


class BadJson(FestinaError):
    """A body that is not JSON."""


class FieldError(FestinaError):
    """Something wrong with one field, which the page shows beside it."""

    def __init__(self, field: str | None, message: str) -> None:
        super().__init__(message if len(message) <= LONGEST_MESSAGE else message[: LONGEST_MESSAGE - 1] + "…")
        self.field = field


def parsed(body: bytes) -> dict[str, Any]:
    """A JSON object; NaN and infinities are no JSON."""
    try:
        value = json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise BadJson(f"The body must be JSON, but is not: {reason[:200]}.") from None
    if not isinstance(value, dict):
        raise BadJson(f"The body must be a JSON object, but is {_kind(value)}.")
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON; write infinities as the text 'inf'")


def only(body: Mapping[str, Any], allowed: tuple[str, ...]) -> None:
    """Refuse names that mean nothing, for they are mistakes."""
    for name in body:
        if name not in allowed:
            raise FieldError(None, str(UnknownName("entry of the body", name[:LONGEST_NAME], allowed)))


def read_question(body: Mapping[str, Any]) -> Question:
    """The experiment, budget, fields and seeds of a body: what is asked for, or what the budget pays for."""
    name = body.get("experiment")
    if not isinstance(name, str):
        raise FieldError("experiment", f"Argument `experiment` must be the name of one, but is {_kind(name)}.")
    experiment = find(name[:LONGEST_NAME])
    budget = read_choice(body, "budget", ("quick", "full"))
    fields = body.get("fields", {})
    if not isinstance(fields, dict):
        raise FieldError("fields", f"Argument `fields` must be an object of fields, but is {_kind(fields)}.")
    config = configured(experiment, budget, fields)
    usual = min(experiment.seeds_at("quick" if budget == "quick" else "full"), limits.MOST_SEEDS)
    count = read_whole(body, "seeds", usual, 1, limits.MOST_SEEDS)
    return Question(experiment, config, tuple(range(count)), "quick" if budget == "quick" else "full")


def configured(experiment: Experiment, budget: Any, fields: Mapping[str, Any]) -> Any:
    """A checked configuration, or an error that knows which field it is about."""
    for name, value in fields.items():
        if name not in experiment.Config.model_fields:
            unknown = UnknownName(f"field of {experiment.name}", name[:LONGEST_NAME], experiment.Config.model_fields)
            raise FieldError(name[:LONGEST_NAME], str(unknown))
        if not isinstance(value, str | int | float | list):
            raise FieldError(name, f"Argument `{name}` must be a number, a text or a list, but is {_kind(value)}.")
    try:
        config = experiment.configure(budget, **{name: _unfolded(value) for name, value in fields.items()})
    except ArgumentError as error:
        raise FieldError(_named_in(str(error)), str(error)) from None
    except (OverflowError, RecursionError) as error:
        raise FieldError(None, f"A field has a value that cannot be used: {error}.") from None
    for name in fields:
        _check_count(name, getattr(config, name))
    return config


def _check_count(name: str, value: Any) -> None:
    if isinstance(value, tuple) and len(value) > limits.MOST_VALUES:
        most = limits.MOST_VALUES
        raise FieldError(name, f"Argument `{name}` must have at most {most} values, but has {len(value)}.")


def _unfolded(value: Any) -> Any:
    """A list of lists may come as the text of one."""
    if isinstance(value, str) and value.lstrip().startswith("[["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _named_in(sentence: str) -> str | None:
    """The field that a sentence of festina's is about: the one between its first back ticks."""
    parts = sentence.split("`")
    return parts[1] if len(parts) > 2 else None


def read_choice(body: Mapping[str, Any], name: str, allowed: tuple[str, ...]) -> str:
    """One of a few words; the first, if nothing is said."""
    value = body.get(name, allowed[0])
    if value not in allowed:
        words = " or ".join(repr(word) for word in allowed)
        raise FieldError(name, f"Argument `{name}` must be {words}, but is {value!r}.")
    return value


def read_whole(body: Mapping[str, Any], name: str, default: int, low: int, high: int) -> int:
    """A whole number within bounds."""
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise FieldError(name, f"Argument `{name}` must be a whole number from {low} to {high}, but is {value!r}.")
    return value


def read_flag(body: Mapping[str, Any], name: str) -> bool:
    value = body.get(name, False)
    if not isinstance(value, bool):
        raise FieldError(name, f"Argument `{name}` must be true or false, but is {value!r}.")
    return value


def _kind(value: Any) -> str:
    kinds = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")
