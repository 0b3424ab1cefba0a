"""abstraction/mechanism: its claims, and the reduced model integrated by other means."""

import warnings
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from festina.claims import Undecided
from festina.errors import ArgumentError
from festina.experiments.abstraction.mechanism import Mechanism, adapted_loss, adapting, error_of, last_block
from shared import quick

FAIL = {"adapted", "tabulated"}  # what the source says and the simulation does not


@pytest.fixture(scope="module")
def result():
    return quick("abstraction/mechanism")


def flow(weights, gates, target, weight_timescale, gate_timescale, normalization):
    """The rates of eqs 1 and 2 while both gates are positive."""
    error = target - gates @ weights
    return np.outer(gates, error) / weight_timescale, (
        weights @ error - 2 * normalization * (gates.sum() - 1)
    ) / gate_timescale


def test_claims_hold_but_for_the_two_that_the_docstring_names(result):
    outcomes = {verdict.claim: verdict.outcome for verdict in result.verdicts}
    assert {claim for claim, outcome in outcomes.items() if outcome == "not reproduced"} == FAIL
    assert {outcome for claim, outcome in outcomes.items() if claim not in FAIL} == {"reproduced"}


@pytest.mark.parametrize("place", [1, 4])
def test_an_adaptation_is_that_of_an_adaptive_integrator(result, place):
    speed = result.config.gate_timescales[place]

    def rate(_, state):
        change = flow(state[:4].reshape(2, 2), state[4:], np.array([0.0, 1.0]), 1.0, speed, 5 / 11)
        return np.concatenate([change[0].ravel(), change[1]])

    time = np.linspace(0, 1, 6)
    start = np.array([1.0, 0.0, 0.0, 1.0, 1.0, 0.0])
    solved = solve_ivp(rate, (0, 1), start, "DOP853", time, rtol=1e-10, atol=1e-12).y.T
    seen = result.data.isel(run=0, gate_timescale=place).sel(time=time, method="nearest")
    np.testing.assert_allclose(seen["adapting_weights"].values.reshape(6, 4), solved[:, :4], atol=1e-3)
    np.testing.assert_allclose(seen["adapting_gates"].values, solved[:, 4:], atol=3e-3)


def test_courses_are_the_euler_steps_of_their_own_timescales(result):
    """Both processes share a state; neither may disturb the other."""
    first, second = (result.data.isel(run=1, time=place).sel(course="tabulated") for place in (0, 3))
    weights, gates = first["learning_weights"].values, first["learning_gates"].values
    for _ in range(3 * result.config.steps_per_record):
        change = flow(weights, gates, np.array([1.0, 0.0]), 5.0, 0.7, 5 / 11)
        weights, gates = (
            old + result.config.step_size * new for old, new in zip((weights, gates), change, strict=True)
        )
    np.testing.assert_allclose(second["learning_weights"], weights, rtol=1e-10)
    np.testing.assert_allclose(second["learning_gates"], gates, rtol=1e-10)


def test_error_and_loss_belong_together(result):
    np.testing.assert_allclose(0.5 * (error_of(result) ** 2).sum(axis=-1), adapting(result, "loss"), rtol=1e-10)


def test_short_courses_are_not_judged(result):
    with pytest.raises(Undecided, match="needs 2 blocks: --until 2"):
        last_block(replace(result, config=result.config.model_copy(update={"until": 0.9})))
    with pytest.raises(Undecided, match="needs --until 99"):
        adapted_loss(result, 99.0)


def test_the_last_block_is_one_of_whole_steps(result):
    """Blocks of 1.0002 have 2000 steps of .0005; the 16th of .9985 ends at 15.976, last recorded at 15.97."""
    config = result.config.model_copy(update={"block_length": 1.0002})
    for one, expected in zip(last_block(replace(result, config=config)), last_block(result), strict=True):
        np.testing.assert_array_equal(one, expected)
    between = result.config.model_copy(update={"until": 16.0, "block_length": 0.9985})
    gates = np.sort(result["learning_gates"].transpose("time", "run", "course", "path").values[1597], axis=-1)
    np.testing.assert_array_equal(last_block(replace(result, config=between))[1], gates[..., 0] / gates[..., 1])


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"steps_per_record": 900}, "`steps_per_record` must divide the 170000 steps there are"),
        ({"until": 0.00001}, "`step_size` must leave at least one step and at most 20_000_000 up to `until`, 1e-05"),
        ({"gate_timescales": (1.0, 0.1)}, r"`gate_timescales` must rise, but is \(1.0, 0.1\)"),
        ({"gate_timescales": (0.1, 0.1)}, "`gate_timescales` must rise"),
        ({"gate_timescales": (-0.1, 0.1)}, "`gate_timescales` must be greater than"),
        ({"gate_timescales": (0.1, float("nan"))}, "`gate_timescales` must be less than"),
    ],
)
def test_what_cannot_be_asked(fields, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        Mechanism().configure(**fields)


def test_the_figure_draws_without_a_warning(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
        figure.canvas.draw()
    panels = figure.axes[:9]
    assert all(axis.get_xlabel() and axis.get_ylabel() for axis in panels)
    plt.close(figure)
