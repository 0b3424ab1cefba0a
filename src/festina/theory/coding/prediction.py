"""What every theory of coding schemes hands out: kernels, codes, and the predictor with its variance."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Bool, Float

from festina.errors import FestinaError, require
from festina.theory.coding.units import Unit

SLACK = 1e-3  # by which |x*|² may fall short of the part of it that overlaps tell: data of single precision


class Predictor(NamedTuple):
    """⟨f⟩ at some inputs, and the variance of f under the posterior of a network of finite width, output by output.

    Attributes:
        mean: ⟨f⟩.
        variance: of f.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> prediction = fs.theory.coding.analog(np.eye(2), np.eye(2), 0.1, readout_variance=1.0)
        >>> wide, wider = (prediction.predict(np.zeros((1, 2)), np.ones(1), neurons).variance for neurons in (100, 200))
        >>> (wide / wider).round(6)  # falls as 1/N
        array([[2., 2.]])
    """

    mean: Float[np.ndarray, "inputs outputs"]
    variance: Float[np.ndarray, "inputs outputs"]


class Codes(NamedTuple):
    """Groups of neurons that do alike.

    Attributes:
        subsets: the classes each group is on for, with a mean activity above half of the largest.
        weights: the share of neurons in each group; of a sparse code, its share of Σ|ā|².
        readouts: the readout a of each group; of a sparse code ā = a/√N.
        activities: the mean activity ⟨φ⟩ of each group in each class; of a sparse code divided by √N.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> targets = np.array([[1.0], [-1.0]])  # two classes of ten, one output
        >>> codes = fs.theory.coding.redundant([10, 10], targets, 0.1, readout_variance=0.2).codes
        >>> codes.subsets.sum(axis=1), codes.weights.round(1)  # one code a class, each of half of the neurons
        (array([1, 1]), array([0.5, 0.5]))
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

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> targets = np.eye(2)
        >>> prediction = fs.theory.coding.lazy(np.eye(2), targets, temperature=1.0, unit=fs.theory.coding.LINEAR)
        >>> bool(np.allclose(prediction.residual, targets - prediction.mean)), prediction.codes  # T = 1, and no codes
        (True, None)
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


def check_common(temperature: Any, readout_variance: Any, lowest: float = 0.0) -> None:
    """Refuse what no theory can do."""
    for name, value in (("temperature", temperature), ("readout_variance", readout_variance)):
        require(np.ndim(value) == 0, name, "be one number", value)
    allowed = "be positive and finite" if lowest == 0.0 else f"be at least {lowest}, and finite"
    require(0.0 < temperature < np.inf and temperature >= lowest, "temperature", allowed, temperature)
    require(0.0 < readout_variance < np.inf, "readout_variance", "be positive and finite", readout_variance)


def check_kernel(inputs: Any, targets: Any) -> tuple[Float[np.ndarray, "n n"], Float[np.ndarray, "n outputs"]]:
    """K_0 and Y in double precision: a kernel, and a finite row for each input."""
    kernel, rows = check_symmetric(inputs), np.asarray(targets, float)
    fits = rows.ndim == 2 and len(rows) == len(kernel) and rows.shape[1] >= 1
    require(fits, "targets", f"have a row for each of {len(kernel)} inputs", f"of shape {rows.shape}")
    require(bool(np.all(np.isfinite(rows))), "targets", "be finite everywhere", "NaN or infinite somewhere")
    return kernel, rows


def check_symmetric(inputs: Any) -> Float[np.ndarray, "n n"]:
    """K_0 in double precision: finite, symmetric, without negative eigenvalues.

    What rounding has done to a kernel, in the precision it was given in, is undone.
    """
    given = np.asarray(inputs)
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
    least = float(modes_of(kernel)[0][0])
    require(least >= -grain * count * size, "inputs", "have no negative eigenvalue, as XXᵀ", f"one of {least:.3g}")
    return kernel


def modes_of(kernel: Float[np.ndarray, "n n"]) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n n"]]:
    """Eigenvalues and eigenvectors of a symmetric matrix, not to be written into.

    They are kept: who moves a slider asks again and again for those of one kernel, several times for each answer.
    """
    return _modes_of(np.asarray(kernel, float).tobytes(), len(kernel))


@lru_cache(maxsize=16)
def _modes_of(kernel: bytes, size: int) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n n"]]:
    values, vectors = np.linalg.eigh(np.frombuffer(kernel).reshape(size, size))
    values.flags.writeable = vectors.flags.writeable = False
    return values, vectors


def check_unit(unit: Any) -> None:
    """Refuse what is no nonlinearity of the theory, its name for instance."""
    require(isinstance(unit, Unit), "unit", "be one of `LINEAR`, `SIGMOIDAL`, `RECTIFIED`", unit)


def check_test_inputs(
    cross: Any, diagonal: Any, neurons: Any, inputs: Float[np.ndarray, "n n"] | int
) -> tuple[Float[np.ndarray, "inputs n"], Float[np.ndarray, " inputs"]]:
    """k* and k** in double precision; ``inputs`` is K_0, or how many examples there are if they are orthonormal.

    Refused are overlaps that no inputs have: k** must be at least the part of it that k* tells, k*ᵀ K_0⁻¹ k*.
    """
    examples = inputs if isinstance(inputs, int) else len(inputs)
    shapes = np.shape(cross), np.shape(diagonal)
    fits = len(shapes[0]) == 2 and shapes[0][1] == examples
    require(fits, "cross", f"have a row for each input and {examples} columns", f"of shape {shapes[0]}")
    require(shapes[1] == shapes[0][:1], "diagonal", f"have {shapes[0][0]} entries", f"of shape {shapes[1]}")
    for name, values in (("cross", cross), ("diagonal", diagonal)):
        require(bool(np.all(np.isfinite(values))), name, "be finite everywhere", "NaN or infinite somewhere")
    require(np.ndim(neurons) == 0 and neurons >= 1, "neurons", "be at least 1", neurons)
    overlaps, norms = np.asarray(cross, float), np.asarray(diagonal, float)
    lacking = float(np.max(_told(overlaps, inputs) - norms - SLACK * np.abs(norms), initial=0.0))
    require(lacking <= 0.0, "diagonal", "be at least k*ᵀ K_0⁻¹ k*, as |x*|² is", f"less by {lacking:.3g}")
    return overlaps, norms


def _told(cross: Float[np.ndarray, "inputs n"], inputs: Float[np.ndarray, "n n"] | int) -> Float[np.ndarray, " inputs"]:
    """k*ᵀ K_0⁻¹ k*, in the directions that training inputs clearly have."""
    if isinstance(inputs, int):
        return np.sum(cross**2, axis=1)
    values, vectors = modes_of(inputs)
    seen = values > SLACK**2 * np.max(values)
    return (cross @ vectors[:, seen]) ** 2 @ (1.0 / values[seen])
