"""Initial weights of two-layer linear networks with a given imbalance between the layers."""

import jax
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from festina.arrays import ArrayLike, xp
from festina.errors import require
from festina.precision import is_traced, precise, to_numpy
from festina.worlds.orthogonal import orthogonal_factor


def feasible(imbalance: float, sizes: tuple[int, int, int]) -> None:
    """Raise unless weights of ``sizes`` (Ni, Nh, No) can have W₂ᵀW₂ − W₁W₁ᵀ = λI.

    For λ > 0, W₂ᵀW₂ = λI + W₁W₁ᵀ has full rank Nh, and W₂ has only No rows: Nh ≤ No. For λ < 0 likewise
    Nh ≤ Ni. λ = 0 is always possible.
    """
    inputs, hidden, outputs = sizes
    for sign, widest, reason in (
        (
            1,
            outputs,
            "W₂ᵀW₂ = λI + W₁W₁ᵀ has full rank, so that the hidden layer is at most as wide as the output",
        ),
        (
            -1,
            inputs,
            "W₁W₁ᵀ = |λ|I + W₂ᵀW₂ has full rank, so that the hidden layer is at most as wide as the input",
        ),
    ):
        relation = f"at most {widest} for λ = {imbalance:g}: {reason}"
        require(sign * imbalance <= 0 or hidden <= widest, "sizes", f"have a hidden width of {relation}", sizes)


@precise
def balanced_weights(
    key: PRNGKeyArray, sizes: tuple[int, int, int], imbalance: ArrayLike, scale: ArrayLike
) -> tuple[Float[Array | np.ndarray, "hidden in"], Float[Array | np.ndarray, "out hidden"]]:
    """Random λ-balanced weights for ``sizes`` (Ni, Nh, No), after Dominé et al. 2025.

    W₁ = R D₁ Vᵀ, W₂ = U D₂ Rᵀ with Haar-random orthogonal U, R, V and diagonal D₁, D₂. The first
    min(Ni, Nh, No) singular values of the map are all ``scale`` = α,

        d₁ = √((√(λ² + 4α²) − λ)/2),    d₂ = √((√(λ² + 4α²) + λ)/2),    d₁d₂ = α;

    hidden directions beyond them have only the layer that λ asks for, with √|λ|.
    """
    imbalance, scale = (xp.asarray(number, dtype=float) for number in (imbalance, scale))
    if not is_traced((imbalance, scale)):
        require(bool(np.isfinite(imbalance)), "imbalance", "be finite", float(imbalance))
        require(0 <= float(scale) < np.inf, "scale", "be finite and not negative", float(scale))
        feasible(float(imbalance), sizes)
    inputs, hidden, outputs = sizes
    along = xp.where(np.arange(hidden) < min(sizes), scale, 0.0)
    positive = imbalance > 0
    size = xp.where(positive, imbalance, -imbalance)  # |λ|, with the derivative of d₁ and d₂ at zero, too
    larger = xp.sqrt((xp.hypot(imbalance, 2 * along) + size) / 2)
    smaller = along / xp.where(larger == 0, 1.0, larger)  # d₁d₂ = α instead of a difference of near numbers
    inward, outward = xp.where(positive, smaller, larger), xp.where(positive, larger, smaller)
    normal = to_numpy(jax.random.normal(key, (3, max(sizes), max(sizes))))  # with known numbers NumPy goes on
    right, turn, left = (orthogonal_factor(one[:size, :size]) for one, size in zip(normal, sizes, strict=True))
    wide_in, wide_out = min(hidden, inputs), min(hidden, outputs)
    first = turn[:, :wide_in] * inward[None, :wide_in] @ right[:, :wide_in].T
    second = left[:, :wide_out] * outward[None, :wide_out] @ turn[:, :wide_out].T
    return first, second
