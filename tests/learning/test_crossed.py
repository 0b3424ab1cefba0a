"""Batches of every seed with every arm: the same as run by run, in tiles or not, with seeds drawn once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from festina.learning import crossed
from festina.learning.crossed import Crossed, alone, every_run, in_tiles


def batch(seeds: int, arms: int) -> Crossed:
    return Crossed(
        {"seed": jnp.arange(seeds)}, {"speed": jnp.linspace(1.0, 2.0, arms)}, {"scale": jnp.asarray(3.0)}, (seeds, arms)
    )


def work(inputs, state):
    noise = jax.random.normal(jax.random.key(inputs["seed"]), (4,))
    return {"out": inputs["scale"] * inputs["speed"] * noise + state, "sum": jnp.sum(state)}


@pytest.mark.mostly_full
@pytest.mark.parametrize("seeds", [6, 1, 2])
@pytest.mark.parametrize("arms", [4, 1])
@pytest.mark.parametrize("size", [2**18, 1, 2**17, 2**20])  # the first of them in tiles of two arms
def test_runs_in_a_batch_are_runs_alone(seeds, arms, size):
    inputs, states = batch(seeds, arms), jnp.arange(seeds * arms * 4.0).reshape(seeds * arms, 4)
    found = jax.jit(lambda states: in_tiles(work, inputs, states, size))(states)
    for run in range(seeds * arms):
        own = work(alone(inputs, run), states[run])
        np.testing.assert_allclose(found["out"][run], own["out"], rtol=1e-14)
        np.testing.assert_allclose(found["sum"][run], own["sum"], rtol=1e-14)


def test_what_depends_on_the_seed_alone_is_not_repeated_along_arms():
    text = str(jax.make_jaxpr(lambda states: every_run(work, batch(3, 5), states))(jnp.zeros((15, 4))))
    drawn = [line for line in text.splitlines() if "erf_inv" in line]
    assert drawn and all("[3,4]" in line for line in drawn), drawn


def test_plain_inputs_are_seeds_with_one_arm():
    inputs = {"seed": jnp.arange(6), "speed": jnp.ones(6), "scale": jnp.ones(6)}
    states = jnp.zeros((6, 4))
    whole = every_run(work, inputs, states)
    tiled = in_tiles(work, inputs, states, crossed.TILE_BYTES // 2)
    np.testing.assert_array_equal(whole["out"], tiled["out"])
    np.testing.assert_array_equal(whole["out"][4], work(alone(inputs, 4), states[4])["out"])
