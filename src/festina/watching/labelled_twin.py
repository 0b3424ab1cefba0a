"""The linearised twin of a classifier: steps of gradient descent on the cross-entropy of the linearised network.

There is no closed form, but no parameters are needed either: with p the softmax of f and e the classes as unit vectors,
a step of size η changes the twin's answers by −η K₀(p − e)/n, one product with J₀ᵀ and one with J₀; and those on probes
that it is not trained on by one more.
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
MOST_BYTES = 256 * 2**20  # that the twin's answers along its way may take


@dataclass(frozen=True)
class LabelledTwin:
    """What the twin answers on its way, and its loss there, which falls.

    Attributes:
        labels: the class of each example that it is trained on, as a number.
        answers: on the probes along the way, with the start.
        losses: mean cross-entropy of each, on the examples.
    """

    labels: Int[np.ndarray, " n"]
    answers: Float[np.ndarray, "steps probes outputs"]
    losses: Float[np.ndarray, " steps"]

    @classmethod
    def of(cls, around: Linearised, labels: Int[np.ndarray, " n"], probes: Linearised | None = None) -> LabelledTwin:
        """From the network around its start on what it is trained on, and on the probes if these are others."""
        now = around.answers.astype(float)
        seen = now if probes is None else probes.answers.astype(float)

        def pull(error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            """K₀ times an error, on the examples and on the probes."""
            if probes is None:
                own = around.pull(error).astype(float)
                return own, own
            change = around.backward(error[None])
            return around.forward(change)[0].astype(float), probes.forward(change)[0].astype(float)

        step = 2 * len(now) / max(_largest(around), 1e-300)  # the softmax's own curvature is at most ½
        way, losses, change = [seen], [cross_entropy(now, labels)], pull(_error(now, labels) / len(now))
        for _ in range(_affordable(seen)):
            tried = now - step * change[0]
            loss = cross_entropy(tried, labels)
            if loss >= losses[-1]:
                step /= 4
                continue
            now = tried
            way.append(way[-1] - step * change[1])
            losses.append(loss)
            step *= GROWTH
            change = pull(_error(now, labels) / len(now))
        return cls(labels, np.array(way), np.array(losses))

    def at_equal_loss(self, examples: Float[np.ndarray, "n outputs"]) -> Float[np.ndarray, "probes outputs"] | None:
        """f_twin on the probes when its loss is that of the network, which answers so; None if it never is."""
        wanted = cross_entropy(examples, self.labels)
        if not self.losses[-1] <= wanted <= self.losses[0]:
            return None
        after = int(np.searchsorted(-self.losses, -wanted))
        before = max(after - 1, 0)
        fall = self.losses[before] - self.losses[after]
        share = (self.losses[before] - wanted) / fall if fall else 0.0
        return (1 - share) * self.answers[before] + share * self.answers[after]


def _largest(around: Linearised) -> float:
    """The largest eigenvalue of K₀, by the power method; a little too small."""
    random = np.random.default_rng(0).standard_normal(around.answers.shape)
    for _ in range(POWER):
        random = around.pull(random / max(float(np.linalg.norm(random)), 1e-300)).astype(float)
    return float(np.linalg.norm(random))


def _affordable(answers: Float[np.ndarray, "probes outputs"]) -> int:
    """How many steps may be kept."""
    return int(np.clip(MOST_BYTES // (8 * max(answers.size, 1)), 10, STEPS))


def cross_entropy(answers: Float[np.ndarray, "n outputs"], labels: Int[np.ndarray, " n"]) -> float:
    """−⟨log softmax(f)_label⟩."""
    return float(-np.mean(special.log_softmax(answers, axis=1)[np.arange(len(labels)), labels]))


def _error(answers: Float[np.ndarray, "n outputs"], labels: Int[np.ndarray, " n"]) -> Float[np.ndarray, "n outputs"]:
    """softmax(f) − e."""
    return special.softmax(answers, axis=1) - np.eye(answers.shape[1])[labels]
