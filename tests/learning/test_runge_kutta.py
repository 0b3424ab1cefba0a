"""Runge-Kutta methods: their tables, their order, and what they are made from."""

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import festina as fs
from festina.learning import DORMAND_PRINCE, TSITOURAS, RungeKutta
from festina.learning.runge_kutta import is_written_out


@pytest.mark.parametrize(
    ("method", "solver"), [(DORMAND_PRINCE, diffrax.Dopri8()), (TSITOURAS, diffrax.Tsit5())], ids=["8", "5"]
)
def test_tables_are_those_of_another_library(method, solver):
    assert RungeKutta.of(solver) == method
    assert RungeKutta.of(method) is method


@pytest.mark.parametrize("method", [DORMAND_PRINCE, TSITOURAS], ids=["8", "5"])
def test_a_step_has_the_error_of_its_order(method):
    """dθ/dt = θ(1 − θ): where steps are halved, errors fall at least as 2^order, and estimates as they should."""

    def errors(size):
        after, estimate = method.step(lambda state: {"x": state["x"] * (1 - state["x"])}, {"x": jnp.asarray(0.2)}, size)
        return abs(float(after["x"]) - 1 / (1 + 4 * np.exp(-size))), abs(float(estimate["x"]))

    (wrong, estimate), (half_wrong, half_estimate) = errors(1.0), errors(0.5)
    assert wrong / half_wrong > 2**method.order
    assert estimate / half_estimate == pytest.approx(2**method.order, rel=0.5)
    assert wrong < estimate < 1e4 * wrong


HEUN = RungeKutta("Heun", 2, stages=((), (1.0,)), weights=(0.5, 0.5), errors=(0.5, -0.5))  # with an entry of one


@pytest.mark.parametrize("method", [DORMAND_PRINCE, TSITOURAS, HEUN], ids=["8", "5", "2"])
@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_stages_written_out_are_those_of_the_loop(method, precision):
    """On a batch of large networks, which take the one way, and part by part, which take the other."""
    random = np.random.default_rng(0)
    start = [random.normal(size=(3, 20, 20)).astype(precision) for _ in range(2)]
    target = random.normal(size=(20, 20)).astype(precision)

    def rate(layers):
        error = target - layers[1] @ layers[0]
        return [layers[1].T @ error, error @ layers[0].T]

    assert is_written_out([layer[0] for layer in start]) and not is_written_out([layer[0, :5] for layer in start])
    step = jax.vmap(lambda layers: method.step(rate, layers, 0.01))
    looped = jax.vmap(lambda layers: method._in_a_loop(rate, layers, 0.01))
    for one, other in zip(jax.tree.leaves(step(start)), jax.tree.leaves(looped(start)), strict=True):
        assert one.dtype == precision
        np.testing.assert_allclose(one, other, rtol=0, atol=30 * np.finfo(precision).eps)


def test_a_step_can_be_differentiated_both_ways():
    after = lambda size: DORMAND_PRINCE.step(lambda x: -x, jnp.asarray(2.0), size)[0]  # noqa: E731
    assert float(jax.jacfwd(after)(0.3)) == pytest.approx(-2 * np.exp(-0.3), rel=1e-8)
    assert float(jax.grad(after)(0.3)) == pytest.approx(-2 * np.exp(-0.3), rel=1e-8)


@pytest.mark.full
def test_a_flow_takes_methods_of_another_library():
    network = fs.networks.DeepLinear.init(jax.random.key(0), (4, 5, 7))
    world = fs.worlds.tree(branching=(2, 2), features=7)
    run = fs.flow(network, world, until=3.0, solver=diffrax.Bosh3(), tolerance=fs.learning.Tolerance(1e-7, 1e-9))
    np.testing.assert_allclose(run["loss"], fs.flow(network, world, until=3.0)["loss"], rtol=1e-5)
    assert "Bosh3" in repr(run)


def test_what_is_no_such_method_is_refused():
    with pytest.raises(fs.errors.ArgumentError, match=r"`solver` must be a `fs\.learning\.RungeKutta` or an explicit"):
        RungeKutta.of("Tsit5")
