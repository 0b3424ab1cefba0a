"""The tutor-executor network: its rules against the equations, written out trial by trial."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from festina.networks.tutor import SEEN, Rule, TutorExecutor, trial

RULES = {"partial": Rule.partial_errors, "total": Rule.total_error, "shallow": Rule.shallow}


def literal_trial(kind, tutor, executor, rate, blank, beta, world, chance):
    """One trial as the paper has it, with its names and no vector in sight."""
    x = [float(world < (1 - blank) / 2), float(world >= 1 - (1 - blank) / 2), 1.0]
    value = [sum(executor[a][k] * tutor[k] * x[k] for k in range(3)) for a in range(2)]
    choice = 1 if chance < 1 / (1 + np.exp(-beta * (value[1] - value[0]))) else 0
    reward = 1.0 if choice == (1 if world >= 0.5 else 0) else 0.0
    total = reward - value[choice]
    stimulus = reward - sum(executor[choice][k] * tutor[k] * x[k] for k in range(2))
    constant = reward - executor[choice][2] * tutor[2]
    errors = [stimulus, stimulus, constant] if kind == "partial" else [total] * 3
    new_tutor, new_executor = list(tutor), [list(row) for row in executor]
    for k in range(3):
        if kind != "shallow":
            new_tutor[k] = abs(tutor[k] + rate * total * executor[choice][k] * x[k])
        new_executor[choice][k] = abs(executor[choice][k] + rate * errors[k] * tutor[k] * x[k])
    return new_tutor, new_executor, reward


@pytest.mark.parametrize("kind", RULES)
def test_five_hundred_trials_are_those_of_the_literal_equations(kind):
    uniforms = np.random.default_rng(1).uniform(size=(500, 2))
    network = TutorExecutor(jnp.array([0.3, 0.2, 1.0]), jnp.array([[0.2, 0.3, 0.1], [0.4, 0.1, 0.0]]))
    network = network.flattened if kind == "shallow" else network
    tutor, executor = network.tutor.tolist(), network.executor.tolist()
    rule, blank, beta = RULES[kind](0.05), jnp.asarray(0.2), jnp.asarray(4.0)
    ends, seen = jax.lax.scan(lambda net, u: trial(net, rule, blank, beta, u), network, jnp.asarray(uniforms))
    rewards = []
    for world, chance in uniforms:
        tutor, executor, reward = literal_trial(kind, tutor, executor, 0.05, 0.2, 4.0, world, chance)
        rewards.append(reward)
    np.testing.assert_allclose(ends.tutor, tutor, rtol=0, atol=1e-12)
    np.testing.assert_allclose(ends.executor, executor, rtol=0, atol=1e-12)
    assert 0.5 < np.mean(rewards) < 1.0
    np.testing.assert_array_equal(seen.correct, np.array(rewards) == 1.0)


def _one_trial(rule):
    network = TutorExecutor(jnp.array([0.7, 0.9, 1.1]), jnp.array([[0.5, 0.6, 0.4], [0.8, 0.7, 0.3]]))
    seen, reward = jnp.asarray(SEEN[2]), jnp.asarray(1.0)
    learn = jax.jit(lambda network: jax.tree.map(jnp.subtract, rule(network, seen, jnp.asarray(True), reward), network))
    return network, learn(network), seen


def test_the_total_error_descends_the_gradient():
    network, change, seen = _one_trial(Rule.total_error(0.01))
    slope = eqx.filter_jit(eqx.filter_grad(lambda net: 0.5 * (1.0 - net(seen)[1]) ** 2))(network)
    np.testing.assert_allclose(change.tutor, -0.01 * slope.tutor, atol=1e-15)
    np.testing.assert_allclose(change.executor, -0.01 * slope.executor, atol=1e-15)


def test_partial_errors_descend_a_loss_for_each_part():
    """The lecture's L^stim and L^const for the executor, L^cortex for the tutor."""
    network, change, seen = _one_trial(Rule.partial_errors(0.01))

    def slope(columns):
        part = lambda net: 0.5 * (1.0 - (net.products * seen[None, :])[1][columns].sum()) ** 2  # noqa: E731
        return eqx.filter_jit(eqx.filter_grad(part))(network)

    stimulus, constant = slice(0, 2), slice(2, 3)
    np.testing.assert_allclose(change.tutor, -0.01 * slope(slice(0, 3)).tutor, atol=1e-15)
    for columns in (stimulus, constant):
        np.testing.assert_allclose(change.executor[:, columns], -0.01 * slope(columns).executor[:, columns], atol=1e-15)


def test_the_shallow_rule_leaves_the_tutor_alone_and_flattening_leaves_behaviour():
    network, change, _ = _one_trial(Rule.shallow(0.01))
    assert not change.tutor.any() and change.executor[1].any() and not change.executor[0].any()
    np.testing.assert_allclose(network.flattened(jnp.asarray(SEEN)), network(jnp.asarray(SEEN)), atol=1e-15)
    beta = jnp.asarray(9.0)
    values = network(jnp.asarray(SEEN))
    expected = 1 / (1 + np.exp(-9.0 * (values[:, 1] - values[:, 0])))
    np.testing.assert_allclose(network.right(beta), expected, atol=1e-15)


def test_a_newborn_has_the_published_weights_and_the_spread_it_is_given():
    birth = jax.jit(jax.vmap(lambda seed: TutorExecutor.newborn(jax.random.key(seed), 0.1, 1e-5)))
    newborns = jax.tree.map(np.asarray, birth(jnp.arange(2000)))
    np.testing.assert_allclose(newborns.tutor.mean(0), [0.05, 0.05, 1.0], atol=1e-6)
    np.testing.assert_allclose(newborns.executor[:, :, :2], 0.2, atol=1e-4)
    assert newborns.executor.min() >= 0
    assert np.sqrt(np.mean(newborns.executor[:, :, 2] ** 2)) == pytest.approx(0.1, rel=0.05)


def test_stimuli_come_as_often_as_they_should():
    uniforms = jnp.stack([jnp.linspace(0.0, 1.0, 1001)[:-1], jnp.full(1000, 0.3)], axis=1)
    network = TutorExecutor(jnp.array([1.0, 1.0, 1.0]), jnp.zeros((2, 3)))
    play = jax.jit(jax.vmap(trial, in_axes=(None, None, None, None, 0)))
    after, seen = play(network, Rule.total_error(0.1), jnp.asarray(0.3), jnp.asarray(9.0), uniforms)
    changed = np.abs(np.asarray(after.executor)[:, 1]) > 0  # rewarded choices to the right
    assert changed[:, 1].sum() == 350 and changed[:, 0].sum() == 0 and changed[:, 2].sum() == 500
    assert int(seen.grating.sum()) == 700
