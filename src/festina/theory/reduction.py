"""The neural race reduction: a gated network as scalars that race, mode by mode.

If one basis for each node makes all moments of all paths diagonal, Σyx(p) = U S(p) Vᵀ and Σx(j, p) = V D(j, p) Vᵀ, and
the initial weights too, W_e(0) = R_t B_e R_sᵀ, then they stay so, and in each mode

    τ Ḃ_e = Σ_{p ∋ e} B_{p∖e} [S(p) − Σ_j B_j D(j, p)].

Paths that share no edge and are never on together do not feel each other, and each such group may have bases of its own
(exclusive-or with a pathway for each example is reduced in this way: all four share one output unit).

This is exact for gated networks. For a ReLU network it also takes gates that equal the activity of the units on each
sample, and units that never change it.

Source: A. M. Saxe, S. Sodhani, S. Lewallen, "The neural race reduction: dynamics of abstraction in gated networks"
(2022).
"""

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from festina.errors import require
from festina.networks.graph import Graph, edge_name
from festina.theory._bases import Block, diagonal, joint_bases, off_diagonal
from festina.theory.paths import PathStatistics, path_statistics
from festina.theory.reduced import HOLDS, Condition, Reduction
from festina.worlds.gated import GatedDataset, Patterns
from festina.worlds.world import check_finite


def reduction(
    graph: Graph,
    world: Any,
    weights: Mapping[str, Any] | None = None,
    timescale: float = 1.0,
) -> Reduction:
    """The race reduction of a network on a graph, in a world with gates, and whether it applies.

    Args:
        graph: the architecture, with at most some thousand paths.
        world: a `GatedDataset`, or the moments of its gate patterns.
        weights: initial weights by the name of the edge, such as ``Gated.weights``. Without them, or where they are not
            decoupled, the reduction has strengths and conditions but no course: see `Reduction.starting`.
        timescale: τ.

    Returns:
        A `Reduction`: ``print`` it for strengths and conditions, call it with times for its course.

    Example:
        >>> import festina as fs
        >>> graph = fs.networks.Graph.of(
        ...     "x -> both -> y", "x -> first -> y", widths={"x": 1, "both": 1, "first": 1, "y": 1})
        >>> world = fs.worlds.GatedDataset({"x": [[1.0], [1.0]]}, {"y": [[1.0], [0.0]]}, {"first": [1.0, 0.0]})
        >>> print(fs.theory.reduction(graph, world))
        race of 2 paths in 1 modes: the reduction applies
          holds: moments are mutually diagonalisable (off by 0.0e+00 at most)
          not asked: initial weights are decoupled
          x->both->y: S = 0.5
          x->first->y: S = 0.5
    """
    require(
        isinstance(world, GatedDataset | Patterns), "world", "be a GatedDataset or its Patterns", type(world).__name__
    )
    require(np.ndim(timescale) == 0, "timescale", "be one number", timescale)
    require(0 < timescale < np.inf, "timescale", "be positive and finite", timescale)
    statistics = path_statistics(graph, world if isinstance(world, Patterns) else world.patterns)
    learnable = any(np.any(cross) for cross in statistics.cross)
    require(learnable, "world", "have a path that sees a correlation of its input with a target", "one without any")
    moments = _moments(statistics)
    edges = {} if weights is None else _edge_blocks(graph, weights)
    diagonalisable, decoupled = {}, {}
    bases: dict[str, list[np.ndarray]] = {node: [] for node in graph.widths}
    columns: list[dict[str, np.ndarray]] = []
    for contest in contests(statistics):
        seen = {name: moments[name] for name in _names_of(statistics, contest)}
        own = {edge_name(*edge): edge for p in contest for edge in itertools.pairwise(statistics.paths[p])}
        trained = {name: edges[name] for name in own if name in edges}
        found = joint_bases(_sizes(graph, seen), list(seen.values()))
        diagonalisable |= _misses(found, seen)
        if trained:
            joint = joint_bases(_sizes(graph, seen | trained), [*seen.values(), *trained.values()])
            misses = _misses(joint, trained | seen)
            decoupled |= misses
            # Weights that are not decoupled have no numbers in modes: what is left is what the data say.
            found, trained = (joint, trained) if max(misses.values()) < HOLDS else (found, {})
        columns.append({name: diagonal(found, block) for name, block in (seen | trained).items()})
        modes = next(iter(found.values())).shape[1]
        for node, width in graph.nodes:
            bases[node].append(found.get(node, np.zeros((width, modes))))
    return _assemble(statistics, columns, bases, diagonalisable, decoupled, timescale)


def contests(statistics: PathStatistics) -> list[list[int]]:
    """Paths in groups that race among themselves: they share edges, or are on together on some samples.

    Groups do not feel each other, so that each has bases of its own.
    """
    edges = [set(itertools.pairwise(path)) for path in statistics.paths]
    scale = max(np.linalg.norm(moment) for moment in statistics.inputs.values())
    groups: list[list[int]] = []
    for p in range(len(edges)):
        rivals = [
            group
            for group in groups
            if any(
                edges[p] & edges[j] or np.linalg.norm(statistics.inputs.get((j, p), 0.0)) > 1e-14 * scale for j in group
            )
        ]
        groups = [group for group in groups if group not in rivals] + [sorted(sum(rivals, [p]))]
    return sorted(groups)


def _assemble(
    statistics: PathStatistics,
    columns: list[dict[str, np.ndarray]],
    bases: dict[str, list[np.ndarray]],
    diagonalisable: dict[str, float],
    decoupled: dict[str, float],
    timescale: float,
) -> Reduction:
    """The contests side by side, each with modes of its own; modes in which nothing ever happens are left out."""
    sizes = [len(next(iter(numbers.values()))) for numbers in columns]

    def row(name: str) -> np.ndarray:
        return np.concatenate([numbers.get(name, np.zeros(k)) for numbers, k in zip(columns, sizes, strict=True)])

    names = statistics.names
    strengths = np.stack([row(_cross_name(name)) for name in names])
    overlaps = np.stack([np.stack([row(_input_name(rival, name)) for name in names]) for rival in names])
    initial = np.stack([row(edge_name(*edge)) for edge in statistics.graph.edges])
    moving = np.any(np.abs(strengths) > 1e-14 * np.max(np.abs(strengths)), axis=0) | np.any(initial != 0, axis=0)
    return Reduction(
        statistics,
        (
            Condition("moments are mutually diagonalisable", diagonalisable),
            Condition("initial weights are decoupled", decoupled),
        ),
        {node: np.concatenate(parts, axis=1)[:, moving] for node, parts in bases.items()},
        strengths[:, moving],
        overlaps[..., moving],
        initial[:, moving],
        timescale,
    )


def _moments(statistics: PathStatistics) -> dict[str, Block]:
    """Every moment of every path, by a name that can be shown."""
    paths, names = statistics.paths, statistics.names
    found = {_cross_name(names[p]): (paths[p][-1], paths[p][0], cross) for p, cross in enumerate(statistics.cross)}
    return found | {
        _input_name(names[j], names[p]): (paths[j][0], paths[p][0], moment)
        for (j, p), moment in statistics.inputs.items()
    }


def _names_of(statistics: PathStatistics, contest: list[int]) -> list[str]:
    """The moments that the paths of a contest see."""
    names = statistics.names
    return [
        *(_cross_name(names[p]) for p in contest),
        *(_input_name(names[j], names[p]) for j in contest for p in contest if (j, p) in statistics.inputs),
    ]


def _edge_blocks(graph: Graph, weights: Mapping[str, Any]) -> dict[str, Block]:
    require(isinstance(weights, Mapping), "weights", "be matrices by the name of the edge", type(weights).__name__)
    for source, target in graph.edges:
        name, shape = edge_name(source, target), (graph.widths[target], graph.widths[source])
        require(name in weights, "weights", f"hold a matrix for the edge {name}", sorted(weights))
        matrix = np.asarray(weights[name], float)
        require(matrix.shape == shape, f"weights[{name!r}]", f"be of shape {shape}", matrix.shape)
        check_finite(f"weights[{name!r}]", matrix)
    return {edge_name(s, t): (t, s, np.asarray(weights[edge_name(s, t)], float)) for s, t in graph.edges}


def _sizes(graph: Graph, blocks: Mapping[str, Block]) -> dict[str, int]:
    """Widths of the nodes that some matrices lead from or to: inputs first, where the modes are told apart."""
    used = {node for target, source, _ in blocks.values() for node in (target, source)}
    return {node: graph.widths[node] for node in graph.order if node in used}


def _misses(bases: dict[str, Any], blocks: dict[str, Block]) -> dict[str, float]:
    return {name: off_diagonal(bases, block) for name, block in blocks.items()}


def _cross_name(path: str) -> str:
    return f"Σyx({path})"


def _input_name(rival: str, path: str) -> str:
    return f"Σx({rival}, {path})"
