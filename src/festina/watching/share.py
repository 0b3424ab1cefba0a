"""How much of the change of a network's answers something misses, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class Share:
    """How much of the change of the answers something misses, |missed| / |moved|, and its standard error over
    probes."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ± {self.error:.1g}" if np.isfinite(self.error) else f"{self.value:.2f}"

    @classmethod
    def of(cls, missed: Float[np.ndarray, "n outputs"], moved: Float[np.ndarray, "n outputs"]) -> Share:
        """NaN for answers that have not moved; the error is found by leaving out one probe at a time."""
        off, way = np.sum(missed.astype(float) ** 2, axis=1), np.sum(moved.astype(float) ** 2, axis=1)
        if not way.sum():
            return cls(np.nan, np.nan)
        others = way.sum() - way
        if len(way) < 2 or not np.all(others > 0):
            return cls(float(np.sqrt(off.sum() / way.sum())), np.nan)
        left = np.sqrt(np.maximum(off.sum() - off, 0.0) / others)
        return cls(float(np.sqrt(off.sum() / way.sum())), float(np.std(left) * np.sqrt(len(left) - 1)))
