"""What a watched network is to answer: targets, or classes, on the probes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from festina._lazy import special
from festina.errors import require
from festina.measures.arrays import as_numpy, as_real
from festina.watching.labelled_twin import LabelledTwin, cross_entropy
from festina.watching.outside import Linearised
from festina.watching.twin import Twin


@dataclass(frozen=True)
class Targets:
    """Targets of the probes, and their classes if that is what they are.

    Attributes:
        values: y; of classes 1 − 1/C for the class and −1/C for all others.
        labels: the output that stands for the class of each probe; None for targets that are numbers.
    """

    values: Float[np.ndarray, "n outputs"]
    labels: Int[np.ndarray, " n"] | None = None

    @classmethod
    def of(cls, given: Any, probes: int, outputs: int) -> Targets:
        """From numbers (n, outputs), or from one class for each probe: a whole number, or a name."""
        array = as_numpy("targets", given)
        fits = array.ndim >= 1 and len(array) == probes
        require(fits, "targets", f"be {probes}, one a probe", f"of shape {array.shape}")
        if array.ndim == 1 and (outputs > 1 or array.dtype.kind in "USO"):
            return cls._of_classes(array, outputs)
        values = as_real("targets", array).reshape(probes, -1)
        must = f"have one number for each of the {outputs} outputs, or one class a probe"
        require(values.shape[1] == outputs, "targets", must, f"of shape {array.shape}")
        return cls(values)

    @classmethod
    def _of_classes(cls, classes: np.ndarray, outputs: int) -> Targets:
        names, numbers = np.unique(classes, return_inverse=True)
        require(len(names) > 1, "targets", "have two classes or more", f"one class only, {names[0]}")
        numbered = classes.dtype.kind in "iu"
        if numbered:
            fits = names[0] >= 0 and names[-1] < outputs
            require(bool(fits), "targets", f"be classes from 0 to {outputs - 1}", f"from {names[0]} to {names[-1]}")
        must = f"be as many classes as there are outputs, {outputs}"
        require(numbered or len(names) == outputs, "targets", must, f"{len(names)} classes")
        labels = classes.astype(int) if numbered else numbers
        return cls(np.eye(outputs)[labels] - 1 / outputs, labels)

    def loss(self, answers: Float[np.ndarray, "n outputs"]) -> float:
        """½⟨|f − y|²⟩, or the cross-entropy of classes."""
        if self.labels is not None:
            return cross_entropy(answers, self.labels)
        return float(np.sum((answers - self.values) ** 2) / 2 / len(answers))

    def accuracy(self, answers: Float[np.ndarray, "n outputs"]) -> float:
        """Share of probes whose class has the largest answer; NaN where there are no classes."""
        return float(np.mean(np.argmax(answers, axis=1) == self.labels)) if self.labels is not None else np.nan

    def comparable(self, answers: Float[np.ndarray, "n outputs"]) -> Float[np.ndarray, "n outputs"]:
        """Answers that are the targets when all is learned: of classes, softmax(f) − 1/C."""
        return answers if self.labels is None else special.softmax(answers, axis=1) - 1 / answers.shape[1]

    def twin(self, around: Linearised, probes: Linearised | None = None) -> Twin | LabelledTwin:
        """The linearised network, trained alike on these targets, and its answers on the probes if these are others."""
        if self.labels is None:
            return Twin.of(around, self.values, probes)
        return LabelledTwin.of(around, self.labels, probes)
