"""linear/depth: its claims, and what they cannot check."""

from functools import reduce

import jax
import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import festina as fs
from festina.errors import ArgumentError
from festina.experiments.linear import _depth_stack as stack
from shared import quick

pytestmark = pytest.mark.full

OUTCOMES = {
    "exact": "reproduced",
    "small": "reproduced",
    "random-first": "reproduced qualitatively",
    "random-all": "not reproduced",
    "aligned": "reproduced",
    "orthogonal": "not reproduced",
    "orthogonal-median": "reproduced",
    "orthogonal-mean": "not reproduced",
    "determinant": "reproduced",
    "coin": "reproduced",
    "pretrained": "reproduced",
    "logarithm": "reproduced",
}


@pytest.fixture(scope="module")
def result():
    return quick("linear/depth")


def test_claims_come_out_as_documented(result):
    assert {verdict.claim: verdict.outcome for verdict in result.verdicts} == OUTCOMES, result


def first_network(result, start, depth):
    """Target and initial layers of one network of the first run."""
    target, weights = stack.starts(result.config, jax.random.key(0))
    layers = stack.networks(result.config, np.asarray(weights))[result.config.depths.index(depth)]
    return np.asarray(target)[..., 0, 0], layers[:, stack.STARTS.index(start)]


def gradient_flow(layers, target, times):
    """Independent of the code under test: plain products, plain loops, another integrator."""
    depth, width = layers.shape[:2]
    chain = lambda matrices: reduce(lambda product, layer: layer @ product, matrices, np.eye(width))  # noqa: E731

    def rate(_, flat):
        layers = flat.reshape(depth, width, width)
        error = target - chain(layers)
        slopes = [chain(layers[k + 1 :]).T @ error @ chain(layers[:k]).T / depth for k in range(depth)]
        return np.stack(slopes).ravel()

    solved = solve_ivp(rate, (0, times[-1]), layers.ravel(), "DOP853", times, rtol=1e-10, atol=1e-12)
    products = [chain(flat.reshape(depth, width, width)) for flat in solved.y.T]
    return np.array([np.sum((product - target) ** 2) for product in products]) / np.sum(target**2)


@pytest.mark.parametrize(("start", "depth"), [("random", 4), ("orthogonal", 3), ("small", 6)])
def test_networks_follow_an_independent_integration(result, start, depth):
    seen = {"start": start, "depth": depth}
    clock, loss = (result[name].isel(run=0).sel(seen)[max(result.config.depths) :: 8] for name in ("elapsed", "loss"))
    expected = gradient_flow(*reversed(first_network(result, start, depth)), clock.values)
    np.testing.assert_allclose(loss, expected, atol=1e-6)


def test_pretraining_is_that_of_an_autoencoder_with_a_decoder_of_its_own(result):
    """Encoder and decoder, each with weights of its own, start as W and Wᵀ and are trained stage by stage."""
    target, layers = first_network(result, "pretrained", 3)
    width, duration = result.config.width, float(stack.stage_time(result.config.small))
    below = np.eye(width)
    for number in (0, 1):
        inputs = below @ below.T

        def rate(_, flat, inputs=inputs):
            encoder, decoder = flat.reshape(2, width, width)
            error = (np.eye(width) - decoder @ encoder) @ inputs
            return np.stack([decoder.T @ error, error @ encoder.T]).ravel() / 2

        start = np.stack([layers[number], layers[number].T]).ravel()
        end = solve_ivp(rate, (0, duration), start, "DOP853", rtol=1e-10, atol=1e-12).y[:, -1]
        layers[number] = end.reshape(2, width, width)[0]
        below = layers[number] @ below
    seen = {"start": "pretrained", "depth": 3}
    clock, loss = (result[name].isel(run=0).sel(seen)[max(result.config.depths) :: 8] for name in ("elapsed", "loss"))
    expected = gradient_flow(layers, target, clock.values - 2 * duration)
    np.testing.assert_allclose(loss, expected, atol=1e-6)


def test_small_networks_have_the_closed_form_of_a_chain(result):
    config, depth, gain = result.config, 8, result.config.small
    seen = {"start": "small", "depth": depth}
    chain = fs.theory.chain(depth, config.strength, gain**depth, timescale=depth)
    share = chain(result["elapsed"].isel(run=0).sel(seen).values)["product"] / config.strength
    np.testing.assert_allclose(result.theory["loss"].isel(run=0).sel(seen), (1 - share) ** 2, atol=1e-8)
    exact = fs.theory.time_to_reach(depth, config.strength, gain**depth, 0.9, timescale=depth)
    np.testing.assert_allclose(result["training_time"].isel(run=0).sel(seen), exact, rtol=5e-3)


def test_stuck_networks_rest_at_the_saddle_and_keep_their_sign(result):
    chosen = {"start": "orthogonal"}
    wrong = result["determinant"].sel(chosen).isel(time=0) < 0
    assert wrong.any()
    assert result["determinant"].sel(chosen).where(wrong).max() < 1e-14
    left = result["loss"].sel(chosen).isel(time=-1).where(wrong)
    np.testing.assert_allclose(left.values[wrong.values], 1 / result.config.width, atol=2e-3)


def test_a_random_readout_spoils_pretraining(result):
    """Half of the networks must turn their readout round, which costs more with every layer."""
    spoiled = fs.run("linear/depth", budget="quick", readout=result.config.small)
    lost = spoiled["training_time"].sel(start="pretrained") - result["training_time"].sel(start="pretrained")
    slowest = lost.fillna(np.inf).max("run").values
    assert np.all(np.diff(slowest[np.isfinite(slowest)]) > 0)
    assert slowest[-1] > 10
    assert {verdict.claim: verdict.outcome for verdict in spoiled.verdicts}["pretrained"] == "not reproduced"


@pytest.mark.parametrize("depths", [(1,), (2, 0), ("two",), (100,)])
def test_depths_out_of_bounds_are_refused(depths):
    with pytest.raises(ArgumentError, match="`depths"):
        fs.run("linear/depth", depths=depths)


def test_the_figure_has_four_labelled_panels(result):
    figure = result.figure()
    assert len(figure.axes) == 4
    assert all(axis.get_xlabel() and axis.get_ylabel() for axis in figure.axes)
    plt.close(figure)
