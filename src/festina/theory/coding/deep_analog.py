"""Linear networks of any depth at any temperature, for orthonormal inputs: an analog code in every layer.

Along each singular vector of the targets, with singular value ω, the answer is Gaussian given the product U_1 = s u^L
of what L layers do to it, and layers share equally. Under the posterior, u has the density exp(−N A(u)),

    A(u) = (L/2)(u − log u) + ω²/(2(s u^L + T)) + (P/2N) log(s u^L + T).

At its minimum U = s u is the variance of readouts, U_l = s u^{L−l+1}, and

    ⟨f⟩ = ω U_1/(U_1 + T),    t = ω/(U_1 + T),    K_l = K_{l−1} + ⟨f⟩ U_l⁻¹ ⟨f⟩ᵀ.

With several layers A may have two minima, and the deeper one is taken: what is learned then sets in with a jump as T
falls. As T → 0 this is `analog_at_zero`, and with one layer `analog`.

The model is that of A. van Meegen, H. Sompolinsky, "Coding schemes in neural networks learning classification tasks"
(2024). The equations were derived independently and checked against posterior sampling.
"""

import numpy as np
from jaxtyping import Float

from festina._lazy import optimize
from festina.errors import require
from festina.theory.coding.analog import Analog
from festina.theory.coding.prediction import check_common

SMALLEST = 1e-9  # u/(1 − P/N), where fewer neurons than examples leave readouts next to no room
POINTS = 4000  # on which the minimum is looked for, before it is found


def deep_analog(
    targets: Float[np.ndarray, "n outputs"],
    temperature: float,
    readout_variance: float,
    depth: int = 1,
    neurons: float = np.inf,
) -> Analog:
    """Any number of linear hidden layers at any temperature, for orthonormal inputs.

    Args:
        targets: Y, one example a row.
        temperature: T.
        readout_variance: s.
        depth: hidden layers L.
        neurons: N, for the correction of order P/N; infinite unless given.

    Returns:
        An `Analog` prediction, with a kernel for every layer; the variance of its predictor leaves out that of U.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> targets = np.repeat(np.eye(2), 2, axis=0)
        >>> cold = fs.theory.coding.deep_analog(targets, 1e-9, readout_variance=1.0, depth=2)
        >>> [kernel[0, 1].round(2).item() for kernel in cold.kernels]  # as `analog_at_zero` has it
        [0.35, 0.94]
        >>> hot = fs.theory.coding.deep_analog(targets, 1.0, readout_variance=1.0, depth=2)
        >>> [kernel[0, 1].round(2).item() for kernel in hot.kernels]
        [0.22, 0.54]
    """
    check_common(temperature, readout_variance)
    require(np.ndim(targets) == 2 and np.size(targets) > 0, "targets", "have a row for each example", np.shape(targets))
    targets = np.asarray(targets, float)
    require(bool(np.all(np.isfinite(targets))), "targets", "be finite everywhere", "NaN or infinite somewhere")
    require(1 <= depth < np.inf and int(depth) == depth, "depth", "be a whole number, at least 1", depth)
    require(np.ndim(neurons) == 0 and neurons >= 1, "neurons", "be at least 1", neurons)
    _, sizes, rows = np.linalg.svd(targets.T @ targets)
    strengths = np.sqrt(np.maximum(sizes, 0.0))
    load = len(targets) / neurons
    found = [_least(each, temperature, readout_variance, int(depth), load) for each in strengths.tolist()]
    growth, gap = np.array(found).T
    first = readout_variance * growth**depth

    def matrix(values: np.ndarray) -> np.ndarray:
        return (rows.T * values[None]) @ rows

    residual = targets @ matrix(1.0 / (first + temperature))
    answers = targets @ matrix(first / (first + temperature))
    kernels = [np.eye(len(targets))]
    for power in range(int(depth), 0, -1):
        kernels.append(kernels[-1] + answers @ matrix(1.0 / (readout_variance * growth**power)) @ answers.T)
    return Analog(
        tuple(kernels[1:]),
        residual,
        answers,
        matrix(readout_variance * growth),
        matrix(first),
        kernels[0],
        temperature,
        diagnostics={"gap": float(gap.max())},
    )


def _least(strength: float, temperature: float, variance: float, depth: int, load: float) -> tuple[float, float]:
    """u at the deepest minimum of A, and by how much u A'(u) misses zero there, relative to its terms."""
    cold, warm = (strength**2 / variance) ** (1.0 / (depth + 1)), strength**2 / (4.0 * temperature)
    places = np.geomspace(SMALLEST, 2.0 * (2.0 + min(cold, warm)), POINTS)
    noisy = variance * places**depth + temperature
    action = depth * (places - np.log(places)) + strength**2 / noisy + load * np.log(noisy)

    def slope(u: float) -> float:
        """u A'(u) · 2/L."""
        first = variance * u**depth
        return u - 1.0 - strength**2 * first / (first + temperature) ** 2 + load * first / (first + temperature)

    lowest = int(np.argmin(action))
    low, high = places[max(lowest - 1, 0)], places[min(lowest + 1, POINTS - 1)]
    if slope(low) >= 0.0:  # next to no room
        return float(low), abs(slope(low))
    growth = float(np.asarray(optimize.brentq(slope, low, high, xtol=1e-300, rtol=np.float64(1e-14))))
    return growth, abs(slope(growth)) / max(1.0, growth)
