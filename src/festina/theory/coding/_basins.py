"""Which maximum of a density on a grid each point belongs to."""

from itertools import product

import numpy as np
from jaxtyping import Float, Int


def basins(
    heights: Float[np.ndarray, " points"], shape: tuple[int, ...]
) -> tuple[Int[np.ndarray, " points"], Int[np.ndarray, " maxima"]]:
    """The number of the maximum that steepest ascent on the grid leads to from each point, and where the maxima are."""
    height = heights.reshape(shape)
    index = np.arange(height.size).reshape(shape)
    best, target = height.copy(), index.copy()
    padded, padded_index = np.pad(height, 1, constant_values=-np.inf), np.pad(index, 1)
    for shift in product((0, 1, 2), repeat=height.ndim):
        window = tuple(slice(step, step + size) for step, size in zip(shift, shape, strict=True))
        higher = padded[window] > best
        best = np.where(higher, padded[window], best)
        target = np.where(higher, padded_index[window], target)
    leads = target.reshape(-1)
    while not np.array_equal(leads, leads[leads]):
        leads = leads[leads]
    tops, number = np.unique(leads, return_inverse=True)
    return number, tops


def occupied(
    centres: Float[np.ndarray, "cells rank"],
    points: Float[np.ndarray, "points rank"],
    heights: Float[np.ndarray, " points"],
    shape: tuple[int, ...],
) -> Int[np.ndarray, " points"]:
    """The cell of each point: that of the nearest centre in the same basin, or −1 where a basin has no centre."""
    number, _ = basins(heights, shape)
    distances = np.sum(centres**2, axis=1)[None] - 2.0 * points @ centres.T + np.sum(points**2, axis=1)[:, None]
    home = number[np.argmin(distances, axis=0)]
    distances = np.where(number[:, None] == home[None], distances, np.inf)
    return np.where(np.isfinite(distances).any(axis=1), np.argmin(distances, axis=1), -1)
