"""race/xor: its claims, and an independent look at the rectified networks."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.experiments.race.xor import fits
from festina.networks.rectified import Rectified
from festina.worlds.logic import xor
from shared import quick


@pytest.fixture(scope="module")
def result():
    return quick("race/xor")


@pytest.mark.full
def test_quick_claims_hold_except_that_the_fastest_gating_wins(result):
    outcomes = {verdict.claim: verdict.outcome for verdict in result.verdicts}
    assert outcomes.pop("fastest") == "not reproduced", result
    assert all(outcome == "reproduced" for outcome in outcomes.values()), result


@pytest.mark.full
def test_fields_that_all_arms_set_are_not_free(result):
    assert not {"inputs", "separation"} & set(type(result.config).model_fields)
    assert {"initial", "scale", "gating", "width"} <= set(type(result.config).model_fields)


@pytest.mark.full
def test_half_planes_learn_faster_by_about_their_strengths(result):
    """s = ½ against √2/4: a ratio of .71 of the half-times, but for what the start adds."""
    fastest = next(verdict for verdict in result.verdicts if verdict.claim == "fastest")
    assert 0.7 < fastest.measured < 0.8


@pytest.mark.full
def test_a_rectified_network_is_the_one_of_its_seed(result):
    """Descent written out anew, from the same weights."""
    import jax

    network = Rectified.init(jax.random.key(1), (2, result.config.width, 1), 1e-2)
    first, second = (np.asarray(weight) for weight in network.weights)
    world = xor()
    model = next(arm.model for arm in result.arms if arm.labels.get("scale") == 1e-2)
    steps = model.steps_per_record * 40
    step = result.config.until / (result.config.records * model.steps_per_record)
    for _ in range(steps):
        active = np.maximum(world.inputs @ first.T, 0)
        error = (world.targets - active @ second.T) / 4
        slope = (error @ second) * (active > 0)
        first, second = first + step * slope.T @ world.inputs, second + step * error.T @ active
    answers = np.maximum(world.inputs @ first.T, 0) @ second.T
    loss = 0.5 * np.mean((world.targets - answers) ** 2)
    np.testing.assert_allclose(result.panel("rectified")["loss"].sel(scale=1e-2).isel(run=1, time=40), loss, rtol=1e-6)


def test_a_large_start_alone_leaves_claims_open(result):
    large = replace(
        result, config=result.config.model_copy(update={"scale": (0.05,)}), data=result.data.isel(arm=[0, 1, 2, 3, 6])
    )
    notes = {claim.id: claim.judge(large, "quick").note for claim in result.experiment.claims}
    assert notes["rectified"] == notes["start"] == "needs a start of at most σ = 0.01 among the scales"


@pytest.mark.full
def test_a_short_run_is_not_judged(result):
    short = replace(result, data=result.data.isel(time=slice(0, 20)), theory=result.theory.isel(time=slice(0, 20)))
    verdicts = {claim.id: claim.judge(short, "quick") for claim in result.experiment.claims}
    late = {"rectified", "start", "aligned", "fastest"}
    assert {name for name, verdict in verdicts.items() if verdict.outcome == "undecided"} == late
    assert verdicts["start"].note.startswith("networks still learn at t = 2.85; needs --until ")
    assert verdicts["fastest"].note.startswith(
        "half of the loss with half-planes is not gone at the end; needs --until"
    )
    short.figure()


def test_rectified_units_can_keep_gatings_for_one_example_alone():
    world = xor()
    sets = fs.theory.margin.self_consistent_sets(world.inputs, world.targets[:, 0])
    np.testing.assert_array_equal(np.sort(sets.argmax(axis=1)), range(4))
    np.testing.assert_array_equal(sets.sum(axis=1), 1)


@pytest.mark.full
def test_large_pathways_leave_claims_about_small_ones_open():
    large = fs.run("race/xor", budget="quick", seeds=1, initial=0.7, until=0.5, records=10, scale=0.01, width=8)
    verdicts = {verdict.claim: verdict for verdict in large.verdicts}
    assert verdicts["stuck"].note == "needs --initial 0.001 or smaller, for the loss to be that of answering 0"
    assert verdicts["fastest"].note.startswith("needs a smaller --initial")
    assert "broken" not in {verdict.outcome for verdict in large.verdicts}


@pytest.mark.full
def test_one_gating_alone_leaves_comparisons_open():
    alone = fs.run("race/xor", budget="quick", seeds=1, gating="half-planes", records=20, scale=0.01, width=8)
    notes = {verdict.claim: verdict.note for verdict in alone.verdicts}
    assert notes["stuck"] == "needs the gating `classes` or `always on`"
    assert notes["fastest"] == "needs the gating `one example`"
    assert "broken" not in {verdict.outcome for verdict in alone.verdicts}
    alone.figure()


@pytest.mark.parametrize("scale", [0.0, -0.01, float("nan"), float("inf"), (0.01, 0.01)])
def test_starts_are_positive_numbers_that_differ(scale):
    with pytest.raises(ArgumentError, match="`scale` must"):
        fs.run("race/xor", scale=scale)


@pytest.mark.full
def test_the_fit_finds_a_known_start(result):
    """Closed forms in the place of runs: their start comes back, and nothing is left."""
    solution = fs.theory.chain(2, 2**0.5 / 4, 3.1e-3, input_variance=0.5)(result["time"].values)
    exact = 4 * np.asarray(solution["loss"])
    data = result.data.copy()
    data["loss"] = data["loss"] * 0 + exact[None, :, None]
    start, left = fits(replace(result, data=data), 1e-2)
    np.testing.assert_allclose(start, 3.1e-3, rtol=1e-5)
    assert left.max() < 1e-6


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
    assert len(figure.axes) == 7
    assert all(axis.get_ylabel() for axis in figure.axes)
