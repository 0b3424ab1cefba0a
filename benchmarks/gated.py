"""The gradient of a gated network: from gate patterns, from samples, and as the sum over paths.

    python benchmarks/gated.py

Layered graphs, each node joined to all of the next layer, random gates on every hidden node in a few patterns, many
samples. All in float64 on one core. Compile times are of one gradient; the other times are medians over interleaved
rounds, and ratios are taken within a round. The sum over paths is the formula of the theory in NumPy; it exists for
graphs with few paths only.
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
    start = time.perf_counter()
    compiled = slope.lower(weights, data).compile()
    seconds = time.perf_counter() - start
    data = jax.tree.map(jax.numpy.asarray, data)
    return lambda: jax.block_until_ready(compiled(weights, data)), seconds


def milliseconds(work: Callable[[], Any]) -> float:
    """The mean of as many calls as fit into a twentieth of a second."""
    start, calls = time.perf_counter(), 0
    while calls == 0 or time.perf_counter() - start < 0.05:
        work()
        calls += 1
    return 1e3 * (time.perf_counter() - start) / calls


def compare(nodes: int, layers: int, *, with_paths: bool = False, gated_edges: bool = False) -> None:
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
    table = [[milliseconds(work) for work in works.values()] for _ in range(ROUNDS)]
    rounds = dict(zip(works, np.array(table).T, strict=True))
    edges = len(graph.edges)
    where = "edges" if gated_edges else "hidden nodes"
    print(f"\n{nodes} nodes a layer, {layers} layers: {edges} edges, {graph.path_count:.3g} paths, gates on {where}")
    print(f"  {'gradient from':<22}{'compile':>10}{'median':>12}{'ratio':>9}   (spread of ratios)")
    for name, times in rounds.items():
        ratio = times / rounds["patterns, condensed"]
        built = f"{compiling[name]:.2f} s" if name in compiling else "—"
        spread = f"{ratio.min():.1f} … {ratio.max():.1f}"
        print(f"  {name:<22}{built:>10}{np.median(times):>9.3f} ms{np.median(ratio):>9.1f}   ({spread})")


def main() -> None:
    print(f"{SAMPLES} samples in {PATTERNS} gate patterns, {WIDTH} units a node, one core, float64")
    with double():
        compare(2, 3, with_paths=True)
        compare(3, 4, with_paths=True)
        compare(8, 8)
        compare(8, 8, gated_edges=True)


if __name__ == "__main__":
    main()
