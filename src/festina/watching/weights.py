"""Weights over training: how far each layer has come, and how balanced consecutive layers are.

Gradient flow of a linear network keeps W₂ᵀW₂ − W₁W₁ᵀ for consecutive layers, and so does a rectified one its diagonal.
Convolutions have (outputs, inputs, positions …): the squares are summed over positions, which is the quantity that
linear convolutions keep.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
from jaxtyping import Float

from festina.watching.outside import Outside, Parameters


def relative_change(now: Parameters, start: Parameters, names: Sequence[str]) -> float:
    """|θ − θ₀|/|θ₀| of some parameters together; NaN if they started at zero."""
    moved = sum(float(np.sum((now[name].astype(float) - start[name]) ** 2)) for name in names)
    size = sum(float(np.sum(start[name].astype(float) ** 2)) for name in names)
    return float(np.sqrt(moved / size)) if size else np.nan


def chained(network: Outside, parameters: Parameters) -> list[tuple[str, str]]:
    """Names of weights, one after the other, such that the outputs of the first are the inputs of the second.

    Parameters are taken in their order, or, if no two fit in it, from the last to the first; vectors (biases, scales)
    are passed over.
    """
    weights = [name for name, value in parameters.items() if value.ndim >= 2]
    shapes = {name: network.matrix(name, parameters[name]).shape for name in weights}

    def fitting(names: Iterable[str]) -> list[tuple[str, str]]:
        return [(first, second) for first, second in pairwise(names) if shapes[first][0] == shapes[second][1]]

    return fitting(weights) or fitting(reversed(weights))


def imbalance(
    first: Float[np.ndarray, "hidden inputs *positions"], second: Float[np.ndarray, "outputs hidden *others"]
) -> float:
    """|W₂ᵀW₂ − W₁W₁ᵀ| / (|W₂ᵀW₂| + |W₁W₁ᵀ|): 0 for balanced layers, near 1 if one of them is much the larger."""
    after, before = grams(first, second)
    size = float(np.linalg.norm(after) + np.linalg.norm(before))
    return float(np.linalg.norm(after - before) / size) if size else np.nan


def drift(first: np.ndarray, second: np.ndarray, first_start: np.ndarray, second_start: np.ndarray) -> float:
    """How far W₂ᵀW₂ − W₁W₁ᵀ has come from where it began, relative to the size of both terms now."""
    after, before = grams(first, second)
    after_start, before_start = grams(first_start, second_start)
    size = float(np.linalg.norm(after) + np.linalg.norm(before))
    change = (after - before) - (after_start - before_start)
    return float(np.linalg.norm(change) / size) if size else np.nan


def grams(
    first: np.ndarray, second: np.ndarray
) -> tuple[Float[np.ndarray, "hidden hidden"], Float[np.ndarray, "hidden hidden"]]:
    """W₂ᵀW₂ and W₁W₁ᵀ, summed over positions."""
    into = first.reshape(len(first), -1).astype(float)
    out = np.moveaxis(second, 1, 0).reshape(second.shape[1], -1).astype(float)
    return out @ out.T, into @ into.T
