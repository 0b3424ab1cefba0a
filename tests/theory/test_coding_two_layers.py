"""Two hidden layers: the integrals, the limit of no learning, and kernels that were sampled."""

import jax
import numpy as np
import pytest

from festina.errors import FestinaError
from festina.theory.coding import SIGMOIDAL, Blocks, blocks, kernels, second_layer, two_layers
from festina.theory.coding._integral import Weight, cloud, normalised
from festina.theory.coding.two_layers import _root
from festina.worlds.classes import orthogonal_classes

WORLD = orthogonal_classes((20, 10, 10))
VARIANCE = 1 / np.sqrt(40)


def relative(a, b):
    return np.linalg.norm(a - b) / np.linalg.norm(b)


def two_peaks():
    return Weight(
        np.array([6.0, 5.0]), np.array([[0.9, -0.9], [0.2, 0.3]]), np.array([[0.1, 0.0], [0.4, -0.5]]),
        np.array([-0.5, 0.2]), np.array([0.5, 1.5]), SIGMOIDAL,
    )  # fmt: skip


@pytest.mark.full
def test_averages_over_several_peaks_are_those_of_a_grid():
    weight = two_peaks()
    points = cloud(weight)
    site = weight.site(points.points)
    masses = weight.log_density(points.points, site) - points.log_proposal
    probability = normalised(masses)
    axis = np.linspace(-12.0, 12.0, 121)
    grid = np.stack([part.reshape(-1) for part in np.meshgrid(axis, axis, indexing="ij")], axis=1)
    there = weight.site(grid)
    exact = weight.log_density(grid, there) + 2 * np.log(0.2)
    assert np.log(np.exp(masses).sum()) == pytest.approx(np.log(np.exp(exact).sum()), abs=0.01)
    for one, other in ((site.mean, there.mean), (weight.pull(points.points, site), weight.pull(grid, there))):
        np.testing.assert_allclose(
            (probability[:, None] * one).T @ one, (normalised(exact)[:, None] * other).T @ other, atol=0.01
        )


def test_slope_and_precision_of_the_weight_are_its_derivatives():
    weight, places = two_peaks(), np.random.default_rng(0).normal(size=(50, 2))
    gradient, precision = weight.slope(places, weight.site(places))
    for k, step in enumerate(1e-4 * np.eye(2)):
        ends = [places + sign * step[None] for sign in (1.0, -1.0)]
        sites = [weight.site(end) for end in ends]
        heights = [weight.log_density(end, each) for end, each in zip(ends, sites, strict=True)]
        np.testing.assert_allclose((heights[0] - heights[1]) / 2e-4, gradient[:, k], atol=1e-5)
        slopes = [weight.slope(end, each)[0] for end, each in zip(ends, sites, strict=True)]
        np.testing.assert_allclose((slopes[1] - slopes[0]) / 2e-4, precision[:, k], atol=1e-5)


def test_blocks_are_means_over_classes():
    made = Blocks(np.array([[0.4, 0.1, 0.1], [0.1, 0.3, 0.2], [0.1, 0.2, 0.3]]), np.array([0.1, 0.2, 0.3]))
    whole = made.expand(WORLD.labels)
    found = blocks(whole, WORLD.labels)
    np.testing.assert_allclose(found.between, made.between)
    np.testing.assert_allclose(found.excess, made.excess)
    other = Blocks(made.between @ made.between, made.excess**2)
    assert made.product(other, WORLD.counts.astype(float)) == pytest.approx(
        np.trace(whole @ other.expand(WORLD.labels))
    )


def test_a_kernel_is_the_square_of_its_root_and_what_is_negative_is_taken_as_zero():
    points = np.random.default_rng(0).normal(size=(4, 2))
    root = _root(points @ points.T - 1e-12 * np.eye(4))
    assert root.shape == (4, 4)
    np.testing.assert_allclose(root @ root.T, points @ points.T, atol=1e-11)


def test_the_distance_of_blocks_weighs_each_class_by_its_examples():
    random = np.random.default_rng(0)
    one, other = (
        Blocks(between + between.T, excess)
        for between, excess in zip(random.normal(size=(2, 3, 3)), random.normal(size=(2, 3)), strict=True)
    )
    counts = WORLD.counts.astype(float)
    # each class counts as one number a pair, each diagonal as what is added to it
    expected = np.sum(counts[:, None] * counts * (one.between - other.between) ** 2)
    expected += np.sum(counts * (one.excess - other.excess) ** 2)
    size = np.sum(counts[:, None] * counts * other.between**2) + np.sum(counts * other.excess**2)
    assert one.distance(other, counts) == pytest.approx(np.sqrt(expected / size))
    assert one.distance(one, counts) == 0.0


@pytest.mark.full
def test_hot_networks_have_the_kernels_of_the_prior():
    (found,) = two_layers(WORLD.counts, WORLD.class_targets, (500.0,), VARIANCE)
    for layer, expected in zip(found.kernels, kernels(np.eye(40), SIGMOIDAL, 2), strict=True):
        assert relative(layer, expected) < 0.005


@pytest.mark.full
def test_solved_from_scratch_it_has_the_kernels_that_were_sampled():
    """T = 1, N = 200: entries of sampled kernels, with standard errors of .0005."""
    (found,) = two_layers(WORLD.counts, WORLD.class_targets, (1.0,), VARIANCE)
    assert found.diagnostics["mismatch"] < 1e-3 and found.diagnostics["effective_share"] > 0.3
    pairs = [0, 0, 20, 20], [1, 20, 21, 30]
    np.testing.assert_allclose(found.kernels[0][pairs], [0.2571, 0.2498, 0.2450, 0.2443], atol=0.002)
    np.testing.assert_allclose(found.kernels[1][pairs], [0.3500, 0.3408, 0.3325, 0.3322], atol=0.002)
    np.testing.assert_allclose(found.residual[0], [0.8174, -0.4090, -0.4086], atol=0.003)
    np.testing.assert_allclose(found.mean, WORLD.targets - found.residual, atol=1e-8)


@pytest.mark.full
def test_given_the_first_layer_the_second_is_the_one_that_was_sampled():
    """T = .5, N = 200, past the onset of the first code."""
    first = Blocks(
        np.array([[0.2782, 0.2169, 0.2169], [0.2169, 0.2764, 0.2745], [0.2169, 0.2745, 0.2764]]),
        np.array([0.0835, 0.0832, 0.0832]),
    )
    found = second_layer(WORLD.counts, WORLD.class_targets, 0.5, VARIANCE, first)
    assert relative(found.kernels[0], first.expand(WORLD.labels)) < 0.03
    pairs = [0, 0, 20, 20], [1, 20, 21, 30]
    np.testing.assert_allclose(found.kernels[1][pairs], [0.4274, 0.1898, 0.2391, 0.2385], atol=0.004)
    readouts = found.draw_readouts(jax.random.key(0), 4000)
    exact = found.neurons.readouts @ found.neurons.task.basis.T
    np.testing.assert_allclose(readouts.mean(axis=0), found.neurons.probability @ exact, atol=0.1)
    # The mean answers of sampled networks to inputs with evidence 1 and 2 for the first class, and 2 for the second.
    shares = np.eye(3)[WORLD.labels].T / WORLD.counts[:, None]
    cross = np.array([1.0, 2.0, 2.0])[:, None] * shares[[0, 0, 1]]
    sampled = [[0.573, -0.287, -0.287], [0.731, -0.365, -0.366], [-0.246, 0.128, 0.119]]
    np.testing.assert_allclose(found.answers(cross, np.ones(3)), sampled, atol=0.015)
    with pytest.raises(FestinaError, match="the variance of the predictor is not known"):
        found.predict(cross, np.ones(3), 200)
