"""linear/alignment: its claims, and what they cannot check."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from shared import quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("linear/alignment")


def test_quick_claims_hold(result):
    assert all(verdict.outcome == "reproduced" for verdict in result.verdicts), result


def test_the_small_weight_solution_is_right_to_second_order(result):
    """Its error falls with σ²: from the third scale to the first, ten times smaller, by a hundred."""
    gaps = abs(result["alignment"] - result.theory["alignment"]).max("time")
    order = np.log10(gaps.isel(scale=2) / gaps.isel(scale=0))
    assert np.all((order > 1.6) & (order < 2.4)), order


def test_claims_that_need_more_scales_are_not_attempted(result):
    scales = result.config.scale[:2]
    few = replace(
        result,
        config=result.config.model_copy(update={"scale": scales}),
        data=result.data.sel(scale=list(scales)),
        theory=result.theory.sel(scale=list(scales)),
    )
    outcomes = {claim.id: claim.judge(few, "quick").outcome for claim in result.experiment.claims}
    assert outcomes["order"] == outcomes["learning-time"] == outcomes["large-random"] == "not applicable"


def test_a_loss_that_has_not_fallen_says_how_long_it_takes(result):
    seen = result["time"].values <= 4.0
    config = result.config.model_copy(update={"until": 4.0})
    short = replace(result, config=config, data=result.data.isel(time=seen), theory=result.theory.isel(time=seen))
    verdicts = {claim.id: claim.judge(short, "quick") for claim in result.experiment.claims}
    assert verdicts["small-weights"].outcome == "reproduced"
    for claim in ("small", "order", "alignment-time", "learning-time", "final-kernel"):
        assert verdicts[claim].note == "the loss has not fallen yet from every scale: needs --until 11", claim


def test_weights_that_are_not_small_are_none_of_the_claims(result):
    coarse = replace(result, config=result.config.model_copy(update={"scale": result.config.scale[2:]}))
    outcomes = {claim.id: claim.judge(coarse, "quick").outcome for claim in result.experiment.claims}
    assert outcomes["order"] == outcomes["learning-time"] == outcomes["alignment-time"] == "not applicable"


def test_an_odd_number_of_hidden_units_is_refused():
    with pytest.raises(ArgumentError, match="`hidden` must"):
        fs.run("linear/alignment", hidden=7)


def test_the_figure_has_its_panels(result):
    figure = result.figure()
    panels = [axis for axis in figure.axes if axis.get_xlabel()]
    assert len(panels) == 4 and all(axis.get_ylabel() for axis in panels)
    plt.close(figure)
