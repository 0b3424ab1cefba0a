"""The lazy limit: a wide network is a Gaussian process, with features that no data can change.

    K_l = ⟨φ(z)φ(z)ᵀ⟩ for z ~ N(0, K_{l−1}),    ⟨f*⟩ = k*ᵀ(K_L + T)⁻¹Y,    Var f* = k** − k*ᵀ(K_L + T)⁻¹k*.

The network is f = aφ(z_L)/√N with a ~ N(0, 1), and its posterior is exp(−Σ|y − f|²/2T) × prior.

Sources: C. K. I. Williams, "Computing with infinite networks" (1997), for sigmoidal, and Y. Cho, L. Saul, "Kernel
methods for deep learning" (2009), for rectified units.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Array, Float

from festina import draws
from festina.errors import require
from festina.theory.coding.prediction import (
    Prediction,
    Predictor,
    check_common,
    check_kernel,
    check_symmetric,
    check_test_inputs,
    check_unit,
)
from festina.theory.coding.units import Unit

MOST_UNEVEN = 1e15  # condition number of K_L + T


def kernels(inputs: Any, unit: Unit, depth: int = 1) -> tuple[Float[np.ndarray, "n n"], ...]:
    """K_1 … K_L of the prior: K_l = ⟨φ(z)φ(z)ᵀ⟩ for z ~ N(0, K_{l−1}).

    Args:
        inputs: K_0 = XXᵀ, a square matrix.
        unit: φ, one of `LINEAR`, `SIGMOIDAL`, `RECTIFIED`.
        depth: hidden layers L.

    Returns:
        One kernel for each hidden layer.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> (kernel,) = fs.theory.coding.kernels(np.eye(2), fs.theory.coding.RECTIFIED)
        >>> kernel.round(4)  # ½, and 1/2π between orthogonal inputs
        array([[0.5   , 0.1592],
               [0.1592, 0.5   ]])
    """
    require(1 <= depth < np.inf and int(depth) == depth, "depth", "be a whole number, at least 1", depth)
    check_unit(unit)
    layers = [check_symmetric(inputs)]
    for _ in range(int(depth)):
        variances = np.diag(layers[-1])
        layers.append(unit.kernel(variances[:, None], variances[None], layers[-1]))
    return tuple(layers[1:])


def lazy(
    inputs: Float[np.ndarray, "n n"],
    targets: Float[np.ndarray, "n outputs"],
    temperature: float,
    unit: Unit,
    depth: int = 1,
) -> "Lazy":
    """The Gaussian process of a lazy network.

    Args:
        inputs: K_0 = XXᵀ.
        targets: Y, one example a row.
        temperature: T, which here is the variance of noise on targets.
        unit: φ, one of `LINEAR`, `SIGMOIDAL`, `RECTIFIED`.
        depth: hidden layers L.

    Returns:
        A `Lazy` prediction.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> prediction = fs.theory.coding.lazy(np.eye(2), np.eye(2), temperature=1.0, unit=fs.theory.coding.LINEAR)
        >>> prediction.mean  # K/(K + T)
        array([[0.5, 0. ],
               [0. , 0.5]])
    """
    check_common(temperature, 1.0)
    inputs, targets = check_kernel(inputs, targets)
    layers = kernels(inputs, unit, depth)
    noisy = layers[-1] + temperature * np.eye(len(targets))
    solvable = bool(np.linalg.cond(noisy) < MOST_UNEVEN)
    require(solvable, "temperature", "be larger, for a kernel of the last layer that is singular", temperature)
    residual = np.linalg.solve(noisy, targets)
    return Lazy(layers, residual, layers[-1] @ residual, inputs, temperature, unit)


@dataclass(frozen=True)
class Lazy(Prediction):
    """A prediction made by :func:`lazy`.

    Attributes:
        inputs: K_0.
        temperature: T.
        unit: φ.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> prediction = fs.theory.coding.lazy(np.eye(2), np.eye(2), temperature=1.0, unit=fs.theory.coding.LINEAR)
        >>> prediction.predict(cross=np.zeros((1, 2)), diagonal=np.ones(1))  # far from all data: the prior
        Predictor(mean=array([[0., 0.]]), variance=array([[1., 1.]]))
    """

    inputs: Float[np.ndarray, "n n"]
    temperature: float
    unit: Unit

    def predict(
        self, cross: Float[np.ndarray, "inputs n"], diagonal: Float[np.ndarray, " inputs"], neurons: float = np.inf
    ) -> Predictor:
        """The predictor at other inputs; its variance does not depend on the width."""
        cross, other = check_test_inputs(cross, diagonal, neurons, self.inputs)
        variances = np.diag(self.inputs)
        for _ in self.kernels:
            cross = self.unit.kernel(other[:, None], variances[None], cross)
            other = self.unit.kernel(other, other, other)
            variances = self.unit.kernel(variances, variances, variances)
        noisy = self.kernels[-1] + self.temperature * np.eye(len(self.inputs))
        variance = other - np.sum(cross * np.linalg.solve(noisy, cross.T).T, axis=1)
        mean = cross @ self.residual
        return Predictor(mean, np.broadcast_to(variance[:, None], mean.shape))

    def draw_readouts(self, key: Array, count: int) -> Float[np.ndarray, "count outputs"]:
        """a ~ N(0, 1): the prior."""
        return np.asarray(draws.normal(key, (count, self.residual.shape[1])))
