"""Networks drawn from the theory: their numbers of codes, and what they do to the training inputs."""

import jax
import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.theory.coding import Even, planted

TARGETS = np.array([[1.0], [-1.0], [0.0]])
COUNTS = [10, 6, 4]


@pytest.fixture(scope="module")
def redundant():
    return fs.theory.coding.redundant(COUNTS, TARGETS, 0.1, readout_variance=0.2)


def test_every_code_has_its_predicted_number_of_neurons_up_to_rounding(redundant):
    codes = redundant.codes
    readouts, preactivations = Even(redundant).draw_neurons(jax.random.key(0), 90)
    assert readouts.shape == (90, 1) and preactivations.shape == (90, 20)
    nearest = np.argmin(np.abs(readouts - codes.readouts[:, 0]), axis=1)
    numbers = np.bincount(nearest, minlength=len(codes.weights))
    assert len(codes.weights) > 1 and np.abs(numbers - 90 * codes.weights).max() <= 1.0
    drawn, _ = redundant.draw_neurons(jax.random.key(0), 4 * 90)
    assert set(readouts[:, 0]) <= set(drawn[:, 0]) and len(set(readouts[:, 0])) == 90


class Fixed:
    """A prediction whose neurons are known."""

    def __init__(self, readouts, preactivations):
        self.neurons = readouts, preactivations

    def draw_neurons(self, key, count):
        return tuple(part[:count] for part in self.neurons)


def test_weights_give_the_preactivations_and_are_from_the_prior_in_all_other_directions():
    random = np.random.default_rng(0)
    inputs, readouts, fields = random.normal(size=(3, 8)), random.normal(size=(500, 2)), random.normal(size=(500, 3))
    (weights,), out = planted(jax.random.key(1), Fixed(readouts, fields), inputs, 500, readout_variance=4.0)
    np.testing.assert_allclose(weights @ inputs.T, fields, atol=1e-12)
    np.testing.assert_allclose(out, readouts.T / 2.0, atol=1e-15)
    elsewhere = np.linalg.svd(inputs)[2][3:]  # directions that no input has
    np.testing.assert_allclose(np.cov(elsewhere @ weights.T), np.eye(5), atol=5 * (2 / 500) ** 0.5)


@pytest.mark.parametrize(
    ("inputs", "neurons", "message"),
    [
        (np.ones((2, 3)), 2, "`inputs` must be linearly independent"),
        (np.eye(3), 0, "`neurons` must be a whole number, at least 1, but is 0"),
        (np.eye(2), 2, "`inputs` must be those of 3 examples"),
    ],
)
def test_what_cannot_be_planted_is_refused(inputs, neurons, message):
    with pytest.raises(ArgumentError, match=message):
        planted(jax.random.key(0), Fixed(np.ones((2, 1)), np.ones((2, 3))), inputs, neurons, 1.0)
