"""What a layer makes of the probes: how similar to what it made before, to the inputs, to the targets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from festina.errors import ArgumentError
from festina.measures.collapse import neural_collapse
from festina.measures.dimension import participation_ratio
from festina.measures.layers import read_layer
from festina.measures.similarity import cka
from festina.watching.targets import Targets


def represented(
    now: np.ndarray, start: np.ndarray, inputs: Float[np.ndarray, "n inputs"], targets: Targets
) -> dict[str, float]:
    """Similarities by centred kernel alignment, dimension, and, of classes, the variability within over between them.

    Feature maps count by the means of their channels, as everywhere in festina. What a layer does not have (it is
    constant, say) is NaN.
    """
    layer, before = (read_layer(each).values for each in (now, start))
    found = {
        "similarity_to_start": _or_nan(lambda: cka(layer, before)),
        "similarity_to_inputs": _or_nan(lambda: cka(layer, inputs)),
        "similarity_to_targets": _or_nan(lambda: cka(layer, targets.values)),
        "dimension": _or_nan(lambda: participation_ratio(layer)),
    }
    if targets.labels is not None:
        labels = targets.labels
        collapse = _or_nan(lambda: neural_collapse(layer, labels).within_class_variability)
        found["variability_in_classes"] = collapse
    return found


def _or_nan(measure: Callable[[], float]) -> float:
    try:
        return float(measure())
    except ArgumentError:  # a constant layer, a class with one probe
        return np.nan
