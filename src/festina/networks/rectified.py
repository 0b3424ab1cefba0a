"""Rectified networks: f(x) = W_D [W_{D−1} [⋯ [W_1 x]₊ ⋯]₊]₊, without biases.

On any input a rectified unit is on, and linear, or off, and silent. With the gates g = 1[pre-activation > 0] as data, a
rectified network is a gated linear one, with the same output and the same gradient; see `Rectified.as_gated`.

Source: D. Jarvis, R. Klein, B. Rosman, A. M. Saxe, "Make haste slowly: a theory of emergent structured mixed
selectivity in feature learning ReLU networks" (2025).
"""

import itertools
from collections.abc import Mapping
from typing import Any, overload

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from festina import draws
from festina.errors import require
from festina.networks.ensemble import Ensemble
from festina.networks.gated import Gated
from festina.networks.graph import ARROW, Graph
from festina.networks.linear import check_sizes
from festina.precision import double, is_traced, precise

INPUT, OUTPUT = "x", "y"


class Rectified(eqx.Module):
    """A ReLU network of any depth; ``weights[0]`` is W_1, next to the input. The last layer is linear.

    Args:
        weights: W_1 … W_D, at least two; the columns of each are the rows of the one before.

    Example:
        >>> network = fs.networks.Rectified((np.array([[1.0], [-1.0]]), np.array([[1.0, 1.0]])))  # abs(x)
        >>> network(np.array([[3.0], [-2.0]])).tolist()
        [[3.0], [2.0]]
        >>> network.gates(np.array([-2.0]))["h1"].tolist()
        [0.0, 1.0]
    """

    weights: tuple[Float[Any, "_ _"], ...]

    def __check_init__(self) -> None:
        require(len(self.weights) >= 2, "weights", "hold at least two matrices", len(self.weights))
        shapes = [tuple(np.shape(weight)[-2:]) for weight in self.weights]
        fit = all(after[1] == before[0] for before, after in itertools.pairwise(shapes))
        require(fit, "weights", "fit together (columns of each = rows of the one before)", shapes)

    @precise
    def __call__(self, x: Float[Any, "*batch i"]) -> Float[Any, "*batch o"]:
        """Propagate one input, or a stack of them with the input axis last."""
        return self.hidden(x)[-1] @ self.weights[-1].T

    @precise
    def hidden(self, x: Float[Any, "*batch i"]) -> tuple[Float[Any, "*batch _"], ...]:
        """The activity of each hidden layer."""
        layers = []
        for weight in self.weights[:-1]:
            x = _rectify(x @ weight.T)
            layers.append(x)
        return tuple(layers)

    @precise
    def gates(self, x: Float[Any, "*batch i"]) -> dict[str, Float[Any, "*batch _"]]:
        """Which units are on, as data for `as_gated`: 1 above zero, 0 at zero and below; "h1" is next to the input."""
        return {f"h{number}": (layer > 0).astype(layer.dtype) for number, layer in enumerate(self.hidden(x), start=1)}

    @precise
    def under(
        self, gates: Mapping[str, Float[Any, "*batch _"]], x: Float[Any, "*batch i"]
    ) -> tuple[tuple[Float[Any, "*batch _"], ...], tuple[Float[Any, "*batch _"], ...]]:
        """What goes into each hidden layer, and its activity, with gates given as data in place of its own.

        Where all that goes in has the sign of its gate, the gates are the network's own, and the activity is `hidden`.
        """
        before, after = [], []
        for number, weight in enumerate(self.weights[:-1], start=1):
            before.append(x @ weight.T)
            x = gates[f"h{number}"] * before[-1]
            after.append(x)
        return tuple(before), tuple(after)

    @property
    def sizes(self) -> tuple[int, ...]:
        return (self.weights[0].shape[-1], *(weight.shape[-2] for weight in self.weights))

    @property
    def graph(self) -> Graph:
        """The chain x -> h1 -> … -> y."""
        nodes = (INPUT, *(f"h{number}" for number in range(1, len(self.weights))), OUTPUT)
        return Graph.of(f" {ARROW} ".join(nodes), widths=dict(zip(nodes, self.sizes, strict=True)))

    def as_gated(self) -> Gated:
        """The gated linear network with the same weights.

        ``network.as_gated()({"x": x}, network.gates(x))["y"]`` is ``network(x)``, and so is its gradient in the weights
        while the gates are held fixed.
        """
        return Gated(self.weights, self.graph)

    @overload
    @classmethod
    def init(
        cls, key: Array, sizes: tuple[int, ...], scale: Any = 1e-3, dtype: Any = None, *, seeds: None = None
    ) -> "Rectified": ...

    @overload
    @classmethod
    def init(
        cls, key: Array, sizes: tuple[int, ...], scale: Any = 1e-3, dtype: Any = None, *, seeds: int
    ) -> Ensemble: ...

    @classmethod
    def init(
        cls, key: Array, sizes: tuple[int, ...], scale: Any = 1e-3, dtype: Any = None, *, seeds: int | None = None
    ) -> "Rectified | Ensemble":
        """Independent normal weights, all with standard deviation ``scale``, whatever the width.

        Args:
            key: of all random numbers.
            sizes: widths of the input, of the hidden layers and of the output.
            scale: standard deviation; the source has .005/width with one hidden layer.
            dtype: of the weights, float64 unless given.
            seeds: how many networks to draw, as one `Ensemble`; unless given, one network by itself.

        Example:
            >>> import jax
            >>> Rectified.init(jax.random.key(0), (2, 50, 1), seeds=4)[0].sizes
            (2, 50, 1)
        """
        check_sizes(sizes)
        if seeds is not None:
            return Ensemble.draw(lambda each: cls.init(each, sizes, scale, dtype), key, seeds)
        require(len(sizes) >= 3, "sizes", "name at least one hidden width", tuple(sizes))
        if not is_traced(scale):
            require(bool(np.isfinite(scale)), "scale", "be finite", scale)
        known = not is_traced((key, scale))
        with double():
            kind = np.dtype(np.float64 if dtype is None else dtype)
            layers = [
                jnp.asarray(scale, kind) * draws.normal(draws.fold_in(key, layer), (rows, columns), kind)
                for layer, (columns, rows) in enumerate(itertools.pairwise(sizes))
            ]
            return cls(tuple(np.asarray(layer) if known else layer for layer in layers))


def _rectify(values: Any) -> Any:
    """max(0, ·), with derivative 0 at 0 (as `jax.nn.relu`; `jnp.maximum` has ½)."""
    return jnp.where(values > 0, values, jnp.zeros_like(values))
