"""Worlds with contexts: spectra, layout, and what is linear in them."""

import numpy as np
import pytest

from festina.errors import ArgumentError
from festina.worlds.contexts import (
    context_subsets,
    cross_cut,
    different_structures,
    hierarchy,
    in_contexts,
    multitask,
    ring_of_features,
)


def test_the_hierarchy_has_the_spectrum_of_its_levels():
    np.testing.assert_allclose(multitask(3).strengths ** 2, [15, 7, 3, 3, 1, 1, 1, 1], atol=1e-12)
    np.testing.assert_allclose(np.linalg.svd(cross_cut(), compute_uv=False) ** 2, [15, 7, 3, 3, 1, 1, 1, 1], atol=1e-12)
    assert hierarchy(4).shape == (7, 4)


def test_every_ring_feature_is_a_bump_on_the_ring():
    features = ring_of_features()
    assert features.shape == (15, 8)
    gram = features.T @ features
    for bump in features[1:]:
        np.testing.assert_allclose(np.sort(bump), np.array([0, 0, 1, 1, 2, 2, 3, 3]) / 3)
        assert np.abs(np.roll(bump, 1) - bump).max() < 0.34  # neighbours on the ring, ends joined, are alike
    assert gram[0, 1] > gram[0, 2] > gram[0, 4]


@pytest.mark.parametrize("world", [multitask(4, 1.1), different_structures(0.7)], ids=["same", "different"])
def test_inputs_name_object_and_context_and_targets_hold_their_features(world):
    inputs, targets = world.dataset.inputs, world.dataset.targets
    contexts, objects = world.context_count, world.object_count
    scale = 1.1 if contexts == 4 else 0.7
    blocks = targets.reshape(len(inputs), 1 + contexts, -1)
    for row, (item, context) in enumerate(zip(world.objects, world.contexts, strict=True)):
        assert inputs[row, item] == 1 and inputs[row, objects + context] == scale and np.count_nonzero(inputs[row]) == 2
        np.testing.assert_array_equal(blocks[row, 0], world.common[:, item])
        np.testing.assert_array_equal(blocks[row, 1 + context], world.structures[context][:, item])
        assert not np.delete(blocks[row], [0, 1 + context], axis=0).any()


def test_structures_differ_between_contexts():
    world = different_structures()
    hierarchy_part, ring, cross = world.structures
    np.testing.assert_array_equal(hierarchy_part, world.common)
    assert not np.array_equal(ring, cross) and not np.array_equal(cross, hierarchy_part)


def test_subsets_of_contexts():
    np.testing.assert_array_equal(context_subsets(3, 2), [[1, 1, 0], [1, 0, 1], [0, 1, 1]])
    assert context_subsets(5).shape == (31, 5)
    assert len(np.unique(context_subsets(5), axis=0)) == 31


def test_what_cannot_be_is_refused():
    for build in (
        lambda: multitask(1),
        lambda: multitask(3, 0.0),
        lambda: hierarchy(6),
        lambda: in_contexts(hierarchy(), [hierarchy(4), hierarchy(4)]),
        lambda: context_subsets(3, 4),
    ):
        with pytest.raises(ArgumentError, match="must"):
            build()
