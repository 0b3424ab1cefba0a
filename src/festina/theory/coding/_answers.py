"""The predictor of a layer of independent neurons at inputs it was not trained on, to order 1/N.

Given its readout, a neuron's preactivation at another input, z* = Σ_μ k*_μ z_μ + √(k** − |k*|²) ξ, is taken to be
Gaussian: exact where no single example dominates. Answers of a wide network fluctuate as a large-deviation
function with curvature C⁻¹ allows, C the covariance of a single neuron's a φ, and the likelihood holds them:

    Var f* = (1/N)[C_** − C_*t (T + C_tt)⁻¹ C_t*].

Neurons that keep to a cell of the space of readouts have the covariance within that cell. An outlier is a cell of its
own: one neuron, with fluctuations of its readout that are Gaussian, and free in the one direction in which it may grow
at no cost.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from festina.theory.coding._quadrature import Site
from festina.theory.coding.dual import Neurons
from festina.theory.coding.prediction import Predictor

NEGLIGIBLE = 1e-13  # probability of a point, relative to the largest
FREE = 1e-7  # precision of a readout in its free direction, relative to the prior's


@dataclass(frozen=True)
class _Points:
    """Readouts with their probability and cell, and what preactivations do there at the training inputs."""

    readouts: Float[np.ndarray, "points rank"]
    probability: Float[np.ndarray, " points"]
    cell: Int[np.ndarray, " points"]
    site: Site

    def by_cell(self, values: Float[np.ndarray, "points columns"]) -> Float[np.ndarray, "cells columns rank"]:
        """⟨values · a⟩ over each cell, divided by the root of its share, so that products are what covariances lack."""
        parts = []
        for each in range(int(self.cell.max()) + 1):
            here = self.cell == each
            weights = self.probability[here]
            parts.append((weights[:, None] * values[here]).T @ self.readouts[here] / np.sqrt(weights.sum()))
        return np.stack(parts)


@dataclass(frozen=True)
class _Activity:
    """What neurons do at the other inputs, for each point."""

    mean: Float[np.ndarray, "points inputs"]
    slope: Float[np.ndarray, "points inputs"]
    square: Float[np.ndarray, "points inputs"]


@dataclass(frozen=True)
class _Overlaps:
    """k* of each input, class by class: sum, mean, spread within the class, and sum of squares."""

    total: Float[np.ndarray, "inputs classes"]
    mean: Float[np.ndarray, "inputs classes"]
    within: Float[np.ndarray, "inputs classes"]
    squares: Float[np.ndarray, "inputs classes"]


@dataclass(frozen=True)
class _Shifts:
    """How answers change along collective directions, at the other inputs and in the classes."""

    other: Float[np.ndarray, "inputs rank shifts"]
    trained: Float[np.ndarray, "classes rank shifts"]


def predict(
    state: Neurons, cross: np.ndarray, diagonal: np.ndarray, width: int, outliers: np.ndarray | None = None
) -> Predictor:
    """⟨f*⟩ and Var f* at inputs with overlaps k* = ``cross`` and norms k** = ``diagonal``; ``outliers`` are ā."""
    task, basis = state.task, state.task.basis
    overlaps, points = _by_class(cross, state), _points(state, width, outliers)
    activity = _activity(points.site, overlaps, diagonal, state)
    products = points.readouts[:, :, None] * points.readouts[:, None]
    shifts = _readout_shifts(points, activity, overlaps, state, width)
    learned = _variance(points, products, activity, overlaps, state, shifts, 1.0)
    constant = np.full((len(products), 1, 1), task.readout_variance)
    none = _Shifts(np.zeros((len(cross), 1, 0)), np.zeros((len(task.counts), 1, 0)))
    idle = _variance(points, constant, activity, overlaps, state, none, 0.0)[:, 0, 0]
    inside = np.einsum("or,irs,os->io", basis, learned, basis)
    outside = np.maximum(1.0 - np.sum(basis**2, axis=1), 0.0)[None] * idle[:, None]
    answers = (points.probability[:, None] * activity.mean).T @ points.readouts
    return Predictor(answers @ basis.T, (inside + outside) / width)


def _points(state: Neurons, width: int, outliers: np.ndarray | None) -> _Points:
    """The points of the grid that matter, and each outlier as one neuron of N in a cell of its own."""
    kept = state.probability > NEGLIGIBLE * state.probability.max()
    readouts, probability, cell = state.readouts[kept], state.probability[kept], state.cell[kept]
    if outliers is not None and len(outliers):
        count = len(outliers)
        readouts = np.concatenate([readouts, np.sqrt(width) * outliers])
        probability = np.concatenate([probability * (1.0 - count / width), np.full(count, 1.0 / width)])
        cell = np.concatenate([cell, len(state.shares) + np.arange(count)])
    return _Points(readouts, probability, cell, state.task.unit.site(readouts @ state.residual.T))


def _by_class(cross: np.ndarray, state: Neurons) -> _Overlaps:
    member = np.eye(len(state.task.counts))[state.task.labels]
    total, squares = cross @ member, cross**2 @ member
    mean = total / state.task.counts[None]
    return _Overlaps(total, mean, squares - mean * total, squares)


def _activity(site: Site, overlaps: _Overlaps, diagonal: np.ndarray, state: Neurons) -> _Activity:
    mean = site.preactivation @ overlaps.total.T
    spread = (diagonal - overlaps.squares.sum(axis=1))[None] + site.spread @ overlaps.squares.T
    unit, spread = state.task.unit, np.maximum(spread, 1e-12)
    return _Activity(unit.mean(mean, spread), unit.slope(mean, spread), unit.square(mean, spread))


def _readout_shifts(points: _Points, activity: _Activity, overlaps: _Overlaps, state: Neurons, width: int) -> _Shifts:
    """∂(a φ)/∂a of every outlier along the principal axes of its readout, times the standard deviation along them.

    −∂² log p/∂a² = 1/s − Σ_c n_c G''_c t_c t_cᵀ vanishes in the direction of the outlier itself.
    """
    task, residual = state.task, state.residual
    identity = np.eye(residual.shape[1])
    other, trained = [], []
    for each in np.flatnonzero(points.cell >= len(state.shares)):
        site = Site(*(part[each] for part in points.site))
        readout = points.readouts[each]
        precision = identity / task.readout_variance
        precision = precision - (residual.T * (task.counts * site.variance)[None]) @ residual
        values, axes = np.linalg.eigh(precision)
        axes = axes / np.sqrt(np.maximum(values, FREE / task.readout_variance) * width)[None]
        follow = (activity.slope[each][:, None] * overlaps.total * site.covariance[None]) @ residual
        at_other = activity.mean[each][:, None, None] * identity[None] + readout[None, :, None] * follow[:, None]
        follow = site.variance[:, None] * residual
        at_trained = site.mean[:, None, None] * identity[None] + readout[None, :, None] * follow[:, None]
        other.append(at_other @ axes)
        trained.append(at_trained @ axes)
    if not other:
        rank, classes = residual.shape[1], len(task.counts)
        return _Shifts(np.zeros((overlaps.total.shape[0], rank, 0)), np.zeros((classes, rank, 0)))
    return _Shifts(np.concatenate(other, axis=2), np.concatenate(trained, axis=2))


def _variance(
    points: _Points,
    products: Float[np.ndarray, "points r r"],
    activity: _Activity,
    overlaps: _Overlaps,
    state: Neurons,
    shifts: _Shifts,
    centred: float,
) -> Float[np.ndarray, "inputs r r"]:
    """C_** − C_*t (T + C_tt)⁻¹ C_t*, from the products a_r a_s (or their mean) at each point.

    C_tt has one block for any two classes and a diagonal for each class. The cross-covariance with example μ of class c
    is α_c + k*_μ β_c, to first order in k*_μ. Its mean over the class meets the former, its deviations only the latter.
    With ``centred`` = 0 the mean of a is zero, and nothing is to be subtracted.
    """
    counts, site = state.task.counts, points.site
    inputs, rank, classes = overlaps.total.shape[0], products.shape[1], len(counts)
    flat = (points.probability[:, None, None] * products).reshape(len(products), -1)
    answers, trained = (centred * points.by_cell(values)[..., :rank] for values in (activity.mean, site.mean))

    def against(values: np.ndarray, others: np.ndarray) -> np.ndarray:
        """⟨values · others_c a_r a_s⟩ as (values, r, class, s)."""
        joined = (others[:, :, None] * flat[:, None]).reshape(len(flat), -1)
        return (values.T @ joined).reshape(values.shape[1], classes, rank, rank).swapaxes(1, 2)

    own = (activity.square.T @ flat).reshape(inputs, rank, rank) - np.einsum("gir,gis->irs", answers, answers)
    own = own + np.einsum("irk,isk->irs", shifts.other, shifts.other)
    shared = against(activity.mean, site.mean) - np.einsum("gir,gcs->ircs", answers, trained)
    shared = shared + np.einsum("irk,csk->ircs", shifts.other, shifts.trained)
    private = against(activity.slope, site.covariance)
    between = against(site.mean, site.mean) - np.einsum("gcr,gds->crds", trained, trained)
    between = between + np.einsum("crk,dsk->crds", shifts.trained, shifts.trained)
    alone = (site.variance.T @ flat).reshape(classes, rank, rank) + state.task.temperature * np.eye(rank)[None]
    weighted = counts[:, None, None, None] * between * counts[None, None, :, None]
    weighted = weighted + np.einsum("cd,crs->crds", np.diag(counts), alone)
    common = (shared + overlaps.mean[:, None, :, None] * private) * counts[None, None, :, None]
    common = common.reshape(inputs * rank, classes * rank)
    solved = np.linalg.solve(weighted.reshape(classes * rank, classes * rank), common.T).T
    held = np.einsum("irk,isk->irs", common.reshape(inputs, rank, -1), solved.reshape(inputs, rank, -1))
    scattered = np.einsum("ic,ircx,cxy,iscy->irs", overlaps.within, private, np.linalg.inv(alone), private)
    return own - held - scattered
