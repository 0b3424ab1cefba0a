"""Worlds with contexts: one set of objects, whose features depend in part on the context they are met in.

The input names an object and a context, x = (e_object, κ e_context). The target has one block of features that hold in
every context, and one block for each context, which is zero in all other contexts. The last part is not linear in x:
a network needs units that are on in some contexts only.

A `Dataset`'s loss is the MEAN over its P samples of ½|y − f(x)|². A rate η on the sum, as in the source's published
code, is the rate η·P on the mean.

Source: D. Jarvis, R. Klein, B. Rosman, A. M. Saxe, "Make haste slowly: a theory of emergent structured mixed
selectivity in feature learning ReLU networks" (2025), and its published code.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Int

from festina.errors import require
from festina.precision import is_traced
from festina.worlds.data import Moments, Samples
from festina.worlds.world import Dataset

OBJECTS = 8
Features = Float[np.ndarray, "features objects"]


class ContextWorld(eqx.Module):
    """Objects in contexts; samples come context by context, and object by object within each.

    Args:
        dataset: inputs (e_object, κ e_context), targets in one block of features that hold everywhere and one block for
            each context.
        common: the features H of all contexts.
        structures: the features of each context alone.

    Example:
        >>> world = fs.worlds.multitask(contexts=3)
        >>> world.dataset.inputs.shape, world.dataset.targets.shape  # 3 × 8 samples; 8 + 3 inputs; 4 × 15 features
        ((24, 11), (24, 60))
        >>> world.objects[8:11].tolist(), world.contexts[8:11].tolist()
        ([0, 1, 2], [1, 1, 1])
    """

    dataset: Dataset
    common: Float[Any, "features objects"]
    structures: Float[Any, "contexts features objects"]

    @property
    def context_count(self) -> int:
        return self.structures.shape[0]

    @property
    def object_count(self) -> int:
        return self.structures.shape[-1]

    @property
    def objects(self) -> Int[np.ndarray, " n"]:
        """The object of every sample."""
        return np.tile(np.arange(self.object_count), self.context_count)

    @property
    def contexts(self) -> Int[np.ndarray, " n"]:
        """The context of every sample."""
        return np.repeat(np.arange(self.context_count), self.object_count)

    @property
    def strengths(self) -> Float[np.ndarray, " modes"]:
        """Singular values σ of the common features; the first mode is the one all objects share."""
        return np.linalg.svd(np.asarray(self.common), compute_uv=False)

    @property
    def samples(self) -> Samples:
        return self.dataset.samples

    @property
    def moments(self) -> Moments:
        return self.dataset.moments

    def draw(self, key: Array, batch: int) -> Samples:
        return self.dataset.draw(key, batch)


def multitask(contexts: int = 3, context_scale: Any = 1.0) -> ContextWorld:
    """Eight objects in C contexts, in each of which they have the same hierarchy, once more and in a block of its own.

    Args:
        contexts: how many.
        context_scale: κ, the size of the context's part of the input. The source's text has 1; its published code has 1
            for three contexts, 1.1 for four and 1.35 for five.

    Returns:
        A `ContextWorld` of 8C samples with 8 + C inputs and 15(1 + C) targets.

    Example:
        >>> world = fs.worlds.multitask(contexts=4, context_scale=1.1)
        >>> world.context_count, world.object_count, world.samples.targets.shape
        (4, 8, (32, 75))
    """
    require(contexts >= 2, "contexts", "be at least 2", contexts)
    return in_contexts(hierarchy(), [hierarchy()] * contexts, context_scale)


def different_structures(context_scale: Any = 1.0) -> ContextWorld:
    """Eight objects in three contexts, a hierarchy in the first, a ring in the second, a cross-cut in the third.

    What holds in every context is the hierarchy; all structures have 15 features (`hierarchy`, `ring_of_features`,
    `cross_cut`).

    Args:
        context_scale: κ, the size of the context's part of the input.

    Returns:
        A `ContextWorld` of 24 samples with 11 inputs and 60 targets.

    Example:
        >>> fs.worlds.different_structures().structures.shape
        (3, 15, 8)
    """
    return in_contexts(hierarchy(), [hierarchy(), ring_of_features(), cross_cut()], context_scale)


def in_contexts(common: Any, structures: Sequence[Any], context_scale: Any = 1.0) -> ContextWorld:
    """A world of the reader's own: features that hold everywhere, and features of each context.

    Args:
        common: features × objects, what is true of an object in every context.
        structures: the same for each context alone.
        context_scale: κ, the size of the context's part of the input.

    Returns:
        A `ContextWorld` with one sample for each object in each context.

    Example:
        >>> world = fs.worlds.in_contexts(np.ones((1, 2)), [[[1.0, 0.0]], [[0.0, 1.0]]])
        >>> world.dataset.inputs[0].tolist(), world.dataset.targets[0].tolist()  # the first object, first context
        ([1.0, 0.0, 1.0, 0.0], [1.0, 1.0, 0.0])
    """
    shapes = {np.shape(one) for one in (common, *structures)}
    fits = len(structures) >= 2 and len(shapes) == 1 and len(np.shape(common)) == 2
    require(fits, "structures", "be at least two, and matrices of the shape of `common`", [*map(np.shape, structures)])
    if not is_traced(context_scale):
        require(float(context_scale) > 0, "context_scale", "be positive", context_scale)
    contexts, (features, objects) = len(structures), np.shape(common)
    blocks = np.zeros((contexts, objects, 1 + contexts, features))
    for context, own in enumerate(structures):
        blocks[context, :, 0], blocks[context, :, 1 + context] = np.transpose(common), np.transpose(own)
    names = np.tile(np.eye(objects, objects + contexts), (contexts, 1))
    cues = np.repeat(np.eye(contexts, objects + contexts, k=objects), objects, axis=0)
    dataset = Dataset(names + context_scale * cues, blocks.reshape(contexts * objects, -1))
    return ContextWorld(dataset, np.asarray(common, float), np.asarray(structures, float))


def hierarchy(objects: int = OBJECTS) -> Features:
    """A balanced binary tree of objects: one feature for each node, 1 for the objects below it.

    Eight objects have 15 features, and singular values σ² = 15, 7, 3, 3, 1, 1, 1, 1.

    Args:
        objects: a power of 2, at least 2.

    Returns:
        Features × objects, of zeros and ones, from the root down.

    Example:
        >>> fs.worlds.contexts.hierarchy(4).astype(int).tolist()[:3]
        [[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1]]
        >>> (np.linalg.svd(fs.worlds.contexts.hierarchy(), compute_uv=False) ** 2).round(6).tolist()
        [15.0, 7.0, 3.0, 3.0, 1.0, 1.0, 1.0, 1.0]
    """
    levels = int(objects).bit_length()
    require(objects == 2 ** (levels - 1) and objects >= 2, "objects", "be a power of 2", objects)
    return np.concatenate([np.kron(np.eye(2**level), np.ones((1, objects >> level))) for level in range(levels)])


def ring_of_features() -> Features:
    """Eight objects on a ring: 1, 2/3, 1/3, 0 with the distance from each place, and one feature of all objects.

    The source's code has .66 and .33 for the thirds.

    Returns:
        15 features × 8 objects, the feature of all objects first.

    Example:
        >>> fs.worlds.contexts.ring_of_features()[1].round(2).tolist()
        [0.0, 0.33, 0.67, 1.0, 1.0, 0.67, 0.33, 0.0]
    """
    profile = np.array([0.0, 1.0, 2.0, 3.0, 3.0, 2.0, 1.0, 0.0]) / 3
    places = np.stack([np.roll(profile, -shift) for shift in range(2 * OBJECTS - 2)])
    return np.concatenate([np.ones((1, OBJECTS)), places])


def cross_cut() -> Features:
    """The hierarchy, except that within each half the pairs join objects of different pairs.

    Returns:
        15 features × 8 objects, in the order of `hierarchy`.

    Example:
        >>> fs.worlds.contexts.cross_cut()[3].astype(int).tolist()  # the first pair
        [1, 0, 1, 0, 0, 0, 0, 0]
    """
    features = hierarchy()
    swapped = [0, 2, 1, 3, 4, 6, 5, 7]
    features[3:7] = features[3:7][:, swapped]
    return features


def context_subsets(contexts: int, *sizes: int) -> Float[np.ndarray, "subsets contexts"]:
    """All subsets of contexts of the given sizes, 1 for a context that belongs to it; of all sizes from 1, if none is.

    ``context_subsets(C, C − 1)[:, world.contexts]`` are the gates of the paths that are on in all contexts but one.

    Args:
        contexts: C, how many there are.
        sizes: of the subsets, from 1 to C; all of them unless given.

    Returns:
        One subset a row, in the order of their sizes.

    Example:
        >>> fs.worlds.contexts.context_subsets(3, 2).astype(int).tolist()
        [[1, 1, 0], [1, 0, 1], [0, 1, 1]]
    """
    require(contexts >= 1, "contexts", "be at least 1", contexts)
    wanted = sizes or tuple(range(1, contexts + 1))
    require(min(wanted) >= 1 and max(wanted) <= contexts, "sizes", f"lie between 1 and {contexts}", sizes)
    chosen = [members for size in wanted for members in combinations(range(contexts), size)]
    return np.stack([np.isin(np.arange(contexts), members).astype(float) for members in chosen])
