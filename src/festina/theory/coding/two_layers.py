"""Two hidden layers of sigmoidal neurons, for orthogonal inputs in classes.

All examples of a class are alike, so that a kernel has an entry κ_cc' for any two classes and an excess D_c for an
example with itself. A neuron's preactivations are z_μ = g_c + √D_c x_μ with g ~ N(0, κ); what the layer above wants of
its activity is a field u_c ~ N(0, κ̃) with an excess δ_c. Both enter through

    G(b, δ; g, v) = log∫Dx exp(bφ(z) + ½δφ(z)²),    z = g + √v x.

    Layer 2:  a ~ N(0, s), g ~ N(0, κ_1), weight exp Σ_c n_c G(a·t_c, 0; g_c, D_1c);
              T t_c = y_c − ⟨a ∂G/∂b⟩,    κ̃_cc' = ⟨∂G/∂g_c ∂G/∂g_c'⟩,    δ_c = ⟨∂²G/∂g_c²⟩.
    Layer 1:  u ~ N(0, κ̃), weight exp Σ_c n_c G(u_c, δ_c; 0, 1);
              κ_1 = ⟨∂G/∂b_c ∂G/∂b_c'⟩,    D_1c = ⟨∂²G/∂b_c²⟩.

At given κ_1 and D_1 the residual t minimises a convex function, and :func:`second_layer` finds it: given a measured
kernel of the first layer, it is a consistency check. :func:`two_layers` solves for both layers. Each makes the other
stronger, and plain iteration runs away at low temperature, past the onset of each code. But the equations are those of
a maximum of the log evidence over the kernel of the first layer, min_t F(t) + log Z_1(K̃) − ½ tr K̃K_1, and climbing it
with steps that must not go down passes through.

With classes of 20, 10 and 10 and s = 1/√40 this settles at T = 1, .7, .6, .5, .45 and .4, one after the other, and
agrees with sampling (N = 200) to .3 % in both kernels. Where a code has its onset, steps become many and errors of
integration stop it early: near .65 with a `mismatch` of .4 %, near .37 with one of 1 %. What comes at .35, where the
second code is there, depends on the temperatures before: 2 % are left on some courses, and others run away. Read the
`mismatch` before trusting a solution. A state in which few points of an integral count is never accepted.

The equations were derived independently from the model of A. van Meegen, H. Sompolinsky, "Coding schemes in neural
networks learning classification tasks" (2024), and checked against posterior sampling.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from jaxtyping import Array, Float, Int

from festina import draws
from festina._lazy import special
from festina.errors import FestinaError, require
from festina.theory.coding._integral import Cloud, Weight, cloud, effective_share, normalised
from festina.theory.coding._two_layer_answers import mean_answers
from festina.theory.coding.dual import Neurons, Task, class_task, minimise
from festina.theory.coding.prediction import Prediction, Predictor, check_common, check_test_inputs
from festina.theory.coding.units import SIGMOIDAL

COOLING = 0.7  # ratio of neighbouring temperatures, at a given first layer
ROUNDS = 120
SETTLED = 5e-4
FIRST_SHARE, SMALLEST_SHARE = 0.5, 1e-3  # of the way from one layer's wish to the other's answer
NEAR, MEMORY = 0.03, 7  # the mismatch at which Anderson's method takes over, and how many steps it remembers
NOTHING = 1e-6  # what is wanted of the first layer, if it is less, has no effect on it
SLACK = 1e-3  # by which the log evidence may fall, for the errors of integration
FEWEST, WIDEST = 0.05, 1e-6  # share of points that must count, and largest gap of t, or a state is not to be trusted
PLACEMENTS, FAR = 3, 0.02  # how often points are placed anew, while the residual moves by more than this share


@dataclass(frozen=True)
class Blocks:
    """A symmetric matrix over examples: an entry for any two classes, and an excess for an example with itself.

    Attributes:
        between: the entry for two different examples, by their classes.
        excess: what an example has more with itself, by its class.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> fs.theory.coding.Blocks(between=0.5 * np.eye(2), excess=np.ones(2)).expand(np.array([0, 0, 1]))
        array([[1.5, 0.5, 0. ],
               [0.5, 1.5, 0. ],
               [0. , 0. , 1.5]])
    """

    between: Float[np.ndarray, "classes classes"]
    excess: Float[np.ndarray, " classes"]

    def expand(self, labels: Int[np.ndarray, " examples"]) -> Float[np.ndarray, "examples examples"]:
        """The whole matrix."""
        return self.between[np.ix_(labels, labels)] + np.diag(self.excess[labels])

    def product(self, other: "Blocks", counts: Float[np.ndarray, " classes"]) -> float:
        """The trace of the product of the whole matrices."""
        pairs = np.sum(np.outer(counts, counts) * self.between * other.between)
        crossed = self.excess * np.diag(other.between) + other.excess * np.diag(self.between)
        return float(pairs + counts @ (crossed + self.excess * other.excess))

    def distance(self, other: "Blocks", counts: Float[np.ndarray, " classes"], least: float = 1e-150) -> float:
        """The difference relative to the other, or to ``least`` if that is more, with each class as heavy as it is."""
        root = np.sqrt(np.outer(counts, counts))
        change = np.sum((root * (self.between - other.between)) ** 2) + np.sum(
            counts * (self.excess - other.excess) ** 2
        )
        size = np.sum((root * other.between) ** 2) + np.sum(counts * other.excess**2)
        return float(np.sqrt(change / max(size, least**2)))


def blocks(kernel: Float[np.ndarray, "examples examples"], labels: Int[np.ndarray, " examples"]) -> Blocks:
    """The means of a measured kernel over pairs of different examples, and over examples with themselves.

    Args:
        kernel: K over examples.
        labels: the class of each example, from 0 on; at least two of every class.

    Returns:
        `Blocks` with the means of the kernel.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> kernel = fs.theory.coding.kernels(np.eye(8), fs.theory.coding.SIGMOIDAL)[0]
        >>> found = fs.theory.coding.blocks(kernel, np.repeat([0, 1], 4))
        >>> found.between.round(3)  # units between 0 and 1 have the mean ½
        array([[0.25, 0.25],
               [0.25, 0.25]])
    """
    kernel, labels = np.asarray(kernel, float), np.asarray(labels)
    fits = labels.ndim == 1 and labels.size > 0 and np.issubdtype(labels.dtype, np.integer) and labels.min() >= 0
    require(fits, "labels", "be the number of a class for each example, from 0 on", labels)
    square = kernel.shape == (len(labels), len(labels))
    require(square, "kernel", f"have a row and a column for each of {len(labels)} examples", kernel.shape)
    require(bool(np.all(np.isfinite(kernel))), "kernel", "be finite everywhere", "NaN or infinite somewhere")
    member = np.eye(int(labels.max()) + 1)[labels]
    counts = member.sum(axis=0)
    require(bool(np.all(counts >= 2)), "labels", "have at least two examples of every class", counts)
    own = member.T @ np.diag(kernel)
    total = member.T @ kernel @ member
    between = (total - np.diag(own)) / (np.outer(counts, counts) - np.diag(counts))
    return Blocks(between, own / counts - np.diag(between))


@dataclass(frozen=True)
class TwoLayers(Prediction):
    """A prediction made by :func:`two_layers` or :func:`second_layer`.

    ``diagnostics`` has the `gap` of t, the `mismatch` between what the second layer wants of the first and what the
    first was told, and `effective_share`, the share of points that count in the integrals: not small.

    Attributes:
        neurons: of the second layer: readouts at some points, with their probability.
        wanted: κ̃ and δ, what the second layer wants of the first.
        first: the kernel of the first layer under these fields, as in ``kernels[0]``.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> targets = np.array([[1.0], [-1.0]])
        >>> (prediction,) = fs.theory.coding.two_layers([4, 4], targets, [4.0], readout_variance=0.3)
        >>> prediction.answers(cross=np.zeros((1, 8)), diagonal=np.ones(1)).shape
        (1, 1)
    """

    neurons: Neurons
    wanted: Blocks
    first: Blocks

    def answers(
        self, cross: Float[np.ndarray, "inputs examples"], diagonal: Float[np.ndarray, " inputs"]
    ) -> Float[np.ndarray, "inputs outputs"]:
        """⟨f*⟩ at other inputs, for which no single example may dominate; at training inputs see ``mean``.

        Args:
            cross: k* = x*·x, the overlaps of these inputs with those of training, one input a row.
            diagonal: k** = |x*|² of each of these inputs.
        """
        task = self.neurons.task
        cross, diagonal = check_test_inputs(cross, diagonal, 1, len(task.labels))
        weight = _first_weight(task, self.wanted)
        points, probability, _ = _placed(weight)
        inside = mean_answers(
            weight, points, probability, self.neurons, self.first.between, self.first.excess, cross, diagonal
        )
        return inside @ task.basis.T

    def predict(
        self, cross: Float[np.ndarray, "inputs examples"], diagonal: Float[np.ndarray, " inputs"], neurons: int
    ) -> Predictor:
        """Not available: to order 1/N, the variance of f has a part from fluctuations of the first layer's kernel."""
        raise FestinaError(
            "the variance of the predictor is not known for two hidden layers, since the kernel of the first layer "
            "fluctuates as well; `answers` gives the mean"
        )

    def draw_readouts(self, key: Array, count: int) -> Float[np.ndarray, "count outputs"]:
        """Readouts of the second layer, from the points of the integration."""
        task = self.neurons.task
        for_point, for_prior = draws.split(key, 2)
        cumulative = np.cumsum(self.neurons.probability)
        uniform = special.ndtr(np.asarray(draws.normal(for_point, (count,))))
        point = np.searchsorted(cumulative, uniform * cumulative[-1])
        inside = self.neurons.readouts[np.minimum(point, len(cumulative) - 1)]
        prior = np.sqrt(task.readout_variance) * np.asarray(draws.normal(for_prior, (count, len(task.basis))))
        return inside @ task.basis.T + prior - prior @ task.basis @ task.basis.T


def two_layers(
    counts: Sequence[int] | Int[np.ndarray, " classes"],
    targets: Float[np.ndarray, "classes outputs"],
    temperatures: Sequence[float],
    readout_variance: float,
) -> list[TwoLayers]:
    """Both layers, at falling temperatures, each solution the start of the next; its `mismatch` tells if it is one.

    Args:
        counts: n_c, examples of each class; examples are in the order of their classes.
        targets: y_c of each class; of rank 1 to 3.
        temperatures: T, falling.
        readout_variance: s.

    Returns:
        A `TwoLayers` prediction for every temperature.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> targets = np.array([[1.0], [-1.0]])
        >>> (hot,) = fs.theory.coding.two_layers([4, 4], targets, temperatures=[4.0], readout_variance=0.3)
        >>> [kernel.shape for kernel in hot.kernels], hot.diagnostics["mismatch"] < 1e-3
        ([(8, 8), (8, 8)], True)
    """
    course = np.asarray(temperatures, float)
    require(course.ndim == 1 and course.size >= 1, "temperatures", "be one after the other", temperatures)
    require(bool(np.all(np.diff(course) < 0)), "temperatures", "fall", temperatures)
    check_common(float(course[-1]), readout_variance)
    class_task(counts, targets, float(course[0]), readout_variance, SIGMOIDAL)  # which refuses what is no task
    given = tuple(map(int, counts)), tuple(map(tuple, np.asarray(targets, float).tolist())), float(readout_variance)
    heats = tuple(course.tolist())
    return [_prediction(_settled(*given, heats[: number + 1])) for number in range(len(heats))]


def second_layer(
    counts: Sequence[int] | Int[np.ndarray, " classes"],
    targets: Float[np.ndarray, "classes outputs"],
    temperature: float,
    readout_variance: float,
    first: Blocks,
) -> TwoLayers:
    """The second layer at a given kernel of the first, and what it wants of the first.

    ``kernels[0]`` is what the first layer would answer to that, and `mismatch` how far it is from the kernel given.

    Args:
        counts: n_c, examples of each class; examples are in the order of their classes.
        targets: y_c of each class; of rank 1 to 3.
        temperature: T.
        readout_variance: s.
        first: K_1; see :func:`blocks`.

    Returns:
        A `TwoLayers` prediction.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> prior = fs.theory.coding.kernels(np.eye(8), fs.theory.coding.SIGMOIDAL)[0]
        >>> first = fs.theory.coding.blocks(prior, np.repeat([0, 1], 4))
        >>> targets = np.array([[1.0], [-1.0]])
        >>> found = fs.theory.coding.second_layer([4, 4], targets, 2.0, readout_variance=0.3, first=first)
        >>> found.diagnostics["mismatch"] < 1e-2  # at high temperature the first layer stays with its prior
        True
    """
    task = class_task(counts, targets, temperature, readout_variance, SIGMOIDAL)
    classes, sizes = len(task.counts), (np.shape(first.between), np.shape(first.excess))
    fits = sizes == ((classes, classes), (classes,))
    require(fits, "first", f"have an entry for any two of {classes} classes and an excess for each", sizes)
    least = min(float(np.linalg.eigvalsh(first.between)[0]), float(np.min(first.excess)))
    kernel = bool(np.all(first.excess > 0)) and least > -1e-9  # of a measured one, rounding is forgiven
    require(kernel, "first", "be a kernel: positive excess and no negative eigenvalue", f"one of {least:.3g}")
    hot = max(2.0, temperature)
    residual, maxima, state = task.targets / hot, None, None
    for each in np.geomspace(hot, temperature, 1 + int(np.ceil(np.log(hot / temperature) / -np.log(COOLING)))):
        state = _second(task.at(float(each)), first, residual, maxima)
        residual, maxima = state.neurons.residual, state.maxima
    assert state is not None
    answered, _, _ = _first(task, state.wish)
    mismatch = answered.distance(first, task.counts)
    return _prediction(replace(state, first=answered, mismatch=mismatch))


@dataclass(frozen=True)
class _State:
    """The second layer at some kernel of the first: what the first was told to do, and what the second wishes."""

    neurons: Neurons
    wanted: Blocks
    wish: Blocks
    first: Blocks
    maxima: np.ndarray
    gap: float
    mismatch: float = np.nan
    evidence: float = np.nan


@lru_cache(maxsize=32)
def _settled(
    counts: tuple[int, ...], targets: tuple[tuple[float, ...], ...], variance: float, course: tuple[float, ...]
) -> _State:
    """The state at the last of falling temperatures, reached from the one before.

    States are kept: courses to several temperatures, as of who moves a slider, have most of the way down in common.
    """
    task = class_task(counts, np.array(targets), course[0], variance, SIGMOIDAL)
    if len(course) == 1:
        classes = len(counts)
        return _settle(task, Blocks(np.zeros((classes, classes)), np.zeros(classes)), task.targets / course[0], None)
    before = _settled(counts, targets, variance, course[:-1])
    return _settle(task.at(course[-1]), before.wanted, before.neurons.residual, before.maxima)


def _prediction(state: _State) -> TwoLayers:
    neurons, task, labels = state.neurons, state.neurons.task, state.neurons.task.labels
    return TwoLayers(
        (state.first.expand(labels), neurons.kernel),
        (neurons.residual @ task.basis.T)[labels],
        (neurons.answers @ task.basis.T)[labels],
        neurons,
        state.wanted,
        state.first,
        diagnostics={
            "gap": state.gap,
            "mismatch": state.mismatch,
            "effective_share": effective_share(neurons.probability),
        },
    )


def _settle(task: Task, wanted: Blocks, residual: np.ndarray, maxima: np.ndarray | None) -> _State:
    """Climb the log evidence by steps towards what the second layer wants; near the top, by Anderson's method.

    The log evidence is min_t F(t) + log Z_1(K̃) − ½ tr K̃K_1. Where it falls, a step was too long.
    """
    state, path = _both(task, wanted, residual, maxima), _Path(FIRST_SHARE)
    for _ in range(ROUNDS):
        if state.mismatch < SETTLED or state.evidence == -np.inf:
            break
        place, goal = _flat(state.wanted), _flat(state.wish)
        near = state.mismatch < NEAR
        there = path.next(place, goal - place) if near else place + path.share * (goal - place)
        trial = _both(task, _unflat(there, len(task.counts)), state.neurons.residual, state.maxima)
        if trial.evidence >= state.evidence - SLACK and (not near or trial.mismatch < 2.0 * NEAR):
            state, path.share = trial, min(1.3 * path.share, 1.0)
        elif path.share < SMALLEST_SHARE:
            break
        else:
            path = _Path(0.4 * path.share)
    return state


def _both(task: Task, wanted: Blocks, residual: np.ndarray, maxima: np.ndarray | None) -> "_State":
    """The first layer under the fields that are wanted, and the second on top of it."""
    first, log_partition, share = _first(task, wanted)
    state = _second(task, first, residual, maxima)
    product = wanted.product(first, task.counts)
    evidence = state.neurons.dual + log_partition - 0.5 * product
    if min(share, effective_share(state.neurons.probability)) < FEWEST or state.gap > WIDEST:
        evidence = -np.inf  # a single point that dominates an integral, or a t far off, would pass for a summit
    mismatch = wanted.distance(state.wish, task.counts, NOTHING)
    return replace(state, wanted=wanted, evidence=evidence, mismatch=mismatch)


class _Path:
    """Anderson's method for x = f(x): of the last steps taken, the combination that would have led closest."""

    def __init__(self, share: float) -> None:
        self.share = share
        self.places: list[np.ndarray] = []
        self.steps: list[np.ndarray] = []

    def next(self, place: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Where to go from ``place``, where f(x) − x is ``step``."""
        self.places, self.steps = [*self.places, place][-MEMORY:], [*self.steps, step][-MEMORY:]
        if len(self.places) == 1:
            return place + self.share * step
        moved, changed = np.diff(np.stack(self.places, axis=1)), np.diff(np.stack(self.steps, axis=1))
        mix = np.linalg.lstsq(changed, step, rcond=1e-6)[0]
        return place - moved @ mix + self.share * (step - changed @ mix)


def _flat(matrix: Blocks) -> Float[np.ndarray, " entries"]:
    return np.concatenate([matrix.between[np.tril_indices(len(matrix.excess))], matrix.excess])


def _unflat(flat: Float[np.ndarray, " entries"], classes: int) -> Blocks:
    rows, columns = np.tril_indices(classes)
    between = np.zeros((classes, classes))
    between[rows, columns] = between[columns, rows] = flat[:-classes]
    return Blocks(between, flat[-classes:])


def _first(task: Task, wanted: Blocks) -> tuple[Blocks, float, float]:
    """The kernel of the first layer under the fields that are wanted, log Z_1, and the share of points that count."""
    weight = _first_weight(task, wanted)
    points, probability, log_partition = _placed(weight)
    site = weight.site(points)
    kernel = Blocks((probability[:, None] * site.mean).T @ site.mean, probability @ site.variance)
    return kernel, log_partition, effective_share(probability)


def _first_weight(task: Task, wanted: Blocks) -> Weight:
    """The density of the fields on neurons of the first layer."""
    root, still = _root(wanted.between), np.zeros_like(wanted.between)
    return Weight(task.counts, root.T, still, wanted.excess, np.ones(len(task.counts)), task.unit)


def _placed(weight: Weight) -> tuple[np.ndarray, np.ndarray, float]:
    """Points with their probability, and the logarithm of the integral."""
    placed = cloud(weight)
    log_masses = weight.log_density(placed.points, weight.site(placed.points)) - placed.log_proposal
    return placed.points, normalised(log_masses), float(np.asarray(special.logsumexp(log_masses)))


def _second(task: Task, first: Blocks, residual: np.ndarray, maxima: np.ndarray | None) -> _State:
    """The residual at a given kernel of the first layer, and what the second layer wants of the first."""
    root = _root(first.between)
    rank, classes = residual.shape[1], len(task.counts)
    scale = np.sqrt(task.readout_variance)

    def weight(residual: np.ndarray) -> Weight:
        fields = np.concatenate([scale * residual.T, np.zeros((root.shape[1], classes))])
        shifts = np.concatenate([np.zeros((rank, classes)), root.T])
        return Weight(task.counts, fields, shifts, np.zeros(classes), first.excess, task.unit)

    def build(points: Cloud, residual: np.ndarray) -> Neurons:
        here = weight(residual)
        site = here.site(points.points)
        masses = here.log_density(points.points, site) - points.log_proposal
        nowhere = np.zeros(len(masses), int)
        return Neurons(task, residual, scale * points.points[:, :rank], (), masses, site, nowhere, np.ones(1))

    near = None if maxima is None or maxima.shape[1] != rank + root.shape[1] else maxima
    gap, points, neurons = np.inf, cloud(weight(residual), near), None
    for _ in range(PLACEMENTS):
        neurons, gap = minimise(lambda trial, points=points: build(points, trial), residual)
        moved = float(np.abs(neurons.residual - residual).max() / max(np.abs(residual).max(), 1e-300))
        if moved < FAR:
            break
        residual = neurons.residual
        points = cloud(weight(residual), points.maxima)
        neurons = build(points, residual)
    assert neurons is not None
    last = weight(neurons.residual)
    pull = last.pull(points.points, neurons.site)
    wish = Blocks((neurons.probability[:, None] * pull).T @ pull, neurons.probability @ last.stiffness(neurons.site))
    return _State(neurons, wish, wish, first, points.maxima, gap)


def _root(matrix: np.ndarray) -> np.ndarray:
    """R with RRᵀ the matrix; always square, so that the number of variables does not change on the way."""
    values, axes = np.linalg.eigh(0.5 * (matrix + matrix.T))
    return axes * np.sqrt(np.maximum(values, 0.0))[None]
