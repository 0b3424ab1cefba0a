"""Neighbourhoods of items, and features that they own: 1 inside, 0 outside, so that an item can lack them."""

from math import prod
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from festina.worlds.world import Dataset

Steps = Int[np.ndarray, "items items"]


class OwnedFeatures(NamedTuple):
    """A world of features owned by neighbourhoods, and where to look for illusions in it.

    ``shells[r]`` averages the entries (feature, item) of radius r where the item is one step too far.
    """

    dataset: Dataset
    shells: Float[np.ndarray, "radii features items"]


def steps_in_tree(branching: tuple[int, ...]) -> Steps:
    """Levels up to the common ancestor of two leaves."""
    item, sizes = np.arange(prod(branching)), np.cumprod(branching[::-1])[:-1]
    return np.sum([np.not_equal.outer(item // size, item // size) for size in (1, *sizes)], axis=0)


def steps_on_ring(items: int) -> Steps:
    """Steps along a ring, the shorter way."""
    gap = np.abs(np.subtract.outer(np.arange(items), np.arange(items)))
    return np.minimum(gap, items - gap)


def steps_on_grid(rows: int, columns: int) -> Steps:
    """Steps along rows and columns."""
    down, across = np.divmod(np.arange(rows * columns), columns)
    return np.abs(np.subtract.outer(down, down)) + np.abs(np.subtract.outer(across, across))


def owned_features(apart: Steps, features: int) -> OwnedFeatures:
    """The neighbourhood of radius r around an item owns features that are 1 within r steps and 0 beyond.

    Args:
        apart: how many steps items are from each other.
        features: about how many there are; each neighbourhood owns one at least, and all of them equally many.
    """
    radii = range(apart.max() + 1)
    owners = [np.unique(np.hstack([apart <= radius, apart == radius + 1]), axis=0) for radius in radii]
    inside, outside = np.split(np.concatenate(owners).astype(float), 2, axis=1)
    radius_of = np.repeat(radii, [len(owner) for owner in owners])
    copies = max(1, features // len(inside))
    shells = np.stack([outside * (radius_of == radius)[:, None] for radius in radii[:-1]])
    shells = np.repeat(shells / shells.sum(axis=(1, 2), keepdims=True) / copies, copies, axis=1)
    return OwnedFeatures(Dataset(np.eye(len(apart)), np.repeat(inside, copies, axis=0).T), shells)
