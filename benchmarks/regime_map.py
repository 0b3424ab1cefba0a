"""How fast the map of regimes is: 50 cells × 10 seeds × 7000 steps, against a straightforward program for one cell.

Run with `python benchmarks/regime_map.py` (a few of the straightforward cells, scaled up) or with `--whole` (all 50 of
them). CPU seconds of this one process, pinned to one core. Every round has some of the straightforward cells and then
the whole map in each way, first with nothing compiled, then once more with everything compiled; ratios are taken within
a round. `--large` adds a map of 100 × 100 cells. `--write` puts the table into docs/explanation/speed.md.

The straightforward program is what one writes first: a loss on a batch, its gradient by autodiff, a scan over steps, a
`vmap` over seeds, a new function for every cell.
"""

import os
from statistics import fmean
from time import process_time, time
from typing import Any

if hasattr(os, "sched_setaffinity"):  # before JAX counts the cores
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import jax
import jax.numpy as jnp
import numpy as np
import table

from festina.experiments.abstraction.regimes import Regimes
from festina.lab.batch import Run, simulate
from festina.lab.labelled import dataset

SEEDS, STEPS, STEP, BATCH = 10, 7000, 0.001, 200
INPUTS, OUTPUTS = 20, 10
ROUNDS = 3
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
            value, slopes = jax.value_and_grad(loss)(parameters, inputs, teachers[number // block % 2])
            students, gates = parameters[0] - STEP / 0.1 * slopes[0], parameters[1] - STEP / gate_timescale * slopes[1]
            return (students, gates), (value, gates)

        (students, _), history = jax.lax.scan(step, (students, jnp.full(2, 0.5)), jnp.arange(STEPS))
        overlaps = jnp.einsum("moi,poi->mp", teachers, students)
        matched = jnp.maximum(overlaps[0, 0] + overlaps[1, 1], overlaps[0, 1] + overlaps[1, 0])
        return matched / jnp.sqrt(jnp.sum(students**2) * jnp.sum(teachers**2)), history

    return np.asarray(jax.jit(jax.vmap(run))(jax.random.split(jax.random.key(0), SEEDS))[0])


def festina_map(**fields: Any) -> tuple[np.ndarray, np.ndarray]:
    """Both panels at once, as `festina run abstraction/regimes` computes them."""
    experiment = Regimes()
    config = experiment.configure("full", **fields)
    runs = [Run(config, seed) for seed in range(SEEDS)]
    data = dataset(experiment, runs, simulate(experiment, runs, label="map"))
    final = data["total_alignment"].isel(time=-1).transpose("run", "arm").values
    return final.mean(axis=0), final


def closed_map() -> tuple[np.ndarray, np.ndarray]:
    """Both panels and all seeds as one call of the closure in NumPy: nothing to compile."""
    experiment = Regimes()
    arms = [arm.model for arm in experiment.arms_at(experiment.configure("full"))]
    drawn = [arms[0].start(jax.random.key(seed)) for seed in range(SEEDS)]
    starts = [start for start in drawn for _ in arms]  # which do not depend on the cell
    times = np.full((len(starts), 1), STEPS * STEP)
    seen = [found for found in type(arms[0]).solutions(arms * SEEDS, starts, times) if found is not None]
    final = np.asarray([found["total_alignment"][-1] for found in seen]).reshape(SEEDS, len(CELLS))
    return final.mean(axis=0), final


def anew(work: Any) -> tuple[float, Any]:
    """CPU seconds with nothing compiled, and what came out."""
    jax.clear_caches()
    began = process_time()
    result = work()
    return process_time() - began, result


def main() -> None:
    parser = table.parser(__doc__)
    parser.add_argument("--whole", action="store_true", help="all 50 straightforward cells, not only 6")
    parser.add_argument("--large", action="store_true", help="a map of 100 × 100 cells, too")
    options = parser.parse_args()
    chosen = np.arange(len(CELLS)) if options.whole else np.array([0, 12, 24, 30, 37, 44])
    jnp.ones(3).sum().block_until_ready()  # the backend's own start is nobody's
    plain, cold, warm, gaps = [], {}, {}, {}
    for cells in np.array_split(chosen, ROUNDS):
        done = [anew(lambda cell=cell: straightforward(*CELLS[cell])) for cell in cells]
        plain.append(fmean(seconds for seconds, _ in done) * len(CELLS))
        for name, (way, _) in WAYS.items():
            seconds, (means, _) = anew(way)
            cold.setdefault(name, []).append(seconds)
            warm.setdefault(name, []).append(table.cpu_seconds(way))
            gaps.setdefault(name, []).extend(means[cells] - [values.mean() for _, values in done])
    steps = len(CELLS) * SEEDS * STEPS
    rows = [
        ("straightforward, batches of 200", table.spread(plain), "1", "", "", table.short(steps / fmean(plain)), "")
    ]
    rows += [
        (
            name,
            table.spread(cold[name]),
            table.spread(table.ratios(plain, cold[name])),
            table.spread(warm[name]),
            table.spread(table.ratios(plain, warm[name])),
            table.short(steps / fmean(warm[name])),
            table.verdict(goal, table.ratios(plain, cold[name])) if goal else "",
        )
        for name, (_, goal) in WAYS.items()
    ]
    columns = (
        "way",
        "CPU s, compiling",
        "× faster",
        "CPU s, compiled",
        "× faster",
        "run-steps per CPU s",
        "goal, compiling",
    )
    how = "All cells" if options.whole else f"{len(chosen)} cells, scaled to {len(CELLS)},"
    apart = max(np.mean(np.abs(values)) for values in gaps.values())
    note = (
        f"Median of {ROUNDS} rounds (least–largest). {how} of the straightforward program were run, each compiling "
        f"its own program in float32. Alignments differ from its own by {apart:.3f} on average (other seeds)."
    )
    table.show("regime_map", columns, rows, write=options.write, note=note)
    if options.large:
        large()


def drawn_map(data: str, precision: str) -> Any:
    return lambda: festina_map(data=data, precision=precision)


WAYS = {
    "Wishart stream, float32": (drawn_map("wishart", "single"), 150),
    "Wishart stream, float64": (drawn_map("wishart", "double"), 150),
    "population gradient, float64": (drawn_map("population", "double"), None),
    "exact closure, compiled, float64": (drawn_map("closure", "double"), 700),
    "exact closure, in NumPy": (closed_map, 700),
}
"""What is measured, and how many times faster it should be, compilation included."""


def large() -> None:
    """One map of 100 × 100 cells and 10 seeds with the closure, and a column of the other."""
    fields = {
        "gate_timescale": tuple(np.geomspace(0.005, 0.2, 100).tolist()),
        "block_length": tuple(np.linspace(0.05, 2.0, 100).tolist()),
        "strength": (0.1,),
        "records": 10,
        "data": "closure",
    }
    began = time()
    seconds, _ = anew(lambda: festina_map(**fields))
    print(f"closure, 100 × 100 cells × {SEEDS} seeds: {time() - began:.1f} s, {seconds:.1f} CPU s with compilation")


if __name__ == "__main__":
    main()
