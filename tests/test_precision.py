"""Float64 without the global flag."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import festina as fs
from festina.errors import ArgumentError
from festina.precision import precise


@precise
def halve(x):
    return {"half": jnp.asarray(x) / 2.0, "key": jax.random.key(0)}


@pytest.fixture
def single():
    with jax.enable_x64(False):
        yield


def test_importing_festina_leaves_the_flag_alone(single):
    assert fs.__version__ and jnp.ones(1).dtype == jnp.float32


def test_work_is_done_in_float64_and_handed_out_as_numpy(single):
    half = halve(np.asarray([1.0, 1e-12]) + 1.0)["half"]
    assert isinstance(half, np.ndarray) and half.dtype == np.float64
    assert half[1] * 2 - 1 != 0.0


def test_constants_inside_a_compiled_function_are_no_obstacle():
    compiled = jax.jit(lambda x: x * fs.theory.chain(2, 1.0, 0.01)(1.0)["product"])
    exact = fs.theory.chain(2, 1.0, 0.01)(1.0)["product"]
    np.testing.assert_allclose(compiled(jnp.asarray(2.0)), 2.0 * exact, rtol=1e-12)


def test_under_a_transformation_nothing_is_converted():
    slope = jax.grad(lambda x: jnp.sum(halve(x)["half"]))(jnp.ones(3))
    np.testing.assert_allclose(slope, 0.5)


def test_theory_outside_any_scope_is_float64(single):
    answer = fs.theory.chain(2, 1.0, 0.01)(np.linspace(0, 1, 3))
    assert answer["product"].dtype == np.float64
    world = fs.worlds.tree(features=20)
    assert world.moments.cross.dtype == np.float64 and world.strengths.dtype == np.float64
    run = fs.flow(fs.networks.DeepLinear.init(jax.random.key(0), (8, 4, 20)), world, times=[0.0, 1.0])
    assert run.final.weights[0].dtype == np.float64 and run["loss"].dtype == np.float64


@pytest.mark.full
def test_a_compilation_in_single_precision_does_no_harm_later(single):
    first, second = fs.networks.DeepLinear.balanced(jax.random.key(0), (4, 3, 5), 0.5, 0.1).weights
    correlation = np.random.default_rng(0).normal(size=(5, 4))
    with jax.numpy_dtype_promotion("standard"):
        jax.jit(lambda a: fs.theory.balanced(first, second, a * correlation)(2.0)["loss"])(1.0)
    assert fs.theory.balanced(first, second, correlation)(2.0)["loss"].dtype == np.float64


@pytest.mark.parametrize("time", [np.nan, -1.0])
def test_theory_refuses_times_that_are_none(time):
    with pytest.raises(ArgumentError, match="`time` must be a number and not negative"):
        fs.theory.chain(3, 3.0, 0.1)(time)
