"""Exclusive-or, and exclusive-or with a margin: the smallest worlds that a linear network cannot, or need not, learn.

The four corners z = (±1, ±1) ask for y = z₁z₂. A third input Δ·y separates the two classes by a margin; the task is
then linear for every Δ > 0, and exclusive-or again at Δ = 0. A gated network learns them once it is told which pathway
is on for which example; the functions `by_…` are such gatings.

Source: A. M. Saxe, S. Sodhani, S. Lewallen, "The neural race reduction: dynamics of abstraction in gated networks"
(2022), and Saxe's lecture.
"""

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from festina.errors import require
from festina.precision import is_traced
from festina.worlds.gated import GatedDataset
from festina.worlds.world import Dataset

CORNERS = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
ANSWERS = CORNERS.prod(axis=1)


def xor() -> Dataset:
    """Exclusive-or: x = (z₁, z₂), y = z₁z₂, the two examples with y = 1 first.

    Returns:
        A `Dataset` of four examples; no linear network explains anything of it.

    Example:
        >>> world = fs.worlds.xor()
        >>> world.targets[:, 0].tolist(), world.moments.cross.tolist()
        ([1.0, 1.0, -1.0, -1.0], [[0.0, 0.0]])
    """
    return Dataset(CORNERS, ANSWERS[:, None])


def margin(separation: Any) -> Dataset:
    """Exclusive-or with a margin: x = (z₁, z₂, Δ·y), y = z₁z₂.

    Args:
        separation: Δ ≥ 0, half the distance between the classes; may be traced.

    Returns:
        A `Dataset` of four examples with three inputs.

    Example:
        >>> fs.worlds.margin(0.5).moments.cross.tolist()  # ⟨y xᵀ⟩ sees the third input alone
        [[0.0, 0.0, 0.5]]
    """
    if not is_traced(separation):
        require(float(separation) >= 0, "separation", "be zero or positive", separation)
    stack = jnp if is_traced(separation) else np
    return Dataset(stack.concatenate([CORNERS, separation * ANSWERS[:, None]], axis=1), ANSWERS[:, None])


def by_example(world: Dataset) -> GatedDataset:
    """One pathway for each example, `example1`, `example2`, …, on for that example alone.

    Example:
        >>> gates = fs.worlds.logic.by_example(fs.worlds.xor()).gates
        >>> sorted(gates), gates["example2"].tolist()
        (['example1', 'example2', 'example3', 'example4'], [0.0, 1.0, 0.0, 0.0])
    """
    return gated(world, {f"example{number + 1}": row for number, row in enumerate(np.eye(len(world.inputs)))})


def by_class(world: Dataset) -> GatedDataset:
    """One pathway for each sign of the answer, `positive` and `negative`: with a margin these are half-spaces.

    Args:
        world: a data set with one target.

    Example:
        >>> fs.worlds.logic.by_class(fs.worlds.margin(1.0)).gates["positive"].tolist()
        [1.0, 1.0, 0.0, 0.0]
    """
    require(world.targets.shape[1] == 1, "world", "have one target", world.targets.shape)
    positive = (world.targets[:, 0] > 0).astype(float)
    return gated(world, {"positive": positive, "negative": 1.0 - positive})


def by_half_plane(world: Dataset) -> GatedDataset:
    """One pathway for each side of z₁ = 0, `right` and `left`.

    Example:
        >>> fs.worlds.logic.by_half_plane(fs.worlds.xor()).gates["right"].tolist()
        [1.0, 0.0, 1.0, 0.0]
    """
    right = (world.inputs[:, 0] > 0).astype(float)
    return gated(world, {"right": right, "left": 1.0 - right})


def always_on(world: Dataset) -> GatedDataset:
    """A single pathway `linear` that is on for every example.

    Example:
        >>> fs.worlds.logic.always_on(fs.worlds.xor()).gates["linear"].tolist()
        [1.0, 1.0, 1.0, 1.0]
    """
    return gated(world, {"linear": np.ones(len(world.inputs))})


def gated(world: Dataset, gates: Mapping[str, Any]) -> GatedDataset:
    """Any gating: the examples for an input node `x` and an output node `y`, and the gates of the pathways between.

    Args:
        world: the examples.
        gates: by name of a pathway, one number for each example.

    Returns:
        A `GatedDataset`, as `fs.networks.Gated.of_maps` with the same names learns it.

    Example:
        >>> world = fs.worlds.logic.gated(fs.worlds.xor(), {"even": [1, 1, 0, 0], "all": [1, 1, 1, 1]})
        >>> sorted(world.inputs), sorted(world.targets), sorted(world.gates)
        (['x'], ['y'], ['all', 'even'])
    """
    return GatedDataset({"x": world.inputs}, {"y": world.targets}, dict(gates))
