"""Formulas for NumPy and for JAX, and functions that are compiled only where that is asked for."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import expit, log_expit

from festina.arrays import log_sigmoid, plain_on_host, real, repeat, sigmoid, xp
from festina.compiling import brief_jit, is_tracing, programs_compiled, quick_jit
from festina.precision import namespace, precise


@precise
def length(x):
    return xp.sqrt(xp.sum(real(x) ** 2))


def test_a_formula_takes_its_library_from_its_arguments():
    assert isinstance(xp.exp(np.ones(2)), np.ndarray) and isinstance(xp.exp(jnp.ones(2)), jax.Array)
    assert isinstance(xp.linalg.norm(np.ones(2)), np.floating)
    assert xp.inf == np.inf
    assert namespace({"a": [1.0, np.ones(2)]}) is np and namespace({"a": [1.0, jnp.ones(2)]}) is jnp


def test_on_the_host_nothing_is_compiled():
    before = programs_compiled()
    assert length([3.0, 4.0]) == 5.0
    assert programs_compiled() == before
    length_of_jax = length(jnp.asarray([3.0, 4.0]))
    assert isinstance(length_of_jax, np.floating | np.ndarray) and length_of_jax == 5.0


def test_what_jax_traces_is_compiled_differentiated_and_batched():
    start = jnp.asarray([3.0, 4.0])
    np.testing.assert_allclose(jax.grad(length)(start), [0.6, 0.8])
    np.testing.assert_allclose(jax.jit(jax.vmap(length))(jnp.stack([start, 2 * start])), [5.0, 10.0])


def test_infinities_are_no_warnings(recwarn):
    assert precise(lambda x: 1.0 / x)(np.zeros(1))[0] == np.inf
    assert not recwarn.list


def test_functions_of_jax_are_plain_on_the_host_with_their_own_derivatives():
    @jax.custom_jvp
    def slope(x):
        return xp.abs(x)

    slope.defjvp(lambda primals, tangents: (slope(*primals), 7.0 * tangents[0]))
    either = plain_on_host(slope)
    assert isinstance(either(np.ones(2)), np.ndarray)
    assert jax.grad(either)(1.0) == 7.0
    compiled = plain_on_host(brief_jit(lambda x: xp.abs(x)))
    assert isinstance(compiled(np.ones(2)), np.ndarray) and isinstance(compiled(jnp.ones(2)), jax.Array)


@pytest.mark.parametrize("kind", [quick_jit, brief_jit])
def test_a_function_with_options_of_its_own_can_be_part_of_another(kind):
    """XLA takes options for whole programs only."""
    double = kind(lambda x: 2 * x)
    assert double(jnp.asarray(1.0)) == 2.0
    assert jax.jit(lambda x: double(x) + 1.0)(1.0) == 3.0
    assert jax.jit(lambda: double(jnp.asarray(3.0)))() == 6.0
    assert jax.grad(double)(1.0) == 2.0
    assert jax.eval_shape(double, 1.0).shape == ()


def test_whether_jax_traces_is_known():
    seen = []
    assert not is_tracing()
    jax.jit(lambda x: (seen.append(is_tracing()), x)[1])(1.0)
    jax.vmap(lambda x: (seen.append(is_tracing()), x)[1])(jnp.ones(2))
    assert seen == [True, True] and not is_tracing()


def test_loops_are_the_same_in_both():
    def step(x):
        return x / 2 + 1.0

    assert repeat(3, step, np.asarray(8.0)) == repeat(3, step, jnp.asarray(8.0)) == 2.75


@pytest.mark.parametrize("library", [np, jnp])
def test_the_sigmoid_keeps_its_digits_far_out(library):
    x = np.array([-800.0, -700.0, -40.0, -1.0, 0.0, 1.0, 40.0, 800.0])
    np.testing.assert_allclose(sigmoid(library.asarray(x)), expit(x), rtol=4e-16 if library is np else 1e-14)
    np.testing.assert_allclose(log_sigmoid(library.asarray(x)), log_expit(x), rtol=4e-16 if library is np else 1e-14)
