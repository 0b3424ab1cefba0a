"""The reduced model of task abstractions: against a plain loop, its starts, and derivatives."""

from typing import Any

import numpy as np
import pytest

from festina import models
from festina.errors import ArgumentError
from festina.testing import check_model
from narrowing import there

SMALL: dict[str, Any] = {"until": 0.6, "step_size": 0.01, "steps_per_record": 5, "block_length": 0.2}


def plain(model, weights, gates):
    """Euler steps of eqs 1 and 2 with the regulariser on, written out; the loss before every step."""
    losses = []
    for step in range(round(model.until / model.step_size)):
        task = model.shown[step // round(model.block_length / model.step_size) % len(model.shown)]
        error = np.eye(2)[task] - gates @ weights
        losses.append(0.5 * error @ error)
        bound = 2 * model.normalization * (np.abs(gates).sum() - 1) * np.sign(gates) - model.nonnegativity * (gates < 0)
        pull = weights @ error - model.strength * bound
        weights = weights + model.step_size / model.weight_timescale * np.outer(gates, error)
        gates = gates + model.step_size / model.gate_timescale * pull
    return np.asarray(losses)


@pytest.mark.full
def test_the_model_is_what_it_should_be():
    """Numbers that are not at the ends of their ranges, so that there are differences to either side."""
    inner: dict[str, Any] = {
        "difference": 0.1,
        "along_first": 0.5,
        "along_second": -0.4,
        "along_gate": 0.3,
        "knowledge": 0.4,
    }
    check_model(models.ReducedAbstraction, begin="twins", **SMALL, **inner)


@pytest.mark.parametrize(
    "fields",
    [{"scale": 0.3}, {"begin": "specialised", "shown": (1,)}, {"knowledge": 0.5, "strength": 0.3}],
    ids=str,
)
def test_it_is_the_plain_loop(fields):
    model = models.ReducedAbstraction(**SMALL | fields)
    result = model.run()
    first = result.data.isel(run=0, time=0)
    losses = plain(model, first["weights"].values, first["gates"].values)
    np.testing.assert_allclose(result["loss"].isel(run=0).values[:-1], losses[:: model.steps_per_record], atol=1e-12)


def test_twins_differ_as_they_are_told():
    parts: dict[str, Any] = {"along_first": 0.0, "along_second": 0.5, "along_gate": -1.0}
    twins = models.ReducedAbstraction(**SMALL, begin="twins", knowledge=0.5, difference=1e-3, **parts)
    first = twins.run(seeds=1).data.isel(run=0, time=0)
    np.testing.assert_allclose(first["weights"], [[0.5, 0.5005], [0.5, 0.5]], atol=1e-15)
    np.testing.assert_allclose(first["gates"], [0.499, 0.5], atol=1e-15)


@pytest.mark.full
def test_the_growth_of_a_difference_is_that_of_twins():
    """Twins that start on the orbit differ after some rounds by what the largest multiplier makes of them."""
    fields: dict[str, Any] = {"block_length": 2.0, "step_size": 0.01, "steps_per_record": 400, "normalization": 0.9}
    model = models.ReducedAbstraction(**fields, weight_timescale=0.5, until=48.0, begin="twins", knowledge=0.5)
    apart = model.run()["apart"].isel(run=0).values
    growth = there(model.growth())
    np.testing.assert_allclose(apart[-1, 2] / apart[-2, 2], growth.multiplier, rtol=1e-3)
    assert growth.multiplier > 1.5 and 0 < growth.second_order < np.inf
    fields["strength"] = 0.0
    assert models.ReducedAbstraction(**fields).growth() is None


def test_how_paths_differ_is_measured():
    parts: dict[str, Any] = {"along_first": 0.0, "along_second": 0.5, "along_gate": -1.0}
    twins = models.ReducedAbstraction(**SMALL, begin="twins", knowledge=0.5, difference=1e-3, **parts)
    apart = twins.run()["apart"].isel(run=0, time=0)
    np.testing.assert_allclose(apart, [0.0, 5e-4, -1e-3], atol=1e-15)


@pytest.mark.full
@pytest.mark.parametrize("field", ["gate_timescale", "normalization"])
def test_derivatives_are_finite_differences_of_the_simulation(field):
    base: dict[str, Any] = SMALL | {"scale": 0.3}
    model = models.ReducedAbstraction(**base)
    slope = model.derivative("loss", field).values
    value, small = getattr(model, field), 1e-6
    moved: list[dict[str, Any]] = [base | {field: value + sign * small} for sign in (-1, 1)]
    near = [models.ReducedAbstraction(**fields).run()["loss"][0] for fields in moved]
    finite = (near[1] - near[0]).values / (2 * small)
    np.testing.assert_allclose(slope, finite, atol=1e-6)
    assert np.abs(finite).max() > 1e-2


@pytest.mark.full
def test_a_batch_is_so_many_single_runs():
    fields: dict[str, Any] = SMALL | {"scale": 0.3}
    together = models.ReducedAbstraction(**fields).sweep(block_length=[0.1, 0.3], seeds=2)
    for length, seed in ((0.3, 1), (0.1, 0)):
        chosen_fields: dict[str, Any] = fields | {"block_length": length}
        alone = models.ReducedAbstraction(**chosen_fields).run(first_seed=seed)
        chosen = together.sel(block_length=length).isel(seed=seed)
        for name in ("gates", "weights", "overall"):
            np.testing.assert_allclose(chosen[name].transpose(*alone[name].dims[1:]), alone[name][0], atol=1e-12)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"shown": (2,)}, "`shown` must be less than or equal to 1"),
        ({"steps_per_record": 7}, "`steps_per_record` must divide the 60 steps there are"),
        ({"knowledge": 2.0}, "`knowledge` must be less than or equal to 1"),
    ],
)
def test_what_cannot_be_is_refused(fields, message):
    with pytest.raises(ArgumentError, match=message):
        models.ReducedAbstraction.checked("model/reduced-abstraction", SMALL | fields)
