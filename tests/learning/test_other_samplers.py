"""festina's chains against those of blackjax and numpyro, each with its own driver, on one small posterior."""

from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from festina.chains import effective_sample_size
from festina.learning.loop import Checkpoint, drive
from festina.learning.posterior import annealed, constant, posterior_process
from festina.learning.replicas import ReplicaExchange
from festina.networks.bayesian import SIGMOIDAL, Bayesian

pytestmark = pytest.mark.full

TEMPERATURE, CHAINS, DRAWS = 0.05, 8, 1500
RANDOM = np.random.default_rng(5)
INPUTS, TARGETS = RANDOM.normal(size=(6, 3)), RANDOM.normal(size=(6, 1))


def network() -> Bayesian:
    return Bayesian.init(jax.random.key(0), (3, 4, 1), SIGMOIDAL)


def energy(whitened: Any, data: Any, temperature: Any) -> Any:
    inputs, targets = data
    return network().having(whitened).energy(inputs, targets, temperature)


def log_density(whitened: Any) -> Any:
    data = jnp.asarray(INPUTS), jnp.asarray(TARGETS)
    squares = sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(whitened))
    return -energy(whitened, data, TEMPERATURE) - 0.5 * squares


def watched(whitened: Any) -> Any:
    """Answers, the kernel, and the size of the readout: nothing that exchanging neurons would change."""
    own = network().having(whitened)
    (kernel,) = own.kernels(jnp.asarray(INPUTS))
    answers = own(jnp.asarray(INPUTS))[:, 0]
    return jnp.concatenate([answers, answers**2, kernel[:2].ravel(), jnp.sum(own.readout**2)[None]])


def chain(inputs: Any) -> Any:
    """One chain of festina's, cooled while it warms up."""
    start = network()
    data = jnp.asarray(INPUTS), jnp.asarray(TARGETS)
    return posterior_process(
        energy,
        start.whitened,
        data,
        inputs["key"],
        DRAWS + 60,
        5,
        lambda state: {"watched": watched(state.parameters)},
        annealed(1.0, TEMPERATURE, 200),
        300,
        average=watched,
        conclude=lambda state: {"mean": state.memory.means},
    )


@pytest.fixture(scope="module")
def ours():
    with jax.enable_x64(True):
        return drive(chain, {"key": jax.random.split(jax.random.key(1), CHAINS)})


@contextmanager
def usual_arithmetic():
    """Other libraries promote types and ranks, which these tests otherwise forbid."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


def agree(draws, others):
    """Means of two sets of chains, within four standard errors."""
    error = sum(part.var(axis=(0, 1)) / effective_sample_size(part) for part in (draws, others)) ** 0.5
    difference = np.abs(draws.mean(axis=(0, 1)) - others.mean(axis=(0, 1)))
    assert np.all(effective_sample_size(others) > 200)
    np.testing.assert_array_less(difference, 4 * error)


@pytest.fixture(scope="module")
def by_blackjax():
    """Its own chains, with its own adaptation."""
    blackjax: Any = pytest.importorskip("blackjax")
    warm_up: Any = blackjax.window_adaptation(blackjax.nuts, log_density)

    def alone(key):
        for_warming, for_draws = jax.random.split(key)
        (state, settings), _ = warm_up.run(for_warming, network().whitened, 400)
        step = blackjax.nuts(log_density, **settings).step
        following = lambda state, key: (step(key, state)[0], watched(state.position))  # noqa: E731
        return jax.lax.scan(following, state, jax.random.split(for_draws, DRAWS))[1]

    with jax.enable_x64(True), usual_arithmetic():
        return np.asarray(jax.jit(jax.vmap(alone))(jax.random.split(jax.random.key(2), CHAINS)))


def test_blackjax_finds_the_same(ours, by_blackjax):
    agree(ours.observed["watched"][:, 61:], by_blackjax)


def test_blackjax_finds_the_same_as_a_chain_in_hotter_company(by_blackjax):
    def in_company(inputs: Any) -> Any:
        return posterior_process(
            energy,
            network().whitened,
            (jnp.asarray(INPUTS), jnp.asarray(TARGETS)),
            inputs["key"],
            600,
            3,
            lambda state: {"watched": watched(state.parameters), "swaps": state.memory.company.acceptance},
            constant(TEMPERATURE),
            300,
            ReplicaExchange((1.0, 1.8, 3.2, 6.0)),
        )

    seen = drive(in_company, {"key": jax.random.split(jax.random.key(4), CHAINS)}).observed
    agree(seen["watched"][:, 101:], by_blackjax)
    assert np.all(seen["swaps"][:, 101:].mean(axis=(0, 1)) > 0.1)


def test_numpyro_finds_the_same(ours):
    numpyro_infer: Any = pytest.importorskip("numpyro.infer")
    kernel = numpyro_infer.HMC(potential_fn=lambda whitened: -log_density(whitened), trajectory_length=1.5)
    run = numpyro_infer.MCMC(
        kernel, num_warmup=400, num_samples=3 * DRAWS, num_chains=CHAINS, chain_method="vectorized", progress_bar=False
    )
    starts = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (CHAINS, *leaf.shape)), network().whitened)
    with usual_arithmetic():
        run.run(jax.random.key(3), init_params=starts)
    others = jax.vmap(jax.vmap(watched))(run.get_samples(group_by_chain=True))
    agree(ours.observed["watched"][:, 61:], np.asarray(others))


def test_running_means_are_means_of_all_draws(ours):
    """Recordings are every fifth draw: their mean is that of all draws, within its error."""
    recorded = ours.observed["watched"][:, 61:]
    error = (recorded.var(axis=(0, 1)) / effective_sample_size(recorded)) ** 0.5
    np.testing.assert_array_less(np.abs(recorded.mean(axis=(0, 1)) - ours.concluded["mean"].mean(axis=0)), 3 * error)


class Stop(Exception):
    pass


@pytest.mark.parametrize("cut", [30, 900])
def test_a_chain_goes_on_where_it_was_stopped(ours, cut, tmp_path):
    """While it warms up and after: to the last bit, running means and the step of the sampler included."""
    place = Checkpoint(tmp_path / "chain.npz", every=0.0, mark="chain")
    inputs = {"key": jax.random.split(jax.random.key(1), CHAINS)}

    def stop(records, observed):
        if records > cut:
            raise Stop

    with pytest.raises(Stop):
        drive(chain, inputs, checkpoint=place, listen=stop)
    resumed = drive(chain, inputs, checkpoint=place)
    assert resumed.resumed_from > 1
    np.testing.assert_array_equal(resumed.observed["watched"], ours.observed["watched"])
    np.testing.assert_array_equal(resumed.concluded["mean"], ours.concluded["mean"])
    for one, other in zip(jax.tree.leaves(ours.state), jax.tree.leaves(resumed.state), strict=True):
        np.testing.assert_array_equal(one, other)
