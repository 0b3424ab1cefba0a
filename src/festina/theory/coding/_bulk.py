"""The bulk of a sparse code: how far its density of readouts reaches in each direction, and the grid that holds it.

For rectified units log p(a) falls as −|a|²(1 − h(u))/2s in the direction u = a/|a|, with

    h(u) = s Σ_c n_c (u·t_c)₊².

Where h(u) comes near 1 there is a tail. Far out it is smaller than the bulk by a factor 2^{−n}, n the number of
examples for which a neuron with such readouts is silent. Where n is `SILENT` or more, the tail is no part of the bulk:
what it has to do, outliers do. In all other directions bulk and tail are one, and the grid reaches as far as the tail.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from festina._lazy import optimize
from festina.theory.coding.dual import LARGEST_GRID, LONGEST, SPACING, Neurons, Task, neurons

BULK = 10.0  # half-width of the grid for the bulk, in units of √s; that of a tail is larger by 1/√(1 − h)
DIRECTIONS = 720
SILENT = 7  # examples an outlier must be silent for: 2^{−7} is less than a hundredth

Residual = Float[np.ndarray, "classes rank"]
Directions = Float[np.ndarray, "directions rank"]


def heights(task: Task, residual: Residual, directions: Directions) -> Float[np.ndarray, " directions"]:
    """h(u) of each direction."""
    return task.readout_variance * np.maximum(directions @ residual.T, 0.0) ** 2 @ task.counts


def silent(task: Task, residual: Residual, directions: Directions) -> Float[np.ndarray, " directions"]:
    """How many examples a neuron with readouts in each of these directions is silent for."""
    return (directions @ residual.T <= 0) @ task.counts


def peaks(task: Task, residual: Residual) -> list[tuple[float, Float[np.ndarray, " rank"]]]:
    """All maxima of h over directions u, the highest first."""

    def sorted_peaks(directions: np.ndarray) -> list[tuple[float, np.ndarray]]:
        height = heights(task, residual, directions).tolist()
        return sorted(zip(height, directions, strict=True), key=lambda peak: -peak[0])

    around = _around(residual.shape[1])
    if residual.shape[1] == 1:
        return sorted_peaks(around)
    step = 2.0 * np.pi / DIRECTIONS
    height = heights(task, residual, around)
    tops = step * np.flatnonzero((height > np.roll(height, 1)) & (height >= np.roll(height, -1)))

    def lowered(angle: float) -> float:
        return -float(heights(task, residual, _turned(angle)[None])[0])

    def top_near(angle: float) -> float:
        limits = (angle - step, angle + step)
        found: Any = optimize.minimize_scalar(lowered, bounds=limits, method="bounded", options={"xatol": 1e-10})
        return float(found.x)

    return sorted_peaks(_turned(np.array([top_near(top) for top in tops])))


def certificate(task: Task, residual: Residual) -> tuple[float, Float[np.ndarray, " rank"]]:
    """max_u h(u), and the direction u of the maximum."""
    return peaks(task, residual)[0]


def tail(task: Task, residual: Residual) -> float:
    """The largest h in directions in which the tail is a part of the bulk; 0 where there are none."""
    directions = _around(residual.shape[1])
    own = silent(task, residual, directions) < SILENT
    return float(np.max(heights(task, residual, directions)[own], initial=0.0))


def widest(rank: int) -> float:
    """The largest h of a tail that is a part of the bulk, such that the largest grid holds it."""
    points = min(LONGEST, LARGEST_GRID ** (1.0 / rank)) - 2.0
    return 1.0 - (2.0 * BULK / (SPACING * points)) ** 2


def holds(task: Task, residual: Residual) -> bool:
    """Whether the largest grid holds the bulk, with the tails that are a part of it."""
    return tail(task, residual) <= widest(residual.shape[1])


def bulk_builder(task: Task) -> Callable[[np.ndarray], Neurons]:
    """The bulk at a residual, on a grid around its maximum, which is sought upwards from a = 0."""

    def build(residual: np.ndarray) -> Neurons:
        centre = np.zeros(residual.shape[1])
        for _ in range(100):
            site = task.unit.site(residual @ centre)
            pull = task.readout_variance * (task.counts * site.mean) @ residual - centre
            slope = task.readout_variance * (residual.T * (task.counts * site.variance)[None]) @ residual
            step = np.linalg.solve(np.eye(len(centre)) - slope, pull)
            centre = centre + step
            if float(np.abs(step).max()) < 1e-9:
                break
        low, high = _extent(task, residual)
        return neurons(task, residual, box=(centre + low, centre + high))

    return build


def _extent(task: Task, residual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How far the bulk reaches below and above its maximum along each axis."""
    directions = _around(residual.shape[1])
    own = silent(task, residual, directions) < SILENT
    height = np.minimum(heights(task, residual, directions), widest(residual.shape[1]))
    reach = BULK * np.sqrt(task.readout_variance) * np.where(own, 1.0 / np.sqrt(1.0 - height), 1.0)
    ends = reach[:, None] * directions
    return ends.min(axis=0), ends.max(axis=0)


def _around(rank: int) -> Directions:
    """Directions on all sides."""
    if rank == 1:
        return np.array([[1.0], [-1.0]])
    return _turned(np.arange(DIRECTIONS) * 2.0 * np.pi / DIRECTIONS)


def _turned(angle: Any) -> Float[np.ndarray, "... 2"]:
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)
