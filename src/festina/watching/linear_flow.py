"""Gradient flow of a deep linear network on the probes, integrated: what it does to their modes from any start.

dW_l/dt = (W_D ⋯ W_{l+1})ᵀ (Σyx − W Σxx) (W_{l−1} ⋯ W_1)ᵀ with W = W_D ⋯ W_1, inputs and targets less their means. The
first weights are taken in the directions in which the probes vary, which are all that the flow changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
from jaxtyping import Float

from festina._lazy import integrate
from festina.errors import FestinaError
from festina.watching.course import DataModes

MOST_WEIGHTS = 20_000
MOST_RATES = 20_000  # times that the right-hand side may be asked for
TOLERANCE = 1e-6


class Unaffordable(FestinaError):
    """A flow that would take too long."""


@dataclass(frozen=True)
class LinearFlow:
    """A deep linear network before its gradient flow.

    Attributes:
        weights: W_1 … W_D, the first on the directions in which the probes vary.
        cross: Σyx on them, and ``variances``: Σxx, which is diagonal on them.
        left: u_k as columns, and ``right``: v_k on these directions, and ``strengths``: s_k.
    """

    weights: tuple[np.ndarray, ...]
    cross: Float[np.ndarray, "outputs directions"]
    variances: Float[np.ndarray, " directions"]
    left: Float[np.ndarray, "outputs modes"]
    right: Float[np.ndarray, "directions modes"]
    strengths: Float[np.ndarray, " modes"]

    @classmethod
    def of(cls, weights: list[np.ndarray], modes: DataModes) -> LinearFlow:
        """From weights as they are, and all modes of the probes."""
        _, sizes, directions = np.linalg.svd(modes.inputs, full_matrices=False)
        kept = directions[sizes > sizes[0] * 1e-10]
        reduced = (weights[0] @ kept.T, *weights[1:])
        count = sum(weight.size for weight in reduced)
        if count > MOST_WEIGHTS:
            raise Unaffordable(
                f"{len(weights)} linear layers of {count} weights take too long ({MOST_WEIGHTS} at most)"
            )
        variances = sizes[sizes > sizes[0] * 1e-10] ** 2 / len(modes.inputs)
        return cls(reduced, modes.cross @ kept.T, variances, modes.left, kept @ modes.right, modes.strengths)

    def learned(self, times: Float[np.ndarray, " moments"]) -> Float[np.ndarray, "moments modes"]:
        """How far each mode is learned at these times, which rise from 0 or later."""
        moments, places = np.unique(times, return_inverse=True)
        if moments[-1] == 0.0:  # of which the integrator makes nothing
            states = np.repeat(self._state[:, None], len(moments), axis=1)
        else:
            states = self._integrated(float(moments[-1]), moments).y
        return np.array([self._shares(states[:, place]) for place in places])

    def reach(self, level: float) -> float:
        """When so much of the strongest mode is learned."""

        def reached(_: float, state: np.ndarray) -> float:
            return float(self._shares(state)[0]) - level

        reached.terminal = True  # pyright: ignore[reportFunctionMemberAccess]
        found = self._integrated(np.inf, None, reached)
        return float(found.t_events[0][0]) if found.t_events[0].size else np.nan

    def _integrated(self, until: float, times: np.ndarray | None, event: Callable | None = None):
        asked = 0

        def rate(_: float, state: np.ndarray) -> np.ndarray:
            nonlocal asked
            asked += 1
            if asked > MOST_RATES:
                raise Unaffordable(f"the flow of {len(self.weights)} linear layers from this start takes too long")
            return np.concatenate([each.ravel() for each in self._rates(self._weights(state))])

        size = max(float(np.max(np.abs(self._state))), 1e-300)
        options = {"rtol": TOLERANCE, "atol": TOLERANCE * size, "method": "DOP853"}
        end = until if np.isfinite(until) else 1e300
        return integrate.solve_ivp(rate, (0.0, end), self._state, t_eval=times, events=event, **options)

    @property
    def _state(self) -> Float[np.ndarray, " numbers"]:
        return np.concatenate([weight.ravel() for weight in self.weights])

    def _weights(self, state: Float[np.ndarray, " numbers"]) -> list[np.ndarray]:
        ends = list(accumulate(weight.size for weight in self.weights))
        parts = np.split(state, ends[:-1])
        return [part.reshape(weight.shape) for part, weight in zip(parts, self.weights, strict=True)]

    def _rates(self, weights: list[np.ndarray]) -> list[np.ndarray]:
        """Minus the gradients of ½⟨|W x − y|²⟩, the error passed backwards."""
        below = list(accumulate(weights, lambda product, weight: weight @ product))
        error, found = self.cross - below[-1] * self.variances, []
        for place in range(len(weights) - 1, -1, -1):
            found.append(error @ below[place - 1].T if place else error)
            error = weights[place].T @ error
        return found[::-1]

    def _shares(self, state: Float[np.ndarray, " numbers"]) -> Float[np.ndarray, " modes"]:
        """u_kᵀ W Σxx v_k/s_k."""
        product = self._weights(state)[0]
        for weight in self._weights(state)[1:]:
            product = weight @ product
        return np.einsum("ok,od,dk->k", self.left, product * self.variances, self.right) / self.strengths
