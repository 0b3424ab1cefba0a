"""How fast a ReLU network is trained: ten seeds in one compiled call, against a plain loop in PyTorch.

    python benchmarks/rectified.py [--write]

The training of `rectified/selectivity`: three contexts, 600 hidden units,
8,000 steps of gradient descent on all 24 samples, float32. CPU seconds a seed of this one process, pinned to one core,
medians, variants interleaved in one run; compilation is apart. On several threads PyTorch's wait for one another by
spinning, and on a machine with other work to do a ratio of wall-clock times would say more about that than about the
programs. PyTorch is optional.
"""

import os
from itertools import pairwise
from typing import Any

if hasattr(os, "sched_setaffinity"):  # before JAX and PyTorch count the cores
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import jax
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


def main() -> None:
    options = table.parser(__doc__).parse_args()
    try:
        import torch  # pyright: ignore[reportMissingImports]

        torch.set_num_threads(1)
    except ImportError:
        torch = None
    first = table.cpu_seconds(lambda: compiled(0)) / SEEDS
    ours, theirs = [], []
    for number in range(ROUNDS):
        ours.append(table.cpu_seconds(lambda number=number: compiled(SEEDS * (number + 1))) / SEEDS)
        if torch is not None:
            theirs.append(table.cpu_seconds(lambda number=number: plain_loop(torch, number)))
    rows = [(f"festina, {SEEDS} seeds in one compiled call", table.spread(ours), "1")]
    if torch is not None:
        rows.append(
            (
                f"PyTorch {torch.__version__}, a plain loop",
                table.spread(theirs),
                table.spread(table.ratios(theirs, ours)),
            )
        )
    else:
        print("PyTorch is not installed: no comparison (`pip install torch` for one)")
    note = f"{STEPS:,} steps, width {WIDTH}, float32. With compilation, festina takes {first:.2f} CPU s a seed."
    table.show("rectified", ("way", "CPU s a seed", "÷ festina"), rows, write=options.write, note=note)


if __name__ == "__main__":
    main()
