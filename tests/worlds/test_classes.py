"""Classification with no structure but the classes."""

import jax
import numpy as np
import pytest

from festina.errors import ArgumentError
from festina.worlds.classes import orthogonal_classes, random_classes, toy_classes


def test_the_toy_task_is_the_one_of_the_paper():
    world = toy_classes()
    np.testing.assert_array_equal(world.inputs @ world.inputs.T, np.eye(100))
    np.testing.assert_array_equal(world.counts, [50, 25, 25])
    np.testing.assert_array_equal(world.class_targets, [[1, -0.5, -0.5], [-0.5, 1, -0.5], [-0.5, -0.5, 1]])
    np.testing.assert_array_equal(world.targets, world.class_targets[world.labels])


def test_classes_may_have_targets_of_their_own():
    world = orthogonal_classes((2, 1), targets=[[1], [-1]])
    np.testing.assert_array_equal(world.targets, [[1.0], [1.0], [-1.0]])
    np.testing.assert_array_equal(world.moments.inputs, np.eye(3) / 3)


def test_random_inputs_overlap_within_classes_as_asked():
    world = random_classes(jax.random.key(0), (40, 60), 2000, similarity=0.3)
    np.testing.assert_allclose(np.linalg.norm(world.inputs, axis=1), 1.0)
    overlaps = world.inputs @ world.inputs.T
    same = world.labels[:, None] == world.labels[None]
    assert overlaps[same & ~np.eye(100, dtype=bool)].mean() == pytest.approx(0.3, abs=0.02)
    assert overlaps[~same].mean() == pytest.approx(0.0, abs=0.02)
    again = random_classes(jax.random.key(0), (40, 60), 2000, similarity=0.3)
    np.testing.assert_array_equal(world.inputs, again.inputs)


def test_what_cannot_be_is_refused():
    with pytest.raises(ArgumentError, match="counts"):
        orthogonal_classes((3, 0))
    with pytest.raises(ArgumentError, match="targets"):
        orthogonal_classes((3, 1), targets=[[1.0]])
    with pytest.raises(ArgumentError, match="similarity"):
        random_classes(jax.random.key(0), (3, 1), 5, similarity=1.5)
