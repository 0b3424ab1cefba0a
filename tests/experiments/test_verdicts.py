"""Every experiment is what the conformance suite demands; the page of what did not reproduce says what comes out."""

import json
from pathlib import Path

import pytest

from festina import models
from festina.errors import ArgumentError
from festina.experiment import Arms, Equation, Experiment, Preset
from festina.lab import registry
from festina.ranges import MOST_STEPS
from festina.testing import Nonconforming, check_experiment
from festina.testing.experiment import described_findings, result_findings
from shared import quick

NOTED = json.loads((Path(__file__).resolve().parents[2] / "docs" / "verdicts.json").read_text(encoding="utf-8"))
PROGRAMS = json.loads(Path(__file__).with_name("programs.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", registry.names())
def test_experiments_are_described_as_they_should_be(name):
    assert list(described_findings(registry.find(name))) == []


@pytest.mark.full
@pytest.mark.parametrize("name", registry.names())
def test_quick_runs_are_sound_and_explained(name):
    """No claim is broken, what is not reproduced has its reason beside it, theory has known names, the figure draws."""
    assert list(result_findings(quick(name))) == []


@pytest.mark.full
@pytest.mark.parametrize("name", registry.names())
def test_the_page_of_what_did_not_reproduce_says_what_comes_out(name):
    noted = {claim: found["outcome"] for claim, found in NOTED.get(name, {}).items()}
    found = {verdict.claim: verdict.word for verdict in quick(name).verdicts if verdict.reason}
    assert noted == found, "run `python docs/tables.py STORE`"


@pytest.mark.full
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_more_programs_are_compiled_than_are_written_down(name):
    """The number is that of a process of its own; here some may be compiled already, and never are there more."""
    assert quick(name).data.attrs["programs"] <= PROGRAMS[name], "fewer, or: python benchmarks/wait.py NAME --write"


def test_what_is_not_as_it_should_be_is_told_all_at_once():
    class Wrong(Experiment):
        """no sentence"""

        name = "test/wrong"
        arms = Arms(models.Chain)
        equations = (Equation(r"\\frac{a}{b", "So it is, somehow or other"),)
        presets = (Preset("", "Nothing changes in this one here."),)

    with pytest.raises(Nonconforming) as told:
        check_experiment(Wrong)
    for part in ("docstring", "claims nothing", "braces", "no whole sentence", "needs a name"):
        assert part in str(told.value)


@pytest.mark.parametrize("name", ["abstraction/specialization", "abstraction/blocks"])
def test_there_are_no_more_steps_than_can_be_taken(name):
    experiment = registry.find(name)
    with pytest.raises(ArgumentError, match=f"`step_size` must leave at least one step and at most {MOST_STEPS:_}"):
        experiment.configure("full", until=1e3, step_size=1e-5)
