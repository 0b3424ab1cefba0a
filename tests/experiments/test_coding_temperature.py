"""coding/temperature: its claims, and what they refuse to judge."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from festina.claims import NotApplicable, Undecided
from festina.experiments.coding._comparison import network_of
from festina.experiments.coding.temperature import (
    SIGMOIDAL,
    as_in_reference,
    between,
    freezing_temperatures,
    kernel_difference,
    onset_difference,
)
from shared import quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("coding/temperature")


def test_quick_claims_hold(result):
    outcomes = {verdict.claim: verdict.outcome for verdict in result.verdicts}
    judged = {claim for claim, outcome in outcomes.items() if outcome != "needs the full budget"}
    assert judged == {"equilibrium", "shares", "codes-appear", "sparse-kernel", "thawed", "followed"}
    assert all(outcomes[claim] == "reproduced" for claim in judged), result


def test_claims_of_the_full_budget_are_measured_without_an_exception(result):
    outcomes = {claim.id: claim.judge(result, "full") for claim in result.experiment.claims}
    assert not [verdict for verdict in outcomes.values() if verdict.outcome == "broken"]
    assert outcomes["tracking"].note == "needs temperatures between 0.12 and 0.18"
    assert outcomes["freezing"].measured == pytest.approx(0.16, abs=0.03)
    assert outcomes["sample-size"].measured > 1  # whether it is enough is for longer chains to say


def test_a_frozen_network_is_told_from_one_in_equilibrium(result):
    """At the lowest temperature cooled networks are far from the theory, those that start from it are not."""
    cooled, heated = kernel_difference(result).sel(chain=SIGMOIDAL).isel(temperature=-1).mean("run")
    assert cooled > 2 * heated
    held = result["persistence"].sel(chain=SIGMOIDAL)
    assert held.isel(temperature=-1).min() > 0.9 and abs(held.isel(temperature=0)).max() < 0.2


def test_what_freezes_is_the_dynamics(result):
    """From one network of the prior, down one ladder: one sampler follows equilibrium to the end, another does not."""
    first = result["readout"].isel(time=0)
    np.testing.assert_array_equal(first.sel(chain="collapsed"), first.sel(chain="cooled"))
    cooled, collapsed = (kernel_difference(result).sel(chain=chain) for chain in ("cooled", "collapsed"))
    assert np.all(collapsed.isel(temperature=-1) < 0.5 * cooled.isel(temperature=-1))
    assert np.all(result["gradients"].sel(chain="collapsed") == 0)


def test_chains_start_from_the_prior_and_from_the_theory(result):
    """A heated chain has all its codes from the start, a cooled one none; both have the same ladder."""
    assert result["heat"].isel(run=0, time=1).values.tolist() == [1.0, 0.05, 1.0, 1.0]
    np.testing.assert_array_equal(result["persistence"]["temperature"], result.config.ladder)
    first = abs(result["readout"].isel(time=0, run=0)).max(("neuron", "output"))
    assert first.sel(chain="heated") > 2 * first.sel(chain="cooled")


def test_temperatures_are_compared_only_where_they_were_found(result):
    assert as_in_reference(result) is result
    for other in ({"counts": (20, 20)}, {"counts": (10, 10, 10)}, {"amplitude": 2.0}):
        with pytest.raises(NotApplicable, match="2:1:1"):
            as_in_reference(replace(result, config=result.config.model_copy(update=other)))
    onsets = network_of(result, chain="rectified").onsets()
    np.testing.assert_allclose([onsets[0], onsets[2]], [0.74, 0.61], atol=0.01)
    with pytest.raises(NotApplicable, match="4 outliers"):
        onset_difference(result, 4)


def test_the_onset_of_outliers_is_the_first_rung_on_which_they_serve_enough_classes(result):
    """In one run at .6 and in the other at .4, which is .5 in the mean."""
    data = result.data.copy(deep=True)
    served = data["rung_served"].sel(chain="rectified").transpose("run", "temperature")
    served[:] = [[0, 3, 3, 3, 3, 3], [0, 2.4, 3, 3, 3, 3]]
    data["rung_served"].loc[{"chain": "rectified"}] = served.transpose(*data["rung_served"].sel(chain="cooled").dims)
    made_up = replace(result, data=data)
    assert onset_difference(made_up, 3) == pytest.approx(0.5 - network_of(result, chain="rectified").onsets()[2])
    data["rung_served"][:] = 0.0
    with pytest.raises(Undecided, match="too few stand out"):
        onset_difference(replace(result, data=data), 3)


def test_ladders_that_stop_too_early_decide_nothing(result):
    course = result["persistence"].sel(chain="cooled").copy(deep=True)
    for values, said in ((0.0, "goes below 0.05"), (1.0, "begins above 1,")):
        course[:] = values
        with pytest.raises(Undecided, match=said):
            freezing_temperatures(course)
    course[:] = np.array([0, 0, 0.6, 0.2, 0.8, 1])
    np.testing.assert_allclose(freezing_temperatures(course), np.sqrt(0.2 * 0.1))  # half-way between logarithms
    assert between(course, 0.1, 0.4)["temperature"].values.tolist() == [0.4, 0.2, 0.1]


def test_shares_of_codes_add_up(result):
    np.testing.assert_allclose(result["code_shares"].sum("code"), 1.0)


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
        figure.canvas.draw()
    assert all(axis.get_xlabel() and axis.get_ylabel() for axis in figure.axes) and len(figure.axes) == 6
