"""The exact solution against an adaptive solver of equal error: a curve of 100 times, N-N-N networks.

    python benchmarks/exact_solution.py [sizes ...] [--write]

Both sides return map, input gram and output gram at every time, compiled beforehand, in float64 on one core
(threads of a linear algebra library that compete for a busy machine would decide the race). For each solver
the loosest tolerance is taken whose error is at most 1e-9. Rounds are interleaved; the table gives medians of
CPU time and of the ratio within a round.
"""

import os
from collections.abc import Callable

if hasattr(os, "sched_setaffinity"):  # before the libraries below count the cores
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import table

from festina.networks.balanced import balanced_weights
from festina.precision import double
from festina.theory.balanced import balanced

TARGET = 1e-9
TOLERANCES = [10.0**power for power in np.arange(-7, -13.5, -0.5)]
SOLVERS = {"Dopri8": diffrax.Dopri8, "Tsit5": diffrax.Tsit5}
UNTIL = 10.0
"""In units of τ; the strengths lie in [1, 2], and the initial map has singular values 0.01: fully learned."""


def problem(size: int) -> tuple[jax.Array, jax.Array, jax.Array]:
    """λ = 0.1, singular values of S spread evenly over [1, 2]."""
    keys = jax.random.split(jax.random.key(size), 3)
    first, second = balanced_weights(keys[0], (size, size, size), 0.1, 0.01)
    left, right = jax.random.orthogonal(keys[1], size), jax.random.orthogonal(keys[2], size)
    correlation = left * jnp.linspace(1.0, 2.0, size)[None, :] @ right.T
    return jnp.asarray(first), jnp.asarray(second), correlation


def integrator(solver: diffrax.AbstractSolver) -> Callable[..., tuple[jax.Array, ...]]:
    def field(_: object, weights: tuple[jax.Array, jax.Array], correlation: jax.Array) -> tuple:
        first, second = weights
        error = correlation - second @ first
        return second.T @ error, error @ first.T

    def products(_: object, weights: tuple[jax.Array, jax.Array], __: object) -> tuple[jax.Array, ...]:
        first, second = weights
        return second @ first, first.T @ first, second @ second.T

    @jax.jit
    def integrate(first: jax.Array, second: jax.Array, correlation: jax.Array, times: jax.Array, tolerance: float):
        return diffrax.diffeqsolve(
            diffrax.ODETerm(field), solver, 0.0, UNTIL, 0.01, (first, second), correlation,
            saveat=diffrax.SaveAt(ts=times, fn=products), max_steps=100_000, throw=False,
            stepsize_controller=diffrax.PIDController(rtol=tolerance, atol=tolerance),
            adjoint=diffrax.ForwardMode(),
        ).ys  # fmt: skip

    return integrate


def compare(size: int) -> list[tuple[str, ...]]:
    """The rows of one size."""
    first, second, correlation = problem(size)
    times = jnp.linspace(0.0, UNTIL, 100)
    solution = balanced(first, second, correlation)
    exact = solution(times)
    reference = [exact[name] for name in ("map", "input_gram", "output_gram")]
    contestants: dict[str, Callable[[], object]] = {"exact": lambda: balanced(first, second, correlation)(times)}
    labels = {"exact": ("", "")}
    for name, kind in SOLVERS.items():
        integrate = integrator(kind())
        tolerance, error = np.nan, np.inf
        for tolerance in TOLERANCES:
            found = integrate(first, second, correlation, times, tolerance)
            error = max(float(np.max(np.abs(a - b))) for a, b in zip(found, reference, strict=True))
            if error <= TARGET:
                break
        labels[name] = (f"{tolerance:.0e}", f"{error:.0e}")
        contestants[name] = lambda run=integrate, at=tolerance: run(first, second, correlation, times, at)
    seconds = table.interleaved(contestants, {10: 41, 64: 15}.get(size, 5))
    return [
        (
            f"{size} {name}",
            table.spread([1e3 * value for value in values]),
            table.spread(table.ratios(values, seconds["exact"])),
            *labels[name],
        )
        for name, values in seconds.items()
    ]


def main() -> None:
    parser = table.parser(__doc__)
    parser.add_argument("sizes", type=int, nargs="*", default=[10, 64, 256])
    options = parser.parse_args()
    with double():
        rows = [row for size in options.sizes for row in compare(size)]
    columns = ("width, method", "CPU ms", "÷ exact", "tolerance", "error")
    note = f"A curve of 100 times; solvers at the loosest tolerance whose error is at most {TARGET:.0e}."
    table.show("exact_solution", columns, rows, write=options.write, note=note)


if __name__ == "__main__":
    main()
