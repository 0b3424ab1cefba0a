"""linear/continual: its claims, and what they cannot check."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.experiments.linear import continual
from festina.experiments.linear.continual import Continual, final_loss, loss_of_block_lengths
from shared import outcomes, quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("linear/continual")


def test_quick_claims_hold(result):
    judged = outcomes(result)
    assert len(judged) == 5 and set(judged.values()) == {"reproduced"}, result


def test_all_schedules_have_one_start_and_take_equally_long(result):
    start = result["map"].isel(time=0)
    np.testing.assert_allclose(start - start.isel(schedule=0), 0.0, atol=1e-15)
    np.testing.assert_allclose(result["time"][-1], result.config.until)
    assert len({arm.model.until for arm in result.arms}) == 1


def test_alternating_blocks_end_between_interleaving_and_blocking(result):
    """No map has a smaller mean loss than the interleaved one; in a block of 2.5 τ most of the rest is forgotten."""
    place = 4 * final_loss(result, "alternating") - 1
    assert np.all(place > 0.05) and np.all(place < 1.0)


def test_blocks_that_are_too_short_say_how_long_they_must_be():
    result = fs.run("linear/continual", budget="quick", seeds=1, records=24, until=6.0)
    undecided = {verdict.claim: verdict.note for verdict in result.verdicts if verdict.outcome == "undecided"}
    task, mixture = "a task is not learned yet: needs --until 25", "too short for the mixture: needs --until 23"
    assert undecided == dict.fromkeys(("forgetting-end", "forgetting-path", "blocked"), task) | {"interleaved": mixture}


def test_paths_are_compared_only_where_imbalances_differ(result):
    alone = replace(result, config=result.config.model_copy(update={"imbalance": (0.0, 1.0)}))
    judged = {claim.id: claim.judge(alone, "quick") for claim in Continual.claims}
    assert judged["forgetting-path"].note == "needs imbalances that differ by twice the weakest mode at least"


def test_forgetting_begins_at_the_switch(result):
    forgetting, half = result["forgetting"].transpose("time", "run", "imbalance").values, result.config.records // 2
    assert np.all(np.isnan(forgetting[:half])) and not np.any(np.isnan(forgetting[half:]))
    np.testing.assert_allclose(forgetting[half], 0.0, atol=1e-12)
    angle = np.deg2rad(result.config.angle)
    strengths = np.linspace(result.config.strongest, result.config.weakest, result.config.modes)
    conflict = np.sum(strengths**2) * (1 - np.cos(angle))
    blocked = result["loss"].sel(schedule="blocked", task=1)
    np.testing.assert_allclose(forgetting[-1], (blocked[:, -1] - blocked[:, half]) / conflict, rtol=1e-10)


def test_long_alternating_blocks_are_as_bad_as_blocking_and_short_ones_as_good_as_interleaving(result):
    found = loss_of_block_lengths(result, (0.05, 20.0), seed=0)
    np.testing.assert_allclose(found.sel(length=0.05), 0.25, rtol=0.01)
    np.testing.assert_allclose(found.sel(length=20.0), 0.5, rtol=0.01)


def test_an_odd_number_of_blocks_is_refused():
    with pytest.raises(ArgumentError, match="`blocks` must"):
        fs.run("linear/continual", blocks=3)


def test_the_figure_has_four_labelled_panels(result, monkeypatch):
    monkeypatch.setattr(continual, "LENGTHS", (0.1, 1.0, 10.0))
    figure = result.figure()
    assert len(figure.axes) == 4
    assert all(axis.get_xlabel() and axis.get_ylabel() for axis in figure.axes)
    plt.close(figure)
