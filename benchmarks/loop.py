"""What the host loop costs: 40,000 steps in about a hundred chunks against one bare `lax.scan` of the same steps.

Run with `python benchmarks/loop.py`. CPU seconds, variants interleaved in one process, median ratio; compilation is
not counted. The loop records every 400 steps, the bare scan nothing.
"""

from collections.abc import Callable
from statistics import median
from time import process_time

import jax
import jax.numpy as jnp
import numpy as np

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


def cpu_seconds(work: Callable[[], object]) -> float:
    began = process_time()
    work()
    return process_time() - began


def main() -> None:
    rng = np.random.default_rng(0)
    with fs.double():
        for runs, size in ((1, 10), (16, 10), (64, 10)):
            shapes = {"teacher": (size, size), "first": (size, size), "second": (size, size)}
            inputs = {name: jnp.asarray(rng.normal(size=(runs, *shape)) / 3) for name, shape in shapes.items()}
            looped = lambda inputs=inputs: drive(build, inputs)  # noqa: E731
            scanned = lambda inputs=inputs: bare(inputs).block_until_ready()  # noqa: E731
            looped()
            scanned()
            times = [(cpu_seconds(looped), cpu_seconds(scanned)) for _ in range(ROUNDS)]
            ratios = sorted(loop / scan for loop, scan in times)
            print(
                f"{runs:3d} runs of {size}×{size}×{size}: loop {median(t[0] for t in times):.2f} s, "
                f"bare scan {median(t[1] for t in times):.2f} s, ratio {median(ratios):.3f} "
                f"({ratios[0]:.2f} to {ratios[-1]:.2f})"
            )


if __name__ == "__main__":
    main()
