"""Tangent kernels on probes: against the closed form of linear networks, and projections against the whole."""

import jax
import numpy as np
import pytest

import festina as fs
from festina.measures.kernels import empirical_kernel
from festina.watching import tangent
from festina.watching.outside import take_in
from festina.watching.tangent import DIRECTIONS, WHOLE, Kernel, Tangents
from narrowing import there
from watching.small import curved, linear, task, weights


@pytest.fixture
def random():
    return np.random.default_rng(0)


def kernels(apply, parameters, inputs):
    network = take_in((apply, parameters), inputs)
    point = network.parameters()
    around = network.linearised(point)
    return Tangents.of(network, point, around.answers.shape[1], len(inputs)).kernels(around)


def projected(network, around, directions, seed):
    probes, outputs = around.answers.shape
    return Tangents.of(network, network.parameters(), outputs, probes, seed=seed, directions=directions).kernels(around)


def test_the_kernel_of_a_linear_network_is_its_closed_form(random):
    parameters, (inputs, _) = weights(random), task(random)
    found = kernels(linear, parameters, inputs)
    first, second = parameters["first"]["weight"], parameters["second"]["weight"]
    wanted = empirical_kernel(first, second, inputs.T)  # outputs before probes
    rows = np.arange(36).reshape(3, 12).T.ravel()  # ours are probes before outputs
    whole, one, two = (there(found[name].matrix) for name in (WHOLE, "first", "second"))
    np.testing.assert_allclose(whole, np.asarray(wanted)[np.ix_(rows, rows)], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(one + two, whole, rtol=1e-13)


def test_measures_are_those_of_linear_networks_from_grams(random):
    (inputs, targets), start, end = task(random), weights(random), weights(random)
    before, after = (kernels(linear, each, inputs)[WHOLE] for each in (start, end))
    grams = (
        np.stack([each["first"]["weight"].T @ each["first"]["weight"] for each in (start, end)]),
        np.stack([each["second"]["weight"] @ each["second"]["weight"].T for each in (start, end)]),
    )
    moved = np.asarray(fs.measures.kernel_movement(*grams, inputs=inputs.T))[1]
    turned = np.asarray(fs.measures.kernel_distance(*grams, inputs=inputs.T))[1]
    aligned = np.asarray(fs.measures.target_alignment(*grams, targets.T, inputs=inputs.T))
    assert tangent.movement(after, before) == pytest.approx(moved, rel=1e-12)
    assert tangent.distance(after, before) == pytest.approx(turned, rel=1e-10)
    assert tangent.alignment(before, targets) == pytest.approx(aligned[0], rel=1e-12)
    assert tangent.alignment(after, targets) == pytest.approx(aligned[1], rel=1e-12)


def test_numbers_of_a_flow_are_those_of_the_exact_solution(random):
    """Weights of a λ-balanced network at three times of its gradient flow, and the grams that theory has for them."""
    world = fs.worlds.Dataset(2 * np.eye(4), random.normal(size=(4, 3)))
    network = fs.networks.DeepLinear.balanced(jax.random.key(1), (4, 3, 3), imbalance=0.7, scale=0.4)
    run, times = fs.flow(network, world, until=3.0, dense=True), np.array([0.0, 0.5, 1.0, 3.0])
    moments = world.moments
    variance = float(np.asarray(moments.inputs)[0, 0])
    first, second = run.initial.weights
    exact = fs.theory.balanced(first, second, moments.cross, input_variance=variance)(times)
    moved = fs.measures.kernel_movement(exact["input_gram"], exact["output_gram"], inputs=2 * np.eye(4))
    turned = fs.measures.kernel_distance(exact["input_gram"], exact["output_gram"], inputs=2 * np.eye(4))
    found = []
    for time in times:
        first, second = (np.asarray(weight) for weight in run(time).weights)
        found.append(kernels(linear, {"first": {"weight": first}, "second": {"weight": second}}, 2 * np.eye(4))[WHOLE])
    np.testing.assert_allclose([tangent.movement(each, found[0]) for each in found], moved, atol=1e-9)
    np.testing.assert_allclose([tangent.distance(each, found[0]) for each in found], turned, atol=1e-9)


def test_a_kernel_that_only_grows_does_not_turn(random):
    factor = random.normal(size=(6, 6))
    matrix = factor @ factor.T
    kernel = Kernel(matrix=matrix)
    assert tangent.distance(Kernel(matrix=3 * matrix), kernel) == pytest.approx(0, abs=1e-15)
    assert tangent.movement(Kernel(matrix=3 * matrix), kernel) == pytest.approx(2)


def test_projections_have_no_bias(random):
    """Means over many draws of directions are the exact numbers, within four of their standard errors."""
    (inputs, targets), parameters = task(random, probes=5), weights(random, bias=True)
    exact, network = kernels(curved, parameters, inputs), take_in((curved, parameters), inputs)
    around = network.linearised(network.parameters())
    drawn = [projected(network, around, 16, seed) for seed in range(150)]
    for layer in ("first", "second", WHOLE):
        wanted = exact[layer].inner(exact[layer]), exact[layer].trace, exact[layer].along(targets.ravel())
        seen = [each[layer] for each in drawn]
        found = np.array([(each.inner(each), each.trace, each.along(targets.ravel())) for each in seen])
        errors = found.std(axis=0) / np.sqrt(len(found))
        assert np.all(np.abs(found.mean(axis=0) - wanted) < 4 * errors)


def test_a_stated_error_is_the_spread_of_projections(random):
    inputs, _ = task(random, probes=8)
    start, end = weights(random, bias=True), weights(random, bias=True)
    before, after = (kernels(curved, each, inputs)[WHOLE] for each in (start, end))
    exact, network, scores = tangent.distance(after, before), take_in((curved, start), inputs), []
    points = [network.linearised(network.parameters(each)) for each in (start, end)]
    for seed in range(40):
        first, last = (projected(network, point, 64, seed)[WHOLE] for point in points)
        error = np.sqrt(tangent._spread(tangent._without_directions, last, first))
        scores.append((tangent.distance(last, first) - exact) / error)
    assert 0.5 < np.std(scores) < 2.0
    assert abs(np.mean(scores)) < 1.0


def test_errors_leave_out_parts_of_probes_and_of_directions(random):
    """Against kernels of which the rows, and the columns of features, are taken out."""
    inputs, _ = task(random, probes=11)
    start, end = weights(random, bias=True), weights(random, bias=True)
    network = take_in((curved, start), inputs)
    points = [network.linearised(network.parameters(each)) for each in (start, end)]
    part = np.repeat(np.arange(11) % 8, 3)

    def jackknife(distances):
        return np.var(distances) * 7

    before, after = (there(kernels(curved, each, inputs)[WHOLE].matrix) for each in (start, end))
    kept = [np.ix_(part != own, part != own) for own in range(8)]
    left = [tangent.distance(Kernel(matrix=after[rows]), Kernel(matrix=before[rows])) for rows in kept]
    found = tangent.distance_error(Kernel(matrix=after), Kernel(matrix=before), 3)
    assert found == pytest.approx(np.sqrt(jackknife(left)), rel=1e-9)

    before, after = (there(projected(network, point, 24, 0)[WHOLE].features) for point in points)
    columns = np.arange(24) % 8
    pairs = [(after[part != own], before[part != own]) for own in range(8)]
    others = [(after[:, columns != own], before[:, columns != own]) for own in range(8)]
    left = [
        [tangent.distance(Kernel(features=late), Kernel(features=early)) for late, early in way]
        for way in (pairs, others)
    ]
    found = tangent.distance_error(Kernel(features=after), Kernel(features=before), 3)
    assert found == pytest.approx(np.sqrt(jackknife(left[0]) + jackknife(left[1])), rel=1e-9)


def test_large_problems_are_projected_within_the_bound_of_memory(random, monkeypatch):
    inputs = random.normal(size=(60, 30))
    parameters = weights(random, sizes=(30, 20, 10))
    network = take_in((linear, parameters), inputs)
    drawn = Tangents.of(network, network.parameters(), 10, 60)
    assert not drawn.exact and there(drawn.directions)["first.weight"].shape == (DIRECTIONS, 20, 30)
    around = network.linearised(network.parameters())
    whole = there(drawn.kernels(around)[WHOLE].features)
    monkeypatch.setattr(tangent, "MOST_BYTES", 1)  # one direction at a time
    np.testing.assert_allclose(there(drawn.kernels(around)[WHOLE].features), whole, rtol=1e-12, atol=1e-12)


def test_a_kernel_of_nothing_has_no_direction():
    nothing, something = Kernel(matrix=np.zeros((2, 2))), Kernel(matrix=np.eye(2))
    assert np.isnan(tangent.distance(nothing, something))
    assert np.isnan(tangent.movement(something, nothing))
    assert np.isnan(tangent.alignment(nothing, np.ones((2, 1))))
    assert np.isnan(tangent.participation_ratio(nothing))
