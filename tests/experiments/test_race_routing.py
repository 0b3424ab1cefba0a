"""race/routing: its claims, and what cannot be judged."""

import re
import warnings
from dataclasses import replace

import pytest

import festina as fs
from festina.errors import ArgumentError
from shared import quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("race/routing")


def test_quick_claims_hold(result):
    assert all(verdict.outcome == "reproduced" for verdict in result.verdicts), result


def test_the_race_follows_its_reduction(result):
    """Shared and private pathways over time, for every K and start; at the end, the law of what is conserved."""
    race = result.part("race")
    assert race.errors("shared", "private", "loss").max() < 1e-8
    conserved = race["shared"] ** (-1 / 3) - race["trained"] * 4 ** (1 / 3) * race["private"] ** (-1 / 3)
    drift = abs(conserved / conserved.isel(time=0) - 1.0)
    assert drift.max() < 1e-8 and race["private"].isel(time=-1).min() > 0


def notes(result):
    return {claim.id: claim.judge(result, "quick") for claim in result.experiment.claims}


def test_what_cannot_be_judged_is_said(result):
    part = {"time": slice(0, 105)}
    short = replace(result, data=result.data.isel(part), theory=result.theory.isel(part))
    said = notes(short)
    assert re.search(r"has not learned half of every mode at the end; needs --until (1?[0-9])$", said["speed-up"].note)
    for claim in ("race-law", "race-won"):
        assert re.search(r"is not over at the end; needs --until ([0-9]+)$", said[claim].note)
    assert len(short.figure().axes) == 6
    few = notes(replace(result, data=result.data.isel(time=slice(0, None, 2))))["speed-up"]
    assert few.note.endswith("too few for half-times; needs --records 100")
    alone = notes(replace(result, config=result.config.model_copy(update={"race_domains": 1})))["race-won"]
    assert alone.outcome == "not applicable" and alone.note.endswith("with one, nothing is shared")


def test_what_does_not_go_together_is_refused():
    with pytest.raises(ArgumentError, match="`domains` must hold every value once"):
        fs.run("race/routing", domains=(2, 2))
    with pytest.raises(ArgumentError, match="`trained`, `race_initial` must go together in one arm at least"):
        fs.run("race/routing", trained=3, race_domains=2)
    with pytest.raises(ArgumentError, match="`initial` must be less than half of `single`"):
        fs.run("race/routing", single=0.8)


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
    assert len(figure.axes) == 6
    assert all(axis.get_xlabel() and axis.get_ylabel() for axis in figure.axes)
