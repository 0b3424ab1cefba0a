"""In which contexts hidden units are active, and where the strength of a layer lies.

A unit belongs to a context if it is on (above zero) on most of the context's samples. The contexts of a unit are its
*set*; the *strength* of a unit is whatever one chooses to weigh it with, such as |incoming| · |outgoing| weights. All
functions take NumPy or JAX arrays and give back the same; axes before the last two, such as time, are carried along.
"""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from festina.errors import require

MOST = 0.5


def active_share(
    activity: Shaped[Any, "*batch n units"], labels: Int[np.ndarray, " n"]
) -> Float[Any, "*batch contexts units"]:
    """The share of each context's samples on which a unit is on.

    Args:
        activity: of every unit on every sample; above zero is on.
        labels: the context of each sample, from 0 on.

    Returns:
        One row for each context, one column for each unit.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> activity = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0], [0.5, 1.0]])  # four samples, two units
        >>> fs.measures.activity.active_share(activity, np.array([0, 0, 1, 1]))
        array([[1. , 0. ],
               [0.5, 1. ]])
    """
    members = _members(labels)
    on = activity > 0
    module = on.__array_namespace__()
    dtype = activity.dtype if np.issubdtype(activity.dtype, np.floating) else np.dtype(float)
    counts = module.asarray(members.sum(axis=1, keepdims=True), dtype=dtype)
    return module.asarray(members, dtype=dtype) @ on.astype(dtype) / counts  # divided last: all of them is exactly 1


def active_sets(
    activity: Shaped[Any, "*batch n units"], labels: Int[np.ndarray, " n"], most: float = MOST
) -> Bool[Any, "*batch contexts units"]:
    """Whether a unit belongs to a context: whether it is on for more than the share ``most`` of its samples.

    Args:
        activity: of every unit on every sample; above zero is on.
        labels: the context of each sample, from 0 on.
        most: from 0 (any sample is enough) to below 1.

    Returns:
        One row for each context, one column for each unit.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> activity = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0], [0.5, 1.0]])  # four samples, two units
        >>> fs.measures.activity.active_sets(activity, np.array([0, 0, 1, 1]))
        array([[ True, False],
               [False,  True]])
    """
    require(0.0 <= most < 1.0, "most", "lie between 0 (any sample) and 1", most)
    return active_share(activity, labels) > most


def set_sizes(sets: Bool[Any, "*batch contexts units"]) -> Int[Any, "*batch units"]:
    """How many contexts a unit belongs to.

    Args:
        sets: whether each unit (columns) belongs to each context (rows), as `active_sets` has it.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> sets = np.array([[True, True, False], [True, False, False]])  # two contexts, three units
        >>> fs.measures.activity.set_sizes(sets)
        array([2, 1, 0])
    """
    return sets.sum(axis=-2)


def strength_by_size(
    sets: Bool[Any, "*batch contexts units"], strength: Float[Any, "*batch units"]
) -> Float[Any, "*batch sizes"]:
    """The share of all strength that lies in units of exactly 0, 1, … contexts.

    Args:
        sets: whether each unit (columns) belongs to each context (rows), as `active_sets` has it.
        strength: of every unit, zero or positive, such as `unit_strength`.

    Returns:
        For C contexts C + 1 shares that sum to one; all are zero if there is no strength at all.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> sets = np.array([[True, True, False], [True, False, False]])  # units of two, one and no contexts
        >>> fs.measures.activity.strength_by_size(sets, np.array([3.0, 1.0, 0.0]))
        array([0.  , 0.25, 0.75])
    """
    return _shares(set_sizes(sets), sets.shape[-2] + 1, strength)


def strength_by_set(
    sets: Bool[Any, "*batch contexts units"], strength: Float[Any, "*batch units"]
) -> Float[Any, "*batch subsets"]:
    """The share of all strength in units of each set of contexts; context c adds 2^c to the number of a set.

    Args:
        sets: whether each unit (columns) belongs to each context (rows), as `active_sets` has it.
        strength: of every unit, zero or positive, such as `unit_strength`.

    Returns:
        For C contexts 2^C shares that sum to one; all are zero if there is no strength at all.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> sets = np.array([[True, True, False], [True, False, False]])  # units of {0, 1}, {0} and {}
        >>> fs.measures.activity.strength_by_set(sets, np.array([3.0, 1.0, 0.0]))
        array([0.  , 0.25, 0.  , 0.75])
    """
    contexts = sets.shape[-2]
    number = sum(sets[..., context, :].astype(int) * 2**context for context in range(contexts))
    return _shares(number, 2**contexts, strength)


def whole_context_share(
    activity: Shaped[Any, "*batch n units"], labels: Int[np.ndarray, " n"], strength: Float[Any, "*batch units"]
) -> Float[Any, "*batch"]:
    """The share of all strength in units that treat all samples of a context alike: on for all, or for none of them.

    1 if the gates of a layer are a function of the context alone, as theories of pathways assume.

    Args:
        activity: of every unit on every sample; above zero is on.
        labels: the context of each sample, from 0 on.
        strength: of every unit, zero or positive, such as `unit_strength`.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> activity = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0], [0.5, 1.0]])  # the first unit is on for half of 1
        >>> float(fs.measures.activity.whole_context_share(activity, np.array([0, 0, 1, 1]), np.array([1.0, 3.0])))
        0.75
    """
    share = active_share(activity, labels)
    alike = ((share == 0.0) | (share == 1.0)).all(axis=-2)
    return _shares(alike.astype(int), 2, strength)[..., 1]


def unit_strength(
    incoming: Float[Any, "*batch units i"], outgoing: Float[Any, "*batch o units"]
) -> Float[Any, "*batch units"]:
    """|incoming| · |outgoing| weights of each unit: how much it contributes to the map.

    Args:
        incoming: one row for each unit.
        outgoing: one column for each unit.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> incoming, outgoing = np.array([[3.0, 4.0], [0.0, 1.0]]), np.array([[2.0, 0.5]])
        >>> fs.measures.activity.unit_strength(incoming, outgoing)
        array([10. ,  0.5])
    """
    return (incoming**2).sum(axis=-1) ** 0.5 * (outgoing**2).sum(axis=-2) ** 0.5


def gate_agreement(
    gates: Shaped[Any, "*batch n units"], incoming: Shaped[Any, "*batch n units"], strength: Float[Any, "*batch units"]
) -> Float[Any, "*batch"]:
    """The share of gates that are what a rectifier would make of what comes in: on above zero, and off elsewhere.

    1 if a gated layer is a rectified one; units count as much as their strength.

    Args:
        gates: of every unit on every sample; above zero is on.
        incoming: what goes into every unit on every sample.
        strength: of every unit, zero or positive, such as `unit_strength`.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> gates, incoming = np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([[2.0, -1.0], [0.5, -0.1]])
        >>> float(fs.measures.activity.gate_agreement(gates, incoming, np.array([3.0, 1.0])))  # one of four is not
        0.875
    """
    agree = ((gates > 0) == (incoming > 0)).astype(strength.dtype).mean(axis=-2)
    module = strength.__array_namespace__()
    total = strength.sum(axis=-1)
    return (agree * strength).sum(axis=-1) / module.where(total > 0, total, module.ones_like(total))


def linearity(inputs: Float[Any, "n i"], activity: Float[Any, "*batch n units"]) -> Float[Any, "*batch"]:
    """R² of the best linear map (with a constant) from the inputs to all units of a layer together.

    The share of the layer's variance over samples, summed over its units, that is linear in the input.

    Args:
        inputs: one sample a row.
        activity: of every unit on the same samples; leading axes, such as time, are carried along.

    Returns:
        From 0 to 1; 1 for a layer that does not vary at all.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> inputs = np.linspace(-1.0, 1.0, 101)[:, None]
        >>> layers = np.stack([2 * inputs + 1, np.maximum(inputs, 0.0)])  # a linear one, a rectified one
        >>> fs.measures.activity.linearity(inputs, layers).round(3)
        array([1. , 0.8])
    """
    table = np.concatenate([np.asarray(inputs, float), np.ones((len(inputs), 1))], axis=1)
    left, sizes, _ = np.linalg.svd(table, full_matrices=False)
    basis = left[:, sizes > 1e-10 * sizes[0]]
    module = activity.__array_namespace__()
    outside = module.asarray(np.eye(len(inputs)) - basis @ basis.T, dtype=activity.dtype)
    centred = activity - activity.mean(axis=-2, keepdims=True)
    total = (centred**2).sum(axis=(-2, -1))
    return 1.0 - ((outside @ activity) ** 2).sum(axis=(-2, -1)) / module.where(
        total > 0, total, module.ones_like(total)
    )


def _members(labels: Int[np.ndarray, " n"]) -> Float[np.ndarray, "contexts n"]:
    """1 for the samples of each context."""
    labels = np.asarray(labels)
    require(labels.size > 0 and labels.min() >= 0, "labels", "be numbers from 0 on", labels)
    members = (labels[None] == np.arange(labels.max() + 1)[:, None]).astype(float)
    require(bool(members.sum(axis=1).all()), "labels", "leave no context without a sample", np.unique(labels))
    return members


def _shares(
    number: Int[Any, "*batch units"], count: int, strength: Float[Any, "*batch units"]
) -> Float[Any, "*batch count"]:
    """The share of strength in units numbered 0, 1, … count − 1; zero everywhere if there is no strength at all."""
    module = strength.__array_namespace__()
    sums = module.stack(
        [((number == one).astype(strength.dtype) * strength).sum(axis=-1) for one in range(count)], axis=-1
    )
    total = strength.sum(axis=-1)[..., None]
    return sums / module.where(total > 0, total, module.ones_like(total))
