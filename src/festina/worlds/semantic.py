"""Semantic worlds: items with many features, whose correlations come from a structure.

P items are shown one at a time (x is the item's indicator, so Σxx = I/P); the N features of an item are its
target. In the limit of many features the covariance of the items is that of a generative model (a tree, a
partition into classes, a ring, a grid) whose eigenvectors are known and do not depend on its parameters. The
input-output correlation Σyx = Y/P then has singular values s_k = √(N μ_k)/P for eigenvalues μ_k. Without a
key the features realise the limit exactly; with a key they are drawn from the model.

Source: Saxe, McClelland & Ganguli 2019, "A mathematical theory of semantic development in deep neural
networks".
"""

import itertools
from math import prod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from festina.arrays import real, xp
from festina.errors import require
from festina.precision import is_traced, precise
from festina.worlds.data import Moments, Samples
from festina.worlds.world import Dataset


class SemanticWorld(eqx.Module):
    """Items and features with a known structure; its levels are the distinct eigenvalues of the structure.

    Args:
        dataset: one item a row, its indicator as input and its features as targets.
        eigenvalues: μ of each level.
        projectors: ``projectors[l]`` projects item space on the eigenspace of level l.
        multiplicities: the dimension of that eigenspace.
        level_names: what each level is called.

    Example:
        >>> world = fs.worlds.tree(branching=(2, 2), flip=0.1, features=100)
        >>> world.items, world.features, world.level_names, world.multiplicities
        (4, 100, ('root', 'split 1', 'split 2'), (1, 1, 2))
        >>> world.strengths.round(3).tolist()  # learned in this order
        [3.92, 2.265, 1.5]
    """

    dataset: Dataset
    eigenvalues: Float[Any, " levels"]
    projectors: Float[Any, "levels items items"]
    multiplicities: tuple[int, ...] = eqx.field(static=True)
    level_names: tuple[str, ...] = eqx.field(static=True)

    @property
    def items(self) -> int:
        return self.dataset.inputs.shape[-1]

    @property
    def features(self) -> int:
        return self.dataset.targets.shape[-1]

    @property
    def strengths(self) -> Float[Any, " levels"]:
        """Singular values s_l = √(N μ_l)/P of Σyx in the limit of many features."""
        return (self.features * self.eigenvalues) ** 0.5 / self.items

    @property
    def input_variance(self) -> float:
        """Σxx = I/P."""
        return 1.0 / self.items

    @property
    def samples(self) -> Samples:
        return self.dataset.samples

    @property
    def moments(self) -> Moments:
        return self.dataset.moments

    def draw(self, key: Array, batch: int) -> Samples:
        return self.dataset.draw(key, batch)


@precise
def tree(
    branching: tuple[int, ...] = (2, 2, 2), flip: Any = 0.1, features: int = 1000, key: Array | None = None
) -> SemanticWorld:
    """Items at the leaves of a tree; a feature is ±1 at the root and flips with probability ε on each edge.

    Two items whose last common ancestor is at level l correlate with q_l = (1−2ε)^{2(L−l)}; with M_l nodes at
    level l, μ_l = P Σ_{k≥l} (q_k − q_{k−1})/M_k, q_{−1} = 0, with multiplicity M_l − M_{l−1} (1 at the root).

    Args:
        branching: branches at each level, from the root down.
        flip: ε, between 0 and ½; may be traced.
        features: N, how many; at least as many as items, unless they are drawn.
        key: to draw the features from the model; unless given, they have exactly its covariance.

    Returns:
        A `SemanticWorld` with the levels `root`, `split 1`, ….

    Example:
        >>> world = fs.worlds.tree(branching=(2, 3), flip=0.1)
        >>> world.items, world.multiplicities
        (6, (1, 1, 4))
        >>> covariance = world.dataset.targets @ world.dataset.targets.T / world.features
        >>> covariance[0].round(3).tolist()  # q of the item itself, of its siblings, of all others
        [1.0, 0.64, 0.64, 0.41, 0.41, 0.41]
    """
    require(
        len(branching) >= 1 and min(branching) >= 2,
        "branching",
        "have levels of at least 2 branches",
        branching,
    )
    if not is_traced(flip):
        require(0.0 < float(flip) < 0.5, "flip", "lie between 0 and 0.5", flip)
    depth = len(branching)
    items = prod(branching)
    nodes = [prod(branching[:level]) for level in range(depth + 1)]
    similarity = [(1.0 - 2.0 * flip) ** (2 * (depth - level)) for level in range(depth + 1)]
    gains = [similarity[0], *(similarity[k] - similarity[k - 1] for k in range(1, depth + 1))]
    eigenvalues = xp.stack(
        [xp.asarray(items * sum(gains[k] / nodes[k] for k in range(level, depth + 1))) for level in range(depth + 1)]
    )
    averages = [np.kron(np.eye(m), np.full((items // m, items // m), m / items)) for m in nodes]
    projectors = np.stack([averages[0], *(b - a for a, b in itertools.pairwise(averages))])
    drawn = None if key is None else _tree_features(key, branching, flip, features)
    names = ("root", *(f"split {level}" for level in range(1, depth + 1)))
    return _world(eigenvalues, projectors, features, names, drawn)


@precise
def partition(
    classes: int = 4, members: int = 4, correlation: Any = 0.5, features: int = 1000, key: Array | None = None
) -> SemanticWorld:
    """Classes of n members; members of a class correlate with r, others do not: μ = 1+(n−1)r and 1−r.

    Args:
        classes: how many, at least 2.
        members: n of each class, at least 2.
        correlation: r, between 0 and 1; may be traced.
        features: N, how many; at least as many as items, unless they are drawn.
        key: to draw the features from the model; unless given, they have exactly its covariance.

    Returns:
        A `SemanticWorld` with the levels `classes` and `members`.

    Example:
        >>> world = fs.worlds.partition(classes=3, members=4, correlation=0.5)
        >>> world.eigenvalues.tolist(), world.multiplicities
        ([2.5, 0.5], (3, 9))
    """
    require(classes >= 2, "classes", "be at least 2", classes)
    require(members >= 2, "members", "be at least 2", members)
    if not is_traced(correlation):
        require(0.0 < float(correlation) < 1.0, "correlation", "lie between 0 and 1", correlation)
    eigenvalues = xp.stack([xp.asarray(1.0 + (members - 1) * correlation), xp.asarray(1.0 - correlation)])
    average = np.kron(np.eye(classes), np.full((members, members), 1.0 / members))
    projectors = np.stack([average, np.eye(classes * members) - average])
    return _gaussian_world(eigenvalues, projectors, features, ("classes", "members"), key)


@precise
def ring(items: int = 16, length: Any = 1.0, features: int = 1000, key: Array | None = None) -> SemanticWorld:
    """Items on a ring with precision Laplacian + I/σ²: μ_k = 1/(σ⁻² + 2 − 2cos(2πk/P)).

    Args:
        items: P, at least 3.
        length: σ, over which items are alike; may be traced.
        features: N, how many; at least as many as items, unless they are drawn.
        key: to draw the features from the model; unless given, they have exactly its covariance.

    Returns:
        A `SemanticWorld` with one level for each spatial frequency, `wave 0`, `wave 1`, …, the smoothest first.

    Example:
        >>> world = fs.worlds.ring(items=6, length=1.0)
        >>> world.eigenvalues.round(4).tolist(), world.multiplicities
        ([1.0, 0.5, 0.25, 0.2], (1, 2, 2, 1))
    """
    require(items >= 3, "items", "be at least 3", items)
    angles = 2.0 * np.pi * np.arange(items) / items
    waves = np.concatenate(
        [
            np.cos(np.outer(np.arange(items // 2 + 1), angles)),
            np.sin(np.outer(np.arange(1, (items - 1) // 2 + 1), angles)),
        ]
    )
    frequencies = np.concatenate([np.arange(items // 2 + 1), np.arange(1, (items - 1) // 2 + 1)])
    roughness = 2.0 - 2.0 * np.cos(2.0 * np.pi * frequencies / items)
    return _smooth_world(waves, roughness, length, features, key)


@precise
def grid(
    rows: int = 4, columns: int = 4, length: Any = 1.0, features: int = 1000, key: Array | None = None
) -> SemanticWorld:
    """Items on a rectangle with precision Laplacian + I/σ²: 1/(σ⁻² + 4 − 2cos(πi/a) − 2cos(πj/b)).

    Args:
        rows: a, at least 2.
        columns: b, at least 2.
        length: σ, over which items are alike; may be traced.
        features: N, how many; at least as many as items, unless they are drawn.
        key: to draw the features from the model; unless given, they have exactly its covariance.

    Returns:
        A `SemanticWorld` with one level for each roughness, `wave 0`, `wave 1`, …, the smoothest first.

    Example:
        >>> world = fs.worlds.grid(rows=2, columns=2)
        >>> world.eigenvalues.round(4).tolist(), world.multiplicities
        ([1.0, 0.3333, 0.2], (1, 2, 1))
    """
    require(rows >= 2, "rows", "be at least 2", rows)
    require(columns >= 2, "columns", "be at least 2", columns)

    def cosines(size: int) -> Float[np.ndarray, "size size"]:
        return np.cos(np.pi * np.outer(np.arange(size), np.arange(size) + 0.5) / size)

    waves = np.kron(cosines(rows), cosines(columns))
    down = 2.0 - 2.0 * np.cos(np.pi * np.arange(rows) / rows)
    across = 2.0 - 2.0 * np.cos(np.pi * np.arange(columns) / columns)
    return _smooth_world(waves, (down[:, None] + across[None, :]).ravel(), length, features, key)


def _smooth_world(
    waves: Float[np.ndarray, "items items"],
    roughness: Float[np.ndarray, " items"],
    length: Any,
    features: int,
    key: Array | None,
) -> SemanticWorld:
    """A world whose eigenvectors are waves, the rougher the weaker; equal roughness is one level."""
    if not is_traced(length):
        require(float(length) > 0.0, "length", "be positive", length)
    waves = waves / np.linalg.norm(waves, axis=1, keepdims=True)
    rising = np.sort(roughness)
    levels = np.array([equal.mean() for equal in np.split(rising, np.flatnonzero(np.diff(rising) > 1e-8) + 1)])
    members = [waves[np.abs(roughness - level) < 1e-8] for level in levels]
    projectors = np.stack([wave.T @ wave for wave in members])
    eigenvalues = 1.0 / (real(length) ** -2 + np.asarray(levels))
    names = tuple(f"wave {k}" for k in range(len(levels)))
    return _gaussian_world(eigenvalues, projectors, features, names, key)


def _gaussian_world(
    eigenvalues: Float[Any, " levels"],
    projectors: Float[np.ndarray, "levels items items"],
    features: int,
    names: tuple[str, ...],
    key: Array | None,
) -> SemanticWorld:
    drawn = None
    if key is not None:
        normal = jax.random.normal(key, (features, projectors.shape[-1]), eigenvalues.dtype)
        drawn = normal @ _root(eigenvalues, projectors)
    return _world(eigenvalues, projectors, features, names, drawn)


def _root(
    eigenvalues: Float[Any, " levels"], projectors: Float[np.ndarray, "levels items items"]
) -> Float[Any, "items items"]:
    """Σ^½ = Σ_l √μ_l Π_l."""
    return xp.einsum("l,lij->ij", xp.sqrt(eigenvalues), np.asarray(projectors, eigenvalues.dtype))


def _world(
    eigenvalues: Float[Any, " levels"],
    projectors: Float[np.ndarray, "levels items items"],
    features: int,
    names: tuple[str, ...],
    drawn: Float[Any, "features items"] | None,
) -> SemanticWorld:
    """Put a world together; features that were not drawn are made to have exactly the model's covariance."""
    items = projectors.shape[-1]
    require(features >= 1, "features", "be at least 1", features)
    if drawn is None:
        require(features >= items, "features", f"be at least the {items} items, unless a key draws them", features)
        spread = np.asarray(_orthonormal_columns(features, items), eigenvalues.dtype)
        shown = features**0.5 * spread @ _root(eigenvalues, projectors)
    else:
        shown = drawn
    dataset = Dataset(np.eye(items, dtype=shown.dtype), shown.T)
    sizes = tuple(round(np.trace(projector)) for projector in projectors)
    return SemanticWorld(dataset, eigenvalues, projectors, sizes, names)


def _orthonormal_columns(rows: int, columns: int) -> Float[np.ndarray, "rows columns"]:
    """The first cosine waves: orthonormal columns that use every row."""
    waves = np.cos(np.pi * np.outer(np.arange(rows) + 0.5, np.arange(columns)) / rows)
    return waves / np.linalg.norm(waves, axis=0)


def _tree_features(key: Array, branching: tuple[int, ...], flip: Any, features: int) -> Float[Array, "features items"]:
    """Features drawn by the branching process: ±1 at the root, a flip with probability ε on every edge."""
    values = jnp.where(jax.random.bernoulli(jax.random.fold_in(key, 0), 0.5, (features, 1)), 1.0, -1.0)
    for level, branches in enumerate(branching, start=1):
        values = jnp.repeat(values, branches, axis=1)
        flips = jax.random.bernoulli(jax.random.fold_in(key, level), flip, values.shape)
        values = jnp.where(flips, -values, values)
    return values
