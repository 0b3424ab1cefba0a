"""Posterior sampling: effective samples per CPU-second, against blackjax and numpyro on the same posterior.

    python benchmarks/posterior.py [neurons examples] [--write]

A sigmoidal network of N = 1000 neurons on P = 100 orthogonal examples of three classes at T = .01, planted from theory
where the chains would not get by themselves, so that all samplers start in equilibrium. One chain on one core; every
sampler adapts its step to its own target on a short run that does not count. Then rounds of draws are interleaved.
Libraries come as they are, in float64 and with their own adaptation of masses, and once as an expert would set one up:
blackjax in float32, with unit masses, since parameters are whitened, and steps adapted by dual averaging. Counted are
the effective samples of kernel entries and of single readouts, the median over several of each.
"""

import os
import time
from collections.abc import Callable
from typing import Any

if hasattr(os, "sched_setaffinity"):  # before the libraries below count the cores
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import jax
import jax.numpy as jnp
import numpy as np
import table

import festina as fs
from festina.learning.samplers import HMC

TEMPERATURE, ROUNDS, WARM_UP = 0.01, 3, 60
GOAL = 2
EXPERT = "blackjax HMC, float32, unit masses"
DRAWS = {"festina HMC": 60, EXPERT: 60, "blackjax HMC": 40, "numpyro HMC": 40, "blackjax NUTS": 15, "numpyro NUTS": 15}
Drawer = Callable[[Any, int], tuple[Any, np.ndarray]]


def problem(neurons: int, examples: int) -> tuple[Any, Any, Callable[[Any], Any]]:
    """A network planted from theory, its energy, and what is watched of it."""
    counts = (examples // 2, examples // 4, examples - examples // 2 - examples // 4)
    world, variance = fs.worlds.orthogonal_classes(counts), 1.0 / examples
    theory = fs.theory.coding.redundant(counts, world.class_targets, TEMPERATURE, variance)
    weights, readout = fs.theory.coding.planted(jax.random.key(0), theory, np.asarray(world.inputs), neurons, variance)
    network = fs.networks.Bayesian(
        tuple(jnp.asarray(part) for part in weights), jnp.asarray(readout), variance, fs.networks.SIGMOIDAL
    )
    inputs, targets = jnp.asarray(world.inputs), jnp.asarray(world.targets)

    def energy(whitened: Any) -> Any:
        kind = whitened[1].dtype
        return network.having(whitened).energy(inputs.astype(kind), targets.astype(kind), TEMPERATURE)

    rows = np.linspace(0, examples - 1, 8).astype(int)

    def watched(whitened: Any) -> Any:
        own = network.having(whitened)
        (kernel,) = own.kernels(inputs[rows])
        return jnp.concatenate([kernel[np.triu_indices(8)], own.readouts[:12].ravel()])

    return network, energy, watched


def density(energy: Callable[[Any], Any]) -> Callable[[Any], Any]:
    squares = lambda whitened: sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(whitened))  # noqa: E731
    return lambda whitened: -energy(whitened) - 0.5 * squares(whitened)


def drawer(once: Callable[[Any, Any], Any], seed: int) -> Drawer:
    """Draws by ``once(key, chain)``, which gives the next chain, what is watched of it, and its acceptance."""

    def draw(state: Any, count: int) -> tuple[Any, np.ndarray]:
        number, chain = state
        seen = []
        for _ in range(count):
            chain, (values, _) = once(jax.random.fold_in(jax.random.key(seed), number), chain)
            seen.append(values)
            number += 1
        return (number, chain), np.asarray(seen, float)

    return draw


def festina_drawer(energy: Any, watched: Any, start: Any) -> tuple[Drawer, Any]:
    """festina's kick–rotate–kick with float32 forces, its step adapted by dual averaging."""
    from festina.learning.posterior import Adaptation

    sampler = HMC()

    @jax.jit
    def once(key: Any, whitened: Any, step: Any) -> tuple[Any, Any]:
        moved = sampler.transition(key, whitened, step, energy)
        return moved.parameters, (watched(moved.parameters), moved.acceptance)

    adaptation, position = Adaptation.start(sampler.first_step), start
    for number in range(WARM_UP):
        key = jax.random.key(number)
        position, (_, acceptance) = once(key, position, jnp.exp(adaptation.log_step))
        adaptation = adaptation.after(acceptance, sampler.target)
    step = jnp.exp(adaptation.log_averaged)

    return drawer(lambda key, chain: once(key, chain, step), seed=99), (0, position)


def blackjax_drawer(energy: Any, watched: Any, start: Any, *, nuts: bool) -> tuple[Drawer, Any]:
    """blackjax with its own window adaptation; HMC goes as far as festina's, an angle of 1.5."""
    import blackjax

    library: Any = blackjax
    algorithm = library.nuts if nuts else library.hmc
    extra = {} if nuts else {"num_integration_steps": 20}
    warm = library.window_adaptation(algorithm, density(energy), is_mass_matrix_diagonal=True, **extra)
    (state, parameters), _ = warm.run(jax.random.key(1), start, num_steps=WARM_UP)
    if not nuts:
        parameters = parameters | {"num_integration_steps": int(np.ceil(1.5 / float(parameters["step_size"])))}
    kernel = algorithm(density(energy), **parameters)

    @jax.jit
    def once(key: Any, state: Any) -> tuple[Any, Any]:
        state, told = kernel.step(key, state)
        return state, (watched(state.position), told.acceptance_rate)

    return drawer(once, seed=98), (0, kernel.init(state.position))


def expert_drawer(energy: Any, watched: Any, start: Any) -> tuple[Drawer, Any]:
    """blackjax's HMC in float32 with unit masses; target of the step and length of the way are those of festina."""
    import blackjax

    from festina.learning.adaptation import Adaptation

    library: Any = blackjax
    start = jax.tree.map(lambda leaf: leaf.astype(np.float32), start)
    masses = jnp.ones(sum(leaf.size for leaf in jax.tree.leaves(start)), np.float32)
    kernel = library.hmc.build_kernel()

    @jax.jit
    def once(key: Any, state: Any, step: Any) -> tuple[Any, Any]:
        count = jnp.ceil(1.5 / step).astype(int)
        state, told = kernel(key, state, density(energy), step.astype(np.float32), masses, count)
        return state, (watched(state.position), told.acceptance_rate.astype(float))

    adaptation, chain = Adaptation.start(0.1), library.hmc.init(start, density(energy))
    for number in range(WARM_UP):
        chain, (_, acceptance) = once(jax.random.key(number), chain, jnp.exp(adaptation.log_step))
        adaptation = adaptation.after(acceptance, HMC().target)
    step = jnp.exp(adaptation.log_averaged)

    return drawer(lambda key, chain: once(key, chain, step), seed=97), (0, chain)


def numpyro_drawer(energy: Any, watched: Any, start: Any, *, nuts: bool) -> tuple[Drawer, Any]:
    """numpyro with its own adaptation of step and masses; HMC with the same length of trajectory."""
    from numpyro.infer.hmc import hmc

    potential = lambda whitened: -density(energy)(whitened)  # noqa: E731
    init, sample = hmc(potential, algo="NUTS" if nuts else "HMC")
    state = init(start, num_warmup=WARM_UP, trajectory_length=1.5, rng_key=jax.random.key(2), target_accept_prob=0.8)
    once = jax.jit(sample)
    for _ in range(WARM_UP):
        state = once(state)
    look = jax.jit(watched)

    def draw(state: Any, count: int) -> tuple[Any, np.ndarray]:
        seen = []
        for _ in range(count):
            state = once(state)
            seen.append(look(state.z))
        return state, np.asarray(seen)

    return draw, state


def main() -> None:
    parser = table.parser(__doc__)
    parser.add_argument("neurons", type=int, nargs="?", default=1000)
    parser.add_argument("examples", type=int, nargs="?", default=100)
    options = parser.parse_args()
    neurons, examples = options.neurons, options.examples
    with fs.double():
        network, energy, watched = problem(neurons, examples)
        start = network.whitened
        makers = {
            "festina HMC": lambda: festina_drawer(energy, watched, start),
            EXPERT: lambda: expert_drawer(energy, watched, start),
            "blackjax HMC": lambda: blackjax_drawer(energy, watched, start, nuts=False),
            "numpyro HMC": lambda: numpyro_drawer(energy, watched, start, nuts=False),
            "blackjax NUTS": lambda: blackjax_drawer(energy, watched, start, nuts=True),
            "numpyro NUTS": lambda: numpyro_drawer(energy, watched, start, nuts=True),
        }
        drawers, states = {}, {}
        for name, make in makers.items():
            drawers[name], states[name] = make()
            states[name], _ = drawers[name](states[name], 2)
        seen: dict[str, list[np.ndarray]] = {name: [] for name in makers}
        seconds = dict.fromkeys(makers, 0.0)
        for _ in range(ROUNDS):
            for name, draw in drawers.items():
                began = time.process_time()
                states[name], values = draw(states[name], DRAWS[name])
                seconds[name] += time.process_time() - began
                seen[name].append(values)
    note = f"N = {neurons}, P = {examples}, T = {TEMPERATURE}, effective samples per CPU second."
    report({name: np.concatenate(parts) for name, parts in seen.items()}, seconds, note, write=options.write)


def report(seen: dict[str, np.ndarray], seconds: dict[str, float], note: str, *, write: bool) -> None:
    rates = {}
    for name, values in seen.items():
        sizes = fs.measures.effective_sample_size(values[None])
        rates[name] = np.array([np.nanmedian(sizes[:36]), np.nanmedian(sizes[36:])]) / seconds[name]
    mean = {name: float(np.prod(rate) ** 0.5) for name, rate in rates.items()}
    best = max(value for name, value in mean.items() if not name.startswith("festina"))
    columns = (
        "sampler",
        "draws",
        "CPU s a draw",
        "kernel entries",
        "readouts",
        "geometric mean",
        "÷ best other",
        "goal",
    )
    rows = [
        (
            name,
            len(seen[name]),
            table.short(seconds[name] / len(seen[name])),
            table.short(rate[0]),
            table.short(rate[1]),
            table.short(mean[name]),
            table.short(mean[name] / best),
            table.verdict(GOAL, [mean[name] / best]) if name.startswith("festina") else "",
        )
        for name, rate in rates.items()
    ]
    table.show("posterior", columns, rows, write=write, note=note)


if __name__ == "__main__":
    main()
