"""The exact closure of joint descent under the expected gradient: P + M numbers for each path, whatever its size.

With infinitely many inputs a student only ever moves along W* − Σ c W, so that it never leaves the span of the initial
students and the teachers. In an orthonormal basis of that span every path is a vector of P + M coordinates which obeys
the very same equations: nothing is approximated, for steps of any size as for flow. Equivalently, everything follows
from the Gram matrix S of students and teachers: with e = (−c, 1_m) and a = κ(dt/τ_w)(c, 0),

    L = ½κ eᵀSe,    ∂L/∂c_p = −κ(Se)_p,    S ← S + a(Se)ᵀ + (Se)aᵀ + (eᵀSe) aaᵀ.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from festina.arrays import xp
from festina.errors import require
from festina.learning.joint import JointDescent, Watch, joint_process
from festina.learning.process import Process
from festina.networks.abstraction import NeuronGated, PathGated
from festina.precision import namespace, precise
from festina.worlds.blocks import Blocks
from festina.worlds.orthogonal import orthogonal_factor
from festina.worlds.tasks import Tasks


@precise
def compressed(network: PathGated, tasks: Tasks) -> tuple[PathGated, Tasks]:
    """The same problem with students and teachers as 1 × (P + M) matrices; loss and overlaps are unchanged.

    Args:
        network: P paths.
        tasks: M teachers of the same shape.

    Returns:
        The network and the tasks.

    Example:
        >>> tasks = fs.worlds.Tasks.orthogonal(jax.random.key(0), tasks=2, outputs=3, inputs=10)
        >>> network = fs.networks.PathGated.init(jax.random.key(1), paths=2, outputs=3, inputs=10)
        >>> small, goals = fs.learning.compressed(network, tasks)
        >>> small.map.shape, goals.maps.shape
        ((1, 4), (2, 1, 4))
        >>> bool(np.isclose(np.sum((goals.maps[0] - small.map) ** 2), np.sum((tasks.maps[0] - network.map) ** 2)))
        True
    """
    paths = len(network.students)
    flat = namespace(network, tasks).stack([*network.students, *tasks.maps]).reshape(paths + tasks.count, -1)
    coordinates = _coordinates(flat)[:, None, :]
    return PathGated(tuple(coordinates[:paths]), network.gates), Tasks(coordinates[paths:], tasks.loss_share)


@precise
def compressed_by_row(network: PathGated | NeuronGated, tasks: Tasks) -> tuple[Any, Tasks]:
    """The same problem with every row in a basis of its own: d_out × (P + M) matrices, gates of either kind.

    Args:
        network: P paths, with a gate for each path or for each row.
        tasks: M teachers of the same shape.

    Returns:
        The network and the tasks.

    Example:
        >>> tasks = fs.worlds.Tasks.orthogonal(jax.random.key(0), tasks=2, outputs=3, inputs=10)
        >>> network = fs.networks.PathGated.init(jax.random.key(1), paths=2, outputs=3, inputs=10)
        >>> small, goals = fs.learning.compressed_by_row(network, tasks)
        >>> small.map.shape, goals.maps.shape
        ((3, 4), (2, 3, 4))
    """
    paths = len(network.students)
    rows = namespace(network, tasks).stack([*network.students, *tasks.maps], axis=1)
    coordinates = _coordinates(rows).swapaxes(0, 1)
    return network.rebuilt(tuple(coordinates[:paths]), network.gates), Tasks(coordinates[paths:], tasks.loss_share)


@precise
def teacher_bases(tasks: Tasks) -> Float[Any, "o i m"]:
    """An orthonormal basis of the span of each row's teachers, the first vector along the first of them.

    Args:
        tasks: M teachers, at most as many as inputs.

    Example:
        >>> tasks = fs.worlds.Tasks.similar(jax.random.key(0), cosine=0.5, tasks=2, outputs=3, inputs=10)
        >>> bases = fs.learning.teacher_bases(tasks)
        >>> bases.shape, bool(np.allclose(bases[0].T @ bases[0], np.eye(2)))
        ((3, 10, 2), True)
    """
    count, _, inputs = tasks.maps.shape
    require(count <= inputs, "tasks", f"be at most as many as inputs, {inputs}", count)
    each_row = xp.swapaxes(tasks.maps, 0, 1)
    if isinstance(each_row, np.ndarray):
        return np.stack([orthogonal_factor(rows.T) for rows in each_row])
    return jax.vmap(lambda rows: orthogonal_factor(rows.T))(each_row)


@precise
def spanned_by_row(network: PathGated, tasks: Tasks) -> tuple[PathGated, Tasks]:
    """What the teachers of each row see of a problem: d_out × M matrices; exact while students stay in their span.

    Args:
        network: P paths.
        tasks: M teachers of the same shape.

    Returns:
        The network and the tasks.

    Example:
        >>> tasks = fs.worlds.Tasks.orthogonal(jax.random.key(0), tasks=2, outputs=3, inputs=10)
        >>> network = fs.networks.PathGated.init(jax.random.key(1), paths=2, outputs=3, inputs=10)
        >>> small, goals = fs.learning.spanned_by_row(network, tasks)
        >>> small.map.shape, goals.maps.shape
        ((3, 2), (2, 3, 2))
    """
    bases = teacher_bases(tasks)

    def along(maps: Float[Any, "n o i"]) -> Float[Array, "n o m"]:
        return jnp.einsum("noi,oim->nom", maps, bases)

    students = along(jnp.stack(network.students))
    return network.rebuilt(tuple(students), network.gates), Tasks(along(tasks.maps), tasks.loss_share)


@precise
def spanned_by_mean(network: PathGated, tasks: Tasks) -> tuple[PathGated, Tasks]:
    """The same with one row that stands for all, √d_out times their mean; exact if all rows are equal in it.

    This is the reduced model of Sandbrink et al. 2024 (eqs 15 and 16), in units in which teachers have the length that
    they have in the full one: timescales and bounds are those of the full model, and so are loss and overlaps.

    Args:
        network: P paths.
        tasks: M teachers of the same shape.

    Returns:
        The network and the tasks.

    Example:
        >>> tasks = fs.worlds.Tasks.orthogonal(jax.random.key(0), tasks=2, outputs=3, inputs=10)
        >>> network = fs.networks.PathGated.init(jax.random.key(1), paths=2, outputs=3, inputs=10)
        >>> small, goals = fs.learning.spanned_by_mean(network, tasks)
        >>> small.map.shape, goals.maps.shape
        ((1, 2), (2, 1, 2))
    """
    by_row, goals = spanned_by_row(network, tasks)

    def mean(maps: Float[Any, "*n o m"]) -> Float[Array, "*n 1 m"]:
        return maps.shape[-2] ** 0.5 * jnp.mean(maps, axis=-2, keepdims=True)

    return by_row.rebuilt(tuple(map(mean, by_row.students)), by_row.gates), Tasks(mean(goals.maps), goals.loss_share)


def closed_process(
    network: PathGated,
    rule: JointDescent,
    blocks: Blocks,
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

    Args:
        network: path-gated, at the start.
        rule: how it learns, with no cost on weights.
        blocks: which task is shown when.
        tasks: the teachers, in the numbering of the blocks.
        key: not used, since no data are drawn.
        step_size: dt.
        records: recordings after the first.
        steps_per_record: steps between two of them.
        observe: what to record, of the network seen as a `View`.
        dtype: of weights and gates.

    Returns:
        A `Process`, to be run by `drive`.

    Example:
        >>> tasks = fs.worlds.Tasks.orthogonal(jax.random.key(0), tasks=2, outputs=3, inputs=10)
        >>> network = fs.networks.PathGated.init(jax.random.key(1), paths=2, outputs=3, inputs=10)
        >>> rule = fs.learning.JointDescent(1.3, 0.03, fs.networks.Regularizer(0.5, 0.1))
        >>> def build(inputs):
        ...     blocks, observe = fs.worlds.Blocks.of((0, 1), 1.0, 0.01), lambda view: {"loss": view.loss}
        ...     how = dict(step_size=0.01, records=4, steps_per_record=50, observe=observe)
        ...     return fs.learning.closed_process(network, rule, blocks, tasks, inputs["key"], **how)
        >>> fs.learning.drive(build, {"key": jax.random.split(jax.random.key(2), 1)}).state.parameters.students[0].shape
        (1, 1, 4)
    """
    costly = rule.regularizer.costs_weights
    require(not costly, "rule", "put no cost on weights, whose columns the closure does not know", "with such a cost")
    small, goals = compressed(network, tasks)
    return joint_process(
        small,
        rule,
        blocks,
        goals,
        key,
        step_size=step_size,
        records=records,
        steps_per_record=steps_per_record,
        observe=observe,
        dtype=dtype,
    )


def _coordinates(vectors: Float[Any, "*o n d"]) -> Float[Any, "*o n n"]:
    """The vectors in an orthonormal basis of their span: Rᵀ of QR; short vectors are filled up with zeros."""
    library, (count, size) = namespace(vectors), vectors.shape[-2:]
    padded = library.pad(vectors, [(0, 0)] * (vectors.ndim - 1) + [(0, max(0, count - size))])
    return library.linalg.qr(padded.swapaxes(-1, -2), mode="r").swapaxes(-1, -2)
