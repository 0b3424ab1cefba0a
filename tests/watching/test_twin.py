"""The linearised twin: against the exponential of its kernel, small steps, and the law of its error in the scale α."""

import numpy as np
import pytest
from scipy.linalg import expm

import festina as fs
from festina.watching.labelled_twin import LabelledTwin, cross_entropy
from festina.watching.outside import take_in
from festina.watching.tangent import WHOLE, Tangents
from festina.watching.twin import Twin, curvature, gap
from narrowing import there
from watching.small import curved, linear, task, trained, weights


@pytest.fixture
def random():
    return np.random.default_rng(1)


def around(apply, parameters, inputs):
    network = take_in((apply, parameters), inputs)
    return network, network.linearised(network.parameters())


def parted(twin, point, answers):
    """The gap of a network that is trained on its probes."""
    return gap(twin.at_equal_loss(answers), point.answers, answers).value


def kernel_of(network, point):
    tangents = Tangents.of(network, network.parameters(), point.answers.shape[1], len(point.answers))
    return there(tangents.kernels(point)[WHOLE].matrix)


@pytest.mark.parametrize("moment", [0.0, 0.01, 0.3, 5.0, 1e6])
def test_the_twin_is_the_exponential_of_its_kernel(random, moment):
    inputs, targets = task(random)
    network, point = around(curved, weights(random, bias=True), inputs)
    wanted = expm(-moment * kernel_of(network, point)) @ (point.answers - targets).ravel()
    found = Twin.of(point, targets).error(moment).ravel()
    np.testing.assert_allclose(found, wanted, atol=1e-8 * float(np.linalg.norm(point.answers - targets)))


def test_the_gap_of_the_twin_itself_is_nothing(random):
    inputs, targets = task(random)
    _, point = around(curved, weights(random, bias=True), inputs)
    twin = Twin.of(point, targets)
    for moment in (0.1, 1.0, 10.0):
        assert parted(twin, point, targets + twin.error(moment)) < 1e-6
    assert np.isnan(parted(twin, point, point.answers))  # which have not moved
    assert np.isnan(parted(twin, point, point.answers + 10 * (point.answers - targets)))  # a loss it never has


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
    assert curvature(point, network.parameters(), now, answers).value < 1e-12
    assert parted(twin, point, answers) < 1e-3  # of steps that are small, not infinitely so


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
    assert parted(found, point, answers.reshape(10, 3)) < 0.03
    assert np.all(np.diff(found.losses) < 0)


def scaled(parameters, scale):
    """Chizat's α: answers α(f(θ) − f(θ₀))."""
    return lambda now, inputs: scale * (curved(now, inputs) - curved(parameters, inputs))


@pytest.mark.full
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
