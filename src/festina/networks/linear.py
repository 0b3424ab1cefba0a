"""Deep linear networks: f(x) = W_D ⋯ W_1 x."""

import itertools
from functools import reduce
from typing import Any, overload

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from festina.errors import require
from festina.networks.balanced import balanced_weights
from festina.networks.ensemble import Ensemble
from festina.precision import double, is_traced, to_numpy
from festina.worlds.orthogonal import orthogonal_factor


def check_sizes(sizes: tuple[int, ...]) -> None:
    """Refuse networks with no layer or with an empty one."""
    require(len(sizes) >= 2, "sizes", "name at least an input and an output width", tuple(sizes))
    require(min(sizes) >= 1, "sizes", "be positive widths", tuple(sizes))


class DeepLinear(eqx.Module):
    """A deep linear network; ``weights[0]`` is W_1, next to the input.

    Args:
        weights: W_1 … W_D; the columns of each are the rows of the one before.

    Example:
        >>> network = fs.networks.DeepLinear((np.eye(2), np.array([[2.0, 1.0]])))
        >>> network.sizes, network.map.tolist(), network(np.array([1.0, 1.0])).tolist()
        ((2, 2, 1), [[2.0, 1.0]], [3.0])
        >>> network.balances[0].tolist()  # conserved by gradient flow
        [[3.0, 2.0], [2.0, 0.0]]
    """

    weights: tuple[Float[Any, "_ _"], ...]

    def __check_init__(self) -> None:
        require(len(self.weights) >= 1, "weights", "hold at least one matrix", self.weights)
        shapes = [tuple(np.shape(weight)[-2:]) for weight in self.weights]
        require(all(len(shape) == 2 for shape in shapes), "weights", "be matrices", f"of shapes {shapes}")
        fit = all(after[1] == before[0] for before, after in itertools.pairwise(shapes))
        require(fit, "weights", "fit together (columns of each = rows of the one before)", shapes)

    def __call__(self, x: Float[Any, "*batch i"]) -> Float[Any, "*batch o"]:
        """Propagate one input, or a stack of them with the input axis last."""
        for weight in self.weights:
            x = x @ weight.T
        return x

    @property
    def map(self) -> Float[Any, "o i"]:
        """W_D ⋯ W_1, all of the network that the world can see."""
        return reduce(lambda product, weight: weight @ product, self.weights)

    @property
    def depth(self) -> int:
        return len(self.weights)

    @property
    def sizes(self) -> tuple[int, ...]:
        return (self.weights[0].shape[-1], *(weight.shape[-2] for weight in self.weights))

    @property
    def balances(self) -> tuple[Float[Any, "_ _"], ...]:
        """W_{l+1}ᵀ W_{l+1} − W_l W_lᵀ for each pair of layers: what gradient flow conserves."""
        return tuple(
            after.T @ after - before @ before.T for before, after in zip(self.weights, self.weights[1:], strict=False)
        )

    @overload
    @classmethod
    def init(cls, key: Array, sizes: tuple[int, ...], scale: Any = 1e-3, *, seeds: None = None) -> "DeepLinear": ...

    @overload
    @classmethod
    def init(cls, key: Array, sizes: tuple[int, ...], scale: Any = 1e-3, *, seeds: int) -> Ensemble: ...

    @classmethod
    def init(
        cls, key: Array, sizes: tuple[int, ...], scale: Any = 1e-3, *, seeds: int | None = None
    ) -> "DeepLinear | Ensemble":
        """Independent normal weights with standard deviation ``scale``/√(inputs of the layer).

        Args:
            key: of all random numbers.
            sizes: widths of the input, of the hidden layers and of the output.
            scale: standard deviation of the weights times √(inputs of the layer).
            seeds: how many networks to draw, as one `Ensemble`; unless given, one network by itself.

        Example:
            >>> import jax
            >>> DeepLinear.init(jax.random.key(0), (8, 4, 2)).map.shape
            (2, 8)
        """
        check_sizes(sizes)
        if seeds is not None:
            return Ensemble.draw(lambda each: cls.init(each, sizes, scale), key, seeds)
        if not is_traced(scale):
            require(bool(np.isfinite(scale)), "scale", "be finite", scale)
        return _in_double(
            cls,
            lambda: [
                scale * jax.random.normal(jax.random.fold_in(key, layer), (rows, columns)) / columns**0.5
                for layer, (columns, rows) in enumerate(itertools.pairwise(sizes))
            ],
            (key, scale),
        )

    @classmethod
    def orthogonal(cls, key: Array, sizes: tuple[int, ...], scale: Any = 1.0) -> "DeepLinear":
        """Random orthogonal (or semi-orthogonal) weights, each multiplied by ``scale``.

        Args:
            key: of all random numbers.
            sizes: widths of the input, of the hidden layers and of the output.
            scale: all singular values of each layer.

        Example:
            >>> network = fs.networks.DeepLinear.orthogonal(jax.random.key(0), (4, 4, 4), scale=0.5)
            >>> np.linalg.svd(network.map, compute_uv=False).round(6).tolist()
            [0.25, 0.25, 0.25, 0.25]
        """
        check_sizes(sizes)
        return _in_double(
            cls,
            lambda: [
                scale * orthogonal_factor(jax.random.normal(jax.random.fold_in(key, layer), (rows, columns)))
                for layer, (columns, rows) in enumerate(itertools.pairwise(sizes))
            ],
            (key, scale),
        )

    @classmethod
    def balanced(cls, key: Array, sizes: tuple[int, int, int], imbalance: Any, scale: Any) -> "DeepLinear":
        """Random weights of two layers with W₂ᵀW₂ − W₁W₁ᵀ = λ I and a map with singular values ``scale``.

        Args:
            key: of all random numbers.
            sizes: widths of input, hidden layer and output.
            imbalance: λ; positive only if the hidden layer is no wider than the output, negative only if it is no
                wider than the input.
            scale: singular values of the map.
        """
        check_sizes(sizes)
        require(len(sizes) == 3, "sizes", "name input, hidden and output width", tuple(sizes))
        return cls(balanced_weights(key, sizes, imbalance, scale))

    @classmethod
    def aligned(
        cls,
        left: Float[Any, "o m"],
        strengths: Float[Any, " m"],
        right: Float[Any, "i m"],
        hidden: tuple[int, ...],
    ) -> "DeepLinear":
        """Decoupled and balanced weights whose map is U diag(a) Vᵀ: every layer holds a^{1/D} on its diagonal.

        Args:
            left: output singular vectors U, as columns.
            strengths: the initial strength a of each mode.
            right: input singular vectors V, as columns.
            hidden: widths of the hidden layers, each at least the number of modes.

        Example:
            >>> network = fs.networks.DeepLinear.aligned(np.eye(2), np.array([0.04, 0.01]), np.eye(2), hidden=(3,))
            >>> network.map.round(6).tolist(), network.weights[0].round(6).tolist()
            ([[0.04, 0.0], [0.0, 0.01]], [[0.2, 0.0], [0.0, 0.1], [0.0, 0.0]])
        """
        modes = np.shape(strengths)[-1]
        if not is_traced(strengths):
            require(bool(np.all(np.asarray(strengths) >= 0)), "strengths", "not be negative", strengths)
        require(all(width >= modes for width in hidden), "hidden", f"be at least the {modes} modes", hidden)

        def layers() -> list[Array]:
            share = jnp.asarray(strengths) ** (1.0 / (len(hidden) + 1))
            bases = [
                jnp.asarray(right),
                *(jnp.eye(width, modes, dtype=share.dtype) for width in hidden),
                jnp.asarray(left),
            ]
            return [after @ (share[:, None] * before.T) for before, after in itertools.pairwise(bases)]

        return _in_double(cls, layers, (left, strengths, right))


def _in_double(cls: type[DeepLinear], layers: Any, inputs: Any) -> DeepLinear:
    """Build weights in float64 and hand them out as NumPy, unless JAX is tracing the builder."""
    if is_traced(inputs):
        return cls(tuple(layers()))
    with double():
        return cls(tuple(to_numpy(layers())))
