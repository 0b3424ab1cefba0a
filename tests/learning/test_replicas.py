"""Replica exchange: a meeting keeps the law, wells are visited as they should be, and truths have uniform ranks."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate

import festina as fs
from festina.errors import ArgumentError
from festina.learning.loop import Checkpoint, drive
from festina.learning.posterior import constant, posterior_process
from festina.learning.replicas import ReplicaExchange, exchanged, meeting
from festina.learning.samplers import HMC, Sampler

LADDER = (1.0, 3.0, 10.0, 30.0)
TEMPERATURE, BARRIER = 0.5, 40.0
WITHIN = HMC(first_step=0.02)


def wells(theta, data, temperature):
    """Two wells at ±2, with a barrier of 80 at the temperature of the chain; E is not of the form U/T."""
    potential = data * (theta**2 / 4.0 - 1.0) ** 2 + 0.1 * theta
    return jnp.sum(potential / temperature + 0.05 * theta / temperature**2)


@dataclass(frozen=True)
class Wells:
    """Builds one chain between the wells, from the right one."""

    sampler: Sampler
    records: int = 1000

    def __call__(self, inputs):
        return posterior_process(
            wells,
            2.0 * jnp.ones(1),
            jnp.asarray(BARRIER),
            inputs["key"],
            self.records,
            3,
            self.observe,
            constant(TEMPERATURE),
            600,
            self.sampler,
            lambda theta: (theta > 0).astype(float),
        )

    def observe(self, state):
        company: Any = state.memory.company
        seen = {"draw": state.parameters, "right": state.memory.means, "gradients": state.memory.gradients}
        return seen | ({"swaps": company.acceptance, "hottest": company.parameters[-1]} if company else {})


def chains(count, seed=0):
    return {"key": jax.random.split(jax.random.key(seed), count)}


def share_on_the_right(temperature):
    """By quadrature."""

    def density(theta):
        energy = (BARRIER * (theta**2 / 4 - 1) ** 2 + 0.1 * theta) / temperature + 0.05 * theta / temperature**2
        return np.exp(-energy - 0.5 * theta**2)

    right, left = (integrate.quad(density, *ends, epsabs=0, limit=200)[0] for ends in ((0, 8), (-8, 0)))
    return right / (right + left)


@pytest.mark.full
def test_wells_that_hmc_never_leaves_have_their_weights():
    expected = share_on_the_right(TEMPERATURE)
    alone = drive(Wells(WITHIN), chains(16)).observed
    assert np.isin(alone["right"][:, -1], (0.0, 1.0)).all(), "HMC alone stays in the well where adapting has left it"
    seen = drive(Wells(ReplicaExchange(LADDER, WITHIN)), chains(16)).observed
    shares = seen["right"][:, -1, 0]
    error = shares.std(ddof=1) / 4.0
    assert error < 0.03 and 0.1 < expected < 0.3
    assert abs(shares.mean() - expected) < 4 * error
    hot = (seen["hottest"][:, 200:] > 0).mean(axis=(1, 2))
    assert abs(hot.mean() - share_on_the_right(30 * TEMPERATURE)) < 4 * hot.std(ddof=1) / 4.0
    swaps = seen["swaps"][:, 200:].mean(axis=(0, 1))
    assert np.all((swaps > 0.1) & (swaps < 1.0))


def test_a_meeting_is_in_detailed_balance():
    """π(x) A(x → x') = π(x') A(x' → x) for the product of all laws, priors included, and E of any form."""
    random = np.random.default_rng(0)
    ladder = jnp.asarray(LADDER)
    together = {"a": jnp.asarray(random.normal(size=(4, 3))), "b": jnp.asarray(random.normal(size=4))}

    def at(times):
        return lambda own: wells(own["a"], jnp.asarray(1.0), times) + jnp.sin(own["b"] * times) / times

    def log_law(replicas):
        squares = sum(jnp.sum(leaf**2) for leaf in replicas.values())
        return jnp.sum(jax.vmap(lambda own, times: at(times)(own))(replicas, ladder)) * -1.0 - 0.5 * squares

    @jax.jit
    def there_and_back(swap):
        after = exchanged(together, swap)
        chances = [jnp.log(meeting(each, ladder, at)) for each in (together, after)]
        return after, exchanged(after, swap), chances, [log_law(each) for each in (together, after)]

    for pair in range(3):
        after, again, (forth, back), laws = there_and_back(np.arange(3) == pair)
        np.testing.assert_array_equal(again["a"], together["a"])
        np.testing.assert_array_equal(after["b"][pair], together["b"][pair + 1])
        assert max(forth[pair], back[pair]) == 0.0 > min(forth[pair], back[pair])
        np.testing.assert_allclose(laws[0] + forth[pair], laws[1] + back[pair], rtol=1e-12)


def test_several_pairs_change_places_at_once():
    moved = exchanged(jnp.arange(5), jnp.asarray([True, False, False, True]))
    np.testing.assert_array_equal(moved, [1, 0, 2, 4, 3])


def test_a_chain_with_company_is_compiled_once():
    process = Wells(ReplicaExchange(LADDER, WITHIN))({"key": jax.random.key(0)})
    after = jax.eval_shape(process.advance, process.initial, jnp.asarray(1))
    kinds = [[(leaf.dtype, leaf.weak_type) for leaf in jax.tree.leaves(state)] for state in (process.initial, after)]
    assert kinds[0] == kinds[1]


class Stop(Exception):
    pass


@pytest.mark.full
@pytest.mark.parametrize("cut", [20, 250])
def test_a_chain_with_company_goes_on_where_it_was_stopped(cut, tmp_path):
    """While it warms up and after: to the last bit, hotter replicas and their steps included."""
    build = Wells(ReplicaExchange(LADDER, WITHIN), records=400)
    whole = drive(build, chains(3))
    place = Checkpoint(tmp_path / "chain.npz", every=0.0, mark="chain")

    def stop(records, observed):
        if records > cut:
            raise Stop

    with pytest.raises(Stop):
        drive(build, chains(3), checkpoint=place, listen=stop)
    resumed = drive(build, chains(3), checkpoint=place)
    assert resumed.resumed_from > 1
    np.testing.assert_array_equal(resumed.observed["draw"], whole.observed["draw"])
    for one, other in zip(jax.tree.leaves(whole.state), jax.tree.leaves(resumed.state), strict=True):
        np.testing.assert_array_equal(one, other)


@dataclass(frozen=True)
class Calibration:
    """θ drawn from the prior, seen through |θ_1| + θ_2 with noise of variance T: the posterior has two modes."""

    def __call__(self, inputs):
        truth = jax.random.normal(inputs["truth"], (2,))
        noise = 0.1**0.5 * jax.random.normal(inputs["noise"], (4,))
        design = jnp.asarray([1.0, 0.5, -0.7, 0.2])

        def answer(theta, design):
            return 2.0 * theta[0] ** 2 - design * theta[1]

        return posterior_process(
            lambda theta, data, temperature: 0.5 * jnp.sum((data[1] - answer(theta, data[0])) ** 2) / temperature,
            jax.random.normal(inputs["start"], (2,)),
            (design, answer(truth, design) + noise),
            inputs["key"],
            80,
            10,
            lambda state: {"draw": state.parameters, "truth": truth},
            constant(0.1),
            310,
            ReplicaExchange((1.0, 4.0, 16.0, 64.0)),
        )


@pytest.mark.full
def test_ranks_of_the_truth_among_draws_are_uniform():
    """Simulation-based calibration, 200 times over; the sign of θ_1 can be told by chance alone."""
    runs = 200
    names = ("truth", "noise", "start", "key")
    keys = {name: jax.random.split(jax.random.key(seed), runs) for seed, name in enumerate(names)}
    seen = drive(Calibration(), keys).observed
    ranks = np.sum(seen["draw"][:, 32:] < seen["truth"][:, :1], axis=1)  # of 49: uniform on 0 … 49
    for quantity in range(2):
        counts = np.bincount(ranks[:, quantity] // 5, minlength=10)
        assert np.sum((counts - runs / 10) ** 2 / (runs / 10)) < 27.9  # χ² of 9, one in a thousand


@pytest.mark.parametrize("ladder", [(1.0,), (2.0, 3.0), (1.0, 3.0, 2.0)])
def test_bad_ladders_are_refused(ladder):
    with pytest.raises(ArgumentError, match="`ladder` must have two temperatures or more, the first of them 1"):
        ReplicaExchange(ladder)
    with pytest.raises(ArgumentError, match="`replicas` must be at least 2"):
        ReplicaExchange.geometric(1, 3.0)


@pytest.mark.full
def test_networks_are_sampled_with_it_and_swaps_recorded():
    inputs = np.linspace(-1.0, 1.0, 6)[:, None]
    network = fs.networks.Bayesian.init(jax.random.key(0), (1, 3, 1), fs.networks.SIGMOIDAL)
    method = ReplicaExchange.geometric(3, 4.0)
    posterior = fs.sample(network, (inputs, inputs**2), method=method, chains=2, draws=40, warm_up=40)
    swaps = posterior.statistics["swap_rate"]
    assert swaps.dims == ("chain", "draw", "swap_rate_0") and swaps.shape == (2, 40, 2)
    assert 0.0 < float(swaps.mean()) < 1.0
