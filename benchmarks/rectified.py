"""How fast a ReLU network is trained: ten seeds in one compiled call, against plain loops in PyTorch and in JAX.

    python benchmarks/rectified.py [--write]

The training of `rectified/selectivity`: three contexts, 600 hidden units,
8,000 steps of gradient descent on all 24 samples, float32. CPU seconds a seed of this one process, pinned to one core,
medians, variants interleaved in one run; compilation is apart. On several threads PyTorch's wait for one another by
spinning, and on a machine with other work to do a ratio of wall-clock times would say more about that than about the
programs. Beside the loop that one writes first, one seed after the other, stand the two that an expert would write: all
seeds as one batch in PyTorch, and `jit(vmap(scan))` in JAX. PyTorch is optional.
"""

import os
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

if hasattr(os, "sched_setaffinity"):  # before JAX and PyTorch count the cores
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import jax
import jax.numpy as jnp
import numpy as np
import table

import festina as fs
from festina.learning.loop import drive
from festina.models import RectifiedContexts
from festina.worlds.contexts import multitask

SEEDS, CONTEXTS, WIDTH, STEPS, RATE = 10, 3, 600, 8000, 1e-3
DEVIATION = 0.005 / WIDTH
ROUNDS = 3
SIZES = (8 + CONTEXTS, WIDTH, 15 * (CONTEXTS + 1))
MODEL = RectifiedContexts(contexts=CONTEXTS, width=WIDTH, deviation=DEVIATION, rate=RATE, steps=STEPS, records=80)


def build(inputs: Any) -> Any:
    """The process of one seed."""
    return MODEL.process(MODEL.start(jax.random.key(inputs["seed"])))


def compiled(first: int) -> float:
    """The mean loss of all seeds at the end."""
    with fs.double():
        outcome = drive(build, {"seed": np.arange(first, first + SEEDS)}, label="ReLU")
    return float(outcome.observed["loss"][:, -1].mean())


def plain_loop(torch: Any, seed: int) -> float:
    """One seed in PyTorch, as one would write it; the loss at the end."""
    data = multitask(CONTEXTS).dataset
    x, y = (torch.from_numpy(part.astype(np.float32)) for part in (data.inputs, data.targets))
    generator = torch.Generator().manual_seed(seed)
    weights = [
        (DEVIATION * torch.randn(rows, columns, generator=generator)).requires_grad_()
        for columns, rows in pairwise(SIZES)
    ]
    optimizer = torch.optim.SGD(weights, lr=RATE)
    loss = torch.zeros(())
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = 0.5 * ((torch.relu(x @ weights[0].T) @ weights[1].T - y) ** 2).sum()
        loss.backward()
        optimizer.step()
    return float(loss.detach()) / len(x)


def batched_loop(torch: Any, first: int) -> float:
    """All seeds as one batch in PyTorch; the mean of their losses at the end."""
    data = multitask(CONTEXTS).dataset
    x, y = (torch.from_numpy(part.astype(np.float32)) for part in (data.inputs, data.targets))
    generator = torch.Generator().manual_seed(first)
    weights = [
        (DEVIATION * torch.randn(SEEDS, columns, rows, generator=generator)).requires_grad_()
        for columns, rows in pairwise(SIZES)
    ]
    optimizer = torch.optim.SGD(weights, lr=RATE)
    loss = torch.zeros(())
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss = 0.5 * ((torch.relu(x @ weights[0]) @ weights[1] - y) ** 2).sum()
        loss.backward()
        optimizer.step()
    return float(loss.detach()) / len(x) / SEEDS


@jax.jit
def _scanned(seeds: Any) -> Any:
    data = multitask(CONTEXTS).dataset
    x, y = (np.asarray(part, np.float32) for part in (data.inputs, data.targets))

    def loss(weights: Any) -> Any:
        return 0.5 * jnp.sum((jax.nn.relu(x @ weights[0]) @ weights[1] - y) ** 2)

    def one(seed: Any) -> Any:
        keys = jax.random.split(jax.random.key(seed))
        sizes = zip(keys, pairwise(SIZES), strict=True)
        start = [DEVIATION * jax.random.normal(key, size, np.float32) for key, size in sizes]

        def step(weights: Any, _: None) -> tuple[Any, None]:
            return jax.tree.map(lambda weight, slope: weight - RATE * slope, weights, jax.grad(loss)(weights)), None

        return loss(jax.lax.scan(step, start, None, length=STEPS)[0]) / len(x)

    return jax.vmap(one)(seeds)


def scanned(first: int) -> float:
    """All seeds by `jit(vmap(scan))`; the mean of their losses at the end."""
    return float(_scanned(np.arange(first, first + SEEDS)).mean())


def main() -> None:
    options = table.parser(__doc__).parse_args()
    try:
        import torch  # pyright: ignore[reportMissingImports]

        torch.set_num_threads(1)
    except ImportError:
        torch = None
    ways: dict[str, Callable[[int], float]] = {f"festina, {SEEDS} seeds in one compiled call": compiled}
    ways["JAX, a plain jit(vmap(scan))"] = scanned
    if torch is None:
        print("PyTorch is not installed: no comparison (`pip install torch` for one)")
    else:
        ways[f"PyTorch {torch.__version__}, all seeds as one batch"] = partial(batched_loop, torch)
        ways[f"PyTorch {torch.__version__}, a plain loop, one seed"] = partial(plain_loop, torch)
    first = table.cpu_seconds(lambda: compiled(0)) / SEEDS
    scanned(0)
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(1, ROUNDS + 1):
        for name, way in ways.items():
            spent = table.cpu_seconds(lambda way=way, number=number: way(SEEDS * number))
            seconds[name].append(spent if name.endswith("one seed") else spent / SEEDS)
    ours = next(iter(seconds.values()))
    rows = [(name, table.spread(spent), table.spread(table.ratios(spent, ours))) for name, spent in seconds.items()]
    note = f"{STEPS:,} steps, width {WIDTH}, float32. With compilation, festina takes {first:.2f} CPU s a seed."
    table.show("rectified", ("way", "CPU s a seed", "÷ festina"), rows, write=options.write, note=note)


if __name__ == "__main__":
    main()
