"""Linear networks: an analog code. Readouts are Gaussian with a covariance U, and all neurons carry all classes.

One hidden layer at any temperature: with the eigenvalues λ_k of K_0 and targets y_k in its eigenbasis, U minimises

    Φ(U) = tr U/2s − ½ log det U + (1/2N) Σ_k log det(λ_k U + T) + ½ Σ_k y_kᵀ(λ_k U + T)⁻¹ y_k,

and then t = Σ_k v_k [(λ_k U + T)⁻¹ y_k]ᵀ, ⟨f*⟩ = k*ᵀ t U, K_1 = K_0 + K_0 t U tᵀ K_0.

L hidden layers at T = 0: with S = Yᵀ K_0⁻¹ Y,

    U^{L+1} − (1 − P/N) s U^L = s^L S,    U_l = U^{L−l+1}/s^{L−l},    K_l = K_{l−1} + Y U_l⁻¹ Yᵀ,

⟨f*⟩ = k*ᵀ K_0⁻¹ Y, and Var f* = (k** − k*ᵀ K_0⁻¹ k*) U_1/N.

The model is that of A. van Meegen, H. Sompolinsky, "Coding schemes in neural networks learning classification tasks"
(2024). The equations were derived independently and checked against posterior sampling.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Array, Float

from festina import draws
from festina._lazy import optimize
from festina.errors import require
from festina.theory.coding.prediction import (
    Prediction,
    Predictor,
    check_common,
    check_kernel,
    check_test_inputs,
    modes_of,
    row_space,
)

SOLVED = 1e-8  # a gap that is larger is no solution
LARGEST_GUESS = 1e8  # of U/s; beyond, quasi-Newton steps find their way better from below


def onset_temperatures(
    inputs: Float[np.ndarray, "n n"], targets: Float[np.ndarray, "n outputs"], readout_variance: float
) -> Float[np.ndarray, " rank"]:
    """T_c = √(s · eig(Yᵀ K_0 Y)): below each of them one more direction is learned, in the limit of large P.

    Args:
        inputs: K_0 = XXᵀ.
        targets: Y, one example a row.
        readout_variance: s.

    Returns:
        One temperature for each direction of the targets, rising.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> targets = np.repeat([[1.0], [-1.0]], 10, axis=0)
        >>> fs.theory.coding.analog_onsets(np.eye(20), targets, readout_variance=0.2).round(6)  # √(s |Y|²)
        array([2.])
    """
    check_common(1.0, readout_variance)
    inputs, targets = check_kernel(inputs, targets)
    along = targets @ row_space(targets)
    # a direction that inputs do not have is never learned: its temperature is zero, not the root of a rounding error
    return np.sqrt(readout_variance * np.maximum(np.linalg.eigvalsh(along.T @ inputs @ along), 0.0))


@dataclass(frozen=True)
class Analog(Prediction):
    """A prediction made by :func:`analog` or :func:`analog_at_zero`.

    Attributes:
        readout_covariance: U, of the readouts of the last layer.
        input_covariance: U_1 = U^L/s^{L−1}, with which a change of the first layer shows in the answer.
        inputs: K_0.
        temperature: T.
        action: Φ(U), for its fluctuations at T > 0.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> prediction = fs.theory.coding.analog(np.eye(4), np.repeat(np.eye(2), 2, axis=0), 0.1, readout_variance=1.0)
        >>> between = prediction.predict(cross=np.array([[0.5, 0.5, 0.0, 0.0]]), diagonal=np.array([1.0]), neurons=100)
        >>> between.mean.round(2), between.variance.round(2)
        (array([[0.95, 0.  ]]), array([[0.01, 0.01]]))
    """

    readout_covariance: Float[np.ndarray, "outputs outputs"]
    input_covariance: Float[np.ndarray, "outputs outputs"]
    inputs: Float[np.ndarray, "n n"]
    temperature: float
    action: "Action | None" = None

    def predict(
        self, cross: Float[np.ndarray, "inputs n"], diagonal: Float[np.ndarray, " inputs"], neurons: int
    ) -> Predictor:
        """⟨f*⟩ = k*ᵀ t U_1 and Var f* = (1/N)[k** U_1 − Σ_k (k*·v_k)² U_1 (λ_k U_1 + T)⁻¹ U_1] + (∂f*/∂U)² Var U.

        The last term, with U distributed as exp(−N Φ(U)), vanishes with T, when answers no longer depend on U.
        """
        cross, diagonal = check_test_inputs(cross, diagonal, neurons, self.inputs)
        covariance = self.input_covariance
        values, vectors = modes_of(self.inputs)
        along = cross @ vectors
        noisy = values[:, None, None] * covariance[None] + self.temperature * np.eye(len(covariance))[None]
        explained = np.einsum("ij,kjl,li->ki", covariance, np.linalg.inv(noisy), covariance)
        variance = diagonal[:, None] * np.diag(covariance)[None] - along**2 @ explained
        if self.action is not None:
            shifts = self.action.answer_shifts(covariance, along)
            variance = variance + np.sum(shifts * (shifts @ np.linalg.inv(self.action.curvature(covariance))), axis=2)
        return Predictor(cross @ self.residual @ covariance, variance / neurons)

    def draw_readouts(self, key: Array, count: int) -> Float[np.ndarray, "count outputs"]:
        """a ~ N(0, U)."""
        root = np.linalg.cholesky(self.readout_covariance)
        return np.asarray(draws.normal(key, (count, len(root)))) @ root.T

    def draw_neurons(
        self, key: Array, count: int
    ) -> tuple[Float[np.ndarray, "count outputs"], Float[np.ndarray, "count n"]]:
        """Readouts a, and preactivations z ~ N(K_0 t a, K_0) at the training inputs; for one hidden layer."""
        require(len(self.kernels) == 1, "prediction", "be one for a single hidden layer", len(self.kernels))
        for_readouts, for_inputs = draws.split(key, 2)
        readouts = self.draw_readouts(for_readouts, count)
        values, vectors = modes_of(self.inputs)
        noise = np.asarray(draws.normal(for_inputs, (count, len(values)))) * np.sqrt(np.maximum(values, 0.0))[None]
        return readouts, readouts @ (self.inputs @ self.residual).T + noise @ vectors.T


def analog(
    inputs: Float[np.ndarray, "n n"],
    targets: Float[np.ndarray, "n outputs"],
    temperature: float,
    readout_variance: float,
    neurons: float = np.inf,
) -> Analog:
    """One hidden layer at a temperature T > 0, for any kernel of the inputs.

    Args:
        inputs: K_0 = XXᵀ, of any rank.
        targets: Y, one example a row.
        temperature: T.
        readout_variance: s.
        neurons: N ≥ 1, for the correction of order P/N; infinite unless given.

    Returns:
        An `Analog` prediction.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> targets = np.repeat(np.eye(2), 2, axis=0)  # two classes of two orthogonal inputs
        >>> prediction = fs.theory.coding.analog(np.eye(4), targets, temperature=0.1, readout_variance=1.0)
        >>> prediction.kernels[0].round(2) + 0.0  # examples of one class become alike
        array([[1.47, 0.47, 0.  , 0.  ],
               [0.47, 1.47, 0.  , 0.  ],
               [0.  , 0.  , 1.47, 0.47],
               [0.  , 0.  , 0.47, 1.47]])
    """
    check_common(temperature, readout_variance)
    inputs, targets = check_kernel(inputs, targets)
    require(np.ndim(neurons) == 0 and neurons >= 1, "neurons", "be at least 1", neurons)
    values, vectors = modes_of(inputs)
    values = np.maximum(values, 0.0)
    basis = row_space(targets)
    along = vectors.T @ targets @ basis
    task = Action(values, along, temperature, readout_variance, neurons)
    inside, gap = _minimise(task)
    require(gap < SOLVED, "temperature", "be higher for these targets: the equations could not be solved", temperature)
    outside = _idle_variance(task)
    covariance = basis @ inside @ basis.T + outside * (np.eye(len(basis)) - basis @ basis.T)
    residual = vectors @ task.residual(inside) @ basis.T
    shift = inputs @ residual
    return Analog(
        (inputs + shift @ covariance @ shift.T,),
        residual,
        shift @ covariance,
        covariance,
        covariance,
        inputs,
        temperature,
        Action(values, vectors.T @ targets, temperature, readout_variance, neurons),
        diagnostics={"gap": gap},
    )


def analog_at_zero(
    inputs: Float[np.ndarray, "n n"],
    targets: Float[np.ndarray, "n outputs"],
    readout_variance: float,
    depth: int = 1,
    neurons: float = np.inf,
) -> Analog:
    """Any number of hidden layers as T → 0; ``residual`` is then the limit of t.

    Args:
        inputs: K_0 = XXᵀ, of full rank.
        targets: Y, one example a row.
        readout_variance: s.
        depth: hidden layers L.
        neurons: N > P, for the correction of order P/N; infinite unless given.

    Returns:
        An `Analog` prediction, with a kernel for every layer.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> targets = np.repeat(np.eye(2), 2, axis=0)
        >>> prediction = fs.theory.coding.analog_at_zero(np.eye(4), targets, readout_variance=1.0, depth=2)
        >>> [kernel[0, 1].round(2).item() for kernel in prediction.kernels]  # the deeper, the more alike
        [0.35, 0.94]
    """
    check_common(1.0, readout_variance)
    inputs, targets = check_kernel(inputs, targets)
    require(1 <= depth < np.inf and int(depth) == depth, "depth", "be a whole number, at least 1", depth)
    require(neurons > len(targets), "neurons", f"be more than the {len(targets)} examples", neurons)
    require(np.linalg.cond(inputs) < 1e12, "inputs", "be of full rank, or targets cannot be reached", "singular")
    dual = np.linalg.solve(inputs, targets)
    strengths, vectors = np.linalg.eigh(targets.T @ dual)
    depth = int(depth)
    room = (1.0 - len(targets) / neurons) * readout_variance
    sizes = np.array([_positive_root(depth, room, readout_variance, max(each, 0.0)) for each in strengths])
    kernels = [inputs]
    by_layer = [sizes * (sizes / readout_variance) ** (depth - layer) for layer in range(1, depth + 1)]
    for each in by_layer:
        kernels.append(kernels[-1] + targets @ ((vectors / each[None]) @ vectors.T) @ targets.T)
    covariance, first = ((vectors * each[None]) @ vectors.T for each in (by_layer[-1], by_layer[0]))
    residual = np.linalg.solve(first, dual.T).T
    return Analog(
        tuple(kernels[1:]), residual, targets, covariance, first, kernels[0], 0.0,
        diagnostics={"gap": float(np.abs(1.0 - room / sizes - np.maximum(strengths, 0.0)
                                         * (readout_variance / sizes) ** depth / sizes).max())},
    )  # fmt: skip


def _positive_root(depth: int, room: float, variance: float, strength: float) -> float:
    """u > 0 with u^{L+1} − room · u^L = s^L · strength: u = room without any strength, and more with it.

    Solved for u/s, of which powers neither overflow nor vanish before their answer does.
    """
    share, rest = room / variance, strength / variance
    top = share + rest ** (1.0 / (depth + 1)) + 1e-300
    return variance * _crossing(lambda u: u - share - rest / u**depth, max(share, 1e-3 * top), 1.01 * top)


@dataclass(frozen=True)
class Action:
    """Φ(U) in the eigenbasis of K_0: U has the density exp(−N Φ(U)) under the posterior."""

    values: Float[np.ndarray, " n"]
    targets: Float[np.ndarray, "n rank"]
    temperature: float
    readout_variance: float
    neurons: float

    def residual(self, covariance: np.ndarray) -> np.ndarray:
        """(λ_k U + T)⁻¹ y_k, one k a row."""
        return np.einsum("kij,kj->ki", self._inverse(covariance), self.targets)

    def action(self, covariance: np.ndarray) -> tuple[float, np.ndarray]:
        """Φ and dΦ/dU."""
        inverse = self._inverse(covariance)
        reach = np.einsum("kij,kj->ki", inverse, self.targets)
        entropy = np.linalg.slogdet(covariance)[1] + np.linalg.slogdet(inverse)[1].sum() / self.neurons
        value = 0.5 * (np.trace(covariance) / self.readout_variance - entropy + np.sum(reach * self.targets))
        slope = np.eye(len(covariance)) / self.readout_variance - np.linalg.inv(covariance)
        slope = slope + np.einsum("k,kij->ij", self.values, inverse) / self.neurons
        return float(value), 0.5 * (slope - (reach.T * self.values[None]) @ reach)

    def curvature(self, covariance: np.ndarray) -> np.ndarray:
        """∂²Φ/∂U², over the entries of U on and below its diagonal."""
        rows, columns = np.tril_indices(len(covariance))
        twice = np.where(rows == columns, 1.0, 2.0)  # an entry off the diagonal stands at two places

        def slope(moved: np.ndarray) -> np.ndarray:
            return twice * self.action(moved)[1][rows, columns]

        return np.stack(list(_differences(slope, covariance)))

    def answer_shifts(self, covariance: np.ndarray, along: np.ndarray) -> np.ndarray:
        """∂f*/∂U over the same entries, as (inputs, outputs, entries); ``along`` is k* in the eigenbasis."""
        return np.stack(list(_differences(lambda moved: along @ self.residual(moved) @ moved, covariance)), axis=-1)

    def _inverse(self, covariance: np.ndarray) -> np.ndarray:
        noise = self.temperature * np.eye(len(covariance))
        return np.linalg.inv(self.values[:, None, None] * covariance[None] + noise[None])


def _differences(function: Callable[[np.ndarray], np.ndarray], covariance: np.ndarray) -> Iterator[np.ndarray]:
    """The derivatives of a function of U by central differences, in the scale of U itself."""
    sizes = np.sqrt(np.diag(covariance))
    for row, column in zip(*np.tril_indices(len(covariance)), strict=True):
        step = np.zeros_like(covariance)
        step[row, column] = step[column, row] = size = 1e-5 * sizes[row] * sizes[column]
        yield (function(covariance + step) - function(covariance - step)) / (2.0 * size)


def _minimise(task: Action) -> tuple[np.ndarray, float]:
    """The minimum over U = s B Bᵀ by quasi-Newton steps, polished to a root of U dΦ/dU U = 0."""
    rank = task.targets.shape[1]
    rows, columns = np.tril_indices(rank)
    diagonal = np.flatnonzero(rows == columns)

    def matrix(flat: np.ndarray) -> np.ndarray:
        factor = np.zeros((rank, rank))
        factor[rows, columns] = flat
        factor[np.arange(rank), np.arange(rank)] = np.exp(flat[diagonal])
        return factor

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        factor = matrix(flat)
        value, slope = task.action(task.readout_variance * factor @ factor.T)
        by_factor = (2.0 * task.readout_variance * slope @ factor)[rows, columns]
        by_factor[diagonal] *= np.exp(flat[diagonal])
        return value, by_factor

    guess = np.linalg.cholesky(_mode_by_mode(task))[rows, columns]
    guess[diagonal] = np.log(guess[diagonal])
    found = optimize.minimize(objective, guess, jac=True, method="BFGS", options={"gtol": 1e-9, "maxiter": 2000}).x
    polished = optimize.root(lambda flat: objective(flat)[1], found, method="hybr", tol=1e-14).x
    best = min((found, polished), key=lambda flat: float(np.abs(objective(flat)[1]).max()))
    factor = matrix(best)
    largest = max(1.0, float(np.sum(factor**2)))  # of the terms that cancel, tr U/s
    return task.readout_variance * factor @ factor.T, float(np.abs(objective(best)[1]).max()) / largest


def _mode_by_mode(task: Action) -> np.ndarray:
    """About U/s: as if inputs had the same variance in all directions, in which targets in one do not meet others.

    In each eigenvector of Σ_k λ_k y_k y_kᵀ, with the mean λ that its targets see, 1 − 1/u = s Σ λ y²/(λ s u + T)².
    """
    scaled, noise = task.readout_variance * task.values, task.temperature
    strengths, axes = np.linalg.eigh((task.targets.T * scaled) @ task.targets)
    strengths = np.maximum(strengths, 0.0)
    seen = strengths / np.maximum(np.sum((task.targets @ axes) ** 2, axis=0), 1e-300)

    def size(strength: float, value: float) -> float:
        if strength == 0.0:
            return 1.0
        top = 2.0 + np.sqrt(2.0 * strength) / value  # where the left side is at least the right one
        return _crossing(lambda u: (1.0 - 1.0 / u) * (value * u + noise) ** 2 - strength, 1.0, top)

    sizes = np.array([size(*pair) for pair in zip(strengths.tolist(), seen.tolist(), strict=True)])
    return (axes * np.clip(sizes, 1.0, LARGEST_GUESS)[None]) @ axes.T


def _idle_variance(task: Action) -> float:
    """u of readouts in directions without targets: u/s − 1 + (1/N) Σ_k λ_k u/(λ_k u + T) = 0, between 0 and s."""

    def balance(u: float) -> float:
        used = np.sum(task.values * u / (task.values * u + task.temperature)) / task.neurons
        return u / task.readout_variance - 1.0 + float(used)

    return _crossing(balance, 0.0, task.readout_variance)


def _crossing(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function changes its sign, to rounding relative to the place."""
    return float(np.asarray(optimize.brentq(function, low, high, xtol=1e-300, rtol=np.float64(1e-14))))
