"""rectified/race: its claims, those that do not hold included, and what they are computed from."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.experiments.rectified.race import correlations
from festina.theory.rectified import at_start, on_residual
from festina.worlds.contexts import multitask
from shared import outcomes, quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("rectified/race")


def test_quick_claims_hold_but_for_the_one_that_does_not(result):
    judged = outcomes(result)
    assert {claim for claim, outcome in judged.items() if outcome != "reproduced"} == {"sharing-raises-correlation"}, (
        result
    )


def test_energies_are_shares_of_the_sizes_there_are(result):
    energy = result["energy"].isel(time=-1)
    np.testing.assert_allclose(energy.sum("size"), 1.0, rtol=1e-5)
    assert float(energy.sel(start="residual", contexts=3, size=3).max()) == 0.0
    assert bool(energy.sel(contexts=3, size=4).isnull().all()) and bool(energy.sel(contexts=4).notnull().all())


@pytest.mark.parametrize("contexts", [3, 5])
def test_correlations_of_the_data_are_those_of_theory(contexts):
    strengths = multitask(contexts).strengths
    unit = strengths[1] / (8 * contexts)
    first = [at_start(size, contexts, strengths).strength[0] / unit for size in range(1, contexts + 1)]
    later = [on_residual(size, contexts, strengths).strength[0] / unit for size in range(1, contexts)]
    np.testing.assert_allclose(correlations(contexts, "scratch"), first)
    np.testing.assert_allclose(correlations(contexts, "residual"), [*later, 0.0], atol=1e-12)


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
    assert len(figure.axes) == 8


def test_too_few_steps_are_not_judged(result):
    short = replace(result, data=result.data.isel(time=slice(0, 10)))
    verdicts = {claim.id: claim.judge(short, "quick") for claim in result.experiment.claims}
    late = {"mixed-wins", "draw-on-the-residual", "won-from-scratch", "middle-sizes"}
    assert {name for name, verdict in verdicts.items() if verdict.outcome == "undecided"} == late
    assert verdicts["mixed-wins"].note == "the race of 3 contexts (scratch) is not over; needs more than --steps 900"
    few = replace(result, config=result.config.model_copy(update={"contexts": (2,)}))
    assert {claim.judge(few, "quick").outcome for claim in result.experiment.claims} == {"not applicable"}
    with pytest.raises(ArgumentError, match="`contexts` must hold every value once"):
        fs.run("rectified/race", contexts=(3, 3))
