"""The silent share on curves made by hand."""

import numpy as np
import pytest

from festina.errors import ArgumentError
from festina.measures.alignment import at_fall, silent_share

LOSS = np.array([2.0, 2.0, 1.9, 1.7, 1.0, 0.0])  # falls to 1.8, a tenth below its start, between the third and fourth


def test_all_before_none_before_and_half():
    before = np.array([0.1, 0.5, 0.8, 0.8, 0.8, 0.8])
    after = np.array([0.1, 0.1, 0.1, 0.1, 0.5, 0.8])
    between = np.array([0.1, 0.1, 0.2, 0.4, 0.5, 0.5])  # 0.3 when the loss is 1.8
    np.testing.assert_allclose(silent_share(LOSS, before), 1.0)
    np.testing.assert_allclose(silent_share(LOSS, after), 0.0)
    np.testing.assert_allclose(silent_share(LOSS, between), 0.5)
    np.testing.assert_allclose(silent_share(LOSS, -between), 0.5)
    np.testing.assert_allclose(silent_share(LOSS, between, fallen=0.5), 1.0)


def test_batches_and_what_cannot_be_said():
    rising = np.linspace(0.0, 1.0, 6)
    loss = np.stack([LOSS, np.full(6, 2.0), LOSS])
    alignment = np.stack([rising, rising, np.full(6, 0.3)])
    shares = silent_share(loss, alignment)
    np.testing.assert_allclose(shares, [0.5, np.nan, np.nan])
    np.testing.assert_allclose(at_fall(loss[None], alignment[None])[0, [0, 2]], [0.5, 0.3])


def test_a_loss_that_rises_first_counts_from_its_start():
    loss = np.array([1.0, 1.4, 1.2, 0.6, 0.1])
    np.testing.assert_allclose(at_fall(loss, np.arange(5.0)), 2.5)


def test_gradient_flow_of_one_error():
    """L ∝ e^(−2t), A ∝ 1 − e^(−t): the share is 1 − √0.9; A ∝ (1 − e^(−t))²: its square."""
    time = np.linspace(0, 30, 30001)
    loss, learned = np.exp(-2 * time), 1 - np.exp(-time)
    np.testing.assert_allclose(silent_share(loss, 0.3 + 0.2 * learned), 1 - 0.9**0.5, rtol=1e-5)
    np.testing.assert_allclose(silent_share(loss, learned**2), (1 - 0.9**0.5) ** 2, rtol=1e-4)


def test_refusals():
    with pytest.raises(ArgumentError, match="`fallen` must lie"):
        silent_share(LOSS, LOSS, fallen=1.0)
    with pytest.raises(ArgumentError, match="`alignment` must have the shape"):
        silent_share(np.stack([LOSS, LOSS]), np.stack([LOSS]))
