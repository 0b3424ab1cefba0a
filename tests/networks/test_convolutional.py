"""The convolutional network, against convolutions and maxima written out."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.signal import correlate2d
from scipy.special import expit, log_softmax

from festina.errors import ArgumentError
from festina.networks import Convolutional
from festina.networks.convolutional import accuracy, cross_entropy, trained


@pytest.fixture
def images():
    return np.random.default_rng(0).integers(0, 256, (6, 8, 7), np.uint8)


def literal(network, image):
    """Features of one image, unit by unit."""
    seen = image / 127.5 - 1.0
    pooled = []
    for row in np.asarray(network.maps, float):
        convolved = correlate2d(seen, row[:-1].reshape(network.kernel, network.kernel), "valid") + row[-1]
        windows = np.lib.stride_tricks.sliding_window_view(convolved, (2, 2))
        pooled.append(np.maximum(windows.max(axis=(2, 3)), 0.0).ravel())
    wide, narrow = (np.asarray(layer, float) for layer in (network.wide, network.narrow))
    hidden = expit(wide[:, :-1] @ np.concatenate(pooled) + wide[:, -1])
    return np.maximum(narrow[:, :-1] @ hidden + narrow[:, -1], 0.0)


@pytest.mark.full
def test_features_are_those_of_the_layers_written_out(images):
    network = Convolutional.init(jax.random.key(1), 8, 7, classes=5, kernel=3, wide=20, narrow=9)
    features = np.asarray(network.features(images))
    np.testing.assert_allclose(features, [literal(network, image) for image in images], atol=1e-6)
    np.testing.assert_allclose(network.features_of_many(images), features, atol=1e-6)
    readout = np.asarray(network.readout)
    np.testing.assert_allclose(network(images), features @ readout[:, :-1].T + readout[:, -1], atol=1e-6)
    with pytest.raises(ArgumentError, match="exceed 8"):
        Convolutional.init(jax.random.key(1), 8, 8, kernel=8)


def test_cross_entropy_and_accuracy():
    scores = np.random.default_rng(0).normal(size=(7, 4))
    labels = np.array([0, 3, 2, 2, 1, 0, 3], np.int32)
    np.testing.assert_allclose(cross_entropy(scores, labels), -log_softmax(scores, axis=1)[range(7), labels].mean())
    assert accuracy(jnp.asarray(scores), labels) == np.mean(scores.argmax(axis=1) == labels)


@pytest.mark.full
def test_training_learns_where_the_light_is():
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, 200).astype(np.int32)
    pictures = random.integers(0, 100, (200, 6, 6), np.uint8)
    pictures[np.arange(200), :, 3 * labels] += 120
    network = Convolutional.init(jax.random.key(0), 6, 6, classes=2, wide=30, narrow=10)
    learn = jax.jit(
        lambda network: trained(network, jax.random.key(1), pictures, labels, steps=100, batch=50, rate=5e-3)
    )
    learned = learn(network)
    assert accuracy(learned(pictures), labels) > 0.95
    assert cross_entropy(learned(pictures), labels) < 0.5 * cross_entropy(network(pictures), labels)
