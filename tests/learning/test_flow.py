"""Gradient flow against an independent integrator, and its invariants."""

from importlib import import_module

import equinox as eqx
import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import festina as fs
from festina.errors import ArgumentError, Interrupted, StoreError
from festina.learning import Diverged
from festina.networks import DeepLinear
from festina.worlds import Curriculum, Dataset, Teacher


def reference(network, moments, times):
    """DOP853 on the flow's equation, written out and not differentiated automatically."""
    shapes = [weight.shape for weight in network.weights]
    cuts = np.cumsum([rows * columns for rows, columns in shapes])[:-1]
    cross, inputs = np.asarray(moments.cross), np.asarray(moments.inputs)

    def rate(_, flat):
        weights = [part.reshape(shape) for part, shape in zip(np.split(flat, cuts), shapes, strict=True)]
        below = [np.eye(shapes[0][1])]
        for weight in weights:
            below.append(weight @ below[-1])
        error = cross - below[-1] @ inputs
        above, change = np.eye(shapes[-1][0]), [np.zeros(shape) for shape in shapes]
        for layer in reversed(range(len(weights))):
            change[layer] = above.T @ error @ below[layer].T
            above = above @ weights[layer]
        return np.concatenate([part.ravel() for part in change])

    start = np.concatenate([weight.ravel() for weight in network.weights])
    solved = solve_ivp(rate, (times[0], times[-1]), start, "DOP853", times, rtol=1e-12, atol=1e-14)
    return [part.T.reshape(-1, *shape) for part, shape in zip(np.split(solved.y, cuts), shapes, strict=True)]


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(3)
    return Dataset(rng.normal(size=(12, 4)), rng.normal(size=(12, 3)))


@pytest.mark.mostly_full
@pytest.mark.parametrize("sizes", [(4, 3), (4, 5, 3), (4, 5, 2, 3)])
def test_flow_follows_an_independent_integration(world, sizes):
    network = DeepLinear.init(jax.random.key(1), sizes, 0.5)
    times = np.linspace(0.0, 6.0, 13)
    run = fs.flow(network, world, times=times)
    layers = reference(network, world.moments, times)
    expected = layers[0]
    for layer in layers[1:]:
        expected = layer @ expected
    np.testing.assert_allclose(run["map"], expected, atol=2e-9)


def test_frozen_numbers(world):
    run = fs.flow(DeepLinear.init(jax.random.key(1), (4, 5, 3), 0.5), world, times=[0.0, 1.0, 5.0])
    np.testing.assert_allclose(run["loss"], FROZEN_LOSS, rtol=1e-9)


FROZEN_LOSS = [2.160220023514041, 1.5643714158901352, 1.0057480454876384]


@pytest.mark.full
def test_a_switch_is_met_exactly():
    """One flow over a curriculum is the flow in the first world followed by the flow in the second."""
    first, second = Teacher(np.diag([1.0, 2.0])), Teacher(np.diag([-1.0, 0.5]))
    network = DeepLinear.init(jax.random.key(0), (2, 3, 2), 0.7)
    whole = fs.flow(network, Curriculum.of((first, second), [0.77]), times=[0.0, 1.1, 2.0])
    there = fs.flow(network, first, times=[0.0, 0.77])
    then = fs.flow(there.final, second, times=[0.77, 1.1, 2.0])
    np.testing.assert_allclose(whole.final.map, then.final.map, atol=1e-10)


@settings(max_examples=8)
@given(seed=st.integers(0, 2**31), scale=st.floats(0.01, 1.5), depth=st.sampled_from([2, 3]))
@pytest.mark.full
def test_flow_conserves_balance_and_never_raises_the_loss(world, seed, scale, depth):
    sizes = (4, *(5,) * (depth - 1), 3)
    network = DeepLinear.init(jax.random.key(seed), sizes, scale)
    run = fs.flow(network, world, until=4.0)
    for before, after in zip(network.balances, run.final.balances, strict=True):
        np.testing.assert_allclose(before, after, atol=1e-8)
    assert np.all(np.diff(run["loss"].values) <= 1e-10)


@pytest.mark.full
@settings(max_examples=5)
@given(seed=st.integers(0, 2**31))
def test_flow_is_equivariant_under_rotations(world, seed):
    """Rotating inputs, outputs and the first and last layer with them rotates the map, and nothing else."""
    network = DeepLinear.init(jax.random.key(seed), (4, 5, 3), 0.5)
    turn_in = DeepLinear.orthogonal(jax.random.key(seed + 1), (4, 4)).map
    turn_out = DeepLinear.orthogonal(jax.random.key(seed + 2), (3, 3)).map
    turned = DeepLinear((network.weights[0] @ turn_in.T, turn_out @ network.weights[1]))
    elsewhere = Dataset(world.inputs @ turn_in.T, world.targets @ turn_out.T)
    one, other = fs.flow(network, world, until=3.0), fs.flow(turned, elsewhere, until=3.0)
    np.testing.assert_allclose(turn_out @ one.final.map @ turn_in.T, other.final.map, atol=1e-8)


@pytest.mark.full
def test_a_dense_run_can_be_asked_between_recordings(world):
    network = DeepLinear.init(jax.random.key(1), (4, 5, 3), 0.5)
    dense = fs.flow(network, world, until=4.0, dense=True)
    exact = fs.flow(network, world, times=[0.0, 1.2345, 3.999])
    np.testing.assert_allclose(dense(1.2345).map, exact["map"][1], atol=1e-9)
    assert dense([0.1, 0.2, 4.0]).weights[0].shape == (3, 5, 4)
    with pytest.raises(ArgumentError, match="`time` must lie between 0 and 4"):
        dense(5.0)
    with pytest.raises(ArgumentError, match="`dense` must be True"):
        exact(1.0)


@pytest.mark.full
def test_layers_may_have_their_own_timescales(world):
    """A frozen layer (τ → ∞) leaves its weights where they are; halving all τ doubles the speed."""
    network = DeepLinear.init(jax.random.key(1), (4, 5, 3), 0.5)
    slow_first = jax.tree.unflatten(jax.tree.structure(network), [1e12, 1.0])
    run = fs.flow(network, world, until=1.0, timescale=slow_first)
    np.testing.assert_allclose(run.final.weights[0], network.weights[0], atol=1e-9)
    assert np.abs(run.final.weights[1] - network.weights[1]).max() > 0.1
    fast = fs.flow(network, world, times=[0.0, 1.0], timescale=0.5)
    usual = fs.flow(network, world, times=[0.0, 2.0])
    np.testing.assert_allclose(fast.final.map, usual.final.map, atol=1e-9)


def test_a_run_that_blows_up_says_where_and_keeps_what_it_has(monkeypatch):
    """Its steps are of 1e-120; a million of them, the usual patience, would be 27 seconds of nothing."""
    monkeypatch.setattr(import_module("festina.learning.flow"), "MOST_STEPS", 5000)
    network = DeepLinear.init(jax.random.key(0), (2, 2, 2), 1.0)
    with pytest.raises(Diverged, match=r"run 0 failed at step \d+ .*in `weights\[\d\]`") as caught:
        fs.flow(network, Teacher(np.eye(2) * 1e120), until=1.0)
    assert np.isnan(caught.value.trajectory["map"][-1]).all()
    np.testing.assert_array_equal(caught.value.trajectory["map"][0], network.map)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"until": -1.0}, r"`until` must be positive and finite, but is -1.0"),
        ({}, "`until` or `times` must be given"),
        ({"until": 1.0, "times": [0.0, 1.0]}, "`until` or `times` must be given, and not both"),
        ({"times": [0.0, 0.0]}, "`times` must be at least two finite numbers that rise"),
        ({"times": [0.0, np.nan]}, "`times` must be at least two finite numbers that rise"),
        ({"until": np.inf}, r"`until` must be positive and finite, but is inf"),
        ({"until": 1.0, "timescale": -2.0}, "`timescale` must be positive, but is -2.0"),
        ({"until": 1.0, "timescale": (1.0, 2.0)}, "`timescale` must be one number, or a tree with the network's"),
        ({"until": 1.0, "timescale": "x"}, "`timescale` must be positive, but is 'x'"),
    ],
)
def test_bad_arguments_are_refused_in_one_sentence(world, arguments, message):
    with pytest.raises(ArgumentError, match=message):
        fs.flow(DeepLinear.init(jax.random.key(0), (4, 3)), world, **arguments)


def test_a_network_that_does_not_fit_its_world_is_refused(world):
    with pytest.raises(ArgumentError, match=r"`network` must map 4 inputs to 3 outputs"):
        fs.flow(DeepLinear.init(jax.random.key(0), (5, 3)), world, until=1.0)


def test_negative_times_are_times_too(world):
    network = DeepLinear.init(jax.random.key(1), (4, 3), 0.5)
    early, late = (fs.flow(network, world, times=times) for times in ([-2.0, -1.0, 0.5], [0.0, 1.0, 2.5]))
    np.testing.assert_allclose(early["map"], late["map"], atol=1e-9)


def test_any_equinox_module_flows(world):
    network = eqx.nn.MLP(4, 3, 5, 1, activation=jax.nn.tanh, key=jax.random.key(0))
    run = fs.flow(network, world, until=1.0)
    assert np.all(np.diff(run["loss"].values) <= 0)
    assert run.final(world.inputs[0]).shape == (3,)


def test_a_checkpoint_never_takes_another_file(world, tmp_path):
    network = DeepLinear.init(jax.random.key(1), (4, 3), 0.5)
    (tmp_path / "folder").mkdir()
    (tmp_path / "data.csv").write_text("mine")
    for name in ("folder", "data.csv"):
        with pytest.raises(StoreError, match="is no checkpoint; it is left alone"):
            fs.flow(network, world, until=1.0, checkpoint=tmp_path / name)
    assert (tmp_path / "data.csv").read_text() == "mine"


def test_control_c_is_not_swallowed(world, monkeypatch):
    def interrupt(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("festina.learning.loop._advance_journey", interrupt)
    with pytest.raises(Interrupted, match="interrupted at t = 0") as caught:
        fs.flow(DeepLinear.init(jax.random.key(1), (4, 3), 0.5), world, until=1.0)
    assert caught.value.trajectory["loss"].size == 1
