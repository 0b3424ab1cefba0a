"""coding/outliers: its claims, its arms, and how outliers are counted."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from festina.claims import NotApplicable, Undecided
from festina.errors import ArgumentError
from festina.experiments.coding import outliers
from festina.experiments.coding._codes import served_by
from festina.experiments.coding._dwelling import least_less_most, plainly_cooled
from festina.experiments.coding.outliers import Outliers
from shared import quick


@pytest.fixture(scope="module")
def result():
    return quick("coding/outliers")


def test_there_are_arms_for_widths_tasks_and_common_starts():
    arms: list[Any] = [arm.model for arm in Outliers().arms_at(Outliers().configure("full"))]
    assert [arm.width for arm in arms] == [75, 150, 150, 150, 150, 300, 150, 150, 200, 200, 200]
    assert [arm.origin for arm in arms] == ["prior"] * 6 + ["common"] * 2 + ["prior"] * 3
    assert [arm.hottest for arm in arms[6:8]] == [1.0, 0.1]
    assert [arm.slowness for arm in arms] == [1.0] * 9 + [4.0, 16.0]
    assert {arm.counts for arm in arms if arm.width != 150} == {(20, 10, 10)}


def test_tasks_are_given_as_text_with_semicolons():
    config = Outliers().configure("full", counts="20,10,10;12,12", width="40,60")
    assert config.counts == ((20, 10, 10), (12, 12)) and outliers.middle(config) == 60
    assert len(Outliers().arms_at(config)) == 8 and outliers.between(config) == 40


def test_settings_are_checked():
    for name, value in (("width", (5, 100)), ("records", 7), ("counts", ((5, 5, 5, 5),))):
        with pytest.raises(ArgumentError, match=name):
            Outliers().configure("full", **{name: value})


@pytest.mark.full
def test_quick_claims_hold_where_they_are_meant_to(result):
    verdicts = {verdict.claim: verdict for verdict in result.verdicts}
    for claim in ("directions", "sum", "one-each", "fewer", "identity-kept"):
        assert verdicts[claim].holds, result
    for claim in ("kernel", "width", "identity-annealed", "identity-quenched", "dwelling", "dwelling-one-each"):
        assert verdicts[claim].outcome == "needs the full budget"


@pytest.mark.full
def test_claims_of_the_full_budget_are_measured_without_an_exception(result):
    found = {claim.id: claim.judge(result, "full") for claim in result.experiment.claims}
    assert not [verdict for verdict in found.values() if verdict.outcome in ("broken", "undecided", "not applicable")]
    assert found["kernel"].holds


@pytest.mark.full
def test_runs_share_a_start_where_they_should(result):
    start = result["readout"].isel(time=0).transpose("arm", "run", ...).values
    same = [bool(np.array_equal(one[0], one[1], equal_nan=True)) for one in start]
    assert same == [False, False, False, True, True, False, False]
    assert np.array_equal(start[3], start[4])


@pytest.mark.full
def test_outliers_are_counted_once_and_only_among_existing_neurons_and_classes(result):
    last = outliers.late(result)
    standing_out = outliers.standing_out(result, last)
    served = served_by(standing_out, last)
    np.testing.assert_array_equal(served.sum("class"), standing_out)
    assert standing_out.isel(time=-1).any("neuron").all(), "an arm of fewer classes has outliers, too"
    assert not served.isel(arm=0, neuron=slice(result.config.width[0], None)).any()
    assert not served.isel({"arm": 2, "class": 2}).any()
    codes = outliers.codes(result)
    np.testing.assert_allclose(served.sum(("neuron", "class")).mean("time") / codes, outliers.by_code(result))
    first = outliers.standing_out(result, result.data.isel(time=0))
    assert not first.any() and codes.values.tolist() == [3, 3, 2, 3, 3, 3, 3]


@pytest.mark.full
def test_those_that_dwell_are_counted_by_slowness_and_apart(result):
    number = outliers.per_code(result, outliers.when_cooled(result))
    assert number["slowness"].values.tolist() == [1.0, 16.0]
    by_hand = [
        outliers.standing_out(result, outliers.when_cooled(result)).isel(arm=arm).sum("neuron") for arm in (5, 6)
    ]
    np.testing.assert_allclose(number.transpose("slowness", "run"), np.array(by_hand) / 3)
    np.testing.assert_allclose(least_less_most(number), (by_hand[0] - by_hand[1]) / 3)
    assert plainly_cooled(result, outliers.codes(result)).sizes["arm"] == 5
    with pytest.raises(NotApplicable, match="needs --dwelling with two values or more"):
        least_less_most(number.isel(slowness=[0]))


@pytest.mark.full
def test_effective_numbers_lie_between_one_and_the_count(result):
    effective = outliers.effective_by_code(result)
    assert effective.min() >= 1.0 and np.all(effective <= outliers.by_code(result) + 1e-9)


@pytest.mark.full
def test_common_outliers_of_a_made_up_pair(result):
    """Two of three and of two outliers are the same neurons: 2 · 2/5."""
    data = result.data.copy(deep=True)
    readout = data["readout"].transpose("run", "time", "arm", "neuron", "output")
    made_up = np.zeros(readout.shape)
    made_up[0, -1, 4, [3, 5, 8], 0] = made_up[1, -1, 4, [5, 8], 0] = 10.0
    data["readout"] = readout.copy(data=made_up)
    np.testing.assert_allclose(outliers.in_common(replace(result, data=data), cooling_down="quenched"), [0.8])
    np.testing.assert_allclose(outliers.in_common(replace(result, data=data), cooling_down="annealed"), [0.0])


@pytest.mark.full
def test_what_cannot_be_told_is_not_judged(result):
    with pytest.raises(Undecided, match="needs --seeds 2"):
        outliers.in_common(replace(result, data=result.data.isel(run=[0])), cooling_down="annealed")
    assert outliers.condensed(result) is result
    warm = result.experiment.configure("quick", temperature=0.5, counts=((2, 2),))
    with pytest.raises(NotApplicable, match="needs a lower --temperature: in theory there are no outliers with 2/2"):
        outliers.condensed(replace(result, config=warm))


@pytest.mark.full
def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
        figure.canvas.draw()
    assert all(axis.get_ylabel() for axis in figure.axes) and len(figure.axes) == 9
