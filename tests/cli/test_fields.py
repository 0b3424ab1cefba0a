"""What is said of a configuration's fields, of every experiment there is."""

from typing import Annotated, Any

import pytest
from pydantic import Field

from festina.cli.fields import Facts, facts_of
from festina.experiment import Arms, Experiment, ExperimentConfig, structural
from festina.lab import registry
from festina.lab.tables import value_text
from toy import Units


def fact(experiment: Experiment, name: str) -> Facts:
    return next(facts for facts in facts_of(experiment) if facts.name == name)


class Several(Experiment):
    """Fields that hold several values."""

    name = "toy/several"
    arms = Arms(Units)

    class Config(ExperimentConfig):
        plain: tuple[int, ...] = structural((1, 2), help="plain ones")
        bounded: tuple[Annotated[float, Field(gt=0, le=10)], ...] = structural((1.0,), help="bounded ones")
        lists: tuple[tuple[int, ...], ...] = structural(((1, 2), (3,)), help="lists of them")


@pytest.mark.parametrize(
    ("field", "allowed"),
    [
        ("plain", "whole numbers with commas"),
        ("bounded", "numbers with commas, each > 0, ≤ 10"),
        ("lists", "lists of whole numbers with commas, with semicolons between them"),
    ],
)
def test_several_values_are_described_by_what_each_may_be(field: str, allowed: str) -> None:
    assert fact(Several(), field).allowed == allowed


@pytest.mark.parametrize(
    ("field", "value"),
    [("plain", (4,)), ("plain", (4, 5)), ("bounded", (0.5, 2.0)), ("lists", ((1, 2), (3, 4, 5))), ("lists", ((7,),))],
)
def test_what_is_printed_can_be_typed(field: str, value: Any) -> None:
    assert getattr(Several().configure("full", **{field: value_text(value)}), field) == value


def test_show_speaks_of_numbers_and_not_of_types() -> None:
    assert fact(registry.find("linear/chain"), "depth").allowed == "numbers with commas, each ≥ 1, ≤ 1000 or inf"


@pytest.mark.parametrize("name", registry.names())
def test_fields_say_what_they_are(name: str) -> None:
    experiment = registry.find(name)
    for facts in facts_of(experiment):
        assert facts.help and len(facts.help) <= 110, f"{facts.name}: {facts.help!r}"
        assert not facts.help.endswith(".") and not facts.help[0].isspace(), f"{facts.name}: {facts.help!r}"
        assert "Annotated" not in facts.allowed and "commass" not in facts.allowed, f"{facts.name}: {facts.allowed}"


@pytest.mark.parametrize("name", registry.names())
def test_times_have_their_unit(name: str) -> None:
    experiment = registry.find(name)
    times = [facts for facts in facts_of(experiment) if facts.name == "until" or "timescale" in facts.name]
    assert all(facts.unit == experiment.time_unit for facts in times), {facts.name: facts.unit for facts in times}
