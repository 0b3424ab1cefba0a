"""What the host loop costs: 40,000 steps in about a hundred chunks against one bare `lax.scan` of the same steps.

    python benchmarks/loop.py [--write]

CPU seconds of one pinned core, variants interleaved in one process; compilation is not counted. The loop records every
400 steps, the bare scan nothing.
"""

import os

if hasattr(os, "sched_setaffinity"):  # before JAX counts the cores
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import jax
import jax.numpy as jnp
import numpy as np
import table

import festina as fs
from festina.learning import Process, descent_process, drive
from festina.worlds import Teacher

STEPS = 40_000
RECORDS = 100
ROUNDS = 7


def build(inputs: dict) -> Process:
    """A two-layer linear network that learns from the population gradient."""
    moments = Teacher(inputs["teacher"]).moments

    def rate(network: fs.networks.DeepLinear, key: jax.Array, stage: jax.Array) -> fs.networks.DeepLinear:
        return jax.tree.map(jnp.negative, jax.grad(moments.loss)(network))

    start = fs.networks.DeepLinear((inputs["first"], inputs["second"]))
    observe = lambda state: {"loss": moments.loss(state.parameters)}  # noqa: E731
    return descent_process(rate, start, jax.random.key(0), 1e-3, RECORDS, STEPS // RECORDS, observe)


@jax.jit
def bare(inputs: dict) -> jax.Array:
    """The same steps in one scan, with nothing around them."""

    def one(inputs: dict) -> jax.Array:
        process = build(inputs)
        assert process.step is not None
        step = process.step
        last, _ = jax.lax.scan(lambda s, _: (step(s), None), process.initial, None, length=STEPS, unroll=4)
        return last.parameters.map

    return jax.vmap(one)(inputs)


def main() -> None:
    options = table.parser(__doc__).parse_args()
    rng, rows = np.random.default_rng(0), []
    with fs.double():
        for runs, size in ((1, 10), (16, 10), (64, 10)):
            shapes = {"teacher": (size, size), "first": (size, size), "second": (size, size)}
            inputs = {name: jnp.asarray(rng.normal(size=(runs, *shape)) / 3) for name, shape in shapes.items()}
            works = {
                "loop": lambda inputs=inputs: drive(build, inputs).observed,
                "scan": lambda inputs=inputs: bare(inputs),
            }
            table.interleaved(works, 1)  # compiles
            seconds = table.interleaved(works, ROUNDS)
            spreads = [table.spread(times) for times in seconds.values()]
            rows.append((f"{runs} of {size}-{size}-{size}", *spreads, table.spread(table.ratios(*seconds.values()))))
    columns = ("runs", "CPU s, loop", "CPU s, bare scan", "loop ÷ scan")
    note = f"{STEPS:,} steps in {RECORDS} chunks with a recording each, against one scan without any."
    table.show("loop", columns, rows, write=options.write, note=note)


if __name__ == "__main__":
    main()
