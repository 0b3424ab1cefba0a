"""Networks that learn tasks and abstractions of them: students W and gates c (Sandbrink et al. 2024).

Three ways in which gates can act on students, from the most structured to none:

- `PathGated`: y = Σ_p c^p W^p x, one gate for each path;
- `NeuronGated`: y_i = Σ_p c_i^p (W^p x)_i, one gate for each row of each path;
- `FullyConnected`: y = C W x, where every entry of the second layer C counts as a gate.

All three are linear (`map`), have the same two fields, and so share one regulariser and one way of learning.
"""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from festina import draws
from festina.errors import require
from festina.precision import precise

INITIAL_GATE = 0.5


class Abstraction(eqx.Module):
    """Students, which learn slowly what there is to know, and gates, which choose quickly among it.

    This is what `PathGated`, `NeuronGated` and `FullyConnected` have in common.

    Attributes:
        students: W, in whatever form a network has them.
        gates: c.

    Example:
        >>> network = fs.networks.PathGated.init(jax.random.key(0), paths=2, outputs=3, inputs=5)
        >>> isinstance(network, fs.networks.Abstraction), network(np.ones(5)).shape
        (True, (3,))
    """

    students: eqx.AbstractVar[Any]
    gates: eqx.AbstractVar[Any]

    @property
    @abstractmethod
    def map(self) -> Float[Any, "o i"]:
        """The linear map from inputs to outputs."""

    def __call__(self, x: Float[Any, "*batch i"]) -> Float[Any, "*batch o"]:
        return x @ self.map.T

    def rebuilt(self, students: Any, gates: Any) -> Any:
        """A tree of the same kind with other students and gates, or with whatever belongs to each of them."""
        return eqx.tree_at(lambda tree: (tree.students, tree.gates), self, (students, gates))


class PathGated(Abstraction):
    """y = Σ_p c^p W^p x. Paths are kept apart, not stacked: sums over two or three of them are faster written out.

    Args:
        students: W^p, one matrix for each path.
        gates: c^p, one number for each path.

    Example:
        >>> network = fs.networks.PathGated((np.eye(2), -np.eye(2)), (np.array(1.0), np.array(0.25)))
        >>> network.map.tolist(), network(np.array([1.0, 2.0])).tolist()
        ([[0.75, 0.0], [0.0, 0.75]], [0.75, 1.5])
    """

    students: tuple[Float[Any, "o i"], ...]
    gates: tuple[Float[Any, ""], ...]

    @classmethod
    @precise
    def init(cls, key: Array, paths: int, outputs: int, inputs: int, scale: Any = 0.01) -> "PathGated":
        """Normal weights of standard deviation ``scale``/√inputs, gates at ½."""
        students = _draw_students(key, paths, outputs, inputs, scale)
        return cls(students, (np.full((), INITIAL_GATE, students[0].dtype),) * paths)

    @property
    def map(self) -> Float[Any, "*n o i"]:
        return _added([_over_map(gate) * student for gate, student in zip(self.gates, self.students, strict=True)])

    @property
    def gate_vector(self) -> Float[Any, " path"]:
        return jnp.stack(self.gates)


class NeuronGated(Abstraction):
    """y_i = Σ_p c_i^p (W^p x)_i: every row of every student has a gate of its own.

    Args:
        students: W^p, one matrix for each path.
        gates: c^p, one vector for each path, with one gate for each output.

    Example:
        >>> network = fs.networks.NeuronGated((np.eye(2), -np.eye(2)), (np.array([1.0, 0.0]), np.array([0.0, 1.0])))
        >>> network(np.array([1.0, 2.0])).tolist()  # the first output from one path, the second from the other
        [1.0, -2.0]
    """

    students: tuple[Float[Any, "o i"], ...]
    gates: tuple[Float[Any, " o"], ...]

    @classmethod
    @precise
    def init(cls, key: Array, paths: int, outputs: int, inputs: int, scale: Any = 0.01) -> "NeuronGated":
        """Normal weights of standard deviation ``scale``/√inputs, gates at ½."""
        students = _draw_students(key, paths, outputs, inputs, scale)
        return cls(students, (np.full((outputs,), INITIAL_GATE, students[0].dtype),) * paths)

    @property
    def map(self) -> Float[Any, "o i"]:
        return _added([gate[:, None] * student for gate, student in zip(self.gates, self.students, strict=True)])


class FullyConnected(Abstraction):
    """y = C W x with no paths at all; W is called the students and C the gates, for that is what they may become.

    Args:
        students: W, hidden × inputs.
        gates: C, outputs × hidden.

    Example:
        >>> network = fs.networks.FullyConnected.init(jax.random.key(0), hidden=4, outputs=2, inputs=6)
        >>> network.students.shape, network.gates.shape, network.map.shape
        ((4, 6), (2, 4), (2, 6))
    """

    students: Float[Any, "h i"]
    gates: Float[Any, "o h"]

    @classmethod
    @precise
    def init(cls, key: Array, hidden: int, outputs: int, inputs: int, scale: Any = 0.01) -> "FullyConnected":
        """Normal weights in both layers, of standard deviation ``scale``/√(inputs of the layer)."""
        first, second = draws.split(key, 2)
        (students,) = _draw_students(first, 1, hidden, inputs, scale)
        (gates,) = _draw_students(second, 1, outputs, hidden, scale)
        return cls(students, gates)

    @property
    def map(self) -> Float[Any, "o i"]:
        return self.gates @ self.students


class Regularizer(eqx.Module):
    """What bounds the gates, and (optionally) what makes weights costly:

        R = nonnegativity · Σ max(0, −c) + normalization · (‖c‖_k − 1)²
            + column_cost · mean_{p,j} ‖W^p[:, j]‖ + square_cost/(2 P d_in) · Σ (W^p_ij)².

    The sum and the norm run over all gates of a network together, whatever its kind. The text of the paper has ½ before
    the normalization; its tables, and so the coefficients here, have it absorbed. The last two terms are the cost of
    representation that silences redundant paths, as the published code and as the paper's text have it.

    Args:
        nonnegativity: before Σ max(0, −c).
        normalization: before (‖c‖_k − 1)².
        column_cost: of the students' columns; None if there is no such term.
        square_cost: of the students' squares; None if there is no such term.
        order: k of the norm, 1 or 2.

    Example:
        >>> bounds = fs.networks.Regularizer(nonnegativity=1.0, normalization=2.0)
        >>> network = fs.networks.PathGated((np.eye(2), np.eye(2)), (np.array(1.0), np.array(-0.5)))
        >>> with fs.double():
        ...     float(bounds(network))  # 0.5 + 2 (1.5 − 1)²
        1.0
    """

    nonnegativity: Any = 0.0
    normalization: Any = 0.0
    column_cost: Any = None  # None: the term is not there at all
    square_cost: Any = None
    order: int = eqx.field(static=True, default=1)  # k of the norm: 1 or 2

    def __check_init__(self) -> None:
        require(self.order in (1, 2), "order", "be 1 or 2", self.order)

    def __call__(self, network: Abstraction) -> Float[Any, ""]:
        return self.of_gates(network.gates) + self.of_students(network.students)

    def of_gates(self, gates: Any) -> Float[Any, ""]:
        """The terms that bound the gates."""
        negative = _added([jnp.sum(jnp.maximum(-part, 0.0)) for part in jax.tree.leaves(gates)])
        return self.nonnegativity * negative + self.normalization * (self._norm(gates) - 1.0) ** 2

    def slope(self, gates: Any) -> Any:
        """∂R/∂c, written out: quicker to compile than autodiff, which it equals but where a gate is exactly 0."""
        norm = self._norm(gates)
        return jax.tree.map(lambda part: self._slope(part, norm, self.nonnegativity, self.normalization), gates)

    def slope_by_column(self, gates: Float[Any, "p n"]) -> Float[Any, "p n"]:
        """The same for many networks at once, one in each column and each with strengths of its own."""
        sizes = jnp.sum(jnp.abs(gates) if self.order == 1 else gates**2, axis=0)[None]
        norm = sizes if self.order == 1 else jnp.sqrt(sizes)
        return self._slope(gates, norm, self.nonnegativity[None], self.normalization[None])

    def _norm(self, gates: Any) -> Float[Any, ""]:
        parts = jax.tree.leaves(gates)
        if self.order == 1:
            return _added([jnp.sum(jnp.abs(part)) for part in parts])
        return jnp.sqrt(_added([jnp.sum(part**2) for part in parts]))

    def _slope(self, gates: Any, norm: Any, nonnegativity: Any, normalization: Any) -> Any:
        direction = jnp.sign(gates) if self.order == 1 else gates / jnp.where(norm > 0, norm, 1.0)
        return 2.0 * normalization * (norm - 1.0) * direction - jnp.where(gates < 0, nonnegativity, 0.0)

    def of_students(self, students: Any) -> Float[Any, ""]:
        """The terms that make representation costly."""
        parts = jax.tree.leaves(students)
        columns = len(parts) * parts[0].shape[-1]
        cost = jnp.zeros((), parts[0].dtype)
        if self.column_cost is not None:
            norms = _added([jnp.sum(_root(jnp.sum(part**2, axis=-2))) for part in parts])
            cost = cost + self.column_cost * norms / columns
        if self.square_cost is not None:
            squares = _added([jnp.sum(part**2) for part in parts])
            cost = cost + self.square_cost * squares / (2.0 * columns)
        return cost

    @property
    def costs_weights(self) -> bool:
        """Whether any term sees the students."""
        return self.column_cost is not None or self.square_cost is not None


def _draw_students(key: Array, count: int, rows: int, columns: int, scale: Any) -> tuple[Float[Any, "_ _"], ...]:
    require(min(count, rows, columns) >= 1, "sizes", "be at least 1", (count, rows, columns))
    drawn = draws.normal(key, (count, rows, columns))
    return tuple(scale / columns**0.5 * drawn)


def _root(squares: Float[Any, "..."]) -> Float[Any, "..."]:
    """A square root whose slope at 0 is 0."""
    return jnp.where(squares > 0, jnp.sqrt(jnp.where(squares > 0, squares, 1.0)), 0.0)


def _over_map(gate: Float[Any, "*n"]) -> Any:
    """A gate that multiplies a matrix; of many networks, each its own."""
    return gate[..., None, None] if np.ndim(gate) else gate


def _added(terms: list[Any]) -> Any:
    """A sum of few terms, written out: XLA is slow at reductions over tiny axes."""
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total
