"""A perceptron from its weights alone: what a file of weights leaves open is only the function between layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import jax
import numpy as np

from festina.errors import ArgumentError, UnknownName

ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "relu": jax.nn.relu,
    "tanh": jax.numpy.tanh,
    "sigmoid": jax.nn.sigmoid,
    "gelu": jax.nn.gelu,
    "linear": lambda x: x,
}


def perceptron(checkpoint: Mapping[str, np.ndarray], activation: str) -> Callable[[Mapping[str, Any], Any], Any]:
    """``apply(weights, inputs)`` of fully connected layers, in the order in which a checkpoint has them.

    Weights are matrices, all (outputs, inputs) or all (inputs, outputs); a vector that shares the first part of its
    name with a matrix is its bias. Anything else is refused.

    Args:
        checkpoint: arrays by name, as in "layers.0.weight".
        activation: between layers: relu, tanh, sigmoid, gelu or linear.

    Example:
        >>> from festina.watching.perceptron import perceptron
        >>> weights = {"first.weight": np.array([[1.0], [-1.0]]), "second.weight": np.array([[1.0, 1.0]])}
        >>> np.asarray(perceptron(weights, "relu")(weights, np.array([[-2.0], [3.0]])))  # |x|
        array([[2.],
               [3.]], dtype=float32)
    """
    if activation not in ACTIVATIONS:
        raise UnknownName("activation", activation, ACTIVATIONS)
    matrices = [name for name, value in checkpoint.items() if value.ndim == 2]
    biases = {name: _bias(name, checkpoint) for name in matrices}
    left = set(checkpoint) - set(matrices) - set(biases.values())
    shapes = [checkpoint[name].shape for name in matrices]
    outputs_first = all(one[0] == other[1] for one, other in pairwise(shapes))
    inputs_first = all(one[1] == other[0] for one, other in pairwise(shapes))
    if left or not matrices or not (outputs_first or inputs_first):
        what = f"has {', '.join(sorted(left))}" if left else f"has matrices of shapes {shapes}"
        raise ArgumentError(
            f"Argument `checkpoint` must be a plain perceptron, matrices that follow each other and their biases, but "
            f"{what}; use `fs.diagnose` with the network itself."
        )

    def apply(weights: Mapping[str, Any], inputs: Any) -> Any:
        for place, name in enumerate(matrices):
            inputs = inputs @ (weights[name].T if outputs_first else weights[name])
            bias = biases[name]
            inputs = inputs if bias is None else inputs + weights[bias][None]
            inputs = ACTIVATIONS[activation](inputs) if place + 1 < len(matrices) else inputs
        return inputs

    return apply


def _bias(name: str, checkpoint: Mapping[str, np.ndarray]) -> str | None:
    """The vector beside a matrix, if there is one."""
    layer = name.rpartition(".")[0]
    beside = [other for other, value in checkpoint.items() if value.ndim == 1 and other.rpartition(".")[0] == layer]
    return beside[0] if layer and len(beside) == 1 else None
