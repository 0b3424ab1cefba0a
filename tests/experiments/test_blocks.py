"""abstraction/blocks: its claims, and the measured growth of differences."""

import warnings
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

from festina.claims import NotApplicable
from festina.errors import ArgumentError
from festina.experiments.abstraction.blocks import (
    BlockLength,
    at_rounds,
    exact_growth,
    exact_rates,
    growth_rates,
    steps_of_alignment,
)
from shared import quick

pytestmark = pytest.mark.full

FAIL = {"without-limit", "second-order", "linear-onset"}  # what the docstring says does not hold


@pytest.fixture(scope="module")
def result():
    return quick("abstraction/blocks", block_lengths=(0.25, 0.5, 1.0, 2.0, 4.0))


def test_claims_hold_but_for_those_that_the_docstring_names(result):
    outcomes = {verdict.claim: verdict.outcome for verdict in result.verdicts}
    assert {claim for claim, outcome in outcomes.items() if outcome == "not reproduced"} == FAIL
    assert {outcome for claim, outcome in outcomes.items() if claim not in FAIL} == {"reproduced"}


def test_measured_rates_are_exact_at_every_length(result):
    np.testing.assert_allclose(growth_rates(result), exact_rates(result), rtol=0.01, atol=1e-5)


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


def test_rounds_begin_where_they_should(result):
    edges, values = at_rounds(result, "specialization", 4)
    np.testing.assert_allclose(edges, np.arange(0, 49, 8))
    expected = result["specialization"].sel(block_length=4.0, start="orbit").sel(time=16.0, method="nearest")
    np.testing.assert_allclose(values[:, 1, 2], expected)


@pytest.mark.parametrize("lengths", [(0.27, 1.02, 2.03, 3), (0.5, 1.0001), (0.0001,)])
def test_rounds_must_end_at_recordings(lengths):
    with pytest.raises(ArgumentError, match="`block_lengths` must make rounds of two blocks end at recordings"):
        BlockLength().configure(block_lengths=lengths)


def test_a_round_may_end_at_a_recording_though_its_first_block_does_not():
    assert BlockLength().configure(block_lengths=(0.275, 0.3)).block_lengths == (0.275, 0.3)


@pytest.mark.parametrize(("lengths", "must"), [((1.0, 0.5), "rise"), ((1.0, 1.0), "rise"), ((0.0, 1.0), "be greater")])
def test_block_lengths_must_rise(lengths, must):
    with pytest.raises(ArgumentError, match=f"`block_lengths` must {must}"):
        BlockLength().configure(block_lengths=lengths)


def test_a_single_block_length_is_not_compared(result):
    alone = replace(result, config=result.config.model_copy(update={"block_lengths": (1.0,)}))
    with pytest.raises(NotApplicable, match="two block lengths"):
        steps_of_alignment(alone, 2.0)


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
        figure.canvas.draw()
    assert len(figure.axes) == 6 and all(axis.get_xlabel() and axis.get_ylabel() for axis in figure.axes)
    plt.close(figure)


def test_only_the_lack_of_an_orbit_makes_a_claim_not_apply(result):
    """An error in what theory is given would otherwise pass for a configuration without an orbit."""
    with pytest.raises(NotApplicable, match="needs a periodic orbit for blocks of 1"):
        exact_growth(result.config.model_copy(update={"normalization": 0.0}), 1.0)
    with pytest.raises(ArgumentError, match="`block_length` must be positive"):
        exact_growth(result.config, -1.0)
