"""How far festina's kernels are from what a core can do: flops, bytes and launches of each, against their peaks.

    python benchmarks/roofline.py [--write]

One pinned core, CPU seconds, all kernels and all peaks interleaved in one run. Flops are counted by hand, from the
formulas (see kernels.py). Bytes are what XLA says one step reads and writes, if no cache helped: an upper bound of what
travels. Launches are the fused loops and products of one step of the batch, in all its tiles; they include those that
draw random numbers, of which many steps in fact share one, and so are an upper bound, too. Peaks: large products of
matrices, an array in the second cache read and written again and again, and loops with next to nothing in their steps.
"""

import os

if hasattr(os, "sched_setaffinity"):  # before the libraries below count the cores
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Any

import jax
import jax.numpy as jnp
import kernels
import numpy as np
import table

import festina as fs
from festina.compiling import QUICK, known_options

ROUNDS = 5
SIZE = 1024  # of the matrices whose product is the peak
CACHED = 2**15  # float64 numbers in the second cache: 256 kB
LOOPS, FEW = 20_000, 512
KERNELS = {
    "joint descent, Wishart, float32": (partial(kernels.joint, "wishart", jnp.float32), "float32"),
    "joint descent, Wishart, float64": (partial(kernels.joint, "wishart"), "float64"),
    "joint descent, population, float64": (partial(kernels.joint, "population"), "float64"),
    "joint descent, closure, float64": (partial(kernels.joint, "closure"), "float64"),
    "gated flow, Dopri8, float64": (kernels.gated, "float64"),
    "deep linear flow, Dopri8, float64": (kernels.deep_linear, "float64"),
    "rectified network, float32": (kernels.rectified, "float32"),
    "posterior gradient, float32": (kernels.posterior, "float32"),
}


def product(precision: str) -> Callable[[], Any]:
    """NumPy's product of two large matrices: the fastest there is on this core."""
    first, second = np.random.default_rng(0).normal(size=(2, SIZE, SIZE)).astype(precision)
    return lambda: first @ second


def compiled_product(precision: str) -> Callable[[], Any]:
    """The same product by XLA."""
    with fs.double():
        first, second = jnp.asarray(np.random.default_rng(0).normal(size=(2, SIZE, SIZE)), precision)
        work = jax.jit(jnp.matmul).lower(first, second).compile()
    return lambda: work(first, second)


def passes() -> Callable[[], Any]:
    """An array in the second cache, read and written in every step of a loop."""
    with fs.double():
        start = jnp.ones(CACHED)

        def body(values: Any, _: Any) -> Any:
            return 0.999 * values + 0.001, None

        work = jax.jit(lambda start: jax.lax.scan(body, start, None, length=2000)[0]).lower(start).compile()
    return lambda: work(start)


def launching(count: int) -> tuple[Callable[[], Any], int]:
    """A loop whose step launches operations on a few numbers that cannot be fused, and how many these are.

    (With arrays of less than a kilobyte XLA makes one function of the whole loop, and there is nothing to launch.)
    """
    start = jnp.ones(FEW)

    def body(values: Any, _: Any) -> Any:
        for _ in range(count):
            values = values - 1e-3 * jnp.sum(values)
        return values, None

    options = known_options(QUICK)
    loop = jax.jit(lambda start: jax.lax.scan(body, start, None, length=LOOPS)[0], compiler_options=options)
    once = jax.jit(lambda start: body(start, None)[0], compiler_options=options).lower(start).compile()
    work = loop.lower(start).compile()
    return lambda: work(start), kernels.launched(once)


def main() -> None:
    options = table.parser(__doc__).parse_args()
    few, many = launching(1), launching(9)
    peaks = {
        "float32": product("float32"),
        "float64": product("float64"),
        "float32, XLA": compiled_product("float32"),
        "float64, XLA": compiled_product("float64"),
        "passes": passes(),
        "few launches": few[0],
        "many launches": many[0],
    }
    made = {name: make() for name, (make, _) in KERNELS.items()}
    steps = {name: kernel.steps() for name, kernel in made.items()}
    works = peaks | {name: kernel.chunk for name, kernel in made.items()}
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(ROUNDS):
        for name, work in works.items():
            seconds[name].append(table.repeated(work))
    middle = {name: median(values) for name, values in seconds.items()}
    speed = {kind: 2e-9 * SIZE**3 / middle[kind] for kind in peaks if kind.startswith("float")}
    bandwidth = 1e-9 * 2 * 8 * CACHED * 2000 / middle["passes"]
    launch = (middle["many launches"] - middle["few launches"]) / (many[1] - few[1]) / LOOPS
    least = middle["few launches"] / LOOPS
    highest = {kind: max(speed[kind], speed[f"{kind}, XLA"]) for kind in ("float32", "float64")}
    show_peaks(speed, bandwidth, launch, least, write=options.write)
    rows = [
        row(name, made[name], middle[name], steps[name], highest[precision], bandwidth, launch)
        for name, (_, precision) in KERNELS.items()
    ]
    columns = (
        "kernel", "steps per CPU s", "flops a step", "Gflop/s", "of peak", "GB/s asked for", "of cache", "launches",
        "of time", "nearest to",
    )  # fmt: skip
    note = (
        f"Medians of {ROUNDS} interleaved rounds. A step is one step of one run (of one cell, in joint descent), one "
        f"gradient of the posterior, one attempted step of an adaptive flow."
    )
    table.show("roofline", columns, rows, write=options.write, note=note)


def row(
    name: str, kernel: kernels.Kernel, seconds: float, steps: float, peak: float, bandwidth: float, launch: float
) -> tuple[str, ...]:
    """One kernel: how much of each peak it reaches, and which it reaches most of."""
    reached = 1e-9 * kernel.flops * steps / seconds
    shares = {"arithmetic": reached / peak}
    cells = ["—", "—", "—", "—"]
    if kernel.length is not None:
        compiled = kernel.optimised()
        asked = 1e-9 * compiled.cost_analysis()["bytes accessed"] * kernel.length / seconds
        launches = kernels.launched(compiled) * kernel.tiles
        shares |= {"memory passes": asked / bandwidth, "launches": launches * launch * kernel.length / seconds}
        cells = [table.short(asked), f"{asked / bandwidth:.0%}", str(launches), f"{shares['launches']:.0%}"]
    limit = max(shares, key=lambda share: shares[share])
    return (
        name, table.short(steps / seconds), table.short(kernel.flops), table.short(reached), f"{reached / peak:.0%}",
        *cells, limit if len(shares) > 1 else "—",
    )  # fmt: skip


def show_peaks(speed: dict[str, float], bandwidth: float, launch: float, least: float, *, write: bool) -> None:
    rows = [(f"product of {SIZE} × {SIZE} matrices, {kind}", f"{value:.0f} Gflop/s") for kind, value in speed.items()]
    rows += [
        (f"{8 * CACHED // 1024} kB read and written again and again", f"{bandwidth:.0f} GB/s"),
        (f"a step of a loop with one sum and one difference of {FEW} numbers", f"{1e9 * least:.0f} ns"),
        (f"every further operation on {FEW} numbers", f"{1e9 * launch:.0f} ns"),
    ]
    table.show("peak", ("peak of this core", "measured"), rows, write=write)


if __name__ == "__main__":
    main()
