"""How far the numbers of experiments may go: no further than their solvers can, at either end."""

import math
import re
from collections.abc import Iterator
from typing import Annotated, Any, get_args, get_origin

import pytest

from festina.errors import ArgumentError
from festina.experiment import Experiment
from festina.experiments._fields import MOST_STEPS
from festina.lab import registry

LARGEST, SMALLEST = 1.7e308, 5e-324
INFINITE = {"linear/chain.depth"}  # where infinity has a meaning


def numbers(experiment: Experiment) -> Iterator[tuple[str, Any]]:
    """Fields of real numbers, and for each what makes a value of a number."""
    for name, field in experiment.Config.model_fields.items():
        several = get_origin(field.annotation) is tuple
        inner = get_args(field.annotation)[0] if several else field.annotation
        if (get_args(inner)[0] if get_origin(inner) is Annotated else inner) is float:
            yield name, (lambda number: (number,)) if several else (lambda number: number)


def refusal(experiment: Experiment, name: str, value: Any) -> str:
    """The sentence that refuses a value, or nothing."""
    try:
        experiment.configure("full", **{name: value})
    except ArgumentError as error:
        return str(error)
    return ""


@pytest.fixture(params=registry.names())
def experiment(request: pytest.FixtureRequest) -> Experiment:
    return registry.find(request.param)


def test_numbers_end_above_and_below(experiment: Experiment) -> None:
    """Refused for their size, whatever else may be wrong with them; the smallest number may pass only for zero."""
    found = dict(numbers(experiment))
    assert found
    for name, of in found.items():
        must = f"Argument `{name}` must be"
        large, small, none, tiny = (refusal(experiment, name, of(x)) for x in (LARGEST, -LARGEST, 0.0, SMALLEST))
        assert re.match(rf"{must} less than or equal to [-\d.e+]+,", large), large or name
        assert re.match(rf"{must} greater than or equal to [-\d.e+]+,", small), small or name
        assert tiny.startswith(f"{must} greater") == none.startswith(f"{must} greater"), name


def test_infinity_is_refused_where_it_has_no_meaning(experiment: Experiment) -> None:
    for name, of in numbers(experiment):
        assert refusal(experiment, name, of(math.nan)), name
        assert (refusal(experiment, name, of(math.inf)) == "") == (f"{experiment.name}.{name}" in INFINITE), name


def test_what_comes_with_an_experiment_lies_within(experiment: Experiment) -> None:
    for budget in ("full", "quick"):
        experiment.configure(budget)
    for preset in experiment.presets:
        experiment.configure(preset.budget, **preset.fields)


@pytest.mark.parametrize("name", ["abstraction/specialization", "abstraction/blocks"])
def test_there_are_no_more_steps_than_can_be_taken(name: str) -> None:
    experiment = registry.find(name)
    with pytest.raises(ArgumentError, match=f"`step_size` must leave at least one step and at most {MOST_STEPS:_}"):
        experiment.configure("full", until=1e3, step_size=1e-5)
