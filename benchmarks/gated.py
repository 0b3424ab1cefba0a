"""The gradient of a gated network: from gate patterns, from samples, and as the sum over paths.

    python benchmarks/gated.py [--write]

Layered graphs, each node joined to all of the next layer, random gates on every hidden node in a few patterns, many
samples. All in float64 on one core, CPU seconds. Compile times are of one gradient; the other times are medians over
interleaved rounds, and ratios are taken within a round. The sum over paths is the formula of the theory in NumPy; it
exists for graphs with few paths only.
"""

import os
import time
from collections.abc import Callable
from typing import Any

if hasattr(os, "sched_setaffinity"):  # before the libraries below count the cores
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import equinox as eqx
import jax
import numpy as np
import table

from festina.networks import Gated, Graph
from festina.networks.graph import edge_name
from festina.precision import double
from festina.theory import path_statistics
from festina.worlds import GatedDataset

WIDTH, PATTERNS, SAMPLES, ROUNDS = 4, 8, 2000, 7


def hidden_nodes(graph: Graph) -> list[str]:
    return [node for node in graph.widths if node not in graph.inputs and node not in graph.outputs]


def world_of(graph: Graph, gated: list[str]) -> GatedDataset:
    """Random samples, each with one of a few random patterns of gates on the named nodes or edges."""
    random = np.random.default_rng(0)
    pattern = random.integers(0, PATTERNS, SAMPLES)
    return GatedDataset(
        {node: random.normal(size=(SAMPLES, WIDTH)) for node in graph.inputs},
        {node: random.normal(size=(SAMPLES, WIDTH)) for node in graph.outputs},
        {name: random.integers(0, 2, PATTERNS).astype(float)[pattern] for name in gated},
    )


def gradient_on(data: Any, network: Gated) -> tuple[Callable[[], Any], float]:
    """A compiled gradient, and how long it took to compile."""
    weights, static = eqx.partition(jax.tree.map(jax.numpy.asarray, network), eqx.is_inexact_array)
    slope = jax.jit(jax.grad(lambda weights, data: data.loss(eqx.combine(weights, static))))
    start = time.process_time()
    compiled = slope.lower(weights, data).compile()
    seconds = time.process_time() - start
    data = jax.tree.map(jax.numpy.asarray, data)
    return lambda: jax.block_until_ready(compiled(weights, data)), seconds


def compare(nodes: int, layers: int, *, with_paths: bool = False, gated_edges: bool = False) -> list[Any]:
    """The rows of one graph."""
    graph = Graph.layered((nodes,) * (layers + 1), width=WIDTH)
    gated = [edge_name(*edge) for edge in graph.edges] if gated_edges else hidden_nodes(graph)
    world, network = world_of(graph, gated), Gated.init(jax.random.key(0), graph, scale=0.5)
    works: dict[str, Callable[[], Any]] = {}
    compiling = {}
    for name, data in (("patterns, condensed", world.condensed), ("samples", world.samples)):
        works[name], compiling[name] = gradient_on(data, network)
    if with_paths:
        statistics = path_statistics(graph, world.patterns, most=graph.path_count)
        works["sum over paths"] = lambda: statistics.descent(network.weights)
    for work in works.values():
        work()
    rounds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(ROUNDS):
        for name, work in works.items():
            rounds[name].append(1e3 * table.repeated(work))
    where = "edges" if gated_edges else "hidden nodes"
    label = f"{nodes} × {layers}, {len(graph.edges)} edges, {table.short(graph.path_count)} paths, gates on {where}"
    return [
        (
            label if number == 0 else "",
            name,
            f"{compiling[name]:.2f}" if name in compiling else "—",
            table.spread(times),
            table.spread(table.ratios(times, rounds["patterns, condensed"])),
        )
        for number, (name, times) in enumerate(rounds.items())
    ]


def main() -> None:
    options = table.parser(__doc__).parse_args()
    with double():
        rows = compare(2, 3, with_paths=True) + compare(3, 4, with_paths=True)
        rows += compare(8, 8) + compare(8, 8, gated_edges=True)
    columns = ("nodes a layer × layers", "gradient from", "compile, s", "CPU ms", "÷ condensed")
    note = f"{SAMPLES} samples in {PATTERNS} gate patterns, {WIDTH} units a node."
    table.show("gated", columns, rows, write=options.write, note=note)


if __name__ == "__main__":
    main()
