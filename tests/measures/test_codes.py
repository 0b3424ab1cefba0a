"""Codes and kernels class by class, against plain counting."""

import numpy as np
import pytest

from festina.measures import (
    class_variance,
    code_groups,
    code_name,
    code_numbers,
    common_codes,
    grouping_cosine,
    outliers,
    overlaps,
    persistence,
    representatives,
    serving,
    sharpness,
    top_share,
)


def test_class_variance_is_that_of_class_means():
    """Of features that depend on the class alone, it is their variance over examples."""
    features, counts = np.random.default_rng(1).normal(size=(3, 5)), (4, 2, 2)
    expected = np.sum(np.repeat(features, counts, axis=0).var(axis=0))
    assert class_variance(features @ features.T, counts) == pytest.approx(expected)


def test_codes_have_numbers_and_names():
    assert code_numbers(np.array([[True, False, True], [False, False, False]])).tolist() == [5, 0]
    assert [code_name(number, 3) for number in (5, 0, 6)] == ["AC", "none", "BC"]


def test_codes_are_grouped_by_the_sizes_of_their_classes():
    assert code_groups((4, 4)) == [[0], [1, 2], [3]]
    assert code_groups((4, 2)) == [[0], [1], [2], [3]]


def test_common_codes_are_named_from_the_largest_on_and_rare_ones_taken_together():
    shares = np.array([0.015, 0.1, 0.26, 0.005, 0.24, 0.0, 0.38, 0.0])
    assert common_codes((4, 2, 2), shares, 0.02, "rare") == {
        "B or C": [2, 4],
        "BC": [6],
        "A": [1],
        "rare": [0, 3, 5, 7],
    }
    assert common_codes((4, 2), np.full(4, 0.25), 0.02) == {"none": [0], "A": [1], "B": [2], "AB": [3]}


def test_overlaps_are_those_of_all_pairs_relative_to_their_mean_size():
    sets = np.array([[1, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]], bool)
    np.testing.assert_allclose(overlaps(sets), [2 / 2.5, 0, 0, 0, 0, 0])
    assert overlaps(sets[[0, 0]]).tolist() == [1.0] and overlaps(sets[3:]).size == overlaps(sets[:1]).size == 0


def test_persistence_is_one_for_constant_and_zero_for_fresh_codes():
    before, after = np.random.default_rng(0).integers(0, 8, (2, 20_000))
    shares = np.bincount(before, minlength=8) / len(before)
    assert persistence(before, after, shares) == pytest.approx(0.0, abs=0.02)
    assert persistence(before, before, shares) == 1.0


def test_outliers_are_longer_than_eight_standard_deviations_and_serve_the_class_they_are_most_active_in():
    readouts = np.array([[0.0, 7.9], [6.0, 6.0], [-9.0, 0.0]])
    assert outliers(readouts, 1.0).tolist() == [False, True, True]
    assert outliers(readouts, 1.3).tolist() == [False, False, False]
    activity = np.array([[0.0, 1.0], [0.2, 0.1], [0.3, 0.4]])
    assert serving(outliers(readouts, 1.0), activity).tolist() == [[False, False], [True, False], [False, True]]
    batch = serving(np.ones((2, 3), bool), np.stack([activity, -activity]))
    assert batch.sum(axis=(1, 2)).tolist() == [3, 3] and batch[1, 0].tolist() == [True, False]


def test_sharpness_is_the_share_of_variance_between_classes():
    """One-way analysis of variance on the activity of many neurons."""
    random, counts = np.random.default_rng(0), (20, 10, 10)
    labels = np.repeat(range(3), counts)
    means = random.normal(size=(40_000, 3)) * np.array([1.0, 0.5, 2.0])
    activity = means[:, labels] + 0.7 * random.normal(size=(40_000, 40))
    between = np.mean(np.var(means[:, labels], axis=1))
    found = sharpness(activity.T @ activity / len(activity), np.eye(3)[labels])
    assert found == pytest.approx(between / (between + 0.49), rel=0.01)
    alone = np.full((40, 40), 0.3) + 0.1 * np.eye(40)
    assert sharpness(alone, np.eye(3)[labels]) == pytest.approx(0.0, abs=1e-12)


def test_kernels_that_tell_the_same_classes_apart_are_alike_whatever_their_size():
    random, counts = np.random.default_rng(2), (2, 1, 1)
    features = random.normal(size=(3, 4))
    kernel = features @ features.T
    assert grouping_cosine(kernel, 0.3 + 5.0 * kernel, counts) == pytest.approx(1.0)
    # One tells 2 from 3, the other 2 and 3 from 1 as well: centred over four examples by hand.
    first, second = np.array([[0, 0, 0], [0, 1.0, -1.0], [0, -1.0, 1.0]]), np.diag([0, 1.0, 1.0])
    examples = [0, 0, 1, 2]
    centred = [
        each - each.mean(axis=0) - each.mean(axis=1, keepdims=True) + each.mean()
        for each in (one[np.ix_(examples, examples)] for one in (first, second))
    ]
    expected = np.sum(centred[0] * centred[1]) / np.linalg.norm(centred[0]) / np.linalg.norm(centred[1])
    assert grouping_cosine(first, second, counts) == pytest.approx(expected) and expected < 0.95


def test_representatives_are_the_largest_and_some_of_all_others():
    readouts = np.array([[3.0, 4.0], [0.0, 1.0], [6.0, 0.0], [0.1, 0.1], [2.0, 2.0], [0.0, 0.5]])
    assert representatives(readouts, 5).tolist() == [2, 0, 4, 1, 3]


def test_the_top_tenth_is_one_of_neurons_in_every_draw():
    random = np.random.default_rng(4)
    readouts, activity = random.normal(size=(3, 30, 2)), random.uniform(size=(3, 30, 4))
    counts = (4, 2, 1, 1)
    portions = np.array(counts) / 8
    for share, own, seen in zip(top_share(readouts, activity, counts), readouts, activity, strict=True):
        apart = np.sqrt((portions * (seen - (seen @ portions)[:, None]) ** 2).sum(axis=1))
        signal = np.sort(np.sqrt((own**2).sum(axis=1)) * apart)
        np.testing.assert_allclose(share, signal[-3:].sum() / signal.sum())
