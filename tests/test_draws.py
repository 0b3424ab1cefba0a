"""Counted random numbers: known values, their law, and that nothing depends on how they are asked for."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

from festina import draws


def splitmix(seed, count):
    """SplitMix64 in plain Python integers."""
    mask, numbers = 2**64 - 1, []
    for _ in range(count):
        seed = (seed + 0x9E3779B97F4A7C15) & mask
        bits = ((seed ^ (seed >> 30)) * 0xBF58476D1CE4E5B9) & mask
        bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & mask
        numbers.append(bits ^ (bits >> 31))
    return numbers


def test_the_hash_is_splitmix():
    """1234567 has published outputs, so that the reference above is itself checked."""
    assert splitmix(1234567, 2) == [6457827717110365317, 3203168211198807973]
    found = draws._hash(jnp.asarray(1234567, jnp.uint64), jnp.arange(5, dtype=jnp.uint64))
    assert [int(value) for value in found] == splitmix(1234567, 5)


def test_normal_numbers_are_normal_and_independent():
    keys = jax.vmap(lambda k: draws.fold_in(jax.random.key(0), k))(jnp.arange(200))
    drawn = np.asarray(jax.vmap(lambda key: draws.normal(key, (500,)))(keys))
    assert stats.kstest(drawn.ravel(), "norm").pvalue > 1e-3
    for axis in (0, 1):  # neighbours within a key, and the same place in neighbouring keys
        pairs = np.moveaxis(drawn, axis, 0)
        assert abs(np.corrcoef(pairs[:-1].ravel(), pairs[1:].ravel())[0, 1]) < 5 / np.sqrt(drawn.size)
    assert stats.kstest(drawn.mean(axis=1) * np.sqrt(500), "norm").pvalue > 1e-3
    assert abs(drawn).max() < 8.3


def test_uniform_numbers_are_uniform_and_what_normal_ones_are_made_of():
    key = jax.random.key(1)
    drawn = draws.uniform(key, (20_000,))
    assert stats.kstest(drawn, "uniform").pvalue > 1e-3 and drawn.min() > 0 and drawn.max() < 1
    np.testing.assert_allclose(stats.norm.cdf(draws.normal(key, (20_000,))), drawn, atol=1e-12)
    single = jax.jit(lambda key: draws.uniform(key, (100,), jnp.float32))(key)
    assert single.dtype == jnp.float32 and single.min() > 0 and single.max() < 1


def test_neighbouring_seeds_share_nothing():
    streams = [np.asarray(draws.normal(jax.random.key(seed), (20_000,))) for seed in range(4)]
    correlations = np.corrcoef(streams)[np.triu_indices(4, 1)]
    assert np.abs(correlations).max() < 5 / np.sqrt(20_000)
    assert len(np.unique(np.concatenate(streams).round(12))) > 79_000


def test_numbers_do_not_depend_on_batch_shape_or_precision():
    key = jax.random.key(7)
    alone = draws.normal(key, (3, 4))
    np.testing.assert_array_equal(draws.normal(key, (12,)).reshape(3, 4), alone)
    np.testing.assert_allclose(draws.normal(key, (3, 4), jnp.float32), alone, atol=1e-6)
    batch = jax.vmap(lambda seed: draws.normal(jax.random.key(seed), (3, 4)))(jnp.arange(9))
    np.testing.assert_allclose(batch[7], alone, rtol=1e-11)
    np.testing.assert_allclose(jax.jit(lambda: draws.normal(key, (3, 4)))(), alone, rtol=1e-11)
    with jax.enable_x64(False):
        single = draws.normal(key, (3, 4), jnp.float32)
    np.testing.assert_array_equal(single, draws.normal(key, (3, 4), jnp.float32))


def test_children_of_a_key_are_keys_of_their_own():
    first, second = draws.split(jax.random.key(3), 2)
    assert jnp.any(jax.random.key_data(first) != jax.random.key_data(second))
    for fold in (draws.fold_in, jax.jit(draws.fold_in), lambda key, n: jax.jit(lambda n: draws.fold_in(key, n))(n)):
        np.testing.assert_array_equal(jax.random.key_data(fold(jax.random.key(3), 1)), jax.random.key_data(second))
    assert abs(np.corrcoef(draws.normal(first, (9999,)), draws.normal(second, (9999,)))[0, 1]) < 0.05


def test_numbers_of_several_children_are_those_of_each_of_them():
    key, counts = jax.random.key(3), (3, 0, 4)
    each = np.concatenate([draws.uniform(draws.fold_in(key, n), (count,)) for n, count in enumerate(counts)])
    np.testing.assert_array_equal(draws.uniforms(key, counts), each)
    np.testing.assert_array_equal(jax.jit(lambda key: draws.uniforms(key, counts))(key), each)
    np.testing.assert_allclose(jax.jit(lambda key: draws.normals(key, counts))(key), stats.norm.ppf(each), rtol=1e-11)
    split = jax.jit(lambda key: jnp.stack(draws.split(key, 3)))(key)
    assert all((split[n] == draws.fold_in(key, n)).item() for n in range(3))
