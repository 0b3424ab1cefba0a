"""The linearised twin of a classifier: steps of gradient descent on the cross-entropy of the linearised network.

There is no closed form, but no parameters are needed either: with p the softmax of f and e the classes as unit vectors,
a step of size η changes the twin's answers by −η K₀(p − e)/n, one product with J₀ᵀ and one with J₀.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from festina._lazy import special
from festina.watching.outside import Linearised

STEPS = 100
GROWTH = 1.1  # of the step while the loss falls: errors shrink, and so does what limits the step
POWER = 12  # iterations for the largest eigenvalue of K₀


@dataclass(frozen=True)
class LabelledTwin:
    """What the twin answers on its way, and its loss there, which falls.

    Attributes:
        start: f₀.
        labels: the class of each probe, as a number.
        answers: along the way, with the start.
        losses: mean cross-entropy of each.
    """

    start: Float[np.ndarray, "n outputs"]
    labels: Int[np.ndarray, " n"]
    answers: Float[np.ndarray, "steps n outputs"]
    losses: Float[np.ndarray, " steps"]

    @classmethod
    def of(cls, around: Linearised, labels: Int[np.ndarray, " n"]) -> LabelledTwin:
        """From the network around its start."""
        start, shape = around.answers.astype(float), (1, *around.answers.shape)

        def pull(error: np.ndarray) -> np.ndarray:
            return around.forward(around.backward(error.reshape(shape)))[0].astype(float)

        random = np.random.default_rng(0).standard_normal(start.shape)
        for _ in range(POWER):
            random = pull(random / max(float(np.linalg.norm(random)), 1e-300))
        step = 2 * len(start) / max(float(np.linalg.norm(random)), 1e-300)  # the softmax's own curvature is at most ½
        way, losses, change = [start], [cross_entropy(start, labels)], pull(_error(start, labels) / len(start))
        for _ in range(STEPS):
            tried = way[-1] - step * change
            loss = cross_entropy(tried, labels)
            if loss >= losses[-1]:
                step /= 4
                continue
            way.append(tried)
            losses.append(loss)
            step *= GROWTH
            change = pull(_error(tried, labels) / len(start))
        return cls(start, labels, np.array(way), np.array(losses))

    def gap(self, answers: Float[np.ndarray, "n outputs"]) -> float:
        """|f − f_twin|/|f − f₀| at equal loss; NaN where the twin has not come so far, or the network has not moved."""
        wanted, moved = cross_entropy(answers, self.labels), float(np.linalg.norm(answers - self.start))
        if not moved or not self.losses[-1] <= wanted <= self.losses[0]:
            return np.nan
        after = int(np.searchsorted(-self.losses, -wanted))
        before = max(after - 1, 0)
        fall = self.losses[before] - self.losses[after]
        share = (self.losses[before] - wanted) / fall if fall else 0.0
        twin = (1 - share) * self.answers[before] + share * self.answers[after]
        return float(np.linalg.norm(answers - twin) / moved)


def cross_entropy(answers: Float[np.ndarray, "n outputs"], labels: Int[np.ndarray, " n"]) -> float:
    """−⟨log softmax(f)_label⟩."""
    return float(-np.mean(special.log_softmax(answers, axis=1)[np.arange(len(labels)), labels]))


def _error(answers: Float[np.ndarray, "n outputs"], labels: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n outputs"]:
    """softmax(f) − e."""
    return special.softmax(answers, axis=1) - np.eye(answers.shape[1])[labels]
