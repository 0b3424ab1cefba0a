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
    np.testing.assert_allclose(crossings(result).mean("run"), [-1 / 2, -1 / 3], atol=0.02)


def test_small_starts_follow_theory_all_along_and_large_ones_do_not(result):
    gap = np.abs(result["strength"] - result.theory["strength"]).max(["run", "time", "tasks", "mean_target", "path"])
    assert gap.sel(initial=1e-8) < 0.01 and gap.sel(initial=0.3) > 0.1


def test_all_that_is_there_is_learned(result):
    assert result["loss"].isel(time=-1, mean_target=slice(0, -2)).max() < 1e-3


def test_claims_say_what_they_need():
    result = fs.run(
        "race/tasks", budget="quick", seeds=1, tasks=2, initial=0.05, mean_target=(0.2, 0.9), until=5.0, records=3
    )
    assert "broken" not in {verdict.outcome for verdict in result.verdicts}, result
    notes = {verdict.claim: verdict.note for verdict in result.verdicts}
    assert notes["shared-wins"] == notes["transition"] == "needs a start of 1e-06 or smaller"
    assert notes["reduction"] == "needs a start of 0.0001 or smaller"
    assert notes["one-does-all"] == "needs tasks that are alike, --mean-target 1"
    assert notes["no-transition"] == "needs a start of 0.2 or larger"
    assert len(result.figure().axes) == 4


def test_short_runs_and_few_points_are_not_judged(result):
    short = replace(result, data=result.data.isel(time=slice(0, 20)), theory=result.theory.isel(time=slice(0, 20)))
    verdicts = {claim.id: claim.judge(short, "quick") for claim in result.experiment.claims}
    assert {verdict.outcome for verdict in verdicts.values()} == {"undecided"}
    assert verdicts["private-win"].note.startswith("networks with tasks 2 and mean target 0, and 25 more, still learn")
    assert 30 < float(verdicts["private-win"].note.split()[-1]) <= 120  # the quick run itself is long enough
    assert len(short.figure().axes) == 5
    apart = slice(None, None, 6)
    few = replace(result, data=result.data.isel(mean_target=apart), theory=result.theory.isel(mean_target=apart))
    assert all(
        claim.judge(few, "quick").note == "needs mean targets around 1/C, no more than 0.083 apart for 3 tasks"
        for claim in result.experiment.claims
        if claim.id in ("crossing", "transition", "no-transition")
    )


def test_the_order_of_mean_targets_and_starts_does_not_matter(result):
    turned = {"initial": slice(None, None, -1), "mean_target": slice(None, None, -1)}
    backwards = replace(result, data=result.data.isel(turned), theory=result.theory.isel(turned))
    found = [claim.judge(backwards, "quick").measured for claim in result.experiment.claims]
    np.testing.assert_allclose(found, [verdict.measured for verdict in result.verdicts], rtol=1e-12)
    backwards.figure()


def test_energies_are_worked_out_by_hand(result):
    """Of three tasks, where the shared pathway has a third of its own energy from each; two have no third pathway."""
    strength = result["strength"].sel(tasks=3, initial=1e-8, mean_target=0.5).isel(run=1, time=-1).values
    share = strength[0] ** 2 / (strength[0] ** 2 + np.mean(strength[1:] ** 2))
    recorded = result["share"].sel(tasks=3, initial=1e-8, mean_target=0.5).isel(run=1, time=-1)
    np.testing.assert_allclose(recorded, share, rtol=1e-12)
    assert result["strength"].sel(tasks=2, path="task3").isnull().all()


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
    assert len(figure.axes) == 5
    assert all(axis.get_xlabel() for axis in figure.axes)
