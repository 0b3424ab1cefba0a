"""The closure of joint descent: against literal weights, one network or many."""

from typing import Any

import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError

SETTINGS: dict[str, Any] = {
    "weight_timescale": 0.8,
    "gate_timescale": 0.1,
    "nonnegativity": 0.2,
    "normalization": 0.6,
    "block_length": 0.5,
    "step_size": 0.01,
}


def literal(students, teachers, steps, share=1.0, tau_c=0.1, block=50, shifts=None):
    """Euler steps on the matrices themselves."""
    shifts = np.zeros(steps + 1, int) if shifts is None else shifts
    students, gates, seen = students.copy(), np.full(len(students), 0.5), []
    for step in range(steps + 1):
        error = teachers[(step // block + shifts[step]) % len(teachers)] - np.einsum("p,poi->oi", gates, students)
        seen.append((0.5 * share * np.sum(error**2), gates.copy(), students.copy()))
        slope = 2 * 0.6 * (np.abs(gates).sum() - 1) * np.sign(gates) - 0.2 * (gates < 0)
        pull = share * np.einsum("poi,oi->p", students, error) - slope
        students = students + 0.01 / 0.8 * share * gates[:, None, None] * error
        gates = gates + 0.01 / tau_c * pull
    return seen


@pytest.fixture
def maps():
    rng = np.random.default_rng(0)
    return 0.3 * rng.normal(size=(3, 4, 6)), rng.normal(size=(2, 4, 6)) / 3  # teachers need not be orthogonal


def test_it_is_the_literal_dynamics(maps):
    students, teachers = maps
    found = fs.theory.closure(students, teachers, loss_share=0.25, **SETTINGS)(np.array([0.0, 0.37, 1.0, 2.5]))
    course = literal(students, teachers, 250, share=0.25)
    for place, step in enumerate((0, 37, 100, 250)):
        loss, gates, weights = course[step]
        np.testing.assert_allclose(found["loss"][place, 0], loss, atol=1e-12)
        np.testing.assert_allclose(found["gates"][place, 0], gates, atol=1e-12)
        np.testing.assert_allclose(found["norms"][place, 0], np.linalg.norm(weights, axis=(1, 2)), atol=1e-12)
        lengths = np.einsum("moi,poi->mp", teachers, weights) / np.linalg.norm(teachers, axis=(1, 2))[:, None]
        np.testing.assert_allclose(found["components"][place, 0], lengths, atol=1e-12)
        overlaps = np.einsum("poi,qoi->pq", weights, weights)
        np.testing.assert_allclose(found["overlaps"][place, 0], overlaps, atol=1e-12)


def test_many_networks_at_once(maps):
    students, teachers = maps
    many = {"gate_timescale": np.array([0.05, 0.2]), "block_length": np.array([0.3, 0.5])}
    settings: dict[str, Any] = SETTINGS | many
    found = fs.theory.closure(np.stack([students, 2 * students]), teachers, **settings)([1.5])["gates"][0]
    for number, (weights, tau, block) in enumerate(((students, 0.05, 30), (2 * students, 0.2, 50))):
        alone = literal(weights, teachers, 150, tau_c=tau, block=block)[-1][1]
        np.testing.assert_allclose(found[number], alone, atol=1e-12)


def test_blocks_may_end_before_their_time(maps):
    students, teachers = maps
    shifts = np.random.default_rng(1).integers(0, 2, (2, 151)).cumsum(axis=1)
    found = fs.theory.closure(students, teachers, **SETTINGS, shifts=shifts)([0.2, 1.5])
    for network in range(2):
        course = literal(students, teachers, 150, shifts=shifts[network])
        for place, step in enumerate((20, 150)):
            np.testing.assert_allclose(found["gates"][place, network], course[step][1], atol=1e-12)
            np.testing.assert_allclose(found["loss"][place, network], course[step][0], atol=1e-12)
    with pytest.raises(ArgumentError, match="`time` must not exceed the steps for which there are shifts"):
        fs.theory.closure(students, teachers, **SETTINGS, shifts=shifts)([1.51])


def test_only_whole_steps_and_matching_numbers(maps):
    wrong: dict[str, Any] = SETTINGS | {"gate_timescale": np.ones(2)}
    with pytest.raises(ArgumentError, match="`time` must be whole numbers of steps"):
        fs.theory.closure(*maps, **SETTINGS)([0.005])
    with pytest.raises(ArgumentError, match="one set for all networks"):
        fs.theory.closure(np.stack([maps[0]] * 3), maps[1], **wrong)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"teachers": np.ones((2, 6, 4))}, r"`teachers` must be \(4, 6\) matrices, as students are"),
        ({"teachers": np.ones((4, 6))}, "`teachers` must be matrices, stacked"),
        ({"teachers": np.zeros((2, 4, 6))}, "`teachers` must not be zero"),
        ({"students": np.full((3, 4, 6), np.nan)}, "`students` must be finite"),
        ({"block_length": np.nan}, "`block_length` must hold at least one step"),
        ({"block_length": 0.004}, "`block_length` must hold at least one step"),
        ({"block_length": np.ones((2, 2))}, "`block_length` must be one number, or one for each network"),
        ({"weight_timescale": -1.0}, "`weight_timescale` must be positive"),
        ({"gate_timescale": [0.1, 0.0]}, "`gate_timescale` must be positive"),
        ({"gate_timescale": [0.1, 0.2], "block_length": [1.0, 2.0, 3.0]}, "one set for all networks"),
        ({"nonnegativity": -0.1}, "`nonnegativity` must be finite and not negative"),
        ({"block_length": np.ones(3), "shifts": np.zeros((2, 9), int)}, "one set for all networks"),
        ({"shifts": np.zeros((1, 2, 9), int)}, "`shifts` must be one row for all networks"),
        ({"normalization": np.inf}, "`normalization` must be finite and not negative"),
        ({"step_size": 0.0}, "`step_size` must be positive"),
        ({"loss_share": np.nan}, "`loss_share` must be positive"),
        ({"gates": np.inf}, "`gates` must be finite"),
    ],
)
def test_what_has_no_course_is_refused(maps, change, message):
    with pytest.raises(ArgumentError, match=message):
        fs.theory.closure(**({"students": maps[0], "teachers": maps[1]} | SETTINGS | change))


@pytest.mark.parametrize("time", [[], np.nan, np.inf, -0.01, [0.0, np.nan], 1e12])
def test_times_that_are_none_are_refused(maps, time):
    with pytest.raises(ArgumentError, match="`time` must be whole numbers of steps"):
        fs.theory.closure(*maps, **SETTINGS)(time)


def test_one_block_may_last_for_ever(maps):
    students, teachers = maps
    endless: dict[str, Any] = SETTINGS | {"block_length": np.inf}
    found = fs.theory.closure(students, teachers, **endless)([2.0])
    np.testing.assert_allclose(found["gates"][0, 0], literal(students, teachers, 200, block=1000)[-1][1], atol=1e-12)
