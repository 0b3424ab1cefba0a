"""The tangent kernel K = J Jᵀ of a network on its probes, layer by layer: exact if it is small, projected if not.

Rows are pairs of a probe and an output. A layer's kernel is that of its own parameters, K_l = J_l J_lᵀ, and the
network's is their sum. Where J or K would be too large, the kernel is known from z_i = J r_i with random directions r_i
of independent standard normal entries, for which E[z zᵀ] = K. Then

    ⟨K, K'⟩ ≈ Σ_{i≠j} (z_i·z'_j)² / m(m−1),    tr K ≈ Σ_i |z_i|² / m,    yᵀKy ≈ Σ_i (z_i·y)² / m,

all without bias, since r_i and r_j are independent. The same directions serve all checkpoints, so that what does not
change does not look as if it did. How far such numbers may be off is found by leaving out directions in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from festina.watching.outside import Linearised, Outside, Parameters

MOST_BYTES = 256 * 2**20  # that J, or a batch of directions, may take
MOST_ROWS = 500  # of a kernel that is formed
DIRECTIONS = 64
PARTS = 8  # of the directions, or of the probes, one of which is left out at a time
WHOLE = "all"

Rows = Float[np.ndarray, "rows rows"]


@dataclass(frozen=True)
class Kernel:
    """A tangent kernel, by itself (``matrix``) or by its projections (``features``, one direction a column)."""

    matrix: Float[np.ndarray, "rows rows"] | None = None
    features: Float[np.ndarray, "rows directions"] | None = None

    def __add__(self, other: Kernel) -> Kernel:
        """Of the parameters of both: matrices add, and so do projections, since directions are independent."""
        if self.matrix is not None and other.matrix is not None:
            return Kernel(matrix=self.matrix + other.matrix)
        assert self.features is not None and other.features is not None
        return Kernel(features=self.features + other.features)

    def inner(self, other: Kernel) -> float:
        """⟨K, K'⟩, the sum over all entries."""
        if self.matrix is not None and other.matrix is not None:
            return float(np.sum(self.matrix * other.matrix))
        return _between_directions((_features(self).T @ _features(other)) ** 2)

    @cached_property
    def trace(self) -> float:
        if self.matrix is not None:
            return float(np.trace(self.matrix))
        assert self.features is not None
        return float(np.sum(self.features**2) / self.features.shape[1])

    @cached_property
    def size(self) -> float:
        """|K|."""
        return float(np.sqrt(max(self.inner(self), 0.0)))

    def along(self, direction: Float[np.ndarray, " rows"]) -> float:
        """yᵀKy."""
        if self.matrix is not None:
            return float(direction @ self.matrix @ direction)
        assert self.features is not None
        return float(np.mean((direction @ self.features) ** 2))


def movement(kernel: Kernel, start: Kernel) -> float:
    """|K − K₀|/|K₀|: the change of direction and of size; 0 where nothing has moved."""
    if kernel.matrix is not None and start.matrix is not None:
        return float(np.linalg.norm(kernel.matrix - start.matrix) / start.size) if start.size else np.nan
    square = kernel.inner(kernel) - 2 * kernel.inner(start) + start.inner(start)
    return float(np.sqrt(max(square, 0.0)) / start.size) if start.size else np.nan


def distance(kernel: Kernel, start: Kernel) -> float:
    """1 − ⟨K₀, K⟩/(|K₀||K|): the change of direction alone, 0 for a kernel that has only grown."""
    if not (kernel.size and start.size):
        return np.nan
    if kernel.matrix is not None and start.matrix is not None:  # keeps its digits where the kernel hardly turns
        return float(np.sum((kernel.matrix / kernel.size - start.matrix / start.size) ** 2) / 2)
    return 1 - kernel.inner(start) / (kernel.size * start.size)


def distance_error(kernel: Kernel, start: Kernel, outputs: int) -> float:
    """Standard error of the distance: of other probes, and, if kernels are projected, of other directions.

    By the jackknife: a part of the probes, and then of the directions, is left out at a time.
    """
    found = _spread(lambda one, other: _without_probes(one, other, outputs), kernel, start)
    if kernel.features is not None:
        found += _spread(_without_directions, kernel, start)
    return float(np.sqrt(found))


def _spread(inner: Callable[[Kernel, Kernel], np.ndarray], kernel: Kernel, start: Kernel) -> float:
    """Variance of the distance, from inner products with each part left out."""
    sizes = inner(kernel, kernel) * inner(start, start)
    distances = 1 - inner(kernel, start) / np.sqrt(np.where(sizes > 0, sizes, np.nan))
    return float(np.var(distances) * (len(distances) - 1))


def _without_probes(kernel: Kernel, other: Kernel, outputs: int) -> Float[np.ndarray, " parts"]:
    """⟨K, K'⟩ on all probes but one part of them, for each part."""
    rows = len(kernel.matrix if kernel.matrix is not None else _features(kernel)) // outputs
    part = np.repeat(np.arange(rows) % min(PARTS, rows), outputs)
    members = part[None] == np.arange(part.max() + 1)[:, None]
    if kernel.matrix is not None and other.matrix is not None:
        blocks = members @ (kernel.matrix * other.matrix) @ members.T
        return blocks.sum() - blocks.sum(axis=0) - blocks.sum(axis=1) + np.diag(blocks)
    one, two = _features(kernel), _features(other)
    parts = np.array([one[own].T @ two[own] for own in members])
    return np.array([_between_directions((parts.sum(axis=0) - own) ** 2) for own in parts])


def _without_directions(kernel: Kernel, other: Kernel) -> Float[np.ndarray, " parts"]:
    """⟨K, K'⟩ from all directions but one part of them, for each part."""
    squares = (_features(kernel).T @ _features(other)) ** 2
    part = np.arange(len(squares)) % PARTS
    return np.array([_between_directions(squares[np.ix_(part != own, part != own)]) for own in range(PARTS)])


def _between_directions(squares: Float[np.ndarray, "directions directions"]) -> float:
    """The mean of (z_i·z'_j)² over different directions."""
    count = len(squares)
    return float((np.sum(squares) - np.trace(squares)) / (count * (count - 1)))


def _features(kernel: Kernel) -> Float[np.ndarray, "rows directions"]:
    assert kernel.features is not None
    return kernel.features


def alignment(kernel: Kernel, targets: Float[np.ndarray, "n outputs"]) -> float:
    """yᵀKy/(|K||y|²): the cosine between the kernel and yyᵀ."""
    wanted = targets.ravel()
    square = float(wanted @ wanted)
    return kernel.along(wanted) / (kernel.size * square) if kernel.size and square else np.nan


def participation_ratio(kernel: Kernel) -> float:
    """(tr K)²/|K|²: over how many directions of equal strength the kernel could be spread."""
    return kernel.trace**2 / kernel.size**2 if kernel.size else np.nan


@dataclass(frozen=True)
class Tangents:
    """How tangent kernels are found: the layers, and the directions if they are projected.

    Attributes:
        layers: names of parameters by layer.
        directions: by name of the parameter, (directions, …); None if kernels are exact.
    """

    layers: Mapping[str, Sequence[str]]
    directions: Parameters | None

    @classmethod
    def of(
        cls, network: Outside, parameters: Parameters, outputs: int, probes: int, seed: int = 0, directions: int = 0
    ) -> Tangents:
        """Exact if J and K are small enough and no number of directions is asked for."""
        layers: dict[str, list[str]] = {}
        for name in parameters:
            layers.setdefault(network.layer_of(name), []).append(name)
        rows, count = probes * outputs, sum(value.size for value in parameters.values())
        if not directions and rows <= MOST_ROWS and rows * count * 8 <= MOST_BYTES:
            return cls(layers, None)
        random, drawn = np.random.default_rng(seed), {}
        for name, value in parameters.items():
            drawn[name] = random.standard_normal((directions or DIRECTIONS, *value.shape)).astype(value.dtype)
        return cls(layers, drawn)

    @property
    def exact(self) -> bool:
        return self.directions is None

    def kernels(self, around: Linearised) -> dict[str, Kernel]:
        """The kernel of each layer, and of all together."""
        found = self._exact(around) if self.directions is None else self._projected(around, self.directions)
        parts = list(found.values())
        return found | {WHOLE: sum(parts[1:], start=parts[0])}

    def _exact(self, around: Linearised) -> dict[str, Kernel]:
        probes, outputs = around.answers.shape
        jacobian = around.backward(np.eye(probes * outputs).reshape(-1, probes, outputs))
        found = {}
        for layer, names in self.layers.items():
            flat = np.concatenate([jacobian[name].reshape(probes * outputs, -1) for name in names], axis=1)
            found[layer] = Kernel(matrix=(flat @ flat.T).astype(np.float64))
        return found

    def _projected(self, around: Linearised, directions: Parameters) -> dict[str, Kernel]:
        """A layer at a time, and as many directions at a time as there is room for."""
        found, rows = {}, around.answers.size
        largest = sum(value[0].nbytes for value in directions.values()) + 64 * around.answers.nbytes
        step = max(1, int(MOST_BYTES // largest))
        for layer, names in self.layers.items():
            count, columns = len(directions[names[0]]), []
            for first in range(0, count, step):
                last = min(first + step, count)
                changes = {name: directions[name][first:last] for name in names}
                columns.append(around.forward(changes).reshape(last - first, rows))
            found[layer] = Kernel(features=np.concatenate(columns).T.astype(np.float64))
        return found
