"""The modes of the user's own data, and how a network learns them.

Σyx = ⟨y xᵀ⟩ = Σ_k s_k u_k v_kᵀ of the probes, each side less its mean; the strength of mode k in a network's answers is
a_k = u_kᵀ ⟨f xᵀ⟩ v_k, which is s_k in a network that answers the targets. Deep linear networks learn modes one after
the other, the strongest first, and so, mostly, do others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

MOST = 10  # modes that are followed
FAINT = 1e-3  # of the strongest mode: weaker ones are noise


@dataclass(frozen=True)
class DataModes:
    """Modes of the probes.

    Attributes:
        strengths: s_k, the strongest first.
        left: u_k as columns, ``right``: v_k as columns.
        inputs: probes less their mean, one a row.
        cross: Σyx.
    """

    strengths: Float[np.ndarray, " modes"]
    left: Float[np.ndarray, "outputs modes"]
    right: Float[np.ndarray, "inputs modes"]
    inputs: Float[np.ndarray, "n inputs"]
    cross: Float[np.ndarray, "outputs inputs"]

    @classmethod
    def of(cls, inputs: Float[np.ndarray, "n inputs"], targets: Float[np.ndarray, "n outputs"]) -> DataModes:
        seen, wanted = inputs - inputs.mean(axis=0), targets - targets.mean(axis=0)
        cross = wanted.T @ seen / len(seen)
        left, strengths, right = np.linalg.svd(cross, full_matrices=False)
        count = int(np.sum(strengths > FAINT * strengths[0])) if strengths.size and strengths[0] > 0 else 0
        count = min(count, MOST)
        return cls(strengths[:count], left[:, :count], right[:count].T, seen, cross)

    @property
    def input_variances(self) -> Float[np.ndarray, " modes"]:
        """λ_k = v_kᵀ Σxx v_k."""
        return np.mean((self.inputs @ self.right) ** 2, axis=0)

    def learned(self, answers: Float[np.ndarray, "n outputs"]) -> Float[np.ndarray, " modes"]:
        """a_k/s_k: 0 before a mode is learned, 1 when it is."""
        cross = (answers - answers.mean(axis=0)).T @ self.inputs / len(self.inputs)
        return np.einsum("ok,oi,ik->k", self.left, cross, self.right) / self.strengths
