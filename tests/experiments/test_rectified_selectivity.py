"""rectified/selectivity: its claims, those that do not hold included, and what they are computed from."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

import festina as fs
from festina.errors import ArgumentError
from festina.experiments.rectified.selectivity import fitted, gaps, worlds
from festina.lab.registry import find
from shared import outcomes, quick

pytestmark = pytest.mark.full

NOT_SO = {"race-winner"}


@pytest.fixture(scope="module")
def result():
    return quick("rectified/selectivity")


def test_quick_claims_hold_but_for_those_that_do_not(result):
    judged = outcomes(result)
    assert {claim for claim, outcome in judged.items() if outcome == "not reproduced"} == NOT_SO, result
    assert len(judged) >= 7


def test_shares_of_strength_add_up(result):
    np.testing.assert_allclose(result["strength"].sel(network=["relu", "frozen"]).sum("size"), 1.0, atol=1e-5)
    assert bool(result["strength"].sel(network="modular").isnull().all())
    assert np.all(result["loss"].isel(time=0) > 3.99)  # ½⟨|y|²⟩ = 32/8


def test_a_fit_finds_the_starts_a_curve_was_made_with(result):
    """The closed form, fitted to itself in place of a run, has no gap."""
    exact = fitted(result, 2)
    again = result.data.copy(deep=True)
    again["loss"].loc[{"network": "relu"}] = 4.0 * exact.transpose("run", "time", "world").values[..., None]
    other = fs.experiment.Result(result.experiment, result.config, again)
    start = abs(exact.isel(time=0) - 1.0).max()
    assert gaps(other, fitted(other, 2)).max() < 2e-3 + start


def test_another_size_of_context_inputs_is_met_with_most_contexts_only():
    experiment = find("rectified/selectivity")
    result = fs.experiment.Result(experiment, experiment.configure(), xr.Dataset())
    assert list(worlds(result)) == ["C = 3", "C = 4", "C = 5", "C = 5, κ = 1.35"]
    alone = fs.experiment.Result(experiment, experiment.configure(context_scale=(1.2,)), xr.Dataset())
    assert list(worlds(alone)) == ["C = 3, κ = 1.2", "C = 4, κ = 1.2", "C = 5, κ = 1.2"]
    assert len(result.arms) == 20


def test_fields_are_refused_with_a_sentence():
    with pytest.raises(ArgumentError, match="`contexts` must hold every value once"):
        fs.run("rectified/selectivity", contexts=(3, 3), context_scale=(1.0, 1.0))
    with pytest.raises(ArgumentError, match="`context_scale` must be"):
        fs.run("rectified/selectivity", contexts=(3,), context_scale=(float("nan"),))
    with pytest.raises(ArgumentError, match="`records` must divide the 8000 steps"):
        fs.run("rectified/selectivity", records=161)


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
    assert len(figure.axes) == 3 and all(axis.get_xlabel() or axis.get_xticklabels() for axis in figure.axes)


def test_too_few_steps_are_not_judged(result):
    short = replace(result, data=result.data.isel(time=slice(0, 10)))
    verdicts = {claim.id: claim.judge(short, "full") for claim in result.experiment.claims}
    assert {verdict.outcome for verdict in verdicts.values()} == {"undecided"}
    note = verdicts["as-fast"].note
    assert note.startswith("a tenth of the loss is not reached with C = 3; needs --steps ")
    assert 1500 < int(note.split()[-1]) <= 16_000 and int(note.split()[-1]) % result.config.records == 0
    short.figure()


def test_two_contexts_have_no_rival_of_their_own(result):
    """With two contexts all but one is a single one: claims that set them against each other do not apply."""
    config = result.config.model_copy(update={"contexts": (2,)})
    few = replace(result, config=config, data=result.data.assign_coords(contexts=[2]))
    verdicts = {claim.id: claim.judge(few, "quick") for claim in result.experiment.claims}
    assert verdicts["as-fast"].note == verdicts["nothing-fitted"].note == "needs a world of three contexts or more"
    assert "broken" not in {verdict.outcome for verdict in verdicts.values()}
