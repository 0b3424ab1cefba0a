"""Posterior sampling: against posteriors that are known, against calibration, and under the common loop."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from festina.chains import effective_sample_size, split_r_hat
from festina.errors import ArgumentError
from festina.learning.loop import drive
from festina.learning.posterior import annealed, constant, dwelling, posterior_process
from festina.learning.samplers import HMC, MALA, NUTS, Transition, _rotated
from festina.networks.bayesian import LINEAR, Bayesian

TEMPERATURE = 0.3
RANDOM = np.random.default_rng(0)
DESIGN, ANSWERS = RANDOM.normal(size=(12, 5)), RANDOM.normal(size=12)


def regression(parameters, data, temperature):
    """Linear regression: its posterior is Gaussian."""
    return 0.5 / temperature * jnp.sum((data[1] - data[0] @ parameters) ** 2)


@dataclass(frozen=True)
class Regression:
    """Builds one chain on the regression."""

    sampler: Any
    records: int = 300
    warm_up: int = 200

    def __call__(self, inputs):
        return posterior_process(
            regression,
            inputs["start"],
            (jnp.asarray(DESIGN), jnp.asarray(ANSWERS)),
            inputs["key"],
            self.records,
            4,
            lambda state: {"draw": state.parameters, "acceptance": state.memory.acceptance} | state.memory.means,
            constant(TEMPERATURE),
            self.warm_up,
            self.sampler,
            lambda parameters: {"mean": parameters, "second": parameters[:, None] * parameters[None]},
        )


def sampled(build, chains=16, seed=1):
    inputs = {"start": jnp.zeros((chains, 5)), "key": jax.random.split(jax.random.key(seed), chains)}
    return drive(build, inputs).observed


def test_a_chain_is_compiled_once():
    """Its state is of the same types at the start as later on, or the loop would compile every chunk of it twice."""
    process = Regression(HMC())({"start": jnp.zeros(5), "key": jax.random.key(0)})
    after = jax.eval_shape(process.advance, process.initial, jnp.asarray(1))
    kinds = [[(leaf.dtype, leaf.weak_type) for leaf in jax.tree.leaves(state)] for state in (process.initial, after)]
    assert kinds[0] == kinds[1]


def test_every_draw_may_have_a_sampler_of_its_own():
    """Each adds the number of its draw: 0 + 1 + … + 7 after eight of them, of which the first tells the first step."""

    @dataclass(frozen=True)
    class Adding:
        draw: Any
        first_step: float = 0.25
        target: float = 0.5

        def transition(self, key, parameters, step, energy):
            return Transition(parameters + self.draw.astype(float), jnp.ones(()), jnp.zeros((), int))

    build = Regression(lambda draw: Adding(draw), records=2)
    process = build({"start": jnp.zeros(5), "key": jax.random.key(0)})
    assert float(jnp.exp(process.initial.memory.adaptation.log_step)) == pytest.approx(0.25)
    found = sampled(build, chains=1)
    np.testing.assert_array_equal(found["draw"][0, :, 0], [0, 6, 28])


@pytest.mark.parametrize(
    "sampler",
    [
        HMC(),
        MALA(first_step=0.05),
        *(pytest.param(it, marks=pytest.mark.full) for it in (HMC(force_precision="float64"), NUTS())),
    ],
    ids=str,
)
@pytest.mark.full
def test_the_posterior_of_a_regression(sampler):
    """Mean and covariance, within four standard errors at the effective sample size of the chains."""
    covariance = np.linalg.inv(DESIGN.T @ DESIGN / TEMPERATURE + np.eye(5))
    mean = covariance @ DESIGN.T @ ANSWERS / TEMPERATURE
    seen = sampled(Regression(sampler))
    draws = seen["draw"][:, 51:]
    assert split_r_hat(draws).max() < 1.05
    error = np.sqrt(np.diag(covariance) / effective_sample_size(draws))
    assert np.all(np.abs(seen["mean"][:, -1].mean(axis=0) - mean) < 4 * error)
    found = seen["second"][:, -1].mean(axis=0) - np.outer(*[seen["mean"][:, -1].mean(axis=0)] * 2)
    bound = 6 * np.max(np.diag(covariance)) / effective_sample_size(draws**2).min() ** 0.5
    np.testing.assert_allclose(found, covariance, atol=bound)
    assert abs(seen["acceptance"][:, 51:].mean() - sampler.target) < 0.15


@pytest.mark.full
def test_wrong_forces_cost_acceptance_and_nothing_else():
    """Forces of another posterior altogether: the law stays, because energies decide."""

    @dataclass(frozen=True)
    class Crooked(HMC):
        def transition(self, key, parameters, step, energy):
            def other(position):
                bent = energy(position) * 0.7
                return bent if position.dtype == jnp.float32 else energy(position)

            return super().transition(key, parameters, step, other)

    covariance = np.linalg.inv(DESIGN.T @ DESIGN / TEMPERATURE + np.eye(5))
    seen = sampled(Regression(Crooked(length=0.8), records=500))
    draws = seen["draw"][:, 51:]
    error = np.sqrt(np.diag(covariance) / effective_sample_size(draws))
    mean = covariance @ DESIGN.T @ ANSWERS / TEMPERATURE
    assert np.all(np.abs(draws.mean(axis=(0, 1)) - mean) < 4 * error)
    np.testing.assert_allclose(draws.reshape(-1, 5).var(axis=0), np.diag(covariance), rtol=0.15)


def test_a_trajectory_conserves_energy_to_second_order_in_its_step():
    """Half kicks at both ends make the integrator of second order: without one of them the error is that of a step."""
    stiff = jnp.asarray([1.0, 4.0, 9.0])
    energy = lambda theta: 0.5 * jnp.sum(stiff.astype(theta.dtype) * theta**2)  # noqa: E731
    method = HMC(force_precision="float64", most_steps=10_000)

    @jax.jit
    def accepted(keys, step):
        return jax.vmap(lambda key: method.transition(key, jax.random.normal(key, (3,)), step, energy).acceptance)(keys)

    keys = jax.random.split(jax.random.key(0), 64)
    lost = [float(jnp.max(1.0 - accepted(keys, step))) for step in (0.02, 0.01)]
    assert 0.0 < lost[0] < 0.1 and lost[1] == pytest.approx(lost[0] / 4, rel=0.3)


def test_without_data_a_draw_is_a_rotation_of_the_prior():
    position, momentum = jnp.arange(3.0), jnp.ones(3)
    moved, turned = _rotated(position, momentum, 0.3)
    np.testing.assert_allclose(moved**2 + turned**2, position**2 + momentum**2)
    back, _ = _rotated(moved, -turned, 0.3)
    np.testing.assert_allclose(back, position, atol=1e-15)


SIZES = (3, 4, 2)
EXAMPLES = 5


@dataclass(frozen=True)
class Calibration:
    """A network drawn from the prior answers with noise; the posterior given its answers is sampled."""

    def __call__(self, inputs):
        shown = jnp.asarray(np.random.default_rng(3).normal(size=(EXAMPLES, SIZES[0])))
        teacher = Bayesian.init(inputs["teacher"], SIZES, LINEAR)
        noise = (TEMPERATURE / SIZES[1]) ** 0.5 * jax.random.normal(inputs["noise"], (EXAMPLES, SIZES[2]))
        network = Bayesian.init(inputs["start"], SIZES, LINEAR)
        data = (shown, teacher(shown) + noise)

        def energy(whitened, data, temperature):
            inputs, targets = data
            return network.having(whitened).energy(inputs, targets, temperature)

        def quantities(whitened):
            own = network.having(whitened)
            return jnp.stack([own(shown)[0, 0], jnp.sum(own.readout**2), own.kernels(shown)[0][1, 2]])

        return posterior_process(
            energy,
            network.whitened,
            data,
            inputs["key"],
            60,
            12,
            lambda state: {"draw": quantities(state.parameters), "true": quantities(teacher.whitened)},
            constant(TEMPERATURE),
            120,
        )


@pytest.mark.full
def test_ranks_of_the_truth_among_draws_are_uniform():
    """Simulation-based calibration: data drawn from the prior's own networks, 200 times over."""
    runs = 200
    keys = {
        name: jax.random.split(jax.random.key(seed), runs)
        for seed, name in enumerate(("teacher", "noise", "start", "key"))
    }
    seen = drive(Calibration(), keys).observed
    draws, truth = seen["draw"][:, 12:], seen["true"][:, :1]
    ranks = np.sum(draws < truth, axis=1)  # of 49: uniform on 0 … 49
    for quantity in range(3):
        counts = np.bincount(ranks[:, quantity] // 5, minlength=10)
        assert np.sum((counts - runs / 10) ** 2 / (runs / 10)) < 27.9  # χ² of 9, one in a thousand


def test_a_temperature_falls_and_stays():
    heat = annealed(4.0, 0.25, 8)
    np.testing.assert_allclose([heat(jnp.asarray(step)) for step in (0, 4, 8, 100)], [4.0, 1.0, 0.25, 0.25])


def test_dwelling_is_geometric_on_three_stretches_and_takes_as_long_as_annealing():
    """Draws of a stretch go with its length in log T, of the slow one with k times that: counted by hand."""
    first, last, upper, lower, slowness = 2.0, 0.02, 0.9, 0.3, 6.0
    lengths = np.log([first / upper, upper / lower, lower / last]) * [1.0, slowness, 1.0]
    corners = 90.0 * np.cumsum([0.0, *lengths]) / np.sum(lengths)
    heat = dwelling(first, last, 90, upper, lower, slowness)
    draws = np.arange(120)
    expected = np.exp(np.interp(draws, corners, np.log([first, upper, lower, last])))
    np.testing.assert_allclose([heat(jnp.asarray(draw)) for draw in draws], expected, rtol=1e-13)


@pytest.mark.parametrize(
    ("ends", "slow"),
    [((1.0, 0.1), (0.85, 0.45, 1.0)), ((1.0, 0.1), (0.4, 0.8, 9.0)), ((0.1, 0.1), (0.85, 0.45, 9.0))],
    ids=["not slow", "nothing in between", "nowhere to go"],
)
def test_dwelling_on_nothing_is_annealing_to_the_last_bit(ends: tuple[float, float], slow: tuple[float, float, float]):
    one, other = dwelling(*ends, 37, *slow), annealed(*ends, 37)
    for draw in map(jnp.asarray, range(50)):
        assert one(draw) == other(draw)


def test_bad_numbers_are_refused():
    with pytest.raises(ArgumentError, match="`records` must be at least 1"):
        Regression(HMC(), records=0)({"start": jnp.zeros(5), "key": jax.random.key(0)})
    with pytest.raises(ArgumentError, match="draws_between"):
        annealed(1.0, 0.1, 0)
    with pytest.raises(ArgumentError, match="slowness"):
        dwelling(1.0, 0.1, 10, 0.8, 0.4, 0.5)
