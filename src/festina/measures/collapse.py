"""Neural collapse: how far the classes of a layer have become the corners of a simplex.

Layers are (samples, units), (contexts, items, units) or feature maps (samples, channels, height, width), of which a
channel counts as a unit, with the mean over positions as its activity (`festina.measures.layers`); NumPy, xarray,
PyTorch, JAX or lists. No sign depends on the unit in which activations are given.

Source: V. Papyan, X. Y. Han, D. L. Donoho, "Prevalence of neural collapse during the terminal phase of deep learning
training" (2020).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from festina.errors import require
from festina.measures.arrays import as_real
from festina.measures.layers import Layer, Marks, read_layer
from festina.measures.unit_free import ROUNDING, precision, scaled, squares, unit_free, varies
from festina.notebook import Told


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
    require(bool(varies(read.values).any()), "activations", "differ between samples", "constant")
    layer, error = unit_free(read.values, precision(activations))
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
    weights = scaled(weights)
    return squares(weights / np.linalg.norm(weights) - means / np.linalg.norm(means))


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
