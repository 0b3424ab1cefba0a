"""Layouts of representations: what they must keep, and what they must not depend on."""

import warnings

import numpy as np
import pytest

from festina.measures.embedding import classical_scaling, distances, planar_paths, stress


@pytest.fixture
def random():
    return np.random.default_rng(0)


def gram(points):
    return points @ points.T


def tree_gram(*strengths):
    """Representations at the leaves of a tree of three splits, with a given strength for each."""
    levels = [np.kron(np.eye(2**k), np.ones((8 // 2**k, 8 // 2**k))) for k in range(1, 4)]
    return sum(strength * level for strength, level in zip(strengths, levels, strict=True))


def test_distances_are_those_of_the_points(random):
    points = random.normal(size=(6, 4))
    direct = np.linalg.norm(points[:, None] - points[None], axis=-1)
    np.testing.assert_allclose(distances(gram(points)), direct, atol=1e-7)


@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_planar_points_are_recovered(random, shift):
    points = random.normal(size=(7, 2)) + shift
    target = distances(gram(points))
    np.testing.assert_allclose(distances(gram(classical_scaling(gram(points)))), target, atol=1e-6)
    paths = planar_paths(np.stack([gram(0.3 * points), gram(points)]))
    np.testing.assert_allclose(distances(gram(paths[1])), target, atol=1e-5)
    np.testing.assert_allclose(paths[0], 0.3 * paths[1], atol=1e-6)


def test_a_rotation_of_the_units_changes_nothing(random):
    points = random.normal(size=(3, 8, 5))
    turn = np.linalg.qr(random.normal(size=(5, 5)))[0]
    plain, turned = (np.einsum("tik,tjk->tij", x, x) for x in (points, points @ turn))
    np.testing.assert_allclose(planar_paths(turned), planar_paths(plain), atol=1e-6)
    np.testing.assert_allclose(classical_scaling(turned[0]), classical_scaling(plain[0]), atol=1e-8)


def test_axes_keep_their_place_over_time():
    strengths = np.linspace(0.1, 1.0, 30)
    paths = planar_paths(np.stack([tree_gram(s, s, s) for s in strengths]))
    np.testing.assert_allclose(paths, paths[-1] * strengths[:, None, None] ** 0.5, atol=1e-8)


def test_every_split_of_a_hierarchy_shows_in_its_turn():
    stages = np.stack([tree_gram(*strengths) for strengths in ((0, 0, 0), (4, 0, 0), (4, 2, 0), (4, 2, 1))])
    paths = planar_paths(stages)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(planar_paths(stages), paths)
    places = [len(np.unique(np.round(path, 6), axis=0)) for path in paths]
    assert places == [1, 2, 4, 8]
    assert stress(paths[-1], distances(stages[-1])) < 0.25


def test_missing_dimensions_are_zero():
    layout = classical_scaling(gram(np.array([[1.0], [-1.0]])), dimensions=4)
    assert layout.shape == (2, 4)
    np.testing.assert_allclose(np.abs(layout[:, 0]), 1.0)
    np.testing.assert_allclose(layout[:, 1:], 0.0, atol=1e-12)
