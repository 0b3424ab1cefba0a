"""The representation of a layer: how alike two of them are, in how many dimensions one lives, how far it has collapsed.

Layers are (samples, units), (contexts, items, units) or feature maps (samples, channels, height, width), of which a
channel counts as a unit, with the mean over positions as its activity (`festina.measures.layers`); NumPy, xarray,
PyTorch, JAX or lists. None of the measures depends on the unit in which activations are given, and so layers are scaled
by powers of two before anything is squared: activations of 1e150 or 1e-150 are as good as others.

Sources: S. Kornblith, M. Norouzi, H. Lee, G. Hinton, "Similarity of neural network representations revisited" (2019),
for the alignment; L. Song, A. Smola, A. Gretton, J. Bedo, K. Borgwardt, "Feature selection via dependence maximization"
(2012), for its unbiased terms; O. Roy, M. Vetterli, "The effective rank" (2007); V. Papyan, X. Y. Han, D. L. Donoho,
"Prevalence of neural collapse during the terminal phase of deep learning training" (2020).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from festina.errors import require
from festina.measures.arrays import as_real
from festina.measures.layers import Layer, Marks, read_layer
from festina.notebook import Told

ROUNDING = float(np.finfo(float).eps)
COARSER = {"float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}  # precisions in which layers come
SYMMETRIC_TO = 1e-3  # of the largest entry: kernels in half precision pass, layers with as many units as samples do not
EACH_ALONE = "but for what a sample adds to all pairs it is in"
POSITIVE_TO = 1e-4  # of the largest eigenvalue: below it a negative one is the rounding of a kernel in low precision


def cka(first: Any, second: Any) -> float:
    """Linear centered kernel alignment, |XᵀY|²/(|XᵀX||YᵀY|), with X and Y less their means over samples.

    Norms are those of Frobenius. It does not change if either layer is rotated, shifted or scaled as a whole; it does
    change under other invertible maps, since it weighs directions by their variance. With few samples and many units it
    is close to 1 even for layers that have nothing in common: `unbiased_cka` is not.

    Args:
        first: X, (samples, units), or another shape of a layer; at least two samples, which are not all the same.
        second: Y, on the same samples, of any width.

    Returns:
        From 0 to 1; 1 if one layer is the other, rotated, shifted and scaled.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> layer = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
        >>> round(fs.measures.cka(layer, 3 * layer[:, ::-1] + 5), 6)
        1.0
        >>> round(fs.measures.cka(layer, layer[:, :1]), 6)  # half of it
        0.707107
    """
    one, other = _centred_pair(first, second, fewest=2)
    own, others, across = (_grams if _grams_are_cheaper(one, other) else _correlations)(one, other)
    return float(min(across / np.sqrt(own * others), 1.0))


def kernel_cka(first: Any, second: Any) -> float:
    """Centered kernel alignment of two kernels, ⟨HKH, HLH⟩/(|HKH||HLH|) with H = I − 11ᵀ/n.

    `cka` of two layers is that of their kernels XXᵀ and YYᵀ.

    Args:
        first: K, (samples, samples), symmetric; it must not be the same for all pairs.
        second: L, of the same samples.

    Returns:
        From 0 to 1 for kernels without negative eigenvalues, and otherwise from −1 to 1.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> classes = np.kron(np.eye(2), np.ones((2, 2)))  # two classes of two samples
        >>> round(fs.measures.kernel_cka(classes, 5 * classes + 1), 6)
        1.0
        >>> round(fs.measures.kernel_cka(classes, np.eye(4)), 6)
        0.57735
    """
    kernels = _kernel("first", first), _kernel("second", second)
    count = len(kernels[0])
    require(count >= 2, "first", "hold at least 2 samples", count)
    require(len(kernels[1]) == count, "second", f"hold the {count} samples of `first`", len(kernels[1]))
    own, others = (_centred_kernel(*named) for named in zip(("first", "second"), kernels, strict=True))
    return float(np.clip(np.sum(own * others) / np.sqrt(_squares(own) * _squares(others)), -1.0, 1.0))


def unbiased_cka(first: Any, second: Any) -> float:
    """`cka` of which each of the three terms is unbiased, so that it does not grow as samples get fewer.

    With kernels K and L of n samples, their diagonals set to zero, every term |XᵀY|² of `cka` becomes

        [tr KL + 1ᵀK1 1ᵀL1/((n−1)(n−2)) − 2 1ᵀKL1/(n−2)]/(n(n−3)),

    the estimate of the Hilbert-Schmidt independence criterion of Song et al., which has no bias; the ratio of three
    such terms has little. What one sample has with itself counts for nothing: layers have to agree on pairs.

    Args:
        first: (samples, units), or another shape of a layer; at least four samples.
        second: on the same samples, of any width.

    Returns:
        From −1 to 1; around 0 for layers that have nothing in common.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> random = np.random.default_rng(0)
        >>> first, second = random.normal(size=(2, 20, 1000))  # 20 samples, 1000 units, nothing in common
        >>> bool(fs.measures.cka(first, second) > 0.9), bool(abs(fs.measures.unbiased_cka(first, second)) < 0.2)
        (True, True)
    """
    one, other = _centred_pair(first, second, fewest=4)
    own, others, across = (_pair_grams if _grams_are_cheaper(one, other) else _pair_correlations)(one, other)
    for name, term in (("first", own), ("second", others)):
        must = "make some pairs of samples more alike than others"
        require(term > 0, name, must, f"equally alike for all, {EACH_ALONE}")
    return float(np.clip(across / np.sqrt(own * others), -1.0, 1.0))


def participation_ratio(activations: Any) -> float:
    """(Σλ)²/Σλ² with λ the eigenvalues of the covariance of units: in how many dimensions a layer varies.

    D if the layer varies equally in D directions and not in others. Small variances hardly count; `effective_rank`
    lets them count for more.

    Args:
        activations: (samples, units), or another shape of a layer; at least two samples, which are not all the same.

    Returns:
        From 1 to the smaller of the number of units and that of samples less one.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> corners = np.array([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [-1.0, -1.0, 0.0]])
        >>> round(fs.measures.participation_ratio(corners), 6)
        2.0
    """
    centred = _centred("activations", read_layer(activations).values)
    product = centred @ centred.T if len(centred) < centred.shape[1] else centred.T @ centred
    return float(_squares(centred) ** 2 / _squares(product))


def kernel_participation_ratio(kernel: Any) -> float:
    """(tr K)²/|K|² = (Σλ)²/Σλ² with λ the eigenvalues of a kernel, which is taken as it is, without centring.

    The exponential of the Rényi entropy of order two of λ/Σλ; that of the kernel of a layer less its mean is the
    layer's `participation_ratio`.

    Args:
        kernel: K, (samples, samples), symmetric, with no negative eigenvalues and not zero.

    Returns:
        From 1 to the number of samples, and never above `effective_rank`.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> round(fs.measures.kernel_participation_ratio(np.diag([3.0, 1.0, 0.0])), 6)  # 4²/(9 + 1)
        1.6
    """
    eigenvalues = _eigenvalues(kernel)
    return float(eigenvalues.sum() ** 2 / _squares(eigenvalues))


def effective_rank(kernel: Any) -> float:
    """exp(−Σ p ln p) with p = λ/Σλ and λ the eigenvalues of a kernel, which is taken as it is, without centring.

    The exponential of Shannon's entropy, as Roy and Vetterli have it. Of a layer X they take the singular values s
    where the kernel XXᵀ has λ = s²: for theirs give the square root of the kernel.

    Args:
        kernel: (samples, samples), symmetric, with no negative eigenvalues and not zero.

    Returns:
        From 1 to the rank of the kernel, and the latter if all its eigenvalues but those that are zero are equal.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> round(fs.measures.effective_rank(np.diag([2.0, 2.0, 0.0])), 6)
        2.0
        >>> round(fs.measures.effective_rank(np.diag([3.0, 1.0, 0.0])), 6)
        1.754765
    """
    eigenvalues = _eigenvalues(kernel)
    shares = eigenvalues[eigenvalues > 0] / eigenvalues.sum()
    return float(np.exp(-np.sum(shares * np.log(shares))))


@dataclass(frozen=True, repr=False)
class NeuralCollapse(Told):
    """How far a layer is from neural collapse, as `neural_collapse` finds it; 0 is collapse, but for the last field.

    With μ_c the mean of class c less the mean of all class means, C classes, and all of them of equal weight:

    Attributes:
        within_class_variability: tr(Σ_W Σ_B⁺)/C with Σ_W the covariance within classes and Σ_B that of the μ_c (NC1).
        norm_variation: standard deviation of |μ_c| over classes, relative to their mean (NC2).
        angle_variation: standard deviation of cos(μ_c, μ_c') over pairs of classes (NC2).
        simplex_deviation: the mean of |cos(μ_c, μ_c') + 1/(C−1)| over pairs: how far angles are from the widest there
            can be between all classes at once, those of a simplex (NC2).
        readout_mismatch: |W/|W| − M/|M||² with M the μ_c and W the readout, from 0 to 4; None without readout (NC3).
        nearest_mean_agreement: the share of samples for which the class with the nearest mean is what the network
            answers, 1 in collapse; None without answers (NC4).
        classes: names of the classes, in the order of M.
        units: how many there are.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> layer = np.array([[1.5, 0.0], [0.5, 0.0], [0.0, 1.0], [0.0, 1.0]])
        >>> found = fs.measures.neural_collapse(layer, ["left", "left", "right", "right"])
        >>> round(found.within_class_variability, 6), found.classes
        (0.0625, ('left', 'right'))
    """

    within_class_variability: float
    norm_variation: float
    angle_variation: float
    simplex_deviation: float
    readout_mismatch: float | None
    nearest_mean_agreement: float | None
    classes: tuple[Any, ...]
    units: int

    def __repr__(self) -> str:
        further = []
        if self.readout_mismatch is not None:
            further.append(f"readout and class means differ by {_plain(self.readout_mismatch)}")
        if self.nearest_mean_agreement is not None:
            agree = f"{self.nearest_mean_agreement:.1%}"
            further.append(f"the nearest class mean is the network's answer for {agree} of samples")
        lines = [
            f"neural collapse of {len(self.classes)} classes in {self.units} units; 0 is complete collapse",
            f"variability within classes {_plain(self.within_class_variability)}; class means differ in length by "
            f"{_plain(self.norm_variation)} and are {_plain(self.simplex_deviation)} from the cosines of a simplex",
            "; ".join(further),
        ]
        return "\n  ".join(line for line in lines if line)


def neural_collapse(activations: Any, labels: Any = None, readout: Any = None, answers: Any = None) -> NeuralCollapse:
    """The four signs of neural collapse in a layer, usually the last but one of a trained classifier.

    Samples of a class become alike (NC1); class means, less their common mean, become equally long and as far apart
    as possible, the corners of a simplex (NC2); the readout becomes these means (NC3); and the network answers with the
    class of the nearest mean (NC4). Every class counts the same, however many samples it has, so that for classes of
    equal size the numbers are those of Papyan et al.; standard deviations divide by the number of classes, or pairs.

    Directions in which class means do not differ (by more than the rounding of the precision in which the layer comes)
    are left out of Σ_B⁺. A class whose mean is the common mean has no direction: its cosines are 0. Two classes always
    are a simplex, and a layer with fewer than C − 1 units never is.

    Args:
        activations: (samples, units), or another shape of a layer; some class must have several samples.
        labels: the class of each sample, by any name. For (contexts, items, units) each context is a class of its own
            unless labels are given, one a context or one for each context and item.
        readout: W, (classes, units), one row a class in the order of `NeuralCollapse.classes`, which is that of
            numbers or of the alphabet, or for contexts their own. It is not centred.
        answers: the class that the network gives for each sample, by the names of ``labels``; a class that no sample
            belongs to counts as not agreeing.

    Returns:
        A `NeuralCollapse`, one number for each sign.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> simplex = 3 * np.eye(3) - 1
        >>> print(fs.measures.neural_collapse(np.repeat(simplex, 2, axis=0), list("aabbcc"), readout=simplex))
        neural collapse of 3 classes in 3 units; 0 is complete collapse
          variability within classes 0; class means differ in length by 0 and are 0 from the cosines of a simplex
          readout and class means differ by 0
    """
    read = read_layer(activations)
    marks = read.classes("labels", labels)
    names, numbers, counts = marks.names, marks.numbers, np.bincount(marks.numbers)
    require(len(names) >= 2, "labels", "name at least 2 classes", list(names))
    require(len(read.values) > len(names), "labels", "leave some class with several samples", f"{len(names)} classes")
    require(bool(_varies(read.values).any()), "activations", "differ between samples", "constant")
    layer, error = _unit_free(read.values, _precision(activations))
    means = _means(layer, numbers, counts)
    common = means.mean(axis=0)
    layer, means = layer - common, means - common

    _, sizes, directions = np.linalg.svd(means, full_matrices=False)
    error = max(error, ROUNDING * len(layer) ** 0.5)  # of an entry, of which many are added
    negligible = float(np.sum(np.sqrt(means.shape))) * error  # the norm of a matrix of such errors
    require(sizes[0] > negligible, "activations", "have class means that differ", "of the same mean in all classes")
    kept = sizes > negligible
    kept[len(names) - 1 :] = False  # the means sum to zero: the last direction is rounding
    within = np.sum(((layer - means[numbers]) @ directions[kept].T / sizes[kept]) ** 2, axis=1)

    norms = np.linalg.norm(means, axis=1)
    pointed = np.where(norms > negligible, norms, np.inf)
    cosines = (means / pointed[:, None]) @ (means / pointed[:, None]).T
    cosines = cosines[~np.eye(len(names), dtype=bool)]
    return NeuralCollapse(
        within_class_variability=float(np.mean(np.bincount(numbers, within) / counts)),
        norm_variation=float(norms.std() / norms.mean()),
        angle_variation=float(cosines.std()),
        simplex_deviation=float(np.mean(np.abs(cosines + 1.0 / (len(names) - 1)))),
        readout_mismatch=None if readout is None else _mismatch(readout, means),
        nearest_mean_agreement=None if answers is None else _agreement(read, marks, answers, layer, means),
        classes=names,
        units=layer.shape[1],
    )


def _mismatch(readout: Any, means: Float[np.ndarray, "classes units"]) -> float:
    """|W/|W| − M/|M||²."""
    weights = as_real("readout", readout)
    classes, units = means.shape
    fits = weights.shape == means.shape
    require(fits, "readout", f"be ({classes} classes, {units} units)", f"of shape {weights.shape}")
    require(bool(weights.any()), "readout", "have weights other than 0", "0 everywhere")
    weights = _scaled(weights)
    return _squares(weights / np.linalg.norm(weights) - means / np.linalg.norm(means))


def _agreement(
    read: Layer, marks: Marks, answers: Any, layer: Float[np.ndarray, "n units"], means: Float[np.ndarray, "c units"]
) -> float:
    """The share of samples for which the class of the nearest mean is the answer."""
    given = read.classes("answers", answers)
    known = {name: number for number, name in enumerate(marks.names)}
    meant = np.array([known.get(name, -1) for name in given.names])[given.numbers]
    must = f"name classes as `labels` does, {list(marks.names)[:5]}"
    require(bool(np.any(meant >= 0)), "answers", must, list(given.names)[:5])
    nearest = np.argmin(np.sum(means**2, axis=1)[None] - 2.0 * layer @ means.T, axis=1)  # |h|² is common to all
    return float(np.mean(nearest == meant))


def _means(
    layer: Float[np.ndarray, "n units"], numbers: Int[np.ndarray, " n"], counts: Int[np.ndarray, " classes"]
) -> Float[np.ndarray, "classes units"]:
    """The mean of each class."""
    first = np.cumsum(counts) - counts
    return np.add.reduceat(layer[np.argsort(numbers, kind="stable")], first, axis=0) / counts[:, None]


def _plain(number: float) -> str:
    """A number for readers, to whom rounding is zero."""
    return "0" if number < 1e-12 else f"{number:.2g}"


def _centred_pair(first: Any, second: Any, fewest: int) -> tuple[np.ndarray, np.ndarray]:
    """Two layers of the same samples, each less its mean over them."""
    one, other = read_layer(first, "first").values, read_layer(second, "second").values
    require(len(other) == len(one), "second", f"hold the {len(one)} samples of `first`", len(other))
    return _centred("first", one, fewest), _centred("second", other, fewest)


def _centred(name: str, values: Float[np.ndarray, "n units"], fewest: int = 2) -> Float[np.ndarray, "n units"]:
    """A layer less its mean over samples, in a unit of its own."""
    require(len(values) >= fewest, name, f"hold at least {fewest} samples", len(values))
    require(bool(_varies(values).any()), name, "differ between samples", "constant")
    return _unit_free(values)[0]


def _varies(values: Float[np.ndarray, "n units"]) -> Bool[np.ndarray, " units"]:
    return np.any(values != values[:1], axis=0)


def _unit_free(
    values: Float[np.ndarray, "n units"], precision: float = ROUNDING
) -> tuple[Float[np.ndarray, "n units"], float]:
    """A layer less its mean over samples, in a unit in which its largest entry is about 1, and its rounding error.

    Powers of two change no digit. Each unit has one of its own until its mean is taken off: a large constant must
    neither overflow nor push what varies out of the range of numbers. What does not vary is then exactly zero.
    """
    varies = _varies(values)
    powers = _powers(values, axis=0)
    own = np.ldexp(values, -powers)
    centred = np.where(varies, own - own.mean(axis=0), 0.0)
    unit = int(np.max((_powers(centred, axis=0) + powers)[varies]))
    error = precision * float(np.max(np.ldexp(1.0, (powers - unit)[varies])))
    return np.ldexp(centred, powers - unit), error


def _scaled(values: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """The same in a unit in which the largest entry is about 1."""
    return np.ldexp(values, -_powers(values, axis=None))


def _powers(values: Float[np.ndarray, "..."], axis: int | None) -> Any:
    """The power of two just above the largest size."""
    return np.frexp(np.abs(values).max(axis=axis))[1]


def _precision(values: Any) -> float:
    """The relative rounding of an array's own type of numbers."""
    return COARSER.get(str(getattr(values, "dtype", "")).removeprefix("torch."), ROUNDING)


def _squares(values: Float[np.ndarray, "..."]) -> float:
    return float(np.sum(values**2))


def _grams_are_cheaper(one: Float[np.ndarray, "n u"], other: Float[np.ndarray, "n v"]) -> bool:
    """Whether XXᵀ and YYᵀ take fewer products than XᵀX, YᵀY and XᵀY; the sums of their squares are the same."""
    samples, first, second = len(one), one.shape[1], other.shape[1]
    return samples * (first + second) < first**2 + second**2 + first * second


def _grams(one: Float[np.ndarray, "n u"], other: Float[np.ndarray, "n v"]) -> tuple[float, float, float]:
    """|XᵀX|², |YᵀY|² and |XᵀY|² as inner products of XXᵀ and YYᵀ."""
    own, others = one @ one.T, other @ other.T
    return _squares(own), _squares(others), max(float(np.sum(own * others)), 0.0)


def _correlations(one: Float[np.ndarray, "n u"], other: Float[np.ndarray, "n v"]) -> tuple[float, float, float]:
    """|XᵀX|², |YᵀY|² and |XᵀY|²."""
    return _squares(one.T @ one), _squares(other.T @ other), _squares(one.T @ other)


def _pair_grams(one: Float[np.ndarray, "n u"], other: Float[np.ndarray, "n v"]) -> tuple[float, float, float]:
    """The same with every term unbiased, but for 1/(n(n−3)); exactly zero where a layer has nothing but rounding.

    Each is the inner product of kernels from which what fits a_i + a_j on all pairs i ≠ j has been taken off, which
    keeps digits that the difference of large terms would lose.
    """
    own, others = (_paired(each @ each.T) for each in (one, other))
    return _squares(own), _squares(others), float(np.sum(own * others))


def _paired(kernel: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n"]:
    """K_ij − a_i − a_j off the diagonal, with a such that all rows sum to zero, and zero on it."""
    count = len(kernel)
    pairs = kernel * (1.0 - np.eye(count))
    rows = pairs.sum(axis=1)
    part = rows / (count - 2) - rows.sum() / (2 * (count - 1) * (count - 2))
    rest = (pairs - part[:, None] - part[None]) * (1.0 - np.eye(count))
    rounding = (8 + count) * ROUNDING * float(np.max(np.abs(kernel)))
    return rest if float(np.max(np.abs(rest))) > rounding else np.zeros_like(rest)


def _pair_correlations(one: Float[np.ndarray, "n u"], other: Float[np.ndarray, "n v"]) -> tuple[float, float, float]:
    """`_pair_grams` without kernels: rows of centred ones sum to zero, and so terms need their diagonals alone."""
    count = len(one)
    own, others, across = _correlations(one, other)
    first, second = np.sum(one**2, axis=1), np.sum(other**2, axis=1)

    def unbiased(term: float, left: np.ndarray, right: np.ndarray) -> float:
        alone = float(left @ right) * count / (count - 2)
        return term - alone + float(left.sum() * right.sum()) / ((count - 1) * (count - 2))

    def beyond_rounding(term: float, left: np.ndarray) -> float:
        rest = unbiased(term, left, left)
        return rest if rest > (8 + count) * ROUNDING * term else 0.0

    return beyond_rounding(own, first), beyond_rounding(others, second), unbiased(across, first, second)


def _kernel(name: str, kernel: Any) -> Float[np.ndarray, "n n"]:
    """A symmetric matrix in a unit in which its largest entry is about 1."""
    matrix = as_real(name, kernel)
    square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] >= 1
    require(square, name, "be (samples, samples)", f"of shape {matrix.shape}")
    matrix = _scaled(matrix)
    uneven = float(np.max(np.abs(matrix - matrix.T)))
    require(uneven <= SYMMETRIC_TO, name, "be symmetric", f"off by {uneven:.2g} of its largest entry")
    return (matrix + matrix.T) / 2


def _centred_kernel(name: str, kernel: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n"]:
    """HKH."""
    rows = kernel.mean(axis=0)
    centred = kernel - rows[:, None] - rows[None] + rows.mean()
    varies = float(np.max(np.abs(centred))) > (8 + len(kernel)) * ROUNDING  # in sums of entries of about 1
    require(varies, name, "differ between samples", f"constant, {EACH_ALONE}")
    return centred


def _eigenvalues(kernel: Any) -> Float[np.ndarray, " n"]:
    """Of a kernel, those below zero by no more than rounding as zero."""
    matrix = _kernel("kernel", kernel)
    require(bool(matrix.any()), "kernel", "have entries other than 0", "0 everywhere")
    eigenvalues = np.linalg.eigvalsh(matrix)
    lowest = float(eigenvalues[0] / np.max(np.abs(eigenvalues)))
    must = "have no negative eigenvalues"
    require(lowest >= -POSITIVE_TO, "kernel", must, f"a matrix with one of {lowest:.2g} times the largest")
    return np.maximum(eigenvalues, 0.0)
