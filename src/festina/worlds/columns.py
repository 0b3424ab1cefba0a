"""Networks that answer many examples at once, with examples as columns.

Under `jax.vmap` every example is a row, but a product W x of all of them comes out with examples as columns: before
the bias is added, JAX turns the array around, and XLA does so in memory, twice in every layer and step. A perceptron
can leave examples as columns from its first layer to its last.
"""

from typing import Any

import equinox as eqx
import jax


def answers(network: Any, inputs: Any) -> Any:
    """The answers of a network to inputs, one example a row: ``jax.vmap(network)(inputs)``, up to rounding."""
    return _of_layers(network, inputs.T).T if _is_plain(network, inputs) else jax.vmap(network)(inputs)


def _is_plain(network: Any, inputs: Any) -> bool:
    """Whether a network is a perceptron of Equinox, from vectors to vectors, without weights in its nonlinearities."""
    if type(network) is not eqx.nn.MLP or inputs.ndim != 2 or network.depth == 0 or getattr(network, "scan", False):
        return False
    vectors = "scalar" not in (network.in_size, network.out_size)
    return vectors and not any(map(eqx.is_array, jax.tree.leaves((network.activation, network.final_activation))))


def _of_layers(network: eqx.nn.MLP, columns: Any) -> Any:
    """φ(W x + b), layer by layer, with an example in each column."""
    for number, layer in enumerate(network.layers, 1):
        product = layer.weight @ columns
        summed = product if layer.bias is None else product + layer.bias[:, None]
        nonlinearity = network.activation if number < len(network.layers) else network.final_activation
        columns = jax.vmap(jax.vmap(nonlinearity))(summed)  # which Equinox hands one number at a time
    return columns
