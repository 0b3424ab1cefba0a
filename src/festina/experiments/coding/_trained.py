"""Networks that descend the energy whose posterior the samplers draw from, by any optimiser of optax."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import festina as fs
from festina._lazy import jax, jnp, np


class Memory(NamedTuple):
    """What descent carries along besides θ: the optimiser's state, and running means over the draws kept so far."""

    optimiser: Any
    kept: Any
    means: Any


def energy(network: Any, data: Any) -> Callable[[Any, Any], Any]:
    """U(θ, T) = (N/2T) Σ|y − f|² + ½|θ|²: minus the logarithm of the posterior, in the precision of θ.

    To an optimiser, the prior of whitened weights is weight decay.
    """
    inputs, targets = np.asarray(data.inputs), np.asarray(data.targets)

    def of(whitened: Any, temperature: Any) -> Any:
        kind = jax.tree.leaves(whitened)[0].dtype
        shown = (jnp.asarray(part, kind) for part in (inputs, targets))
        squares = [jnp.sum(leaf**2) for leaf in jax.tree.leaves(whitened)]
        return network.having(whitened).energy(*shown, temperature) + 0.5 * sum(squares[1:], start=squares[0])

    return of


def noise(key: Any, step: Any) -> Any:
    """Adds normal noise of variance 2/η to a gradient: descent in steps of η is then the Langevin dynamics.

    optax's own noise uses a generator that would take most of the time here.
    """
    from festina.learning.samplers import normal_like

    def update(gradient: Any, count: Any, parameters: Any = None) -> tuple[Any, Any]:
        drawn = normal_like(fs.draws.fold_in(key, count), gradient)
        size = (2.0 / step) ** 0.5
        return jax.tree.map(lambda g, d: g + size.astype(g.dtype) * d, gradient, drawn), count + 1

    return _transformation(lambda parameters: jnp.asarray(0), update)


def one_of(choices: Sequence[Any], number: Any) -> Any:
    """The optimiser with this number, which may be data: all of them are then compiled as one program."""

    def update(gradient: Any, states: tuple[Any, ...], parameters: Any = None) -> tuple[Any, Any]:
        def branch(own: int) -> Callable[[Any, Any], tuple[Any, Any]]:
            def by(gradient: Any, states: Any) -> tuple[Any, Any]:
                changes, state = choices[own].update(gradient, states[own], parameters)
                return changes, (*states[:own], state, *states[own + 1 :])

            return by

        return jax.lax.switch(number, [branch(own) for own in range(len(choices))], gradient, states)

    return _transformation(lambda parameters: tuple(each.init(parameters) for each in choices), update)


def trained(
    network: Any,
    data: Any,
    optimiser: Any,
    heat: Callable[[Any], Any],
    *,
    records: int,
    draws_per_record: int,
    steps_per_draw: int,
    warm_up: int,
    observe: Callable[[Any, Any], dict[str, Any]],
    average: Callable[[Any], Any],
) -> Any:
    """Descent of the energy of a network; ``observe`` and ``average`` see a network, not its weights.

    Steps are in float32, whose rounding is far below their noise; what is recorded is computed in float64.

    Args:
        network: where it starts.
        data: inputs and targets.
        optimiser: of optax; it is given the gradient of the energy.
        heat: temperature of each draw, by its number.
        records: recordings after the first.
        draws_per_record: draws between two of them.
        steps_per_draw: steps of the optimiser between two draws.
        warm_up: draws before anything is averaged.
        observe: what is recorded, from a network and the state of its descent.
        average: what is averaged over all later draws, to be found in ``state.memory.means``.
    """
    slope = jax.grad(energy(network, data))

    def step(carried: tuple[Any, Any], temperature: Any) -> tuple[Any, Any]:
        whitened, state = carried
        gradient = slope(whitened, temperature)
        with jax.numpy_dtype_promotion("standard"):  # optax counts in integers and divides by them
            changes, state = optimiser.update(gradient, state, whitened)
        return jax.tree.map(lambda p, c: p + c.astype(p.dtype), whitened, changes), state

    def draw(state: Any, _: Any) -> tuple[Any, None]:
        memory, temperature = state.memory, heat(state.step)
        whitened, optimised = jax.lax.fori_loop(
            0, steps_per_draw, lambda _, carried: step(carried, temperature), (state.parameters, memory.optimiser)
        )
        kept = memory.kept + jnp.where(state.step < warm_up, 0, 1)
        share = jnp.where(kept > 0, 1.0 / jnp.maximum(kept, 1).astype(float), 0.0)
        here = average(seen(whitened))
        means = jax.tree.map(lambda mean, new: mean + share * (new - mean), memory.means, here)
        done = state.step + 1
        return fs.learning.State(done.astype(float), done, whitened, Memory(optimised, kept, means)), None

    def seen(whitened: Any) -> Any:
        return network.having(_as(float, whitened))

    def advance(state: Any, index: Any) -> Any:
        return jax.lax.scan(draw, state, None, length=draws_per_record)[0]

    start = _as(np.float32, network.whitened)
    means = jax.tree.map(jnp.zeros_like, jax.eval_shape(lambda own: average(seen(own)), start))
    times = jnp.arange(records + 1).astype(float) * draws_per_record
    begin = fs.learning.State.start(start, times[0], Memory(optimiser.init(start), jnp.asarray(0), means))
    return fs.learning.Process(begin, advance, lambda state: observe(seen(state.parameters), state), times)


def _transformation(init: Any, update: Any) -> Any:
    import optax

    return optax.GradientTransformation(init, update)


def _as(kind: Any, tree: Any) -> Any:
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, kind), tree)
