"""Batches of runs: one axis of runs, or every seed with every arm.

What depends on a seed alone, such as a teacher, first weights or a stream of data, is computed once for all its arms:
under two nested `vmap`, the seed outside and the arms inside, JAX repeats along arms only what depends on an arm.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun
from jax.interpreters.partial_eval import dce_jaxpr

TILE_BYTES = 2**19  # of parameters that go through a chunk together: with all that is computed, a core's second cache


class Crossed(eqx.Module):
    """What the runs of a batch are built from: each of ``seeds`` with each of ``arms``, and what all of them share.

    Run number s·A + a has the inputs of seed s and of arm a (of A). All three parts are dictionaries with different
    names; a run is built from their union.

    Attributes:
        seeds: arrays with a leading axis of seeds.
        arms: arrays with a leading axis of arms; there may be none, as there is nothing in which a single arm differs.
        shared: arrays without any such axis.
        counts: how many seeds and arms there are.
    """

    seeds: Any
    arms: dict[str, Any]
    shared: dict[str, Any]
    counts: tuple[int, int] = eqx.field(static=True)


def alone(inputs: Any, run: int) -> Any:
    """The inputs of one run."""
    inputs = _as_crossed(inputs)
    seed, arm = divmod(run, inputs.counts[1])
    parts = ((inputs.arms, arm), (inputs.seeds, seed))
    return _joined(inputs.shared, *(jax.tree.map(lambda leaf, at=at: leaf[at], part) for part, at in parts))


def every_run(work: Callable[..., Any], inputs: Any, *states: Any) -> Any:
    """``work(inputs, *states)`` of every run; states, and what comes back, lead with the axis of runs."""
    inputs = _as_crossed(inputs)
    seeds, arms = inputs.counts
    cut = _cut(states, seeds, arms)
    flat = _traced_once(work, inputs, cut)

    def of_seed(seed: Any, states: tuple[Any, ...]) -> Any:
        def of_arm(arm: dict[str, Any], states: tuple[Any, ...]) -> Any:
            return flat(_joined(inputs.shared, arm, seed), *states)

        return jax.vmap(of_arm, axis_size=arms)(inputs.arms, states)

    return _flat(jax.vmap(of_seed, axis_size=seeds)(inputs.seeds, cut))


def _traced_once(work: Callable[..., Any], inputs: Crossed, states: Any) -> Callable[..., Any]:
    """The same work as a plain list of operations, without those that nothing comes of.

    Batching takes each function of JAX apart anew, along both axes; it has less to do once they are taken apart, and
    what a process computes only for its start need not be batched in order to go on.
    """
    own = _joined(_inner(inputs.shared, 0), _inner(inputs.arms, 1), _inner(inputs.seeds, 1))
    traced, shapes = jax.make_jaxpr(work, return_shape=True)(own, *_inner(states, 2))
    needed, _ = dce_jaxpr(traced.jaxpr, [True] * len(traced.out_avals), instantiate=True)
    run, structure = jaxpr_as_fun(ClosedJaxpr(needed, traced.consts)), jax.tree.structure(shapes)
    return lambda *given: jax.tree.unflatten(structure, run(*jax.tree.leaves(given)))


def _inner(tree: Any, axes: int) -> Any:
    """The shapes of a tree without some leading axes."""

    def shape(leaf: Any) -> jax.ShapeDtypeStruct:
        known = jax.typeof(leaf)
        return jax.ShapeDtypeStruct(known.shape[axes:], known.dtype, weak_type=known.weak_type)

    return jax.tree.map(shape, tree)


def in_tiles(work: Callable[[Any, Any], Any], inputs: Any, states: Any, size: int) -> Any:
    """The same for as many runs at once as fit the cache: some seeds after the others, and if not even the arms of one
    seed fit, some of these after the others. ``size`` is the bytes of one run.
    """
    inputs = _as_crossed(inputs)
    seeds, arms = inputs.counts
    tall, wide = _fitting(seeds, arms * size), _fitting(arms, size)

    def some_seeds(seeds: Any, states: Any) -> Any:
        some = Crossed(seeds, inputs.arms, inputs.shared, (tall, arms))
        return every_run(work, some, states) if wide == arms else _arms_in_tiles(work, some, states, wide)

    if tall == seeds:
        return some_seeds(inputs.seeds, states)
    cut = _cut(inputs.seeds, seeds // tall, tall), _cut(states, seeds // tall, tall * arms)
    return _flat(jax.lax.map(lambda part: some_seeds(*part), cut))


def _arms_in_tiles(work: Callable[[Any, Any], Any], inputs: Crossed, states: Any, wide: int) -> Any:
    """One seed, some of its arms after the others."""

    def some_arms(part: tuple[Any, Any]) -> Any:
        return every_run(work, Crossed(inputs.seeds, part[0], inputs.shared, (1, wide)), part[1])

    return _flat(jax.lax.map(some_arms, _cut((inputs.arms, states), inputs.counts[1] // wide, wide)))


def _as_crossed(inputs: Any) -> Crossed:
    """Runs that share nothing are so many seeds with one arm each."""
    if isinstance(inputs, Crossed):
        return inputs
    return Crossed(inputs, {}, {}, (jax.tree.leaves(inputs)[0].shape[0], 1))


def _joined(shared: dict[str, Any], arm: dict[str, Any], seed: Any) -> Any:
    return shared | arm | seed if shared or arm else seed


def _fitting(count: int, size: int) -> int:
    """The largest divisor of a count of which so many bytes each fit the cache; one, if nothing does."""
    return max(n for n in range(1, count + 1) if count % n == 0 and (n == 1 or n * size <= TILE_BYTES))


def _cut(tree: Any, first: int, second: int) -> Any:
    return jax.tree.map(lambda leaf: leaf.reshape(first, second, *leaf.shape[1:]), tree)


def _flat(tree: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf.reshape(leaf.shape[0] * leaf.shape[1], *leaf.shape[2:]), tree)
