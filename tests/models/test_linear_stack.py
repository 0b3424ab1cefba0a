"""model/linear-stack: independent integrations of learning and pretraining, theory, derivatives, a map over depth."""

from typing import Any

import jax
import numpy as np
import pytest
import xarray as xr
from scipy.integrate import solve_ivp

import festina as fs
from festina.errors import ArgumentError
from festina.models import LinearStack
from festina.models.linear_stack import LONGEST, pretrain_layer, reconstruction
from festina.precision import to_numpy
from festina.testing import check_model
from plain_flow import gradient_flow

SMALL: dict[str, Any] = {"width": 6, "inputs": 5, "outputs": 2, "until": 8.0, "records": 20}
SQUARE: dict[str, Any] = {"width": 3, "inputs": 3, "outputs": 3, "spread": 1.0, "until": 8.0, "records": 20}


def drawn(model, seed=0):
    return to_numpy(jax.jit(model.start)(jax.random.key(seed)))


def layers(network):
    return [network.first, *network.middle, network.last]


@pytest.mark.full
def test_it_is_a_model():
    check_model(LinearStack, width=6, inputs=5, outputs=2, depth=3, until=8.0, records=20)


@pytest.mark.full
@pytest.mark.parametrize(
    "fields",
    [
        {"initial": "gaussian", "gain": 0.7} | SMALL,
        {"initial": "orthogonal"} | SMALL,
        {"initial": "orthogonal"} | SQUARE,
    ],
    ids=["gaussian", "orthogonal", "square"],
)
def test_networks_follow_an_independent_integration(fields):
    model = LinearStack(depth=4, **fields)
    start, result = drawn(model), model.run()
    expected = gradient_flow(layers(start.network), start.target, result["time"].values)
    np.testing.assert_allclose(result["loss"][0], expected, atol=1e-7)


@pytest.mark.parametrize(
    "fields",
    [{"initial": "aligned", "gain": 0.8} | SMALL, {"gain": 1.1} | SMALL, {"depth": 2} | SQUARE],
    ids=["aligned", "orthogonal", "square"],
)
@pytest.mark.full
def test_simulation_follows_theory(fields):
    result = LinearStack(**{"depth": 5} | fields).run(seeds=2)
    names = ("loss",) if fields.get("gain") == 1.1 else ("loss", "determinant")
    assert result.errors(*names).max() < 1e-7


def test_networks_of_all_depths_and_starts_share_target_and_layers():
    shallow, deep = (drawn(LinearStack(depth=depth, initial="gaussian", **SMALL)) for depth in (4, 7))
    turned = drawn(LinearStack(depth=4, initial="orthogonal", **SMALL))
    np.testing.assert_array_equal(shallow.target, deep.target)
    np.testing.assert_array_equal(shallow.target, turned.target)
    np.testing.assert_array_equal(shallow.network.first, deep.network.first)
    np.testing.assert_array_equal(shallow.network.last, deep.network.last)
    np.testing.assert_array_equal(shallow.network.middle, deep.network.middle[:2])
    np.testing.assert_allclose(np.linalg.svd(shallow.target)[1], [3.0, 2.0])


@pytest.mark.full
def test_the_determinant_is_that_of_the_product_over_that_of_the_target():
    model = LinearStack(depth=3, **SQUARE)
    start = drawn(model)
    first, middle, last = layers(start.network)
    ratio = np.linalg.det(last @ middle @ first) / np.linalg.det(start.target)
    assert float(model.run()["determinant"][0, 0]) == pytest.approx(ratio)


@pytest.mark.full
def test_pretraining_is_descent_of_the_reconstruction_error_on_actual_activity():
    """Stage by stage by another integrator, which looks for the moment itself; then the network learns."""
    model = LinearStack(depth=4, initial="pretrained", gain=0.75, **SMALL)
    start, result = drawn(model), model.run()
    stack, activity = layers(start.network), np.eye(model.inputs)
    for number in range(3):
        shape = stack[number].shape

        def error(encoder, activity=activity):
            return ((activity - encoder.T @ encoder @ activity) ** 2).sum()

        def reached(_, flat, shape=shape, error=error, activity=activity):
            return error(flat.reshape(shape)) / np.sum(activity**2) - model.level

        slope = jax.jit(jax.grad(error))
        reached.terminal = True  # pyright: ignore[reportFunctionMemberAccess] (as scipy wants it)
        ends = solve_ivp(
            lambda _, flat, shape=shape, slope=slope: -np.asarray(slope(flat.reshape(shape))).ravel() / 4,
            (0, 100),
            stack[number].ravel(),
            "DOP853",
            rtol=1e-8,
            atol=1e-10,
            events=reached,
        )
        stack[number] = ends.y[:, -1].reshape(shape)
        activity = stack[number] @ activity
        np.testing.assert_allclose(result["pretraining"][0, number], ends.t[-1], rtol=1e-5)
    expected = gradient_flow(stack, start.target, result["time"].values)
    np.testing.assert_allclose(result["loss"][0], expected, atol=1e-6)
    np.testing.assert_allclose(result.solved["pretraining"][0, 0], result["pretraining"][0, 0], rtol=1e-8)


@pytest.mark.parametrize(("gain", "level"), [(0.2, 1e-6), (0.75, 1e-3), (0.95, 1e-2)])
def test_a_layer_stops_where_its_error_is_at_the_level(gain, level):
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0]
    encoder, duration = to_numpy(jax.jit(pretrain_layer)(gain * rotation, np.eye(6), level))
    np.testing.assert_allclose(duration, fs.theory.stack.encoder_duration(gain * rotation, level), rtol=1e-8)
    if duration == 0:
        np.testing.assert_array_equal(encoder, gain * rotation)
    else:
        np.testing.assert_allclose(reconstruction(encoder, np.eye(6)), level, rtol=1e-8)


def test_a_layer_that_never_gets_there_has_no_training_time():
    """Two units cannot reproduce three inputs."""
    _, duration = to_numpy(jax.jit(pretrain_layer)(0.5 * np.eye(2, 3), np.eye(3), 1e-3))
    assert duration == pytest.approx(LONGEST, rel=1e-9)
    loss = xr.DataArray([[1.0, 1e-3], [1.0, 1e-3], [1.0, 0.5]], dims=("run", "time"), coords={"time": [0.0, 1.0]})
    stages = xr.DataArray([[1.0, 2.0], [1.0, LONGEST], [1.0, 2.0]], dims=("run", "layer"))
    times = LinearStack.measure(xr.Dataset({"loss": loss, "pretraining": stages}))["training_time"]
    np.testing.assert_allclose(times, [3.0 + 2.0 / 3.0, np.nan, np.nan])


@pytest.mark.full
@pytest.mark.parametrize("by", ["level", "gain"])
def test_derivatives_know_that_pretraining_ends_earlier_or_later(by):
    model = LinearStack(depth=3, initial="pretrained", gain=0.75, level=0.05, **SMALL)
    step = 1e-4 * getattr(model, by)
    high, low = (model.model_copy(update={by: getattr(model, by) + sign * step}).run() for sign in (1, -1))
    expected = (high["loss"] - low["loss"])[0] / (2 * step)
    np.testing.assert_allclose(model.derivative("loss", by), expected, atol=1e-3 * float(abs(expected).max()))


@pytest.mark.full
def test_a_map_over_depth_and_gain_can_be_swept():
    """From aligned weights that are small, training time is longer the deeper the network and the smaller its gain."""
    model = LinearStack(initial="aligned", **SMALL).model_copy(update={"until": 30.0})
    times = model.sweep(depth=[4, 6], gain=[0.6, 0.8])["training_time"].isel(seed=0)
    assert times.sizes == {"depth": 2, "gain": 2} and np.isfinite(times).all()
    assert (times.diff("depth") > 0).all() and (times.diff("gain") < 0).all()


@pytest.mark.parametrize("depth", [1, 0, "two", 100])
def test_depths_out_of_bounds_are_refused(depth):
    with pytest.raises(ArgumentError, match="`depth`"):
        fs.run("model/linear-stack", depth=depth)


@pytest.mark.parametrize(("fields", "named"), [({"inputs": 33}, "width"), ({"outputs": 25}, "inputs")])
def test_networks_that_widen_the_wrong_way_are_refused(fields, named):
    with pytest.raises(ArgumentError, match=f"must not be above `{named}`"):
        fs.run("model/linear-stack", **fields)
