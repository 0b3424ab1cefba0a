"""rectified/frozen: its claims, the one that does not hold included, and what they are computed from."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from festina.experiments.rectified.frozen import departures, gaps, relative_gaps
from shared import outcomes, quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("rectified/frozen")


def test_quick_claims_hold_but_for_the_one_that_does_not(result):
    judged = outcomes(result)
    assert {claim for claim, outcome in judged.items() if outcome != "reproduced"} == {"settled-gates"}, result
    assert len(judged) == 7


def test_networks_are_the_same_up_to_the_step_at_which_gates_are_frozen(result):
    before = result["time"] <= result["frozen_at"]
    assert gaps(result).where(before).max() < 1e-4
    own = result["own_gates"].sel(gates="frozen", layer=1)
    assert own.where(before).min() > 1 - 1e-5 and own.isel(time=-1).max() < 0.95
    np.testing.assert_allclose(result["own_gates"].sel(gates="learned").isel(frozen_at=0), 1.0, atol=1e-5)


def test_losses_that_are_moved_apart_part_at_that_step(result):
    """By 5% of L(0) from step 5000 on, for gates frozen at step 6000 that otherwise agree to the end."""
    moved = result.data.copy(deep=True)
    where = {"gates": "frozen", "frozen_at": 6000.0}
    first = result["loss"].sel(gates="learned").isel(frozen_at=0, time=0, drop=True)
    moved["loss"].loc[where] = moved["loss"].loc[where] + (0.05 * first).where(moved["time"] >= 5000, 0.0)
    apart = replace(result, data=moved)
    assert np.all(np.isinf(departures(result, 6000.0)))
    np.testing.assert_allclose(departures(apart, 6000.0), 5000, atol=50)
    assert relative_gaps(apart).sel(frozen_at=6000).min() > 1.0  # little is left at step 6000


def test_too_few_steps_are_not_judged_and_missing_steps_do_not_apply(result):
    short = replace(result, data=result.data.isel(time=slice(0, 10)))
    verdicts = {claim.id: claim.judge(short, "quick") for claim in result.experiment.claims}
    assert {verdict.outcome for verdict in verdicts.values()} == {"undecided"}
    few = replace(result, data=result.data.isel(frozen_at=slice(0, 1)))
    notes = {claim.id: claim.judge(few, "quick").note for claim in result.experiment.claims}
    assert notes["ever-after"] == "needs gates frozen at step 3000 or later"
    assert notes["linear-plateau"] == "needs --frozen-at 400 among others"


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(result.figure().axes) == 4
