"""Wide fully connected networks with a Gaussian prior, as Bayesian learning sees them.

    z_1 = W_1 x,   z_l = W_l φ(z_{l−1})/√N,   f = √s A φ(z_L)/N   (non-lazy; lazy: /√N and s = 1)

All weights W and A have a standard normal prior. The readout a = √s A thus has the variance s = σ_a²/P^{1/L}, which
keeps the problem alike for every number of examples P. Learning at temperature T is the posterior

    p(θ) ∝ exp(−(N/T) ½ Σ_μ |y_μ − f(x_μ)|²) × prior   (lazy: 1/T).

Source: A. van Meegen, H. Sompolinsky, "Coding schemes in neural networks learning classification tasks" (2024).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from festina import draws
from festina.errors import require

Whitened = tuple[tuple[Any, ...], Any]


@dataclass(frozen=True)
class Nonlinearity:
    """φ, with a name to call it by.

    Args:
        name: to call it by.
        function: of an array, entry by entry.
        round_off: the same of an array and a width, smooth, and equal to it further than the width from every kink;
            None if it has no kinks.

    Example:
        >>> fs.networks.SIGMOIDAL.name, float(fs.networks.SIGMOIDAL(jax.numpy.zeros(())))
        ('sigmoidal', 0.5)
        >>> cubic = fs.networks.Nonlinearity("cubic", lambda z: z**3)
        >>> float(cubic(np.array(2.0)))
        8.0
    """

    name: str
    function: Callable[[Any], Any]
    round_off: Callable[[Any, Any], Any] | None = None

    def __call__(self, z: Any) -> Any:
        return self.function(z)

    def rounded(self, width: Any) -> "Nonlinearity":
        """The same with its kinks rounded off over a width, which may be traced; itself, if it has none.

        Example:
            >>> softer = fs.networks.RECTIFIED.rounded(0.5)
            >>> [float(softer(np.array(z))) for z in (-0.5, 0.0, 0.5, 2.0)]
            [0.0, 0.09375, 0.5, 2.0]
        """
        if self.round_off is None:
            return self
        round_off: Any = self.round_off
        return Nonlinearity(self.name, partial(round_off, width=width))


def _erf(z: Any) -> Any:
    """½(1 + erf(√π z/2)): from 0 to 1, with slope ½ at 0."""
    half = jnp.asarray(0.5, z.dtype)
    return half * (1 + jax.lax.erf(jnp.asarray(np.pi**0.5 / 2, z.dtype) * z))


def _itself(z: Any) -> Any:
    return z


def _rectify(z: Any) -> Any:
    return jnp.where(z > 0, z, jnp.zeros_like(z))


def _rectify_smoothly(z: Any, width: Any) -> Any:
    """∫ u²(3 − 2u) dz with u = (z + width)/(2 width) kept between 0 and 1: a slope that rises from 0 to 1, smoothly."""
    z = jnp.asarray(z)
    width = jnp.asarray(width, z.dtype)
    part = jnp.clip((z + width) / (2 * width), 0, 1)
    return 2 * width * part**3 * (1 - part / 2) + _rectify(z - width)


LINEAR = Nonlinearity("linear", _itself)  # functions with names: a program that holds a lambda could not be kept
SIGMOIDAL = Nonlinearity("sigmoidal", _erf)
RECTIFIED = Nonlinearity("rectified", _rectify, _rectify_smoothly)
NONLINEARITIES = {each.name: each for each in (LINEAR, SIGMOIDAL, RECTIFIED)}


@dataclass(frozen=True)
class Scaling:
    """How answers and energies depend on the width N: f ∝ N^{−output}, energy ∝ N^{energy}/T.

    Args:
        name: to call it by.
        output: power of 1/N in the answer.
        energy: power of N in the energy.

    Example:
        >>> fs.networks.NON_LAZY
        Scaling(name='non-lazy', output=1.0, energy=1.0)
        >>> fs.networks.LAZY.output, fs.networks.LAZY.energy
        (0.5, 0.0)
    """

    name: str
    output: float
    energy: float


NON_LAZY = Scaling("non-lazy", output=1.0, energy=1.0)
"""f = aφ/N at temperature T/N: features are learned."""
LAZY = Scaling("lazy", output=0.5, energy=0.0)
"""f = aφ/√N at temperature T: features stay those of the prior, and a wide network is a Gaussian process."""


class Bayesian(eqx.Module):
    """A wide network; ``weights`` and ``readout`` are whitened, standard normal under the prior.

    Args:
        weights: W_l of the hidden layers; the first is width × inputs, the others width × width.
        readout: A, outputs × width.
        readout_variance: s; see `fs.networks.bayesian.readout_variance`.
        nonlinearity: φ.
        scaling: `NON_LAZY` or `LAZY`.

    Example:
        >>> network = fs.networks.Bayesian.init(jax.random.key(0), (5, 40, 40, 2), fs.networks.RECTIFIED)
        >>> with fs.double():
        ...     answers, kernels = network(np.ones((3, 5))), network.kernels(np.ones((3, 5)))
        >>> network.depth, answers.shape, [kernel.shape for kernel in kernels]
        (2, (3, 2), [(3, 3), (3, 3)])
    """

    weights: tuple[Float[Any, "*batch _ _"], ...]
    readout: Float[Any, "*batch m n"]
    readout_variance: Any = 1.0
    nonlinearity: Nonlinearity = eqx.field(static=True, default=SIGMOIDAL)
    scaling: Scaling = eqx.field(static=True, default=NON_LAZY)

    def __call__(self, x: Float[Any, "*batch i"]) -> Float[Any, "*batch m"]:
        """The answer f to one input, or to a stack of them with the input axis last."""
        return self.answer(self.hidden(x)[-1])

    def hidden(self, x: Float[Any, "*batch i"]) -> tuple[Float[Any, "*batch n"], ...]:
        """φ(z_l) of every hidden layer."""
        return tuple(self.nonlinearity(z) for z in self.preactivations(x))

    def preactivations(self, x: Float[Any, "*batch i"]) -> tuple[Float[Any, "*batch n"], ...]:
        """z_l of every hidden layer."""
        columns = [_through(self.weights[0], x.reshape(-1, x.shape[-1]))]
        for weight in self.weights[1:]:  # with inputs as columns, products of a batch of networks need no transpose
            columns.append(weight @ self.nonlinearity(columns[-1]) / weight.shape[-1] ** 0.5)
        return tuple(z.T.reshape(*x.shape[:-1], -1) for z in columns)

    def answer(self, activity: Float[Any, "*batch n"]) -> Float[Any, "*batch m"]:
        """f from the activity of the last hidden layer."""
        columns = self.readouts.T @ activity.reshape(-1, self.width).T
        return columns.T.reshape(*activity.shape[:-1], -1) / self.width**self.scaling.output

    @property
    def readouts(self) -> Float[Any, "n m"]:
        """a = √s A, one neuron a row."""
        return (jnp.asarray(self.readout_variance, self.readout.dtype) ** 0.5 * self.readout).T

    @property
    def width(self) -> int:
        return self.readout.shape[-1]

    @property
    def depth(self) -> int:
        """Hidden layers L."""
        return len(self.weights)

    def energy(self, inputs: Float[Any, "n i"], targets: Float[Any, "n m"], temperature: Any) -> Float[Array, ""]:
        """(N/T) ½ Σ|y − f|²: minus the logarithm of the likelihood, without the prior."""
        error = jnp.sum((targets - self(inputs)) ** 2)
        return 0.5 * self.width**self.scaling.energy / jnp.asarray(temperature, error.dtype) * error

    def kernels(self, x: Float[Any, "p i"]) -> tuple[Float[Any, "p p"], ...]:
        """K_l = φ(z_l) φ(z_l)ᵀ/N of every hidden layer."""
        return tuple(kernel(activity) for activity in self.hidden(x))

    @property
    def whitened(self) -> Whitened:
        """All that the posterior is about: the weights, standard normal under the prior."""
        return self.weights, self.readout

    def having(self, whitened: Whitened) -> "Bayesian":
        """The same network with other weights."""
        return Bayesian(*whitened, self.readout_variance, self.nonlinearity, self.scaling)

    def rounded(self, width: Any) -> "Bayesian":
        """The same network with the kinks of its neurons rounded off over a width of z."""
        return Bayesian(*self.whitened, self.readout_variance, self.nonlinearity.rounded(width), self.scaling)

    @classmethod
    def init(
        cls,
        key: Array,
        sizes: tuple[int, ...],
        nonlinearity: Nonlinearity = SIGMOIDAL,
        scaling: Scaling = NON_LAZY,
        readout_variance: Any = 1.0,
    ) -> "Bayesian":
        """A network drawn from the prior.

        Args:
            key: of all random numbers.
            sizes: number of inputs, widths of the hidden layers (all alike), number of outputs.
            nonlinearity: φ, one of `LINEAR`, `SIGMOIDAL`, `RECTIFIED`, or another.
            scaling: `NON_LAZY` or `LAZY`.
            readout_variance: s; see `readout_variance`.
        """
        require(len(sizes) >= 3 and min(sizes) >= 1, "sizes", "name inputs, hidden widths and outputs", sizes)
        require(len(set(sizes[1:-1])) == 1, "sizes", "have hidden layers of one width", sizes)
        shapes = list(zip(sizes[1:], sizes[:-1], strict=True))
        counts = [rows * columns for rows, columns in shapes]
        row, ends = draws.normals(key, counts), np.cumsum(counts)
        drawn = [row[end - n : end].reshape(shape) for shape, n, end in zip(shapes, counts, ends, strict=True)]
        return cls(tuple(drawn[:-1]), drawn[-1], readout_variance, nonlinearity, scaling)


def kernel(activity: Float[Any, "p n"]) -> Float[Any, "p p"]:
    """K = φφᵀ/N of the activity of a layer, one input a row.

    Example:
        >>> fs.networks.bayesian.kernel(np.array([[1.0, 3.0], [2.0, 0.0]])).tolist()
        [[5.0, 1.0], [1.0, 2.0]]
    """
    return activity @ activity.T / activity.shape[-1]


def _through(weight: Float[Any, "n i"], x: Float[Any, "p i"]) -> Float[Any, "n p"]:
    """W xᵀ; inputs known to be unit vectors in their order, as those of the toy task, pick columns: no product."""
    if isinstance(x, np.ndarray) and np.array_equal(x, np.eye(*x.shape)):
        return weight[:, : len(x)]
    return weight @ x.T


def readout_variance(amplitude: Any, examples: int, depth: int) -> Any:
    """s = σ_a²/P^{1/L}: with it, what is learned depends little on the number of examples P.

    Args:
        amplitude: σ_a.
        examples: P.
        depth: hidden layers L.

    Example:
        >>> fs.networks.bayesian.readout_variance(2.0, examples=16, depth=2)
        1.0
    """
    return amplitude**2 / examples ** (1.0 / depth)


def orthonormal_coordinates(*inputs: Float[np.ndarray, "_ i"]) -> tuple[Float[np.ndarray, "_ r"], ...]:
    """Inputs in coordinates of the space they span together: the same network with no idle weights.

    A network sees its inputs through x·w with w ~ N(0, I), and so through inner products only; directions no input has
    stay at their prior. With fewer inputs than dimensions, the posterior then has fewer dimensions.

    Args:
        inputs: any number of sets of inputs (to learn from, to test with), each with one input a row.

    Returns:
        The same sets in coordinates that they share; as they are, if there are no fewer inputs than dimensions.

    Example:
        >>> rows = np.array([[3.0, 0.0, 4.0], [0.0, 1.0, 0.0]])
        >>> (small,) = fs.networks.bayesian.orthonormal_coordinates(rows)
        >>> small.shape, bool(np.allclose(small @ small.T, rows @ rows.T))
        ((2, 2), True)
    """
    together = np.concatenate(inputs)
    if together.shape[0] >= together.shape[1]:
        return inputs
    basis = np.linalg.qr(together.T)[0]
    return tuple(part @ basis for part in inputs)
