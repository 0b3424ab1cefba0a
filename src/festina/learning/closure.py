"""The exact closure of joint descent under the expected gradient: P + M numbers for each path, whatever its size.

With infinitely many inputs a student only ever moves along W* − Σ c W, so that it never leaves the span of the initial
students and the teachers. In an orthonormal basis of that span every path is a vector of P + M coordinates which obeys
the very same equations: nothing is approximated, for steps of any size as for flow. Equivalently, everything follows
from the Gram matrix S of students and teachers: with e = (−c, 1_m) and a = κ(dt/τ_w)(c, 0),

    L = ½κ eᵀSe,    ∂L/∂c_p = −κ(Se)_p,    S ← S + a(Se)ᵀ + (Se)aᵀ + (eᵀSe) aaᵀ.

The kernel keeps arms along the last axis, where the processor's vector units want them.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from festina.errors import require
from festina.learning.descent import descent_process, no_data
from festina.learning.joint import Arm, JointDescent, View, Watch, as_type, check_order
from festina.learning.process import Observed, Process, State
from festina.networks.abstraction import NeuronGated, PathGated
from festina.precision import precise
from festina.worlds.tasks import Tasks

WIDEST = 512  # arms side by side in one array


@precise
def compressed(network: PathGated, tasks: Tasks) -> tuple[PathGated, Tasks]:
    """The same problem with students and teachers as 1 × (P + M) matrices; loss and overlaps are unchanged."""
    paths = len(network.students)
    flat = jnp.stack([*network.students, *tasks.maps]).reshape(paths + tasks.count, -1)
    coordinates = _coordinates(flat)[:, None, :]
    return PathGated(tuple(coordinates[:paths]), network.gates), Tasks(coordinates[paths:], tasks.loss_share)


@precise
def compressed_by_row(network: PathGated | NeuronGated, tasks: Tasks) -> tuple[Any, Tasks]:
    """The same problem with every row in a basis of its own: d_out × (P + M) matrices, gates of either kind."""
    paths = len(network.students)
    rows = jnp.swapaxes(jnp.stack([*network.students, *tasks.maps]), 0, 1)
    coordinates = jnp.swapaxes(jax.vmap(_coordinates)(rows), 0, 1)
    return network.rebuilt(tuple(coordinates[:paths]), network.gates), Tasks(coordinates[paths:], tasks.loss_share)


def closed_process(
    network: PathGated,
    arms: Arm,
    tasks: Tasks,
    key: Array,
    *,
    step_size: Any,
    records: int,
    steps_per_record: int,
    observe: Watch,
    dtype: Any = jnp.float64,
) -> Process:
    """The dynamics of `joint_process` with `Population()`, in P + M coordinates; the same arguments, the same numbers.

    What is observed sees students and teachers as 1 × (P + M) matrices: loss, gates, norms and overlaps are exact,
    alignments of single rows are not to be had (`compressed_by_row` keeps them).
    """
    costly = arms.rule.regularizer.costs_weights
    require(not costly, "arms", "put no cost on weights, whose columns the closure does not know", "with such a cost")
    check_order(arms, tasks)
    small, goals = compressed(network, tasks)
    small, arms, goals = as_type(dtype, (small, arms, goals))

    def alone(arms: Arm) -> Process:
        count = jax.tree.leaves(arms)[0].shape[0]
        begin = {
            "students": jnp.broadcast_to(jnp.stack(small.students)[:, 0, :, None], (*_sizes(small), count)),
            "gates": jnp.broadcast_to(jnp.stack(small.gates)[:, None], (len(small.gates), count)),
        }
        watch = partial(_watch, observe)
        rate = partial(_rate, tasks.loss_share)
        clock = (step_size, records, steps_per_record)
        return descent_process(rate, begin, key, *clock, watch, _shown, draw=no_data, memory=(arms, goals))

    count = jax.tree.leaves(arms)[0].shape[0]
    return alone(arms) if count <= WIDEST else _in_tiles(alone, arms, count)


def _shown(step: Int[Array, ""], memory: tuple[Arm, Tasks]) -> tuple[JointDescent, Float[Array, "k arms"]]:
    """Every arm's rule, and what its task asks for."""
    arms, goals = memory
    weights = jnp.stack(jax.vmap(lambda blocks: blocks.shown(step, goals.count))(arms.blocks))
    return arms.rule, jnp.sum(goals.maps[:, 0, :, None] * weights[:, None, :], axis=0)


def _rate(
    loss_share: float, parameters: dict[str, Any], data: Any, stage: tuple[JointDescent, Float[Array, "k arms"]]
) -> dict[str, Any]:
    """Joint descent with arms along the last axis."""
    rule, target = stage
    students, gates = parameters["students"], parameters["gates"]
    error = loss_share * (target - jnp.sum(gates[:, None] * students, axis=0))
    uphill = jnp.sum(students * error[None], axis=1)
    return {
        "students": (gates / rule.weight_timescale[None])[:, None] * error[None],
        "gates": (uphill - rule.regularizer.slope_by_column(gates)) / rule.gate_timescale[None],
    }


def _watch(observe: Watch, state: State) -> Observed:
    """What is to be seen of every arm, as a `View` of small matrices."""
    rule, target = _shown(state.step, state.memory)

    def one(students: Any, gates: Any, rule: Any, target: Any) -> Observed:
        network = PathGated(tuple(students[:, None]), tuple(gates))
        return observe(View(network, rule, state.memory[1], target[None]))

    students, gates = state.parameters["students"], state.parameters["gates"]
    return jax.vmap(one, in_axes=(-1, -1, 0, -1))(students, gates, rule, target)


def _in_tiles(alone: Callable[[Arm], Process], arms: Arm, count: int) -> Process:
    """Many arms as tiles that go through a recording one after the other, each small enough for the cache.

    (XLA also shares out larger operations among threads, which costs more than the whole operation.)
    """
    tiles = -(-count // WIDEST)
    width = -(-count // tiles)
    padded = jax.tree.map(lambda leaf: leaf[jnp.minimum(jnp.arange(tiles * width), count - 1)], arms)
    cut = jax.tree.map(lambda leaf: leaf.reshape(tiles, width, *leaf.shape[1:]), padded)
    tile = alone(jax.tree.map(lambda leaf: leaf[0], cut))
    start = tile.initial
    many = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (tiles, *leaf.shape)), start.parameters)

    def each(work: Callable[[State], Any], state: State) -> Any:
        arms, goals = state.memory
        one = lambda part: work(State(state.time, state.step, part[0], (part[1], goals)))  # noqa: E731
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

    return Process(State(start.time, start.step, many, (cut, start.memory[1])), advance, observe, tile.times)


def _sizes(network: PathGated) -> tuple[int, int]:
    return len(network.students), network.students[0].shape[-1]


def _coordinates(vectors: Float[Array, "n d"]) -> Float[Array, "n n"]:
    """The vectors in an orthonormal basis of their span: Rᵀ of QR; short vectors are filled up with zeros."""
    count, size = vectors.shape
    padded = jnp.pad(vectors, ((0, 0), (0, max(0, count - size))))
    return jnp.linalg.qr(padded.T, mode="r").T
