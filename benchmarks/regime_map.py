"""How fast the map of regimes is: 50 cells × 10 seeds × 7000 steps, against two programs of one's own.

Run with `python benchmarks/regime_map.py` (a few of the straightforward cells, scaled up) or with `--whole` (all 50 of
them). CPU seconds of this one process, pinned to one core. Every round has some of the straightforward cells and then
the whole map in each way, first with nothing compiled, then once more with everything compiled; ratios are taken within
a round. `--large` adds a map of 100 × 100 cells. `--write` puts the table into docs/explanation/speed.md.

The straightforward program is what one writes first: a loss on a batch, its gradient by autodiff, a scan over steps, a
`vmap` over seeds, a new function for every cell. The other is what one writes who knows JAX well: one compiled program
for the whole map, hyper-parameters as its arguments, all cells of a seed on one batch, of which they need the second
moment alone, gradients by hand. Kernels in C, where there is a compiler, are built before anything is measured.
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

from festina import fast
from festina.experiments.abstraction.regimes import Regimes
from festina.lab.batch import Run, simulate
from festina.lab.labelled import dataset

SEEDS, STEPS, RECORDS, STEP, BATCH = 10, 7000, 70, 0.001, 200
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


@jax.jit
def _by_hand(seeds: Any, timescales: Any, strengths: Any, blocks: Any) -> Any:
    """The whole map in one program: (seed, record, cell) of total alignment, loss and separation of gates."""

    def of_seed(key: Any) -> Any:
        for_teachers, for_weights, for_data = jax.random.split(key, 3)
        rows = jnp.linalg.qr(jax.random.normal(for_teachers, (INPUTS, INPUTS)))[0]
        teachers = rows.reshape(2, OUTPUTS, INPUTS)
        students = 0.01 / INPUTS**0.5 * jax.random.normal(for_weights, (2, OUTPUTS, INPUTS))

        def of_cell(parameters: Any, moment: Any, number: Any, timescale: Any, strength: Any, block: Any) -> Any:
            students, gates = parameters
            error = teachers[number // block % 2] - gates[0] * students[0] - gates[1] * students[1]
            uphill = error @ moment / OUTPUTS
            pulls = jnp.stack([jnp.sum(uphill * students[0]), jnp.sum(uphill * students[1])])
            bounds = 25 / 3 * strength * (jnp.sum(jnp.abs(gates)) - 1) * jnp.sign(gates)
            bounds = bounds - 5 / 3 * strength * (gates < 0)
            return (
                students + STEP / 0.1 * gates[:, None, None] * uphill[None],
                gates + STEP / timescale * (pulls - bounds),
            )

        def step(parameters: Any, number: Any) -> Any:
            inputs = jax.random.normal(jax.random.fold_in(for_data, number), (BATCH, INPUTS))
            moment = inputs.T @ inputs / BATCH
            every = jax.vmap(of_cell, (0, None, None, 0, 0, 0))
            return every(parameters, moment, number, timescales, strengths, blocks), None

        def look(parameters: Any, number: Any, block: Any) -> Any:
            students, gates = parameters
            overlaps = jnp.einsum("moi,poi->mp", teachers, students)
            matched = jnp.maximum(overlaps[0, 0] + overlaps[1, 1], overlaps[0, 1] + overlaps[1, 0])
            error = teachers[number // block % 2] - jnp.einsum("p,poi->oi", gates, students)
            loss = 0.5 / OUTPUTS * jnp.sum(error**2)
            return matched / jnp.sqrt(jnp.sum(students**2) * jnp.sum(teachers**2)), loss, jnp.abs(gates[0] - gates[1])

        def record(parameters: Any, first: Any) -> Any:
            parameters, _ = jax.lax.scan(step, parameters, first + jnp.arange(STEPS // RECORDS))
            seen = jax.vmap(look, (0, None, 0))(parameters, first + STEPS // RECORDS, blocks)
            return parameters, seen

        every = jnp.broadcast_to(students, (len(CELLS), *students.shape)), jnp.full((len(CELLS), 2), 0.5)
        return jax.lax.scan(record, every, jnp.arange(0, STEPS, STEPS // RECORDS))[1]

    return jax.lax.map(of_seed, seeds)  # one after the other: the cells of one seed fill the cache


def one_program() -> tuple[np.ndarray, np.ndarray]:
    """The map as an expert would write it for the occasion."""
    timescales, strengths, lengths = (jnp.asarray(values) for values in zip(*CELLS, strict=True))
    blocks = jnp.round(lengths / STEP).astype(int)
    final = np.asarray(_by_hand(jax.random.split(jax.random.key(0), SEEDS), timescales, strengths, blocks)[0][:, -1])
    return final.mean(axis=0), final


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
    ways = {name: way for name, way in WAYS.items() if not name.endswith(IN_C) or kernels_are_there()}
    plain, cold, warm, gaps = [], {}, {}, {}
    for cells in np.array_split(chosen, ROUNDS):
        done = [anew(lambda cell=cell: straightforward(*CELLS[cell])) for cell in cells]
        plain.append(fmean(seconds for seconds, _ in done) * len(CELLS))
        for name, (way, _) in ways.items():
            seconds, (means, _) = anew(way)
            cold.setdefault(name, []).append(seconds)
            warm.setdefault(name, []).append(table.cpu_seconds(way))
            gaps.setdefault(name, []).extend(means[cells] - [values.mean() for _, values in done])
    steps = len(CELLS) * SEEDS * STEPS
    rate = table.short(steps / fmean(plain))
    rows = [("straightforward, batches of 200", table.spread(plain), "1", "", "", "", rate, "")]
    rows += [
        (
            name,
            table.spread(cold[name]),
            table.spread(table.ratios(plain, cold[name])),
            table.spread(table.ratios(cold[EXPERT], cold[name])),
            table.spread(warm[name]),
            table.spread(table.ratios(warm[EXPERT], warm[name])),
            table.short(steps / fmean(warm[name])),
            _verdicts(goals, plain, cold[EXPERT], cold[name]),
        )
        for name, (_, goals) in ways.items()
    ]
    columns = (
        "way",
        "CPU s, compiling",
        "× straightforward",
        "× one program",
        "CPU s, compiled",
        "× one program",
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


def _verdicts(goals: tuple[int, ...], plain: Any, expert: Any, own: Any) -> str:
    """On goals against the straightforward program and, if there is a second, against the one of an expert."""
    against = zip(goals, (plain, expert), ("", " against one program"), strict=False)
    return "; ".join(table.verdict(goal, table.ratios(slower, own)) + words for goal, slower, words in against)


def drawn_map(data: str, precision: str, kernels: str = "0") -> Any:
    def work() -> Any:
        os.environ["FESTINA_FAST"] = kernels
        return festina_map(data=data, precision=precision)

    return work


def kernels_are_there() -> bool:
    """Builds them, if there is a compiler."""
    os.environ["FESTINA_FAST"] = "1"
    return fast.library() is not None


EXPERT, IN_C = "one program by hand, float32", "kernels in C"
WAYS = {
    EXPERT: (one_program, ()),
    "Wishart stream, float32": (drawn_map("wishart", "single"), (150,)),
    "Wishart stream, float64": (drawn_map("wishart", "double"), (150,)),
    "population gradient, float64": (drawn_map("population", "double"), ()),
    "exact closure, compiled, float64": (drawn_map("closure", "double"), (700,)),
    "exact closure, in NumPy": (closed_map, (700,)),
    f"Wishart stream, float32, {IN_C}": (drawn_map("wishart", "single", "1"), (500, 8)),
    f"Wishart stream, float64, {IN_C}": (drawn_map("wishart", "double", "1"), ()),
    f"population gradient, float64, {IN_C}": (drawn_map("population", "double", "1"), ()),
    f"exact closure, float64, {IN_C}": (drawn_map("closure", "double", "1"), (3000, 8)),
}
"""What is measured, and how many times faster it should be, compilation included: than the straightforward program, and
than the one of an expert."""


def large() -> None:
    """One map of 100 × 100 cells and 10 seeds with the closure, and a column of the other."""
    fields = {
        "gate_timescale": tuple(np.geomspace(0.005, 0.2, 100).tolist()),
        "block_length": tuple(np.linspace(0.05, 2.0, 100).tolist()),
        "strength": (0.1,),
        "records": 10,
        "data": "closure",
    }
    for name, kernels in (("JAX", "0"), (IN_C, "1")) if kernels_are_there() else (("JAX", "0"),):
        os.environ["FESTINA_FAST"] = kernels
        began = time()
        seconds, _ = anew(lambda: festina_map(**fields))
        taken = f"{time() - began:.1f} s, {seconds:.1f} CPU s with compilation"
        print(f"closure, 100 × 100 cells × {SEEDS} seeds, by {name}: {taken}")


if __name__ == "__main__":
    main()
