"""Rectified networks: the gated linear network in them, along a whole training run."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from festina.errors import ArgumentError
from festina.networks.rectified import Rectified
from festina.worlds.contexts import multitask
from festina.worlds.gated import GatedDataset

SIZES = {"one hidden layer": (11, 20, 60), "two hidden layers": (11, 20, 17, 60)}


@pytest.fixture(params=SIZES, ids=lambda name: name.replace(" ", "-"))
def network(request):
    return Rectified.init(jax.random.key(1), SIZES[request.param], 0.15)


def as_world(data, gates):
    return GatedDataset(inputs={"x": data.inputs}, targets={"y": data.targets}, gates=gates)


def test_the_output_is_the_plain_formula(network):
    x = np.random.default_rng(0).normal(size=(5, 11))
    expected = x
    for weight in network.weights[:-1]:
        expected = np.maximum(expected @ weight.T, 0)
    np.testing.assert_allclose(network(x), expected @ network.weights[-1].T, atol=1e-14)
    np.testing.assert_allclose(network(x[2]), network(x)[2], atol=1e-14)


@pytest.mark.mostly_full
def test_output_and_gradient_are_those_of_the_gated_network(network):
    data = multitask(3).samples
    world = as_world(data, network.gates(data.inputs))
    answer = network.as_gated()({"x": data.inputs}, world.gates)["y"]
    np.testing.assert_allclose(answer, network(data.inputs), atol=1e-14)
    slope = jax.grad(data.loss)(jax.tree.map(jnp.asarray, network))
    gated = jax.grad(world.samples.loss)(jax.tree.map(jnp.asarray, network.as_gated()))
    for one, other in zip(slope.weights, gated.blocks, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-14)


def test_the_equality_holds_along_a_whole_training_run(network):
    """Each network is trained by its own gradient; the gated one only borrows gates, which do change on the way."""
    data = multitask(3).samples
    start = network.gates(data.inputs)

    @jax.jit
    def step(pair, _):
        network, gated = pair
        gates = network.gates(jnp.asarray(data.inputs))
        moved = jax.tree.map(lambda p, g: p - 0.24 * g, network, jax.grad(data.loss)(network))
        own = jax.grad(as_world(data, gates).samples.loss)(gated)
        gap = jnp.abs(network(jnp.asarray(data.inputs)) - gated({"x": jnp.asarray(data.inputs)}, gates)["y"]).max()
        return (moved, jax.tree.map(lambda p, g: p - 0.24 * g, gated, own)), gap

    pair = jax.tree.map(jnp.asarray, (network, network.as_gated()))
    (last, gated), gaps = jax.lax.scan(step, pair, None, length=1500)
    assert gaps.max() < 1e-12
    assert data.loss(last) < 0.1 * data.loss(network)
    switched = [np.mean(start[name] != gate) for name, gate in last.gates(data.inputs).items()]
    assert min(switched) > 0.05
    np.testing.assert_allclose(last.weights[0], gated.blocks[0], atol=1e-12)


def test_a_unit_at_zero_is_off():
    network = Rectified((np.array([[1.0, -1.0]]), np.array([[2.0]])))
    x = np.array([[1.0, 1.0]])
    assert network.gates(x)["h1"] == 0
    slope = jax.grad(lambda network: network(jnp.asarray(x)).sum())(jax.tree.map(jnp.asarray, network))
    assert not slope.weights[0].any()


def test_initial_weights_have_the_standard_deviation_asked_for():
    network = Rectified.init(jax.random.key(0), (50, 400, 300), 0.02, np.float32)
    for weight in network.weights:
        assert weight.dtype == np.float32
        np.testing.assert_allclose(weight.std(), 0.02, rtol=0.02)
    with pytest.raises(ArgumentError, match="at least one hidden width"):
        Rectified.init(jax.random.key(0), (3, 2))
