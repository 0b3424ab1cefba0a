"""Semantic worlds: spectra against a singular value decomposition, drawn features against their limit."""

import jax
import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError

WORLDS = {
    "tree": lambda **more: fs.worlds.tree((2, 2, 2), flip=0.1, **more),
    "tree of odd branches": lambda **more: fs.worlds.tree((3, 2, 5), flip=0.23, **more),
    "partition": lambda **more: fs.worlds.partition(4, 3, correlation=0.5, **more),
    "partition of pairs": lambda **more: fs.worlds.partition(7, 2, correlation=0.05, **more),
    "ring": lambda **more: fs.worlds.ring(8, length=1.0, **more),
    "ring of odd size": lambda **more: fs.worlds.ring(7, length=2.5, **more),
    "grid": lambda **more: fs.worlds.grid(4, 4, length=1.0, **more),
    "grid of odd sides": lambda **more: fs.worlds.grid(3, 5, length=0.4, **more),
}


@pytest.fixture(params=WORLDS, ids=lambda name: name.replace(" ", "-"))
def build(request):
    return WORLDS[request.param]


def covariance(world):
    """The items' covariance over features, YYᵀ/N."""
    targets = np.asarray(world.dataset.targets)
    return targets @ targets.T / targets.shape[1]


def test_singular_values_are_the_closed_form(build):
    world = build(features=61)
    measured = np.linalg.svd(np.asarray(world.moments.cross), compute_uv=False)
    closed = np.sort(np.repeat(world.strengths, world.multiplicities))[::-1]
    np.testing.assert_allclose(measured, closed, rtol=0, atol=1e-10 * closed[0])


def test_projectors_are_the_eigenspaces(build):
    world = build(features=61)
    similar = covariance(world)
    for projector, value, size in zip(world.projectors, world.eigenvalues, world.multiplicities, strict=True):
        np.testing.assert_allclose(projector @ projector, projector, atol=1e-12)
        np.testing.assert_allclose(similar @ projector, value * projector, atol=1e-12 * world.eigenvalues[0] * 10)
        assert round(np.trace(projector)) == size
    np.testing.assert_allclose(np.sum(world.projectors, axis=0), np.eye(world.items), atol=1e-12)


def test_levels_run_from_broad_to_fine(build):
    assert np.all(np.diff(build(features=61).eigenvalues) < 0)


def test_inputs_are_white(build):
    world = build(features=61)
    np.testing.assert_allclose(np.asarray(world.moments.inputs), world.input_variance * np.eye(world.items))


def test_tree_covariance_is_the_similarity_of_the_common_ancestor():
    kept = (1 - 2 * 0.1) ** 2  # correlation lost on the way up and down one level
    similar = covariance(fs.worlds.tree((2, 2), flip=0.1, features=8))
    np.testing.assert_allclose(similar[0], [1, kept, kept**2, kept**2], atol=1e-12)


def test_ring_and_grid_invert_their_laplacian():
    ring = covariance(fs.worlds.ring(5, length=0.8, features=9))
    steps = np.eye(5)[[1, 2, 3, 4, 0]]
    np.testing.assert_allclose(np.linalg.inv(ring), (2 + 0.8**-2) * np.eye(5) - steps - steps.T, atol=1e-10)
    grid = covariance(fs.worlds.grid(2, 3, length=0.8, features=9))
    edges = np.array([(0, 1), (1, 2), (3, 4), (4, 5), (0, 3), (1, 4), (2, 5)])
    laplacian = np.zeros((6, 6))
    for a, b in edges:
        laplacian[[a, b], [a, b]] += 1
        laplacian[[a, b], [b, a]] -= 1
    np.testing.assert_allclose(np.linalg.inv(grid), laplacian + 0.8**-2 * np.eye(6), atol=1e-10)


@pytest.mark.full
@pytest.mark.parametrize("name", ["tree", "ring of odd size"])
def test_drawn_features_reach_the_limit_with_one_over_root_n(name):
    whiten = np.linalg.inv(np.linalg.cholesky(covariance(WORLDS[name](features=61))))

    def gap(count, seed):
        drawn = covariance(WORLDS[name](features=count, key=jax.random.key(seed)))
        return np.linalg.norm(whiten @ drawn @ whiten.T - np.eye(len(drawn)))

    few, many = (np.mean([gap(count, seed) for seed in range(6)]) for count in (200, 12_800))
    assert few / many == pytest.approx(64**0.5, rel=0.3)


def test_drawn_tree_features_are_signs():
    world = fs.worlds.tree((2, 2), features=50, key=jax.random.key(1))
    assert set(np.unique(world.dataset.targets)) == {-1.0, 1.0}


@pytest.mark.parametrize(
    ("build", "argument"),
    [
        (lambda: fs.worlds.tree(flip=0.0), "flip"),
        (lambda: fs.worlds.tree(flip=0.5), "flip"),
        (lambda: fs.worlds.tree(flip=-0.1), "flip"),
        (lambda: fs.worlds.tree(flip=float("nan")), "flip"),
        (lambda: fs.worlds.tree((2, 1)), "branching"),
        (lambda: fs.worlds.tree(()), "branching"),
        (lambda: fs.worlds.tree((2, 2, 2), features=7), "features"),
        (lambda: fs.worlds.ring(9, features=8), "features"),
        (lambda: fs.worlds.ring(2), "items"),
        (lambda: fs.worlds.ring(length=0.0), "length"),
        (lambda: fs.worlds.grid(1, 4), "rows"),
        (lambda: fs.worlds.grid(4, 1), "columns"),
        (lambda: fs.worlds.partition(1), "classes"),
        (lambda: fs.worlds.partition(members=1), "members"),
        (lambda: fs.worlds.partition(correlation=1.0), "correlation"),
        (lambda: fs.worlds.Dataset(np.eye(2), np.array([[0.0], [np.nan]])), "targets"),
        (lambda: fs.worlds.Dataset(np.array([[np.inf]]), np.zeros((1, 1))), "inputs"),
        (lambda: fs.worlds.Dataset(np.eye(3), np.zeros((2, 1))), "targets"),
    ],
)
def test_bad_arguments_are_named(build, argument):
    with pytest.raises(ArgumentError, match=f"Argument `{argument}` must"):
        build()


def test_drawn_features_may_be_fewer_than_items():
    assert fs.worlds.ring(9, features=3, key=jax.random.key(0)).features == 3
