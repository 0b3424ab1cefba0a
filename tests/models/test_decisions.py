"""model/decision and model/gated-decision: closed forms, the race, gates, derivatives, bounds."""

from typing import Any

import jax
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import festina as fs
from festina.errors import ArgumentError
from festina.models.decision import Decision, kinds_of_gates
from festina.models.gated_decision import GatedDecision
from festina.networks.rectified import Rectified
from festina.testing import check_model
from festina.worlds.decision import decision

BRIEF: dict[str, Any] = {"until": 12.0, "records": 12}


@pytest.mark.full
def test_the_gated_model_is_what_it_should_be():
    check_model(GatedDecision, initial=1e-2, **BRIEF)


@pytest.mark.full
def test_the_rectified_model_is_what_it_should_be():
    """But for derivatives, which leave out the jumps of gates; see below."""
    check_model(Decision, differentiate=False, width=20, **BRIEF)


@pytest.mark.mostly_full
@pytest.mark.parametrize("gating", ["always on", "contexts", "all"])
@pytest.mark.parametrize("advantage", [0.2, 5.0])
def test_networks_follow_theory(gating, advantage):
    result = GatedDecision(gating=gating, advantage=advantage, initial=0.01, **BRIEF).run()
    assert result.errors().max() < 1e-9
    begin = {"always on": 0.01, "motion": 0.01 * advantage, "colour": 0.01 * advantage}
    there = {"always on": ["always on"], "contexts": ["motion", "colour"], "all": list(begin)}[gating]
    expected = [begin[name] if name in there else 0.0 for name in begin]
    np.testing.assert_allclose(result["strength"].isel(run=0, time=0), expected, rtol=1e-12)


@pytest.mark.full
def test_the_race_is_that_of_five_numbers():
    """The linear pathway u², and (p, q)r of either other: worked out by hand and integrated by another solver."""

    def rate(time, state):
        u, v, p, q, r = state
        linear = 1 / 2**0.5 - u * v - (p + q) * r / 2**0.5
        own, other = (1 - u * v / 2**0.5 - p * r) / 2, (-u * v / 2**0.5 - q * r) / 2
        return [linear * v, linear * u, own * r, other * r, own * p + other * q]

    model = GatedDecision(initial=0.01, advantage=2.0, **BRIEF)
    result = model.run()
    roots = np.sqrt([0.01, 0.01, 0.02, 0.0, 0.02])
    solved = solve_ivp(rate, (0, 12.0), roots, "DOP853", result["time"].values, rtol=1e-11, atol=1e-13)
    u, v, p, q, r = solved.y
    strength = result["strength"].isel(run=0)
    np.testing.assert_allclose(strength.sel(pathway="always on"), u * v, atol=1e-8)
    for pathway in ("motion", "colour"):
        np.testing.assert_allclose(strength.sel(pathway=pathway), r * np.hypot(p, q), atol=1e-8)


@pytest.mark.full
@pytest.mark.parametrize("field", ["initial", "advantage"])
def test_derivatives_are_those_of_theory(field):
    model = GatedDecision(initial=0.02, **BRIEF)
    exact, step = model.derivative("loss", field), 1e-5 * getattr(model, field)
    beside = [model.model_copy(update={field: getattr(model, field) + side * step}) for side in (1, -1)]
    more, less = (one.theory()(exact["time"].values)["loss"] for one in beside)
    np.testing.assert_allclose(exact, (more - less) / (2 * step), rtol=1e-4, atol=1e-6)


@pytest.mark.full
@pytest.mark.parametrize("field", ["cue", "scale"])
def test_derivatives_of_a_rectified_network_are_differences(field):
    """Of settings so near to each other that no unit switches in another step."""
    model = Decision(width=20, step_size=0.05, **BRIEF)
    exact, step = model.derivative("loss", field), 1e-7 * getattr(model, field)
    beside = [model.model_copy(update={field: getattr(model, field) + side * step}) for side in (1, -1)]
    more, less = (one.run()["loss"].isel(run=0) for one in beside)
    np.testing.assert_allclose(exact, (more - less) / (2 * step), rtol=1e-4, atol=1e-5)


def test_gates_of_units_made_by_hand():
    """A unit for motion, one for motion in one context only, and one that is on for all but one example."""
    incoming = np.array([[1.0, 0, 0, 0], [1.0, 0, 0, -2.0], [1.0, 1.0, 3.0, 0]])
    network = Rectified((incoming, np.array([[2.0, 1.0, 0.0]])))
    seen = kinds_of_gates(network, decision().inputs)
    strength = np.linalg.norm(incoming, axis=1) * [2.0, 1.0, 0.0]
    np.testing.assert_allclose(seen["contextual"], strength[1] / strength.sum())
    np.testing.assert_allclose(seen["gates"][2, 2], strength[0] / strength.sum())
    np.testing.assert_allclose(seen["gates"][2, 0], strength[1] / strength.sum())
    np.testing.assert_allclose(seen["gates"].sum(), 1.0)


def test_a_rectified_network_takes_the_steps_of_descent_written_out_anew():
    model = Decision(cue=0.7, scale=0.1, width=20, until=3.0, records=12)
    first, second = (np.asarray(weight) for weight in model.start(jax.random.key(1)).weights)
    world = decision(0.7)
    step = model.until / (model.records * model.steps_per_record)
    for _ in range(model.records * model.steps_per_record):
        active = np.maximum(world.inputs @ first.T, 0)
        error = (world.targets - active @ second.T) / 8
        slope = (error @ second) * (active > 0)
        first, second = first + step * slope.T @ world.inputs, second + step * error.T @ active
    loss = 0.5 * np.mean((world.targets - np.maximum(world.inputs @ first.T, 0) @ second.T) ** 2)
    assert loss < 0.4
    np.testing.assert_allclose(model.run(first_seed=1)["loss"].isel(run=0, time=-1), loss, rtol=1e-8)


def test_bounds_are_told():
    with pytest.raises(ArgumentError, match="`cue` must be less than or equal to 10"):
        fs.run("model/decision", cue=11.0)
    with pytest.raises(ArgumentError, match="`gating` must be 'always on', 'contexts' or 'all'"):
        fs.run("model/gated-decision", gating="both")
