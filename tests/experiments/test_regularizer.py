"""abstraction/regularizer: its claims, and what they cannot check."""

import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import festina as fs
from festina.errors import ArgumentError
from festina.experiments.abstraction.regularizer import RegularizerFlow, solution
from shared import quick

pytestmark = pytest.mark.full

FAILS = {"nonnegative-l1"}


@pytest.fixture(scope="module")
def result():
    return quick("abstraction/regularizer")


def test_quick_claims_hold_but_for_the_one_known_to_fail(result):
    outcomes = {verdict.claim: verdict.outcome for verdict in result.verdicts}
    assert outcomes == {claim: "not reproduced" if claim in FAILS else "reproduced" for claim in outcomes}, result


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("start", [(0.1, 0.3), (1.3, 0.6), (0.2, 1.15), (1.9, 0.3)])
def test_the_closed_form_against_an_independent_integration(order, start):
    """Gates that reach zero are held there, as the flow does."""
    time = np.linspace(0, 8, 81)

    def rate(_, gates):
        gates = np.maximum(gates, 0.0)
        norm = np.linalg.norm(gates, order)
        direction = np.ones(2) if order == 1 else gates / norm
        change = -2 * 0.4 * (norm - 1) * direction
        return np.where((gates <= 0) & (change < 0), 0.0, change)

    solved = solve_ivp(rate, (0, 8), start, "RK45", time, rtol=1e-8, atol=1e-10, max_step=0.002)
    exact = solution(np.asarray(start)[:, None], 0.4, time, order)[:, :, 0]
    np.testing.assert_allclose(exact, np.maximum(solved.y.T, 0.0), atol=1e-3)


def test_negative_starts_have_no_closed_form():
    assert np.isnan(solution(np.asarray([[0.5, -0.1], [0.5, 0.5]]), 0.4, [1.0], 1)).any(axis=(0, 1)).tolist() == [0, 1]


def test_without_nonnegativity_no_quadrant_is_preferred():
    """R is then even in each gate, and so are the ways down."""
    fields = {"nonnegativity": 0.0, "lowest": -1.1, "highest": 1.1, "side": 4, "until": 5.0, "steps": 500, "records": 5}
    gates = fs.run("abstraction/regularizer", **fields)["gates"].isel(run=0).transpose("norm", "time", "gate", "start")
    np.testing.assert_allclose(gates, -gates.values[..., ::-1], atol=1e-12)


def test_recordings_must_divide_the_steps():
    with pytest.raises(ArgumentError, match="divide the 100 steps"):
        RegularizerFlow().configure(steps=100, records=7)


@pytest.mark.parametrize("fields", [{"lowest": -1.0, "highest": 1.0, "side": 3}, {"side": 11}])
def test_no_start_may_be_zero(fields):
    with pytest.raises(ArgumentError, match=r"`side` must leave out \(0, 0\)"):
        RegularizerFlow().configure(**fields)


def test_a_side_that_meets_zero_from_the_usual_corner_may_miss_it_from_another():
    few = {"side": 11, "lowest": -0.5, "until": 0.1, "steps": 10, "records": 1}
    assert np.isfinite(fs.run("abstraction/regularizer", **few)["gates"]).all()


def test_the_figure_draws_without_warnings(result):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = result.figure()
        figure.canvas.draw()
    assert len(figure.axes) == 3
