"""How far students have specialised on teachers, and gates on tasks.

Students and teachers are unordered: before anything is said of "the student of teacher m", paths are matched to
teachers one to one. (Sorting each student to the teacher it resembles most, as is often done, is no permutation: two
students may claim one teacher.)
"""

import itertools
import math
from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float, Int

from festina._lazy import optimize
from festina.errors import require
from festina.measures.stages import crossing_time

ROUNDING = 1e-9  # of times
FEW = 24  # assignments that are sooner tried than SciPy's optimisation is imported


def matched_paths(alignment: Float[np.ndarray, "*batch m p"]) -> Int[np.ndarray, "*batch m"]:
    """The path of each teacher: the assignment with the largest sum of alignments.

    Few assignments are all tried, many searched by the Hungarian method.

    Args:
        alignment: of every teacher with every path, usually averaged over time; at least as many paths as teachers.

    Returns:
        The number of the path of each teacher.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> alignment = np.array([[0.9, 0.8], [0.7, 0.1]])  # both teachers are most like the first student
        >>> fs.measures.matched_paths(alignment)
        array([1, 0])
    """
    *batch, teachers, paths = alignment.shape
    require(paths >= teachers, "alignment", "have at least as many paths as teachers", alignment.shape)
    tables = np.nan_to_num(alignment.reshape(-1, teachers, paths))
    if math.perm(paths, teachers) <= FEW:
        orders = np.asarray([*itertools.permutations(range(paths), teachers)], int)
        sums = tables[:, np.arange(teachers), orders].sum(axis=-1)
        return orders[np.argmax(sums, axis=1)].reshape(*batch, teachers)
    found = [optimize.linear_sum_assignment(table, maximize=True)[1] for table in tables]
    return np.asarray(found, int).reshape(*batch, teachers)


def take_paths(values: Float[np.ndarray, "..."], order: Int[np.ndarray, "..."], axis: int) -> Float[np.ndarray, "..."]:
    """Values with the paths along ``axis`` in the order of ``matched_paths``; the axes of ``order`` lead.

    Paths that belong to no teacher are left out.

    Args:
        values: with the leading axes of the order, and paths along one of the others.
        order: the path of each teacher, on the last axis.
        axis: of the values, along which paths lie.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> gates = np.array([[0.1, 0.9, 0.0], [0.8, 0.2, 0.0]])  # of three paths at two times
        >>> fs.measures.take_paths(gates, np.array([1, 0]), axis=-1)
        array([[0.9, 0.1],
               [0.2, 0.8]])
    """
    batch = order.ndim - 1
    axis = axis % values.ndim
    require(axis >= batch, "axis", "come after the leading axes of the order", axis)
    shape = [*order.shape[:-1], *([1] * (values.ndim - batch))]
    shape[axis] = order.shape[-1]
    return np.take_along_axis(values, order.reshape(shape), axis=axis)


def total_alignment(
    components: Float[np.ndarray, "*batch m p"],
    norms: Float[np.ndarray, "*batch p"],
    order: Int[np.ndarray, "*batch m"] | None = None,
) -> Float[np.ndarray, "*batch"]:
    """The cosine between all teachers and all matched students, each set strung together into one vector.

    For teachers of equal norm, with ``a_mp = ⟨W*m, W^p⟩ / |W*m|`` it is

        Σ_m a_mσ(m) / √(M Σ_m ‖W^σ(m)‖²):

    1 if every teacher has a student of its own, 1/√M if all students are the mean of M orthogonal teachers.

    Args:
        components: a_mp, the length of every student along every teacher.
        norms: |W^p|.
        order: the path of each teacher; unless given, the matching with the largest sum of components.

    Returns:
        One cosine for each set of students; NaN where all of them are zero.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> own, mean = np.eye(2), np.full((2, 2), 0.5)  # one teacher each, or both students half of both
        >>> fs.measures.total_alignment(np.stack([own, mean]), np.array([[1.0, 1.0], [0.5**0.5, 0.5**0.5]])).round(3)
        array([1.   , 0.707])
    """
    if order is None:
        order = matched_paths(components)
    matched = np.take_along_axis(components, order[..., None], axis=-1)[..., 0].sum(axis=-1)
    students = np.take_along_axis(norms, order, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(matched / np.sqrt(order.shape[-1] * (students**2).sum(axis=-1)))


def kept_shares(
    components: Float[np.ndarray, "*batch m p"], overlaps: Float[np.ndarray, "*batch p p"], cost: float
) -> Float[np.ndarray, "*batch m"]:
    """What gates alone could still make of each teacher, from the students as they are.

    With a small cost η² of gates, and lengths in units of the teachers' norm, it is

        1 − min_c [|W*m − Σ_p c^p W^p|² + η²|c|²]/|W*m|² = a_mᵀ (G + η²)⁻¹ a_m,    G_pq = ⟨W^p, W^q⟩,

    and without that cost the squared projection of a unit teacher on the span of the students; η takes from that span
    the directions in which students hardly differ. For orthogonal teachers the shares of all sum to at most the number
    of students: Σ_k s_k²/(s_k² + η²) ≤ P, with the singular values s of all students.

    Args:
        components: a_mp, the length of every student along every teacher.
        overlaps: G.
        cost: η² > 0 of gates, times the square of the teachers' norm. A student or teacher that is not there is NaN.

    Returns:
        One share for each teacher, from 0 to 1.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> students = np.array([[1.0, 1.0, 0.0]])  # one student for three orthogonal teachers, half of two of them
        >>> fs.measures.kept_shares(students.T, students @ students.T, cost=1e-9).round(6)
        array([0.5, 0.5, 0. ])
    """
    require(cost > 0, "cost", "be positive", cost)
    there = ~np.isnan(components).all(axis=-1)
    lengths, gram = np.nan_to_num(components), np.nan_to_num(overlaps) + cost * np.eye(overlaps.shape[-1])
    gates = np.linalg.solve(gram, np.swapaxes(lengths, -1, -2))
    return np.asarray(np.where(there, np.einsum("...mp,...pm->...m", lengths, gates), np.nan))


def one_to_one(alignment: Float[np.ndarray, "*batch m m"]) -> Float[np.ndarray, "*batch"]:
    """Alignment of a teacher with its own student less that with the others, in the mean over M ≥ 2 teachers.

    1 − ρ if every student is the teacher of its number, and teachers have cosines ρ; 0 if all students are equal,
    whatever they are.

    Args:
        alignment: of teachers (rows) with the students matched to them (columns).

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> own, same = np.eye(2), np.array([[0.9, 0.9], [0.1, 0.1]])
        >>> fs.measures.one_to_one(np.stack([own, same])).round(6)
        array([1., 0.])
    """
    teachers = alignment.shape[-1]
    own = np.eye(teachers)
    return np.asarray((alignment * (own - (1.0 - own) / (teachers - 1))).sum(axis=(-2, -1)) / teachers)


def late_difference(
    alignment: Float[np.ndarray, "*batch time 2 p"], portion: int = 8, smoothing: int = 10
) -> Float[np.ndarray, "*batch"]:
    """Specialisation as the published code of Sandbrink et al. 2024 measures it: by how much the alignments of any
    student with two teachers differ at most, at any time late in training.

    A student that has just learned the task shown is as different as one that keeps its task: see `one_to_one`.

    Args:
        alignment: of both teachers with every student over time.
        portion: the last so-manieth part of the time counts,
        smoothing: averaged over a so-manieth part of it (by a window that finds zeros beyond its ends, as published).

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> one_student = np.tile([[0.8], [0.3]], (40, 1, 1))  # its cosines with two teachers at 40 times
        >>> float(fs.measures.late_difference(one_student))
        0.5
    """
    difference = alignment[..., 1, :] - alignment[..., 0, :]
    tail = difference[..., -max(1, difference.shape[-2] // portion) :, :]
    width = max(1, tail.shape[-2] // smoothing)
    window = np.ones(width) / width
    smooth = np.apply_along_axis(lambda course: np.convolve(course, window, "same"), -2, tail)
    return np.asarray(np.abs(smooth).max(axis=(-2, -1)))


def _blocks(
    time: Float[np.ndarray, " time"], edges: Float[np.ndarray, " edges"]
) -> Iterator[tuple[float, Bool[np.ndarray, " time"]]]:
    """When each block begins, and which recordings are within it; one on a boundary belongs to the block after it."""
    for start, end in itertools.pairwise(edges):
        yield float(start), (time >= start - ROUNDING) & (time < end - ROUNDING)


def times_in_blocks(
    time: Float[np.ndarray, " time"],
    loss: Float[np.ndarray, "*batch time"],
    edges: Float[np.ndarray, " edges"],
    level: float,
) -> Float[np.ndarray, "*batch blocks"]:
    """How long into each block the loss first falls to ``level``: linear between recordings, NaN if it does not.

    Args:
        time: of the recordings.
        loss: on the task shown from that moment on.
        edges: when blocks begin, rising, and at last when the last one ends.
        level: of the loss.

    Returns:
        One duration for each block.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> time, loss = np.arange(6.0), np.array([4.0, 2.0, 0.0, 4.0, 0.0, 0.0])  # the task changes at t = 3
        >>> fs.measures.times_in_blocks(time, loss, np.array([0.0, 3.0, 6.0]), level=1.0)
        array([1.5 , 0.75])
    """
    found = np.full((*loss.shape[:-1], len(edges) - 1), np.nan)
    for block, (start, inside) in enumerate(_blocks(time, edges)):
        if inside.any():
            found[..., block] = crossing_time(time[inside] - start, -loss[..., inside], -level)
    return found


def steepest_in_blocks(
    time: Float[np.ndarray, " time"], values: Float[np.ndarray, "*batch time"], edges: Float[np.ndarray, " edges"]
) -> Float[np.ndarray, "*batch blocks"]:
    """The largest |d(values)/dt| within each block; NaN for a block with fewer than two recordings.

    Args:
        time: of the recordings.
        values: at these times, on the last axis.
        edges: when blocks begin, rising, and at last when the last one ends.

    Returns:
        One slope for each block.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> time, values = np.arange(6.0), np.array([0.0, 1.0, 2.0, 2.0, -1.0, -4.0])
        >>> fs.measures.steepest_in_blocks(time, values, np.array([0.0, 3.0, 6.0]))
        array([1., 3.])
    """
    found = np.full((*values.shape[:-1], len(edges) - 1), np.nan)
    for block, (_, inside) in enumerate(_blocks(time, edges)):
        if inside.sum() >= 2:
            slope = np.gradient(values[..., inside], time[inside], axis=-1)
            found[..., block] = np.abs(slope).max(axis=-1)
    return found


def recovery_times(
    time: Float[np.ndarray, " time"],
    values: Float[np.ndarray, "*batch time"],
    edges: Float[np.ndarray, " edges"],
    share: float,
) -> Float[np.ndarray, "*batch switches"]:
    """How long into each block but the first until values are back at a share of their last before it; NaN if never.

    Args:
        time: of the recordings.
        values: such as the accuracy in the task shown from that moment on.
        edges: when blocks begin, rising, and at last when the last one ends.
        share: of the last value before the switch.

    Returns:
        One duration for each switch.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> time, accuracy = np.arange(6.0), np.array([0.2, 0.6, 1.0, 0.1, 0.7, 0.95])  # the task changes at t = 3
        >>> fs.measures.recovery_times(time, accuracy, np.array([0.0, 3.0, 6.0]), share=0.9)
        array([2.])
    """
    before = at_block_ends(time, values, edges)
    found = np.full((*values.shape[:-1], len(edges) - 2), np.nan)
    for switch, (start, inside) in enumerate(_blocks(time, edges[1:])):
        back = values[..., inside] >= share * before[..., switch, None]
        first = time[inside][back.argmax(axis=-1)] - start
        found[..., switch] = np.where(back.any(axis=-1), first, np.nan)
    return found


def at_block_ends(
    time: Float[np.ndarray, " time"], values: Float[np.ndarray, "*batch time"], edges: Float[np.ndarray, " edges"]
) -> Float[np.ndarray, "*batch blocks"]:
    """The last recording within each block; one on a boundary belongs to the block that begins there.

    NaN for a block in whose second half nothing was recorded.

    Args:
        time: of the recordings.
        values: at these times, on the last axis.
        edges: when blocks begin, rising, and at last when the last one ends.

    Returns:
        One value for each block.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> time, loss = np.arange(6.0), np.array([4.0, 2.0, 0.5, 4.0, 1.0, 0.25])
        >>> fs.measures.at_block_ends(time, loss, np.array([0.0, 3.0, 6.0]))
        array([0.5 , 0.25])
    """
    last = np.searchsorted(time, edges[1:] - ROUNDING) - 1
    late = time[last] >= 0.5 * (edges[:-1] + edges[1:]) - ROUNDING
    return np.where(late, values[..., last], np.nan)


def gate_separation(gates: Float[np.ndarray, "*batch p"]) -> Float[np.ndarray, "*batch"]:
    """The largest gate less the second largest: 1 where one gate is open and all others are closed.

    Args:
        gates: at least two, on the last axis.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> fs.measures.gate_separation(np.array([[0.0, 1.0, 0.0], [0.5, 0.25, 0.25]]))
        array([1.  , 0.25])
    """
    require(gates.shape[-1] >= 2, "gates", "be at least two", gates.shape)
    ranked = np.sort(gates, axis=-1)
    return np.asarray(ranked[..., -1] - ranked[..., -2])


def selectivity(activity: Float[np.ndarray, "*batch m p"]) -> Float[np.ndarray, "*batch p"]:
    """How much more active a gate is in its preferred task than in the others, (a − b)/(|a| + |b|).

    a is its mean activity in the task that drives it most, b its mean over all other tasks; 1 for a gate that one task
    alone opens, 0 for one that does not care.

    Args:
        activity: mean activity of each gate in each task.

    Returns:
        One number for each gate.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> fs.measures.selectivity(np.array([[1.0, 0.5], [0.0, 0.5], [0.0, 0.5]]))  # three tasks, two gates
        array([1., 0.])
    """
    tasks = activity.shape[-2]
    require(tasks >= 2, "activity", "hold at least two tasks", activity.shape)
    best = activity.max(axis=-2)
    rest = (activity.sum(axis=-2) - best) / (tasks - 1)
    size = np.abs(best) + np.abs(rest)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(size > 0, (best - rest) / size, 0.0)


def joint_turn(alignment: Float[np.ndarray, "*batch time m m"]) -> Float[np.ndarray, "*batch time"]:
    """How far students have turned from their teachers towards the next ones, all together, in degrees.

    Students in the order of their teachers may turn about the direction of the teachers' sum. With the mean cosine d_k
    of students with the k-th teacher after their own, the angle is that of Σ_k d_k exp(2πik/M): 0 where students are
    their teachers, 360/M where each is the next one. It goes on beyond 180 degrees, counted from the end, where it is
    well defined.

    Args:
        alignment: cosines of every teacher with every student over time.

    Returns:
        The angle at every time.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> own, following = np.eye(3), np.eye(3)[[2, 0, 1]]  # student p is teacher p, or teacher p + 1
        >>> fs.measures.joint_turn(np.stack([following, own])).round(6)
        array([120.,   0.])
    """
    teachers = alignment.shape[-1]
    after = (np.arange(teachers)[:, None] - np.arange(teachers)[None, :]) % teachers
    around = (alignment * np.exp(2j * np.pi * after / teachers)).sum(axis=(-2, -1))
    return np.degrees(np.unwrap(np.angle(around[..., ::-1]), axis=-1)[..., ::-1])


def preference(
    alignment: Float[np.ndarray, "*batch m m"], groups: tuple[tuple[int, ...], ...]
) -> Float[np.ndarray, "*batch"]:
    """How much better students agree with their own teachers than with any mean of a group of them; mean of all.

    Teachers are orthogonal and of one norm, so that the cosine with (A + B)/2 is the sum of those with A and B over √2.

    Args:
        alignment: cosines of every teacher with every student, students in the order of their teachers.
        groups: teachers of which each mean is made, as ((0, 1), (1, 2), (2, 0)).

    Returns:
        One number for each set of students, above zero if they are more like teachers and below if more like means.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> own = np.eye(3)  # every student is its teacher, and has a cosine 1/√2 with two of the means
        >>> round(float(fs.measures.preference(own, ((0, 1), (1, 2), (2, 0)))), 3)
        0.293
    """
    means = [alignment[..., list(group), :].sum(axis=-2) / len(group) ** 0.5 for group in groups]
    return np.asarray((np.einsum("...mm->...m", alignment) - np.max(means, axis=0)).mean(axis=-1))
