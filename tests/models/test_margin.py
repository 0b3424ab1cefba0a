"""model/margin: theory without a fit, derivatives, batches, bounds."""

from typing import Any

import jax
import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.models.margin import Margin, race_of

SHORT: dict[str, Any] = {"records": 50, "step_size": 0.05, "until": 25.0, "width": 100}


@pytest.mark.full
def test_theory_with_nothing_fitted_is_near_the_simulation():
    """At a narrow margin and a small start; chance is left, since 100 units are not the mean over all."""
    result = Margin(**SHORT).run(seeds=2)
    for name in ("single_share", "loss"):
        assert abs(result[name] - result.solved[name]).isel(time=-1).max() < 0.02
    gap = abs(result["loss"] - result.solved["loss"]).max()
    assert 1e-4 < gap < 0.05


def test_theory_of_many_is_the_theory_of_each():
    models = [Margin(separation=d, scale=s, **SHORT) for d, s in ((0.3, 1e-3), (0.9, 1e-2), (0.3, 1e-3))]
    times = np.linspace(0.0, 20.0, 7)
    together = list(
        Margin.solutions(models, [model.start(jax.random.key(0)) for model in models], np.stack([times] * 3))
    )
    for model, found in zip(models, together, strict=True):
        alone = model.theory()(times)
        assert set(found) == set(alone) <= set(Margin.variables)
        for name in found:
            np.testing.assert_allclose(found[name], alone[name], rtol=1e-7, atol=1e-10)
    assert models[0].theory()(times.reshape(7, 1))["loss"].shape == (7, 1)


def test_without_a_margin_theory_is_exclusive_or_and_counts_nothing():
    model = Margin(separation=0.0, **SHORT)
    found, times = model.theory()(np.linspace(0.0, 20.0, 5)), np.linspace(0.0, 20.0, 5)
    exact = fs.theory.margin.xor(0.16543535 * 100 * 1e-6)(times)
    np.testing.assert_allclose(found["loss"], exact["loss"], rtol=1e-6)
    assert np.isnan(found["single_share"]).all() and np.isnan(found["linear"]).all()


@pytest.mark.full
def test_alignment_is_the_mean_cosine_with_the_nearest_example():
    """Of two inputs at the start, by hand; in the end units have turned."""
    model = Margin(inputs=2, separation=0.0, **SHORT)
    result = model.run()
    first, second = (np.asarray(weight) for weight in model.start(jax.random.key(0)).weights)
    strength = np.linalg.norm(first, axis=1) * np.abs(second[0])
    corners = np.array([[1, 1], [-1, -1], [1, -1], [-1, 1]]) / 2**0.5
    cosine = (first @ corners.T).max(axis=1) / np.linalg.norm(first, axis=1)
    expected = np.sum(strength * cosine) / np.sum(strength)
    np.testing.assert_allclose(result["alignment"].isel(run=0, time=0), expected, rtol=1e-12)
    assert result["alignment"].isel(run=0, time=-1) > 0.99


@pytest.mark.full
def test_a_third_input_without_a_margin_changes_nothing_that_is_answered():
    """The same network with and without weights from an input that is always zero."""
    model, more = (Margin(inputs=inputs, separation=0.0, **SHORT) for inputs in (2, 3))
    start = more.start(jax.random.key(3))
    small = type(start)((start.weights[0][:, :2], start.weights[1]))
    ends = []
    for one, network in ((model, small), (more, start)):
        process = one.process(network)
        state = process.initial
        for index in range(1, 20):
            state = process.advance(state, jax.numpy.asarray(index))
        ends.append(process.observe(state))
    assert ends[0]["loss"] < 0.49
    for name in ("loss", "index"):
        np.testing.assert_allclose(ends[0][name], ends[1][name], rtol=1e-10)


@pytest.mark.full
@pytest.mark.parametrize(("field", "step"), [("separation", 1e-9), ("scale", 1e-8)])
def test_derivatives_are_differences(field, step):
    """Of settings so near to each other that no unit switches in another step."""
    model = Margin(**SHORT | {"until": 15.0, "records": 10})
    exact = model.derivative("loss", field, seed=1)
    beside = [model.model_copy(update={field: getattr(model, field) + side * step}) for side in (1, -1)]
    more, less = (one.run(first_seed=1)["loss"].isel(run=0) for one in beside)
    np.testing.assert_allclose(exact, (more - less) / (2 * step), rtol=1e-5, atol=1e-6)


@pytest.mark.full
def test_the_derivative_by_the_start_is_about_that_of_theory():
    model, field = Margin(**SHORT | {"until": 15.0, "records": 10, "width": 400}), "scale"
    exact = model.derivative("loss", field, seed=1)
    more, less = (model.model_copy(update={field: 1e-3 * (1 + side)}).theory() for side in (1e-3, -1e-3))
    times = exact["time"].values
    slope = (more(times)["loss"] - less(times)["loss"]) / 2e-6
    np.testing.assert_allclose(exact, slope, atol=0.1 * np.abs(slope).max())


@pytest.mark.full
def test_a_batch_is_its_runs():
    model = Margin(**SHORT | {"until": 2.0, "records": 10})
    swept = model.sweep(separation=(0.2, 0.9), seeds=2)["loss"]
    alone = model.model_copy(update={"separation": 0.9}).run(first_seed=1)["loss"]
    np.testing.assert_allclose(swept.sel(separation=0.9).isel(seed=1).values.ravel(), alone.values.ravel(), rtol=1e-12)


def test_bounds_are_told():
    with pytest.raises(ArgumentError, match=r"`separation` must be greater than or equal to 0, but is -0\.1"):
        fs.run("model/margin", separation=-0.1)
    with pytest.raises(ArgumentError, match="`separation` must be 0 with two inputs"):
        fs.run("model/margin", inputs=2)
    with pytest.raises(ArgumentError, match="`width` must be greater than or equal to 4"):
        fs.run("model/margin", width=2)


def test_all_networks_in_one_race_have_their_own_start():
    few = race_of([Margin(scale=1e-3), Margin(scale=1e-2)])(np.zeros(1))
    np.testing.assert_allclose(few["nonlinear"][0, 1] / few["nonlinear"][0, 0], 100.0)
