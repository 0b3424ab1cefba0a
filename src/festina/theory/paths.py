"""What each path of a gated network sees of its world, and the gradient as a sum over paths.

A path p leads from an input node s(p) to an output node t(p). With g_p the product of all gates on it, those of both
ends included,

    Σyx(p) = ⟨g_p y xᵀ⟩,    Σx(j, p) = ⟨g_j x_{s(j)} x_{s(p)}ᵀ g_p⟩,

    τ Ẇ_e = Σ_{p ∋ e} W_afterᵀ [Σyx(p) − Σ_j W_j Σx(j, p)] W_beforeᵀ,

where j runs over the paths that end in the same node as p. (The lecture writes T(e) for that set: it is the terminal
node of p that counts.) Listing paths is for theory and for small graphs. To train, use the gate patterns: their cost
does not grow with the number of paths.

Sources: A. M. Saxe, S. Sodhani, S. Lewallen, "The neural race reduction" (2022); A. Saxe, lecture.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from jaxtyping import Float

from festina.errors import UnknownName, require
from festina.networks.graph import Graph, edge_name
from festina.worlds.gated import Patterns, node_slices

Path = tuple[str, ...]

UNSEEN = 1e-13  # a path sees nothing in directions with less than this share of its inputs' largest variance


def path_name(path: Path) -> str:
    """``"x->h->y"``."""
    return "->".join(path)


@dataclass(frozen=True)
class PathStatistics:
    """The moments seen by each path: ``cross[p]`` is Σyx(p), ``inputs[j, p]`` is Σx(j, p).

    Paths are numbered as in ``paths``; ``inputs`` holds the pairs that end in the same node, which alone interact.
    ``gates`` are those of each path in each of the ``patterns`` that the moments come from.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> graph = fs.networks.Graph.of(
        ...     "x -> both -> y", "x -> first -> y", widths={"x": 1, "both": 1, "first": 1, "y": 1})
        >>> world = fs.worlds.GatedDataset({"x": [[1.0], [1.0]]}, {"y": [[1.0], [0.0]]}, {"first": [1.0, 0.0]})
        >>> statistics = fs.theory.path_statistics(graph, world.patterns)
        >>> statistics.inputs[0, 1].round(3)  # D(both, first): together on for half of the samples
        array([[0.5]])
        >>> weights = {"x->both": 0.0, "both->y": 0.0, "x->first": 1.0, "first->y": 1.0}
        >>> statistics.loss({name: np.array([[value]]) for name, value in weights.items()})  # `first` explains all
        0.0
    """

    graph: Graph
    paths: tuple[Path, ...]
    cross: tuple[Float[np.ndarray, "_ _"], ...]
    inputs: dict[tuple[int, int], Float[np.ndarray, "_ _"]]
    patterns: Patterns
    gates: tuple[Float[np.ndarray, " patterns"], ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(path_name(path) for path in self.paths)

    def maps(self, weights: Mapping[str, Any]) -> list[Float[np.ndarray, "_ _"]]:
        """W_p of every path."""
        return [self._along(path, weights) for path in self.paths]

    def loss(self, weights: Mapping[str, Any]) -> float:
        """½⟨|y|²⟩ − Σ_p tr(W_pᵀ Σyx(p)) + ½ Σ_{j,p} tr(W_j Σx(j, p) W_pᵀ).

        It is computed as ½ Σ_g |Y_g − Σ_p g_p X_g W_pᵀ|² + rest: where it is small, a difference of moments would lose
        its digits, and its sign.
        """
        error = np.array(self.patterns.answers)
        targets = node_slices(self.patterns.output_nodes)
        for path, seen, mapping in zip(self.paths, self.seen, self.maps(weights), strict=True):
            error[..., targets[path[-1]]] -= seen @ mapping.T
        return float(0.5 * np.sum(error**2) + self.patterns.rest)

    @property
    def seen(self) -> list[Float[np.ndarray, "patterns n _"]]:
        """g_p X_g of every path: its inputs in each pattern."""
        sources = node_slices(self.patterns.input_nodes)
        return [
            gate[:, None, None] * self.patterns.rows[..., sources[path[0]]]
            for path, gate in zip(self.paths, self.gates, strict=True)
        ]

    @property
    def energy(self) -> float:
        """½⟨|y|²⟩ of all outputs."""
        return float(0.5 * np.sum(self.patterns.answers**2) + self.patterns.rest)

    @property
    def floor(self) -> float:
        """The least loss there is if every path had a map of its own: what no weights can explain."""
        left = float(self.patterns.rest)
        for node, place in node_slices(self.patterns.output_nodes).items():
            answers = self.patterns.answers[..., place].reshape(-1, place.stop - place.start)
            rivals = [part for path, part in zip(self.paths, self.seen, strict=True) if path[-1] == node]
            table = np.concatenate([_unit(part.reshape(len(answers), -1)) for part in rivals], axis=1)
            basis, sizes, _ = np.linalg.svd(table, full_matrices=False)
            basis = basis[:, sizes**2 > UNSEEN]
            left += 0.5 * float(np.sum((answers - basis @ (basis.T @ answers)) ** 2))
        return left

    def descent(self, weights: Mapping[str, Any]) -> dict[str, Float[np.ndarray, "_ _"]]:
        """τ Ẇ_e of every edge, path by path."""
        maps = self.maps(weights)
        rates = {edge_name(*edge): np.zeros_like(weights[edge_name(*edge)]) for edge in self.graph.edges}
        for p, path in enumerate(self.paths):
            rivals = [j for j, rival in enumerate(self.paths) if rival[-1] == path[-1]]
            error = self.cross[p] - sum(maps[j] @ self.inputs[j, p] for j in rivals)
            for at, edge in enumerate(itertools.pairwise(path), start=1):
                before, after = self._along(path[:at], weights), self._along(path[at:], weights)
                rates[edge_name(*edge)] += after.T @ error @ before.T
        return rates

    def _along(self, nodes: Path, weights: Mapping[str, Any]) -> Float[np.ndarray, "_ _"]:
        return _product(nodes, weights, self.graph.widths[nodes[0]])


def _unit(matrix: Float[np.ndarray, "_ _"]) -> Float[np.ndarray, "_ _"]:
    """A matrix with its largest singular value made one."""
    return matrix / max(np.linalg.norm(matrix, 2), np.finfo(float).tiny)


def _product(nodes: Path, weights: Mapping[str, Any], width: int) -> Float[np.ndarray, "_ _"]:
    """The product of the weights along some nodes, the first of which has ``width`` units."""
    return reduce(lambda product, edge: weights[edge_name(*edge)] @ product, itertools.pairwise(nodes), np.eye(width))


def path_statistics(graph: Graph, patterns: Patterns, most: int = 10_000) -> PathStatistics:
    """The moments of every path, from those of the gate patterns (`GatedDataset.patterns`).

    Args:
        graph: the architecture.
        patterns: moments of each gate pattern; gates must be one number a node or edge.
        most: how many paths may be listed at most.

    Returns:
        A `PathStatistics`, with the moments Σyx(p) in ``cross`` and Σx(j, p) in ``inputs``.

    Example:
        >>> import festina as fs
        >>> graph = fs.networks.Graph.of(
        ...     "x -> both -> y", "x -> first -> y", widths={"x": 1, "both": 1, "first": 1, "y": 1})
        >>> world = fs.worlds.GatedDataset({"x": [[1.0], [1.0]]}, {"y": [[1.0], [0.0]]}, {"first": [1.0, 0.0]})
        >>> statistics = fs.theory.path_statistics(graph, world.patterns)
        >>> for name, cross in zip(statistics.names, statistics.cross):
        ...     print(name, cross)
        x->both->y [[0.5]]
        x->first->y [[0.5]]
    """
    for name, gate in patterns.gates.items():
        if name not in graph.names:
            raise UnknownName("gate", name, graph.names)
        require(np.ndim(gate) == 1, f"gates[{name!r}]", "be one number a sample for paths to have gates", gate)
    _check_nodes("inputs", graph.inputs, patterns.input_nodes, graph)
    _check_nodes("targets", graph.outputs, patterns.output_nodes, graph)
    paths = graph.paths(most)
    gates = [_path_gate(path, patterns) for path in paths]
    sources, targets = node_slices(patterns.input_nodes), node_slices(patterns.output_nodes)
    cross = tuple(
        np.einsum("g,gab->ab", gate, patterns.cross[:, targets[path[-1]], sources[path[0]]])
        for path, gate in zip(paths, gates, strict=True)
    )
    inputs = {
        (j, p): np.einsum("g,gab->ab", gates[j] * gates[p], patterns.inputs[:, sources[one[0]], sources[other[0]]])
        for j, one in enumerate(paths)
        for p, other in enumerate(paths)
        if one[-1] == other[-1]
    }
    return PathStatistics(graph, paths, cross, inputs, patterns, tuple(gates))


def _path_gate(path: Path, patterns: Patterns) -> Float[np.ndarray, " patterns"]:
    """g_p in each pattern: the product of the gates of all nodes and edges on the path."""
    names = [*path, *(edge_name(*edge) for edge in itertools.pairwise(path))]
    on = np.ones(patterns.inputs.shape[0])
    return reduce(lambda product, name: product * np.asarray(patterns.gates.get(name, on)), names, on)


def _check_nodes(what: str, expected: tuple[str, ...], given: tuple[tuple[str, int], ...], graph: Graph) -> None:
    widths = {node: graph.widths[node] for node in expected}
    require(dict(given) == widths, what, f"be for the nodes and widths {widths} of the graph", dict(given))
