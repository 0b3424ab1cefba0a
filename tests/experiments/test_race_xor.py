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


def test_quick_claims_hold_except_that_the_fastest_gating_wins(result):
    outcomes = {verdict.claim: verdict.outcome for verdict in result.verdicts}
    assert outcomes.pop("fastest") == "not reproduced", result
    assert all(outcome == "reproduced" for outcome in outcomes.values()), result


def test_half_planes_learn_faster_by_about_their_strengths(result):
    """s = ½ against √2/4: a ratio of .71 of the half-times, but for what the start adds."""
    fastest = next(verdict for verdict in result.verdicts if verdict.claim == "fastest")
    assert 0.7 < fastest.measured < 0.8


def test_a_rectified_network_is_the_one_of_its_seed(result):
    """Descent written out anew, from the same weights."""
    import jax

    network = Rectified.init(jax.random.key(1), (2, result.config.width, 1), 1e-2)
    first, second = (np.asarray(weight) for weight in network.weights)
    world = xor()
    steps = result.config.steps_per_record * 40
    step = result.config.until / (result.config.records * result.config.steps_per_record)
    for _ in range(steps):
        active = np.maximum(world.inputs @ first.T, 0)
        error = (world.targets - active @ second.T) / 4
        slope = (error @ second) * (active > 0)
        first, second = first + step * slope.T @ world.inputs, second + step * error.T @ active
    answers = np.maximum(world.inputs @ first.T, 0) @ second.T
    loss = 0.5 * np.mean((world.targets - answers) ** 2)
    np.testing.assert_allclose(result["rectified_loss"].sel(scale=1e-2).isel(run=1, time=40), loss, rtol=1e-6)


def test_a_large_start_alone_leaves_claims_open(result):
    large = replace(result, config=result.config.model_copy(update={"scale": (0.05,)}))
    notes = {claim.id: claim.judge(large, "quick").note for claim in result.experiment.claims}
    assert notes["rectified"] == notes["start"] == "needs a small start among the scales"


def test_a_short_run_is_not_judged(result):
    short = replace(result, data=result.data.isel(time=slice(0, 20)), theory=result.theory.isel(time=slice(0, 20)))
    notes = {claim.id: claim.judge(short, "quick").note for claim in result.experiment.claims}
    assert all(notes[name].startswith("needs a longer run") for name in ("rectified", "start", "aligned", "fastest"))
    short.figure()


@pytest.mark.parametrize("scale", [0.0, -0.01, float("nan"), float("inf"), (0.01, 0.01)])
def test_starts_are_positive_numbers_that_differ(scale):
    with pytest.raises(ArgumentError, match="`scale` must"):
        fs.run("race/xor", scale=scale)


def test_the_fit_finds_a_known_start(result):
    """Closed forms in the place of runs: their start comes back, and nothing is left."""
    exact = fs.theory.chain(2, 2**0.5 / 4, 3.1e-3, input_variance=0.5)(result["time"].values)["loss"] * 4
    data = result.data.copy()
    data["rectified_loss"] = data["rectified_loss"] * 0 + exact[None, :, None]
    start, left = fits(replace(result, data=data), 1e-2)
    np.testing.assert_allclose(start, 3.1e-3, rtol=1e-5)
    assert left.max() < 1e-6


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
    assert len(figure.axes) == 7
    assert all(axis.get_ylabel() for axis in figure.axes)
