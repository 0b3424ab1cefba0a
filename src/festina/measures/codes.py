"""Neurons and kernels class by class: means over classes, the code of a neuron, and the neurons that stand out.

``members`` is 1 where an example is in a class and else 0, as `Classes.membership` has it. The code of a neuron is the
set of classes for which it is on.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

OUTSIDE = 8.0  # a readout longer than this many prior standard deviations √s is that of an outlier
TOP = 0.1  # the share of neurons whose part in the class signal is asked for


def between_classes(
    kernel: Float[Any, "examples examples"], members: Float[Any, "examples classes"]
) -> Float[Any, "classes classes"]:
    """Means of a kernel over pairs of different examples, class by class.

    Args:
        kernel: between all examples.
        members: 1 where an example (row) is in a class (column) and else 0, as `Classes.membership` has it.

    Returns:
        Classes × classes.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> members = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
        >>> fs.measures.between_classes(members @ members.T + 5 * np.eye(4), members)  # without the diagonal
        array([[1., 0.],
               [0., 1.]])
    """
    classes, counts = np.eye(members.shape[1]), members.sum(axis=0)
    itself = classes * (members.T @ (kernel * np.eye(len(members))).sum(axis=1))[None]  # JAX's diagonal compiles slowly
    pairs = counts[:, None] * counts[None] - classes * counts[None]
    return (members.T @ kernel @ members - itself) / pairs


def class_means(
    activity: Float[Any, "examples neurons"], members: Float[Any, "examples classes"]
) -> Float[Any, "neurons classes"]:
    """The mean activity of each neuron in each class.

    Args:
        activity: one example a row, one neuron a column.
        members: 1 where an example (row) is in a class (column) and else 0, as `Classes.membership` has it.

    Returns:
        Neurons × classes.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> members = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        >>> fs.measures.class_means(np.array([[1.0], [2.0], [5.0]]), members)  # one neuron
        array([[1.5, 5. ]])
    """
    return activity.T @ members / members.sum(axis=0)[None]


def class_variance(kernel: Float[Any, "*batch classes classes"], counts: Sequence[int]) -> Float[Any, "*batch"]:
    """Σ_c p_c κ_cc − Σ_cc' p_c p_c' κ_cc': how much of a kernel κ between classes tells them apart; 0 for the prior.

    Args:
        kernel: between classes, on the last two axes.
        counts: how many examples there are of each class.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> apart, alike = np.eye(2), np.ones((2, 2))
        >>> fs.measures.class_variance(np.stack([apart, alike]), (10, 10))
        array([0.5, 0. ])
    """
    return np.einsum("...cc,c->...", kernel, _portions(counts)) - mean_kernel(kernel, counts)


def mean_kernel(kernel: Float[Any, "*batch classes classes"], counts: Sequence[int]) -> Float[Any, "*batch"]:
    """Σ_cc' p_c p_c' κ_cc': the mean of a kernel between classes over all pairs of examples.

    Args:
        kernel: between classes, on the last two axes.
        counts: how many examples there are of each class.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> float(fs.measures.mean_kernel(np.eye(2), (30, 10)))  # (3/4)² + (1/4)²
        0.625
    """
    return np.einsum("...cd,c,d->...", kernel, _portions(counts), _portions(counts))


def class_kernel_distance(
    ours: Float[Any, "*batch classes classes"], theirs: Float[Any, "*batch classes classes"], counts: Sequence[int]
) -> Float[Any, "*batch"]:
    """√(Σ n_c n_c' (κ − κ')²/Σ n_c n_c' κ'²): how far kernels κ between classes are from others, relative to these.

    Args:
        ours: κ, on the last two axes.
        theirs: κ'.
        counts: how many examples n_c there are of each class.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> float(fs.measures.class_kernel_distance(1.5 * np.eye(2), np.eye(2), (30, 10)))
        0.5
    """
    pairs = np.outer(counts, counts)
    return np.sqrt(np.sum(pairs * (ours - theirs) ** 2, axis=(-1, -2)) / np.sum(pairs * theirs**2, axis=(-1, -2)))


def sharpness(kernel: Float[np.ndarray, "examples examples"], members: Float[np.ndarray, "examples classes"]) -> float:
    """η² = V/(V + Σ_c p_c D_c), the share of the variance of activity over examples that lies between classes.

    V is the `class_variance` of the kernel between classes, and D_c what an example has in excess with itself.

    Args:
        kernel: between all examples.
        members: 1 where an example (row) is in a class (column) and else 0, as `Classes.membership` has it.

    Returns:
        From 0 to 1; 1 if all examples of a class are alike.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> members = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
        >>> fs.measures.sharpness(members @ members.T, members)
        1.0
        >>> fs.measures.sharpness(members @ members.T + 0.5 * np.eye(4), members)  # half is their own
        0.5
    """
    between, counts = between_classes(kernel, members), members.sum(axis=0)
    excess = members.T @ kernel.diagonal() / counts - between.diagonal()
    variance = class_variance(between, counts.astype(int).tolist())
    return float(variance / (variance + counts @ excess / counts.sum()))


def grouping_cosine(
    one: Float[np.ndarray, "classes classes"], other: Float[np.ndarray, "classes classes"], counts: Sequence[int]
) -> float:
    """The cosine of what tells classes apart in two kernels between classes: both are weighted by class and centred.

    Args:
        one: a kernel between classes.
        other: another.
        counts: how many examples there are of each class.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> kernel = np.diag([1.0, 2.0, 3.0])
        >>> round(fs.measures.grouping_cosine(kernel, 4 * kernel + 1, (10, 10, 10)), 6)  # what all share does not count
        1.0
    """
    portions = _portions(counts)
    weight = np.sqrt(portions)[:, None] * (np.eye(len(portions)) - portions[None])
    first, second = (weight @ each @ weight.T for each in (one, other))
    return float(np.sum(first * second) / (np.linalg.norm(first) * np.linalg.norm(second)))


def code_numbers(on: Bool[Any, "*batch classes"]) -> Int[Any, "*batch"]:
    """The set of classes a neuron is on for as one number, Σ_c 2^c.

    Args:
        on: whether a neuron is on for each class, on the last axis.

    Example:
        >>> import festina as fs
        >>> fs.measures.code_numbers([[False, False, False], [True, False, True]])
        array([0, 5])
    """
    return (np.asarray(on) * 2 ** np.arange(np.shape(on)[-1])).sum(axis=-1)


def code_name(number: int, classes: int, names: str = "ABCDEFGHIJ", silent: str = "none") -> str:
    """The classes of a code by their letters, as AC; 0 is the silent code.

    Args:
        number: of the code, as `code_numbers` has it.
        classes: how many there are.
        names: a letter for each class.
        silent: the name of the code of no class.

    Example:
        >>> import festina as fs
        >>> fs.measures.code_name(5, classes=3), fs.measures.code_name(0, classes=3)
        ('AC', 'none')
    """
    return "".join(names[each] for each in range(classes) if number >> each & 1) or silent


def code_shares(codes: Int[Any, "..."], classes: int) -> Float[np.ndarray, " codes"]:
    """The share of each of the 2^C codes among all there are.

    Args:
        codes: of any number of neurons, as `code_numbers` has them.
        classes: how many there are, C.

    Example:
        >>> import festina as fs
        >>> fs.measures.code_shares([1, 1, 2, 3], classes=2)
        array([0.  , 0.5 , 0.25, 0.25])
    """
    return np.bincount(np.ravel(codes), minlength=2**classes) / np.size(codes)


def persistence(
    before: Int[Any, "*batch neurons"], after: Int[Any, "*batch neurons"], shares: Float[Any, "*batch codes"]
) -> Float[Any, "*batch"]:
    """1 − d/(1 − Σ_γ P_γ²): 1 if codes are frozen, 0 if they are drawn afresh.

    Args:
        before: codes of neurons.
        after: codes of the same neurons later; d is the share that changed.
        shares: P_γ, of each code, such as `code_shares`.

    Example:
        >>> import festina as fs
        >>> before, after = [1, 1, 2, 2], [1, 2, 2, 2]
        >>> float(fs.measures.persistence(before, after, [0.0, 0.5, 0.5, 0.0]))
        0.5
    """
    by_chance = 1.0 - np.sum(np.asarray(shares) ** 2, axis=-1)
    changed = np.mean(np.asarray(before) != np.asarray(after), axis=-1)
    return 1.0 - changed / np.maximum(by_chance, 1.0 / np.shape(before)[-1])


def code_groups(counts: Sequence[int]) -> list[list[int]]:
    """Codes, each with those that differ from it only by which of several equally large classes they name.

    Args:
        counts: how many examples there are of each class.

    Example:
        >>> import festina as fs
        >>> fs.measures.code_groups((20, 10, 10))
        [[0], [1], [2, 4], [3, 5], [6], [7]]
    """
    groups: dict[tuple[int, ...], list[int]] = {}
    for code in range(2 ** len(counts)):
        sizes = sorted(count for each, count in enumerate(counts) if code >> each & 1)
        groups.setdefault(tuple(sizes), []).append(code)
    return list(groups.values())


def common_codes(
    counts: Sequence[int], shares: Float[Any, " codes"], least: float, others: str = "others"
) -> dict[str, list[int]]:
    """The `code_groups` that have more than a share of the neurons, by name, the largest first; all others together.

    Args:
        counts: how many examples there are of each class.
        shares: of each code, as `code_shares` has them.
        least: the share of a group that is to be exceeded.
        others: the name of all other codes.

    Returns:
        The codes of each group, by name.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> fs.measures.common_codes((20, 10, 10), np.array([0.0, 0.2, 0.1, 0.3, 0.1, 0.3, 0.0, 0.0]), 0.02)
        {'AB or AC': [3, 5], 'A': [1], 'B or C': [2, 4], 'others': [0, 6, 7]}
    """
    groups = sorted(code_groups(counts), key=lambda codes: -shares[codes].sum())
    common = [codes for codes in groups if shares[codes].sum() > least]
    rare = [code for codes in groups if codes not in common for code in codes]
    named = {" or ".join(code_name(code, len(counts)) for code in codes): codes for codes in common}
    return named | ({others: rare} if rare else {})


def outliers(readouts: Shaped[Any, "*batch outputs"], variance: Any) -> Bool[Any, "*batch"]:
    """Neurons with |a| > 8√s, far from what the prior with variance s allows.

    Args:
        readouts: a of each neuron, outputs on the last axis.
        variance: s, one number, or an array that goes with the readouts' leading axes.

    Returns:
        Whether each neuron is one.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> fs.measures.outliers(np.array([[0.5, 0.5], [6.0, 8.0]]), variance=1.0)
        array([False,  True])
    """
    return (readouts**2).sum(axis=-1) > OUTSIDE**2 * variance


def serving(
    outliers: Bool[Any, "*batch neurons"], activity: Float[Any, "*batch neurons classes"]
) -> Bool[Any, "*batch neurons classes"]:
    """Outliers by the class that each of them serves, the one in which it is most active.

    Args:
        outliers: whether each neuron is one, as `outliers` has it.
        activity: mean of each neuron in each class.

    Returns:
        Neurons × classes.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> fs.measures.serving(np.array([True, False]), np.array([[0.1, 0.9], [1.0, 0.0]]))
        array([[False,  True],
               [False, False]])
    """
    classes = np.arange(activity.shape[-1]).reshape(*(1,) * (activity.ndim - 1), -1)
    return (activity.argmax(axis=-1)[..., None] == classes) & outliers[..., None]


def overlaps(sets: Bool[Any, "sets neurons"]) -> Float[np.ndarray, " pairs"]:
    """2|A ∩ B|/(|A| + |B|) of all pairs of sets of neurons: what they have in common, over their mean size.

    Args:
        sets: whether each neuron (column) is in each set (row).

    Returns:
        One number for each pair: (0, 1), (0, 2), …, (1, 2), …

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> fs.measures.overlaps(np.array([[True, True, False], [False, True, False]])).round(3)
        array([0.667])
    """
    pairs = combinations(np.asarray(sets), 2)
    return np.array([2.0 * (one & other).sum() / max(one.sum() + other.sum(), 1) for one, other in pairs])


def representatives(readouts: Float[Any, "neurons outputs"], number: int) -> Int[np.ndarray, " chosen"]:
    """Neurons that stand for all: half of them those with the largest readouts, the others evenly among the rest.

    Args:
        readouts: one neuron a row.
        number: how many to choose.

    Returns:
        Their numbers, those with the largest readouts first.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> fs.measures.representatives(np.arange(10.0)[:, None], 4)
        array([9, 8, 7, 0])
    """
    order, half = np.argsort(-np.linalg.norm(readouts, axis=1)), number // 2
    return np.concatenate([order[:half], order[np.linspace(half, len(order) - 1, number - half).astype(int)]])


def top_share(
    readouts: Float[Any, "*batch neurons outputs"],
    activity: Float[Any, "*batch neurons classes"],
    counts: Sequence[int],
) -> Float[Any, "*batch"]:
    """The share of the class signal in the top tenth of the neurons; a tenth, if all neurons are equal.

    The signal of a neuron is |a_i||D_i| with D_ic = √p_c (m_ic − m̄_i), m_ic its mean activity in class c and m̄_i that
    over all examples.

    Args:
        readouts: a_i, one neuron a row.
        activity: m_ic, neurons × classes, as `class_means` has it.
        counts: how many examples there are of each class.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> readouts, activity = np.ones((20, 1)), np.tile([1.0, 0.0], (20, 1))
        >>> round(float(fs.measures.top_share(readouts, activity, (10, 10))), 6)
        0.1
    """
    portions = _portions(counts)
    deviation = (activity - activity @ portions[:, None]) * np.sqrt(portions)
    signal = np.sort(np.linalg.norm(readouts, axis=-1) * np.linalg.norm(deviation, axis=-1), axis=-1)
    tenth = max(1, round(TOP * signal.shape[-1]))
    return signal[..., -tenth:].sum(axis=-1) / signal.sum(axis=-1)


def _portions(counts: Sequence[int]) -> Float[np.ndarray, " classes"]:
    """p_c, the share of examples in each class."""
    return np.asarray(counts, float) / np.sum(counts)
