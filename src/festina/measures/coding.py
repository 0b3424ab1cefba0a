"""Which coding scheme a hidden layer uses for its classes: lazy, analog, redundant or sparse.

Needed are the activations of the layer and the class of each sample, from whatever library trained it; readout weights
make the answer sharper. With M_ci the mean activation of neuron i in class c, p_c the share of samples and
D_i = √p_c (M_ci − mean over classes), a neuron *contributes* c_i = |a_i||D_i| to telling classes apart (|D_i|² without
readout). Four numbers decide:

- ``strength``: variance between classes, less what samples without structure (or the prior) would have, over the
  variance within classes. Below .05 features were not learned: *lazy*.
- ``share``: of all contributions in the top tenth of neurons. Above .45 few neurons do all: *sparse*.
- ``neighbour``: the mean distance of a neuron's readout (or class means) to the nearest other, over that of Gaussian
  neurons with the same covariance. Far below 1 neurons come in groups: *redundant*.
- ``kurtosis``: ⟨|w|⁴⟩/(d(d+2)) of whitened readouts, 1 for Gaussian ones; clearly below 1 for separate groups.

None of these: *analog*. The cuts were set on sampled networks and then held fixed on new tasks.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float, Int

from festina._lazy import spatial
from festina.errors import require
from festina.measures.arrays import as_real
from festina.measures.layers import read_layer
from festina.measures.thresholds import low_and_high
from festina.notebook import Told

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEWEST = 20  # neurons
LAZY_BELOW, SPARSE_ABOVE, NEIGHBOURS_BELOW, MEANS_BELOW = 0.05, 0.45, 0.6, 0.4
FLAT_BELOW, FLAT_SURELY = 0.9, -4.0  # kurtosis, and how many standard errors below 1
TOP = 0.1
KEPT = 0.8  # of the neurons in each resample


@dataclass(frozen=True)
class Code:
    """Neurons that are on for the same classes: their classes, their number, and their share of all contributions."""

    classes: tuple[Any, ...]
    neurons: Int[np.ndarray, " members"]
    share: float

    @property
    def count(self) -> int:
        return len(self.neurons)

    @property
    def name(self) -> str:
        return "{" + " ".join(map(str, self.classes)) + "}"


@dataclass(frozen=True)
class Statistics:
    """The four numbers of the module's docstring; ``certainty`` is how many standard errors kurtosis is above 1."""

    strength: float
    share: float
    neighbour: float
    kurtosis: float
    certainty: float

    def scheme(self, has_readout: bool) -> str:
        """The scheme these numbers speak for."""
        if self.strength < LAZY_BELOW:
            return "lazy"
        if self.share > SPARSE_ABOVE:
            return "sparse"
        grouped = self.neighbour < (NEIGHBOURS_BELOW if has_readout else MEANS_BELOW)
        flat = self.kurtosis < FLAT_BELOW and self.certainty < FLAT_SURELY
        return "redundant" if grouped or flat else "analog"


@dataclass(frozen=True, repr=False)
class Coding(Told):
    """What `coding` found.

    Attributes:
        scheme: ``lazy``, ``analog``, ``redundant`` or ``sparse``.
        confidence: the share of resamples, each of four fifths of the neurons, that give the same scheme;
            not a number without any.
        statistics: the numbers that decided.
        null_strength: the strength with labels shuffled over samples, shuffle by shuffle.
        codes: groups of neurons, the strongest first; none in lazy and analog layers.
        contributions: c_i of each neuron.
        means: M_ci, neuron by class.
        readout: a_i, neuron by output, if it was given.
        classes: names of the classes.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> random = np.random.default_rng(0)
        >>> labels = np.repeat([0, 1, 2], 20)
        >>> activity = (random.random((3, 90)) < 0.5)[labels] + 0.05 * random.normal(size=(60, 90))
        >>> fs.measures.coding(activity, labels).scheme
        'redundant'
    """

    scheme: str
    confidence: float
    statistics: Statistics
    null_strength: Float[np.ndarray, " shuffles"]
    codes: tuple[Code, ...]
    contributions: Float[np.ndarray, " neurons"]
    means: Float[np.ndarray, "neurons classes"]
    readout: Float[np.ndarray, "neurons outputs"] | None
    classes: tuple[Any, ...]

    @property
    def points(self) -> Float[np.ndarray, "neurons dimensions"]:
        """Where neurons lie: their readouts or, without, their class means."""
        return self.means if self.readout is None else self.readout

    @property
    def agreement(self) -> str:
        """How many resamples agree, in brackets; nothing where none were asked for."""
        return "" if math.isnan(self.confidence) else f" ({self.confidence:.0%} of resamples agree)"

    def figure(self) -> "Figure":
        """One page: neurons in their space, class means sorted by code, and how contributions are spread."""
        from festina.measures.coding_figure import draw

        return draw(self)

    def __repr__(self) -> str:
        numbers, null = self.statistics, self.null_strength
        shuffled = f" (97.5 % of shuffles below {np.percentile(null, 97.5):.2g})" if len(null) else ""
        codes = ", ".join(f"{code.name} {code.count}" for code in self.codes[:8])
        return "\n".join(
            [
                f"{self.scheme} code of {len(self.classes)} classes in {len(self.contributions)} neurons"
                f"{self.agreement}",
                f"  strength {numbers.strength:.3g}{shuffled}, share of the top tenth "
                f"{numbers.share:.2f}, nearest neighbour {numbers.neighbour:.2f}, kurtosis {numbers.kurtosis:.2f} "
                f"({numbers.certainty:+.1f} standard errors)",
                f"  codes: {codes or 'none'}",
            ]
        )


def coding(
    activations: Any,
    labels: Any = None,
    readout: Any = None,
    *,
    prior_kernel: Any = None,
    resamples: int = 100,
    shuffles: int = 100,
    seed: int = 0,
) -> Coding:
    """The coding scheme of a hidden layer.

    Args:
        activations: (samples, neurons), or (contexts, items, neurons), or (samples, channels, height, width), in which
            a channel is a neuron and its activity the mean over positions (`channel_maxima` and `positions_as_samples`
            are other ways); NumPy, xarray, PyTorch, JAX or lists.
        labels: the class of each sample, by any name. For (contexts, items, neurons) each context is a class of its own
            unless labels are given, one a context or one for each context and item; an xarray of labels goes by the
            names of its dimensions.
        readout: weights from the layer to the output, (outputs, neurons).
        prior_kernel: H Hᵀ/N of the layer before training, (samples, samples). Inputs of one class are alike in real
            data, and so are their activations without any learning: give it there. Samples of (contexts, items,
            neurons) are the items of the first context, then those of the second, ….
        resamples: of neurons, for the confidence.
        shuffles: of labels, for the null of the strength.
        seed: of all of these.

    Returns:
        The name of the scheme, how many resamples agree with it, the numbers that decided and the codes; its
        ``figure()`` draws them.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> random = np.random.default_rng(0)
        >>> on = np.array([[1, 0], [0, 1]])[random.integers(0, 2, 100)]  # neurons are on for one of two classes
        >>> layer = on[:, np.repeat([0, 1], 30)].T + 0.1 * random.normal(size=(60, 100))
        >>> found = fs.measures.coding(layer, np.repeat(["left", "right"], 30))
        >>> found.scheme, sorted(code.name for code in found.codes)
        ('redundant', ['{left}', '{right}'])
    """
    layer, names, members, weights = _checked(activations, labels, readout)
    prior = None if prior_kernel is None else _prior(prior_kernel, members)
    random = np.random.default_rng(seed)
    statistics = _statistics(layer, members, weights, prior, random)
    scheme = statistics.scheme(weights is not None)
    size = max(FEWEST // 2, round(KEPT * layer.shape[1]))
    agree = 0
    for _ in range(resamples):
        few = random.choice(layer.shape[1], size, replace=False)
        part = _statistics(layer[:, few], members, None if weights is None else weights[few], prior, random)
        agree += part.scheme(weights is not None) == scheme
    null = np.array([_strength(layer, random.permutation(members, axis=0), None) for _ in range(shuffles)])
    means = _class_means(layer, members)
    contributions = _contributions(means, members, weights)
    return Coding(
        scheme,
        agree / resamples if resamples else math.nan,
        statistics,
        null,
        _codes(scheme, means, contributions, names),
        contributions,
        means,
        weights,
        tuple(names.tolist()),
    )


def _checked(activations: Any, labels: Any, readout: Any) -> tuple[Any, Any, Any, Any]:
    """Activations, names of classes, membership (samples, classes), readouts (neurons, outputs)."""
    read = read_layer(activations)
    layer = read.values
    require(layer.shape[1] >= FEWEST, "activations", f"hold at least {FEWEST} neurons", layer.shape[1])
    require(float(np.ptp(layer, axis=0).max()) > 0, "activations", "differ between samples", "constant")
    marks = read.classes("labels", labels)
    names = np.asarray(marks.names)
    require(len(names) >= 2, "labels", "name at least 2 classes", names.tolist())
    require(len(layer) > len(names), "labels", "leave some class with several samples", f"{len(names)} classes")
    weights = None
    if readout is not None:
        given = as_real("readout", readout)
        fits = given.ndim == 2 and given.shape[1] == layer.shape[1]
        require(fits, "readout", f"be (outputs, {layer.shape[1]} neurons)", f"of shape {given.shape}")
        weights = given.T
    return layer, names, np.eye(len(names))[marks.numbers], weights


def _prior(kernel: Any, members: np.ndarray) -> tuple[float, float]:
    """Variance between and within classes of a kernel."""
    matrix = as_real("prior_kernel", kernel)
    count = len(members)
    require(matrix.shape == (count, count), "prior_kernel", f"be ({count}, {count})", f"of shape {matrix.shape}")
    shares = members.mean(axis=0)
    blocks = members.T @ matrix @ members / (count * shares[:, None] * count * shares[None])
    own = float(shares @ np.diag(blocks))
    return own - float(shares @ blocks @ shares), float(np.mean(np.diag(matrix))) - own


def _class_means(layer: np.ndarray, members: np.ndarray) -> Float[np.ndarray, "neurons classes"]:
    return layer.T @ members / members.sum(axis=0)[None]


def _deviations(means: np.ndarray, members: np.ndarray) -> Float[np.ndarray, "neurons classes"]:
    """D_i = √p_c (M_ci − Σ_c p_c M_ci)."""
    shares = members.mean(axis=0)
    return (means - (means @ shares)[:, None]) * np.sqrt(shares)[None]


def _contributions(means: np.ndarray, members: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    sizes = np.linalg.norm(_deviations(means, members), axis=1)
    return sizes**2 if weights is None else sizes * np.linalg.norm(weights, axis=1)


def _strength(layer: np.ndarray, members: np.ndarray, prior: tuple[float, float] | None) -> float:
    """(between − between of the prior)/within of the prior; without a prior, of samples that have no structure."""
    means = _class_means(layer, members)
    between = float(np.mean(np.sum(_deviations(means, members) ** 2, axis=1)))
    if prior is not None:
        return (between - prior[0]) / max(prior[1], np.finfo(float).tiny)
    samples, classes = members.shape
    within = float(np.mean((layer - members @ means.T) ** 2)) * samples / (samples - classes)
    return between / max(within, np.finfo(float).tiny) - (classes - 1) / samples


def _statistics(
    layer: np.ndarray,
    members: np.ndarray,
    weights: np.ndarray | None,
    prior: tuple[float, float] | None,
    random: np.random.Generator,
) -> Statistics:
    means = _class_means(layer, members)
    contributions = np.sort(_contributions(means, members, weights))[::-1]
    top = max(1, round(TOP * len(contributions)))
    whitened = _whitened(_deviations(means, members) if weights is None else weights)
    kurtosis, certainty = _kurtosis(whitened)
    return Statistics(
        _strength(layer, members, prior),
        float(contributions[:top].sum() / max(contributions.sum(), np.finfo(float).tiny)),
        _neighbour(whitened, random),
        kurtosis,
        certainty,
    )


def _whitened(points: np.ndarray) -> Float[np.ndarray, "neurons dimensions"]:
    """Points with zero mean and unit covariance, in the directions in which they vary at all."""
    centred = points - points.mean(axis=0, keepdims=True)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    kept = sizes > 1e-6 * max(sizes[0], np.finfo(float).tiny)
    return left[:, kept] * len(points) ** 0.5


def _neighbour(points: np.ndarray, random: np.random.Generator) -> float:
    """The median distance to the nearest neighbour, over that of as many Gaussian points."""

    def typical(cloud: np.ndarray) -> float:
        return float(np.median(spatial.KDTree(cloud).query(cloud, k=2)[0][:, 1]))

    return typical(points) / typical(random.normal(size=points.shape))


def _kurtosis(points: np.ndarray) -> tuple[float, float]:
    """Mardia's ⟨|w|⁴⟩/(d(d+2)), and how many standard errors √(8/(d(d+2)N)) it is above 1."""
    count, dimension = points.shape
    full = dimension * (dimension + 2)
    value = float(np.mean(np.sum(points**2, axis=1) ** 2) / full)
    return value, (value - 1.0) / np.sqrt(8.0 / (full * count))


def _codes(scheme: str, means: np.ndarray, contributions: np.ndarray, names: np.ndarray) -> tuple[Code, ...]:
    finders: dict[str, Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
        "redundant": lambda means, _: (np.arange(len(means)), means > _half_way(means)),
        "sparse": _outliers,
    }
    if scheme not in finders:
        return ()
    chosen, on = finders[scheme](means, contributions)
    groups: dict[tuple[bool, ...], list[int]] = {}
    for neuron, classes in zip(chosen.tolist(), on[chosen].tolist(), strict=True):
        groups.setdefault(tuple(classes), []).append(neuron)
    total = contributions.sum()
    codes = [
        Code(tuple(names[np.array(classes)].tolist()), np.array(members), float(contributions[members].sum() / total))
        for classes, members in groups.items()
    ]
    return tuple(sorted(codes, key=lambda code: -code.share))


def _outliers(means: np.ndarray, contributions: np.ndarray) -> tuple[np.ndarray, Bool[np.ndarray, "neurons classes"]]:
    """Neurons whose contribution stands out of the bulk (4 robust standard deviations of its logarithm), and the
    classes in which they reach half of their own largest mean."""
    logs = np.log(np.maximum(contributions, np.finfo(float).tiny))
    middle = np.median(logs)
    spread = 1.4826 * np.median(np.abs(logs - middle))
    return np.flatnonzero(logs > middle + 4.0 * spread), means > 0.5 * means.max(axis=1, keepdims=True)


def _half_way(values: np.ndarray) -> float:
    """Half-way between the two groups of the least variance within, of all values together."""
    low, high = low_and_high(values.reshape(-1, 1))
    return float(low[0] + high[0]) / 2
