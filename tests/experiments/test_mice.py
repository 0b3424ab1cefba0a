"""linear/mice: its claims, and what they cannot check."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.experiments.linear import _cohort as cohorts
from festina.experiments.linear import mice
from festina.models.tutor_executor import EARLY
from shared import outcomes, quick

pytestmark = pytest.mark.full

LOOSELY = {"systematic", "accuracy-last", "near-saddles"}
FAILS = {"growth-cohort"}


@pytest.fixture(scope="module")
def result():
    return quick("linear/mice")


def test_quick_claims_hold_but_for_those_known_to_hold_loosely_or_not_at_all(result):
    known = dict.fromkeys(LOOSELY, "reproduced qualitatively") | dict.fromkeys(FAILS, "not reproduced")
    judged = outcomes(result)
    assert judged == {claim: known.get(claim, "reproduced") for claim in judged} and len(judged) == 27, result


def test_animals_of_all_networks_are_those_of_the_models(result):
    """An animal alone, and a learner that is so many times slower, or that scattered."""
    assert all(np.isfinite(values).all() for name, values in result.data.items() if name != "signals")
    for network, fields in {
        "scattered-start": {"initial_spread": 0.05},
        "slow-shallow": {"layers": 1, "crosstalk": 1.0, "learning_rate": 0.0026 / 8.0},
    }.items():
        alone = fs.models.TutorExecutor(**fields).run(first_seed=5)
        for name in ("right", "accuracy", "tutor", "executor", "choices", "signals"):
            together = result[name].sel(network=network).isel(run=5)
            np.testing.assert_allclose(alone[name][0], together, rtol=0, atol=1e-12)


def test_all_networks_are_born_with_one_luck(result):
    born = result["right"].isel(time=0)
    plain = born.sel(network=["tutor-executor", "total-error", "shallow", "slow-shallow"])
    np.testing.assert_allclose(plain - plain.isel(network=0), 0.0, atol=1e-12)


def test_one_animal_is_no_cohort_but_can_be_drawn(result):
    one = replace(result, data=result.data.isel(run=[0]), theory=result.theory.isel(run=[0]))
    judged = {claim.id: claim.judge(one, "full").outcome for claim in mice.Mice.claims}
    about_cohorts = ("diverse", "systematic", "systematic-simulated", "systematic-total-error", "flip")
    about_cohorts += ("flip-simulated", "flip-not-robust", "chance", "fate", "step", "graded-curve")
    about_cohorts += ("curves-expected", "signals-strategy", "signals-expected")
    assert {judged[claim] for claim in about_cohorts} == {"not applicable"}
    plt.close(one.figure())


def test_animals_with_little_training_say_how_much_they_need(result):
    """A tenth of the learning rate asks for ten times the trials; what is about the first session is still decided."""
    slow = replace(result, config=result.config.model_copy(update={"learning_rate": 0.00026}))
    verdicts = {claim.id: claim.judge(slow, "full") for claim in mice.Mice.claims}
    undecided = ("diverse", "systematic", "flip", "accuracy-last", "near-saddles", "chance", "fate")
    note = "too little training: needs --trials 2000, or a larger --learning-rate"
    assert {verdicts[claim].note for claim in undecided} == {note}
    assert verdicts["accuracy-first"].outcome == "reproduced"
    assert {verdicts[claim].outcome for claim in ("growth-cohort", "flip-simulated")} == {"not applicable"}


def test_shallow_animals_all_go_the_expected_way(result):
    """Without a saddle chance averages out, and the expected course is that of every animal."""
    gap = abs(result["right"] - result.theory["right"]).sel(network="slow-shallow")
    assert gap.max() < 0.25 and gap.mean() < 0.03


def test_theory_foretells_from_the_weights_after_the_early_window(result):
    foretold = cohorts.forecast(result)["right"]
    assert foretold.shape == (40, result.config.sessions - EARLY[1] + 1, 5)
    later = result["right"].sel(network="tutor-executor").values[:, EARLY[1] + 1 :]
    assert np.abs(foretold[:, 1:] - later).mean() < 0.06


def test_spread_undoes_the_change_of_sides_gradually(result):
    """r(early, late bias) rises with the spread of the first constant weights, from negative to positive."""
    none = float(
        np.corrcoef(*(result[name].sel(network="tutor-executor") for name in ("early_bias", "late_bias")))[0, 1]
    )
    cohorts = [fs.models.TutorExecutor(initial_spread=spread).run(seeds=40) for spread in (0.03, 0.1)]
    some, much = (np.corrcoef(cohort["early_bias"], cohort["late_bias"])[0, 1] for cohort in cohorts)
    assert none < some < much and none < -0.4 and much > 0.0


def test_signals_are_recorded_where_there_were_trials(result):
    trials = result["choices"].isel(time=slice(1, None))
    np.testing.assert_array_equal(trials.sum(("contrast", "choice")), result.config.trials)
    recorded = np.isfinite(result["signals"].isel(time=slice(1, None)))
    np.testing.assert_array_equal(recorded, (trials > 0).broadcast_like(recorded).transpose(*recorded.dims))


def test_all_teaching_signals_of_the_total_error_are_one(result):
    signals = result["signals"].sel(network="total-error")
    assert abs(signals - signals.sel(signal="total")).max() < 1e-12


def test_claims_about_contrasts_need_some(result):
    one = replace(result, config=result.config.model_copy(update={"contrasts": (0.5,)}))
    about_contrasts = [claim for claim in mice.Mice.claims if claim.id in ("step", "graded-curve")]
    assert [claim.judge(one, "full").outcome for claim in about_contrasts] == ["not applicable"] * 2


@pytest.mark.parametrize(("field", "value"), [("scatter", -1.0), ("slowdown", 0.0), ("sessions", 3), ("trials", 7)])
def test_impossible_fields_are_refused(field, value):
    with pytest.raises(ArgumentError, match=f"`{field}` must"):
        fs.run("linear/mice", **{field: value})


def test_the_figure_has_nine_labelled_panels(result):
    figure = result.figure()
    panels = [axis for axis in figure.axes if axis.get_title()]
    assert len(panels) == 9
    assert all(axis.get_xlabel() and axis.get_ylabel() for axis in panels)
    plt.close(figure)
