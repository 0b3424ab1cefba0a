"""coding/temperature: its claims, and the numbers they rest on against plain counting."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import festina as fs
from festina.claims import NotApplicable, Undecided
from festina.errors import ArgumentError
from festina.experiments.coding._sampled import class_variance, code_name, code_numbers
from festina.experiments.coding._temperature_measures import (
    RECORDS,
    as_in_reference,
    by_rung,
    code_shares,
    freezing_temperature,
    kernel_differences,
    persistence,
    theory_onset,
)
from shared import quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("coding/temperature")


def test_quick_claims_hold(result):
    outcomes = {verdict.claim: verdict.outcome for verdict in result.verdicts}
    judged = {claim for claim, outcome in outcomes.items() if outcome != "needs the full budget"}
    assert judged == {"equilibrium", "shares", "codes-appear", "sparse-kernel"}
    assert all(outcomes[claim] == "reproduced" for claim in judged), result


def test_rungs_are_in_the_order_of_temperature_for_every_arm(result):
    heats = by_rung(result["temperature"])
    assert heats.shape[1:] == (3, len(result.config.ladder), RECORDS)
    np.testing.assert_allclose(heats, np.asarray(result.config.ladder)[None, None, :, None] + np.zeros_like(heats))


def test_a_frozen_network_is_told_from_one_in_equilibrium(result):
    """At the lowest temperature cooled networks are far from the theory, those that start from it are not."""
    cooled, heated = kernel_differences(result)[:, :2, -1].mean(axis=0)
    assert cooled > 2 * heated
    held = result["persistence"].transpose("run", "sigmoidal_arm", "rung").values
    assert held[..., -1].min() > 0.9 and np.abs(held[..., 0]).max() < 0.2


def test_temperatures_are_compared_only_where_they_were_found(result):
    as_in_reference(result.config)
    for other in ({"counts": (20, 20)}, {"counts": (10, 10, 10)}, {"amplitude": 2.0}):
        with pytest.raises(NotApplicable, match="2:1:1"):
            as_in_reference(result.config.model_copy(update=other))
    assert theory_onset(result.config, 1) == pytest.approx(0.74, abs=0.01)
    assert theory_onset(result.config, 3) == pytest.approx(0.61, abs=0.01)
    with pytest.raises(NotApplicable, match="4 outliers"):
        theory_onset(result.config, 4)


def test_ladders_that_stop_too_early_decide_nothing(result):
    course = result.data.copy(deep=True)
    for values, said in ((0.0, "goes below 0.05"), (1.0, "begins above 1,")):
        course["persistence"][:] = values
        with pytest.raises(Undecided, match=said):
            freezing_temperature(replace(result, data=course))


def test_shares_of_codes_add_up(result):
    np.testing.assert_allclose(code_shares(result).sum(axis=-1), 1.0)


def test_persistence_is_one_for_constant_and_zero_for_fresh_codes():
    random = np.random.default_rng(0)
    fresh = random.integers(0, 8, (RECORDS, 20_000))
    assert persistence(fresh) == pytest.approx(0.0, abs=0.02)
    assert persistence(np.broadcast_to(fresh[0], fresh.shape)) == 1.0


def test_class_variance_is_that_of_class_means():
    """Of features that depend on the class alone, it is their variance over examples."""
    features, counts = np.random.default_rng(1).normal(size=(3, 5)), (4, 2, 2)
    examples = np.repeat(features, counts, axis=0)
    expected = np.sum(examples.var(axis=0))
    assert class_variance(features @ features.T, counts) == pytest.approx(expected)


def test_codes_have_numbers_and_names():
    assert code_numbers(np.array([[True, False, True], [False, False, False]])).tolist() == [5, 0]
    assert [code_name(number, 3) for number in (5, 0, 6)] == ["AC", "none", "BC"]


def test_ladders_must_fall():
    with pytest.raises(ArgumentError, match="ladder"):
        fs.run("coding/temperature", ladder=(0.1, 0.2))
    with pytest.raises(ArgumentError, match="stay"):
        fs.run("coding/temperature", stay=33)


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
        figure.canvas.draw()
    assert all(axis.get_xlabel() and axis.get_ylabel() for axis in figure.axes) and len(figure.axes) == 6
