"""abstraction/blocks: its claims, and the measured growth of differences."""

import warnings
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr

import festina as fs
from festina.claims import NotApplicable, Undecided
from festina.errors import ArgumentError
from festina.experiments.abstraction.blocks import BlockLength, at_rounds, potentials, rates, steps_of_alignment
from shared import quick

FAIL = {"without-limit", "second-order", "linear-onset"}  # what the docstring says does not hold


@pytest.fixture(scope="module")
def result():
    return quick("abstraction/blocks")


def changed(result, **fields):
    """The same runs, as if they had been asked for otherwise."""
    return replace(result, config=result.config.model_copy(update=fields))


@pytest.mark.full
def test_claims_hold_but_for_those_that_the_docstring_names(result):
    outcomes = {verdict.claim: verdict.outcome for verdict in result.verdicts}
    assert {claim for claim, outcome in outcomes.items() if outcome == "not reproduced"} == FAIL
    others = {"reproduced", "needs the full budget"}
    assert {outcome for claim, outcome in outcomes.items() if claim not in FAIL} == others


@pytest.mark.full
def test_measured_rates_are_exact_at_every_length(result):
    found = rates(result)
    np.testing.assert_allclose(found["twins"], found["exact"], rtol=0.01, atol=1e-5)
    assert found["exact"].max() > 0.1


@pytest.mark.full
def test_the_longest_blocks_by_hand(result):
    """Euler steps of the first run from random weights, through one round of blocks of 4."""
    chosen = result.data.isel(run=0).sel(start="random", block_length=4.0)
    weights, gates, step = chosen["weights"].values[0], chosen["gates"].values[0], result.config.step_size
    for number in range(round(8 / step)):
        error = np.eye(2)[int(number * step + 0.5 * step >= 4)] - gates @ weights
        bounds = 20 / 11 * (np.abs(gates).sum() - 1) * np.sign(gates) - 2 / 11 * (gates < 0)
        weights, gates = weights + step / 1.3 * np.outer(gates, error), gates + step / 0.06 * (weights @ error - bounds)
    then = chosen.sel(time=8.0, method="nearest")
    np.testing.assert_allclose(then["weights"], weights, atol=1e-9)
    np.testing.assert_allclose(then["gates"], gates, atol=1e-9)


@pytest.mark.full
def test_rounds_begin_where_they_should(result):
    rounds = at_rounds(result, 4.0)
    np.testing.assert_allclose(rounds["time"], np.arange(0, 49, 8))
    expected = result["overall"].sel(block_length=4.0, start="orbit").sel(time=16.0, method="nearest")
    np.testing.assert_allclose(rounds["overall"].sel(start="orbit").isel(time=2), expected)


@pytest.mark.full
def test_the_potential_is_less_the_integral_of_the_mean_change(result):
    """A specialisation that grows as 1 − e^(−t/8) has the force (1 − w̄)/8, and thus the potential (w̄²/2 − w̄)/8."""
    time, length = result.data["time"], 0.25
    grown = -np.expm1(-time / 8) * xr.ones_like(result["overall"])
    made_up = replace(result, data=result.data.assign(overall=grown.transpose(*result["overall"].dims)))
    well = potentials(made_up).sel(block_length=length)
    inside = well["specialisation"].values[1:-3]
    np.testing.assert_allclose(well.values[1:-3], (inside**2 / 2 - inside) / 8, atol=3e-3)
    assert well[0] == 0.0 and np.isnan(well[-1])  # nothing was seen beyond 1
    assert abs(well.idxmin() - 1.0) < 0.06


@pytest.mark.full
def test_claims_need_rounds_that_end_at_recordings_and_a_tiny_difference(result):
    with pytest.raises(NotApplicable, match="needs rounds of two blocks that end at recordings"):
        at_rounds(changed(result, steps_per_record=27), 1.0)
    with pytest.raises(NotApplicable, match="needs a difference of twins, at most 1e-6"):
        rates(changed(result, difference=1e-3))
    with pytest.raises(Undecided, match="needs --until 16"):
        rates(replace(result, data=result.data.isel(time=slice(0, 200))))


@pytest.mark.full
def test_a_single_block_length_is_not_compared(result):
    with pytest.raises(NotApplicable, match=r"two block lengths up to 0.4"):
        steps_of_alignment(result, 0.4)


@pytest.mark.full
def test_block_lengths_may_come_in_any_order(result):
    order = (4.0, 0.25, 2.0, 1.0, 3.0, 0.5)
    mixed = replace(changed(result, block_length=order), data=result.data.sel(block_length=list(order)))
    for claim in BlockLength.claims:
        assert claim.judge(mixed, "quick").measured == claim.judge(result, "quick").measured


@pytest.mark.full
def test_only_the_lack_of_an_orbit_makes_a_claim_not_apply(result):
    """An error in what theory is given would otherwise pass for a configuration without an orbit."""
    with pytest.raises(NotApplicable, match=r"needs a periodic orbit for blocks of 0.25"):
        rates(changed(result, normalization=0.0))


@pytest.mark.parametrize("lengths", [(1.0, 1.0), (0.0, 1.0)])
def test_block_lengths_are_distinct_and_positive(lengths):
    with pytest.raises(ArgumentError, match="`block_length` must"):
        BlockLength().configure(block_length=lengths)


@pytest.mark.full
def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
        figure.canvas.draw()
    assert len(figure.axes) == 6 and all(axis.get_xlabel() and axis.get_ylabel() for axis in figure.axes)
    plt.close(figure)


@pytest.mark.full
def test_a_run_that_is_too_short_is_drawn_and_says_what_it_lacks():
    """Where claims are undecided, panels have their reason."""
    brief = fs.run("abstraction/blocks", budget="quick", seeds=1, until=2.0, block_length=(0.25, 1.0))
    outcomes = {verdict.outcome for verdict in brief.verdicts}
    assert outcomes == {"undecided", "needs the full budget"}
    figure = brief.figure()
    assert "needs\n--until" in figure.axes[3].texts[0].get_text().replace(" ", "\n")
    plt.close(figure)
