"""What the units of a watched layer tell apart: its code and its gates, by the analysers of `festina.measures`.

`measures.coding` says how strongly classes are told apart beyond the start, and by how many units; `measures.gates` for
how many classes a unit is on. Both come with a null: labels shuffled over probes for the code, every unit's activations
shuffled over probes for the gates. Of a layer with more than `MOST_UNITS` units, or more than `MOST_PROBES` probes, the
same random sample is taken at every look, so that a look stays cheap.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int

from festina.errors import ArgumentError
from festina.measures.activity import active_sets, strength_by_size
from festina.measures.coding import coding
from festina.measures.thresholds import threshold

MOST_UNITS, MOST_PROBES = 256, 256
SHUFFLES = 20

Units = Float[np.ndarray, "n units"]


def active_share(layer: Units) -> float:
    """The share of all (probe, unit) at which a unit is on, above the threshold that `measures.gates` takes."""
    return float(np.mean(layer > threshold(None, layer).of_units))


def code_of(layer: Units, start: Units, labels: Int[np.ndarray, " n"]) -> tuple[str, dict[str, float]]:
    """The name of the coding scheme, "" if there is none, and the numbers that decide on it.

    Example:
        >>> from festina.watching.selectivity import code_of
        >>> random = np.random.default_rng(0); labels = np.repeat([0, 1, 2], 20)
        >>> noise = random.normal(size=(60, 90)); tuned = noise + 8 * (random.random((3, 90)) < 0.5)[labels]
        >>> code_of(noise, noise, labels)[0], code_of(tuned, noise, labels)[0]
        ('lazy', 'redundant')
    """
    names = ("code_strength", "code_strength_shuffled", "code_share", "code_neighbour")
    layer, start, labels = sampled(layer, labels)[0], *sampled(start, labels)
    try:
        prior = start @ start.T / start.shape[1]
        found = coding(layer, labels, prior_kernel=prior, resamples=0, shuffles=SHUFFLES)
    except ArgumentError:  # too few units or classes, or a constant layer
        return "", dict.fromkeys(names, np.nan)
    numbers, null = found.statistics, float(np.percentile(found.null_strength, 97.5))
    values = (numbers.strength, null, numbers.share, numbers.neighbour)
    return found.scheme, dict(zip(names, values, strict=True))


def gates_of(layer: Units, labels: Int[np.ndarray, " n"]) -> dict[str, float]:
    """For how many classes units are on, the share that is on for some and not for all, and both of shuffled units.

    Units count by their strength. With p_m the share of strength in units that are on for m of C classes, the numbers
    are Σ_m m p_m and Σ_{0<m<C} p_m.
    """
    layer, labels = sampled(layer, labels)
    labels = np.unique(labels, return_inverse=True)[1]
    on, strength = layer > threshold(None, layer).of_units, np.sqrt(np.mean(layer**2, axis=0))
    random, nothing = np.random.default_rng(0), not np.any(strength > 0)

    def numbers(on: Bool[np.ndarray, "n units"]) -> tuple[float, float]:
        if nothing:  # a silent layer
            return np.nan, np.nan
        shares = strength_by_size(active_sets(on, labels), strength)
        return float(shares @ np.arange(len(shares))), float(shares[1:-1].sum())

    null = np.mean([numbers(random.permuted(on, axis=0)) for _ in range(SHUFFLES)], axis=0)
    names = ("classes_per_unit", "selective_share", "classes_per_unit_shuffled", "selective_share_shuffled")
    return dict(zip(names, (*numbers(on), *null.tolist()), strict=True))


def sampled(layer: Units, labels: Int[np.ndarray, " n"]) -> tuple[Units, Int[np.ndarray, " n"]]:
    """Not more units and probes than are affordable, the same of every layer of one shape."""
    random = np.random.default_rng(0)
    if layer.shape[1] > MOST_UNITS:
        layer = layer[:, np.sort(random.choice(layer.shape[1], MOST_UNITS, replace=False))]
    if len(layer) > MOST_PROBES:
        rows = np.sort(random.choice(len(layer), MOST_PROBES, replace=False))
        return layer[rows], labels[rows]
    return layer, labels
