"""model/bounded-gates: closed forms against an independent integration, symmetry, and what is refused."""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from festina.errors import ArgumentError
from festina.models.bounded_gates import BoundedGates
from festina.testing import check_model

BRIEF: dict[str, Any] = {"until": 4.0, "steps": 400, "records": 20}


@pytest.mark.full
@pytest.mark.parametrize("order", [1, 2])
def test_the_model_is_what_it_should_be(order):
    check_model(BoundedGates, order=order, **BRIEF)


@pytest.mark.mostly_full
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
    model = BoundedGates(first=start[0], second=start[1], normalization=0.4, order=order)
    np.testing.assert_allclose(model.theory()(time)["gates"], np.maximum(solved.y.T, 0.0), atol=1e-3)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("start", [(0.9, 0.3), (0.2, 1.5)])
def test_small_steps_come_to_the_closed_form(order, start):
    model = BoundedGates(first=start[0], second=start[1], order=order, until=4.0, steps=20_000, records=20)
    assert model.run().errors().max() < 5e-4


def test_steps_go_down_the_slope_of_the_penalty():
    """Two steps by hand: (−.5, .8) has ‖c‖₁ = 1.3, and then less."""
    model = BoundedGates(first=-0.5, second=0.8, nonnegativity=0.3, normalization=0.4, until=0.2, steps=2, records=2)
    after = [0.1 * (0.3 + 0.8 * 0.3) - 0.5, 0.8 - 0.1 * 0.8 * 0.3]
    size = sum(map(abs, after))
    twice = [after[0] + 0.1 * (0.3 + 0.8 * (size - 1)), after[1] - 0.1 * 0.8 * (size - 1)]
    found = model.run().data.isel(run=0)
    np.testing.assert_allclose(found["gates"][1:], [after, twice], atol=1e-14)
    np.testing.assert_allclose(found["penalty"][:2], [0.15 + 0.4 * 0.09, -0.3 * after[0] + 0.4 * (size - 1) ** 2])


def test_negative_starts_have_no_closed_form():
    grid = BoundedGates(**BRIEF).sweep(first=[0.5, -0.1], second=[0.5])
    assert np.isfinite(grid["gates"]).all()
    assert BoundedGates(first=-0.1, **BRIEF).run().theory is None


@pytest.mark.parametrize("order", [1, 2])
def test_without_nonnegativity_no_quadrant_is_preferred(order):
    """R is then even in each gate, and so are the ways down."""
    grid = BoundedGates(nonnegativity=0.0, order=order, **BRIEF).sweep(first=[-1.1, 0.4, 1.1], second=[-0.4, 0.4, 1.1])
    gates = grid["gates"].isel(seed=0)
    one, mirrored = gates.sel(first=1.1, second=0.4), gates.sel(first=-1.1, second=-0.4)
    np.testing.assert_allclose(one, -mirrored, atol=1e-12)
    exchanged = gates.sel(first=0.4, second=1.1).isel(gate=slice(None, None, -1))
    np.testing.assert_allclose(one, exchanged, atol=1e-12)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"steps": 100, "records": 7}, "`records` must divide the 100 steps"),
        ({"first": 0.0, "second": 1e-15}, "`second` must not be 0 where `first` is"),
        ({"first": 11.0}, "`first` must be less than or equal to 10"),
    ],
)
def test_what_cannot_be_is_refused(fields, message):
    with pytest.raises(ArgumentError, match=message):
        BoundedGates.checked("model/bounded-gates", fields)
