"""All numbers of one look at a network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from festina.errors import FestinaError


@dataclass(frozen=True)
class Look:
    """Numbers at one step.

    Attributes:
        step: of training.
        scalars: by name: loss, accuracy, curvature, gap, their errors, and the alignment with shuffled targets.
        layers: by name, then by layer: those of the tangent kernel, and weight_change; "all" is the whole network.
        pairs: imbalance and drift, by name, then by consecutive layers.
        modes: how far each mode of the data is learned.
        representations: by name, then by watched layer: similarity (CKA) to the start, to the inputs and to the
            targets, dimension, activity; of classes also variability within them, code and gates.
        codes: the name of the coding scheme of each watched layer.
        activations: of the watched layers; only the latest look keeps them.
    """

    step: int
    scalars: dict[str, float]
    layers: dict[str, dict[str, float]]
    pairs: dict[str, dict[str, float]]
    modes: Float[np.ndarray, " modes"]
    representations: dict[str, dict[str, float]] = field(default_factory=dict)
    codes: dict[str, str] = field(default_factory=dict)
    activations: dict[str, np.ndarray] = field(default_factory=dict)


class Diverged(FestinaError):
    """A network with numbers that are not finite."""


def check_finite(values: Mapping[str, np.ndarray], step: int) -> None:
    """Refuse numbers that are not finite, and say where they are."""
    for name, value in values.items():
        bad = int(np.sum(~np.isfinite(value)))
        if bad:
            raise Diverged(f"At step {step}, {bad} of the {value.size} numbers of `{name}` are not finite.")
