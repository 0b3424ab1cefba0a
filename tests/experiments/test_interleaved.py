"""abstraction/interleaved: its claims, its schedules, and what they cannot check."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

from festina.claims import NotApplicable
from festina.experiments.abstraction.interleaved import Interleaved, alignments, half_way, interleaved, of_length
from shared import outcomes, quick

FAIL = {"longer-by-chance", "twice-as-long"}  # what the description says does not hold


@pytest.fixture(scope="module")
def result():
    return quick("abstraction/interleaved")


@pytest.mark.full
def test_claims_come_out_as_documented(result):
    found = outcomes(result)
    assert {claim for claim, outcome in found.items() if outcome == "not reproduced"} == FAIL, result
    assert {outcome for claim, outcome in found.items() if claim not in FAIL} == {"reproduced"}


@pytest.mark.full
def test_half_way_lies_between_what_does_and_does_not_specialise(result):
    for schedule in ("regular", "random"):
        ends, middle = alignments(result, schedule).sel(network="flexible").mean("run"), half_way(result, schedule)
        before, after = ends.sel(length=slice(None, middle))[-1], ends.sel(length=slice(middle, None))[0]
        assert before < 0.5 * (1 + 0.5**0.5) <= after


@pytest.mark.full
def test_schedules_are_told_apart_by_mean_lengths_and_need_interleaved_tasks(result):
    np.testing.assert_allclose(
        of_length(result, "regular", "loss")["length"], of_length(result, "random", "loss").length
    )
    config = result.config.model_copy(update={"step_size": 0.002})  # as if steps had been twice as long
    claim = next(claim for claim in Interleaved.claims if claim.id == "benefit")
    longer = replace(result, config=config)
    np.testing.assert_allclose(of_length(longer, "random", "loss")["length"][0], 0.004)
    assert claim.judge(longer, "quick").outcome == "reproduced"
    with pytest.raises(NotApplicable, match=r"needs 0.5 among the values of switching"):
        interleaved(result, alignments(result, "random").isel(length=slice(1, None)))


@pytest.mark.full
def test_the_figure_draws_without_a_warning(result, recwarn):
    figure = result.figure()
    figure.canvas.draw()
    assert len(figure.axes) == 3 and not recwarn.list
    plt.close(figure)
