"""Routing: the reduction, its conservation laws and closed forms, each against an independent integration."""

import jax
import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

from festina.errors import ArgumentError
from festina.theory import routing as theory
from festina.worlds.routing import ALL_PAIRS, TRAINED_PAIRS, Routing

START = (0.3, 0.5, 0.2)
EQUAL = (0.2, 0.2, 0.2)


def trained_network(world, start, until, count=50):
    """Gradient flow of the scalars of one mode, one for every domain, in the world's own loss."""
    pairs, strength = np.asarray(world.trained), float(world.strengths[1])
    domains = world.domains

    def rate(_, state):
        first, second, third = state[:domains], state[domains], state[domains + 1 :]
        error = world.weight * pairs * (strength - second * np.outer(third, first))
        return np.concatenate([second * error.T @ third, [third @ error @ first], second * error @ first])

    begin = np.concatenate([np.full(domains, start[0]), [start[1]], np.full(domains, start[2])])
    time = np.linspace(0, until, count)
    solved = solve_ivp(rate, (0, until), begin, "LSODA", time, rtol=1e-11, atol=1e-12).y
    return time, np.stack([solved[0], solved[domains], solved[-1]])


@pytest.mark.parametrize("normalisation", [ALL_PAIRS, TRAINED_PAIRS])
def test_the_reduction_is_the_flow_of_all_domains(normalisation):
    world = Routing.of(5, 3, normalisation=normalisation)
    time, layers = trained_network(world, START, 8.0)
    solution = theory.reduction(world.strengths, START, 5, 3, pair_weight=world.weight)(time)
    np.testing.assert_allclose(solution["layers"][:, :, 1].T, layers, atol=1e-8)
    kept = theory.imbalances(solution["layers"], 5)
    np.testing.assert_allclose(kept, np.broadcast_to(kept[0], kept.shape), atol=1e-9)
    start = 0.5 * 15 * world.weight * np.sum((world.strengths - np.prod(START)) ** 2)
    np.testing.assert_allclose(solution["loss"][0], start)


@pytest.mark.parametrize("start", [START, (0.1, 0.1, 0.1), (1e-3, 0.8, 1e-2), (0.1, 0.2, 4.0)])
def test_the_quadrature_tells_when(start):
    for level in (0.1, 0.5, 0.9):
        time = theory.time_to_reach(level, 6.4, start, 4, 2)
        reached = theory.reduction(6.4, start, 4, 2)(time)["strength"]
        np.testing.assert_allclose(reached, [6.4 * level], rtol=1e-8)
    assert theory.time_to_reach(0.5, 6.4, (1.6, 1.6, 1.6), 4, 2) == 0.0


def test_the_start_is_found_that_reaches_a_level_in_time():
    for start in (1e-3, 0.05, 0.9):
        time = theory.time_to_reach(0.5, 6.4, (start, start, start), 4, 2)
        np.testing.assert_allclose(theory.equal_start(time, 0.5, 6.4, 4, 2), start, rtol=1e-9)
    assert theory.equal_start(1e9, 0.5, 6.4, 4, 2) == 0.0
    assert theory.equal_start(1e-9, 0.5, 6.4, 4, 2) == np.inf


@pytest.mark.parametrize("domains", [4, 9])
@pytest.mark.parametrize("start", [(0.3, 0.5, 0.2), (0.1, 2.0, 0.100001), (1e-3, 0.8, 1e-2)])
def test_a_negative_strength_is_reached_where_one_layer_changes_its_sign(start, domains):
    def rate(_, b):
        error = -6.4 - b[0] * b[1] * b[2]
        return 2 / domains**2 * np.array([b[1] * b[2], domains * b[0] * b[2], b[0] * b[1]]) * error

    for level in (0.1, 0.9):
        time = theory.time_to_reach(level, -6.4, start, domains, 2)
        end = solve_ivp(rate, (0, time), start, "DOP853", rtol=1e-12, atol=1e-14).y[:, -1]
        np.testing.assert_allclose(np.prod(end), -6.4 * level, rtol=1e-8)


def test_a_level_that_is_never_reached_has_no_time():
    assert theory.time_to_reach(0.5, 0.0, START, 4, 2) == np.inf
    assert theory.time_to_reach(0.5, -1.0, (0.2, 0.7, 0.2), 4, 2) == np.inf  # b1 and b3 fall to zero together
    assert theory.time_to_reach(0.5, -1.0, theory.balanced_start(0.01, 6), 6, 4) == np.inf
    assert theory.time_to_reach(0.5, -1.0, (0.2, 0.2 * 6**0.5 * (1 - 2e-16), 0.3), 6, 4) == np.inf  # but for rounding
    with pytest.raises(ArgumentError, match="`strength` must be finite"):
        theory.time_to_reach(0.5, np.nan, START, 4, 2)


def test_the_quadrature_of_equal_layers():
    """t = (M²/K) ∫ db/[(b² + c0)(s − b(b² + c0)/M)], c0 = (M−1) b0², as the source has it."""
    offset, strength = 6 * 0.2**2, 3.0
    last = theory.reduction(strength, EQUAL, 7, 4)(10.0)
    done = float(last["strength"][0]) / strength
    integral = quad(
        lambda b: 1 / ((b**2 + offset) * (strength - b * (b**2 + offset) / 7)), 0.2, float(last["layers"][1, 0])
    )[0]
    np.testing.assert_allclose(49 / 4 * integral, 10.0, rtol=1e-7)
    np.testing.assert_allclose(theory.time_to_reach(done, strength, EQUAL, 7, 4), 10.0, rtol=1e-7)


@pytest.mark.parametrize(("domains", "trained"), [(1, 1), (4, 2), (7, 7)])
def test_a_balanced_start_is_a_chain_of_depth_three(domains, trained):
    time, strengths = np.linspace(0, 15, 20), np.array([6.4, 3.0])
    chain = theory.balanced(strengths, 0.05, domains, trained)(time)["product"]
    start = theory.balanced_start(0.05, domains)
    reduced = theory.reduction(strengths, start, domains, trained)(time)["strength"]
    np.testing.assert_allclose(chain, reduced, atol=1e-8)


def test_a_balanced_start_may_be_traced():
    traced = jax.jit(lambda product: theory.balanced_start(product, 4))(0.3)
    np.testing.assert_allclose(traced, theory.balanced_start(0.3, 4), rtol=1e-12)
    np.testing.assert_allclose(np.prod(theory.balanced_start([0.3, 0.2], 4), axis=0), [0.3, 0.2])


def test_the_speed_up_over_a_network_for_each_pair():
    shared = theory.time_to_reach(0.7, 3.0, theory.balanced_start(0.01, 6), 6, 4)
    alone = theory.time_to_reach(0.7, 3.0, theory.balanced_start(0.01, 1), 1, 1, pair_weight=1 / 36)
    np.testing.assert_allclose(alone / shared, theory.speed_up(6, 4), rtol=1e-9)


@pytest.mark.parametrize(("shared", "private", "trained"), [(0.1, 0.1, 1), (0.01, 0.3, 3), (1.0, 1e-4, 5)])
def test_the_race_ends_where_an_integration_ends(shared, private, trained):
    strength, domains = 3.0, 5

    def rate(_, state):
        first, second, alone = state
        error = strength - first**2 * second - alone**3
        return [trained * first * second * error, trained * domains * first**2 * error, alone**2 * error]

    begin = [*theory.balanced_start(shared, domains)[:2], private ** (1 / 3)]
    end = solve_ivp(rate, (0, 500), begin, "LSODA", rtol=1e-11, atol=1e-13).y[:, -1]
    outcome = theory.race_outcome(strength, shared, private, domains, trained)
    np.testing.assert_allclose(outcome, [end[0] ** 2 * end[1], end[2] ** 3], atol=1e-7)


def test_the_race_of_the_reduction_is_an_integration_and_ends_by_the_law():
    """Layers of both kinds of pathway one by one; from a balanced start the end is that of the conserved quantity."""
    time, initial, domains, trained = np.linspace(0, 60, 30), 0.1, 4, 2
    start = theory.balanced_start(initial, domains)

    def rate(_, b):
        error = (3.0 - b[0] * b[1] * b[2] - b[3] * b[4] * b[5]) / 16
        shared = trained * np.array([b[1] * b[2], domains * b[0] * b[2], b[0] * b[1]])
        return error * np.concatenate([shared, [b[4] * b[5], b[3] * b[5], b[3] * b[4]]])

    begin = [*start, *[initial ** (1 / 3)] * 3]
    layers = solve_ivp(rate, (0, 60), begin, "DOP853", time, rtol=1e-12, atol=1e-13).y
    found = theory.reduction(3.0, start, domains, trained, private=initial)(time)
    np.testing.assert_allclose(found["strength"][:, 0], layers[:3].prod(axis=0), atol=1e-9)
    np.testing.assert_allclose(found["private"][:, 0], layers[3:].prod(axis=0), atol=1e-9)
    error = 3.0 - layers[:3].prod(axis=0) - layers[3:].prod(axis=0)
    np.testing.assert_allclose(found["loss"], 0.5 * 8 / 16 * error**2, atol=1e-9)
    last = theory.reduction(3.0, start, domains, trained, private=initial)(1e3)["strength"][0] / 3.0
    np.testing.assert_allclose(last, theory.race_share(3.0, initial, trained, domains=domains), atol=1e-9)


def test_what_is_refused():
    with pytest.raises(ArgumentError, match="`initial` must be positive"):
        theory.time_to_reach(0.5, 1.0, (0.1, 0.0, 0.1), 2, 1)
    with pytest.raises(ArgumentError, match="`level` must lie strictly between 0 and 1"):
        theory.time_to_reach(1.0, 1.0, (0.1, 0.1, 0.1), 2, 1)
    with pytest.raises(ArgumentError, match="`shared` must sum with `private` to less than the strength"):
        theory.race_outcome(1.0, 0.6, 0.6, 2, 1)
    for time in (np.inf, np.nan, -1.0):
        with pytest.raises(ArgumentError, match="`time` must be finite and not negative"):
            theory.reduction([1.0], (0.1, 0.1, 0.1), 5, 2)(time)
    with pytest.raises(ArgumentError, match="`strengths` must be finite, one for each mode"):
        theory.reduction([np.nan], (0.1, 0.1, 0.1), 5, 2)
    with pytest.raises(ArgumentError, match="`initial` must be three layers, each one number or one for each of 2"):
        theory.reduction([1.0, 2.0], (np.ones(3), np.ones(3), np.ones(3)), 5, 2)
    with pytest.raises(ArgumentError, match="`initial` must be finite"):
        theory.reduction([1.0], (0.1, np.nan, 0.1), 5, 2)
    for product in (-1e-3, np.nan):
        with pytest.raises(ArgumentError, match="`product` must be finite and not negative"):
            theory.balanced_start(product, 5)
    for domains, trained in ((0, 1), (np.nan, 1), (2, 5)):
        with pytest.raises(ArgumentError, match="`trained` must lie between 1 and the number of domains"):
            theory.speed_up(domains, trained)


@pytest.mark.parametrize(
    "strength, start", [(6.4, (0.3, 0.5, 0.2)), (6.4, (0.0, 0.0, 0.0)), (1e-8, (1e-5, 1e-5, 1e-5))]
)
def test_times_next_to_nothing_have_an_answer(strength, start):
    """The start, moved by its rate: an integration over such a time alone would not end."""
    course, (one, two, three) = theory.reduction(strength, start, 4, 2), start
    others = np.array([two * three, one * three, one * two]) * (strength - one * two * three)
    for time in (0.0, 5e-324, 1e-300, 1e-30, 1e-12):
        layers = course(time)["layers"][:, 0]
        np.testing.assert_allclose(layers, np.array(start) + time * course.rates[:3] * others, rtol=1e-13)
