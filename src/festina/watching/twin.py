"""The linearised twin: the network's first-order expansion at its start, f₀ + J₀(θ − θ₀), and how far the two part.

*Lazy* means that a network learns as its twin does (Chizat, Oyallon & Bach 2019). Two gaps say how far it does not:

- the *curvature* along the way that training took, |f(θ) − f₀ − J₀(θ − θ₀)| / |f(θ) − f₀|, which needs no training;
- the *gap* to the twin trained alike. Under gradient flow of ½|f − y|² the twin's error on the probes is
  e^{−sK₀}(f₀ − y) with K₀ = J₀J₀ᵀ. It is taken at the s at which its loss is the network's own, so that rates,
  schedules and optimisers do not matter: |f − f_twin| / |f − f₀|.

K₀ is never formed: with m steps of Lanczos from the first error, K₀V ≈ VT on the span V of K₀ⁱ(f₀ − y), and
e^{−sK₀}(f₀ − y) ≈ |f₀ − y| V e^{−sT} e₁.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from festina._lazy import optimize
from festina.watching.outside import Linearised, Parameters

STEPS = 60  # of Lanczos
NEGLIGIBLE = 10  # times what rounding makes of the largest number met: no new direction is left


@dataclass(frozen=True)
class Twin:
    """The linearised network under gradient flow on the probes.

    Attributes:
        start: f₀, and ``targets`` y.
        basis: V of Lanczos, (steps, n · outputs).
        rates: eigenvalues of T, and ``parts``: |f₀ − y| times the rows of its eigenvectors, so that the error at s is
            Vᵀ (parts @ e^{−s rates}).
    """

    start: Float[np.ndarray, "n outputs"]
    targets: Float[np.ndarray, "n outputs"]
    basis: Float[np.ndarray, "steps rows"]
    rates: Float[np.ndarray, " steps"]
    parts: Float[np.ndarray, "steps steps"]

    @classmethod
    def of(cls, around: Linearised, targets: Float[np.ndarray, "n outputs"]) -> Twin:
        """From the network around its start."""
        error = (around.answers - targets).astype(float).ravel()
        size = float(np.linalg.norm(error))
        basis, diagonal, beside = _lanczos(around, error / size if size else error)
        values, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1))
        return cls(around.answers.astype(float), targets, basis, np.maximum(values, 0), size * vectors * vectors[0])

    def error(self, moment: float) -> Float[np.ndarray, "n outputs"]:
        """f_twin − y at the moment s of its gradient flow."""
        decay = np.exp(-moment * self.rates) if np.isfinite(moment) else (self.rates == 0) * 1.0
        return ((self.parts @ decay) @ self.basis).reshape(self.start.shape)

    def loss(self, moment: float) -> float:
        """½|f_twin − y|²; it falls with s."""
        return float(np.sum(self.error(moment) ** 2) / 2)

    def gap(self, answers: Float[np.ndarray, "n outputs"]) -> float:
        """|f − f_twin|/|f − f₀| at equal loss; NaN where the twin has no such loss, or the network has not moved."""
        wanted, moved = float(np.sum((answers - self.targets) ** 2) / 2), float(np.linalg.norm(answers - self.start))
        if not moved or not self.loss(np.inf) <= wanted <= self.loss(0.0):
            return np.nan
        return float(np.linalg.norm(answers - self.targets - self.error(self._moment(wanted))) / moved)

    def _moment(self, wanted: float) -> float:
        """s at which the loss is what is wanted, found on the logarithm of s."""
        slowest, fastest = self.rates[self.rates > 0].min(), self.rates.max()
        ends = np.log(1e-12 / fastest), np.log(1e3 / slowest)
        if self.loss(float(np.exp(ends[0]))) <= wanted:
            return 0.0
        if self.loss(float(np.exp(ends[1]))) >= wanted:
            return float(np.exp(ends[1]))
        return float(np.exp(optimize.brentq(lambda log: self.loss(float(np.exp(log))) - wanted, *ends, xtol=1e-10)))


def curvature(around: Linearised, start: Parameters, now: Parameters, answers: Float[np.ndarray, "n outputs"]) -> float:
    """|f(θ) − f₀ − J₀(θ − θ₀)| / |f(θ) − f₀|; NaN for answers that have not moved."""
    change = {name: (now[name] - value)[None] for name, value in start.items()}
    moved = answers - around.answers
    size = float(np.linalg.norm(moved))
    return float(np.linalg.norm(moved - around.forward(change)[0]) / size) if size else np.nan


def _lanczos(
    around: Linearised, first: Float[np.ndarray, " rows"]
) -> tuple[Float[np.ndarray, "steps rows"], Float[np.ndarray, " steps"], Float[np.ndarray, " others"]]:
    """V, and the diagonals of T, by Lanczos with full orthogonalisation."""
    shape = (1, *around.answers.shape)
    basis, diagonal, beside = [first], [], []
    largest, precision = 0.0, NEGLIGIBLE * np.finfo(around.answers.dtype).eps
    for _ in range(min(STEPS, first.size)):
        pulled = around.forward(around.backward(basis[-1].reshape(shape)))[0].astype(float).ravel()
        diagonal.append(float(pulled @ basis[-1]))
        known = np.array(basis)
        for _ in range(2):  # once more, for what rounding has left
            pulled = pulled - (known @ pulled) @ known
        size = float(np.linalg.norm(pulled))
        largest = max(largest, abs(diagonal[-1]), size)
        if size <= precision * largest or len(diagonal) == min(STEPS, first.size):
            break
        beside.append(size)
        basis.append(pulled / size)
    return np.array(basis), np.array(diagonal), np.array(beside)
