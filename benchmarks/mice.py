"""How fast mice are simulated: 1,000 of them, 6,400 trials each, in one compiled call, against a loop in NumPy.

    python benchmarks/mice.py [--write]

CPU seconds of one pinned core, variants interleaved in one process, compilation apart. The loop is the plain one, trial
by trial for one mouse, with its random numbers drawn beforehand.
"""

import os

if hasattr(os, "sched_setaffinity"):  # before JAX counts the cores
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

from statistics import median
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import table

import festina as fs
from festina.networks.tutor import SEEN, Rule, TutorExecutor, trial

MICE, SESSIONS, TRIALS = 1000, 32, 200
RATE, BLANK, BETA = 0.0026, 0.1, 9.0
ROUNDS = 5


@jax.jit
def cohort(keys: jax.Array) -> Any:
    """P(right) of every mouse, averaged over each session: mice × sessions × stimuli."""
    rule, blank, beta = Rule.partial_errors(RATE), jnp.asarray(BLANK), jnp.asarray(BETA)

    def mouse(key: jax.Array) -> Any:
        birth, life = jax.random.split(key)

        def one(carry: Any, uniforms: Any) -> Any:
            network, seen = trial(carry[0], rule, blank, beta, uniforms)
            return (network, carry[1] + seen.right), None

        def session(network: Any, first: Any) -> Any:
            luck = jax.vmap(lambda number: jax.random.uniform(jax.random.fold_in(life, number), (2,)))
            network, total = jax.lax.scan(one, (network, jnp.zeros(3)), luck(first + jnp.arange(TRIALS)))[0]
            return network, total / TRIALS

        newborn = TutorExecutor.newborn(birth, jnp.asarray(0.0), jnp.asarray(1e-5))
        return jax.lax.scan(session, newborn, TRIALS * jnp.arange(SESSIONS))[1]

    return jax.vmap(mouse)(keys)


def loop(uniforms: np.ndarray) -> np.ndarray:
    """One mouse, trial by trial."""
    tutor, executor = np.array([0.05, 0.05, 1.0]), np.array([[0.2, 0.2, 0.0]] * 2)
    right = np.zeros((SESSIONS, 3))
    for number, (world, chance) in enumerate(uniforms):
        values = SEEN @ (executor * tutor).T
        probabilities = 1.0 / (1.0 + np.exp(-BETA * (values[:, 1] - values[:, 0])))
        right[number // TRIALS] += probabilities / TRIALS
        stimulus = 0 if world < 0.5 - BLANK / 2 else 2 if world >= 0.5 + BLANK / 2 else 1
        choice = int(chance < probabilities[stimulus])
        reward, seen = float(choice == (world >= 0.5)), SEEN[stimulus]
        parts = executor[choice] * tutor * seen
        errors = reward - np.array([parts[0] + parts[1]] * 2 + [parts[2]])
        on_tutor = RATE * (reward - parts.sum()) * executor[choice] * seen
        executor[choice] = np.abs(executor[choice] + RATE * errors * tutor * seen)
        tutor = np.abs(tutor + on_tutor)
    return right


def main() -> None:
    options = table.parser(__doc__).parse_args()
    trials = SESSIONS * TRIALS
    uniforms = np.random.default_rng(0).uniform(size=(trials, 2))
    with fs.double():
        keys = jax.random.split(jax.random.key(0), MICE)
        first = table.cpu_seconds(lambda: cohort(keys))
        works = {"compiled": lambda: cohort(keys), "loop": lambda: loop(uniforms)}
        seconds = table.interleaved(works, ROUNDS)
    ratios = [MICE * plain / batch for batch, plain in zip(seconds["compiled"], seconds["loop"], strict=True)]
    rows = [
        (
            f"{MICE:,} mice in one compiled call",
            table.spread(seconds["compiled"]),
            table.short(MICE * trials / median(seconds["compiled"])),
            table.spread(ratios),
        ),
        ("one mouse, loop in NumPy", table.spread(seconds["loop"]), table.short(trials / median(seconds["loop"])), "1"),
    ]
    note = f"{trials:,} trials a mouse. The first compiled call took {first:.1f} CPU s."
    table.show("mice", ("way", "CPU s", "trials per CPU s", "× faster"), rows, write=options.write, note=note)


if __name__ == "__main__":
    main()
