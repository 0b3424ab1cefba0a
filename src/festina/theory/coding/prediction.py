"""What every theory of coding schemes hands out: kernels, codes, and the predictor with its variance."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

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
    require(rank >= 1, "targets", "not be zero: there is nothing to learn", "zero everywhere")
    return rows[:rank].T


def check_common(temperature: float, readout_variance: float, lowest: float = 0.0) -> None:
    """Refuse what no theory can do."""
    allowed = "be positive and finite" if lowest == 0.0 else f"be at least {lowest}, and finite"
    require(0.0 < temperature < np.inf and temperature >= lowest, "temperature", allowed, temperature)
    require(0.0 < readout_variance < np.inf, "readout_variance", "be positive and finite", readout_variance)


def check_kernel(inputs: Any, targets: Any) -> tuple[Float[np.ndarray, "n n"], Float[np.ndarray, "n outputs"]]:
    """K_0 and Y in double precision: a finite symmetric kernel without negative eigenvalues, and a row for each input.

    What rounding has done to a kernel, in the precision it was given in, is undone.
    """
    given, rows = np.asarray(inputs), np.asarray(targets, float)
    kernel = given.astype(float)
    square = kernel.ndim == 2 and kernel.shape[0] == kernel.shape[1] and kernel.size > 0
    require(square, "inputs", "be a square kernel", f"of shape {kernel.shape}")
    require(bool(np.all(np.isfinite(kernel))), "inputs", "be finite everywhere", "NaN or infinite somewhere")
    count = len(kernel)
    grain = 10.0 * count * np.finfo(given.dtype if np.issubdtype(given.dtype, np.floating) else float).eps
    size = float(np.abs(kernel).max())
    gap = float(np.abs(kernel - kernel.T).max())
    require(gap <= grain * size, "inputs", "be a symmetric kernel, K_0 = XXᵀ", f"off by {gap:.3g}")
    kernel = 0.5 * (kernel + kernel.T)
    least = float(np.linalg.eigvalsh(kernel)[0])
    require(least >= -grain * count * size, "inputs", "have no negative eigenvalue, as XXᵀ", f"one of {least:.3g}")
    fits = rows.ndim == 2 and len(rows) == count and rows.shape[1] >= 1
    require(fits, "targets", f"have a row for each of {count} inputs", f"of shape {rows.shape}")
    require(bool(np.all(np.isfinite(rows))), "targets", "be finite everywhere", "NaN or infinite somewhere")
    return kernel, rows


def check_test_inputs(cross: np.ndarray, diagonal: np.ndarray, neurons: float, examples: int) -> None:
    shapes = np.shape(cross), np.shape(diagonal)
    fits = len(shapes[0]) == 2 and shapes[0][1] == examples
    require(fits, "cross", f"have a row for each input and {examples} columns", f"of shape {shapes[0]}")
    require(shapes[1] == shapes[0][:1], "diagonal", f"have {shapes[0][0]} entries", f"of shape {shapes[1]}")
    for name, values in (("cross", cross), ("diagonal", diagonal)):
        require(bool(np.all(np.isfinite(values))), name, "be finite everywhere", "NaN or infinite somewhere")
    require(neurons >= 1, "neurons", "be at least 1", neurons)
