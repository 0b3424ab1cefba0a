"""What every theory of coding schemes hands out: kernels, codes, and the predictor with its variance."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Bool, Float

from festina.errors import FestinaError, require


class Predictor(NamedTuple):
    """⟨f⟩ at some inputs, and the variance of f under the posterior of a network of finite width, output by output."""

    mean: Float[np.ndarray, "inputs outputs"]
    variance: Float[np.ndarray, "inputs outputs"]


class Codes(NamedTuple):
    """Groups of neurons that do alike.

    Attributes:
        subsets: the classes each group is on for, with a mean activity above half of the largest.
        weights: the share of neurons in each group; of a sparse code, its share of Σ|ā|².
        readouts: the readout a of each group; of a sparse code ā = a/√N.
        activities: the mean activity ⟨φ⟩ of each group in each class; of a sparse code divided by √N.
    """

    subsets: Bool[np.ndarray, "codes classes"]
    weights: Float[np.ndarray, " codes"]
    readouts: Float[np.ndarray, "codes outputs"]
    activities: Float[np.ndarray, "codes classes"]


@dataclass(frozen=True)
class Prediction:
    """The theory's picture of one posterior.

    Attributes:
        kernels: K_l = ⟨φφᵀ⟩ of every hidden layer, for the training inputs.
        residual: t = (Y − ⟨f⟩)/T.
        mean: ⟨f⟩ at the training inputs.
        diagnostics: how well the equations are solved, by name; all of them small, but `certificate`, which is ≤ 1.
    """

    kernels: tuple[Float[np.ndarray, "examples examples"], ...]
    residual: Float[np.ndarray, "examples outputs"]
    mean: Float[np.ndarray, "examples outputs"]
    diagnostics: dict[str, float] = field(default_factory=dict, kw_only=True)

    @property
    def codes(self) -> Codes | None:
        """The groups that neurons fall into, if they do."""
        return None

    def predict(
        self, cross: Float[np.ndarray, "inputs examples"], diagonal: Float[np.ndarray, " inputs"], neurons: int
    ) -> Predictor:
        """The predictor at other inputs.

        Args:
            cross: k* = x*·x, the overlaps of these inputs with those of training, one input a row.
            diagonal: k** = |x*|² of each of these inputs.
            neurons: N, the width; the variance falls as 1/N.
        """
        raise FestinaError(f"predictions of the kind {type(self).__name__} are about the training inputs only")

    def draw_readouts(self, key: Array, count: int) -> Float[np.ndarray, "count outputs"]:
        """Readouts a of some neurons, drawn from the theory."""
        raise FestinaError(f"predictions of the kind {type(self).__name__} have no distribution of readouts")


def row_space(targets: Float[np.ndarray, "rows outputs"]) -> Float[np.ndarray, "outputs rank"]:
    """An orthonormal basis of the directions in which targets lie; in all others readouts keep their prior."""
    _, sizes, rows = np.linalg.svd(targets, full_matrices=False)
    rank = int(np.sum(sizes > 1e-10 * max(sizes[0], 1e-300)))
    require(rank >= 1, "targets", "not be zero", targets)
    return rows[:rank].T


def check_common(temperature: float, readout_variance: float, lowest: float = 0.0) -> None:
    """Refuse what no theory can do."""
    allowed = "be positive" if lowest == 0.0 else f"be at least {lowest}"
    require(temperature > 0.0 and temperature >= lowest, "temperature", allowed, temperature)
    require(readout_variance > 0.0, "readout_variance", "be positive", readout_variance)


def check_test_inputs(cross: np.ndarray, diagonal: np.ndarray, neurons: float, examples: int) -> None:
    require(cross.ndim == 2 and cross.shape[1] == examples, "cross", f"have {examples} columns", cross.shape)
    require(diagonal.shape == cross.shape[:1], "diagonal", f"have {cross.shape[0]} entries", diagonal.shape)
    require(neurons >= 1, "neurons", "be at least 1", neurons)
