"""race/tasks: its claims, and what they cannot check."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import festina as fs
from festina.experiments.race.tasks import crossings
from shared import quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("race/tasks")


def test_quick_claims_hold(result):
    assert all(verdict.outcome == "reproduced" for verdict in result.verdicts), result


def test_curves_of_small_starts_cross_at_minus_one_over_the_number_of_tasks(result):
    np.testing.assert_allclose(crossings(result).mean(axis=0), [-1 / 2, -1 / 3], atol=0.02)


def test_small_starts_follow_theory_all_along_and_large_ones_do_not(result):
    gap = np.abs(result["strength"] - result.theory["strength"]).max(["run", "time", "tasks", "mean_target", "path"])
    assert gap.sel(initial=1e-8) < 0.01 and gap.sel(initial=0.3) > 0.1


def test_all_that_is_there_is_learned(result):
    assert result["loss"].isel(time=-1, mean_target=slice(0, -2)).max() < 1e-3


def test_claims_say_what_they_need():
    result = fs.run("race/tasks", budget="quick", seeds=1, tasks=2, initial=0.05, points=3, until=5.0, records=3)
    assert "broken" not in {verdict.outcome for verdict in result.verdicts}, result
    notes = {verdict.claim: verdict.note for verdict in result.verdicts}
    assert notes["shared-wins"] == notes["transition"] == "needs a start of 1e-06 or smaller"
    assert notes["one-does-all"] == "needs a start of 0.0001 or smaller"
    assert notes["no-transition"] == "needs a start of 0.2 or larger"
    assert len(result.figure().axes) == 4


def test_short_runs_and_few_points_are_not_judged(result):
    short = replace(result, data=result.data.isel(time=slice(0, 20)), theory=result.theory.isel(time=slice(0, 20)))
    verdicts = {claim.id: claim.judge(short, "quick") for claim in result.experiment.claims}
    assert {verdict.outcome for verdict in verdicts.values()} == {"undecided"}
    assert verdicts["private-win"].note.startswith("networks with tasks 2 and mean target 0, and 25 more, still learn")
    assert 30 < float(verdicts["private-win"].note.split()[-1]) <= 120  # the quick run itself is long enough
    assert len(short.figure().axes) == 5
    few = replace(result, config=result.config.model_copy(update={"points": 3}))
    assert all(
        claim.judge(few, "quick").note == "needs at least 13 points for 3 tasks"
        for claim in result.experiment.claims
        if claim.id in ("crossing", "transition", "no-transition")
    )


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
    assert len(figure.axes) == 5
    assert all(axis.get_xlabel() for axis in figure.axes)
