"""race/views: its claims, those that must not hold among them, and its networks."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.experiments.race.views import Views
from shared import quick

pytestmark = pytest.mark.full

REFUTED = {"never-a-race"}


@pytest.fixture(scope="module")
def result():
    return quick("race/views")


def test_quick_claims_hold_but_for_a_reading_that_does_not(result):
    outcomes = {verdict.claim: verdict.outcome for verdict in result.verdicts}
    assert {claim for claim, outcome in outcomes.items() if outcome == "not reproduced"} == REFUTED, result
    assert all(outcome == "reproduced" for claim, outcome in outcomes.items() if claim not in REFUTED), result


def test_the_end_for_equal_views_is_worked_out_by_hand(result):
    """S = ⅔ = (⅔ + 2·½)π at p = ½ and V = 3."""
    np.testing.assert_allclose(result.panel("views")["strength"].isel(time=-1).sel(together=0.5), 0.4, atol=1e-6)


def test_slots_start_as_views_do(result):
    """With the strengths of the first start; and views of all depths and probabilities with the same ones."""
    views = result.panel("views")["strength"].isel(time=0)
    slots = result.panel("slots")["strength"].isel(time=0)
    np.testing.assert_allclose(slots, views.sel(depth=2, together=1.0, initial=1e-4).transpose(*slots.dims), rtol=1e-12)
    np.testing.assert_allclose(views.std(["depth", "together"]), 0.0, atol=1e-15)
    assert "answers" not in type(result.config).model_fields and result.config.weakest == 0.5


def test_claims_say_what_they_need():
    unfit = {"depth": 2, "together": 0.0, "initial": 0.1, "views": 2}
    result = fs.run("race/views", budget="quick", seeds=1, until=5.0, records=10, **unfit)
    assert "broken" not in {verdict.outcome for verdict in result.verdicts}, result
    notes = {verdict.claim: verdict.note for verdict in result.verdicts}
    assert notes["identical-seeds"].startswith("one seed has no spread; needs --seeds 2 or more; networks with depth 2")
    assert notes["ratios-kept"] == "needs p = 1 among the probabilities"
    assert notes["transient"] == notes["winner-takes-all"] == "needs a start of 0.0001 or smaller"
    assert notes["coverage-misleads"] == "needs 0 < p < 1 among the probabilities"
    assert len(result.figure().axes) == 6


def test_slots_that_are_alike_have_no_order_in_which_they_pass_a_bottleneck(result):
    alike = replace(result, config=result.config.model_copy(update={"weakest": 1.0}))
    (claim,) = (claim for claim in result.experiment.claims if claim.id == "bottleneck")
    assert claim.judge(alike, "quick").note == "needs slots of different amplitudes, --weakest below 1"


def test_short_runs_and_values_twice_are_refused(result):
    short = replace(result, data=result.data.isel(time=slice(0, 20)), theory=result.theory.isel(time=slice(0, 20)))
    verdicts = {claim.id: claim.judge(short, "quick") for claim in result.experiment.claims}
    always = {"exact", "ratios-kept", "differences-kept", "lotka-volterra-once", "no-competition"}
    assert {name for name, verdict in verdicts.items() if verdict.outcome == "undecided"} == {*verdicts} - always
    assert verdicts["bottleneck"].note.endswith("needs --until 64")
    assert verdicts["one-end"].note.startswith("networks with depth 2 and together 0.5 and initial 0.0001, and ")
    assert 50 < float(verdicts["one-end"].note.split()[-1]) <= 250  # the quick run itself is long enough
    for field, value in (("together", (1, 1)), ("depth", (2, 2)), ("initial", (0.1, 0.1))):
        with pytest.raises(ArgumentError, match=f"`{field}` must hold every value once"):
            Views.Config.checked("race/views", {field: value})


def test_the_order_of_starts_does_not_matter(result):
    config = result.config.model_copy(update={"initial": result.config.initial[::-1]})
    place = {tuple(arm.labels.items()): number for number, arm in enumerate(result.arms)}
    order = [place[tuple(arm.labels.items())] for arm in result.experiment.arms_at(config)]
    backwards = replace(result, config=config, data=result.data.isel(arm=order), theory=result.theory.isel(arm=order))
    found = {claim.id: claim.judge(backwards, "quick").measured for claim in result.experiment.claims}
    for verdict in result.verdicts:
        np.testing.assert_allclose(found[verdict.claim], verdict.measured, rtol=1e-9, atol=1e-12, err_msg=verdict.claim)


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
    assert len(figure.axes) == 6
    assert all(axis.get_xlabel() and axis.get_ylabel() for axis in figure.axes)
