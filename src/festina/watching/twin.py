"""The linearised twin: the network's first-order expansion at its start, f₀ + J₀(θ − θ₀), and how far the two part.

*Lazy* means that a network learns as its twin does (Chizat, Oyallon & Bach 2019). Two gaps say how far it does not:

- the *curvature* along the trajectory that training took, |f(θ) − f₀ − J₀(θ − θ₀)| / |f(θ) − f₀|, which needs no
training;
- the *gap* to the twin trained alike. Under gradient flow of ½|f − y|² the twin's error on the probes is
  e^{−sK₀}(f₀ − y) with K₀ = J₀J₀ᵀ. It is taken at the s at which its loss is the network's own, so that rates,
  schedules and optimisers do not matter: |f − f_twin| / |f − f₀|.

K₀ is never formed: with m steps of Lanczos from the first error, K₀V ≈ VT on the span V of K₀ⁱ(f₀ − y), and
e^{−sK₀}(f₀ − y) ≈ |f₀ − y| V e^{−sT} e₁. If the twin is trained on other examples than the probes, with derivatives
J_t, its answers on the probes are f₀ − J₀J_tᵀ ∫₀ˢ e^{−uK_t}(f₀ − y)_t du: products J₀J_tᵀV with the cross kernel are
taken along, m × probes × outputs numbers, and the integral is |f₀ − y|_t V T⁻¹(1 − e^{−sT}) e₁.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from festina._lazy import optimize
from festina.watching.outside import Linearised, Parameters
from festina.watching.share import Share

STEPS = 60  # of Lanczos
NEGLIGIBLE = 10  # times what rounding makes of the largest number met: no new direction is left


@dataclass(frozen=True)
class Twin:
    """The linearised network under gradient flow on examples, the probes unless others are given.

    Attributes:
        start: f₀ on the examples, and ``targets`` their y.
        basis: V of Lanczos, (steps, n · outputs).
        rates: eigenvalues of T, and ``parts``: |f₀ − y| times the rows of its eigenvectors, so that the error at s is
            Vᵀ (parts @ e^{−s rates}).
        probes: f₀ on the probes.
        cross: J₀J_tᵀ V, what the flow along each direction of the basis does on the probes; None if they are what the
            twin is trained on.
    """

    start: Float[np.ndarray, "n outputs"]
    targets: Float[np.ndarray, "n outputs"]
    basis: Float[np.ndarray, "steps rows"]
    rates: Float[np.ndarray, " steps"]
    parts: Float[np.ndarray, "steps steps"]
    probes: Float[np.ndarray, "probes outputs"]
    cross: Float[np.ndarray, "steps probe_rows"] | None = None

    @classmethod
    def of(cls, around: Linearised, targets: Float[np.ndarray, "n outputs"], probes: Linearised | None = None) -> Twin:
        """From the network around its start on what it is trained on, and on the probes if these are others."""
        error = (around.answers - targets).astype(float).ravel()
        size = float(np.linalg.norm(error))
        basis, diagonal, beside = _lanczos(around, error / size if size else error)
        values, vectors = np.linalg.eigh(np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1))
        rates = np.maximum(values, 0)
        cross = None if probes is None else _across(around, probes, basis)
        seen = (around if probes is None else probes).answers.astype(float)
        return cls(around.answers.astype(float), targets, basis, rates, size * vectors * vectors[0], seen, cross)

    def error(self, moment: float) -> Float[np.ndarray, "n outputs"]:
        """f_twin − y on the examples at the moment s of its gradient flow."""
        decay = np.exp(-moment * self.rates) if np.isfinite(moment) else (self.rates == 0) * 1.0
        return ((self.parts @ decay) @ self.basis).reshape(self.start.shape)

    def answers(self, moment: float) -> Float[np.ndarray, "probes outputs"]:
        """f_twin on the probes."""
        if self.cross is None:
            return self.targets + self.error(moment)
        learned = self.rates > np.finfo(float).eps * self.rates.max(initial=0.0)  # others have no derivative
        rates = np.where(learned, self.rates, 1.0)
        passed = np.where(learned, -np.expm1(-moment * rates) / rates, 0.0)
        return self.probes - ((self.parts @ passed) @ self.cross).reshape(self.probes.shape)

    def loss(self, moment: float) -> float:
        """½|f_twin − y|² on the examples; it falls with s."""
        return float(np.sum(self.error(moment) ** 2) / 2)

    def at_equal_loss(self, examples: Float[np.ndarray, "n outputs"]) -> Float[np.ndarray, "probes outputs"] | None:
        """f_twin on the probes when its loss is that of the network, which answers so; None if it never is."""
        wanted = float(np.sum((examples - self.targets) ** 2) / 2)
        if not self.loss(np.inf) <= wanted <= self.loss(0.0):
            return None
        return self.answers(self._moment(wanted))

    def _moment(self, wanted: float) -> float:
        """s at which the loss is what is wanted, found on the logarithm of s."""
        if not np.any(self.rates > 0):
            return 0.0
        slowest, fastest = self.rates[self.rates > 0].min(), self.rates.max()
        ends = np.log(1e-12 / fastest), np.log(1e3 / slowest)
        if self.loss(float(np.exp(ends[0]))) <= wanted:
            return 0.0
        if self.loss(float(np.exp(ends[1]))) >= wanted:
            return float(np.exp(ends[1]))
        return float(np.exp(optimize.brentq(lambda log: self.loss(float(np.exp(log))) - wanted, *ends, xtol=1e-10)))


def gap(twin: Float[np.ndarray, "n outputs"] | None, start: np.ndarray, answers: np.ndarray) -> Share:
    """|f − f_twin| / |f − f₀|; NaN without a twin of equal loss."""
    return Share(np.nan, np.nan) if twin is None else Share.of(answers - twin, answers - start)


def curvature(around: Linearised, start: Parameters, now: Parameters, answers: Float[np.ndarray, "n outputs"]) -> Share:
    """|f(θ) − f₀ − J₀(θ − θ₀)| / |f(θ) − f₀|; NaN for answers that have not moved."""
    change = {name: (now[name] - value)[None] for name, value in start.items()}
    moved = answers - around.answers
    return Share.of(moved - around.forward(change)[0], moved)


def _across(
    around: Linearised, probes: Linearised, basis: Float[np.ndarray, "steps rows"]
) -> Float[np.ndarray, "steps probe_rows"]:
    """J₀J_tᵀ v of every direction, one at a time: parameters are never kept."""
    shape = (1, *around.answers.shape)
    found = [probes.forward(around.backward(direction.reshape(shape)))[0] for direction in basis]
    return np.array([each.astype(float).ravel() for each in found])


def _lanczos(
    around: Linearised, first: Float[np.ndarray, " rows"]
) -> tuple[Float[np.ndarray, "steps rows"], Float[np.ndarray, " steps"], Float[np.ndarray, " others"]]:
    """V, and the diagonals of T, by Lanczos with full orthogonalisation."""
    basis, diagonal, beside = [first], [], []
    largest, precision = 0.0, NEGLIGIBLE * np.finfo(around.answers.dtype).eps
    for _ in range(min(STEPS, first.size)):
        pulled = around.pull(basis[-1].reshape(around.answers.shape)).astype(float).ravel()
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
