"""Two linear layers: simulation against theory, and both against arithmetic of their own."""

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import festina as fs
from festina.errors import ArgumentError, UnknownName
from festina.testing import check_model

BRIEF = {"records": 30, "until": 8.0}
RECORDED = ("loss", "learned", "distance", "movement", "first_similarity", "second_similarity")


@pytest.mark.full
@pytest.mark.parametrize("initial", ["random", "aligned"])
def test_it_is_a_model(initial):
    check_model(fs.models.TwoLayer, inputs=3, outputs=2, initial=initial, **BRIEF)


@pytest.mark.full
@pytest.mark.parametrize(
    "fields",
    [
        {"inputs": 3, "outputs": 2, "imbalance": -3.0},
        {"inputs": 2, "outputs": 3, "imbalance": 0.5},
        pytest.param({"inputs": 3, "outputs": 3, "initial": "aligned", "imbalance": 1.5}, id="aligned"),
        pytest.param({"inputs": 1, "outputs": 1, "initial": "aligned", "imbalance": 0.0}, id="two-weights"),
    ],
)
def test_simulation_follows_theory(fields):
    result = fs.models.TwoLayer(**BRIEF, **fields).run(seeds=2)
    assert result.errors(*RECORDED).max() < 1e-8


@pytest.mark.full
def test_two_weights_follow_an_independent_integration():
    model = fs.models.TwoLayer(
        inputs=1, outputs=1, initial="aligned", strongest=1.7, imbalance=-0.6, scale=0.02, **BRIEF
    )
    result = model.run()
    time, size = result["time"].values, np.sqrt((np.hypot(0.6, 0.04) + 0.6) / 2)

    def rate(_, weights):
        return (1.7 - weights[0] * weights[1]) * weights[::-1]

    solved = solve_ivp(rate, (0, time[-1]), [size, 0.02 / size], "DOP853", time, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(1.7 * result["learned"].values[0, :, 0], np.prod(solved.y, axis=0), atol=1e-9)


def test_an_aligned_start_is_solved_alike_mode_by_mode_and_as_a_whole():
    import jax

    model = fs.models.TwoLayer(inputs=4, outputs=3, initial="aligned", imbalance=-2.0)
    with fs.double():
        start = jax.tree.map(np.asarray, model.start(jax.random.key(3)))
    alone, together = model._modes_alone(start), model._modes_together(start)
    time = np.array([[0.0, 0.3], [1.0, 20.0]])
    for name, values in alone(time).items():
        assert values.shape[:2] == time.shape
        np.testing.assert_allclose(values, together(time)[name], atol=1e-10)


@pytest.mark.full
@pytest.mark.parametrize("initial", ["random", "aligned"])
def test_the_limit_is_where_learning_ends(initial):
    import jax

    model = fs.models.TwoLayer(inputs=2, outputs=3, initial=initial, imbalance=0.7)
    with fs.double():
        start = jax.tree.map(np.asarray, model.start(jax.random.key(1)))
        limit = model.limit(start)
    last = model.solution(start)(np.array(200.0))
    for name, value in limit.items():
        np.testing.assert_allclose(last[name], value, atol=1e-7)
    np.testing.assert_allclose(last["learned"], 1.0, atol=1e-7)
    many = model.limits(np.array([-0.3, 0.7]), np.array([0, 1, 2]))
    assert many["distance"].shape == (2, 3)
    for name, value in limit.items():
        np.testing.assert_allclose(many[name][1, 1], value, rtol=1e-10)


@pytest.mark.parametrize(("of", "by"), [("loss", "imbalance"), ("distance", "scale"), ("learned", "strongest")])
@pytest.mark.full
def test_derivatives_are_those_of_the_theory(of, by):
    settings = {"inputs": 3, "outputs": 2, "imbalance": 0.8, **BRIEF}
    model, step = fs.models.TwoLayer(**settings), 1e-4
    found = model.derivative(of, by, seed=2)
    at = getattr(model, by)
    high, low = (
        np.asarray(fs.models.TwoLayer(**settings | {by: at + sign * step}).theory(2)(found["time"].values)[of])
        for sign in (1, -1)
    )
    np.testing.assert_allclose(found, (high - low) / (2 * step), atol=1e-6)


@pytest.mark.full
def test_modes_of_equal_strength_have_derivatives_too():
    model = fs.models.TwoLayer(inputs=3, outputs=2, weakest=2.0, **BRIEF)
    assert np.all(np.isfinite(model.derivative("learned", "strongest")))


@pytest.mark.full
def test_a_batch_is_its_single_runs():
    model = fs.models.TwoLayer(inputs=3, outputs=2, **BRIEF)
    swept = model.sweep(imbalance=(-1.0, 2.0), seeds=2)
    alone = model.model_copy(update={"imbalance": 2.0}).run(first_seed=1)
    np.testing.assert_allclose(
        swept["loss"].sel(imbalance=2.0, seed=1).values, alone["loss"].isel(run=0).values, atol=1e-12
    )


def test_settings_out_of_bounds_are_refused():
    for field, value in (("imbalance", 1e4), ("scale", 0.0), ("inputs", 0), ("first", 0.1), ("initial", "large")):
        with pytest.raises(ArgumentError, match=f"`{field}` must"):
            wrong: dict[str, Any] = {field: value}
            fs.run("model/two-layer", **wrong)
    with pytest.raises(UnknownName, match="weight"):
        fs.models.TwoLayer().derivative("weight", "scale")
