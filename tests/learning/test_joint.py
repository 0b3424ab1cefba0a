"""Joint descent on students and gates: against autodiff, against a plain loop, and in its four kinds of data."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from festina import draws
from festina.errors import ArgumentError
from festina.learning import (
    Arm,
    JointDescent,
    closed_process,
    compressed,
    compressed_by_row,
    drive,
    joint_process,
    stacked,
)
from festina.networks import FullyConnected, NeuronGated, PathGated, Regularizer
from festina.worlds import MEAN, Blocks, Population, Sampled, Tasks, Wishart

KEY = jax.random.key(3)
STEP = 0.01
RULE = JointDescent(0.8, 0.1, Regularizer(0.2, 0.6))


def see(view):
    return {"loss": view.loss, "gates": view.gates, "components": view.components, "norms": view.norms}


def two_arms(rule=RULE, length=0.5):
    blocks = Blocks.of((0, 1), length, STEP)
    return stacked(Arm(rule, blocks), Arm(rule.forgetful(rule.weight_timescale), blocks))


def start(seed, kind=PathGated, rule=MEAN):
    tasks = Tasks.orthogonal(draws.fold_in(jax.random.key(seed), 0), 2, 3, 8, rule)
    return kind.init(draws.fold_in(jax.random.key(seed), 1), 2, 3, 8, 0.3), tasks


def simulated(make, seeds=1):
    return drive(lambda inputs: make(inputs["seed"]), {"seed": jnp.arange(seeds)}).observed


def process(seed, statistics=None, closed=None, kind=PathGated, observe=see, arms=None):
    network, tasks = start(seed, kind)
    settings = {"step_size": STEP, "records": 12, "steps_per_record": 25, "observe": observe}
    arms = two_arms() if arms is None else arms
    if closed == "whole":
        return closed_process(network, arms, tasks, KEY, **settings)
    if closed == "rows":
        network, tasks = compressed_by_row(network, tasks)
    key = draws.fold_in(KEY, seed)
    return joint_process(network, arms, tasks, key, statistics=statistics, **settings)


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


@pytest.mark.full
def test_sampled_batches_are_those_of_a_plain_loop():
    """Both arms, step by step: a literal batch, the gradient by autodiff, a simultaneous step."""
    observed = simulated(lambda seed: process(seed, Sampled(16)))
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
def test_the_closure_is_the_population_dynamics(closed):
    full = simulated(lambda seed: process(seed, Population()), seeds=3)
    small = simulated(lambda seed: process(seed, closed=closed), seeds=3)
    for name in full:
        np.testing.assert_allclose(small[name], full[name], atol=1e-10)
    assert np.abs(full["gates"][:, -1, 0] - full["gates"][:, 0, 0]).max() > 0.1


@pytest.mark.full
@pytest.mark.parametrize(("closed", "widest"), [("whole", 2), (None, 12)], ids=["closure", "wishart"])
def test_many_arms_go_in_tiles(monkeypatch, closed, widest):
    """Five arms in tiles of a few, the last one padded: nothing changes, with one output or with several."""
    blocks = Blocks.of((0, 1), 0.5, STEP)
    rules = [JointDescent(0.8, tau, Regularizer(0.2, 0.6)) for tau in (0.05, 0.1, 0.2, 0.4, 0.8)]
    arms = stacked(*(Arm(rule, blocks) for rule in rules))
    statistics = None if closed else Wishart(40)
    whole = simulated(lambda seed: process(seed, statistics, closed=closed, arms=arms), seeds=2)
    monkeypatch.setattr("festina.learning.wide.WIDEST", widest)
    tiled = simulated(lambda seed: process(seed, statistics, closed=closed, arms=arms), seeds=2)
    for name in whole:
        np.testing.assert_allclose(tiled[name], whole[name], atol=1e-13)


def test_rows_of_the_closure_keep_alignments_and_neuron_gates():
    see_rows = lambda view: {"alignment": view.alignment, "gates": view.gates}  # noqa: E731
    arms = two_arms(JointDescent(0.8, 0.1, Regularizer(0.2, 0.6, order=2)))
    make = partial(process, kind=NeuronGated, observe=see_rows, arms=arms)
    full, small = simulated(lambda s: make(s, Population())), simulated(lambda s: make(s, closed="rows"))
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
    observed = simulated(lambda seed: process(seed + 1, closed="whole"))
    np.testing.assert_allclose(observed["loss"][0, :, 0], losses, atol=1e-12)


@pytest.mark.full
def test_wishart_and_sampled_runs_end_alike():
    """Not the same numbers but the same law: final gates and losses over many seeds."""
    ends = [simulated(lambda s, rule=rule: _many(s, rule), 300) for rule in (Sampled(12), Wishart(12))]
    for name in ("gates", "loss"):
        one, other = (end[name][:, -1, 0].reshape(300, -1)[:, 0] for end in ends)
        assert stats.ks_2samp(one, other).pvalue > 1e-3
        assert one.std() > 1e-4


def _many(seed, statistics):
    """One network and one pair of teachers for all seeds, so that only the data differ."""
    network, tasks = start(0)
    return joint_process(
        network,
        two_arms(),
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
    wide, infinite = (simulated(lambda s, rule=rule: process(s, rule)) for rule in (Wishart(1_000_000), Population()))
    np.testing.assert_allclose(wide["gates"], infinite["gates"], atol=5e-3)
    assert np.abs(wide["gates"] - infinite["gates"]).max() > 1e-6


def test_single_precision_stays_close():
    network, tasks = start(0)
    settings = {"step_size": STEP, "records": 12, "steps_per_record": 25, "observe": see}
    ends = [
        simulated(lambda s, dtype=dtype: joint_process(network, two_arms(), tasks, KEY, dtype=dtype, **settings))
        for dtype in (jnp.float32, jnp.float64)
    ]
    assert ends[0]["gates"].dtype == np.float32
    np.testing.assert_allclose(*(end["gates"].astype(float) for end in ends), atol=1e-4)


def test_arms_do_not_disturb_each_other():
    together = simulated(lambda seed: process(seed, Wishart(30)))
    blocks = Blocks.of((0, 1), 0.5, STEP)
    alone = simulated(lambda seed: process(seed, Wishart(30), arms=stacked(Arm(RULE, blocks))))
    np.testing.assert_allclose(alone["gates"][:, :, 0], together["gates"][:, :, 0], atol=1e-12)


def test_views_measure_what_they_say():
    network, tasks = start(2)
    seen = simulated(lambda seed: process(2, observe=lambda v: see(v) | {"a": v.alignment, "speed": v.speeds}))
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
    settings = {"step_size": STEP, "records": 2, "steps_per_record": 2, "observe": see}
    costly = eqx.tree_at(lambda r: r.regularizer, RULE, Regularizer(0.2, 0.6, column_cost=0.1))
    with pytest.raises(ArgumentError, match="cost on weights"):
        closed_process(network, stacked(Arm(costly, Blocks.of((0, 1), 0.5, STEP))), tasks, KEY, **settings)
    elsewhere = stacked(Arm(RULE, Blocks.of((0, 5), 0.5, STEP)))
    for make in (closed_process, joint_process):
        with pytest.raises(ArgumentError, match="name tasks from 0 to 1"):
            make(network, elsewhere, tasks, KEY, **settings)
    with pytest.raises(ArgumentError, match="one order"):
        stacked(Arm(RULE, Blocks.of((0, 1), 0.5, STEP)), Arm(RULE, Blocks.of((0, 1, 1), 0.5, STEP)))
    with pytest.raises(ArgumentError, match="`network`"):
        joint_process(PathGated.init(KEY, 2, 4, 8), two_arms(), tasks, KEY, **settings)
