"""linear/continual: its claims, and what they cannot check."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import festina as fs
from festina.errors import ArgumentError
from festina.experiments.linear.continual import _drawn, final_loss, shown_tasks, switches
from shared import quick

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def result():
    return quick("linear/continual")


def test_quick_claims_hold(result):
    outcomes = {verdict.claim: verdict.outcome for verdict in result.verdicts}
    assert outcomes.pop("short-blocks") == "needs the full budget"  # at the full budget only
    assert set(outcomes.values()) == {"reproduced"}, result


@pytest.mark.parametrize("schedule, sign", [("blocked", -1), ("alternating", 1)])
def test_an_independent_integration(result, schedule, sign):
    import jax

    config, number = result.config, {"blocked": 0, "alternating": 1}[schedule]
    tasks, networks = _drawn(config, jax.random.key(0))
    first, second = (layer[sign + 1] for layer in networks)
    shown, ends = np.asarray(shown_tasks(config, tasks))[:, number], np.asarray(switches(config))
    weights, begin, split = np.concatenate([first.ravel(), second.ravel()]), 0.0, first.size
    for task, end in zip(shown, (*ends, config.block_length * config.blocks), strict=True):

        def field(_, weights, task=task):
            one, two = weights[:split].reshape(first.shape), weights[split:].reshape(second.shape)
            error = task - two @ one
            return np.concatenate([(two.T @ error).ravel(), (error @ one.T).ravel()])

        weights = solve_ivp(field, (begin, end), weights, "DOP853", rtol=1e-11, atol=1e-13).y[:, -1]
        begin = end
        mapping = weights[split:].reshape(second.shape) @ weights[:split].reshape(first.shape)
        here = result.data.isel(run=0).sel(schedule=schedule, sign=sign).sel(time=end, method="nearest")
        np.testing.assert_allclose(here["map"], mapping, atol=1e-8)
        np.testing.assert_allclose(here["loss"], 0.5 * np.sum((tasks - mapping) ** 2, axis=(1, 2)), atol=1e-8)


def test_every_schedule_shows_both_tasks_equally_long(result):
    tasks = np.stack([np.zeros((1, 2)), np.ones((1, 2))])
    shown = np.asarray(shown_tasks(result.config, tasks))[:, :, 0, 0].T
    half = result.config.blocks // 2
    np.testing.assert_array_equal(shown[0], [0] * half + [1] * half)
    np.testing.assert_array_equal(shown[1], [0, 1] * half)
    np.testing.assert_array_equal(shown[2], 0.5)


def test_alternating_blocks_end_between_interleaving_and_blocking(result):
    """No map has a smaller mean loss than the interleaved one; in a block of 2.5 τ most of the rest is forgotten."""
    place = 4 * final_loss(result, "alternating") - 1
    assert np.all(place > 0.05) and np.all(place < 1.0)


def test_blocks_that_are_too_short_say_how_long_they_must_be():
    result = fs.run("linear/continual", budget="quick", seeds=1, records=24, block_length=0.5)
    undecided = {verdict.claim: verdict.note for verdict in result.verdicts if verdict.outcome == "undecided"}
    task, mixture = (
        "a task is not learned yet: needs --block-length 2.1",
        "too short for the mixture: needs --block-length 1.9",
    )
    assert undecided == dict.fromkeys(("forgetting-end", "forgetting-path", "blocked"), task) | {"interleaved": mixture}


def test_forgetting_begins_at_the_switch(result):
    forgetting, half = result["forgetting"].transpose("time", "run", "sign").values, result.config.records // 2
    assert np.all(np.isnan(forgetting[:half])) and not np.any(np.isnan(forgetting[half:]))
    np.testing.assert_allclose(forgetting[half], 0.0, atol=1e-12)
    angle = np.deg2rad(result.config.angle)
    strengths = np.linspace(result.config.strongest, result.config.weakest, result.config.modes)
    np.testing.assert_allclose(result["conflict"], np.sum(strengths**2) * (1 - np.cos(angle)), rtol=1e-12)


def test_an_odd_number_of_blocks_is_refused():
    with pytest.raises(ArgumentError, match="`blocks` must"):
        fs.run("linear/continual", blocks=3)


def test_the_figure_has_four_labelled_panels(result, monkeypatch):
    from festina.experiments.linear import _continual_figure

    monkeypatch.setattr(_continual_figure, "LENGTHS", np.geomspace(0.1, 10.0, 3))
    figure = result.figure()
    assert len(figure.axes) == 4
    assert all(axis.get_xlabel() and axis.get_ylabel() for axis in figure.axes)
    plt.close(figure)
