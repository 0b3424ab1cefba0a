"""Classification with no structure but the classes: orthogonal or random inputs, one target vector a class."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Int

from festina import draws
from festina.errors import require
from festina.worlds.world import Dataset

TOY_COUNTS = (50, 25, 25)


class Classes(Dataset):
    """A data set in which every example belongs to a class, and the target depends on the class alone.

    Args:
        inputs: one example a row, of unit norm.
        targets: what to answer, one example a row.
        labels: the class of each example, 0 … C−1, all occurring.

    Example:
        >>> world = fs.worlds.Classes(np.eye(3), [[1.0], [1.0], [-1.0]], labels=np.array([0, 0, 1]))
        >>> world.counts.tolist(), world.class_targets.tolist()
        ([2, 1], [[1.0], [-1.0]])
    """

    labels: Int[np.ndarray, " n"] = eqx.field(kw_only=True)

    @property
    def counts(self) -> Int[np.ndarray, " classes"]:
        """n_c: how many examples each class has."""
        return np.bincount(self.labels)

    @property
    def membership(self) -> Float[np.ndarray, "n classes"]:
        """1 where an example is in a class, else 0."""
        return np.eye(len(self.counts))[self.labels]

    @property
    def class_targets(self) -> Float[np.ndarray, "classes o"]:
        """y_c: the target of each class."""
        first = [int(np.flatnonzero(self.labels == each)[0]) for each in range(len(self.counts))]
        return np.asarray(self.targets)[first]


def toy_classes() -> Classes:
    """The toy task of the coding schemes: 100 orthogonal inputs in classes of 50, 25 and 25, targets +1 and −½.

    Source: A. van Meegen, H. Sompolinsky, "Coding schemes in neural networks learning classification tasks" (2024).

    Example:
        >>> world = fs.worlds.toy_classes()
        >>> world.inputs.shape, world.counts.tolist(), world.class_targets[0].tolist()
        ((100, 100), [50, 25, 25], [1.0, -0.5, -0.5])
    """
    return orthogonal_classes(TOY_COUNTS)


def orthogonal_classes(counts: Sequence[int], on: float = 1.0, off: float = -0.5, targets: Any = None) -> Classes:
    """Examples with orthonormal inputs, so that K_0 = XXᵀ = I: nothing but the targets tells classes apart.

    Args:
        counts: n_c, examples of each class, in the order of their labels.
        on: target of an example's own class, in the output of that class.
        off: target in the outputs of all other classes.
        targets: one row of targets for each class, instead of ``on`` and ``off``.

    Returns:
        `Classes`, with as many inputs as there are examples.

    Example:
        >>> world = fs.worlds.orthogonal_classes((2, 1), targets=[[1.0], [-1.0]])
        >>> world.targets[:, 0].tolist()
        [1.0, 1.0, -1.0]
    """
    labels = _labels(counts)
    return Classes(np.eye(len(labels)), _class_targets(len(counts), on, off, targets)[labels], labels=labels)


def random_classes(
    key: Array,
    counts: Sequence[int],
    dimension: int,
    similarity: float = 0.0,
    on: float = 1.0,
    off: float = -0.5,
    targets: Any = None,
) -> Classes:
    """Examples with random inputs on the unit sphere, x ∝ √ρ x_c + √(1−ρ) ξ, with a random direction x_c per class.

    The order of examples is that of their classes. To have examples to test with, draw more of them and set some apart.

    Args:
        key: of all random numbers.
        counts: n_c, examples of each class, in the order of their labels.
        dimension: of the inputs.
        similarity: ρ, the mean overlap of two inputs of one class; at 0 inputs know nothing of their class.
        on: target of an example's own class, in the output of that class.
        off: target in the outputs of all other classes.
        targets: one row of targets for each class, instead of ``on`` and ``off``.

    Returns:
        `Classes`, with inputs of unit norm.

    Example:
        >>> world = fs.worlds.random_classes(jax.random.key(0), counts=(200, 200), dimension=500, similarity=0.6)
        >>> overlap = world.inputs @ world.inputs.T
        >>> round(float(overlap[0, 1:200].mean()), 1), round(abs(float(overlap[0, 200:].mean())), 1)
        (0.6, 0.0)
    """
    require(dimension >= 1, "dimension", "be at least 1", dimension)
    require(0.0 <= similarity <= 1.0, "similarity", "be between 0 and 1", similarity)
    labels = _labels(counts)
    for_classes, for_examples = draws.split(key, 2)
    centres = np.asarray(draws.normal(for_classes, (len(counts), dimension)))
    noise = np.asarray(draws.normal(for_examples, (len(labels), dimension)))
    inputs = np.sqrt(similarity) * centres[labels] + np.sqrt(1.0 - similarity) * noise
    inputs = inputs / np.linalg.norm(inputs, axis=1)[:, None]
    return Classes(inputs, _class_targets(len(counts), on, off, targets)[labels], labels=labels)


def _labels(counts: Sequence[int]) -> Int[np.ndarray, " n"]:
    require(len(counts) >= 1 and min(counts) >= 1, "counts", "give every class an example", tuple(counts))
    return np.repeat(np.arange(len(counts)), counts)


def _class_targets(classes: int, on: float, off: float, targets: Any) -> Float[np.ndarray, "classes o"]:
    if targets is None:
        return off + (on - off) * np.eye(classes)
    rows = np.asarray(targets, float)
    require(rows.ndim == 2 and len(rows) == classes, "targets", f"have a row for each of {classes} classes", rows.shape)
    return rows
