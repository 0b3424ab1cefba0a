"""The race for one target: its courses against an independent integration, its ends against optimisation."""

import math
import sys

import jax
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

import festina as fs
from festina.errors import ArgumentError
from festina.theory.views import (
    bottleneck,
    co_occurring_end,
    competition,
    conserved,
    critical_cosine,
    end_state,
    energy_share,
    lotka_volterra,
    private_rate,
    shared_rate,
    vector_race,
)
from festina.worlds.views import co_occurring_views, similar_tasks

TIMES = np.array([30.0, 0.0, 3.0, 12.0])
START = np.array([1e-3, 2e-3, 1.5e-3])


def integrate(rate, start, times):
    """An implicit method at tight tolerance, at times in any order."""
    order = np.argsort(times)
    solved = solve_ivp(lambda _, y: rate(y), (0, times.max()), start, "LSODA", times[order], rtol=1e-11, atol=1e-15)
    return solved.y.T[np.argsort(order)]


@pytest.mark.mostly_full
@pytest.mark.parametrize("depth", [2, 3, math.inf])
def test_competition_against_an_independent_integration(depth):
    world = co_occurring_views(3, 0.6, [1.0, 0.9, 0.7])
    correlation, overlaps = np.asarray(world.strengths), np.asarray(world.overlaps)
    start = START if math.isfinite(depth) else 100 * START

    def rate(strength):
        mobility = strength**2 if math.isinf(depth) else depth * strength ** (2 - 2 / depth)
        return mobility * (correlation - overlaps @ strength)

    found = competition(depth, correlation, overlaps, start)(TIMES)["strength"]
    np.testing.assert_allclose(found, integrate(rate, start, TIMES), rtol=1e-7)


def test_pathways_that_do_not_meet_are_chains():
    correlation, diagonal = np.array([1.0, 0.5]), np.array([1.0, 2.0])
    race = competition(3, correlation, np.diag(diagonal), START[:2])
    assert race.alone is not None
    integrated = integrate(lambda a: 3 * a ** (4 / 3) * (correlation - diagonal * a), START[:2], TIMES)
    np.testing.assert_allclose(race(TIMES)["strength"], integrated, rtol=1e-7)


@pytest.mark.parametrize("late", [1e8, 1e10])
def test_a_stiff_race_is_integrated_to_its_end(late):
    """One pathway waits for 1e6 relaxation times of the others; explicit steps give up on the way."""
    correlation, overlaps = np.array([1, 0.9, 0.8]), np.array([[1, 0.5, 0.2], [0.5, 1, 0.3], [0.2, 0.3, 1]])
    race = competition(5, correlation, overlaps, 1e-12 * np.array([1, 1.2, 0.9]))
    found = race([0.0, 5e6, late, np.inf])["strength"]

    def rate(_, logs):
        strength = np.exp(logs)
        return 5 * strength**0.6 * (correlation - overlaps @ strength)

    reference = solve_ivp(rate, (0, 5e6), np.log(1e-12 * np.array([1, 1.2, 0.9])), "BDF", rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(found[1], np.exp(reference.y[:, -1]), rtol=1e-5)
    np.testing.assert_allclose(found[2:], [np.linalg.solve(overlaps, correlation)] * 2, rtol=1e-9)
    np.testing.assert_allclose(found[2], [0.697, 0.388, 0.544], atol=1e-3)


@pytest.mark.full
def test_late_times_of_species_and_vectors():
    species = lotka_volterra([[1.0, 1.3], [1e6, 2e6]], [[0.02, 0.01], [1e-9, 1e-9]], capacity=2.0)
    found = species([3e-6, 1e9, np.inf])["strength"]
    np.testing.assert_allclose(found[1:], [species.end] * 2, rtol=1e-9)
    np.testing.assert_allclose(found[0, 1], 1e-9 * np.exp([3.0, 6.0]), rtol=1e-10)  # the capacity is still far
    world = similar_tasks(2, -0.2)
    maps = vector_race(world.cross, world.overlaps, [1e-30, 2e-30, 1e-40])
    np.testing.assert_allclose(world.overlaps @ maps(1e8)["map"], world.cross, atol=1e-7)
    with pytest.raises(ArgumentError, match="`time` must be finite"):
        maps(np.inf)


def test_small_vectors_are_as_exact_as_large_ones():
    """While all is small, every pathway grows by its own exponential."""
    world = similar_tasks(2, -0.2)
    start = np.array([1e-30, 2e-36, 1e-40])
    size = np.linalg.norm(world.cross, axis=1)
    found = np.linalg.norm(vector_race(world.cross, world.overlaps, start)(20.0)["map"], axis=-1)
    np.testing.assert_allclose(found, start * np.exp(2 * size * 20.0), rtol=1e-8)


def test_an_infinite_time_has_an_end_or_is_refused():
    together = competition(2, [1.0, 1.0], np.ones((2, 2)), [0.1, 0.2])
    with pytest.raises(ArgumentError, match="`time` must be finite where D is singular"):
        together(np.inf)
    apart = competition(2, [1.0, 1.0], np.eye(2), [0.1, 0.2])
    np.testing.assert_allclose(apart(np.inf)["strength"], 1.0)
    with pytest.raises(ArgumentError, match="`timescale` must be one positive number"):
        competition(2, [1.0, 1.0], np.ones((2, 2)), [0.1, 0.2], timescale=0.0)
    with pytest.raises(ArgumentError, match="`overlaps` must be a Gram matrix"):
        vector_race(np.ones((2, 1)), np.array([[1.0, 2.0], [2.0, 1.0]]), [0.1, 0.1])
    for shape, paths in (((3, 1), 2), ((2, 1), 3)):
        with pytest.raises(ArgumentError, match="`cross` must have a vector for each pathway of `initial`"):
            vector_race(np.ones(shape), np.eye(paths), [0.1, 0.1])


@pytest.mark.full
def test_what_is_unfinished_inside_a_transformation_is_no_number(monkeypatch):
    monkeypatch.setattr(sys.modules["festina.learning.flow"], "MOST_STEPS", 20)
    race = competition(2.5, [1.0, 0.9], np.array([[1.0, 0.5], [0.5, 1.0]]), [1e-3, 2e-3])
    traced = jax.jit(lambda time: race(time)["strength"])(np.array([1e-3, 1e3]))
    assert np.all(np.isfinite(traced[0])) and np.all(np.isnan(traced[1]))
    whole = race(np.array([1e-3, 1e3]))["strength"]  # outside, the implicit method takes over
    np.testing.assert_allclose(whole[1], race(np.inf)["strength"], rtol=1e-9)


def test_timescale_and_lanes():
    world = co_occurring_views(3, 0.6)
    lanes = np.stack([START, START[::-1]])
    moments = np.stack([world.strengths] * 2), np.stack([world.overlaps] * 2)
    both = competition(2, *moments, lanes, timescale=2.0)(TIMES)["strength"]
    single = competition(2, world.strengths, world.overlaps, START)(TIMES / 2)["strength"]
    np.testing.assert_allclose(both[:, 0], single, rtol=1e-8)
    np.testing.assert_allclose(both[:, 1], single[:, ::-1], rtol=1e-8)


def test_the_end_state_is_the_constrained_minimum_and_where_the_race_goes():
    """A random Gram matrix for which one pathway must be given up."""
    views = np.random.default_rng(5).normal(size=(20, 4)) + 1.0
    target = views @ np.array([1.0, 0.6, -0.5, 0.3])
    overlaps, correlation = views.T @ views / 20, views.T @ target / 20
    end = end_state(correlation, overlaps)
    assert end.unique and (end.strength == 0).any() and (end.strength > 0.1).any()

    def loss(strength):
        return 0.5 * strength @ overlaps @ strength - correlation @ strength

    constrained = minimize(loss, np.ones(4), bounds=[(0, None)] * 4, tol=1e-14)
    np.testing.assert_allclose(end.strength, constrained.x, atol=1e-4)
    race = competition(2, correlation, overlaps, np.full(4, 1e-3))(np.array([0.0, 300.0]))["strength"]
    np.testing.assert_allclose(race[-1], end.strength, atol=1e-6)


@pytest.mark.parametrize("depth", [2, 3])
def test_what_null_directions_conserve_fixes_the_end_of_co_occurring_views(depth):
    world = co_occurring_views(3, 1.0, [1.0, 0.9, 0.7])
    end = end_state(world.strengths, world.overlaps)
    assert not end.unique and end.null.shape == (3, 2)
    course = competition(depth, world.strengths, world.overlaps, START)(np.array([0.0, 20.0, 400.0]))["strength"]
    kept = conserved(depth, course, end.null)
    np.testing.assert_allclose(kept, np.broadcast_to(kept[0], kept.shape), rtol=1e-8)
    np.testing.assert_allclose(co_occurring_end(depth, world.amplitudes, START), course[-1], rtol=1e-8)
    np.testing.assert_allclose(world.overlaps @ course[-1], end.fit, atol=1e-9)


def test_depth_sharpens_what_co_occurs_and_depth_two_does_not():
    ones = np.ones(3)
    for scale in (1.0, 1e-3):
        np.testing.assert_allclose(co_occurring_end(2, ones, scale * START), START / START.sum(), rtol=1e-9)
    shares = [co_occurring_end(3, ones, scale * START).max() for scale in (1.0, 1e-3, 1e-6)]
    assert shares[0] < shares[1] < shares[2] and shares[2] > 0.999


@pytest.mark.parametrize("capacity", [0.0, -1.0, np.inf, np.nan])
def test_a_capacity_is_positive_and_finite(capacity):
    with pytest.raises(ArgumentError, match="`capacity` must be positive"):
        lotka_volterra([1.0], [0.1], capacity=capacity)


def test_lotka_volterra_keeps_ratios_and_ends_at_its_capacity():
    rates, start = np.array([1.0, 1.3, 0.8]), np.array([0.02, 0.01, 0.03])
    species = lotka_volterra(rates, start, capacity=2.0)
    found = species(TIMES)["strength"]
    integrated = integrate(lambda s: rates * s * (1 - np.sum(s**2) / 2.0), start, TIMES)
    np.testing.assert_allclose(found, integrated, rtol=1e-7)
    kept = np.log(found / start) / rates
    np.testing.assert_allclose(kept, np.broadcast_to(kept[:, :1], kept.shape), atol=1e-9)
    np.testing.assert_allclose(species.end, species(np.array([80.0]))["strength"][0], rtol=1e-9)
    np.testing.assert_allclose(np.sum(species.end**2), 2.0)


def test_a_vector_race_against_the_equation_for_maps():
    """τṁ = (|m| + m mᵀ/|m|) R, without hidden weights."""
    world = similar_tasks(2, -0.2)
    cross, overlaps = np.asarray(world.cross), np.asarray(world.overlaps)
    start = np.array([1e-3, 2e-3, 1e-3])
    maps = start[:, None] * cross / np.linalg.norm(cross, axis=1, keepdims=True)

    def rate(flat):
        found = flat.reshape(maps.shape)
        size, left = np.linalg.norm(found, axis=1, keepdims=True), cross - overlaps @ found
        return (size * left + np.sum(found * left, axis=1, keepdims=True) * found / size).ravel()

    raced = vector_race(cross, overlaps, start)(TIMES)["map"]
    np.testing.assert_allclose(raced.reshape(4, -1), integrate(rate, maps.ravel(), TIMES), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("tasks", [2, 3, 5])
def test_rates_meet_at_the_critical_cosine(tasks):
    critical = critical_cosine(tasks)
    np.testing.assert_allclose(shared_rate(tasks, critical), private_rate(tasks))
    world = similar_tasks(tasks, 0.25)
    np.testing.assert_allclose(world.strengths[:2], [shared_rate(tasks, 0.25), private_rate(tasks)])
    np.testing.assert_allclose(energy_share(tasks, 0.25), np.sum(np.mean(world.targets, axis=0) ** 2))


def test_a_bottleneck_learns_the_strongest_modes():
    strengths = np.array([0.5, 1.0, 0.8])
    np.testing.assert_array_equal(bottleneck(strengths, 2), [0.0, 1.0, 0.8])
    world = fs.worlds.Dataset(3**0.5 * np.eye(3), 3**0.5 * np.diag(strengths))
    network = fs.networks.DeepLinear(
        tuple(0.01 * np.random.default_rng(k).normal(size=s) for k, s in ((0, (2, 3)), (1, (3, 2))))
    )
    run = fs.flow(network, world, times=np.array([0.0, 200.0]))
    np.testing.assert_allclose(run["map"][-1], np.diag(bottleneck(strengths, 2)), atol=1e-6)


def test_what_has_no_solution_is_refused():
    with pytest.raises(ArgumentError, match="`depth` must be at least 2"):
        competition(1, [1.0], [[1.0]], [0.1])
    with pytest.raises(ArgumentError, match="`initial` must be positive"):
        competition(2, [1.0], [[1.0]], [0.0])
    with pytest.raises(ArgumentError, match="`strengths` must be finite"):
        competition(2, [np.nan, 1.0], np.eye(2), [0.1, 0.1])
    indefinite = np.array([[1.0, 2.0], [2.0, 1.0]])
    for refused in (lambda: competition(2, [1.0, 1.0], indefinite, [0.1, 0.1]), lambda: end_state([1, 1], indefinite)):
        with pytest.raises(ArgumentError, match="`overlaps` must be a Gram matrix"):
            refused()
    with pytest.raises(ArgumentError, match=r"`cosine` must lie between -0\.5 and 1 for 3 tasks"):
        energy_share(3, [0.0, -0.6])
    with pytest.raises(ArgumentError, match="`strengths` must lie in the range of D"):
        end_state(np.array([1.0, -1.0]), np.ones((2, 2)))
    with pytest.raises(ArgumentError, match="`time` must be finite, and not be negative"):
        lotka_volterra([1.0], [0.1])(-1.0)
    for depth in (1.5, np.nan):
        with pytest.raises(ArgumentError, match="`depth` must be at least 2"):
            co_occurring_end(depth, np.ones(2), np.array([0.1, 0.2]))
    with pytest.raises(ArgumentError, match="`initial` must be one for each amplitude"):
        co_occurring_end(3, np.ones(2), np.full(3, 0.1))
    with pytest.raises(ArgumentError, match="`initial` must be positive and finite"):
        co_occurring_end(3, np.ones(2), np.array([0.1, np.inf]))
    for strengths in ([1.0, np.nan], [[1.0]], [-1.0]):
        with pytest.raises(ArgumentError, match="`strengths` must be a row of finite numbers"):
            bottleneck(np.array(strengths), 1)
    with pytest.raises(ArgumentError, match="`tasks` must be at least 1"):
        private_rate(0)


def test_nothing_seen_is_nothing_learned():
    end = end_state([0, 0], np.zeros((2, 2)))
    np.testing.assert_array_equal([end.strength, end.fit], np.zeros((2, 2)))
    assert end.null.shape == (2, 2)
