"""Rectified networks: a sparse code. A few neurons grow to size √N and carry the classes, all others stay in the bulk.

For rectified units G(b) = log(½ + e^{b²/2}Φ(b)), and the density of readouts can be normalised only while

    h(t) = max_{|u|=1} s Σ_c n_c (u·t_c)₊² ≤ 1.

On that boundary neurons condense. An outlier has a = √N ā and z = √N z̄ with z̄_c = (ā·t_c)₊, and

    T t_c − y_c + f_bulk,c + Σ_i z̄_ic ā_i = 0,    ā_i = s Σ_c n_c t_c (t_c·ā_i)₊,    K_1 = K_bulk + Σ_i z̄_i z̄_iᵀ.

That h = 1, and not more in any direction, certifies a solution. What several outliers with readouts in one
direction do, one of them can do as well: how many there are is not fixed at this order, but their sum is.

The bulk is an integral over readouts around its own maximum. Beyond, in the directions of outliers, lies a tail that is
smaller by a factor 2^{−n}, n the number of examples for which such an outlier is silent; it is left out. Where n < 7
bulk and tail are one: the integral then reaches as far as the tail does, no neuron condenses, and should one have to,
there is no solution of this kind.

The model is that of A. van Meegen, H. Sompolinsky, "Coding schemes in neural networks learning classification tasks"
(2024). The equations were derived independently and checked against posterior sampling.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
from jaxtyping import Array, Float, Int

from festina import draws
from festina._lazy import optimize
from festina.errors import require
from festina.theory.coding import _answers
from festina.theory.coding._bulk import SILENT, bulk_builder, certificate, holds, silent, tail
from festina.theory.coding.dual import COOLING, SOLVED, Neurons, Task, class_task, minimise
from festina.theory.coding.prediction import Codes, Prediction, Predictor, check_test_inputs
from festina.theory.coding.redundant import draw_from
from festina.theory.coding.units import RECTIFIED

ONSET_TOLERANCE = 1e-4
SLACK = 1e-6  # by which h may exceed 1
SEED_SIZE = 0.1  # |ā| of a new outlier, where the search for its size begins
FAINTEST = 1e-4  # |ā| of an outlier; below it is none
PARALLEL = 1.0 - 1e-6  # cosine from which on two outliers are one


@dataclass(frozen=True)
class Sparse(Prediction):
    """A prediction made by :func:`sparse`; ``diagnostics["certificate"]`` is h, 1 where there are outliers.

    Attributes:
        bulk: the density of readouts of all other neurons.
        outliers: ā_i, in all outputs.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> targets = np.array([[1.0], [-1.0]])  # two classes of ten, one output
        >>> prediction = fs.theory.coding.sparse([10, 10], targets, temperature=0.3, readout_variance=0.2)
        >>> prediction.outliers.shape, round(prediction.diagnostics["certificate"], 6)
        ((2, 1), 1.0)
    """

    bulk: Neurons
    outliers: Float[np.ndarray, "outliers outputs"]

    @property
    def codes(self) -> Codes | None:
        """One for each outlier, the largest first; none at high temperature."""
        if len(self.outliers) == 0:
            return None
        activities = np.maximum(self.outliers @ self._class_residual.T, 0.0)
        size = np.sum(self.outliers**2, axis=1)
        subsets = activities > 0.5 * activities.max(axis=1)[:, None]
        return Codes(subsets, size / size.sum(), self.outliers, activities)

    def predict(
        self, cross: Float[np.ndarray, "inputs examples"], diagonal: Float[np.ndarray, " inputs"], neurons: int
    ) -> Predictor:
        """The predictor at other inputs.

        Outliers are those of a network of N neurons: at the examples an outlier is silent for, its preactivation is
        negative and of order 1, which at other inputs shows next to √N z̄.
        """
        cross, diagonal = check_test_inputs(cross, diagonal, neurons, len(self.mean))
        return _answers.predict(self.bulk, cross, diagonal, neurons, self.outliers @ self.bulk.task.basis)

    def draw_readouts(self, key: Array, count: int) -> Float[np.ndarray, "count outputs"]:
        """Readouts of a network of ``count`` neurons: every outlier once, and the bulk."""
        require(count > len(self.outliers), "count", f"be more than the {len(self.outliers)} outliers", count)
        bulk = draw_from(self.bulk, key, count - len(self.outliers))
        return np.concatenate([np.sqrt(count) * self.outliers, bulk])

    def draw_neurons(
        self, key: Array, count: int
    ) -> tuple[Float[np.ndarray, "count outputs"], Float[np.ndarray, "count examples"]]:
        """Readouts a, and preactivations z at the training inputs, of a network of ``count`` neurons."""
        for_readouts, for_inputs = draws.split(key, 2)
        readouts = self.draw_readouts(for_readouts, count)
        return readouts, self.bulk.task.unit.draw(for_inputs, readouts @ self.residual.T)

    @property
    def bulk_variance(self) -> float:
        """tr Cov(a) of the bulk: on the grid where targets reach, and s in each other output."""
        mean = self.bulk.probability @ self.bulk.readouts
        inside = self.bulk.probability @ self.bulk.readouts**2 - mean**2
        idle = self.residual.shape[1] - len(mean)
        return float(inside.sum() + idle * self.bulk.task.readout_variance)

    @property
    def _class_residual(self) -> Float[np.ndarray, "classes outputs"]:
        return self.bulk.residual @ self.bulk.task.basis.T


def sparse(
    counts: Sequence[int] | Int[np.ndarray, " classes"],
    targets: Float[np.ndarray, "classes outputs"],
    temperature: float,
    readout_variance: float,
) -> Sparse:
    """One hidden layer of rectified neurons, for orthogonal inputs in classes.

    Args:
        counts: n_c, examples of each class; examples are in the order of their classes.
        targets: y_c of each class; of rank 1 or 2.
        temperature: T.
        readout_variance: s.

    Returns:
        A `Sparse` prediction.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> targets = np.array([[1.0], [-1.0]])  # two classes of ten, one output
        >>> prediction = fs.theory.coding.sparse([10, 10], targets, temperature=0.3, readout_variance=0.2)
        >>> prediction.codes.subsets.sum(axis=1)  # two neurons carry everything, one a class
        array([1, 1])
        >>> prediction.mean[[0, -1], 0].round(4)  # y (1 − T/√(s n))
        array([ 0.7879, -0.7879])
    """
    task = _checked_task(counts, targets, temperature, readout_variance)
    solved = _condense(task, *_hotter(task))
    _check_solved(*solved)
    return _sparse(*solved)


def _checked_task(
    counts: Sequence[int] | np.ndarray, targets: np.ndarray, temperature: float, readout_variance: float
) -> Task:
    task = class_task(counts, targets, temperature, readout_variance, RECTIFIED)
    require(task.targets.shape[1] <= 2, "targets", "have a rank of at most 2", task.targets.shape[1])
    return task


def _hotter(task: Task) -> tuple[np.ndarray, np.ndarray]:
    """The residual and the outliers at the last temperature before the task's, of a course that is every task's."""
    hot = _hottest(task)
    if task.temperature >= hot:
        return _beginning(task), np.zeros((0, task.targets.shape[1]))
    number = int(np.ceil(np.log(hot / task.temperature) / -np.log(COOLING))) - 1
    targets = tuple(map(tuple, task.targets.tolist()))
    for each in range(number):  # from above, so that none has to go far back
        _followed(tuple(task.counts.tolist()), targets, task.readout_variance, each)
    return _followed(tuple(task.counts.tolist()), targets, task.readout_variance, number)


@lru_cache(maxsize=4096)
def _followed(
    counts: tuple[float, ...], targets: tuple[tuple[float, ...], ...], readout_variance: float, number: int
) -> tuple[np.ndarray, np.ndarray]:
    """The residual and the outliers at one of the temperatures on the way down from a hot one.

    They are kept: what is asked at many temperatures, as by who moves a slider, has nearly all of its way in common.
    """
    rows = np.array(targets)
    task = Task(np.array(counts), rows, np.eye(rows.shape[1]), 1.0, readout_variance, RECTIFIED)
    task = task.at(_hottest(task) * COOLING**number)
    begin = _beginning(task), np.zeros((0, rows.shape[1]))
    above = _followed(counts, targets, readout_variance, number - 1) if number > 0 else begin
    bulk, outliers, gap = _condense(task, *above)
    _check_solved(bulk, outliers, gap)
    return bulk.residual, outliers


def _hottest(task: Task) -> float:
    """A temperature at which the residual is nearly Y/T."""
    return 4.0 * float(np.abs(task.targets).max())


def _beginning(task: Task) -> Float[np.ndarray, "classes rank"]:
    """A residual to begin with: nearly Y/T, well within h < 1."""
    residual = task.targets / max(_hottest(task), task.temperature)
    return residual / np.sqrt(max(1.0, 2.0 * tail(task, residual)))


def _course(task: Task) -> tuple[Float[np.ndarray, " temperatures"], Float[np.ndarray, "classes rank"]]:
    """Temperatures from a hot one down to the task's, and a residual to begin with."""
    hot = max(_hottest(task), task.temperature)
    steps = 1 + int(np.ceil(np.log(hot / task.temperature) / -np.log(COOLING)))
    return np.geomspace(hot, task.temperature, steps), _beginning(task)


def _check_solved(bulk: Neurons, outliers: np.ndarray, gap: float) -> None:
    """Refuse numbers that solve nothing."""
    task = bulk.task
    reached = f"at T = {task.temperature:.3g}"
    solved = gap < SOLVED * float(np.abs(task.targets).max())
    must = "be such that the equations can be followed: smaller, or at a higher temperature"
    require(solved, "targets", must, f"such that {reached} they are off by {gap:.2g}")
    must = "be smaller, or at a higher temperature: the density of readouts is too wide for a grid"
    require(holds(task, bulk.residual), "targets", must, f"such that {reached} h = {tail(task, bulk.residual):.5g}")
    least = float(np.min(silent(task, bulk.residual, outliers), initial=SILENT))
    must = f"have {SILENT} examples or more for which an outlier is silent, or it cannot be told from the bulk"
    require(least >= SILENT, "counts", must, f"such that there are {least:.0f} {reached}")


def onset_temperatures(
    counts: Sequence[int] | Int[np.ndarray, " classes"],
    targets: Float[np.ndarray, "classes outputs"],
    readout_variance: float,
    lowest: float = 0.05,
) -> list[float]:
    """Temperatures at which outliers appear on the way down to ``lowest``, each to a part in 10⁴.

    Args:
        counts: n_c, examples of each class.
        targets: y_c of each class; of rank 1 or 2.
        readout_variance: s.
        lowest: the temperature at which to stop.

    Returns:
        One temperature for each outlier, falling.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> targets = np.array([[1.0], [-1.0]])  # both outliers appear together
        >>> onsets = fs.theory.coding.sparse_onsets([10, 10], targets, readout_variance=0.2, lowest=0.3)
        >>> np.round(onsets, 3).tolist()
        [0.945, 0.945]
    """
    task = _checked_task(counts, targets, lowest, readout_variance)
    course, residual = _course(task)
    outliers, above = np.zeros((0, task.targets.shape[1])), float(course[0])
    found: list[float] = []
    for here in course:
        bulk, now, gap = _condense(task.at(float(here)), residual, outliers)
        _check_solved(bulk, now, gap)
        while len(now) > len(outliers):
            above, residual, grown = _next_onset(task, residual, outliers, above, float(here))
            found += [above] * (len(grown) - len(outliers))
            outliers = grown
        residual, outliers, above = bulk.residual, now, float(here)
    return found


def _next_onset(
    task: Task, residual: np.ndarray, outliers: np.ndarray, above: float, below: float
) -> tuple[float, np.ndarray, np.ndarray]:
    """The highest temperature between two at which there are more outliers, with the solution just below it."""
    grown = residual, outliers
    while above - below > ONSET_TOLERANCE * below:
        middle = 0.5 * (above + below)
        bulk, now, _ = _condense(task.at(middle), residual, outliers)
        if len(now) > len(outliers):
            below, grown = middle, (bulk.residual, now)
        else:
            above, residual = middle, bulk.residual
    return below, *grown


def _sparse(bulk: Neurons, outliers: np.ndarray, gap: float) -> Sparse:
    task, labels = bulk.task, bulk.task.labels
    order = np.argsort(-np.sum(outliers**2, axis=1))
    outliers = outliers[order]
    drive = np.maximum(bulk.residual @ outliers.T, 0.0)
    kernel = bulk.kernel + (drive @ drive.T)[np.ix_(labels, labels)]
    answers = (bulk.answers + drive @ outliers) @ task.basis.T
    height = certificate(task, bulk.residual)[0]
    return Sparse(
        (kernel,),
        (bulk.residual @ task.basis.T)[labels],
        answers[labels],
        bulk,
        outliers @ task.basis.T,
        diagnostics={"gap": gap, "certificate": height},
    )


def _condense(task: Task, residual: np.ndarray, outliers: np.ndarray) -> tuple[Neurons, np.ndarray, float]:
    """Solve with the outliers there are; while h exceeds 1 somewhere, let one more condense in that direction."""
    for _ in range(2 * len(task.counts) + 2):
        bulk, outliers, gap = _solve(task, residual, outliers)
        height, direction = certificate(task, bulk.residual)
        if height <= 1.0 + SLACK:
            return bulk, outliers, gap
        outliers = _merged(np.concatenate([outliers, SEED_SIZE * direction[None]]))
        residual = bulk.residual / np.sqrt(height)
    return bulk, outliers, gap  # pyright: ignore[reportPossiblyUnboundVariable] (after one round at least)


def _merged(outliers: np.ndarray) -> np.ndarray:
    """One outlier for all in one direction, which do what it does: how they share it is not fixed by the equations."""
    kept: list[np.ndarray] = []
    for each in outliers:
        size = np.linalg.norm(each)
        near = [k for k, one in enumerate(kept) if one @ each > PARALLEL * np.linalg.norm(one) * size]
        if near:
            kept[near[0]] = kept[near[0]] * np.sqrt(1.0 + (size / np.linalg.norm(kept[near[0]])) ** 2)
        else:
            kept.append(each)
    return np.array(kept).reshape(-1, outliers.shape[1])


def _solve(task: Task, residual: np.ndarray, outliers: np.ndarray) -> tuple[Neurons, np.ndarray, float]:
    """t and the ā_i at a given number of outliers, by a root search from where they were; the faint ones are let go."""
    build = bulk_builder(task)
    if len(outliers) == 0:
        bulk, gap = minimise(build, residual, within=partial(holds, task))
        return bulk, outliers, gap
    cut = residual.size

    def unpack(flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return flat[:cut].reshape(residual.shape), flat[cut:].reshape(outliers.shape)

    @lru_cache(maxsize=2)
    def bulk_at(here: bytes) -> Neurons:
        return build(np.frombuffer(here).reshape(residual.shape))

    def mismatch(flat: np.ndarray) -> np.ndarray:
        here, readouts = unpack(flat)
        drive = np.maximum(here @ readouts.T, 0.0)
        fit = bulk_at(here.tobytes()).mismatch + drive @ readouts
        pull = task.readout_variance * (task.counts[:, None] * drive).T @ here - readouts
        return np.concatenate([fit.reshape(-1), pull.reshape(-1)])

    def slope(flat: np.ndarray) -> np.ndarray:
        here, readouts = unpack(flat)
        return _slope(bulk_at(here.tobytes()), readouts)

    begin = np.concatenate([residual.reshape(-1), outliers.reshape(-1)])
    found = optimize.root(mismatch, begin, jac=slope, method="hybr", tol=1e-12)
    bulk_at.cache_clear()  # SciPy's wrapper refers to itself: what it holds would wait for a collection that is rare
    here, readouts = unpack(found.x)
    bright = _merged(readouts[np.linalg.norm(readouts, axis=1) > FAINTEST])
    if len(bright) < len(readouts):
        return _solve(task, here, bright)
    return build(here), readouts, float(np.abs(found.fun).max())


def _slope(bulk: Neurons, outliers: np.ndarray) -> Float[np.ndarray, "unknowns unknowns"]:
    """Derivatives of both equations, those of t above those of the ā_i, by t and then by the ā_i."""
    task, here = bulk.task, bulk.residual
    (classes, rank), field = here.shape, here @ outliers.T
    on, drive, axes = (field > 0).astype(float), np.maximum(field, 0.0), np.eye(rank)
    by_class = bulk.curvature.reshape(classes, rank, classes, rank) / task.counts[:, None, None, None]
    own = np.einsum("ce,ci,ij,ik->cjek", np.eye(classes), on, outliers, outliers)
    both = np.einsum("ci,ck,ij->cjik", on, here, outliers) + np.einsum("ci,jk->cjik", drive, axes)
    pulled = task.readout_variance * np.einsum("c,cjik->ikcj", task.counts, both)
    inner = task.readout_variance * np.einsum("c,ci,cj,ck->ijk", task.counts, on, here, here) - axes[None]
    among = np.einsum("il,ijk->ijlk", np.eye(len(outliers)), inner)
    few, many = here.size, outliers.size
    return np.block(
        [
            [(by_class + own).reshape(few, few), both.reshape(few, many)],
            [pulled.reshape(many, few), among.reshape(many, many)],
        ]
    )
