"""The collapsed sampler against Hamiltonian Monte Carlo where that mixes, and against theory where not."""

from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import festina as fs
from festina.chains import effective_sample_size, split_r_hat
from festina.learning.collapsed import Collapsed, Redraw
from festina.learning.loop import drive
from festina.learning.posterior import constant, posterior_process
from festina.learning.samplers import HMC, normal_like
from festina.learning.slices import Slice
from festina.networks.bayesian import SIGMOIDAL, Bayesian

pytestmark = pytest.mark.full

NEURONS, COUNTS, TEMPERATURE, CHAINS, DRAWS, WARM_UP = 60, (6, 3, 3), 0.2, 8, 1200, 300
WORLD = fs.worlds.orthogonal_classes(COUNTS)
INPUTS, TARGETS = np.asarray(WORLD.inputs), np.asarray(WORLD.targets)
VARIANCE = 1 / len(INPUTS)
WORLD_40 = fs.worlds.orthogonal_classes((20, 10, 10))
WIDTH_1000 = 1e-3  # by which kernels of 1000 neurons may differ from those of infinitely many


def network() -> Bayesian:
    return Bayesian.init(jax.random.key(0), (len(INPUTS), NEURONS, 3), SIGMOIDAL, readout_variance=VARIANCE)


def energy(whitened: Any, data: Any, temperature: Any) -> Any:
    inputs, targets = data
    return network().having(whitened).energy(inputs, targets, temperature)


def watched(whitened: Any) -> Any:
    """Of kernels, answers, readouts and weights; nothing that exchanging neurons would change."""
    own = network().having(whitened)
    hidden, readouts = own.hidden(jnp.asarray(INPUTS))[-1], own.readouts
    kernel, answers = hidden @ hidden.T / NEURONS, own.answer(hidden)
    chosen = jnp.asarray([0, 1, 6, 9])
    return jnp.concatenate(
        [
            kernel[chosen][:, chosen][jnp.triu_indices(4)],
            kernel[0, chosen] ** 2,
            answers[chosen].reshape(-1),
            answers[chosen[:2]].reshape(-1) ** 2,
            jnp.mean(readouts**2, axis=0),
            jnp.mean(readouts**4, axis=0),
            jnp.mean(own.weights[0] ** 2)[None],
            jnp.mean(own.weights[0][:, :3] ** 3, axis=0),
        ]
    )


def method() -> Collapsed:
    prediction = fs.theory.coding.redundant(COUNTS, WORLD.class_targets, TEMPERATURE, VARIANCE)
    return Collapsed(network(), INPUTS, TARGETS, TEMPERATURE, (Redraw(fs.theory.coding.neuron_law(prediction)),))


def sliced() -> Collapsed:
    law = fs.learning.piloted_law(jax.random.key(9), network(), INPUTS, TARGETS, TEMPERATURE, sweeps=60)
    return Collapsed(network(), INPUTS, TARGETS, TEMPERATURE, (Redraw(law), Slice()))


def drawn(sampler: Any) -> np.ndarray:
    """What is watched in every draw of every chain after warming up."""

    def chain(inputs: Any) -> Any:
        return posterior_process(
            energy,
            inputs["start"],
            (jnp.asarray(INPUTS), jnp.asarray(TARGETS)),
            inputs["key"],
            DRAWS + WARM_UP,
            1,
            lambda state: {"watched": watched(state.parameters)},
            constant(TEMPERATURE),
            WARM_UP,
            sampler,
        )

    keys = jax.random.split(jax.random.key(1), CHAINS)
    start = jax.vmap(lambda key: normal_like(key, network().whitened))(keys)
    return drive(chain, {"start": start, "key": keys}).observed["watched"][:, WARM_UP + 1 :]


@contextmanager
def usual_arithmetic():
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


@pytest.fixture(scope="module")
def ours():
    with jax.enable_x64(True):
        return drawn(method())


def agree(draws, others):
    """Every mean within four standard errors, and all of them together as far apart as chance has it."""
    assert max(split_r_hat(part).max() for part in (draws, others)) < 1.05
    error = sum(part.var(axis=(0, 1)) / effective_sample_size(part) for part in (draws, others)) ** 0.5
    z = (draws.mean(axis=(0, 1)) - others.mean(axis=(0, 1))) / error
    print(f"{len(z)} statistics: rms z {np.sqrt(np.mean(z**2)):.2f}, largest {np.abs(z).max():.2f}")
    assert np.abs(z).max() < 4.0 and np.sqrt(np.mean(z**2)) < 2.0


def test_hamiltonian_monte_carlo_finds_the_same(ours):
    agree(ours, drawn(HMC()))


def test_a_law_from_a_pilot_finds_the_same(ours):
    """By sites and slices, as if inputs were any."""
    agree(ours, drawn(sliced()))


def test_a_wide_cold_network_from_the_prior_is_that_of_theory():
    """Where Hamiltonian Monte Carlo never changes a code: kernels of theory, and codes that change in every sweep."""
    model = fs.models.WideBayesian(
        method="collapsed", width=1000, counts=(20, 10, 10), temperature=0.01, warm_up=40, draws=120, records=160
    )
    run = model.run(seeds=2)
    late = run.data.isel(time=slice(41, None))
    chains = late["class_kernel"].transpose("run", "time", ...).values
    assert split_r_hat(chains).max() < 1.1 and np.all(effective_sample_size(chains) > 20)
    theirs = fs.measures.between_classes(model.prediction(0.01).kernels[-1], WORLD_40.membership)
    error = np.sqrt(chains.var(axis=(0, 1)) / effective_sample_size(chains))
    gap = np.abs(chains.mean(axis=(0, 1)) - np.asarray(theirs))
    assert np.all(gap < 4 * error + WIDTH_1000) and np.all(error < 0.004)
    codes = fs.measures.code_numbers(late["activity"].transpose("run", "time", "neuron", "class").values > 0.5)
    assert np.mean(codes[:, 1:] != codes[:, :-1]) > 0.1
