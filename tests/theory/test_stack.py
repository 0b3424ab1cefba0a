"""Deep networks of orthogonal layers: against plain gradient flow, each other, chains, and sigmoids."""

import numpy as np
import pytest

import festina as fs
from festina.theory.stack import encoder_duration, orthogonal_loss, straight_lines
from plain_flow import chain, gradient_flow


def rotation(rng, rows, columns):
    factor = np.linalg.qr(rng.normal(size=(max(rows, columns), min(rows, columns))))[0]
    return factor if rows >= columns else factor.T


def orthogonal(rng, sizes, depth, gain):
    inputs, width, outputs = sizes
    middle = [gain * rotation(rng, width, width) for _ in range(depth - 2)]
    ends = gain * rotation(rng, width, inputs), gain * rotation(rng, outputs, width)
    return ends[0], np.array(middle).reshape(depth - 2, width, width), ends[1]


@pytest.mark.parametrize(
    ("sizes", "depth", "gain"),
    [((4, 7, 2), 2, 1.0), ((4, 7, 2), 5, 1.1), ((6, 6, 1), 3, 0.9), ((8, 5, 3), 4, 1.0), ((3, 3, 3), 6, 1.0)],
)
def test_orthogonal_networks_of_any_shape_reduce_to_three_matrices(sizes, depth, gain):
    rng, times = np.random.default_rng(depth), np.linspace(0, 8, 30)
    first, middle, last = orthogonal(rng, sizes, depth, gain)
    target = rng.normal(size=(sizes[2], sizes[0]))
    expected = gradient_flow([first, *middle, last], target, times)
    np.testing.assert_allclose(orthogonal_loss(first, middle, last, target, times), expected, atol=1e-7)


def test_the_reduction_of_square_networks_is_that_of_straight_lines():
    rng, times = np.random.default_rng(3), np.linspace(0, 20, 40)
    first, middle, last = orthogonal(rng, (4, 4, 4), 11, 1.0)
    target = 2 * rotation(rng, 4, 4)
    eigenvalues = np.linalg.eigvals(target.T @ last @ chain(middle, 4) @ first / 2)
    expected = np.mean(np.abs(1 - straight_lines(11, 2.0, eigenvalues, times) / 2) ** 2, axis=-1)
    np.testing.assert_allclose(orthogonal_loss(first, middle, last, target, times), expected, atol=1e-7)


def test_real_lines_are_chains():
    strengths, times = np.array([2.0, 2.5, 3.0]), np.linspace(0, 12, 30)
    for depth, gain in ((2, 0.75), (8, 0.75), (8, 1.0)):
        modes = fs.theory.chain(depth, strengths, np.full(3, gain**depth), timescale=depth)
        lines = straight_lines(depth, strengths, np.full(3, gain**depth), times)
        np.testing.assert_allclose(lines, modes(times)["product"], atol=1e-8)


def test_the_training_time_of_orthogonal_networks_has_a_limit():
    """From depth 64 to 1024 it changes by less than a hundredth."""
    rng, times = np.random.default_rng(1), np.linspace(0, 3, 300)
    first, _, last = orthogonal(rng, (8, 10, 3), 2, 1.0)
    target = rotation(rng, 3, 8) * np.array([[2.0], [2.5], [3.0]])

    def trained(depth):
        middle = np.broadcast_to(np.eye(10), (depth - 2, 10, 10))
        return np.interp(-0.01, -orthogonal_loss(first, middle, last, target, times), times)

    assert trained(1024) == pytest.approx(trained(64), rel=0.01)


@pytest.mark.parametrize(("gain", "level"), [(0.2, 1e-6), (0.75, 1e-3), (0.95, 1e-2)])
def test_an_encoder_of_one_singular_value_takes_the_time_of_a_sigmoid(gain, level):
    end = 1 - np.sqrt(level)
    expected = max(0.0, np.log(end / (1 - end) * (1 - gain**2) / gain**2) / 2)
    encoder = gain * rotation(np.random.default_rng(0), 6, 4)
    assert encoder_duration(encoder, level) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("size", "level"), [(0.1, 0.25), (0.9**0.5, 0.005), (0.9**0.5, 0.02)])
def test_an_encoder_of_equal_modes_learns_along_a_sigmoid(size, level):
    """(1 − g)² is the level when g = 1 − √level; no time passes where it is below from the start."""
    left = level**0.5
    expected = 0.5 * np.log((1 / size**2 - 1) * (1 - left) / left)
    assert encoder_duration(size * np.eye(3, 4), level) == pytest.approx(max(expected, 0.0), abs=1e-10)


def test_time_zero_alone_has_an_answer():
    """The start, and the loss there: an integration over no time hands out lists."""
    starts = np.array([0.1 + 0.3j, 0.2])
    np.testing.assert_allclose(straight_lines(3, np.ones(2), starts, np.zeros(1)), [starts], rtol=1e-14)
    first, last, target = np.eye(3, 2), np.eye(2, 3), np.array([[1.0, 0.5], [0.0, 2.0]])
    loss = orthogonal_loss(first, np.eye(3)[None], last, target, np.zeros(1))
    np.testing.assert_allclose(loss, np.sum((target - np.eye(2)) ** 2) / np.sum(target**2))
