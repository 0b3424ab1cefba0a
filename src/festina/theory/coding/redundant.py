"""Sigmoidal networks: a redundant code. Readouts fall into a few groups, each on for a subset of the classes.

The density of readouts, log p(a) = −|a|²/2s + Σ_c n_c G(a·t_c), has several maxima at low temperature: the codes. Where
many examples speak (P → ∞ with s = σ_a²/P and shares p_c = n_c/P), p(a) becomes a sum of peaks,

    a_γ = σ_a² Σ_c p_c t_c G'(a_γ·t_c),    y_c = T t_c + Σ_γ P_γ G'(a_γ·t_c) a_γ,

of equal energies |a_γ|²/2σ_a² − Σ_c p_c G(a_γ·t_c). The energies of some codes are equal anyway, so that how many
neurons have each code is fixed only by corrections of order 1/P, which the solution at finite P has.

At low temperature a network *freezes*: neurons keep the code they have. Such a network is compared with the solution at
its own shares P_γ (:func:`frozen`), or started from the theory (`festina.theory.coding.planted`).

The model is that of A. van Meegen, H. Sompolinsky, "Coding schemes in neural networks learning classification tasks"
(2024). The equations were derived independently and checked against posterior sampling.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from jaxtyping import Array, Float, Int

from festina import draws
from festina._lazy import optimize
from festina.errors import require
from festina.theory.coding import _answers
from festina.theory.coding._basins import basins, occupied
from festina.theory.coding.dual import Neurons, class_task, minimise, neurons, solve
from festina.theory.coding.prediction import Codes, Prediction, Predictor, check_test_inputs
from festina.theory.coding.units import SIGMOIDAL

LEAST_WEIGHT = 1e-4  # of a code: lesser maxima of the density are left out
SETTLED = 1e-6
ROUNDS = 30


@dataclass(frozen=True)
class Redundant(Prediction):
    """A prediction made by :func:`redundant` or :func:`frozen`.

    Attributes:
        neurons: the density of readouts on a grid, with everything that follows from it.

    Example:
        >>> import jax
        >>> import numpy as np
        >>> import festina as fs
        >>> targets = np.array([[1.0], [-1.0]])  # two classes of ten, one output
        >>> prediction = fs.theory.coding.redundant([10, 10], targets, 0.1, readout_variance=0.2)
        >>> prediction.draw_readouts(jax.random.key(0), 100).shape
        (100, 1)
    """

    neurons: Neurons

    @cached_property
    def codes(self) -> Codes:  # pyright: ignore[reportIncompatibleMethodOverride] (cached)
        """The maxima of the density of readouts, with the share of neurons in the basin of each, the largest first."""
        state = self.neurons
        basin, tops = basins(state.log_masses, state.shape)
        weights = np.array([state.probability[basin == each].sum() for each in range(len(tops))])
        chosen = np.flatnonzero(weights > LEAST_WEIGHT)
        chosen = chosen[np.argsort(-weights[chosen])]
        peaks = np.stack([_climb(state, state.readouts[tops[each]]) for each in chosen])
        activities = state.task.unit.site(peaks @ state.residual.T).mean
        return Codes(activities > 0.5, weights[chosen] / weights[chosen].sum(), peaks @ state.task.basis.T, activities)

    def predict(
        self, cross: Float[np.ndarray, "inputs examples"], diagonal: Float[np.ndarray, " inputs"], neurons: int
    ) -> Predictor:
        cross, diagonal = check_test_inputs(cross, diagonal, neurons, len(self.mean))
        return _answers.predict(self.neurons, cross, diagonal, neurons)

    def draw_readouts(self, key: Array, count: int) -> Float[np.ndarray, "count outputs"]:
        return draw_from(self.neurons, key, count)

    def draw_neurons(
        self, key: Array, count: int
    ) -> tuple[Float[np.ndarray, "count outputs"], Float[np.ndarray, "count examples"]]:
        """Readouts a, and preactivations z at the training inputs, drawn from p(a, z)."""
        for_readouts, for_inputs = draws.split(key, 2)
        readouts = self.draw_readouts(for_readouts, count)
        return readouts, self.neurons.task.unit.draw(for_inputs, readouts @ self.residual.T)


@dataclass(frozen=True)
class ManyExamples:
    """The limit of many examples; see :func:`many_examples`.

    Attributes:
        codes: peaks of the density of readouts.
        residual: t_c in each class, with all outputs.
        energies: |a_γ|²/2σ_a² − Σ_c p_c G(a_γ·t_c) of each code; equal in equilibrium.
        gap: the largest mismatch of the equations.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> targets = np.array([[1.0], [-1.0]])  # two classes of ten, one output
        >>> prediction = fs.theory.coding.redundant([10, 10], targets, 0.1, readout_variance=0.2)
        >>> limit = fs.theory.coding.many_examples(prediction, weights=np.array([0.5, 0.5]))
        >>> bool(np.ptp(limit.energies) < 1e-9), limit.gap < 1e-9  # in equilibrium
        (True, True)
    """

    codes: Codes
    residual: Float[np.ndarray, "classes outputs"]
    energies: Float[np.ndarray, " codes"]
    gap: float


def redundant(
    counts: Sequence[int] | Int[np.ndarray, " classes"],
    targets: Float[np.ndarray, "classes outputs"],
    temperature: float,
    readout_variance: float,
) -> Redundant:
    """One hidden layer of sigmoidal neurons in equilibrium, for orthogonal inputs in classes.

    Args:
        counts: n_c, examples of each class; examples are in the order of their classes.
        targets: y_c of each class; of rank 1 to 3.
        temperature: T.
        readout_variance: s.

    Returns:
        A `Redundant` prediction.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> targets = np.array([[1.0], [-1.0]])  # two classes of ten, one output
        >>> prediction = fs.theory.coding.redundant([10, 10], targets, temperature=0.1, readout_variance=0.2)
        >>> prediction.mean[[0, -1], 0].round(2)  # the first and the last example
        array([ 0.81, -0.81])
        >>> np.sort(prediction.codes.readouts[:, 0]).round(1)  # neurons are in one of two groups
        array([-2.6,  2.6])
    """
    task = class_task(counts, targets, temperature, readout_variance, SIGMOIDAL)
    return _redundant(*solve(task))


def frozen(
    counts: Sequence[int] | Int[np.ndarray, " classes"],
    targets: Float[np.ndarray, "classes outputs"],
    temperature: float,
    readout_variance: float,
    readouts: Float[np.ndarray, "codes outputs"],
    weights: Float[np.ndarray, " codes"],
) -> Redundant:
    """The same network when every neuron keeps its code, and the shares of the codes are known: measured, say.

    Each code is a cell in the space of readouts: the basin of a maximum of their density. Other basins stay empty.

    Args:
        counts: n_c, examples of each class; examples are in the order of their classes.
        targets: y_c of each class; of rank 1 to 3.
        temperature: T.
        readout_variance: s.
        readouts: a_γ, where each code is, roughly: the mean readout of its neurons.
        weights: P_γ, the share of neurons in each code.

    Returns:
        A `Redundant` prediction, with neurons in these shares. Where they are far from those of the equilibrium there
        may be no solution: read ``diagnostics["gap"]``.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> targets = np.array([[1.0], [-1.0]])  # two classes of ten, one output
        >>> frozen = fs.theory.coding.frozen([10, 10], targets, 0.1, 0.2, readouts=[[2.5], [-2.5]], weights=[0.6, 0.4])
        >>> frozen.codes.readouts[:, 0].round(1)  # fewer neurons have larger readouts
        array([ 2.2, -3. ])
        >>> frozen.mean[[0, -1], 0].round(2)
        array([ 0.82, -0.8 ])
    """
    task = class_task(counts, targets, temperature, readout_variance, SIGMOIDAL)
    shares = np.asarray(weights, float)
    good = shares.ndim == 1 and bool(np.all(shares > 0)) and abs(shares.sum() - 1.0) < 1e-6
    require(good, "weights", "be positive and add up to 1", weights)
    places, shape = np.asarray(readouts, float), (len(shares), len(task.basis))
    require(places.shape == shape, "readouts", f"be of shape {shape}, codes by outputs", places.shape)
    require(bool(np.all(np.isfinite(places))), "readouts", "be finite everywhere", "NaN or infinite somewhere")
    centres = places @ task.basis
    apart = len(np.unique(centres, axis=0)) == len(centres)
    require(apart, "readouts", "lie apart, so that every code has readouts of its own", readouts)
    state, gap = solve(task)
    for _ in range(ROUNDS):
        state, gap = minimise(
            lambda residual, centres=centres: neurons(task, residual, cells=partial(occupied, centres), shares=shares),
            state.residual,
        )
        inside = [state.cell == each for each in range(len(shares))]
        apart = all(bool(here.any()) for here in inside)
        require(apart, "readouts", "lie apart, so that every code has readouts of its own", readouts)
        moved = np.stack([state.probability[here] @ state.readouts[here] for here in inside]) / shares[:, None]
        if float(np.abs(moved - centres).max()) < SETTLED:
            break
        centres = moved
    return _redundant(state, gap)


def many_examples(prediction: Redundant, weights: Float[np.ndarray, " codes"] | None = None) -> ManyExamples:
    """The limit P → ∞ with the same shares of classes and the same codes as those of a prediction.

    Args:
        prediction: where to start.
        weights: P_γ, kept as they are; those of the prediction unless given.

    Returns:
        The limit, with `codes`, `residual`, `energies` and the `gap` of its equations.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> targets = np.array([[1.0], [-1.0]])  # two classes of ten, one output
        >>> prediction = fs.theory.coding.redundant([10, 10], targets, 0.1, readout_variance=0.2)
        >>> limit = fs.theory.coding.many_examples(prediction, weights=np.array([0.5, 0.5]))
        >>> np.sort(limit.codes.readouts[:, 0]).round(2)
        array([-2.45,  2.45])
    """
    task, codes = prediction.neurons.task, prediction.codes
    shares = codes.weights if weights is None else np.asarray(weights, float)
    require(shares.shape == codes.weights.shape, "weights", f"be one for each of {len(codes.weights)} codes", shares)
    good = bool(np.all(shares >= 0)) and abs(shares.sum() - 1.0) < 1e-6
    require(good, "weights", "not be negative and add up to 1", shares)
    amplitude = task.readout_variance * task.counts.sum()
    portions = task.counts / task.counts.sum()
    cut = prediction.neurons.residual.size

    def unpack(flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return flat[:cut].reshape(task.targets.shape), flat[cut:].reshape(len(shares), -1)

    def mismatch(flat: np.ndarray) -> np.ndarray:
        residual, readouts = unpack(flat)
        activity = task.unit.site(readouts @ residual.T).mean
        pull = readouts - amplitude * (portions[None] * activity) @ residual
        fit = task.temperature * residual - task.targets + (shares[:, None] * activity).T @ readouts
        return np.concatenate([pull.reshape(-1), fit.reshape(-1)])

    start = np.concatenate([prediction.neurons.residual.reshape(-1), (codes.readouts @ task.basis).reshape(-1)])
    found = optimize.least_squares(mismatch, start, xtol=1e-15, ftol=1e-15, gtol=1e-15)
    residual, readouts = unpack(found.x)
    site = task.unit.site(readouts @ residual.T)
    energies = 0.5 * np.sum(readouts**2, axis=1) / amplitude - site.log_partition @ portions
    placed = Codes(site.mean > 0.5, shares, readouts @ task.basis.T, site.mean)
    return ManyExamples(placed, residual @ task.basis.T, energies, float(np.abs(found.fun).max()))


def draw_from(state: Neurons, key: Array, count: int) -> Float[np.ndarray, "count outputs"]:
    """Readouts from the density on a grid, by rejection from a histogram; outside the row space, from the prior."""
    task, (rank, outputs) = state.task, state.task.basis.T.shape
    spacing = np.ptp(state.readouts[:, -1]) / (state.shape[-1] - 1)
    cumulative = np.cumsum(state.probability) / state.probability.sum()
    found: list[np.ndarray] = []
    while sum(map(len, found)) < count:
        for_point, for_place, for_choice, key = draws.split(key, 4)
        point = np.searchsorted(cumulative, uniform(for_point, (4 * count,)))
        point = np.minimum(point, len(cumulative) - 1)
        place = state.readouts[point] + spacing * (uniform(for_place, (4 * count, rank)) - 0.5)
        excess = task.log_density(place, state.residual) - task.log_density(state.readouts[point], state.residual)
        kept = np.log(uniform(for_choice, (4 * count,))) < excess - excess.max()
        found.append(place[kept])
    inside = np.concatenate(found)[:count]
    prior = np.sqrt(task.readout_variance) * np.asarray(draws.normal(draws.fold_in(key, 7), (count, outputs)))
    return inside @ task.basis.T + prior - prior @ task.basis @ task.basis.T


def uniform(key: Array, shape: tuple[int, ...]) -> Float[np.ndarray, "..."]:
    """Numbers between 0 and 1."""
    from scipy.special import ndtr

    return ndtr(np.asarray(draws.normal(key, shape)))


def _redundant(state: Neurons, gap: float) -> Redundant:
    task = state.task
    labels = task.labels
    return Redundant(
        (state.kernel,),
        (state.residual @ task.basis.T)[labels],
        (state.answers @ task.basis.T)[labels],
        state,
        diagnostics={"gap": gap},
    )


def _climb(state: Neurons, readout: Float[np.ndarray, " rank"]) -> Float[np.ndarray, " rank"]:
    """The exact place of a maximum: Newton's method on log p(a) from the nearest point of the grid."""
    task, residual = state.task, state.residual
    for _ in range(50):
        site = task.unit.site(residual @ readout)
        gradient = (task.counts * site.mean) @ residual - readout / task.readout_variance
        curvature = (residual.T * (task.counts * site.variance)[None]) @ residual
        curvature = curvature - np.eye(len(readout)) / task.readout_variance
        step = np.linalg.solve(curvature, gradient)
        size = float(np.linalg.norm(step)) / np.sqrt(task.readout_variance)
        readout = readout - step * min(1.0, 0.5 / max(size, 1e-300))
        if size < 1e-12:
            break
    return readout
