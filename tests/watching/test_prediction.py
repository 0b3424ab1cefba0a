"""What theory has for linear networks with the same start, beside simulated ones of any depth."""

import numpy as np
import pytest

import festina as fs
from festina.watching import linear_flow
from festina.watching.course import DataModes
from festina.watching.linear_flow import LinearFlow
from festina.watching.prediction import course_of
from watching.small import curved, linear, task, trained, weights


@pytest.fixture
def random():
    return np.random.default_rng(1)


def white(random):
    """Eight probes with Σxx = I, and targets of three modes of strengths 3, 2 and 1."""
    inputs = np.concatenate([2 * np.eye(4), -2 * np.eye(4)])
    turn, _ = np.linalg.qr(random.normal(size=(3, 3)))
    return inputs, inputs @ np.linalg.qr(random.normal(size=(4, 4)))[0][:, :3] * np.array([3.0, 2.0, 1.0]) @ turn


def deep(parameters, inputs):
    """A linear network of as many layers as there are."""
    for name in sorted(parameters):
        inputs = inputs @ parameters[name]["weight"].T
    return inputs


def layers(*matrices):
    return {f"layer{place}": {"weight": matrix} for place, matrix in enumerate(matrices)}


def watched(start, inputs, targets, rate, given, steps):
    """A network under small steps on the mean loss of its probes."""
    seen = fs.watch((deep, start), inputs, targets, rate=given)
    return trained(seen, np.sqrt(len(inputs)), steps, rate).data


@pytest.mark.mostly_full
@pytest.mark.parametrize("rate", [0.002, None])
def test_modes_of_a_linear_network_are_learned_as_theory_predicts(random, rate):
    """White inputs and small weights; with the rate, and with time taken from the strongest mode."""
    inputs, targets = white(random)
    start = weights(random, (4, 400, 3), scale=1e-3)  # so wide that modes share next to no hidden units
    seen = fs.watch((linear, start), inputs, targets, rate=rate)
    report = trained(seen, np.sqrt(8.0), 4096, 0.002)  # of the mean over eight probes
    gap = abs(report.data["learned"] - report.data["predicted"]).max("step").values
    assert np.all(gap < 0.02), gap
    assert float(report.data["learned"][-1].min()) > 0.98


@pytest.mark.parametrize("given", [0.002, None])
def test_decoupled_layers_of_any_number_learn_as_chains(random, given):
    """Three layers that are balanced and share no units, U R' R V' with the data's own modes."""
    inputs, targets = white(random)
    modes = DataModes.of(inputs, targets)
    size, turns = 0.3 * np.eye(3), [np.linalg.qr(random.normal(size=(5, 5)))[0][:, :3] for _ in range(2)]
    start = layers(turns[0] @ size @ modes.right.T, turns[1] @ size @ turns[0].T, modes.left @ size @ turns[1].T)
    data = watched(start, inputs, targets, 0.002, given, 2048)
    assert data["learned"].attrs["prediction"] == "3 linear layers from the same start, mode by mode"
    gap = abs(data["learned"] - data["predicted"]).max("step").values
    assert np.all(gap < 0.01), gap
    assert float(data["learned"][-1].min()) > 0.95


@pytest.mark.mostly_full
@pytest.mark.parametrize("given", [0.002, None])
def test_random_layers_learn_as_their_flow(random, given):
    """Four layers of random weights, and inputs that are not white: no closed form, but a flow."""
    inputs, targets = (each - each.mean(axis=0) for each in task(random))
    shapes = ((6, 4), (5, 6), (6, 5), (3, 6))
    start = layers(*(0.6 * random.normal(size=shape) / np.sqrt(shape[1]) for shape in shapes))
    data = watched(start, inputs, targets, 0.002, given, 2048)
    assert data["learned"].attrs["prediction"] == "4 linear layers from the same start, by their gradient flow"
    gap = abs(data["learned"] - data["predicted"]).max("step").values
    assert np.all(gap < 0.01), gap
    assert float(data["learned"][-1, 0]) > 0.5


def test_the_flow_is_the_closed_form_where_there_is_one(random):
    inputs, targets = white(random)
    modes, times = DataModes.of(inputs, targets), np.array([0.0, 0.3, 1.0, 3.0, 10.0])
    turn = np.linalg.qr(random.normal(size=(5, 5)))[0][:, :3]
    two = [turn * np.array([0.1, 0.2, 0.3]) @ modes.right.T, modes.left * np.array([0.3, 0.1, 0.2]) @ turn.T]
    three = [0.4 * turn @ modes.right.T, 0.4 * turn @ turn.T, 0.4 * modes.left @ turn.T]
    for start in (two, three):
        closed, flow = course_of(start, modes), LinearFlow.of(start, modes)
        assert "mode by mode" in closed.words
        np.testing.assert_allclose(flow.learned(times), closed.learned(times), atol=1e-5)
        assert flow.reach(0.4) == pytest.approx(closed.reach(0.4), rel=1e-5)


def test_where_there_is_no_prediction_a_sentence_says_why(random, monkeypatch):
    inputs, targets = task(random)
    labels = random.integers(0, 3, 12)

    def said(model, targets, rate: float | None = 0.1):
        data = fs.watch(model, inputs, targets, rate=rate).report().data
        assert "predicted" not in data
        return data["learned"].attrs["prediction"]

    assert "cross-entropy" in said((linear, weights(random)), labels)
    assert "`rate` is not given" in said((curved, weights(random, bias=True)), targets, rate=None)
    kernels = {"only": {"weight": random.normal(size=(3, 4, 1))}}
    assert "one matrix after the other" in said((lambda now, x: x @ now["only"]["weight"][:, :, 0].T, kernels), targets)
    three = layers(*(random.normal(size=shape) for shape in ((4, 4), (4, 4), (3, 4))))
    assert "predicted" in fs.watch((deep, three), inputs, targets, rate=0.1).report().data
    monkeypatch.setattr(linear_flow, "MOST_WEIGHTS", 10)
    assert "44 weights take too long (10 at most)" in said((deep, three), targets)
    monkeypatch.undo()
    monkeypatch.setattr(linear_flow, "MOST_RATES", 3)
    seen = fs.watch((deep, three), inputs, targets, rate=0.1)
    seen(1, three)
    assert "takes too long" in seen.report().data["learned"].attrs["prediction"]
