"""What a layer makes of the probes: how similar to what it made before, to the inputs, to the targets; and its code.

Feature maps, (probes, channels, positions …), count by the means of their channels over positions, as everywhere in
festina (`festina.measures.layers`): a channel is a unit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Shaped

from festina.errors import ArgumentError
from festina.measures.arrays import as_real
from festina.measures.collapse import neural_collapse
from festina.measures.dimension import participation_ratio
from festina.measures.layers import channel_means
from festina.measures.similarity import cka
from festina.watching.selectivity import active_share, code_of, gates_of
from festina.watching.targets import Targets


@dataclass(frozen=True)
class Representation:
    """Of one layer at one look: its numbers by name, and the name of its code, "" where there is none."""

    numbers: dict[str, float]
    code: str


def units_of(activations: Shaped[np.ndarray, "n units *positions"]) -> Float[np.ndarray, "n units"]:
    """One number a unit: the mean over positions, if there are any."""
    values = as_real("activations", activations)
    return channel_means(values) if values.ndim > 2 else values.reshape(len(values), -1)


def represented(
    now: np.ndarray, start: np.ndarray, inputs: Float[np.ndarray, "n inputs"], targets: Targets
) -> Representation:
    """Similarities by centred kernel alignment, dimension and activity; of classes also variability within over between
    them, code and gates. What a layer does not have (it is constant, say) is NaN."""
    layer, before = units_of(now), units_of(start)
    found = {
        "similarity_to_start": _or_nan(lambda: cka(layer, before)),
        "similarity_to_inputs": _or_nan(lambda: cka(layer, inputs)),
        "similarity_to_targets": _or_nan(lambda: cka(layer, targets.values)),
        "dimension": _or_nan(lambda: participation_ratio(layer)),
        "active_share": active_share(layer),
    }
    if targets.labels is None:
        return Representation(found, "")
    labels = targets.labels
    found["variability_in_classes"] = _or_nan(lambda: neural_collapse(layer, labels).within_class_variability)
    code, numbers = code_of(layer, before, labels)
    return Representation(found | numbers | gates_of(layer, labels), code)


def _or_nan(measure: Callable[[], float]) -> float:
    try:
        return float(measure())
    except ArgumentError:  # a constant layer, a class with one probe
        return np.nan
