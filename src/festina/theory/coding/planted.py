"""Networks drawn from the theory, for chains to start from: what a chain from the prior may never reach."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Array, Float

from festina import draws
from festina.errors import require
from festina.theory.coding.redundant import Redundant

SPARE = 4  # times as many neurons are drawn as are chosen from them


@runtime_checkable
class Plantable(Protocol):
    """A prediction that can draw neurons: `Analog` of one layer, `Redundant`, `Sparse`.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> from festina.theory.coding.planted import Plantable
        >>> isinstance(fs.theory.coding.analog(np.eye(2), np.eye(2), 0.1, readout_variance=1.0), Plantable)
        True
    """

    def draw_neurons(self, key: Array, count: int) -> tuple[Any, Any]: ...


@dataclass(frozen=True)
class Even:
    """Neurons of a redundant code, with each code in its predicted number, up to rounding.

    An independent draw would be off by 1/√N, and neurons that keep their code could not mend that.

    Attributes:
        prediction: the redundant code.

    Example:
        >>> import jax
        >>> import numpy as np
        >>> import festina as fs
        >>> targets = np.array([[1.0], [-1.0]])  # two classes of ten, one output
        >>> prediction = fs.theory.coding.redundant([10, 10], targets, 0.1, readout_variance=0.2)
        >>> readouts, preactivations = fs.theory.coding.Even(prediction).draw_neurons(jax.random.key(0), 40)
        >>> readouts.shape, preactivations.shape, int(np.sum(readouts > 0))  # half of the neurons for each class
        ((40, 1), (40, 20), 20)
    """

    prediction: Redundant

    def draw_neurons(
        self, key: Array, count: int
    ) -> tuple[Float[np.ndarray, "count outputs"], Float[np.ndarray, "count examples"]]:
        """Readouts and preactivations, chosen from four times as many."""
        codes = self.prediction.codes
        readouts, preactivations = self.prediction.draw_neurons(key, SPARE * count)
        nearest = np.argmin(((readouts[:, None] - codes.readouts[None]) ** 2).sum(axis=-1), axis=1)
        limits = np.rint(count * np.cumsum(codes.weights)).astype(int)
        wanted = np.diff(limits, prepend=0)
        chosen = np.concatenate([np.flatnonzero(nearest == each)[:number] for each, number in enumerate(wanted)])
        others = np.setdiff1d(np.arange(len(readouts)), chosen)  # should a rare code lack candidates
        chosen = np.concatenate([chosen, others[: count - len(chosen)]])
        return readouts[chosen], preactivations[chosen]


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

    Returns:
        The weights of the hidden layer, whitened, as the only member of a tuple, and the readouts in units of √s.

    Example:
        >>> import jax
        >>> import numpy as np
        >>> import festina as fs
        >>> theory = fs.theory.coding.analog(np.eye(4), np.repeat(np.eye(2), 2, axis=0), 0.1, readout_variance=1.0)
        >>> (weights,), readouts = fs.theory.coding.planted(jax.random.key(0), theory, np.eye(4, 6), 50, 1.0)
        >>> weights.shape, readouts.shape  # 50 neurons, 6 inputs, 2 outputs
        ((50, 6), (2, 50))
    """
    require(np.ndim(inputs) == 2, "inputs", "have one example a row", np.shape(inputs))
    require(neurons >= 1 and int(neurons) == neurons, "neurons", "be a whole number, at least 1", neurons)
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
