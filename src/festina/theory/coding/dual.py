"""The mean-field theory of one hidden layer as a convex problem, for orthogonal inputs in classes.

As N → ∞ at fixed P, neurons become independent. With K_0 = I and a residual t_c that all n_c members of a class share,
the readout a of a neuron and its preactivations z have the density

    p(a, z) ∝ N(a|0, s) N(z|0, 1) exp(Σ_μ a·t_μ φ(z_μ)),    log p(a) = −|a|²/2s + Σ_c n_c G(a·t_c) + const,

G(b) = log∫Dz e^{bφ(z)}, and t = (Y − ⟨f⟩)/T minimises the convex function

    F(t) = Σ_c n_c (T|t_c|²/2 − t_c·y_c) + log∫da N(a|0, s) exp(Σ_c n_c G(a·t_c)).

Here the integral over a is done on a grid, in the row space of the targets; in all other directions a keeps its prior.
Neurons may also be told which *cell* of the space of readouts they live in: with a share P_γ of neurons in cell γ the
logarithm becomes Σ_γ P_γ log∫_γ da …, and F is convex as before. In a frozen network neurons keep their cells.

The model is that of A. van Meegen, H. Sompolinsky, "Coding schemes in neural networks learning classification tasks"
(2024). The equations were derived independently and checked against posterior sampling.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

import numpy as np
from jaxtyping import Float, Int

from festina.errors import require
from festina.theory.coding._quadrature import Site
from festina.theory.coding.prediction import check_common, row_space
from festina.theory.coding.units import Unit

SPACING = 0.6  # of the grid, in units of √s: densities of readouts are never narrower than √s
COARSE, COARSE_TOLERANCE = 1.2, 1e-4  # on the way to the temperature: a sum on such a grid is right to 1e-6
MARGIN = 8.5  # of the grid beyond all modes, in units of √s
LARGEST_GRID, LONGEST = 500_000, 2_000  # points in all, and along one axis
MOST_EXAMPLES = 10_000
TOLERANCE = 1e-10
NEWTON_STEPS, HALVINGS = 200, 15
PATIENCE = 12  # Newton steps on the way to the temperature; if they are not enough, it was too far
COOLING, SLOWEST = 0.85, 0.97  # ratio of neighbouring temperatures on the way down, where all goes well and at most
SOLVED = 1e-6  # a mismatch that is larger, as a share of the targets, is no solution

Cells = Callable[[np.ndarray, np.ndarray, tuple[int, ...]], np.ndarray]


@dataclass(frozen=True)
class Task:
    """Classes of orthogonal inputs, as the theory sees them.

    Attributes:
        counts: n_c.
        targets: y_c in coordinates of the row space.
        basis: of the row space, one direction a column.
        temperature: T.
        readout_variance: s.
        unit: φ.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> unit = fs.theory.coding.SIGMOIDAL
        >>> fs.theory.coding.class_task([3, 2], np.eye(2), 0.1, readout_variance=0.2, unit=unit).labels
        array([0, 0, 0, 1, 1])
    """

    counts: Float[np.ndarray, " classes"]
    targets: Float[np.ndarray, "classes rank"]
    basis: Float[np.ndarray, "outputs rank"]
    temperature: float
    readout_variance: float
    unit: Unit

    @property
    def labels(self) -> Int[np.ndarray, " examples"]:
        """The class of each example, in the order of the classes."""
        return np.repeat(np.arange(len(self.counts)), self.counts.astype(int))

    def at(self, temperature: float) -> "Task":
        """The same task at another temperature."""
        return Task(self.counts, self.targets, self.basis, temperature, self.readout_variance, self.unit)

    def log_density(
        self, readouts: Float[np.ndarray, "points rank"], residual: Float[np.ndarray, "classes rank"]
    ) -> Float[np.ndarray, " points"]:
        """log p(a), up to the normalisation of p but with that of the prior."""
        return self._log_density(readouts, self.unit.site(readouts @ residual.T))

    def _log_density(self, readouts: np.ndarray, site: Site) -> np.ndarray:
        rank, variance = readouts.shape[1], self.readout_variance
        prior = -0.5 * np.sum(readouts**2, axis=1) / variance - 0.5 * rank * np.log(2.0 * np.pi * variance)
        return prior + site.log_partition @ self.counts


def class_task(
    counts: Sequence[int] | np.ndarray,
    targets: Float[np.ndarray, "classes outputs"],
    temperature: float,
    readout_variance: float,
    unit: Unit,
) -> Task:
    """A task, checked; see `Task`. Targets are given in all outputs.

    Args:
        counts: n_c, examples of each class.
        targets: y_c of each class, of rank 1 to 3.
        temperature: T.
        readout_variance: s.
        unit: φ, one of `LINEAR`, `SIGMOIDAL`, `RECTIFIED`.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> targets = np.array([[1.0, 1.0], [2.0, 2.0]])  # two outputs that are asked for the same
        >>> task = fs.theory.coding.class_task([3, 2], targets, 0.1, 0.2, unit=fs.theory.coding.SIGMOIDAL)
        >>> task.targets.shape, task.basis.shape  # one direction: rank 1
        ((2, 1), (2, 1))
    """
    check_common(temperature, readout_variance)
    sizes, rows = np.asarray(counts, float), np.asarray(targets, float)
    given = sizes.ndim == 1 and sizes.size > 0
    require(given and bool(np.all(sizes >= 1)), "counts", "give every class an example", counts)
    whole = bool(np.all(np.isfinite(sizes))) and bool(np.all(sizes == np.rint(sizes)))
    require(whole, "counts", "be whole numbers of examples", counts)
    allowed = f"be at most {MOST_EXAMPLES} examples in all, for a kernel of every two of them"
    require(sizes.sum() <= MOST_EXAMPLES, "counts", allowed, f"{sizes.sum():.0f}")
    require(rows.ndim == 2 and len(rows) == len(sizes), "targets", f"have a row for {len(sizes)} classes", rows.shape)
    require(bool(np.all(np.isfinite(rows))), "targets", "be finite everywhere", "NaN or infinite somewhere")
    basis = row_space(rows)
    require(basis.shape[1] <= 3, "targets", "have a rank of at most 3, for a grid of readouts", basis.shape[1])
    return Task(sizes, rows @ basis, basis, float(temperature), float(readout_variance), unit)


@dataclass(frozen=True)
class Neurons:
    """The density p(a) of a neuron's readout on a grid, and what its preactivations do at each point.

    Attributes:
        task: what is learned.
        residual: t_c, in the row space.
        readouts: a at each point of the grid.
        shape: of the grid.
        log_masses: log of density times volume at each point.
        site: cumulants of a preactivation, for each point and class.
        cell: which cell each point belongs to; −1 where no neuron is.
        shares: P_γ of each cell.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> targets = np.array([[1.0], [-1.0]])  # two classes of ten, one output
        >>> neurons = fs.theory.coding.redundant([10, 10], targets, 0.1, readout_variance=0.2).neurons
        >>> round(float(neurons.probability.sum()), 6), neurons.kernel.shape
        (1.0, (20, 20))
    """

    task: Task
    residual: Float[np.ndarray, "classes rank"]
    readouts: Float[np.ndarray, "points rank"]
    shape: tuple[int, ...]
    log_masses: Float[np.ndarray, " points"]
    site: Site
    cell: Int[np.ndarray, " points"]
    shares: Float[np.ndarray, " cells"]

    @cached_property
    def log_partitions(self) -> Float[np.ndarray, " cells"]:
        """log Z_γ of each cell."""
        return np.array([_log_sum(self.log_masses[self.cell == each]) for each in range(len(self.shares))])

    @cached_property
    def probability(self) -> Float[np.ndarray, " points"]:
        """p(a), normalised to the share of each cell."""
        mass = np.exp(np.minimum(self.log_masses - self.log_partitions[self.cell], 0.0)) * self.shares[self.cell]
        return np.where(self.cell >= 0, mass, 0.0)

    @property
    def dual(self) -> float:
        """F(t)."""
        counts, residual = self.task.counts[:, None], self.residual
        fit = np.sum(counts * (0.5 * self.task.temperature * residual**2 - residual * self.task.targets))
        return float(fit + self.shares @ self.log_partitions)

    @cached_property
    def answers(self) -> Float[np.ndarray, "classes rank"]:
        """⟨f⟩_c = ⟨G'(a·t_c) a⟩."""
        return (self.probability[:, None] * self.site.mean).T @ self.readouts

    @property
    def mismatch(self) -> Float[np.ndarray, "classes rank"]:
        """(1/n_c) ∂F/∂t_c = T t_c − y_c + ⟨f⟩_c."""
        return self.task.temperature * self.residual - self.task.targets + self.answers

    @property
    def curvature(self) -> Float[np.ndarray, "unknowns unknowns"]:
        """∂²F/∂t∂t: T n_c, the spread of a single neuron's answers, and that of its activities at given a."""
        task, (classes, rank) = self.task, self.residual.shape
        single = (self.site.mean * task.counts[None])[:, :, None] * self.readouts[:, None]
        single = single.reshape(len(single), -1)
        weighted = self.probability[:, None] * single
        curvature = weighted.T @ single
        for each, share in enumerate(self.shares):
            within = weighted[self.cell == each].sum(axis=0)
            curvature = curvature - np.outer(within, within) / max(share, 1e-300)
        spread = np.einsum("q,qc,qi,qj->cij", self.probability, self.site.variance, self.readouts, self.readouts)
        blocks = task.counts[:, None, None] * (spread + task.temperature * np.eye(rank)[None])
        local = np.einsum("cd,cij->cidj", np.eye(classes), blocks).reshape(classes * rank, classes * rank)
        return curvature + local

    @property
    def class_kernel(self) -> Float[np.ndarray, "classes classes"]:
        """κ = ⟨G'(b_c) G'(b_c')⟩: the kernel of two different examples."""
        return (self.probability[:, None] * self.site.mean).T @ self.site.mean

    @property
    def kernel(self) -> Float[np.ndarray, "examples examples"]:
        """K_1: κ between examples, and ⟨G'' + G'²⟩ for an example with itself."""
        labels = self.task.labels
        kernel = self.class_kernel[np.ix_(labels, labels)]
        return kernel + np.diag((self.probability @ self.site.variance)[labels])


def neurons(
    task: Task,
    residual: Float[np.ndarray, "classes rank"],
    box: tuple[np.ndarray, np.ndarray] | None = None,
    cells: Cells | None = None,
    shares: Float[np.ndarray, " cells"] | None = None,
    spacing: float = SPACING,
) -> Neurons:
    """The density of readouts at a given residual.

    Args:
        task: what is learned.
        residual: t_c, in the row space.
        box: lowest and highest corner of the grid; what bounds the modes of a φ between 0 and 1, unless given.
        cells: the cell of each point, from points, heights log p and the shape of the grid; one cell unless given.
        shares: P_γ of each cell.
        spacing: of the grid, in units of √s.
    """
    readouts, shape, volume = _grid(task, *(_mode_box(task, residual) if box is None else box), spacing)
    site = task.unit.site(readouts @ residual.T)
    log_masses = task._log_density(readouts, site) + np.log(volume)
    if cells is None or shares is None:
        cell, portions = np.zeros(len(readouts), int), np.ones(1)
    else:
        cell, portions = cells(readouts, log_masses, shape), np.asarray(shares, float)
    return Neurons(task, residual, readouts, shape, log_masses, site, cell, portions)


def minimise(
    build: Callable[[np.ndarray], Neurons],
    start: Float[np.ndarray, "classes rank"],
    tolerance: float = TOLERANCE,
    steps: int = NEWTON_STEPS,
    within: Callable[[np.ndarray], bool] = lambda residual: True,
) -> tuple[Neurons, float]:
    """The minimum of F by Newton's method with steps cut back until F falls, and the largest mismatch left.

    Args:
        build: the density of readouts at a residual.
        start: t to begin with.
        tolerance: the mismatch that is good enough, as a share of the targets.
        steps: how many at most.
        within: whether F is finite at a residual; everywhere, unless given.
    """
    state = build(start)
    size = float(np.abs(state.task.targets).max())
    for _ in range(steps):
        if float(np.abs(state.mismatch).max()) < tolerance * size:
            break
        lower = _newton_step(build, state, within)
        if lower is state:
            break
        state = lower
    return state, float(np.abs(state.mismatch).max())


def _newton_step(
    build: Callable[[np.ndarray], Neurons], state: Neurons, within: Callable[[np.ndarray], bool]
) -> Neurons:
    """The first place where F is low enough on the way back from where a step leads; the last, if there is none."""
    gradient = (state.task.counts[:, None] * state.mismatch).reshape(-1)
    step = -np.linalg.solve(state.curvature, gradient).reshape(state.residual.shape)
    slope, trial = float(gradient @ step.reshape(-1)), state
    for share in 0.5 ** np.arange(HALVINGS):
        if within(state.residual + share * step):
            trial = build(state.residual + share * step)
            if trial.dual <= state.dual + 1e-4 * share * slope + 1e-9 * abs(state.dual):
                return trial
    return trial


def solve(task: Task, warm: float | None = None) -> tuple[Neurons, float]:
    """The minimum of F for a bounded φ, followed downwards in temperature: at low T Newton's method needs a near start.

    Args:
        task: what is learned.
        warm: the temperature to come from; where the residual is nearly Y/T, unless given.
    """
    hot = (
        max(4.0 * float(np.abs(task.targets).max()), task.temperature) if warm is None else max(warm, task.temperature)
    )
    residual, reached, ratio = task.targets / hot, np.inf, COOLING
    key = tuple(task.counts.tolist()), tuple(map(tuple, task.targets.tolist())), task.readout_variance, task.unit
    good = COARSE_TOLERANCE * float(np.abs(task.targets).max())
    while reached > task.temperature:
        trial = max(task.temperature, min(hot, reached * ratio))
        found, gap = _coarse(*key, trial, tuple(map(tuple, residual.tolist())))
        if gap < good:
            residual, reached, ratio = found, trial, max(COOLING, ratio**1.5)
            continue
        ratio = ratio**0.5
        least = f"be {reached:.3g} or more" if reached < np.inf else f"be more than {hot:.3g}"
        must = f"{least} for these targets and this readout variance: below, the solution could not be followed"
        require(ratio < SLOWEST, "temperature", must, task.temperature)
    state, gap = minimise(partial(neurons, task), residual)
    solved = gap < SOLVED * float(np.abs(task.targets).max())
    require(solved, "temperature", "be higher for these targets: the equations could not be solved", task.temperature)
    return state, gap


Rows = tuple[tuple[float, ...], ...]


@lru_cache(maxsize=4096)
def _coarse(
    counts: tuple[float, ...], targets: Rows, readout_variance: float, unit: Unit, temperature: float, start: Rows
) -> tuple[Float[np.ndarray, "classes rank"], float]:
    """The residual on a coarse grid, and the mismatch that is left.

    They are kept: tasks at many temperatures, as of who moves a slider, have nearly all of the way down in common.
    """
    rows = np.array(targets)
    task = Task(np.array(counts), rows, np.eye(rows.shape[1]), temperature, readout_variance, unit)
    state, gap = minimise(partial(neurons, task, spacing=COARSE), np.array(start), COARSE_TOLERANCE, PATIENCE)
    return state.residual, gap


def _log_sum(logs: Float[np.ndarray, " points"]) -> float:
    """log Σ e^x, without the checks that take SciPy longer than the sum."""
    top = float(np.max(logs, initial=-np.inf))
    return top + float(np.log(np.sum(np.exp(logs - top)))) if np.isfinite(top) else top


def _mode_box(task: Task, residual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For 0 ≤ φ ≤ 1 a mode is a = s Σ_c n_c t_c G'_c with 0 ≤ G' ≤ 1, and beyond them p falls as its prior does."""
    pulls = task.readout_variance * task.counts[:, None] * residual
    margin = MARGIN * np.sqrt(task.readout_variance)
    return np.minimum(pulls, 0.0).sum(axis=0) - margin, np.maximum(pulls, 0.0).sum(axis=0) + margin


def _grid(
    task: Task, low: np.ndarray, high: np.ndarray, step: float = SPACING
) -> tuple[np.ndarray, tuple[int, ...], float]:
    spacing = step * np.sqrt(task.readout_variance)
    ends = [(np.floor(a / spacing), np.ceil(b / spacing) + 1) for a, b in zip(low, high, strict=True)]
    shape = tuple(int(last - first) for first, last in ends)
    grid = f"a grid of {LARGEST_GRID} readouts, {LONGEST} along each axis,"
    must = f"be so small, next to √readout_variance, that {grid} holds their density"
    sizes = [size * step / SPACING for size in shape]
    fits = float(np.prod(sizes)) <= LARGEST_GRID and max(sizes) <= LONGEST
    require(fits, "targets", must, f"such that it takes {' × '.join(f'{size:.2g}' for size in sizes)} points")
    axes = [np.arange(*pair) * spacing for pair in ends]
    points = np.stack([part.reshape(-1) for part in np.meshgrid(*axes, indexing="ij")], axis=1)
    return points, shape, spacing ** len(axes)
