"""Sampling a posterior under the loop of every other dynamics: progress, checkpoint, resume, divergence.

Parameters θ are whitened: a priori standard normal. The posterior is p(θ) ∝ exp(−E(θ; data, T) − ½|θ|²), with a
temperature T that may be lowered along the way. One run is one chain; many chains are one compiled batch. What is kept
of the draws are recordings of observables and running means, never the weights of every draw.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from festina import draws
from festina.errors import require
from festina.learning.adaptation import Adaptation, adapted_draw
from festina.learning.process import Observed, Process, State
from festina.learning.replicas import Company, ReplicaExchange
from festina.learning.samplers import HMC, Energy, Kinked, Sampler
from festina.precision import is_traced, to_precision

GRADIENTS = 50  # of a draw, or thereabouts

Tempered = Callable[[Any, Any, Any], Float[Array, ""]]  # E of parameters, data and temperature


class Chain(eqx.Module):
    """What a chain carries along besides θ.

    Attributes:
        adaptation: of the step.
        acceptance: of the last proposal.
        gradients: computed so far.
        kept: draws that went into the means, those after warming up.
        means: running means of what was to be averaged.
        company: hotter replicas, of a chain that is drawn by `ReplicaExchange`; nothing otherwise.
        law: what the sampler was made from, if that took long to find; nothing otherwise.

    Example:
        >>> energy = lambda theta, data, heat: jax.numpy.sum((theta - data) ** 2) / heat
        >>> process = fs.learning.posterior_process(
        ...     energy, jax.numpy.zeros(2), jax.numpy.ones(2), jax.random.key(0), records=1, draws_per_record=5,
        ...     observe=lambda state: {}, temperature=fs.learning.constant(1.0), warm_up=2)
        >>> chain = process.initial.memory
        >>> int(chain.gradients), int(chain.kept), float(chain.acceptance)
        (0, 0, 1.0)
    """

    adaptation: Adaptation
    acceptance: Float[Array, ""]
    gradients: Int[Array, ""]
    kept: Int[Array, ""]
    means: Any
    company: Company | tuple[()] = ()
    law: Any = ()


def annealed(start: Any, end: Any, draws_between: Any) -> Callable[[Int[Array, ""]], Float[Array, ""]]:
    """A temperature that falls geometrically from ``start`` to ``end`` over a number of draws, and stays there.

    All three may be traced.

    Args:
        start: the first temperature.
        end: the last one.
        draws_between: how many draws it takes.

    Returns:
        The temperature of a draw, by its number.

    Example:
        >>> heat = fs.learning.annealed(1.0, 0.01, draws_between=100)
        >>> [round(float(heat(jax.numpy.asarray(draw))), 4) for draw in (0, 50, 100, 500)]
        [1.0, 0.1, 0.01, 0.01]
    """
    if not is_traced(draws_between):
        require(draws_between >= 1, "draws_between", "be at least 1", draws_between)

    def temperature(draw: Int[Array, ""]) -> Float[Array, ""]:
        way = jnp.clip(draw.astype(float) / draws_between, 0.0, 1.0)
        return jnp.asarray(start, float) * (jnp.asarray(end, float) / jnp.asarray(start, float)) ** way

    return temperature


def dwelling(
    start: Any, end: Any, draws_between: Any, slow_from: Any, slow_to: Any, slowness: Any
) -> Callable[[Int[Array, ""]], Float[Array, ""]]:
    """A temperature that falls as in `annealed`, but more slowly on the way between two temperatures.

    It is piecewise geometric. With k the `slowness`, and with the way w = log(start/T)/log(start/end) from 0 to 1, u at
    `slow_from` and v at `slow_to`,

        w = τ − (1 − 1/k) clip(τ − u, 0, k(v − u)),    τ = (1 + (k − 1)(v − u)) draw/draws_between:

    all of the way takes as many draws as it would have at k = 1, a share k(v − u)/(1 + (k − 1)(v − u)) of them between
    the two. Outside of what start and end leave of them, or if `slow_to` is not on the way after `slow_from`, there is
    nothing to dwell on. At k = 1 it is `annealed`, to the last bit. All six may be traced.

    Args:
        start: the first temperature.
        end: the last one.
        draws_between: how many draws it takes from one to the other.
        slow_from: where dwelling begins.
        slow_to: where it ends.
        slowness: how many times more draws a factor of T takes there than elsewhere.

    Returns:
        The temperature of a draw, by its number.

    Example:
        >>> heat = fs.learning.dwelling(1.0, 0.01, draws_between=100, slow_from=1.0, slow_to=0.1, slowness=9.0)
        >>> [round(float(heat(jax.numpy.asarray(draw))), 4) for draw in (0, 45, 90, 100, 500)]
        [1.0, 0.3162, 0.1, 0.01, 0.01]
    """
    if not is_traced(draws_between):
        require(draws_between >= 1, "draws_between", "be at least 1", draws_between)
    if not is_traced(slowness):
        require(slowness >= 1, "slowness", "be at least 1", slowness)

    def temperature(draw: Int[Array, ""]) -> Float[Array, ""]:
        first, last, slow = (jnp.asarray(value, float) for value in (start, end, slowness))
        begin, finish = _way(first, last, jnp.stack([jnp.asarray(heat, float) for heat in (slow_from, slow_to)]))
        stretch = jnp.maximum(finish - begin, 0.0)
        time = jnp.clip(draw.astype(float) / draws_between, 0.0, 1.0) * (1.0 + (slow - 1.0) * stretch)
        way = time - (1.0 - 1.0 / slow) * jnp.clip(time - begin, 0.0, slow * stretch)
        return first * (last / first) ** way

    return temperature


def constant(temperature: Any) -> Callable[[Int[Array, ""]], Float[Array, ""]]:
    """One temperature for all draws.

    Example:
        >>> float(fs.learning.constant(0.5)(jax.numpy.asarray(7)))
        0.5
    """
    return lambda draw: jnp.asarray(temperature, float)


def posterior_process(
    energy: Tempered,
    parameters: Any,
    data: Any,
    key: Array,
    records: int,
    draws_per_record: int,
    observe: Callable[[State], Observed],
    temperature: Callable[[Int[Array, ""]], Any],
    warm_up: int,
    sampler: Sampler | Callable[[Any], Sampler] | None = None,
    average: Callable[[Any], Any] = lambda parameters: (),
    conclude: Callable[[State], Observed] = lambda state: {},
    law: Any = (),
) -> Process:
    """Draws from a posterior, recorded now and then; the key of draw n is fold_in(key of the chain, n).

    Args:
        energy: ``energy(θ, data, T)``, minus the logarithm of the likelihood, for θ and data of any precision; a
            `Kinked` one, if forces may round off its kinks.
        parameters: θ at the start, standard normal a priori.
        data: what the energy is about; handed over in the precision of the moment.
        key: of the chain.
        records: recordings after the first.
        draws_per_record: draws between two of them.
        observe: what is recorded of a state; ``state.memory`` is the `Chain`.
        temperature: of each draw, by its number; see `annealed`.
        warm_up: draws during which the step is adapted and nothing is averaged.
        sampler: `HMC()` unless given; or one for each draw, by its number, of which the first tells the first step.
            With `ReplicaExchange` the state is that of the chain itself, and its hotter
            replicas are in ``state.memory.company``.
        average: of θ, to be averaged over all draws after warming up.
        conclude: what is recorded of the last state only; running means, say, if they are large.
        law: of which ``sampler`` makes one, in place of the number of a draw, if it is given. It is computed with the
            start, and carried along: what else the process is built from is computed anew with every few recordings.

    Returns:
        A `Process`, to be run by `drive`; a run is a chain.

    Example:
        >>> def build(inputs):  # of θ ~ N(0, 1) was seen the datum 2, with noise of variance 1
        ...     return fs.learning.posterior_process(
        ...         lambda theta, data, heat: 0.5 * jax.numpy.sum((theta - data) ** 2) / heat,
        ...         inputs["start"], 2.0 * jax.numpy.ones(1), inputs["key"], records=2, draws_per_record=300,
        ...         observe=lambda state: {"mean": state.memory.means}, temperature=fs.learning.constant(1.0),
        ...         warm_up=100, average=lambda theta: theta)
        >>> chains = {"start": np.zeros((4, 1)), "key": jax.random.split(jax.random.key(0), 4)}
        >>> round(float(fs.learning.drive(build, chains).observed["mean"][:, -1].mean()), 1)
        1.0
    """
    require(records >= 1, "records", "be at least 1", records)
    require(draws_per_record >= 1, "draws_per_record", "be at least 1", draws_per_record)
    require(warm_up >= 0, "warm_up", "not be negative", warm_up)
    every = HMC() if sampler is None else sampler

    def at(number: Any, law: Any) -> Sampler:
        return every if isinstance(every, Sampler) else every(number if isinstance(law, tuple) else law)

    first = at(jnp.zeros((), int), law)

    def draw(state: State, _: Any) -> tuple[State, None]:
        chain: Chain = state.memory
        heat = temperature(state.step)
        warming = state.step < warm_up
        own = draws.fold_in(key, state.step)
        sampler = at(state.step, chain.law)
        moved, adaptation = adapted_draw(
            sampler, own, state.parameters, chain.adaptation, warming, _at(energy, data, heat)
        )
        parameters, gradients, company = moved.parameters, chain.gradients + moved.gradients, chain.company
        if isinstance(sampler, ReplicaExchange) and isinstance(company, Company):
            parameters, company, more = sampler.meet(
                own, state.step, parameters, company, warming, lambda times: _at(energy, data, heat * times)
            )
            gradients = gradients + more
        kept = chain.kept + jnp.where(warming, 0, 1)
        share = jnp.where(warming, 0.0, 1.0 / jnp.maximum(kept, 1).astype(float))
        means = jax.tree.map(lambda mean, new: mean + share * (new - mean), chain.means, average(parameters))
        memory = Chain(adaptation, moved.acceptance, gradients, kept, means, company, chain.law)
        step = state.step + 1
        return State(step.astype(float), step, parameters, memory), None

    def advance(state: State, index: Int[Array, ""]) -> State:
        return jax.lax.scan(draw, state, None, length=draws_per_record)[0]

    means = jax.tree.map(jnp.zeros_like, jax.eval_shape(average, parameters))
    company = first.company(parameters) if isinstance(first, ReplicaExchange) else ()
    none = jnp.zeros((), int)
    chain = Chain(Adaptation.start(first.first_step), jnp.ones(()), none, none, means, company, law)
    times = jnp.arange(records + 1).astype(float) * draws_per_record
    start, steps = State.start(parameters, times[0], chain), records * draws_per_record
    return Process(start, advance, observe, times, lambda state: draw(state, None)[0], conclude, steps, GRADIENTS)


def _way(first: Float[Array, ""], last: Float[Array, ""], heat: Float[Array, " heats"]) -> Float[Array, " heats"]:
    """log(first/heat)/log(first/last), kept between 0 and 1; 0 where there is no way to go."""
    whole = jnp.log(first / last)
    moving = jnp.abs(whole) > 1e-12
    way = jnp.clip(jnp.log(first / heat) / jnp.where(moving, whole, 1.0), 0.0, 1.0)
    return jnp.where(moving, way, 0.0)


def _at(energy: Tempered, data: Any, temperature: Any) -> Energy:
    """The energy of θ alone, with data and temperature in the precision of θ."""
    if isinstance(energy, Kinked):
        return Kinked(_at(energy.exact, data, temperature), lambda width: _at(energy.rounded(width), data, temperature))

    def of(parameters: Any) -> Float[Array, ""]:
        kind = jax.tree.leaves(parameters)[0].dtype
        return energy(parameters, to_precision(data, kind.name), temperature.astype(kind))

    return of
