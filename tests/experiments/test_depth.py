"""linear/depth: its claims, and what they cannot check."""

from functools import reduce

import jax
import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from scipy.integrate import solve_ivp

import festina as fs
from festina.errors import ArgumentError
from festina.experiments.linear import _depth_exact as exact
from festina.experiments.linear import _depth_measures as measures
from festina.experiments.linear import _depth_networks as networks
from festina.experiments.linear._depth_networks import LONGEST, Network
from festina.precision import double, to_numpy
from shared import outcomes, quick

pytestmark = pytest.mark.full

OUTCOMES = dict.fromkeys(
    [
        "exact",
        "small",
        "gaussian",
        "aligned",
        "orthogonal",
        "orthogonal-median",
        "orthogonal-mean",
        "pretrained",
        "stage",
        "determinant",
    ],
    "reproduced",
)


@pytest.fixture(scope="module")
def result():
    return quick("linear/depth")


def test_claims_come_out_as_documented(result):
    assert outcomes(result) == OUTCOMES, result


def drawn(result, start, depth):
    """Target and initial layers of one network of the first run."""
    targets, starts = networks.draw(result.config, jax.random.key(0))
    first, middle, last = networks.shortened(starts[start], depth)
    return targets[start], [first, *middle, last]


def chain(matrices, size):
    return reduce(lambda product, weights: weights @ product, matrices, np.eye(size))


def gradient_flow(layers, target, times):
    """Relative loss, independent of the code under test: plain products, plain loops, another integrator."""
    depth, inputs = len(layers), target.shape[1]
    cuts = np.cumsum([layer.size for layer in layers])[:-1]

    def unpacked(flat):
        return [part.reshape(layer.shape) for part, layer in zip(np.split(flat, cuts), layers, strict=True)]

    def rate(_, flat):
        now = unpacked(flat)
        error = target - chain(now, inputs)
        slopes = [chain(now[k + 1 :], len(now[k])).T @ error @ chain(now[:k], inputs).T / depth for k in range(depth)]
        return np.concatenate([slope.ravel() for slope in slopes])

    start = np.concatenate([np.asarray(layer).ravel() for layer in layers])
    solved = solve_ivp(rate, (0, times[-1]), start, "DOP853", times, rtol=1e-9, atol=1e-11)
    products = [chain(unpacked(flat), inputs) for flat in solved.y.T]
    return np.array([np.sum((product - target) ** 2) for product in products]) / np.sum(target**2)


def seen(result, start, depth, until=15.0):
    """Every eighth recording up to a time, and the loss of the first run there."""
    loss = result["loss"].isel(run=0).sel(start=start, depth=depth, time=slice(0, until))[::8]
    return loss["time"].values, loss.values


@pytest.mark.parametrize(("start", "depth"), [("gaussian", 4), ("orthogonal", 4), ("square", 8), ("small", 2)])
def test_networks_follow_an_independent_integration(result, start, depth):
    target, layers = drawn(result, start, depth)
    times, loss = seen(result, start, depth)
    np.testing.assert_allclose(loss, gradient_flow(layers, target, times), atol=1e-7)


@pytest.mark.parametrize("depth", [2, 3, 6])
def test_the_rate_is_that_of_descent_divided_by_the_depth(depth):
    rng = np.random.default_rng(depth)
    network = Network(rng.normal(size=(5, 4)), rng.normal(size=(depth - 2, 5, 5)), rng.normal(size=(3, 5)))
    target = rng.normal(size=(3, 4))

    def loss(layers):
        return ((target - reduce(lambda product, weights: weights @ product, layers)) ** 2).sum() / 2

    with double():
        rates = networks.rate(network, target)
        slopes = jax.grad(loss)([network.first, *network.middle, network.last])
        for rate, slope in zip([rates.first, *rates.middle, rates.last], slopes, strict=True):
            np.testing.assert_allclose(rate, -slope / depth, rtol=1e-10, atol=1e-10)


def test_pretraining_is_descent_of_the_reconstruction_error_on_actual_activity(result):
    """Stage by stage by another integrator, which looks for the moment itself; then the network learns."""
    target, layers = drawn(result, "pretrained", 4)
    level, activity = result.config.level, np.eye(result.config.inputs)

    for number in range(3):
        shape = layers[number].shape

        def error(encoder, activity=activity):
            return ((activity - encoder.T @ encoder @ activity) ** 2).sum()

        def reached(_, flat, shape=shape, error=error, activity=activity):
            return error(flat.reshape(shape)) / np.sum(activity**2) - level

        with double():
            slope = jax.jit(jax.grad(error))
            reached.terminal = True
            ends = solve_ivp(
                lambda _, flat, shape=shape, slope=slope: -np.asarray(slope(flat.reshape(shape))).ravel() / 4,
                (0, 100),
                layers[number].ravel(),
                "DOP853",
                rtol=1e-8,
                atol=1e-10,
                events=reached,
            )
        layers[number] = ends.y[:, -1].reshape(shape)
        activity = layers[number] @ activity
        duration = result["pretraining"].isel(run=0, time=0).sel(layer=number + 1)
        np.testing.assert_allclose(duration, ends.t[-1], rtol=1e-5)
    times, loss = seen(result, "pretrained", 4)
    np.testing.assert_allclose(loss, gradient_flow(layers, target, times), atol=1e-6)


@pytest.mark.parametrize(("gain", "level"), [(0.2, 1e-6), (0.75, 1e-3), (0.95, 1e-2)])
def test_a_layer_stops_where_its_error_is_at_the_level_after_the_time_of_a_sigmoid(gain, level):
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0]
    with double():
        encoder, duration = to_numpy(networks.pretrain_layer(gain * rotation, np.eye(6), level))
        error = float(networks.reconstruction(encoder, np.eye(6)))
    end = 1 - np.sqrt(level)
    if gain**2 > end:
        assert duration == 0
        return
    np.testing.assert_allclose(duration, np.log(end / (1 - end) * (1 - gain**2) / gain**2) / 2, rtol=1e-6)
    np.testing.assert_allclose(duration, exact.first_duration(gain * rotation, level), rtol=1e-6)
    np.testing.assert_allclose(error, level, rtol=1e-5)


def test_a_layer_that_never_gets_there_has_no_training_time(result):
    """Two units cannot reproduce three inputs."""
    with double():
        _, duration = to_numpy(networks.pretrain_layer(0.5 * np.eye(2, 3), np.eye(3), 1e-3))
    assert duration == pytest.approx(LONGEST, rel=1e-9)
    never = result.data.assign(pretraining=result["pretraining"].where(result["layer"] != 3, LONGEST))
    times = measures.training_time(never).sel(start="pretrained")
    assert np.isfinite(times.sel(depth=2)).all() and np.isnan(times.sel(depth=[4, 8])).all()


def test_a_deep_stack_that_stops_early_slows_itself_down():
    """Linear in depth can fail: the later a layer, the less activity there is for it to learn from."""
    sizes = {"width": 10, "inputs": 8, "outputs": 2, "depths": (2, 8, 32), "records": 40, "until": 4.0}
    early = fs.run("linear/depth", seeds=2, level=0.1, **sizes)
    stages = early["pretraining"].isel(time=0).mean("run")
    assert stages[-8:].mean() > 2 * stages[1:9].mean()
    assert outcomes(early)["pretrained"] == "not reproduced"


@pytest.mark.parametrize(("law", "cost"), [(lambda depth: 3 + 5 * depth, 1.0), (lambda depth: 1.5**depth, 10.0)])
def test_the_cost_of_a_layer_tells_linear_from_exponential(result, law, cost):
    depths = xr.DataArray([8.0, 2.0, 16.0], dims="depth", coords={"depth": [8, 2, 16]})
    times = law(depths).expand_dims(run=[0], start=["pretrained"])
    measured = float(measures.cost_of_a_layer({"training_time": times})[0])
    assert measured == pytest.approx(1.0) if cost == 1 else measured > cost


def test_aligned_networks_have_the_closed_form_of_chains(result):
    config, depth = result.config, 8
    scales = networks.strengths(config)
    for start, gain in (("small", config.small), ("aligned", config.large)):
        modes = fs.theory.chain(depth, scales, np.full(len(scales), gain**depth), timescale=depth)
        loss = result.theory["loss"].isel(run=0).sel(start=start, depth=depth)
        expected = np.sum((scales - modes(loss["time"].values)["product"]) ** 2, axis=-1) / np.sum(scales**2)
        np.testing.assert_allclose(loss, expected, atol=1e-8)


@pytest.mark.parametrize(
    ("sizes", "depth", "gain"),
    [((4, 7, 2), 2, 1.0), ((4, 7, 2), 5, 1.1), ((6, 6, 1), 3, 0.9), ((8, 5, 3), 4, 1.0), ((3, 3, 3), 6, 1.0)],
)
def test_orthogonal_networks_of_any_shape_reduce_to_three_matrices(sizes, depth, gain):
    inputs, width, outputs = sizes
    rng = np.random.default_rng(depth)
    shapes = [(width, inputs), (depth - 2, width, width), (outputs, width)]
    network = networks.orthogonal(Network(*(rng.normal(size=shape) for shape in shapes)), gain)
    target, times = rng.normal(size=(outputs, inputs)), np.linspace(0, 8, 30)
    expected = gradient_flow([network.first, *network.middle, network.last], target, times)
    np.testing.assert_allclose(exact.orthogonal_loss(network, target, times), expected, atol=1e-7)


def test_the_reduction_of_square_networks_is_that_of_straight_lines():
    rng, times = np.random.default_rng(3), np.linspace(0, 20, 40)
    network = networks.orthogonal(Network(*(rng.normal(size=shape) for shape in [(4, 4), (9, 4, 4), (4, 4)])), 1.0)
    target = 2 * np.linalg.qr(rng.normal(size=(4, 4)))[0]
    lines = exact.straight_lines(11, 2.0, exact.eigenvalues(network, target), times)
    expected = np.mean(np.abs(1 - lines / 2) ** 2, axis=-1)
    np.testing.assert_allclose(exact.orthogonal_loss(network, target, times), expected, atol=1e-7)


def test_the_training_time_of_orthogonal_networks_has_a_limit(result):
    """From depth 64 to 1024 it changes by less than a hundredth."""
    targets, starts = networks.draw(result.config, jax.random.key(1))
    first, _, last = starts["orthogonal"]
    times = np.linspace(0, 3, 600)

    def trained(depth):
        layers = np.broadcast_to(np.eye(len(first)), (depth - 2, len(first), len(first)))
        loss = exact.orthogonal_loss(Network(first, layers, last), targets["orthogonal"], times)
        return np.interp(-measures.TRAINED, -loss, times)

    assert trained(1024) == pytest.approx(trained(64), rel=0.01)


def test_stuck_square_networks_rest_at_the_saddle_and_keep_their_sign(result):
    wrong = ~measures.has_right_sign(result) & (result["depth"] > 2)
    assert wrong.any()
    assert result["determinant"].where(wrong).max() < 1e-14
    left = result["loss"].sel(start="square").isel(time=-1).where(wrong, drop=True)
    np.testing.assert_allclose(left.values[np.isfinite(left.values)], 1 / result.config.outputs, atol=0.02)


@pytest.mark.parametrize("depths", [(1,), (2, 0), ("two",), (100,)])
def test_depths_out_of_bounds_are_refused(depths):
    with pytest.raises(ArgumentError, match="`depths"):
        fs.run("linear/depth", depths=depths)


@pytest.mark.parametrize(("fields", "named"), [({"inputs": 33}, "width"), ({"outputs": 25}, "inputs")])
def test_networks_that_widen_the_wrong_way_are_refused(fields, named):
    with pytest.raises(ArgumentError, match=f"must not be above `{named}`"):
        fs.run("linear/depth", **fields)


def test_the_figure_has_four_labelled_panels(result):
    figure = result.figure()
    assert len(figure.axes) == 4
    assert all(axis.get_xlabel() and axis.get_ylabel() for axis in figure.axes)
    plt.close(figure)
