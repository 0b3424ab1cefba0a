"""What it costs to watch a network: 20 looks at a perceptron 784-256-256-10 with 200 probes, beside its training.

    python benchmarks/watching.py [--write]

CPU seconds of one pinned core, in one process for each library: the first look, which also trains the linearised twin;
each of the others; and all of them. A module of Equinox, and one of PyTorch where that is installed. Compiling counts.
"""

import os

if hasattr(os, "sched_setaffinity"):  # before JAX counts the cores
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import importlib.util
import resource
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import table

import festina as fs

PROBES, LOOKS, GOAL = 200, 20, 10.0  # CPU seconds that all looks may take
RANDOM = np.random.default_rng(0)
INPUTS = RANDOM.normal(size=(PROBES, 784)).astype(np.float32)
LABELS = RANDOM.integers(0, 10, PROBES)

Trained = tuple[Any, Callable[[Any], Any]]


def of_equinox() -> Trained:
    """A perceptron, and a step of its training."""

    @eqx.filter_jit
    def step(network: Any) -> Any:
        def loss(network: Any) -> Any:
            scores = jax.nn.log_softmax(jax.vmap(network)(INPUTS))
            return -jnp.mean(scores[jnp.arange(PROBES), LABELS])

        return eqx.apply_updates(network, jax.tree.map(lambda slope: -0.1 * slope, eqx.filter_grad(loss)(network)))

    return eqx.nn.MLP(784, 10, 256, depth=2, key=jax.random.key(0)), step


def of_torch() -> Trained:
    """The same of PyTorch, which changes in its place."""
    torch: Any = importlib.import_module("torch")
    torch.set_num_threads(1)
    torch.manual_seed(0)
    sizes = (784, 256, 256, 10)
    layers = [torch.nn.Linear(*pair) for pair in pairwise(sizes)]
    network = torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1], torch.nn.ReLU(), layers[2])
    inputs, labels = torch.tensor(INPUTS), torch.tensor(LABELS)
    optimiser = torch.optim.SGD(network.parameters(), lr=0.1)

    def step(network: Any) -> Any:
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(network(inputs), labels).backward()
        optimiser.step()
        return network

    return network, step


def watched(made: Callable[[], Trained]) -> tuple[float, list[float]]:
    """CPU seconds of the first look, and of each of the others."""
    network, step = made()
    seen: list[Any] = []
    first = table.cpu_seconds(lambda: seen.append(fs.watch(network, INPUTS, LABELS)))
    others = []
    for look in range(1, LOOKS):
        network = step(network)
        now = None if made is of_torch else network
        others.append(table.cpu_seconds(lambda look=look, now=now: seen[0](look, now) and None))
    return first, others


def main() -> None:
    options = table.parser(__doc__).parse_args()
    kinds = {"Equinox": of_equinox} | ({"PyTorch": of_torch} if importlib.util.find_spec("torch") else {})
    rows = []
    for name, made in kinds.items():
        first, others = watched(made)
        whole = first + sum(others)
        rows.append((name, table.short(first), table.spread(others), f"{table.short(whole)} (goal {GOAL:.0f})"))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    columns = ("library", "first look, CPU s", "each other, CPU s", f"{LOOKS} looks, CPU s")
    note = f"784-256-256-10, {PROBES} probes, tangent kernels on random directions. At most {memory:.1f} GiB of memory."
    table.show("watching", columns, rows, write=options.write, note=note)


if __name__ == "__main__":
    main()
