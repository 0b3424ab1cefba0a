"""Sigmoidal networks: the convex dual, the codes, the frozen network, and its predictor."""

import jax
import numpy as np
import pytest

from festina.errors import ArgumentError
from festina.theory.coding import SIGMOIDAL, class_task, frozen, many_examples, planted, redundant
from festina.theory.coding.dual import neurons
from festina.worlds.classes import orthogonal_classes, toy_classes

TOY = toy_classes()
NAMES = np.array([4, 2, 1])


def toy(temperature):
    return redundant(TOY.counts, TOY.class_targets, temperature, 0.01)


@pytest.fixture(scope="module")
def cold():
    return toy(0.05)


def relative(a, b):
    return np.linalg.norm(a - b) / np.linalg.norm(b)


def test_slope_and_curvature_of_the_dual_are_its_derivatives():
    task = class_task((6, 4, 5), TOY.class_targets, 0.3, 0.1, SIGMOIDAL)
    residual, step = np.random.default_rng(0).normal(size=(3, 2)), 1e-4
    state = neurons(task, residual)
    slope = (task.counts[:, None] * state.mismatch).reshape(-1)
    for k, direction in enumerate(np.eye(6)):
        ends = [neurons(task, residual + sign * step * direction.reshape(3, 2)) for sign in (1.0, -1.0)]
        assert (ends[0].dual - ends[1].dual) / (2 * step) == pytest.approx(slope[k], abs=1e-6)
        slopes = [(task.counts[:, None] * end.mismatch).reshape(-1) for end in ends]
        np.testing.assert_allclose((slopes[0] - slopes[1]) / (2 * step), state.curvature[k], atol=1e-6)


def test_two_examples_by_direct_integration():
    """p(a, z₁, z₂) on a grid of all three variables, with the t of the theory, must give back t = (Y − ⟨f⟩)/T."""
    temperature, variance = 0.2, 0.8
    found = redundant((1, 1), np.array([[1.0], [-0.4]]), temperature, variance)
    a, z = np.linspace(-10.0, 10.0, 401), np.linspace(-6.0, 6.0, 121)
    phi, (one, other) = SIGMOIDAL.function(z), found.residual[:, 0]
    first, second = (np.exp(-0.5 * z**2 + np.outer(a * each, phi)) for each in (one, other))
    weight = np.exp(-0.5 * a**2 / variance)
    total = weight @ (first.sum(axis=1) * second.sum(axis=1))
    answers = [
        weight @ (a * (first @ phi) * second.sum(axis=1)) / total,
        weight @ (a * first.sum(axis=1) * (second @ phi)) / total,
    ]
    np.testing.assert_allclose(np.array([1.0, -0.4]) - answers, temperature * found.residual[:, 0], atol=1e-8)
    between = weight @ ((first @ phi) * (second @ phi)) / total
    own = weight @ ((first @ phi**2) * second.sum(axis=1)) / total
    np.testing.assert_allclose(found.kernels[0][0], [own, between], atol=1e-8)


@pytest.mark.full
def test_codes_appear_as_temperature_falls():
    assert len(toy(0.27).codes.weights) == 1
    assert len(toy(0.23).codes.weights) == 2
    assert len(toy(0.20).codes.weights) == 4


def test_six_codes_in_the_cold(cold):
    codes = cold.codes
    assert cold.diagnostics["gap"] < 1e-9
    assert sorted(codes.subsets @ NAMES) == [1, 2, 3, 4, 5, 6]  # all subsets but none and all
    assert codes.weights.sum() == pytest.approx(1.0)
    state = cold.neurons
    residual = state.residual @ state.task.basis.T
    pulled = 0.01 * (SIGMOIDAL.site(codes.readouts @ residual.T).mean * TOY.counts) @ residual
    np.testing.assert_allclose(pulled, codes.readouts, atol=1e-9)  # maxima of p(a)
    np.testing.assert_allclose(cold.mean, TOY.targets - 0.05 * cold.residual, atol=1e-9)


def test_hot_networks_keep_their_prior():
    hot = toy(1e4)
    np.testing.assert_allclose(
        hot.kernels[0], 0.25 + np.eye(100) * (SIGMOIDAL.kernel(*np.ones((3, 1))) - 0.25), atol=1e-5
    )
    weak = redundant(TOY.counts, TOY.class_targets, 0.5, 1e-7)
    assert np.abs(weak.mean).max() < 1e-4


@pytest.mark.full
def test_a_network_frozen_in_equilibrium_is_in_equilibrium(cold):
    same = frozen(TOY.counts, TOY.class_targets, 0.05, 0.01, cold.codes.readouts, cold.codes.weights)
    assert relative(same.kernels[0], cold.kernels[0]) < 1e-4
    chosen = np.isin(cold.codes.subsets @ NAMES, [4, 3, 2, 1])  # as after fast cooling, without two of the codes
    shares = np.array([0.62, 0.05, 0.17, 0.16])
    order = [int(np.flatnonzero(cold.codes.subsets @ NAMES == name)[0]) for name in (4, 3, 2, 1)]
    assert chosen.sum() == 4
    other = frozen(TOY.counts, TOY.class_targets, 0.05, 0.01, cold.codes.readouts[order], shares)
    assert relative(other.kernels[0], cold.kernels[0]) > 0.2
    np.testing.assert_allclose(other.mean, TOY.targets - 0.05 * other.residual, atol=1e-9)
    np.testing.assert_allclose(other.codes.weights, sorted(shares, reverse=True), atol=1e-3)
    own = other.kernels[0][0, 0], other.kernels[0][50, 50], other.kernels[0][0, 50]
    np.testing.assert_allclose(own, [0.542, 0.215, 0.058], atol=0.01)  # as sampled, N = 200


@pytest.mark.full
def test_many_examples_have_codes_of_nearly_equal_energy(cold):
    limit = many_examples(cold)
    assert limit.gap < 1e-10 and np.ptp(limit.energies) < 0.02 < abs(limit.energies.mean())
    many = redundant(40 * TOY.counts, TOY.class_targets, 0.25, 0.01 / 40)
    large = many_examples(many)
    assert relative(large.residual, many.residual[[0, 2000, 3000]]) < 2e-3


@pytest.mark.full
def test_draws_are_from_the_density_and_networks_can_be_planted(cold):
    (weights,), readout = planted(jax.random.key(0), cold, TOY.inputs, 10000, 0.01)
    activity, readouts = SIGMOIDAL.function(weights @ TOY.inputs.T), 0.1 * readout.T
    assert relative(activity.T @ activity / 10000, cold.kernels[0]) < 0.03
    assert np.abs(activity.T @ readouts / 10000 - cold.mean).max() < 0.08  # √(Var aφ/N) = .02
    assert readouts.sum(axis=1).var() == pytest.approx(0.03, rel=0.1)  # the idle direction keeps its prior


def test_where_hardly_anything_is_learned_the_predictor_is_a_gaussian_process():
    """Of covariance sK_φ, with the kernel of Williams (1997): its mean and variance at inputs that overlap a little."""
    temperature, variance, labels = 0.3, 0.1, np.repeat([0, 1, 2], [6, 4, 5])
    targets = 1e-5 * TOY.class_targets
    random = np.random.default_rng(0)
    cross, tried = 0.05 * random.normal(size=(4, 15)), np.ones(4)
    predicted = redundant((6, 4, 5), targets, temperature, variance).predict(cross, tried, 50)
    one, trained = np.ones(()), np.eye(15)
    among, towards = (variance * SIGMOIDAL.kernel(one, one, overlaps) for overlaps in (trained, cross))
    weights = np.linalg.solve(temperature * trained + among, towards.T)
    np.testing.assert_allclose(predicted.mean, weights.T @ targets[labels], rtol=1e-3, atol=1e-9)
    own = variance * SIGMOIDAL.kernel(one, one, one)
    expected = (own - np.sum(towards.T * weights, axis=0)) / 50
    np.testing.assert_allclose(predicted.variance, np.repeat(expected[:, None], targets.shape[1], axis=1), rtol=1e-3)


@pytest.mark.full
def test_the_predictor_at_other_inputs_is_that_of_drawn_networks(cold):
    """At high temperature fluctuations are those of independent neurons; the mean is to be met at any temperature."""
    rng = np.random.default_rng(0)
    cross = rng.normal(size=(4, 100)) * 0.05 + np.array([0.08, -0.05, 0.1, 0.0])[:, None] * (TOY.labels == 1)
    predicted = cold.predict(cross, np.ones(4), 1000)
    readouts, drive = cold.draw_neurons(jax.random.key(1), 10000)
    unseen = np.sqrt(1 - np.sum(cross**2, axis=1))
    activity = SIGMOIDAL.function(drive @ cross.T + rng.normal(size=(10000, 4)) * unseen)
    assert np.abs(activity.T @ readouts / 10000 - predicted.mean).max() < 0.08
    hot = toy(100.0)
    predicted = hot.predict(cross, np.ones(4), 1000)
    readouts, drive = hot.draw_neurons(jax.random.key(2), 10000)
    activity = SIGMOIDAL.function(drive @ cross.T + rng.normal(size=(10000, 4)) * unseen)
    free = np.var(activity[:, :, None] * readouts[:, None], axis=0) / 1000
    np.testing.assert_allclose(predicted.variance, free, rtol=0.08)


def test_what_cannot_be_is_refused():
    with pytest.raises(ArgumentError, match="weights"):
        frozen((4, 4), np.array([[1.0], [-1.0]]), 0.1, 0.1, np.array([[1.0]]), np.array([0.5]))
    with pytest.raises(ArgumentError, match="targets"):
        redundant((4, 4), np.zeros((2, 1)), 0.1, 0.1)
    world = orthogonal_classes((2, 2, 2, 2, 2))
    with pytest.raises(ArgumentError, match="rank"):
        redundant(world.counts, world.class_targets, 0.1, 0.1)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ((2.5, 3), "`counts` must be whole numbers"),
        ((np.inf, 3), "`counts` must be whole numbers"),
        ((1e6, 3), "`counts` must be at most 10000 examples"),
    ],
)
def test_examples_are_counted_in_whole_numbers_and_can_be_held(counts, message):
    with pytest.raises(ArgumentError, match=message):
        class_task(np.array(counts), np.array([[1.0], [-1.0]]), 0.1, 0.1, SIGMOIDAL)


def test_targets_that_are_too_large_are_refused_and_not_waited_for(monkeypatch):
    """The solution is followed down until its readouts no longer fit on a grid."""
    from festina.theory.coding import dual

    builds = []
    monkeypatch.setattr(dual, "_mode_box", lambda *given, real=dual._mode_box: builds.append(1) or real(*given))
    with pytest.raises(ArgumentError, match="2000 along each axis, holds their density, but is 'such that it takes"):
        redundant((2, 2), np.array([[3000.0], [-2000.0]]), 1e-3, 0.1)
    assert len(builds) < 300
    with pytest.raises(ArgumentError, match="grid of 500000 readouts"):
        redundant((10, 10), np.array([[1e7], [-1e7]]), 1.0, 1e-3)
