"""Energies with kinks: forces may round them off, and the law of the chain stays."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import festina as fs
from festina.learning.loop import drive
from festina.learning.samplers import HMC, Kinked
from festina.networks.bayesian import LINEAR, NONLINEARITIES, RECTIFIED, SIGMOIDAL, Bayesian

STEEP = 3.0
HEAT = 0.3


def rectify(z):
    return RECTIFIED(z).sum()


@dataclass(frozen=True)
class Wedge:
    """One chain of p(θ) ∝ exp(−3 max(θ, 0) − θ²/2), in one dimension, with a kink where it is most likely."""

    sampler: HMC

    def __call__(self, inputs):
        energy = Kinked(
            lambda theta, data, heat: STEEP * rectify(theta),
            lambda width: lambda theta, data, heat: STEEP * RECTIFIED.rounded(width)(theta).sum(),
        )
        return fs.learning.posterior_process(
            energy,
            inputs["start"],
            (),
            inputs["key"],
            records=2,
            draws_per_record=2000,
            observe=lambda state: {"mean": state.memory.means},
            temperature=fs.learning.constant(1.0),
            warm_up=100,
            sampler=self.sampler,
            average=lambda theta: jnp.stack([theta[0], theta[0] ** 2]),
        )


def test_rounded_forces_keep_the_law():
    """Mean and second moment are those of an integral, with a width far beyond that of the posterior's kink."""
    chains = {"start": np.zeros((16, 1)), "key": jax.random.split(jax.random.key(0), 16)}
    found = drive(Wedge(HMC(rounding=10.0, first_step=0.3)), chains).observed["mean"][:, -1]
    z = np.linspace(-8, 8, 100_001)
    weight = np.exp(-STEEP * np.maximum(z, 0) - z**2 / 2)
    expected = np.stack([z, z**2]) @ weight / weight.sum()
    error = found.std(axis=0, ddof=1) / 4
    assert np.all(np.abs(found.mean(axis=0) - expected) < 4 * error)
    assert np.all(error < 0.01)  # if the rounded energy decided, the mean would be −1.3, not −0.6


@pytest.mark.parametrize("width", [0.1, 2.0])
def test_a_rectifier_is_rounded_off_within_the_width_only(width):
    """Its slope u²(3 − 2u) goes from 0 to 1, and its integral meets the rectifier on both sides."""
    softer, z = RECTIFIED.rounded(width), np.linspace(-3, 3, 6000)
    with fs.double():
        values, slopes = (np.asarray(jax.vmap(of)(jnp.asarray(z))) for of in (softer, jax.grad(softer)))
    outside = np.abs(z) >= width
    np.testing.assert_allclose(values[outside], np.maximum(z, 0)[outside], atol=1e-15)
    part = np.clip((z + width) / (2 * width), 0, 1)
    np.testing.assert_allclose(slopes, part**2 * (3 - 2 * part), atol=1e-12)
    below = np.cumsum((slopes[1:] + slopes[:-1]) / 2) * (z[1] - z[0])
    np.testing.assert_allclose(values[1:] - values[0], below, atol=1e-6)
    assert np.all(values >= np.maximum(z, 0) - 1e-15)


def test_what_has_no_kinks_stays_as_it_is():
    assert LINEAR.rounded(0.3) is LINEAR and SIGMOIDAL.rounded(0.3) is SIGMOIDAL
    assert RECTIFIED.rounded(0.3).name == "rectified"


EXAMPLES, INPUTS, WIDTH = 40, 30, 60


def draw(kind, sampler, step, wrapped):
    """Thirty transitions from one network, whose answers are off by a residual that no neuron can learn much of."""
    random = np.random.default_rng(0)
    x = random.normal(size=(EXAMPLES, INPUTS))
    x /= np.linalg.norm(x, axis=1)[:, None]
    y = random.normal(size=(EXAMPLES, 2))
    network = Bayesian.init(jax.random.key(1), (INPUTS, WIDTH, 2), NONLINEARITIES[kind])

    def energy_of(network):
        return lambda theta: network.having(theta).energy(x.astype(theta[1].dtype), y.astype(theta[1].dtype), HEAT)

    kinked = Kinked(energy_of(network), lambda width: energy_of(network.rounded(width)))
    energy = kinked if wrapped else energy_of(network)
    moves = jax.jit(jax.vmap(lambda key: sampler.transition(key, network.whitened, step, energy)))
    with fs.double():
        return jax.tree.map(np.asarray, moves(jax.random.split(jax.random.key(2), 30)))


@pytest.mark.mostly_full
@pytest.mark.parametrize("kind", NONLINEARITIES)
def test_without_rounding_or_without_kinks_draws_are_the_same_to_the_last_bit(kind):
    rounding = 0.0 if kind == "rectified" else 1.5
    plain, kinked = draw(kind, HMC(), 0.02, False), draw(kind, HMC(rounding=rounding), 0.02, True)
    for one, other in zip(jax.tree.leaves(plain), jax.tree.leaves(kinked), strict=True):
        np.testing.assert_array_equal(one, other)


def test_rounded_forces_conserve_energy_where_kinks_do_not():
    """With one step for both, nearly all proposals by rounded forces are accepted, and few by those with kinks."""
    hard, soft = (draw("rectified", HMC(rounding=width), 0.1, True).acceptance.mean() for width in (0.0, 1.5))
    assert hard < 0.4 and soft > 0.7
