"""Acyclic graphs of named nodes: the architecture of a gated network, as a readable description."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

from festina.errors import ArgumentError, UnknownName, require

Edge = tuple[str, str]
ARROW = "->"


def edge_name(source: str, target: str) -> str:
    """How an edge is called among gates and weights: ``"x->h"``."""
    return f"{source}{ARROW}{target}"


class Group(NamedTuple):
    """Nodes of one level with the same sources: all their incoming weights are one matrix, targets × sources."""

    targets: tuple[str, ...]
    sources: tuple[str, ...]


@dataclass(frozen=True)
class Graph:
    """Nodes with widths, and the edges between them; make one with :meth:`of` or :meth:`layered`.

    Nodes nothing leads to are inputs. Unless said otherwise, nodes that lead nowhere are outputs.

    Args:
        nodes: names and widths.
        edges: pairs (source, target) of names.
        outputs: the output nodes.

    Example:
        >>> graph = fs.networks.Graph.of("x -> a, b -> y", widths={"x": 3, "a": 5, "b": 5, "y": 2})
        >>> graph.inputs, graph.outputs, graph.paths()
        (('x',), ('y',), (('x', 'a', 'y'), ('x', 'b', 'y')))
        >>> fs.networks.Graph.layered((2, 3, 3, 2), width=10).path_count
        36
    """

    nodes: tuple[tuple[str, int], ...]
    edges: tuple[Edge, ...]
    outputs: tuple[str, ...]

    @classmethod
    def of(cls, *routes: str, widths: Mapping[str, int], outputs: str | Sequence[str] = ()) -> "Graph":
        """A graph from routes such as ``"x -> h1 -> y"`` or, all to all, ``"a, b -> h -> y, z"``.

        Args:
            routes: chains of nodes; edges named twice are one edge.
            widths: units of each node.
            outputs: the output nodes, if they are not those that lead nowhere.
        """
        edges = tuple(dict.fromkeys(edge for route in routes for edge in _edges(route)))
        require(len(edges) >= 1, "routes", 'name at least one edge, as in "x -> y"', routes)
        mentioned = tuple(dict.fromkeys(node for edge in edges for node in edge))
        for node in mentioned:
            require(node in widths, "widths", f"give the width of node {node!r}", dict(widths))
        for node, width in widths.items():
            require(node in mentioned, "routes", f"use the node {node!r}, which has a width", routes)
            require(width >= 1 and int(width) == width, f"widths[{node!r}]", "be a whole number, at least 1", width)
        sources = {source for source, _ in edges}
        outputs = (outputs,) if isinstance(outputs, str) else tuple(outputs)
        require(len(set(outputs)) == len(outputs), "outputs", "name each node once", outputs)
        chosen = outputs or tuple(node for node in mentioned if node not in sources)
        graph = cls(tuple((node, int(widths[node])) for node in mentioned), edges, chosen)
        graph._check()
        return graph

    @classmethod
    def layered(cls, nodes: Sequence[int], width: int) -> "Graph":
        """Layers of nodes of one width, each node joined to all of the next layer: ``l0n0``, ``l0n1``, …"""
        require(len(nodes) >= 2 and min(nodes) >= 1, "nodes", "name at least two layers of at least 1 node", nodes)
        layers = [[f"l{layer}n{node}" for node in range(count)] for layer, count in enumerate(nodes)]
        route = f" {ARROW} ".join(", ".join(layer) for layer in layers)
        return cls.of(route, widths={node: width for layer in layers for node in layer})

    def _check(self) -> None:
        widths = self.widths
        for node in self.outputs:
            if node not in widths:
                raise UnknownName("output node", node, widths)
            require(node not in self.inputs, "outputs", "not be inputs", node)
        useful = set(self.outputs)
        for node in reversed(self.order):  # which refuses cycles
            if any(target in useful for target in self.targets_of(node)):
                useful.add(node)
        for node in widths:
            require(node in useful, "routes", f"lead from {node!r} to an output", self.outputs)

    @cached_property
    def widths(self) -> dict[str, int]:
        return dict(self.nodes)

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Nodes nothing leads to."""
        reached = {target for _, target in self.edges}
        return tuple(node for node, _ in self.nodes if node not in reached)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """All nodes, each after its sources."""
        sorter = TopologicalSorter({node: self.sources_of(node) for node, _ in self.nodes})
        try:
            return tuple(sorter.static_order())
        except CycleError as error:
            cycle = f" {ARROW} ".join(reversed(error.args[1]))
            raise ArgumentError(f"Argument `routes` must hold no cycle, but has {cycle}.") from None

    @cached_property
    def levels(self) -> dict[str, int]:
        """The length of the longest way from an input to each node."""
        levels: dict[str, int] = {}
        for node in self.order:
            levels[node] = max((levels[source] + 1 for source in self.sources_of(node)), default=0)
        return levels

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Nodes that are computed together, level by level."""
        targets: dict[tuple[int, tuple[str, ...]], list[str]] = {}
        for node, _ in self.nodes:
            if node not in self.inputs:
                targets.setdefault((self.levels[node], self.sources_of(node)), []).append(node)
        return tuple(Group(tuple(targets[key]), key[1]) for key in sorted(targets, key=lambda key: key[0]))

    @cached_property
    def names(self) -> frozenset[str]:
        """Whatever may carry a gate: nodes, and edges by :func:`edge_name`."""
        return frozenset(self.widths) | {edge_name(*edge) for edge in self.edges}

    @cached_property
    def _neighbours(self) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
        sources: dict[str, list[str]] = {node: [] for node, _ in self.nodes}
        targets: dict[str, list[str]] = {node: [] for node, _ in self.nodes}
        for source, target in self.edges:
            sources[target].append(source)
            targets[source].append(target)
        position = {node: number for number, (node, _) in enumerate(self.nodes)}
        ordered = [
            {node: tuple(sorted(near, key=position.__getitem__)) for node, near in sides.items()}
            for sides in (sources, targets)
        ]
        return ordered[0], ordered[1]

    def sources_of(self, node: str) -> tuple[str, ...]:
        return self._neighbours[0][node]

    def targets_of(self, node: str) -> tuple[str, ...]:
        return self._neighbours[1][node]

    def width(self, nodes: Sequence[str]) -> int:
        """Units of several nodes together."""
        return sum(self.widths[node] for node in nodes)

    @cached_property
    def path_count(self) -> int:
        """How many paths lead from an input to an output, counted without listing them."""
        counts: dict[str, int] = {}
        for node in self.order:
            counts[node] = sum(counts[source] for source in self.sources_of(node)) if self.sources_of(node) else 1
        return sum(counts[node] for node in self.outputs)

    def paths(self, most: int = 10_000) -> tuple[tuple[str, ...], ...]:
        """Every path from an input to an output, as its nodes; refused where there are more than ``most``."""
        require(self.path_count <= most, "graph", f"have at most {most} paths to be listed", self.path_count)
        return tuple(path for node in self.inputs for path in self._paths_from((node,)))

    def _paths_from(self, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        if path[-1] in self.outputs:
            yield path
        for target in self.targets_of(path[-1]):
            yield from self._paths_from((*path, target))


def _edges(route: str) -> list[Edge]:
    """The edges of one route; every node of a stop leads to every node of the next."""
    stops = [[node.strip() for node in stop.split(",")] for stop in route.split(ARROW)]
    fits = len(stops) >= 2 and all(node for stop in stops for node in stop)
    require(fits, "routes", 'be chains such as "x -> h -> y"', route)
    return [(source, target) for before, after in itertools.pairwise(stops) for source in before for target in after]
