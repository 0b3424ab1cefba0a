"""A gated network as a picture: nodes by level, edges by strength, gates as strips of light and dark."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from festina.errors import UnknownName
from festina.networks.graph import Graph, edge_name

if TYPE_CHECKING:
    from festina.networks.gated import Gated

ACROSS, DOWN = 1.9, 0.8  # inches between levels, and between nodes of a level
BOX = (0.5, 0.15)  # half the width and height of a node
MOST_CELLS = 24  # of a strip; beyond, only some patterns are shown
INPUT, HIDDEN, OUTPUT = "#d7e6f4", "#f2f2f2", "#fbe3c8"


def draw(network: "Gated", gates: Mapping[str, Any]) -> Any:
    """The figure; ``gates`` as in a call of the network, one column of a strip for each distinct pattern."""
    import matplotlib.pyplot as plt

    graph = network.graph
    for name in gates:
        if name not in graph.names:
            raise UnknownName("gate", name, graph.names)
    places = _places(graph)
    strips = _strips(gates)
    width = ACROSS * (max(graph.levels.values()) + 1)
    height = DOWN * (max(abs(y) for _, y in places.values()) * 2 / DOWN + 1.4)
    figure, axis = plt.subplots(figsize=(width, height + 0.35), layout="constrained")
    _draw_edges(axis, network, places)
    for source, target in graph.edges:
        if edge_name(source, target) in strips:
            _draw_strip(axis, _on_edge(places[source], places[target]), strips[edge_name(source, target)], 0.28)
    for node, place in places.items():
        _draw_node(axis, graph, node, place)
        if node in strips:
            _draw_strip(axis, (place[0], place[1] - BOX[1] - 0.11), strips[node], 0.9 * BOX[0])
    if strips:
        count = next(iter(strips.values())).shape[-1]
        axis.set_title(f"strips: gates in {count} patterns, one a column (dark = on)", fontsize=7)
    axis.set(xlim=(-0.7, width - ACROSS + 0.7), ylim=(-height / 2, height / 2), aspect="equal")
    axis.axis("off")
    return figure


def _places(graph: Graph) -> dict[str, tuple[float, float]]:
    """Where nodes stand: their level across, their order within it down."""
    levels: dict[int, list[str]] = {}
    last = max(graph.levels.values())
    for node, _ in graph.nodes:
        at_end = node in graph.outputs and not graph.targets_of(node)
        levels.setdefault(last if at_end else graph.levels[node], []).append(node)
    return {
        node: (ACROSS * level, DOWN * ((len(nodes) - 1) / 2 - number))
        for level, nodes in levels.items()
        for number, node in enumerate(nodes)
    }


def _strips(gates: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The distinct patterns of gates, as (units, patterns) by name; one row where a gate is one number."""
    if not gates:
        return {}
    columns = {name: np.reshape(np.asarray(gate, float), (len(gate), -1)) for name, gate in gates.items()}
    together = np.concatenate(list(columns.values()), axis=1)
    first = np.sort(np.unique(together, axis=0, return_index=True)[1])
    if len(first) > MOST_CELLS:
        first = first[np.linspace(0, len(first) - 1, MOST_CELLS).astype(int)]
    return {name: values[first].T for name, values in columns.items()}


def _draw_edges(axis: Any, network: "Gated", places: dict[str, tuple[float, float]]) -> None:
    sizes = {name: float(np.sqrt(np.mean(np.square(weight)))) for name, weight in network.weights.items()}
    largest = max(max(sizes.values()), np.finfo(float).tiny)
    for source, target in network.graph.edges:
        (x0, y0), (x1, y1) = places[source], places[target]
        strength = sizes[edge_name(source, target)] / largest
        axis.annotate(
            "",
            (x1 - BOX[0], y1),
            (x0 + BOX[0], y0),
            arrowprops={
                "arrowstyle": "-|>",
                "lw": 0.5 + 1.6 * strength,
                "color": str(0.65 - 0.45 * strength),
                "shrinkA": 0,
                "shrinkB": 0,
                "connectionstyle": f"arc3,rad={_bend(places[source], places[target])}",
            },
        )


def _draw_node(axis: Any, graph: Graph, node: str, place: tuple[float, float]) -> None:
    from matplotlib.patches import FancyBboxPatch

    color = INPUT if node in graph.inputs else OUTPUT if node in graph.outputs else HIDDEN
    corner = (place[0] - BOX[0] + 0.05, place[1] - BOX[1] + 0.05)
    box = FancyBboxPatch(
        corner, 2 * BOX[0] - 0.1, 2 * BOX[1] - 0.1, boxstyle="round,pad=0.05", fc=color, ec="0.3", lw=0.8, zorder=3
    )
    axis.add_patch(box)
    axis.text(*place, f"{node} · {graph.widths[node]}", ha="center", va="center", fontsize=8, zorder=4)


def _draw_strip(axis: Any, middle: tuple[float, float], strip: np.ndarray, reach: float) -> None:
    """Gates of one node or edge: patterns across, units down."""
    half = 0.05
    left, right, low, high = middle[0] - reach, middle[0] + reach, middle[1] - half, middle[1] + half
    axis.imshow(
        1.0 - np.clip(np.abs(strip), 0.0, 1.0) * 0.85,
        cmap="gray",
        vmin=0,
        vmax=1,
        extent=(left, right, low, high),
        aspect="auto",
        zorder=5,
        interpolation="nearest",
    )
    edges = np.linspace(left, right, strip.shape[1] + 1)
    axis.vlines(edges, low, high, color="0.45", lw=0.5, zorder=6)
    axis.hlines([low, high], left, right, color="0.45", lw=0.5, zorder=6)


def _bend(start: tuple[float, float], end: tuple[float, float]) -> float:
    """How much an edge is curved: those that skip a level go around its nodes, on the outer side."""
    skipped = round((end[0] - start[0]) / ACROSS) - 1
    size = 0.3 / skipped**0.7 if skipped > 0 else 0.0
    return -size if start[1] + end[1] >= 0 else size


def _on_edge(start: tuple[float, float], end: tuple[float, float], along: float = 0.36) -> tuple[float, float]:
    """A point some way along an edge, where its gate is shown: on matplotlib's arc, a quadratic Bézier curve."""
    (x0, y0), (x1, y1) = (start[0] + BOX[0], start[1]), (end[0] - BOX[0], end[1])
    bend = _bend(start, end)
    control = ((x0 + x1) / 2 + bend * (y1 - y0), (y0 + y1) / 2 - bend * (x1 - x0))
    weights = ((1 - along) ** 2, 2 * along * (1 - along), along**2)
    points = ((x0, y0), control, (x1, y1))
    return (
        sum(weight * x for weight, (x, _) in zip(weights, points, strict=True)),
        sum(weight * y for weight, (_, y) in zip(weights, points, strict=True)),
    )
