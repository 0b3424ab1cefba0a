"""Matching, alignment, times within blocks, selectivity."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from festina.errors import ArgumentError
from festina.measures import (
    at_block_ends,
    gate_separation,
    joint_turn,
    kept_shares,
    late_difference,
    matched_paths,
    one_to_one,
    preference,
    recovery_times,
    selectivity,
    steepest_in_blocks,
    take_paths,
    times_in_blocks,
    total_alignment,
)


def test_matching_is_one_to_one_where_sorting_is_not():
    alignment = np.array([[[0.9, 0.8, 0.1], [0.8, 0.1, 0.2], [0.7, 0.3, 0.0]]])
    assert (alignment[0].argmax(axis=1) == 0).all()  # every teacher's favourite is path 0
    order = matched_paths(alignment)
    assert sorted(order[0]) == [0, 1, 2]
    best = max(
        sum(alignment[0, m, p] for m, p in enumerate(way))
        for way in [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    )
    np.testing.assert_allclose(sum(alignment[0, m, p] for m, p in enumerate(order[0])), best)


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (2, 3), (3, 4), (4, 4), (1, 9)])
def test_few_assignments_are_tried_and_many_searched_with_the_same_end(monkeypatch, shape):
    """Also where nothing tells them apart, and where a run that failed left no numbers."""
    alignment = np.random.default_rng(0).normal(size=(50, *shape))
    alignment[0], alignment[1] = 0.0, np.nan
    tried = matched_paths(alignment)
    monkeypatch.setattr("festina.measures.specialization.FEW", 0)
    np.testing.assert_array_equal(tried, matched_paths(alignment))


def test_more_paths_than_teachers_but_not_fewer():
    assert matched_paths(np.array([[0.1, 0.2, 0.9]])).tolist() == [2]
    with pytest.raises(ArgumentError, match="at least as many paths"):
        matched_paths(np.ones((3, 2)))


def test_paths_are_taken_in_the_order_of_their_teachers():
    order = np.array([[1, 0], [0, 1]])
    values = np.arange(2 * 5 * 2.0).reshape(2, 5, 2)  # run, time, path
    sorted_values = take_paths(values, order, -1)
    np.testing.assert_array_equal(sorted_values[0], values[0][:, ::-1])
    np.testing.assert_array_equal(sorted_values[1], values[1])
    np.testing.assert_array_equal(take_paths(values.swapaxes(1, 2), order, 1), sorted_values.swapaxes(1, 2))


def _shares(students, teachers, cost):
    units = teachers / np.linalg.norm(teachers, axis=1, keepdims=True)
    return kept_shares(units @ students.T, students @ students.T, cost)


@pytest.mark.parametrize("students", [1, 2, 3, 5])
def test_what_is_kept_is_the_best_that_gates_can_do(students):
    """Against least squares, whose rows are those of the students and of the cost of gates; P ≤, = and > M."""
    rng, eta = np.random.default_rng(students), 0.3
    drawn, teachers = rng.normal(size=(students, 12)), rng.normal(size=(3, 12))
    table = np.concatenate([drawn.T, eta * np.eye(students)])
    for share, teacher in zip(_shares(drawn, teachers, eta**2), teachers, strict=True):
        unit = np.concatenate([teacher / np.linalg.norm(teacher), np.zeros(students)])
        gates = np.linalg.lstsq(table, unit, rcond=None)[0]
        np.testing.assert_allclose(share, 1 - np.sum((unit - table @ gates) ** 2), rtol=1e-10)


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e6])
def test_no_more_is_kept_of_orthogonal_teachers_than_there_are_students(size):
    """However large students are, and if they are all but equal; a span that is there whole keeps exactly P."""
    rng = np.random.default_rng(0)
    teachers = np.linalg.qr(rng.normal(size=(8, 5)))[0].T
    equal = (np.ones((3, 5)) + 1e-9 * rng.normal(size=(3, 5))) @ teachers
    assert _shares(size * equal, teachers, 0.01 * size**2).sum() < 1
    for paths in (1, 2, 4):
        inside, outside = size * rng.normal(size=(paths, 5)) @ teachers, size * rng.normal(size=(paths, 8))
        assert _shares(outside, teachers, 0.01 * size**2).sum() < paths
        np.testing.assert_allclose(_shares(inside, teachers, 1e-12 * size**2).sum(), paths, rtol=1e-6)


def test_teachers_and_students_that_are_not_there_do_not_count():
    components, overlaps = np.full((3, 2), np.nan), np.full((2, 2), np.nan)
    components[:2, 0], overlaps[0, 0] = [1.0, 0.0], 1.0
    np.testing.assert_allclose(kept_shares(components, overlaps, 1.0), [0.5, 0.0, np.nan])
    with pytest.raises(ArgumentError, match="`cost` must be positive"):
        kept_shares(components, overlaps, 0.0)


def test_total_alignment_is_the_cosine_of_everything_strung_together():
    rng = np.random.default_rng(0)
    teachers = np.linalg.qr(rng.normal(size=(20, 20)))[0][:6].reshape(2, 3, 20)
    students = rng.normal(size=(2, 3, 20)) + 3 * teachers[::-1]
    components = np.einsum("moi,poi->mp", teachers, students) / np.sqrt(3)
    norms = np.linalg.norm(students, axis=(1, 2))
    ordered = students[matched_paths(components)]
    cosine = np.sum(teachers * ordered) / np.linalg.norm(teachers) / np.linalg.norm(ordered)
    np.testing.assert_allclose(total_alignment(components, norms), cosine)
    swapped = total_alignment(components, norms, np.array([0, 1]))
    assert swapped < cosine


def test_an_unspecialised_network_has_one_over_root_m():
    components, norms = np.full((3, 3), 1.0), np.full(3, np.sqrt(3))
    np.testing.assert_allclose(total_alignment(components, norms), 1 / np.sqrt(3))


def test_times_in_blocks_start_anew_in_each():
    time = np.linspace(0, 3, 301)
    edges = np.array([0.0, 1.0, 2.0, 3.0])
    within = time % 1.0
    rate = np.where(time < 1 - 1e-9, 1.0, np.where(time < 2 - 1e-9, 4.0, 0.1))
    loss = np.stack([np.exp(-rate * within), np.full_like(time, 2.0)])
    found = times_in_blocks(time, loss, edges, 0.5)
    stacked = np.broadcast_to(loss, (2, 3, *loss.shape))
    np.testing.assert_array_equal(
        times_in_blocks(time, stacked, edges, 0.5), np.broadcast_to(found, (2, 3, *found.shape))
    )
    np.testing.assert_allclose(found[0, :2], [np.log(2), np.log(2) / 4], atol=1e-3)
    assert np.isnan(found[0, 2]) and np.isnan(found[1]).all()


def test_a_recording_on_a_boundary_belongs_to_the_next_block():
    time, edges = np.arange(7) * 0.5, np.array([0.0, 1.0, 3.0])
    np.testing.assert_array_equal(at_block_ends(time, np.arange(7.0), edges), [1.0, 5.0])
    sparse = at_block_ends(np.array([0.0, 1.0, 2.0]), np.arange(3.0), np.array([0.0, 1.0, 2.0]))
    assert np.isnan(sparse).all()  # what was recorded at the beginning of a block says nothing of its end


def test_separation_and_selectivity():
    np.testing.assert_allclose(gate_separation(np.array([[1.0, 0.0], [0.2, 0.5]])), [1.0, 0.3])
    activity = np.array([[1.0, 0.3], [0.0, 0.3]])  # tasks × gates
    np.testing.assert_allclose(selectivity(activity), [1.0, 0.0])
    np.testing.assert_allclose(selectivity(np.zeros((2, 2))), 0.0)
    with pytest.raises(ArgumentError, match="two"):
        gate_separation(np.ones((3, 1)))


@pytest.mark.parametrize(
    ("alignment", "ours"), [([[1, 0.3], [0.3, 1]], 0.7), ([[1, 1], [0.3, 0.3]], 0.0), ([[0.6, 0.6], [0.6, 0.6]], 0.0)]
)
def test_only_one_to_one_specialisation_tells_two_students_from_one(alignment, ours):
    """A student at each teacher, both at the first, both between them: the first two are alike as published."""
    over_time = np.broadcast_to(np.asarray(alignment, float), (3, 800, 2, 2))
    np.testing.assert_allclose(one_to_one(over_time), np.full((3, 800), ours), atol=1e-12)
    np.testing.assert_allclose(late_difference(over_time), np.full(3, abs(alignment[0][0] - alignment[1][0])))


def test_one_to_one_specialisation_of_three_students():
    np.testing.assert_allclose(one_to_one(np.where(np.eye(3) == 1, 1.0, 0.25)), 0.75)
    np.testing.assert_allclose(one_to_one(np.outer([0.9, 0.2, 0.1], np.ones(3))), 0.0, atol=1e-15)


def test_the_published_measure_looks_at_the_smoothed_last_eighth():
    alignment = np.zeros((800, 2, 2))
    alignment[:690, 0] = 1.0  # before the tail
    assert late_difference(alignment) == 0.0
    alignment[750, 1, 0] = 1.0  # one recording among the ten of a window
    np.testing.assert_allclose(late_difference(alignment), 0.1)


def test_the_steepest_slope_of_a_block_is_its_own():
    """Slopes of −1 and −3, and a jump between the blocks that is none of theirs; two recordings make one, one none."""
    time, edges = np.arange(9) * 0.25, np.array([0.0, 1.0, 2.0, 2.25])
    values = np.where(time < 1, 1 - time, np.maximum(9 - 3 * time, 0.0))
    np.testing.assert_allclose(steepest_in_blocks(time, np.stack([values, 2 * values]), edges)[:, :2], [[1, 3], [2, 6]])
    assert np.isnan(steepest_in_blocks(time, values, edges)[2])
    np.testing.assert_allclose(steepest_in_blocks(time, values, np.array([0.0, 0.5])), [1.0])


def test_recovery_is_timed_from_the_switch_to_the_value_before():
    time, edges = np.linspace(0, 3, 31), np.arange(4.0)
    accuracy = np.full((2, 31), 0.8)
    accuracy[0, 10:13] = 0.2  # .3 after the first switch it is back
    accuracy[0, 13:20] = 0.77  # 95 % of .8 is enough
    accuracy[1, 20:] = 0.1  # never back after the second
    found = recovery_times(time, accuracy, edges, 0.95)
    np.testing.assert_allclose(found, [[0.3, 0.0], [0.0, np.nan]], atol=1e-12)


def turned(degrees):
    """Unit students in the basis of three teachers, one in each column, turned about the teachers' sum."""
    return Rotation.from_rotvec(np.radians(degrees) * np.ones(3) / np.sqrt(3)).as_matrix()


def test_a_joint_turn_goes_on_beyond_half_a_circle():
    degrees = np.linspace(-100.0, 250.0, 36)
    found = joint_turn(np.stack([turned(angle) for angle in degrees])[None])[0]
    np.testing.assert_allclose(np.diff(found), 10.0)
    np.testing.assert_allclose(np.cos(np.radians(found - degrees)), 1.0)
    assert np.abs(found[-1]) < 180


def test_students_that_are_their_teachers_or_each_the_next_one():
    same, following = np.eye(4), np.roll(np.eye(4), 1, axis=0)
    np.testing.assert_allclose(joint_turn(np.stack([same, following])), [0.0, 90.0], atol=1e-12)


def test_students_at_means_of_teachers_prefer_these():
    pairs = ((0, 1), (1, 2), (2, 0))
    found = preference(np.stack([turned(angle) for angle in (0, 60)]), pairs)
    np.testing.assert_allclose(found, [1 - np.sqrt(0.5), 2 / 3 - np.sqrt(8) / 3], rtol=1e-9)
