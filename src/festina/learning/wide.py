"""Joint descent of path-gated networks, many arms at once: inputs come first, arms and outputs last.

A student W (o × i) of each of n arms is one array (i, n·o), and every number that belongs to an arm, such as a gate or
a timescale, is repeated for each of the arm's columns. The product with the second moment S (i × i), which all arms
share, is then one product of wide matrices, every other operation runs along columns, where the processor's vector
units want it, and columns of an arm meet only in the sum for its gates. With E = W* − Σ_p c_p W_p, a step is

    G = S E,    τ_w dW_p/dt = κ c_p G,    τ_c dc_p/dt = κ⟨W_p, G⟩ − ∂R/∂c_p.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from festina.errors import require
from festina.learning.descent import descent_process, no_data
from festina.learning.joint import Arm, JointDescent, View, Watch, side_by_side
from festina.learning.process import Observed, Process, State
from festina.networks.abstraction import PathGated
from festina.worlds.statistics import Population, Statistics
from festina.worlds.tasks import Tasks

WIDEST = 512  # columns side by side in one array

Wide = Float[Any, "i columns"]
Stage = tuple[JointDescent, Wide]
Memory = tuple[Arm, Float[Any, "m i columns"], Tasks]  # arms column by column, tasks as columns and as they are


def wide_process(
    network: PathGated,
    arms: Arm,
    tasks: Tasks,
    key: Array,
    *,
    step_size: Any,
    records: int,
    steps_per_record: int,
    observe: Watch,
    statistics: Statistics,
    starts: Sequence[PathGated] | None,
) -> Process:
    """Every arm from the same network, through the same data; see `joint_process` for the arguments."""
    outputs, inputs = tasks.maps.shape[1:]
    count = jax.tree.leaves(arms)[0].shape[0]
    most = max(1, WIDEST // outputs)
    fits = starts is None or (len(starts) == count <= most)
    require(fits, "starts", f"be one for each of {count} arms, of {most} at most", starts and len(starts))

    def see(key: Array) -> Float[Array, "i i"] | None:
        return statistics.second_moment(key, inputs, network.students[0].dtype)

    def alone(arms: Arm) -> Process:
        count = jax.tree.leaves(arms)[0].shape[0]
        columns = _repeated(arms, outputs, axis=0)
        begin = _columns(outputs, side_by_side(network, arms, starts))
        goals = jnp.stack([_widened(goal, count) for goal in tasks.maps])
        return descent_process(
            partial(_rate, outputs, tasks.loss_share),
            begin,
            key,
            step_size,
            records,
            steps_per_record,
            partial(_watch, observe, outputs),
            _shown,
            draw=no_data if isinstance(statistics, Population) else see,
            memory=(columns, goals, tasks),
        )

    return alone(arms) if count <= most else _in_tiles(alone, arms, outputs, most)


def _columns(outputs: int, networks: PathGated) -> dict[str, Any]:
    """Networks, one for each arm along the first axis, as columns."""
    return {
        "students": tuple(jnp.moveaxis(each, 2, 0).reshape(each.shape[2], -1) for each in networks.students),
        "gates": jnp.repeat(jnp.stack(networks.gates), outputs, axis=1),
    }


def _repeated(arms: Arm, outputs: int, axis: int) -> Arm:
    """What belongs to an arm, for each of its columns."""
    return jax.tree.map(lambda leaf: jnp.repeat(leaf, outputs, axis=axis), arms)


def _widened(matrix: Float[Any, "o i"], count: int) -> Wide:
    """One matrix for every arm."""
    return jnp.tile(matrix.T, (1, count))


def _shown(step: Int[Array, ""], memory: Memory) -> Stage:
    """Every column's rule, and the map its task asks for."""
    arms, goals, _ = memory
    weights = jax.vmap(lambda blocks: blocks.shown(step, goals.shape[0]))(arms.blocks)
    return arms.rule, _sum([weight[None] * goal for weight, goal in zip(weights, goals, strict=True)])


def _rate(outputs: int, loss_share: float, parameters: dict[str, Any], second_moment: Any, stage: Stage) -> Any:
    rule, target = stage
    students, gates = parameters["students"], parameters["gates"]
    error = target - _sum([gate[None] * student for gate, student in zip(gates, students, strict=True)])
    uphill = error if second_moment is None else second_moment @ error
    along = jnp.stack([_of_arms(jnp.sum(uphill * student, axis=0), outputs) for student in students])
    speeds = gates * (loss_share / rule.weight_timescale)[None]
    return {
        "students": tuple(speed[None] * uphill for speed in speeds),
        "gates": (loss_share * along - rule.regularizer.slope_by_column(gates)) / rule.gate_timescale[None],
    }


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


def _watch(observe: Watch, outputs: int, state: State) -> Observed:
    """What is to be seen of every arm, as a `View` of its own matrices."""
    rule, target = _shown(state.step, state.memory)

    def matrices(wide: Wide) -> Float[Array, "arms o i"]:
        return wide.T.reshape(-1, outputs, wide.shape[0])

    def one(students: Any, gates: Any, rule: Any, target: Any) -> Observed:
        return observe(View(PathGated(students, tuple(gates)), rule, state.memory[2], target))

    students = tuple(matrices(student) for student in state.parameters["students"])
    rules = jax.tree.map(lambda leaf: leaf[::outputs], rule)
    gates = state.parameters["gates"][:, ::outputs]
    return jax.vmap(one, in_axes=(0, -1, 0, 0))(students, gates, rules, matrices(target))


def _in_tiles(alone: Callable[[Arm], Process], arms: Arm, outputs: int, most: int) -> Process:
    """Many arms as tiles that go through a recording one after the other, each small enough for the cache.

    (XLA also shares out larger operations among threads, which costs more than the whole operation.)
    """
    count = jax.tree.leaves(arms)[0].shape[0]
    tiles = -(-count // most)
    width = -(-count // tiles)
    padded = jax.tree.map(lambda leaf: leaf[jnp.minimum(jnp.arange(tiles * width), count - 1)], arms)
    cut = jax.tree.map(lambda leaf: leaf.reshape(tiles, width, *leaf.shape[1:]), padded)
    tile = alone(jax.tree.map(lambda leaf: leaf[0], cut))
    start = tile.initial
    many = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (tiles, *leaf.shape)), start.parameters)

    def each(work: Callable[[State], Any], state: State) -> Any:
        arms, *shared = state.memory
        one = lambda part: work(State(state.time, state.step, part[0], (part[1], *shared)))  # noqa: E731
        return jax.lax.map(one, (state.parameters, arms))

    def advance(state: State, index: Int[Array, ""]) -> State:
        def work(state: State) -> tuple[Any, Any, Any]:
            after = tile.advance(state, index)
            return after.time, after.step, after.parameters

        times, steps, parameters = each(work, state)
        return State(times[0], steps[0], parameters, state.memory)

    def observe(state: State) -> Observed:
        seen = each(tile.observe, state)
        return jax.tree.map(lambda leaf: leaf.reshape(tiles * width, *leaf.shape[2:])[:count], seen)

    memory = (_repeated(cut, outputs, axis=1), *start.memory[1:])
    return Process(State(start.time, start.step, many, memory), advance, observe, tile.times, steps=tile.steps)
