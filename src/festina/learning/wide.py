"""Joint descent of path-gated networks, many arms at once: inputs come first, arms and outputs last.

A student W (o × i) of each of n arms is one array (i, n·o), and every number that belongs to an arm, such as a gate or
a timescale, is repeated for each of the arm's columns. The product with the second moment S (i × i), which all arms
share, is then one product of wide matrices, every other operation runs along columns, where the processor's vector
units want it, and columns of an arm meet only in the sum for its gates. With E = W* − Σ_p c_p W_p, a step is

    G = S E,    τ_w dW_p/dt = κ c_p G,    τ_c dc_p/dt = κ⟨W_p, G⟩ − ∂R/∂c_p.

A process is written for one arm. `wide_steps` is what it takes its steps with, and knows how to be batched: under a
`vmap` over arms the networks of all of them become columns, take all steps up to the next recording, and become
networks again.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Float, Int

from festina.learning.descent import descend, no_data
from festina.networks.abstraction import PathGated
from festina.worlds.blocks import Blocks
from festina.worlds.statistics import Population, Statistics
from festina.worlds.tasks import Tasks

WIDEST = 512  # columns side by side in one array

Wide = Float[Any, "i columns"]
Arms = tuple[PathGated, Any, Blocks, Tasks]  # networks, rules, blocks and tasks, all with a leading axis of arms
Memory = tuple[Any, Blocks, Float[Any, "m i columns"]]  # rules and blocks by column, and tasks as columns
Steps = Callable[..., PathGated]


def wide_steps(statistics: Statistics, steps: int) -> Steps:
    """``take(network, rule, blocks, tasks, key, first, step_size)``: one network after some steps, see `descend`.

    Under `vmap` all arms go side by side through one stream of data, unless it is the key (or the clock) that differs.
    """

    def alone(*given: Any) -> PathGated:
        own, shared = given[:4], given[4:]
        after = _together(statistics, steps, jax.tree.map(lambda leaf: leaf[None], own), *shared)
        return jax.tree.map(lambda leaf: leaf[0], after)

    take = custom_vmap(alone)

    @take.def_vmap
    def side_by_side(count: int, batched: Any, *given: Any) -> tuple[PathGated, PathGated]:
        given = jax.tree.map(jnp.asarray, given)  # a number that is known may come as one of NumPy
        if any(jax.tree.leaves(batched[4:])):
            axes = jax.tree.map(lambda varies: 0 if varies else None, tuple(batched))
            after = jax.vmap(alone, axes, axis_size=count)(*given)
        else:
            arms = jax.tree.map(partial(_for_each, count), tuple(batched[:4]), given[:4])
            after = _in_tiles(partial(_together, statistics, steps), count, arms, given[4:])
        return after, jax.tree.map(lambda leaf: True, after)

    return take


def _for_each(count: int, varies: bool, leaf: Array) -> Array:
    return leaf if varies else jnp.broadcast_to(leaf, (count, *leaf.shape))


def _in_tiles(together: Callable[..., PathGated], count: int, arms: Arms, shared: tuple[Any, ...]) -> PathGated:
    """Many arms as tiles that take all steps one after the other, each small enough for the cache.

    (XLA also shares out larger operations among threads, which costs more than the whole operation.)
    """
    tiles = -(-count // max(1, WIDEST // arms[0].students[0].shape[1]))
    if tiles == 1:
        return together(arms, *shared)
    width = -(-count // tiles)
    padded = jax.tree.map(lambda leaf: leaf[jnp.minimum(jnp.arange(tiles * width), count - 1)], arms)
    cut = jax.tree.map(lambda leaf: leaf.reshape(tiles, width, *leaf.shape[1:]), padded)
    after = jax.lax.map(lambda tile: together(tile, *shared), cut)
    return jax.tree.map(lambda leaf: leaf.reshape(tiles * width, *leaf.shape[2:])[:count], after)


def _together(
    statistics: Statistics,
    steps: int,
    arms: Arms,
    key: Array,
    first: Int[Array, ""],
    step_size: Float[Array, ""],
) -> PathGated:
    """The networks of all arms after some steps through the same data."""
    networks, rules, blocks, tasks = arms
    outputs, inputs = networks.students[0].shape[1:]

    def see(key: Array) -> Float[Array, "i i"] | None:
        return statistics.second_moment(key, inputs, networks.students[0].dtype)

    by_column = jax.tree.map(lambda leaf: jnp.repeat(leaf, outputs, axis=0), (rules, blocks))
    goals = jnp.stack([_columns(tasks.maps[:, task]) for task in range(tasks.maps.shape[1])])
    after = descend(
        partial(_rate, outputs, tasks.loss_share),
        (tuple(map(_columns, networks.students)), jnp.repeat(jnp.stack(networks.gates), outputs, axis=1)),
        key,
        first,
        steps,
        step_size,
        _shown,
        no_data if isinstance(statistics, Population) else see,
        (*by_column, goals),
    )
    students = tuple(wide.T.reshape(-1, outputs, inputs) for wide in after[0])
    return networks.rebuilt(students, tuple(after[1][:, ::outputs]))


def _columns(matrices: Float[Array, "n o i"]) -> Wide:
    return jnp.moveaxis(matrices, 2, 0).reshape(matrices.shape[2], -1)


def _shown(step: Int[Array, ""], memory: Memory) -> tuple[Any, Wide]:
    """Every column's rule, and the map its task asks for."""
    rule, blocks, goals = memory
    weights = jax.vmap(lambda blocks: blocks.shown(step, goals.shape[0]))(blocks)
    return rule, _sum([weight[None] * goal for weight, goal in zip(weights, goals, strict=True)])


def _rate(outputs: int, loss_share: float, parameters: Any, second_moment: Any, stage: tuple[Any, Wide]) -> Any:
    (rule, target), (students, gates) = stage, parameters
    error = target - _sum([gate[None] * student for gate, student in zip(gates, students, strict=True)])
    uphill = error if second_moment is None else second_moment @ error
    along = jnp.stack([_of_arms(jnp.sum(uphill * student, axis=0), outputs) for student in students])
    speeds = gates * (loss_share / rule.weight_timescale)[None]
    bounds = rule.regularizer.slope_by_column(gates)
    return (
        tuple(speed[None] * uphill for speed in speeds),
        (loss_share * along - bounds) / rule.gate_timescale[None],
    )


def _of_arms(columns: Float[Any, " columns"], outputs: int) -> Float[Any, " columns"]:
    """The sum over the columns of each arm, for each of them."""
    if outputs == 1:
        return columns
    sums = jnp.sum(columns.reshape(-1, outputs), axis=1)
    return jnp.broadcast_to(sums[:, None], (sums.shape[0], outputs)).reshape(-1)


def _sum(parts: list[Any]) -> Any:
    """Written out: sums over two or three arrays are faster so."""
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
