"""Networks drawn from the theory, for chains to start from: what a chain from the prior may never reach."""

from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Array, Float

from festina import draws
from festina.errors import require


@runtime_checkable
class Plantable(Protocol):
    """A prediction that can draw neurons: `Analog` of one layer, `Redundant`, `Sparse`."""

    def draw_neurons(self, key: Array, count: int) -> tuple[Any, Any]: ...


def planted(
    key: Array,
    prediction: Plantable,
    inputs: Float[np.ndarray, "examples dimension"],
    neurons: int,
    readout_variance: float,
) -> tuple[tuple[Float[np.ndarray, "neurons dimension"]], Float[np.ndarray, "outputs neurons"]]:
    """Whitened weights and readouts of N neurons, each drawn from the theory's p(a, z).

    Weights are those with z = W x at the training inputs, plus their prior in directions that no input has. The
    neurons are independent, so that answers are off by an amount of order 1/√N, which sampling mends at once.

    Args:
        key: of all random numbers.
        prediction: the theory, for the same examples in the same order.
        inputs: X, one example a row, linearly independent.
        neurons: N.
        readout_variance: s.
    """
    examples, dimension = inputs.shape
    require(np.linalg.matrix_rank(inputs) == examples, "inputs", "be linearly independent", inputs.shape)
    for_neurons, for_prior = draws.split(key, 2)
    readouts, preactivations = prediction.draw_neurons(for_neurons, neurons)
    expected = (neurons, examples)
    require(preactivations.shape == expected, "inputs", f"be those of {preactivations.shape[1]} examples", inputs.shape)
    inverse = np.linalg.pinv(inputs)  # dimension × examples
    prior = np.asarray(draws.normal(for_prior, (neurons, dimension)))
    weights = preactivations @ inverse.T + prior - prior @ inputs.T @ inverse.T
    return (weights,), (readouts / np.sqrt(readout_variance)).T
