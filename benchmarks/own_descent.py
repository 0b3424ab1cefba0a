"""`fs.descent` with an optimiser against the loop of optax one would write, and against PyTorch where it is installed.

    python benchmarks/own_descent.py [--write]

A network 64-300-10 learns scikit-learn's digits by Adam on batches of 64 in float32, 5000 steps with ten looks at the
loss on all of the data. The plain loop calls a compiled step from Python, as tutorials have it, with batches drawn by
NumPy; several seeds are several such loops, one after the other. The last line has only the matrix products of the
steps. CPU seconds of one pinned core, variants interleaved in one process; compilation is not counted, and stands in
the last column.
"""

import os

if hasattr(os, "sched_setaffinity"):  # before JAX counts the cores
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import table
from sklearn.datasets import load_digits

import festina as fs

STEPS, RECORDS, BATCH, RATE = 5000, 10, 64, 1e-3
ROUNDS = 3
SEEDS = (1, 10)

IMAGES, LABELS = load_digits(return_X_y=True)
INPUTS = (IMAGES / 16.0).astype(np.float32)


def network(key: jax.Array) -> eqx.nn.MLP:
    return eqx.nn.MLP(64, 10, 300, 1, key=key)


def ours(seeds: int) -> Callable[[], Any]:
    """One call of festina for all seeds."""
    optimiser = optax.adam(RATE)

    def work() -> Any:
        run = fs.descent(
            network,
            (INPUTS, LABELS),
            steps=STEPS,
            optimiser=optimiser,
            batch=BATCH,
            seeds=seeds,
            records=RECORDS,
            precision="float32",
        )
        return run["loss"].values

    return work


def plain(seeds: int) -> Callable[[], Any]:
    """A loop in Python over compiled steps, seed after seed."""
    optimiser = optax.adam(RATE)
    inputs, labels = jnp.asarray(INPUTS), jnp.asarray(LABELS)

    def loss(weights: Any, x: jax.Array, y: jax.Array) -> jax.Array:
        scores = jax.vmap(eqx.combine(weights, static))(x)
        return optax.softmax_cross_entropy_with_integer_labels(scores, y).mean()

    static = eqx.partition(network(jax.random.key(0)), eqx.is_inexact_array)[1]
    look = jax.jit(loss)

    @jax.jit
    def step(weights: Any, memory: Any, rows: jax.Array) -> tuple[Any, Any]:
        slope = jax.grad(loss)(weights, inputs[rows], labels[rows])
        changes, memory = optimiser.update(slope, memory, weights)
        return optax.apply_updates(weights, changes), memory

    def work() -> Any:
        losses = []
        for seed in range(seeds):
            random = np.random.default_rng(seed)
            weights = eqx.partition(network(jax.random.key(seed)), eqx.is_inexact_array)[0]
            memory = optimiser.init(weights)
            for number in range(STEPS):
                weights, memory = step(weights, memory, random.integers(0, len(LABELS), BATCH))
                if (number + 1) % (STEPS // RECORDS) == 0:
                    losses.append(look(weights, inputs, labels))
        return losses

    return work


def in_torch(seeds: int) -> Callable[[], Any] | None:
    """The same loop in PyTorch, on one thread."""
    try:
        import torch  # pyright: ignore[reportMissingImports]  # a part of no extra
    except ImportError:
        return None
    torch.set_num_threads(1)
    inputs, labels = torch.tensor(INPUTS), torch.tensor(LABELS)

    def work() -> Any:
        losses = []
        for seed in range(seeds):
            torch.manual_seed(seed)
            model = torch.nn.Sequential(torch.nn.Linear(64, 300), torch.nn.ReLU(), torch.nn.Linear(300, 10))
            optimiser = torch.optim.Adam(model.parameters(), lr=RATE)
            for number in range(STEPS):
                rows = torch.randint(0, len(labels), (BATCH,))
                optimiser.zero_grad()
                torch.nn.functional.cross_entropy(model(inputs[rows]), labels[rows]).backward()
                optimiser.step()
                if (number + 1) % (STEPS // RECORDS) == 0:
                    with torch.no_grad():
                        losses.append(float(torch.nn.functional.cross_entropy(model(inputs), labels)))
        return losses

    return work


def products(seeds: int) -> Callable[[], Any]:
    """Only the five matrix products of each step, in NumPy: what no program can do without."""
    random = np.random.default_rng(0)
    x, first, second = (random.normal(size=size).astype(np.float32) for size in ((BATCH, 64), (64, 300), (300, 10)))

    def work() -> Any:
        found = None
        for _ in range(seeds * STEPS):
            hidden = x @ first
            answers = hidden @ second
            found = hidden.T @ answers, x.T @ (answers @ second.T)
        return found

    return work


def main() -> None:
    options = table.parser(__doc__).parse_args()
    rows = []
    for seeds in SEEDS:
        works = {"festina": ours(seeds), "optax loop": plain(seeds), "PyTorch": in_torch(seeds)}
        works["its matrix products alone, NumPy"] = products(seeds)
        works = {name: work for name, work in works.items() if work is not None}
        cold = table.interleaved(works, 1)
        warm = table.interleaved(works, ROUNDS)
        for name, seconds in warm.items():
            compared = table.spread(table.ratios(seconds, warm["festina"]))
            compiling = max(cold[name][0] - min(seconds), 0.0)
            rows.append((seeds, name, table.spread(seconds), compared, table.short(compiling)))
    columns = ("seeds", "program", "CPU s", "÷ festina", "compiling, CPU s")
    note = f"64-300-10, Adam, batches of {BATCH}, {STEPS:,} steps, {RECORDS} looks at the loss, float32, one core."
    table.show("own_descent", columns, rows, write=options.write, note=note)


if __name__ == "__main__":
    main()
