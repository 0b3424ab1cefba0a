"""Neighbourhoods of items and the features they own."""

import numpy as np

from festina.worlds.neighbourhoods import owned_features, steps_in_tree, steps_on_grid, steps_on_ring


def test_steps_apart():
    assert steps_in_tree((2, 3))[0].tolist() == [0, 1, 1, 2, 2, 2]
    assert steps_in_tree((2, 2))[0].tolist() == [0, 1, 2, 2]
    assert steps_on_ring(5)[0].tolist() == [0, 1, 2, 2, 1]
    assert steps_on_grid(2, 3)[0].tolist() == [0, 1, 2, 1, 2, 3]


def test_owned_features_of_a_tree_have_its_levels():
    owned, shells = owned_features(steps_in_tree((2, 2, 2)), 15)
    assert owned.targets.shape == (8, 15)
    shares = [8 / 2**level for level in range(4)]
    expected = [np.sqrt(sum(shares[level:])) / 8 for level in (0, 1, 2, 2, 3, 3, 3, 3)]
    measured = np.linalg.svd(owned.moments.cross, compute_uv=False)
    np.testing.assert_allclose(measured, expected, atol=1e-12)
    np.testing.assert_allclose(shells.sum(axis=(1, 2)), 1.0)
    np.testing.assert_allclose(np.einsum("rfi,if->r", shells, owned.targets), 0.0)
