"""The worlds of `linear/semantics`: structures of items, how far items are apart, and features that can be lacking."""

from math import prod
from typing import Any

import festina as fs
from festina._lazy import np


def build_world(config: Any) -> Any:
    """The world the configuration names, its features realising the limit of many features exactly."""
    match config.structure:
        case "tree":
            return fs.worlds.tree(config.branching, config.flip, config.features)
        case "partition":
            return fs.worlds.partition(config.classes, config.members, config.correlation, config.features)
        case "ring":
            return fs.worlds.ring(config.items, config.length, config.features)
        case _:
            return fs.worlds.grid(config.rows, config.columns, config.length, config.features)


def steps_apart(config: Any) -> Any:
    """How far items are from each other: levels up to the common ancestor, or steps along the ring or grid."""
    if config.structure == "ring":
        gap = np.abs(np.subtract.outer(np.arange(config.items), np.arange(config.items)))
        return np.minimum(gap, config.items - gap)
    if config.structure == "grid":
        down, across = np.divmod(np.arange(config.rows * config.columns), config.columns)
        return sum(np.abs(np.subtract.outer(place, place)) for place in (down, across))
    branching = config.branching if config.structure == "tree" else (config.classes, config.members)
    item, sizes = np.arange(prod(branching)), np.cumprod(branching[::-1])[:-1]
    return np.sum([np.not_equal.outer(item // size, item // size) for size in (1, *sizes)], axis=0)


def owned_features(config: Any) -> tuple[Any, Any]:
    """A world of features owned by neighbourhoods, and where to look for illusions in it.

    The neighbourhood of radius r around an item owns features that are 1 within r steps and 0 beyond. ``shells[r]``
    averages the entries (feature, item) of that radius where the item is one step too far.
    """
    apart = steps_apart(config)
    radii = range(apart.max() + 1)
    owners = [np.unique(np.hstack([apart <= radius, apart == radius + 1]), axis=0) for radius in radii]
    inside, outside = np.split(np.concatenate(owners).astype(float), 2, axis=1)
    radius_of = np.repeat(radii, [len(owner) for owner in owners])
    copies = max(1, config.features // len(inside))
    shells = np.stack([outside * (radius_of == radius)[:, None] for radius in radii[:-1]])
    shells = np.repeat(shells / shells.sum(axis=(1, 2), keepdims=True) / copies, copies, axis=1)
    return fs.worlds.Dataset(np.eye(len(apart)), np.repeat(inside, copies, axis=0).T), shells
