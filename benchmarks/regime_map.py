"""How fast the map of regimes is: 50 cells × 10 seeds × 7000 steps, against a straightforward program for one cell.

Run with `python benchmarks/regime_map.py` (a few of the straightforward cells, scaled up) or with `--whole` (all 50 of
them). CPU seconds of this one process, pinned to one core, everything interleaved in one run; compilation is
included, and no compiled program is kept from one measurement to the next. `--large` adds a map of 100 × 100 cells.

The straightforward program is what one writes first: a loss on a batch, its gradient by autodiff, a scan over steps, a
`vmap` over seeds, a new function for every cell.
"""

import os
import sys
from time import process_time, time
from typing import Any

if hasattr(os, "sched_setaffinity"):  # before JAX counts the cores
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import jax
import jax.numpy as jnp
import numpy as np

from festina.experiments.abstraction.regimes import Regimes
from festina.lab.batch import Run, dataset, simulate

SEEDS, STEPS, STEP, BATCH = 10, 7000, 0.001, 200
INPUTS, OUTPUTS = 20, 10
LENGTHS, SPEEDS, STRENGTHS = (1.0, 0.8, 0.6, 0.4, 0.1), (0.02, 0.04, 0.06, 0.08, 0.1), (0.0, 0.05, 0.1, 0.15, 0.2)
CELLS = [(speed, 0.3, length) for speed in SPEEDS for length in LENGTHS]
CELLS += [(0.005, strength, length) for strength in STRENGTHS for length in LENGTHS]


def straightforward(gate_timescale: float, strength: float, block_length: float) -> np.ndarray:
    """One cell of the map, the plain way: total alignment of every seed."""
    block = round(block_length / STEP)

    def loss(parameters: Any, inputs: Any, teacher: Any) -> Any:
        students, gates = parameters
        error = inputs @ teacher.T - jnp.einsum("p,poi,bi->bo", gates, students, inputs)
        bounds = (
            5 / 3 * strength * jnp.sum(jnp.maximum(-gates, 0)) + 25 / 6 * strength * (jnp.sum(jnp.abs(gates)) - 1) ** 2
        )
        return 0.5 * jnp.mean(error**2) + bounds

    def run(key: Any) -> Any:
        for_teachers, for_weights, for_data = jax.random.split(key, 3)
        rows = jnp.linalg.qr(jax.random.normal(for_teachers, (INPUTS, INPUTS)))[0]
        teachers = rows.reshape(2, OUTPUTS, INPUTS)
        students = 0.01 / INPUTS**0.5 * jax.random.normal(for_weights, (2, OUTPUTS, INPUTS))

        def step(parameters: Any, number: Any) -> Any:
            inputs = jax.random.normal(jax.random.fold_in(for_data, number), (BATCH, INPUTS))
            slopes = jax.grad(loss)(parameters, inputs, teachers[number // block % 2])
            return (parameters[0] - STEP / 0.1 * slopes[0], parameters[1] - STEP / gate_timescale * slopes[1]), None

        students, _ = jax.lax.scan(step, (students, jnp.full(2, 0.5)), jnp.arange(STEPS))[0]
        overlaps = jnp.einsum("moi,poi->mp", teachers, students)
        matched = jnp.maximum(overlaps[0, 0] + overlaps[1, 1], overlaps[0, 1] + overlaps[1, 0])
        return matched / jnp.sqrt(jnp.sum(students**2) * jnp.sum(teachers**2))

    return np.asarray(jax.jit(jax.vmap(run))(jax.random.split(jax.random.key(0), SEEDS)))


def festina_map(**fields: Any) -> tuple[np.ndarray, np.ndarray]:
    """Both panels at once, as `festina run abstraction/regimes` computes them."""
    experiment = Regimes()
    config = experiment.configure("full", **fields)
    runs = [Run(config, seed) for seed in range(SEEDS)]
    data = dataset(experiment, runs, simulate(experiment, runs, label="map"))
    final = data["total_alignment"].isel(time=-1).transpose("run", "cell").values
    return final.mean(axis=0), final


def cpu_seconds(work: Any) -> tuple[float, Any]:
    jax.clear_caches()
    began = process_time()
    result = work()
    return process_time() - began, result


def main() -> None:
    whole = "--whole" in sys.argv
    chosen = range(len(CELLS)) if whole else (0, 12, 24, 30, 44)
    warm = cpu_seconds(lambda: jnp.ones(3).sum().block_until_ready())[0]  # the backend's own start
    del warm
    plain = [cpu_seconds(lambda cell=cell: straightforward(*CELLS[cell])) for cell in chosen]
    total = sum(seconds for seconds, _ in plain) * len(CELLS) / len(plain)
    how = "all cells" if whole else f"{len(plain)} cells, scaled to {len(CELLS)}"
    steps = len(CELLS) * SEEDS * STEPS
    print(f"straightforward, sampled batches ({how}): {total:.1f} CPU s, {steps / total:.3g} run-steps/CPU s")
    reference = np.array([values.mean() for _, values in plain])
    for data, precision in (
        ("wishart", "single"),
        ("wishart", "double"),
        ("population", "double"),
        ("closure", "double"),
    ):
        seconds, (means, _) = cpu_seconds(lambda d=data, p=precision: festina_map(data=d, precision=p))
        gap = np.abs(means[list(chosen)] - reference).mean()
        print(
            f"{data:10} {precision}: {seconds:6.2f} CPU s with compilation, {total / seconds:6.0f} × faster; "
            f"mean |difference of alignment| {gap:.3f} (other seeds)"
        )
    if "--large" in sys.argv:
        large(total)


def large(plain: float) -> None:
    """One map of 100 × 100 cells and 10 seeds with the closure."""
    fields = {
        "gate_timescales": tuple(np.geomspace(0.005, 0.2, 100).tolist()),
        "block_lengths": tuple(np.linspace(0.05, 2.0, 100).tolist()),
        "strengths": (),
        "records": 10,
        "data": "closure",
    }
    began = time()
    seconds, _ = cpu_seconds(lambda: festina_map(**fields))
    print(f"closure, 100 × 100 cells × {SEEDS} seeds: {time() - began:.1f} s, {seconds:.1f} CPU s with compilation")


if __name__ == "__main__":
    main()
