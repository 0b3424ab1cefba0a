"""race/speeds: its claims, numbers worked out by hand, and what claims say that they need."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import festina as fs
from shared import quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("race/speeds")


def test_quick_claims_hold(result):
    assert all(verdict.outcome == "reproduced" for verdict in result.verdicts), result


def test_half_times_of_two_layers_are_worked_out_by_hand(result):
    """½ ln(1/π₀ − 1) from a balanced start, twice that with half of the samples, and half of it with four paths."""
    alone = 0.5 * np.log(999.0)
    half = lambda panel, **at: float(  # noqa: E731
        fs.measures.crossings(result.panel(panel)["learned"].isel(run=0).sel(at), 0.5)
    )
    assert half("data", rival_correlation=1.0, pathway="rival") == pytest.approx(alone, rel=1e-3)
    assert half("data", rival_correlation=0.5, pathway="rival") == pytest.approx(2 * alone, rel=1e-3)
    assert half("data", rival_correlation=0.5, pathway="first") == pytest.approx(alone, rel=1e-3)
    assert half("sharing", path_count=4, shared_depth=2, pathway="rival") == pytest.approx(alone / 2, rel=1e-3)
    assert half("start", rival_start=100.0, pathway="rival") == pytest.approx(0.5 * np.log(9.0), rel=1e-3)


def test_contests_end_where_conserved_quantities_say(result):
    """At depth 2 a start a hundred times as large keeps its lead; and π₂ ∝ π₁² where four paths share an edge."""
    ends = result.panel("contest")["learned"].isel(run=0, time=-1)
    np.testing.assert_allclose(ends.sel(rival="larger-start"), np.array([1, 100]) / 101, atol=1e-6)
    first, rival = ends.sel(rival="shared-edge").values
    assert rival / 1e-3 == pytest.approx((first / 1e-3) ** 2, rel=1e-5)


def test_claims_say_what_they_need():
    unfit = {"rival_depth": 2, "depth_initial": 0.6, "rival_start": 1.0, "rival_imbalance": 1.0, "path_count": 2}
    result = fs.run("race/speeds", budget="quick", until=2.0, **unfit)
    assert "broken" not in {verdict.outcome for verdict in result.verdicts}, result
    notes = {verdict.claim: verdict.note for verdict in result.verdicts}
    assert notes["depth"] == "needs a depth initial ≤ 0.01"
    assert notes["deeper-is-faster"].startswith("needs several depths")
    assert notes["sharing-law"] == "needs a single path to compare with, 1 among --path-count"
    assert notes["half-times"].startswith("a pathway has not learned half at the end; needs --until")
    assert notes["dominance"].startswith("needs rivals that differ from the first pathway in every contest")
    assert len(result.figure().axes) == 8


def test_too_few_recordings_are_said_to_be_too_few(result):
    few = replace(
        result, data=result.data.isel(time=slice(0, None, 4)), theory=result.theory.isel(time=slice(0, None, 4))
    )
    verdicts = {claim.id: claim.judge(few, "quick") for claim in result.experiment.claims}
    assert verdicts["half-times"].outcome == "undecided" and verdicts["half-times"].note.endswith("needs --records 100")


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
    assert len(figure.axes) == 8
    assert all(axis.get_xlabel() for axis in figure.axes)
