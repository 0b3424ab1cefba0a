"""The race at the margin: its law and end against integration, the freely growing units against networks."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from festina.errors import ArgumentError
from festina.theory import margin as theory
from festina.theory._free_units import free_growth
from festina.worlds import logic

SEPARATION = np.array([0.3, 0.8165, 1.2])


def integrated(nonlinear, linear, separation, time):
    """The four and the two pathways as products of two weights each, in the loss of all examples."""
    world = logic.margin(separation)
    inputs, answers = world.inputs, world.targets[:, 0]
    gates = np.concatenate([np.eye(4), np.repeat(np.eye(2), 2, axis=1)])
    cross = (gates * answers) @ inputs
    directions = cross / np.linalg.norm(cross, axis=1, keepdims=True)

    def rate(_, state):
        outgoing, incoming = state[:6], state[6:].reshape(6, 3)
        active = gates * (incoming @ inputs.T)
        error = (answers - outgoing @ active) / 4
        return np.concatenate([active @ error, (outgoing[:, None] * ((gates * error) @ inputs)).reshape(-1)])

    root = np.sqrt(np.repeat([nonlinear, linear], [4, 2]))
    start = np.concatenate([root, (root[:, None] * directions).reshape(-1)])
    solved = solve_ivp(rate, (0, time[-1]), start, "DOP853", time, rtol=1e-11, atol=1e-13).y
    strength = solved[:6] * np.einsum("pit,pi->pt", solved[6:].reshape(6, 3, -1), directions)
    return strength[[0, 3, 4, 5]]


@pytest.mark.parametrize("number", range(3))
def test_the_race_is_the_flow_of_all_six_pathways(number):
    time = np.linspace(0, 40, 21)
    starts = (0.02, 0.003)
    race = theory.race(*starts, SEPARATION)
    course = race(time)
    first, fourth, class_one, class_two = integrated(*starts, SEPARATION[number], time)
    np.testing.assert_allclose(course["nonlinear"][:, number], first, atol=1e-8)
    np.testing.assert_allclose(course["linear"][:, number], class_two, atol=1e-8)
    np.testing.assert_allclose([first, class_one], [fourth, class_two], atol=1e-8)
    np.testing.assert_allclose(race.end["nonlinear"][number], first[-1], atol=1e-7)
    np.testing.assert_allclose(race.end["linear"][number], class_one[-1], atol=1e-7)


@pytest.mark.parametrize("starts", [(1.0, 1.0), (0.0, 3.0), (40.0, 1e-3), (1e-6, 1e-2)])
def test_starts_beyond_the_target_come_back(starts: tuple[float, float]):
    time = np.array([0.0, 0.3, 1.0, 4.0, 30.0])
    race = theory.race(*starts, 1.0)
    course = race(time)
    first, _, class_one, _ = integrated(*starts, 1.0, time)
    np.testing.assert_allclose(course["nonlinear"], first, atol=1e-8)
    np.testing.assert_allclose(course["linear"], class_one, atol=1e-8)
    late = race(1e12)  # one time and one race
    for name in ("nonlinear", "linear"):
        assert late[name].shape == () and late[name] == pytest.approx(race.end[name], rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("start, separation", [(1.0, 1e4), (1e-9, 1e4), (1e40, 1.0), (1e40, 1e40)])
def test_extreme_margins_and_starts_reach_their_end(start, separation):
    """At a wide margin a clock off by 1e-13 would be strengths off by 1e-9."""
    race = theory.race(start, start, separation)
    late = race([0.0, 1e3])
    answer = late["nonlinear"][1] * np.hypot(2**0.5, separation) + late["linear"][1] * separation
    assert answer == pytest.approx(1.0, rel=1e-9)
    for name in ("nonlinear", "linear"):  # not only as exactly as the way there was integrated
        assert late[name][1] == race.end[name]


def test_runs_of_very_different_speed_and_late_times():
    """The linear kind alone at a narrow margin takes 1e9 times as long as exclusive-or."""
    race = theory.race([0.1, 0.0, 1e8], [0.0, 0.1, 0.0], [0.5, 1e-8, 0.5])
    time = np.array([0.0, 1e3, 1e9, 1e13])
    course = race(time)
    for name in ("nonlinear", "linear"):
        np.testing.assert_allclose(course[name][-1], race.end[name], rtol=1e-9)
    alone = 1 / (1 + (1e9 - 1) * np.exp(-1e-8 * time))  # the logistic curve of Δρ
    np.testing.assert_allclose(course["linear"][:, 1], alone / 1e-8, rtol=1e-8)


def test_the_end_answers_every_example_and_forgets_the_scale_at_the_crossing():
    separation = np.array([0.0, 0.5, theory.crossing(), 1.3])
    ends = [theory.race(start, start / 3, separation).end for start in (1e-1, 1e-4, 1e-9)]
    for end in ends:
        answer = end["nonlinear"] * np.sqrt(2 + separation**2) + end["linear"] * separation
        np.testing.assert_allclose(answer, 1.0, atol=1e-12)
    shares = np.asarray([end["single_share"] for end in ends])
    np.testing.assert_allclose(shares[:, 2], 6 / 7, atol=1e-9)
    assert np.all(np.diff(shares[:, 1]) > 0) and np.all(np.diff(shares[:, 3]) < 0)


def test_exclusive_or_is_the_race_without_a_margin():
    time = np.linspace(0, 30, 40)
    exact, race = theory.xor(1e-3)(time), theory.race(1e-3, 0.0, 0.0)(time)
    np.testing.assert_allclose(exact["strength"], race["nonlinear"], atol=1e-9)
    np.testing.assert_allclose(exact["loss"], 0.5 * (1 - np.sqrt(2) * exact["strength"]) ** 2, atol=1e-14)


def test_the_two_strengths_cross_where_they_should():
    nonlinear, linear = theory.strengths(theory.crossing())
    assert nonlinear == pytest.approx(linear, rel=1e-14) and theory.crossing() == pytest.approx(np.sqrt(2 / 3))


@pytest.mark.parametrize(("separation", "sizes"), [(0.0, [1] * 4), (1.4, [1, 1, 1, 1, 2, 2]), (1.42, [2, 2])])
def test_single_examples_are_kept_up_to_the_root_of_two(separation, sizes):
    world = logic.margin(separation)
    kept = theory.self_consistent_sets(world.inputs, world.targets[:, 0])
    assert sorted(kept.sum(axis=1)) == sizes


def test_the_index_of_a_nonlinear_solution():
    """A rectified network with one unit for each example, asked without the third input."""
    world = logic.margin(0.7)
    size = np.linalg.norm(world.inputs, axis=1)
    units = world.inputs / size[:, None] ** 2
    answers = np.maximum(world.inputs @ units.T, 0) @ world.targets[:, 0]
    np.testing.assert_allclose(answers, world.targets[:, 0])
    without = np.maximum((world.inputs * [1, 1, 0]) @ units.T, 0) @ world.targets[:, 0]
    np.testing.assert_allclose(2 * np.mean(without * world.targets[:, 0]) - 1, theory.pure_index(0.7))


def test_free_growth_against_random_units_in_the_whole_loss():
    """Units of a wide network, drawn at random and integrated without the race's ideas, have the predicted starts."""
    world, count, step, steps = logic.margin(0.8), 4000, 0.02, 600
    generator = np.random.default_rng(1)
    incoming, outgoing = generator.normal(size=(count, 3)), generator.normal(size=count)
    for _ in range(steps):
        push = ((incoming @ world.inputs.T > 0) * world.targets[:, 0]) @ world.inputs / 4
        incoming, outgoing = incoming + step * outgoing[:, None] * push, outgoing + step * (incoming * push).sum(axis=1)
    size = (incoming @ world.inputs.T > 0).sum(axis=1)
    strength = np.linalg.norm(incoming, axis=1) * np.abs(outgoing)
    found = theory.captured(np.array([0.8]))
    for active, paths, rate, start in zip((1, 2), (4, 2), theory.strengths(0.8), found, strict=True):
        grown = np.exp(2 * rate * step * steps)
        np.testing.assert_allclose(strength[size == active].sum() / count / paths / grown, start[0], rtol=0.1)


def in_small_steps(separation, step, until, start):
    """The free growth of `captured` by Euler's method; the growing part of units in a set they keep."""
    world, steps = logic.margin(separation), round(until / step)
    incoming, outgoing, push = start[:, :3], start[:, 3], np.zeros((len(start), 3))
    for _ in range(steps):
        push = ((incoming @ world.inputs.T > 0) * world.targets[:, 0]) @ world.inputs / 4
        incoming, outgoing = incoming + step * outgoing[:, None] * push, outgoing + step * (incoming * push).sum(axis=1)
    size = (incoming @ world.inputs.T > 0).sum(axis=1)
    for active, paths, rate in zip((1, 2), (4, 2), theory.strengths(separation), strict=True):
        growing = (outgoing + (incoming * push).sum(axis=1) / rate) / 2
        kept = (size == active) & np.isclose(np.linalg.norm(push, axis=1), rate)
        yield (growing[kept] ** 2).sum() / len(start) / paths / (1 + step * rate) ** (2 * steps)


@pytest.mark.parametrize(("separation", "until"), [(0.1, 60.0), (1.0, 15.0)])
def test_free_growth_is_the_limit_of_small_steps(separation, until):
    exact = theory.captured(separation, units=1024)
    for step, tolerance in ((0.04, 0.02), (0.01, 0.005)):
        found = [*in_small_steps(separation, step, until, theory._normal_points(1024))]
        np.testing.assert_allclose(found, exact, rtol=tolerance)


def test_units_that_slide():
    """On for both examples of a class at the start, with the wrong output weight: most of these slide for a while."""
    start, inputs = theory._normal_points(4096), logic.margin(0.6).inputs
    wrong = (start[:, :3] @ inputs[:2].T > 0).all(axis=1) & (start[:, 3] < 0)
    exact = free_growth(0.6, start[wrong])[1:3] / wrong.sum() / [4, 2]
    np.testing.assert_allclose([*in_small_steps(0.6, 0.005, 25.0, start[wrong])], exact, rtol=0.03)


def test_narrow_margins_are_all_nonlinear():
    nonlinear, linear = theory.captured([0.01, 0.03, 0.1])
    np.testing.assert_allclose(nonlinear, [0.1647, 0.1637, 0.1622], rtol=0.01)
    assert np.all(np.diff(linear) > 0) and linear[0] < 0.001 and linear[2] == pytest.approx(0.0109, rel=0.03)


def test_times_and_margins_of_any_shape():
    race = theory.race([0.02, 0.03], 0.003, [0.3, 0.9])
    times = np.array([[3.0, 0.0], [7.0, 3.0]])
    course = race(times)["linear"]
    assert course.shape == (2, 2, 2)
    np.testing.assert_allclose(course[0, 1], 0.003)
    np.testing.assert_array_equal(course[0, 0], course[1, 1])
    np.testing.assert_allclose(race(3.0)["linear"], course[0, 0], rtol=1e-9)
    np.testing.assert_allclose(race([0.0])["linear"], 0.003 * np.ones((1, 2)))
    assert [part.shape for part in theory.captured(0.5, units=64)] == [(), ()]
    np.testing.assert_allclose(theory.strengths([0.5])[1], [0.25])
    np.testing.assert_allclose(theory.pure_index([0, 1]), [1, 1 / 3])
    with pytest.raises(ArgumentError, match="`time` must be finite and not negative"):
        race([-1.0])


def test_what_cannot_be_is_refused():
    with pytest.raises(ArgumentError, match="`separation` must be positive"):
        theory.captured(np.array([0.0]))
    with pytest.raises(ArgumentError, match="`nonlinear` must be zero or positive"):
        theory.race(-1.0, 1.0, 0.5)
    with pytest.raises(ArgumentError, match="`linear` must be positive where `nonlinear` is zero"):
        theory.race(0.0, 1.0, 0.0)
    with pytest.raises(ArgumentError, match="`linear` must be positive where `nonlinear` is zero"):
        theory.single_share(0.0, 0.0)
    with pytest.raises(ArgumentError, match="`examples` must be at least 1"):
        theory.strengths(1.0, 0)
    with pytest.raises(ArgumentError, match=r"`nonlinear` must be zero or positive, and at most 1e\+40"):
        theory.race(1e200, 1.0, 0.5)
    with pytest.raises(ArgumentError, match="`units` must be a power of 2"):
        theory.captured(np.array([0.5]), units=100)


def test_a_start_is_found_from_the_loss_it_leads_to():
    """Between points of the grid, and the same for several losses at once as for one."""
    starts, time = np.array([1.1e-3, 1.6e-3, 2.3e-3]), np.linspace(0, 40, 200)
    losses = theory.xor(starts)(time)["loss"]
    np.testing.assert_allclose(theory.xor_start(time, losses, 1.5e-3), starts, rtol=1e-4)
    np.testing.assert_allclose(theory.xor_start(time, losses[:, :1], 1.5e-3), starts[:1], rtol=1e-4)
