"""race/margin: its claims, and what they cannot check."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq

import festina as fs
from festina.experiments.race.margin import CROSSING, crossings, ends, from_smallest
from festina.networks.rectified import Rectified
from festina.worlds.logic import margin
from shared import quick

NAMES = ("nonlinear", "linear")


@pytest.fixture(scope="module")
def result():
    return quick("race/margin")


@pytest.mark.full
def test_quick_claims_hold(result):
    outcomes = {verdict.claim: verdict.outcome for verdict in result.verdicts}
    assert outcomes.pop("law-large") == "not applicable"  # the quick run has small starts alone
    assert all(outcome == "reproduced" for outcome in outcomes.values()), result


@pytest.mark.full
def test_shares_are_strengths_of_units_with_one_active_example(result):
    """One network, written out: at t = 0 nothing has been learned, and the share is that of the draw."""
    import jax

    network = Rectified.init(jax.random.key(2), (3, result.config.width, 1), 1e-3)
    first, second = (np.asarray(weight) for weight in network.weights)
    inputs = margin(1.2).inputs
    strength = np.linalg.norm(first, axis=1) * np.abs(second[0])
    single = (inputs @ first.T > 0).sum(axis=0) == 1
    recorded = result["single_share"].sel(scale=1e-3, separation=1.2).isel(run=2, time=0)
    np.testing.assert_allclose(recorded, strength[single].sum() / strength.sum(), rtol=1e-12)


@pytest.mark.full
def test_prediction_from_the_smallest_start_by_hand(result):
    """From k = 10⁴ times the end of one network, T is found by bisection."""
    nonlinear, linear = (float(result[name].isel(run=1, time=-1, scale=-1, separation=2)) for name in NAMES)
    separation = 0.75
    fast, slow = np.sqrt(2 + separation**2) / 2, separation

    def grown(clock):
        return np.array([1e4 * nonlinear * np.exp(fast * clock), 1e4 * linear * np.exp(slow * clock)])

    clock = brentq(lambda clock: grown(clock) @ np.array([2 * fast, separation]) - 1, -40, 10, xtol=1e-13)
    single, pair = grown(clock)
    np.testing.assert_allclose(from_smallest(result)[1, 0, 2], 4 * single / (4 * single + 2 * pair), rtol=1e-9)
    np.testing.assert_allclose(from_smallest(result)[:, -1, :-1], ends(result)[:, -1, :-1], atol=0.005)


@pytest.mark.full
def test_crossings_are_found_between_margins(result):
    places = crossings(result)
    assert places.shape == (2, 4) and np.all((places > 0.75) & (places < 0.85))
    assert abs(places.mean() - CROSSING) < 0.02


@pytest.mark.full
def test_claims_say_which_margins_they_need(result):
    few = (0.85, 1.2)
    config = result.config.model_copy(update={"separation": few})
    data, theory = (part.sel(separation=list(few)) for part in (result.data, result.theory))
    less = replace(result, data=data, theory=theory, config=config)
    notes = {claim.id: claim.judge(less, "quick").note for claim in result.experiment.claims}
    assert notes["sharper"] == "needs margins on either side of √(2/3)"
    assert notes["nonlinear"] == "needs the margin 0.4"
    assert notes["none"] == "needs a margin above √2"
    assert notes["index"] == "needs a margin of at most 0.4"
    assert notes["law-large"] == "needs a start above σ = 0.01"
    assert notes["crossing"] == "needs margins on either side of √(2/3)"
    less.figure()


@pytest.mark.full
def test_the_order_in_which_margins_and_starts_are_named_does_not_matter(result):
    turned = {"scale": slice(None, None, -1), "separation": slice(None, None, -1)}
    backwards = replace(result, data=result.data.isel(turned), theory=result.theory.isel(turned))
    found = [claim.judge(backwards, "quick") for claim in result.experiment.claims]
    assert [(it.claim, it.outcome) for it in found] == [(it.claim, it.outcome) for it in result.verdicts]
    np.testing.assert_allclose(
        [it.measured for it in found if it.measured is not None],
        [it.measured for it in result.verdicts if it.measured is not None],
        rtol=1e-12,
    )


@pytest.mark.full
def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
    assert len(figure.axes) == 6
    assert all(axis.get_xlabel() and axis.get_ylabel() for axis in figure.axes)


@pytest.mark.full
def test_a_short_run_is_not_judged(result):
    short = replace(result, data=result.data.isel(time=slice(0, 12)), theory=result.theory.isel(time=slice(0, 12)))
    verdicts = {claim.id: claim.judge(short, "quick") for claim in result.experiment.claims}
    assert verdicts.pop("law-large").note == "needs a start above σ = 0.01"
    assert {verdict.outcome for verdict in verdicts.values()} == {"undecided"}
    (note,) = {verdict.note for verdict in verdicts.values()}
    assert note.startswith("networks with scale 0.01 and separation 0.2, and 17 more, still learn at t = 5.5; needs")
    short.figure()


@pytest.mark.full
def test_one_start_and_one_margin_leave_comparisons_open(result):
    where = {"scale": [1e-3], "separation": [0.4]}
    single = replace(result, data=result.data.sel(where), theory=result.theory.sel(where))
    notes = {claim.id: claim.judge(single, "quick").note for claim in result.experiment.claims}
    assert notes["falling"] == "needs several margins"
    assert notes["crossing"] == notes["sharper"] == "needs margins on either side of √(2/3)"
    assert notes["law"] == "needs two starts of at most σ = 0.01"
    single.figure()
    pair = replace(result, data=result.data.sel(scale=[1e-3]), theory=result.theory.sel(scale=[1e-3]))
    assert next(c for c in result.experiment.claims if c.id == "one-point").judge(pair, "quick").note == (
        "needs several starts"
    )


@pytest.mark.full
def test_claims_of_odd_configurations_do_not_break():
    """Few and wide margins, large starts, a run of no length: each claim says what it lacks."""
    cheap = {"seeds": 1, "width": 20, "records": 10, "step_size": 0.05}
    wide = fs.run("race/margin", budget="quick", separation=(1.45, 1.6), scale=(0.05, 0.03), until=20.0, **cheap)
    assert all(verdict.outcome == "not applicable" for verdict in wide.verdicts if verdict.claim != "falling"), wide
    wide.figure()
    none = fs.run("race/margin", budget="quick", separation=0.0, scale=0.01, until=1.0, **cheap)
    assert {verdict.note for verdict in none.verdicts if verdict.claim != "crossing"} >= {"needs a margin above 0"}
    assert "broken" not in {verdict.outcome for verdict in none.verdicts}
    none.figure()
    apart = fs.run("race/margin", budget="quick", separation=(0.4, 1.2), scale=(0.05, 0.005), until=1.0, **cheap)
    outcomes = {verdict.claim: verdict.outcome for verdict in apart.verdicts}
    assert {name for name, outcome in outcomes.items() if outcome != "undecided"} == {
        "crossing", "one-point", "sharper", "none", "law"
    }  # fmt: skip
    assert "broken" not in outcomes.values()
