"""A twin that is trained on what the network is trained on: exact flows, α, and what a wrong argument is told."""

import jax
import numpy as np
import pytest
from scipy.linalg import expm

import festina as fs
from festina.errors import ArgumentError
from festina.watching import training
from festina.watching.labelled_twin import LabelledTwin
from festina.watching.outside import take_in
from festina.watching.tangent import Tangents
from festina.watching.twin import Twin, gap
from narrowing import there
from watching.small import curved, task, weights


@pytest.fixture
def random():
    return np.random.default_rng(4)


def single(parameters, inputs):
    """Linear in its parameters, though not in its inputs."""
    return np.cos(1.0) * inputs**3 @ parameters["only"]["weight"].T


def around(apply, parameters, *sets):
    """The network around its start, on each set of inputs."""
    networks = [take_in((apply, parameters), inputs) for inputs in sets]
    return [network.linearised(network.parameters()) for network in networks]


def cross_kernels(apply, parameters, examples, probes):
    """K on the examples, and between probes and examples, from the derivatives of both together."""
    network = take_in((apply, parameters), np.concatenate([examples, probes]))
    point = network.linearised(network.parameters())
    outputs = point.answers.shape[1]
    tangents = Tangents.of(network, network.parameters(), outputs, len(point.answers))
    whole = there(tangents.kernels(point)["all"].matrix)
    rows = len(examples) * outputs
    return whole[:rows, :rows], whole[rows:, :rows]


@pytest.mark.parametrize("moment", [0.0, 0.01, 0.3, 5.0])
def test_the_twin_on_probes_is_that_of_cross_kernels(random, moment):
    """f₀ − K_pt K_tt⁻¹(1 − e^{−sK_tt})(f₀ − y)_t, with kernels that are formed."""
    (examples, targets), probes, start = task(random, 8), random.normal(size=(5, 4)), weights(random, bias=True)
    trained, seen = around(curved, start, examples, probes)
    own, across = cross_kernels(curved, start, examples, probes)
    error = (trained.answers - targets).ravel()
    passed = np.linalg.solve(own, (np.eye(len(own)) - expm(-moment * own)) @ error)
    wanted = seen.answers.ravel() - across @ passed
    found = Twin.of(trained, targets, seen).answers(moment).ravel()
    np.testing.assert_allclose(found, wanted, atol=1e-7)


def test_the_labelled_twin_on_probes_takes_the_same_steps(random):
    """Where probes are the examples, in another order, so are the answers."""
    inputs, labels = random.normal(size=(9, 4)), np.tile([0, 1, 2], 3)
    order, start = random.permutation(9), weights(random, bias=True)
    point, other = around(curved, start, inputs, inputs[order])
    alone, both = LabelledTwin.of(point, labels), LabelledTwin.of(point, labels, other)
    early = alone.losses > 0.01  # later on steps are as long as can be, and rounding grows
    np.testing.assert_allclose(both.losses[: early.sum()], alone.losses[early], rtol=1e-9)
    np.testing.assert_allclose(both.answers[: early.sum()], alone.answers[early][:, order], atol=1e-8)


def test_a_network_that_is_linear_in_its_parameters_has_no_gap(random):
    """Its gradient flow on the examples, exact: W(t) = W* + (W₀ − W*) e^{−t XᵀX}."""
    (examples, targets), (probes, wanted) = task(random), task(random, 7)
    start = {"only": {"weight": random.normal(size=(3, 4))}}
    seen = fs.watch((single, start), probes, wanted, training=(examples, targets))
    features = np.cos(1.0) * examples**3
    best = now = np.linalg.lstsq(features, targets, rcond=None)[0].T
    for step, time in enumerate((1e-4, 1e-3, 1e-2), start=1):
        now = best + (start["only"]["weight"] - best) @ expm(-time * features.T @ features)
        assert seen(step, {"only": {"weight": now}}).scalars["gap"] < 1e-6
    data = seen.report().data
    assert np.all(np.diff(data["training_loss"]) < 0)
    assert data["training_loss"][-1] == pytest.approx(np.sum((features @ now.T - targets) ** 2) / 2 / len(examples))


def taught(start, scale, examples, targets, probes, wanted):
    """Chizat's α(f(θ) − f(θ₀)), under small steps on the examples, seen on other probes."""

    def apply(now, inputs):
        return scale * (curved(now, inputs) - curved(start, inputs))

    seen = fs.watch((apply, start), probes, wanted, training=(examples, targets))
    slope = jax.jit(jax.grad(lambda now: ((apply(now, examples) - targets) ** 2).sum() / 2 / scale**2))
    now = start
    for step in range(1, 2001):
        now = jax.tree.map(lambda weight, change: weight - 0.001 * change, now, slope(now))
        if step > 60 and step in seen.schedule:
            seen(step, now)
    return seen.report()


@pytest.mark.full
def test_the_gap_falls_with_the_scale_of_the_output(random):
    """As 1/α, on probes that the network has never seen, and the verdict is from what it is trained on."""
    inputs, outputs = task(random, 18)
    examples, targets, probes, wanted = inputs[:10], outputs[:10], inputs[10:], outputs[10:]
    start = weights(random, bias=True)
    reports = {scale: taught(start, scale, examples, targets, probes, wanted) for scale in (0.05, 4.0, 16.0, 64.0)}
    gaps = np.array([float(report.data["gap"].max()) for report in reports.values()])
    assert np.all(np.diff(gaps) < 0), gaps
    ratios = gaps[1:-1] / gaps[2:]
    assert np.all((ratios > 3) & (ratios < 5)), gaps
    lazy, rich = reports[64.0].verdict, reports[0.05].verdict
    assert (lazy.word, rich.word) == ("lazy", "rich")
    assert any("linearised twin, trained alike" in reason for reason in lazy.reasons), lazy
    assert not any("give `training`" in doubt for doubt in (*lazy.doubts, *rich.doubts))


def test_a_twin_trained_elsewhere_has_a_gap(random):
    """The gap to a twin on other examples is no gap of the network: it needs the examples."""
    (examples, targets), (probes, wanted) = task(random), task(random, 7)
    start = {"only": {"weight": random.normal(size=(3, 4))}}
    features = np.cos(1.0) * examples**3
    now = start["only"]["weight"] - 1e-3 * (features @ start["only"]["weight"].T - targets).T @ features
    trained, seen = around(single, start, examples, probes)
    answers = features @ now.T, np.cos(1.0) * probes**3 @ now.T
    right = gap(Twin.of(trained, targets, seen).at_equal_loss(answers[0]), seen.answers, answers[1])
    wrong = gap(Twin.of(seen, wanted).at_equal_loss(answers[1]), seen.answers, answers[1])
    assert right.value < 0.1
    assert np.isnan(wrong.value) or wrong.value > 3 * right.value


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (np.ones((5, 4)), r"`training` must be a pair \(inputs, targets\)"),
        ((np.ones(4), np.ones(4)), r"`training` must be two probes or more"),
        ((np.ones((5, 9)), np.ones((5, 3))), r"`training` must be what the network takes, but it says"),
        ((np.ones((5, 4)), np.ones((6, 3))), r"`training`: Argument `targets` must be 5"),
        ((np.ones((5, 4)), [0, 1, 2, 0, 1]), r"`training` must have classes if the probes do"),
        ((np.full((5, 4), np.nan), np.ones((5, 3))), r"`training` must be finite everywhere"),
        ((np.ones((50, 4)), np.ones((50, 3))), r"`training` must be 20 examples at most"),
    ],
)
def test_examples_that_do_not_fit_are_refused(random, given, said, monkeypatch):
    monkeypatch.setattr(training, "MOST", 20)
    inputs, targets = task(random)
    with pytest.raises(ArgumentError, match=said):
        fs.watch((curved, weights(random, bias=True)), inputs, targets, training=given)


def test_checkpoints_know_their_examples_too(random):
    (inputs, targets), (examples, answers) = task(random), task(random, 20)
    start, end = weights(random, bias=True), weights(random, bias=True)
    seen = fs.watch((curved, start), inputs, targets, training=(examples, answers))
    seen(9, end)
    again = fs.diagnose({0: start, 9: end}, curved, inputs, targets, training=(examples, answers))
    assert seen.report().data.equals(again.data)
