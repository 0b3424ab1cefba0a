"""Task abstractions on a stream of one's own."""

import importlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError, FestinaError
from festina.learning import JointDescent, stream_rule
from festina.networks import PathGated, Regularizer
from festina.worlds.losses import CrossEntropy, SquaredError
from narrowing import there

RULE = JointDescent(9.0, 5.0, Regularizer(0.5, 0.25))


@pytest.fixture(scope="module")
def stream():
    """Two linear tasks in eight blocks of 60 steps of 10 examples, and the true task of every step."""
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(8) % 2, 600)
    maps = np.linalg.qr(rng.normal(size=(12, 12)))[0][:6].reshape(2, 3, 12)
    inputs = rng.normal(size=(len(task), 12))
    return inputs, np.einsum("noi,ni->no", maps[task], inputs), task


def test_gates_tell_the_task(stream):
    inputs, targets, task = stream
    run = fs.abstract(inputs, targets, batch=10)
    assert run.gates.shape == (480, 2) and run.loss.shape == (480,)
    found = fs.measures.switching(run.tasks, task[::10], within=5, after=240)
    assert found.accuracy > 0.95 and found.detected == 1.0
    assert run.loss[-20:].mean() < 0.02 * run.loss[:20].mean()
    assert set(run.switches) <= set(range(480)) and "480 steps of 10 examples" in repr(run)
    final = int(found.labels[run.tasks[-1]])
    assert final == task[-1]
    np.testing.assert_allclose(run.network(inputs[-5:]), targets[-5:], atol=0.3)


def test_steps_are_those_of_a_plain_loop(stream):
    """Labels, cross-entropy, three batches by hand with autodiff."""
    inputs, labels = stream[0][:30], np.arange(30) % 4
    rule = JointDescent(2.0, 4.0, Regularizer(0.5, 0.25))
    run = fs.abstract(inputs, labels, batch=10, rule=rule, scale=0.3, seed=3)
    unit = 1 / np.sqrt(np.mean(np.sum(inputs**2, axis=1)))  # labels have a mean square of 1
    network = jax.tree.map(jnp.asarray, PathGated.init(jax.random.key(3), 2, 4, 12, 0.3 * unit))
    for step in range(3):
        x, y = jnp.asarray(inputs[10 * step : 10 * step + 10]), jnp.asarray(labels[10 * step : 10 * step + 10])

        def loss(network, x=x, y=y):
            return -jnp.mean(jax.nn.log_softmax(network(x))[jnp.arange(10), y])

        np.testing.assert_allclose(run.loss[step], loss(network), atol=1e-12)
        slope = jax.grad(lambda n, loss=loss: loss(n) + rule.regularizer(n))(network)
        students = jax.tree.map(lambda w, g: w - g / 2.0, network.students, slope.students)
        network = network.rebuilt(students, jax.tree.map(lambda c, g: c - g / 4.0, network.gates, slope.gates))
        np.testing.assert_allclose(run.gates[step], network.gate_vector, atol=1e-12)


def test_the_default_rule_does_not_depend_on_units(stream):
    inputs, targets, _ = stream
    plain = fs.abstract(inputs[:2000], targets[:2000], batch=10)
    other = fs.abstract(700.0 * inputs[:2000], 0.002 * targets[:2000], batch=10)
    np.testing.assert_allclose(plain.gates, other.gates, atol=1e-9)
    assert stream_rule(inputs, targets).weight_timescale == pytest.approx(24, rel=0.05)


def test_costs_of_weights_count():
    rng = np.random.default_rng(1)
    inputs, labels = rng.normal(size=(40, 3)), rng.integers(2, size=40) == 1
    plain, costly = (
        fs.abstract(inputs, labels, batch=10, rule=JointDescent(9.0, 5.0, Regularizer(0.5, 0.25, square_cost=cost)))
        for cost in (0.0, 5.0)
    )
    norms = [np.linalg.norm(run.network.students) for run in (plain, costly)]
    assert norms[1] < 0.9 * norms[0] and plain.network.students[0].shape == (2, 3)


def test_losses_are_what_they_say():
    answers, targets = jnp.asarray([[1.0, 2.0], [0.0, 1.0]]), jnp.asarray([[0.0, 1.0], [1.0, 0.0]])
    np.testing.assert_allclose(SquaredError()(answers, targets), 0.5 * (2.0 + 2.0) / 2)
    expected = -np.mean([2 - np.log(np.exp(1) + np.exp(2)), 0 - np.log(1 + np.exp(1))])
    np.testing.assert_allclose(CrossEntropy()(answers, targets), expected)


@pytest.mark.parametrize(
    ("inputs", "targets", "fields", "named"),
    [
        (np.ones(5), np.ones(5), {}, "inputs"),
        (np.ones((5, 2)), np.ones(4), {"batch": 1}, "targets"),
        (np.ones((5, 2)), np.array([0, 1, -1, 0, 0]), {"batch": 1}, "targets"),
        (np.ones((5, 2)), np.full((5, 1), np.nan), {"batch": 1}, "targets"),
        (np.ones((5, 2)), np.ones(5), {"batch": 6}, "batch"),
        (np.ones((5, 2)), np.ones(5), {"batch": 1, "paths": 0}, "paths"),
        (np.zeros((5, 2)), np.ones(5), {"batch": 1}, "inputs"),
        (np.ones((5, 2)), np.array(list("abcde")), {"batch": 1}, "targets"),
        (np.ones((5, 2)), np.ones(5), {"batch": 1, "scale": 0.0}, "scale"),
    ],
)
def test_bad_streams_are_refused_by_name(inputs, targets, fields, named):
    with pytest.raises(ArgumentError, match=f"`{named}`"):
        fs.abstract(inputs, targets, **fields)


def test_a_stream_that_diverges_says_what_to_do(stream):
    inputs, targets, _ = stream
    with pytest.raises(FestinaError, match="longer timescales"):
        fs.abstract(inputs, targets, batch=10, rule=JointDescent(1e-3, 1e-3, Regularizer(0.5, 0.25)))


@pytest.mark.full
def test_arms_and_seeds_are_the_runs_they_would_be_alone_in_one_batch(stream, monkeypatch):
    inputs, targets = stream[0][:600], stream[1][:600]
    rule = stream_rule(inputs, targets)
    costly = JointDescent(9.0, 5.0, Regularizer(0.5, 0.25, square_cost=0.5))
    rules = {"flexible": rule, "forgetful": rule.forgetful(30.0), "costly": costly}
    module, driven = importlib.import_module("festina.learning.stream"), []
    drive = module.drive
    monkeypatch.setattr(module, "drive", lambda *given, **named: driven.append(given) or drive(*given, **named))
    arms = fs.abstract(inputs, targets, batch=10, arms=rules, seed=3, seeds=2)
    assert len(driven) == 1 and arms.seeds == (3, 4) and list(arms) == list(rules) and len(arms) == 3
    for name, rule in rules.items():
        for seed in (3, 4):
            alone = fs.abstract(inputs, targets, batch=10, rule=rule, seed=seed)
            run = arms.sel(name, seed=seed)
            np.testing.assert_allclose(run.gates, alone.gates, atol=1e-12)
            np.testing.assert_allclose(run.loss, alone.loss, atol=1e-12)
            np.testing.assert_allclose(run.network.map, alone.network.map, atol=1e-12)
            np.testing.assert_array_equal(arms.data["gates"].sel(arm=name, seed=seed), run.gates)
    assert arms.data["task"].dims == ("arm", "seed", "step") and "forgetful, seed 4: 60 steps" in repr(arms)
    few = fs.abstract(inputs, targets, batch=10, seeds=2)
    np.testing.assert_allclose(few.sel("rule", 0).gates, fs.abstract(inputs, targets, batch=10).gates, atol=1e-12)
    with pytest.raises(ArgumentError, match=r"`seed` must be one of \[3, 4\], for there are several"):
        arms["flexible"]
    with pytest.raises(ArgumentError, match="`arm` must be one of"):
        arms.sel("flexibel", 3)


def test_pictures_show_gates_tasks_and_losses(stream):
    inputs, targets = stream[0][:600], stream[1][:600]
    rule = stream_rule(inputs, targets)
    arms = fs.abstract(inputs, targets, batch=10, arms={"flexible": rule, "forgetful": rule.forgetful()}, paths=3)
    gates, tasks, loss = arms["flexible"].plot().axes
    for path, line in enumerate(gates.lines):
        np.testing.assert_array_equal(line.get_ydata(), arms["flexible"].gates[:, path])
    np.testing.assert_array_equal(there(tasks.images[0].get_array())[0], arms["flexible"].tasks)
    np.testing.assert_array_equal(loss.lines[0].get_ydata(), arms["flexible"].loss)
    axes = arms.plot().axes
    assert len(axes) == 5 and [axes[k].get_title(loc="left") for k in (0, 2)] == ["flexible", "forgetful"]
    np.testing.assert_array_equal(there(axes[3].images[0].get_array())[0], arms["forgetful"].tasks)
    assert [text.get_text() for text in there(axes[4].get_legend()).get_texts()] == ["flexible", "forgetful"]
    assert len(fs.abstract(inputs, targets, batch=10, seeds=2).plot().axes) == 3


def test_the_rule_of_a_stream_takes_labels():
    inputs = np.random.default_rng(0).normal(size=(50, 3))
    labels = np.arange(50) % 4
    assert stream_rule(inputs, labels).gate_timescale == stream_rule(inputs, np.eye(4)[labels]).gate_timescale == 2.5


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"arms": {}}, "`arms` must name at least one rule"),
        ({"arms": {"a": 3.0}}, r"`arms\['a'\]` must be a JointDescent"),
        ({"arms": {"a": RULE}, "rule": RULE}, "`rule` must be left out"),
        ({"arms": {"a": RULE, "b": JointDescent(9.0, 5.0, Regularizer(0.5, 0.25, order=2))}}, "one and the same order"),
        ({"seeds": 0}, "`seeds` must be a whole number"),
    ],
)
def test_arms_that_cannot_go_side_by_side_are_refused(fields, message):
    with pytest.raises(ArgumentError, match=message):
        fs.abstract(np.ones((5, 2)), np.ones(5), batch=1, **fields)


def test_an_arm_that_diverges_is_named(stream):
    arms = {"slow": stream_rule(*stream[:2]), "wild": JointDescent(1e-3, 1e-3, Regularizer(0.5, 0.25))}
    with pytest.raises(FestinaError, match=r"arm 'wild': .*longer timescales"):
        fs.abstract(*stream[:2], batch=10, arms=arms)
