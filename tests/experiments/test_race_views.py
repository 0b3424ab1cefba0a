"""race/views: its claims, those that must not hold among them, and its networks."""

import warnings
from dataclasses import replace

import jax
import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.experiments.race._views_networks import gated_networks, starts
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
    np.testing.assert_allclose(result["strength"].isel(time=-1).sel(together=0.5), 0.4, atol=1e-6)


def test_networks_start_with_the_strengths_drawn():
    config = Views().configure("quick", initial=(1e-3, 1e-2))
    network = gated_networks(config, 3, jax.random.key(4))
    weights = [np.asarray(block)[0, 1] for block in network.blocks]  # one network: p = .5, start 1e-2
    norms = np.prod([np.linalg.norm(weight) for weight in weights[:-1]])
    last = np.prod(np.linalg.norm(weights[-1].reshape(3, -1), axis=1))
    np.testing.assert_allclose(norms * last, np.prod(starts(config, jax.random.key(4))[1]), rtol=1e-10)


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


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
    assert len(figure.axes) == 6
    assert all(axis.get_xlabel() and axis.get_ylabel() for axis in figure.axes)
