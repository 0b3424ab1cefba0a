"""The linearised twin: against the exponential of its kernel, small steps, and the law of its error in the scale α."""

import jax
import numpy as np
import pytest
from scipy.linalg import expm

import festina as fs
from festina.watching.labelled_twin import LabelledTwin, cross_entropy
from festina.watching.outside import take_in
from festina.watching.tangent import WHOLE, Tangents
from festina.watching.twin import Twin, curvature
from watching.small import curved, linear, task, weights


@pytest.fixture
def random():
    return np.random.default_rng(1)


def around(apply, parameters, inputs):
    network = take_in((apply, parameters), inputs)
    return network, network.linearised(network.parameters())


def kernel_of(network, point):
    tangents = Tangents.of(network, network.parameters(), point.answers.shape[1], len(point.answers))
    return tangents.kernels(point)[WHOLE].matrix


@pytest.mark.parametrize("moment", [0.0, 0.01, 0.3, 5.0, 1e6])
def test_the_twin_is_the_exponential_of_its_kernel(random, moment):
    inputs, targets = task(random)
    network, point = around(curved, weights(random, bias=True), inputs)
    wanted = expm(-moment * kernel_of(network, point)) @ (point.answers - targets).ravel()
    found = Twin.of(point, targets).error(moment).ravel()
    np.testing.assert_allclose(found, wanted, atol=1e-8 * np.linalg.norm(point.answers - targets))


def test_the_gap_of_the_twin_itself_is_nothing(random):
    inputs, targets = task(random)
    _, point = around(curved, weights(random, bias=True), inputs)
    twin = Twin.of(point, targets)
    for moment in (0.1, 1.0, 10.0):
        assert twin.gap(targets + twin.error(moment)) < 1e-6
    assert np.isnan(twin.gap(point.answers))  # which have not moved
    assert np.isnan(twin.gap(point.answers + 10 * (point.answers - targets)))  # a loss that the twin never has


def test_a_network_without_hidden_layers_is_its_own_twin(random):
    """f = Wx is linear in W: neither curvature nor gap, whatever it learns."""
    inputs, targets = task(random)

    def single(parameters, inputs):
        return inputs @ parameters["only"]["weight"].T

    start = {"only": {"weight": random.normal(size=(3, 4))}}
    network, point = around(single, start, inputs)
    now, twin = dict(network.parameters()), Twin.of(point, targets)
    for _ in range(500):
        error = inputs @ now["only.weight"].T - targets
        now = {"only.weight": now["only.weight"] - 1e-4 * error.T @ inputs}
    answers = network.answers(now)
    assert curvature(point, network.parameters(), now, answers) < 1e-12
    assert twin.gap(answers) < 1e-3  # of steps that are small, not infinitely so


def test_a_twin_of_classes_is_small_steps_at_equal_loss(random):
    inputs, labels = random.normal(size=(10, 4)), random.integers(0, 3, 10)
    network, point = around(curved, weights(random, bias=True), inputs)
    kernel, answers = kernel_of(network, point), point.answers.ravel()
    found = LabelledTwin.of(point, labels)
    for _ in range(4000):
        scores = np.exp(answers.reshape(10, 3))
        error = scores / scores.sum(axis=1, keepdims=True) - np.eye(3)[labels]
        answers = answers - 0.02 * kernel @ error.ravel() / 10
    assert found.losses[-1] < cross_entropy(answers.reshape(10, 3), labels) < found.losses[0]
    assert found.gap(answers.reshape(10, 3)) < 0.03
    assert np.all(np.diff(found.losses) < 0)


def trained(seen, scale, steps, rate):
    """Gradient descent on the probes, with the rate that makes answers of any scale as fast; seen by a watch."""
    network, targets = seen.start.network, seen.start.targets.values
    now, structure = network.parameters(), jax.tree.structure(network.start)

    @jax.jit
    def step_of(now):
        answers, pull = jax.vjp(network.apply, now)
        change = pull((answers - targets) / scale**2)[0]
        return {name: value - rate * change[name] for name, value in now.items()}

    for step in range(1, steps + 1):
        now = step_of(now)
        if step in seen.schedule:
            seen(step, jax.tree.unflatten(structure, [now[name] for name in sorted(now)]))
    return seen.report()


def scaled(parameters, scale):
    """Chizat's α: answers α(f(θ) − f(θ₀))."""
    return lambda now, inputs: scale * (curved(now, inputs) - curved(parameters, inputs))


def test_curvature_falls_with_the_scale_of_the_output(random):
    """Trained to the same targets, a network has a second order that is smaller by 1/α: from rich to lazy."""
    (inputs, targets), start = task(random), weights(random, bias=True)
    reports = {}
    for scale in (0.1, 4.0, 16.0, 64.0):
        reports[scale] = trained(fs.watch((scaled(start, scale), start), inputs, targets), scale, 512, 0.02)
    found = np.array([float(report.data["curvature"][-1]) for report in reports.values()])
    assert np.all(np.diff(found) < 0), found
    ratios = found[1:-1] / found[2:]
    assert np.all((ratios > 3) & (ratios < 5)), found
    assert [reports[scale].verdict.word for scale in (0.1, 64.0)] == ["rich", "lazy"], found


def test_a_deep_linear_network_from_small_weights_is_rich(random):
    inputs, targets = task(random)
    seen = fs.watch((linear, weights(random, scale=0.02)), inputs, targets)
    report = trained(seen, 1.0, 1024, 0.01)
    assert report.verdict.word == "rich", report
    assert float(report.data["imbalance"][-1, 0]) < 0.02
    assert float(report.data["drift"][-1, 0]) < 0.02  # as gradient flow keeps it
    np.testing.assert_allclose(report.data["learned"][-1], 1.0, atol=0.05)


@pytest.mark.parametrize("rate", [0.002, None])
def test_modes_of_a_linear_network_are_learned_as_theory_predicts(random, rate):
    """White inputs and small weights; with the rate, and with time taken from the strongest mode."""
    inputs = np.concatenate([2 * np.eye(4), -2 * np.eye(4)])
    turn, _ = np.linalg.qr(random.normal(size=(3, 3)))
    targets = inputs @ np.linalg.qr(random.normal(size=(4, 4)))[0][:, :3] * np.array([3.0, 2.0, 1.0]) @ turn
    start = weights(random, (4, 400, 3), scale=1e-3)  # so wide that modes share next to no hidden units
    seen = fs.watch((linear, start), inputs, targets, rate=rate)
    report = trained(seen, np.sqrt(8.0), 4096, 0.002)  # of the mean over eight probes
    gap = np.abs(report.data["learned"] - report.data["predicted"]).max("step").values
    assert np.all(gap < 0.02), gap
    assert float(report.data["learned"][-1].min()) > 0.98


def test_other_networks_have_no_such_course(random):
    inputs, targets = task(random)
    deep = {"a": {"weight": np.eye(4)}, "b": {"weight": np.eye(4)}, "c": {"weight": np.ones((3, 4))}}

    def three(parameters, inputs):
        return inputs @ parameters["a"]["weight"].T @ parameters["b"]["weight"].T @ parameters["c"]["weight"].T

    assert "predicted" not in fs.watch((three, deep), inputs, targets).report().data
    labels = random.integers(0, 3, 12)
    assert "predicted" not in fs.watch((linear, weights(random)), inputs, labels, rate=0.1).report().data
