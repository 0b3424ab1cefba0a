"""Which task is shown when, if blocks end by the clock, by chance, or by both."""

import jax
import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError

KEY = jax.random.key(3)


def by_chance(switching, steps=20_000, blocks=2):
    return np.asarray(fs.worlds.Blocks.shifts_by_chance(KEY, switching, steps, blocks))


def test_switches_come_with_their_probability_whatever_came_before():
    switched = np.diff(by_chance(0.2)) != 0
    assert abs(switched.mean() - 0.2) < 5 * np.sqrt(0.2 * 0.8 / switched.size)
    again = switched[1:][switched[:-1]].mean()  # just after another one
    assert abs(again - 0.2) < 5 * np.sqrt(0.2 * 0.8 / switched.sum())


def test_the_first_step_is_no_switch_and_none_is_one_without_probability():
    assert not by_chance(0.0).any()
    assert by_chance(1.0, steps=5, blocks=3).tolist() == [0, 1, 2, 0, 1]


def test_a_larger_probability_has_all_switches_of_a_smaller_one():
    rare, often = (np.diff(by_chance(p, blocks=100)) % 100 for p in (0.05, 0.3))
    assert (often >= rare).all() and often.sum() > rare.sum()


def test_chance_comes_on_top_of_the_clock():
    shifts = np.array([0, 0, 1, 1, 1, 0, 0, 0], np.int8)
    plain = fs.worlds.Blocks.of((0, 1), length=3.0, step_size=1.0)
    blocks = fs.worlds.Blocks(plain.order, plain.ends, jax.numpy.asarray(shifts))
    assert [int(plain.task_at(step)) for step in range(8)] == [0, 0, 0, 1, 1, 1, 0, 0]
    assert [int(blocks.task_at(step)) for step in range(8)] == [0, 0, 1, 0, 0, 1, 0, 0]
    assert [float(blocks.shown(step, 2)[1]) for step in range(8)] == [0, 0, 1, 0, 0, 1, 0, 0]


def test_longer_rounds_than_a_byte_can_count_are_refused():
    with pytest.raises(ArgumentError, match="`blocks` must be from 1 to 127, but is 200"):
        by_chance(0.1, blocks=200)
