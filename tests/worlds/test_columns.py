"""A network whose examples are columns answers as under `jax.vmap`, and has the same slope."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import festina as fs
from festina.worlds.columns import answers

KEY = jax.random.key(0)


def perceptron(activation):
    return lambda: eqx.nn.MLP(5, 3, 7, 2, activation=activation, key=KEY)


def normalised():  # sums over neurons, which is no function of single numbers
    return eqx.nn.Sequential([eqx.nn.Linear(5, 4, key=KEY), eqx.nn.LayerNorm(4)])


MAKERS = {
    "relu": perceptron(jax.nn.relu),
    "gelu": perceptron(jax.nn.gelu),
    "tanh": perceptron(jnp.tanh),
    "softplus": perceptron(jax.nn.softplus),
    "bounded at the end": lambda: eqx.nn.MLP(5, 3, 7, 2, final_activation=jnp.tanh, key=KEY),
    "in a loop": lambda: eqx.nn.MLP(5, 3, 7, 3, scan=True, key=KEY),
    "without biases": lambda: eqx.nn.MLP(5, 3, 7, 1, use_bias=False, use_final_bias=False, key=KEY),
    "learned nonlinearity": lambda: eqx.nn.MLP(5, 3, 7, 2, activation=eqx.nn.PReLU(0.3), key=KEY),
    "one layer": lambda: eqx.nn.MLP(5, 3, 7, 0, key=KEY),
    "to numbers": lambda: eqx.nn.MLP(5, "scalar", 7, 1, key=KEY),
    "normalised": normalised,
    "rectified": lambda: fs.networks.Rectified((np.ones((3, 5)), np.ones((1, 3)))),
    "constant": lambda: eqx.nn.Lambda(lambda x: jnp.ones(2)),
}


@pytest.mark.mostly_full
@pytest.mark.parametrize("name", MAKERS)
def test_answers_and_slopes_are_those_of_vmap(name):
    with fs.double():
        network, inputs = MAKERS[name](), jax.random.normal(KEY, (6, 5))
        weights, static = eqx.partition(network, eqx.is_inexact_array)

        def power(weights, answer):
            return jnp.sum(jnp.sin(answer(eqx.combine(weights, static))))

        side_by_side = jax.jit(jax.value_and_grad(lambda w: power(w, lambda n: answers(n, inputs))))
        one_by_one = jax.jit(jax.value_and_grad(lambda w: power(w, lambda n: jax.vmap(n)(inputs))))
        found, wanted = side_by_side(weights), one_by_one(weights)
        for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)
        assert answers(network, inputs).shape == jax.vmap(network)(inputs).shape


def test_no_array_of_examples_is_turned_between_layers():
    network = eqx.nn.MLP(5, 3, 7, 2, key=KEY)
    program = jax.make_jaxpr(lambda inputs: answers(network, inputs))(jnp.ones((6, 5)))
    turned = [equation for equation in program.eqns if equation.primitive.name == "transpose"]
    assert len(turned) == 2  # what goes in, and what comes out
