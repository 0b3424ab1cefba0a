"""Full networks as chains: exact where the modes are decoupled, close where weights are small."""

import jax
import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.networks import DeepLinear
from festina.theory.modes import singular_modes
from festina.worlds import Dataset, Teacher


@pytest.mark.parametrize("hidden", [(), (5,), (4, 6)])
def test_decoupled_networks_are_independent_chains(hidden):
    teacher = Teacher(np.random.default_rng(0).normal(size=(3, 4)), 0.3)
    left, strengths, right = singular_modes(teacher.map)
    network = DeepLinear.aligned(left, 0.1 * strengths**0 * [1.0, 2.0, 0.5], right, hidden)
    run = fs.flow(network, teacher, until=5.0)
    comparison = fs.compare(run, fs.theory.modes(teacher, initial=network))
    assert comparison.max_error < 1e-8, comparison


@pytest.mark.full
@pytest.mark.parametrize("world", [fs.worlds.tree(features=60), fs.worlds.partition(3, 3, features=60)])
def test_small_random_weights_follow_the_modes(world):
    """Degenerate spectra included; what is left is the coupling of modes through a hidden layer of finite width."""
    errors = []
    for width in (32, 512):
        network = DeepLinear.init(jax.random.key(0), (world.items, width, 60), 1e-5)
        run = fs.flow(network, world, until=60.0)
        comparison = fs.compare(run, fs.theory.modes(world, initial=network))
        errors.append(comparison.errors["map"] / float(abs(run["map"]).max()))
    assert errors[1] < 0.06 and errors[1] < errors[0]


def test_inputs_that_are_not_white_are_refused():
    rng = np.random.default_rng(0)
    world = Dataset(rng.normal(size=(9, 3)), rng.normal(size=(9, 2)))
    with pytest.raises(ArgumentError, match="`world` must have white inputs"):
        fs.theory.modes(world, initial=DeepLinear.init(jax.random.key(0), (3, 4, 2)))


def test_compare_needs_something_in_common():
    teacher = Teacher(np.eye(2))
    run = fs.flow(DeepLinear.init(jax.random.key(0), (2, 2)), teacher, until=1.0)
    with pytest.raises(ArgumentError, match=r"`theory` must give a variable the run recorded \(loss, map\)"):
        fs.compare(run, lambda time: {"x": time})
    figure = fs.compare(run, fs.theory.modes(teacher, initial=run.initial)).plot()
    assert len(figure.axes) == 2


def test_modes_without_strength_decay_exactly():
    teacher = Teacher(np.diag([2.0, 1.0, 0.0]))
    network = DeepLinear.aligned(np.eye(3), np.full(3, 0.3), np.eye(3), (3,))
    run = fs.flow(network, teacher, until=5.0)
    assert fs.compare(run, fs.theory.modes(teacher, initial=network)).max_error < 1e-8


def test_compare_does_not_look_past_nan():
    run = fs.flow(DeepLinear.init(jax.random.key(0), (2, 2)), Teacher(np.eye(2)), until=1.0)
    comparison = fs.compare(run, lambda time: {"loss": np.where(time > 0.5, np.nan, run["loss"].values)})
    assert np.isnan(comparison.max_error)
    with pytest.raises(ArgumentError, match=r"must give `loss` with shape \(201,\)"):
        fs.compare(run, lambda time: {"loss": np.zeros(3)})


def test_a_network_that_does_not_fit_is_refused():
    with pytest.raises(ArgumentError, match="`initial` must map 2 inputs to 2 outputs"):
        fs.theory.modes(Teacher(np.eye(2)), initial=DeepLinear.init(jax.random.key(0), (3, 2)))
