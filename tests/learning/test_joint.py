"""Joint descent on students and gates: against autodiff, against a plain loop, and in its four kinds of data."""

import re
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from festina import draws
from festina.errors import ArgumentError
from festina.learning import (
    JointDescent,
    closed_process,
    compressed,
    compressed_by_row,
    drive,
    joint_process,
    spanned_by_mean,
    spanned_by_row,
)
from festina.learning.crossed import Crossed, every_run
from festina.learning.wide import wide_steps
from festina.networks import FullyConnected, NeuronGated, PathGated, Regularizer
from festina.worlds import MEAN, Blocks, Population, Sampled, Tasks, Wishart

KEY = jax.random.key(3)
STEP = 0.01
RULE = JointDescent(0.8, 0.1, Regularizer(0.2, 0.6))


def see(view):
    return {"loss": view.loss, "gates": view.gates, "components": view.components, "norms": view.norms}


def both(rule=RULE):
    """The rule and its control, along one axis."""
    return side_by_side(rule, rule.forgetful(rule.weight_timescale))


def side_by_side(*rules):
    return jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(leaf, float) for leaf in leaves]), *rules)


def start(seed, kind: Any = PathGated, rule=MEAN):
    tasks = Tasks.orthogonal(draws.fold_in(jax.random.key(seed), 0), 2, 3, 8, rule)
    return kind.init(draws.fold_in(jax.random.key(seed), 1), 2, 3, 8, 0.3), tasks


def simulated(make, seeds=1, rules=None):
    """What ``make(seed, rule)`` records, of every seed with every rule: (seed, record, arm, …)."""
    rules = both() if rules is None else rules
    count = jax.tree.leaves(rules)[0].shape[0]
    inputs = Crossed({"seed": jnp.arange(seeds)}, {"rule": rules}, {}, (seeds, count))
    observed = drive(lambda given: make(given["seed"], given["rule"]), inputs).observed
    by_arm = {name: values.reshape(seeds, count, *values.shape[1:]) for name, values in observed.items()}
    return {name: np.swapaxes(values, 1, 2) for name, values in by_arm.items()}


def process(seed, rule, statistics=None, closed=None, kind: Any = PathGated, observe: Any = see):
    network, tasks = start(seed, kind)
    settings: dict[str, Any] = {"step_size": STEP, "records": 12, "steps_per_record": 25, "observe": observe}
    blocks = Blocks.of((0, 1), 0.5, STEP)
    if closed == "whole":
        return closed_process(network, rule, blocks, tasks, KEY, **settings)
    if closed == "rows":
        network, tasks = compressed_by_row(network, tasks)
    key = draws.fold_in(KEY, seed)
    return joint_process(network, rule, blocks, tasks, key, statistics=statistics, **settings)


@pytest.mark.mostly_full
@pytest.mark.parametrize("kind", [PathGated, NeuronGated, FullyConnected])
def test_the_rate_is_the_gradient_of_the_literal_loss(kind):
    network, tasks = start(5, kind)
    rng = np.random.default_rng(0)
    network = jax.tree.map(lambda leaf: leaf + jnp.asarray(0.3 * rng.normal(size=leaf.shape)), network)
    inputs, target = jnp.asarray(rng.normal(size=(40, 8))), tasks.maps[1]
    bounds = Regularizer(0.2, 0.6, column_cost=0.1, square_cost=0.3, order=2)
    rule = JointDescent(0.8, 0.1, bounds)

    def loss(network):
        error = inputs @ target.T - jax.vmap(network)(inputs)
        return 0.5 * tasks.loss_share * jnp.mean(jnp.sum(error**2, axis=1)) + bounds(network)

    slope = jax.grad(loss)(network)
    found = rule.rate(network, target, tasks.loss_share, inputs.T @ inputs / 40)
    for part, timescale in (("students", 0.8), ("gates", 0.1)):
        for got, uphill in zip(
            jax.tree.leaves(getattr(found, part)), jax.tree.leaves(getattr(slope, part)), strict=True
        ):
            np.testing.assert_allclose(got, -uphill / timescale, atol=1e-12)


def test_one_row_stands_for_all_where_rows_are_equal():
    """Students in the span of the teachers, all rows alike in it: reduced problems have the errors of the whole."""
    _, tasks = start(7)
    mixing = np.random.default_rng(0).normal(size=(2, 2))
    students = tuple(jnp.einsum("m,moi->oi", weights, tasks.maps) for weights in mixing)
    network = PathGated(students, (jnp.asarray(0.4), jnp.asarray(0.7)))
    for reduced, rows in ((spanned_by_row, 3), (spanned_by_mean, 1)):
        small, goals = reduced(network, tasks)
        assert small.map.shape == (rows, 2)
        for goal, target in zip(goals.maps, tasks.maps, strict=True):
            np.testing.assert_allclose(
                jnp.sum((goal - small.map) ** 2), jnp.sum((target - network.map) ** 2), rtol=1e-12
            )


@pytest.mark.full
def test_sampled_batches_are_those_of_a_plain_loop():
    """Both arms, step by step: a literal batch, the gradient by autodiff, a simultaneous step."""
    observed = simulated(partial(process, statistics=Sampled(16)))
    network, tasks = start(0)
    for arm, rule in enumerate((RULE, RULE.forgetful(RULE.weight_timescale))):
        plain = network

        @jax.jit
        def step(plain, number, rule=rule):
            inputs = draws.normal(draws.fold_in(draws.fold_in(KEY, 0), number), (16, 8))
            target = jnp.asarray(tasks.maps)[(number // 50) % 2]

            def loss(network):
                error = inputs @ target.T - jax.vmap(network)(inputs)
                return 0.5 / 3 * jnp.mean(jnp.sum(error**2, axis=1)) + rule.regularizer(network)

            slope = jax.grad(loss)(plain)
            students = jax.tree.map(lambda w, g: w - STEP / 0.8 * g, plain.students, slope.students)
            gates = jax.tree.map(lambda c, g: c - STEP / rule.gate_timescale * g, plain.gates, slope.gates)
            return plain.rebuilt(students, gates)

        for number in range(300):
            plain = step(plain, number)
        np.testing.assert_allclose(observed["gates"][0, -1, arm], plain.gate_vector, atol=1e-12)


@pytest.mark.parametrize("closed", ["whole", "rows"])
@pytest.mark.full
def test_the_closure_is_the_population_dynamics(closed):
    full = simulated(partial(process, statistics=Population()), seeds=3)
    small = simulated(partial(process, closed=closed), seeds=3)
    for name in full:
        np.testing.assert_allclose(small[name], full[name], atol=1e-10)
    assert np.abs(full["gates"][:, -1, 0] - full["gates"][:, 0, 0]).max() > 0.1


@pytest.mark.full
@pytest.mark.parametrize(("closed", "widest"), [("whole", 2), (None, 12)], ids=["closure", "wishart"])
def test_many_arms_go_in_tiles(monkeypatch, closed, widest):
    """Five arms in tiles of a few, the last one padded: nothing changes, with one output or with several."""
    rules = side_by_side(*(JointDescent(0.8, tau, Regularizer(0.2, 0.6)) for tau in (0.05, 0.1, 0.2, 0.4, 0.8)))
    make = {"statistics": None if closed else Wishart(40), "closed": closed}
    whole = simulated(partial(process, **make), seeds=2, rules=rules)
    monkeypatch.setattr("festina.learning.wide.WIDEST", widest)
    tiled = simulated(partial(process, **make), seeds=2, rules=rules)
    for name in whole:
        np.testing.assert_allclose(tiled[name], whole[name], atol=1e-13)


@pytest.mark.full
def test_rows_of_the_closure_keep_alignments_and_neuron_gates():
    see_rows = lambda view: {"alignment": view.alignment, "gates": view.gates}  # noqa: E731
    rules = both(JointDescent(0.8, 0.1, Regularizer(0.2, 0.6, order=2)))
    make = partial(process, kind=NeuronGated, observe=see_rows)
    full, small = (simulated(partial(make, closed=closed), rules=rules) for closed in (None, "rows"))
    for name in full:
        np.testing.assert_allclose(small[name], full[name], atol=1e-10)


def test_the_closure_obeys_the_gram_form():
    """S ← S + a(Se)ᵀ + (Se)aᵀ + (eᵀSe)aaᵀ, on the Gram matrix of students and teachers."""
    network, tasks = start(1)
    share = tasks.loss_share
    vectors = np.stack([*network.students, *tasks.maps]).reshape(4, -1)
    gram, gates = vectors @ vectors.T, np.array([0.5, 0.5])
    small, goals = compressed(network, tasks)
    coordinates = np.stack([*small.students, *goals.maps])[:, 0]
    np.testing.assert_allclose(coordinates @ coordinates.T, gram, atol=1e-12)
    losses = []
    for number in range(301):
        shown = np.eye(2)[(number // 50) % 2]
        error = np.concatenate([-gates, shown])
        pull = gram @ error
        if number % 25 == 0:
            losses.append(0.5 * share * error @ pull)
        step = np.concatenate([STEP / 0.8 * share * gates, [0.0, 0.0]])
        slope = 2 * 0.6 * (np.abs(gates).sum() - 1) * np.sign(gates) - 0.2 * (gates < 0)
        gates = gates + STEP / 0.1 * (share * pull[:2] - slope)
        gram = gram + np.outer(step, pull) + np.outer(pull, step) + (error @ pull) * np.outer(step, step)
    observed = simulated(lambda seed, rule: process(seed + 1, rule, closed="whole"))
    np.testing.assert_allclose(observed["loss"][0, :, 0], losses, atol=1e-12)


@pytest.mark.full
def test_wishart_and_sampled_runs_end_alike():
    """Not the same numbers but the same law: final gates and losses over many seeds."""
    ends = [simulated(partial(_many, statistics=seen), 300) for seen in (Sampled(12), Wishart(12))]
    for name in ("gates", "loss"):
        one, other = (end[name][:, -1, 0].reshape(300, -1)[:, 0] for end in ends)
        assert stats.ks_2samp(one, other).pvalue > 1e-3
        assert one.std() > 1e-4


def _many(seed, rule, statistics):
    """One network and one pair of teachers for all seeds, so that only the data differ."""
    network, tasks = start(0)
    return joint_process(
        network,
        rule,
        Blocks.of((0, 1), 0.5, STEP),
        tasks,
        draws.fold_in(KEY, seed),
        step_size=STEP,
        records=3,
        steps_per_record=50,
        observe=see,
        statistics=statistics,
    )


@pytest.mark.full
def test_large_batches_approach_the_population():
    wide, infinite = (simulated(partial(process, statistics=seen)) for seen in (Wishart(1_000_000), Population()))
    np.testing.assert_allclose(wide["gates"], infinite["gates"], atol=5e-3)
    assert np.abs(wide["gates"] - infinite["gates"]).max() > 1e-6


@pytest.mark.full
def test_single_precision_stays_close():
    network, tasks = start(0)
    settings: dict[str, Any] = {"step_size": STEP, "records": 12, "steps_per_record": 25, "observe": see}
    blocks = Blocks.of((0, 1), 0.5, STEP)
    ends = [
        simulated(lambda seed, rule, t=dtype: joint_process(network, rule, blocks, tasks, KEY, dtype=t, **settings))
        for dtype in (jnp.float32, jnp.float64)
    ]
    assert ends[0]["gates"].dtype == np.float32
    single, double = (end["gates"].astype(float) for end in ends)
    np.testing.assert_allclose(single, double, atol=1e-4)


@pytest.mark.full
def test_arms_do_not_disturb_each_other():
    together = simulated(partial(process, statistics=Wishart(30)))
    alone = simulated(partial(process, statistics=Wishart(30)), rules=side_by_side(RULE))
    np.testing.assert_allclose(alone["gates"][:, :, 0], together["gates"][:, :, 0], atol=1e-12)


HASHES = r":u64(\[[\d,]*\])"
STREAMED = ("network", "rule", "blocks", "tasks", "key", "first", "step_size")


def given_steps(count):
    """Arguments of a few steps of joint descent, every one with a leading axis of arms."""
    networks, tasks = jax.vmap(start)(jnp.arange(count))
    rules = side_by_side(*(JointDescent(0.8, 0.1 + 0.1 * arm, Regularizer(0.2, 0.6)) for arm in range(count)))
    blocks = jax.vmap(lambda length: Blocks.of((0, 1), length, STEP))(jnp.linspace(0.02, 0.1, count))
    keys = jax.vmap(lambda arm: draws.fold_in(KEY, arm))(jnp.arange(count))
    values = networks, rules, blocks, tasks, keys, 3 * jnp.arange(count), jnp.full(count, STEP)
    return dict(zip(STREAMED, values, strict=True))


def of_arm(arm, tree):
    return jax.tree.map(lambda leaf: leaf[arm], tree)


@pytest.mark.full
@pytest.mark.parametrize(
    "shared",
    [("key", "first", "step_size"), STREAMED[1:], ("tasks", "first", "step_size"), ("network", "step_size"), ()],
    ids=" ".join,
)
def test_steps_side_by_side_are_those_of_one_network_after_the_other(shared):
    """Whatever arms share: data (then they are columns of one matrix), or everything but their networks, or nothing."""
    given, take = given_steps(3), wide_steps(Wishart(30), 7)
    arguments = [of_arm(0, given[name]) if name in shared else given[name] for name in STREAMED]
    axes = [None if name in shared else 0 for name in STREAMED]
    found = jax.jit(jax.vmap(take, axes))(*arguments)
    for arm in range(3):
        own = [of_arm(0 if name in shared else arm, given[name]) for name in STREAMED]
        jax.tree.map(partial(np.testing.assert_allclose, atol=1e-13), of_arm(arm, found), take(*own))


@pytest.mark.full
def test_arms_of_a_seed_share_its_data_and_one_product():
    """Random numbers are hashes of 64 bits, of which there are as many for five arms as for one; S E is one product."""

    def program(arms):
        rules = side_by_side(*(JointDescent(0.8, 0.1 + 0.1 * arm, Regularizer(0.2, 0.6)) for arm in range(arms)))
        inputs = Crossed({"seed": jnp.arange(1)}, {"rule": rules}, {}, (1, arms))
        make = lambda given: process(given["seed"], given["rule"], Wishart(30))  # noqa: E731
        states = every_run(lambda given: make(given).initial, inputs)
        advance = lambda given, state: make(given).advance(state, jnp.asarray(1))  # noqa: E731
        return str(jax.make_jaxpr(lambda inputs, states: every_run(advance, inputs, states))(inputs, states))

    alone, together = program(1), program(5)
    assert re.findall(HASHES, alone) == re.findall(HASHES, together) != []
    assert "f64[1,8,15] = dot_general" in together


def test_views_measure_what_they_say():
    network, tasks = start(2)
    watch = lambda view: see(view) | {"a": view.alignment, "speed": view.speeds}  # noqa: E731
    seen = simulated(lambda seed, rule: process(2, rule, observe=watch))
    students, teachers = np.stack(network.students), np.asarray(tasks.maps)
    cosines = [[np.mean([r @ s / np.linalg.norm(r) / np.linalg.norm(s) for r, s in zip(t, w, strict=True)])
                for w in students] for t in teachers]  # fmt: skip
    np.testing.assert_allclose(seen["a"][0, 0, 0], cosines, atol=1e-12)
    lengths = [[np.sum(t * w) / np.linalg.norm(t) for w in students] for t in teachers]
    np.testing.assert_allclose(seen["components"][0, 0, 0], lengths, atol=1e-12)
    np.testing.assert_allclose(seen["norms"][0, 0, 0], [np.linalg.norm(w) for w in students], atol=1e-12)
    error = teachers[0] - 0.5 * students.sum(axis=0)
    np.testing.assert_allclose(seen["loss"][0, 0, 0], 0.5 / 3 * np.sum(error**2), atol=1e-12)
    np.testing.assert_allclose(seen["speed"][0, 0, 0, 0], np.sqrt(2) * 0.5 / 3 * np.linalg.norm(error) / 0.8)


def test_the_control_has_no_bounds():
    control = RULE.forgetful()
    assert float(control.regularizer.normalization) == 0 and control.gate_timescale == RULE.gate_timescale
    assert RULE.forgetful(1.3).gate_timescale == 1.3


def test_what_cannot_be_is_said():
    network, tasks = start(0)
    settings: dict[str, Any] = {"step_size": STEP, "records": 2, "steps_per_record": 2, "observe": see}
    costly = eqx.tree_at(lambda r: r.regularizer, RULE, Regularizer(0.2, 0.6, column_cost=0.1))
    blocks, elsewhere = Blocks.of((0, 1), 0.5, STEP), Blocks.of((0, 5), 0.5, STEP)
    with pytest.raises(ArgumentError, match="cost on weights"):
        closed_process(network, costly, blocks, tasks, KEY, **settings)
    for make in (closed_process, joint_process):
        with pytest.raises(ArgumentError, match="name tasks from 0 to 1"):
            make(network, RULE, elsewhere, tasks, KEY, **settings)
    with pytest.raises(ArgumentError, match="`network`"):
        joint_process(PathGated.init(KEY, 2, 4, 8), RULE, blocks, tasks, KEY, **settings)
