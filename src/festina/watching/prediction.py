"""What a linear network with the same start would do to the modes of the data, beside what the watched one does.

With one hidden layer, mode k of Σyx = Σ_k s_k u_k v_kᵀ is learned as τȧ = √(ℓ² + 4a²)(s_k − λ_k a), from what the first
weights have of it, W₁v_k and W₂ᵀu_k, with λ_k = v_kᵀΣxx v_k (`festina.theory.imbalanced`): exact for white inputs and
modes that share no hidden units. Time is that of gradient flow of ½⟨|f − y|²⟩. If nobody says how much of it is in a
step, it is taken from the strongest mode, and all others are predicted.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from festina.errors import ArgumentError
from festina.theory.chain import ImbalancedChain, imbalanced
from festina.watching.course import DataModes
from festina.watching.outside import Outside, Parameters


def linear_course(network: Outside, parameters: Parameters, modes: DataModes) -> ImbalancedChain | None:
    """The modes of a linear network with these weights; None for networks of another build."""
    weights = [network.matrix(name, value) for name, value in parameters.items() if value.ndim >= 2]
    sizes = len(modes.right), len(modes.left)
    if len(weights) != 2 or any(weight.ndim != 2 for weight in weights):
        return None
    first, second = weights if weights[0].shape[1] == sizes[0] else weights[::-1]
    if first.shape[1] != sizes[0] or second.shape[0] != sizes[1] or first.shape[0] != second.shape[1]:
        return None
    inward, outward = first.astype(float) @ modes.right, second.astype(float).T @ modes.left
    imbalance = np.linalg.norm(inward + outward, axis=0) * np.linalg.norm(inward - outward, axis=0)
    try:
        return imbalanced(
            modes.strengths, np.sum(inward * outward, axis=0), imbalance, input_variance=modes.input_variances
        )
    except ArgumentError:  # inputs without variance along a mode
        return None


def predicted(
    course: ImbalancedChain,
    modes: DataModes,
    steps: Float[np.ndarray, " looks"],
    learned: Float[np.ndarray, "looks modes"],
    rate: float | None,
) -> Float[np.ndarray, "looks modes"] | None:
    """How far each mode would be learned at each step; None if no time can be given to steps."""
    if rate is None:
        half = _half_step(steps, learned[:, 0])
        moment = np.ravel(course.time_to_reach(0.5))[0]
        if not (np.isfinite(half) and np.isfinite(moment) and half > 0):
            return None
        rate = float(moment / half)
    found = np.array([np.asarray(course(rate * step)["product"]) for step in steps])
    return found * modes.input_variances / modes.strengths


def _half_step(steps: Float[np.ndarray, " looks"], learned: Float[np.ndarray, " looks"]) -> float:
    """The step at which half of a mode is first learned; NaN if it never is.

    Between looks log(a/(1 − a)) is taken as linear in the step, as it is for a mode that grows from little.
    """
    above = np.flatnonzero(learned >= 0.5)
    if not above.size or above[0] == 0:
        return np.nan
    around = slice(above[0] - 1, above[0] + 1)
    share = np.clip(learned[around], 1e-6, 1 - 1e-6)
    return float(np.interp(0.0, np.log(share / (1 - share)), steps[around]))
