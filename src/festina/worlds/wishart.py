"""The second moment S = XᵀX/B of B standard normal inputs, drawn from its own law without drawing the inputs.

B·S ~ Wishart(B, I): S = L Lᵀ/B with L lower triangular, independent χ_{B−k} on its diagonal (k = 0, 1, …) and standard
normal numbers below (Bartlett). For 20 inputs that is 210 random numbers instead of 20·B.

A χ variable is a monotonic function of a normal one, χ = F⁻¹(Φ(z)), and with many degrees of freedom nearly a straight
line: a polynomial fits it to 1e-10 from 180 degrees on (2e-8 at 10), where a rejection sampler would cost forty
times as much.
"""

from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from festina import draws
from festina._lazy import special
from festina.errors import require

FEWEST = 10  # degrees of freedom below which a polynomial no longer fits
REACH = 6.5  # |z| of a normal number in 32 bits stays below this


def second_moment(key: Array, inputs: int, batch: int, dtype: Any) -> Float[Array, "inputs inputs"]:
    """S = XᵀX/B of a batch of B ≥ ``inputs`` standard normal vectors."""
    root = second_moment_root(key, inputs, batch, dtype)
    return root @ root.T / batch


def second_moment_root(key: Array, inputs: int, batch: int, dtype: Any) -> Float[Array, "inputs inputs"]:
    """The lower triangular factor L of B·S = L Lᵀ ~ Wishart(B, I).

    Normal numbers are drawn in 32 bits and widened: their grain, 1e-7, is far below what a batch can show.
    """
    require(
        batch >= inputs,
        "batch",
        f"be at least the {inputs} inputs for a Wishart matrix (smaller batches: `sampled`)",
        batch,
    )
    triangle = inputs * (inputs + 1) // 2
    drawn = jnp.asarray(draws.normal(key, (triangle,), np.float32)).astype(dtype)
    few = batch - inputs + 1 < FEWEST
    diagonal = _chi_by_gamma(key, inputs, batch, dtype) if few else _chi(drawn[:inputs], batch)
    entries = jnp.concatenate([diagonal, drawn[inputs:], jnp.zeros((1,), dtype)])
    return entries[_places(inputs)]


@lru_cache
def _places(inputs: int) -> np.ndarray:
    """Where each entry of the triangle comes from: a gather, which XLA does several times faster than a scatter."""
    places = np.full((inputs, inputs), inputs * (inputs + 1) // 2)
    places[np.diag_indices(inputs)] = np.arange(inputs)
    places[np.tril_indices(inputs, -1)] = inputs + np.arange(inputs * (inputs - 1) // 2)
    return places


def _chi(normal: Float[Array, " k"], degrees: int) -> Float[Array, " k"]:
    """χ with degrees, degrees − 1, … degrees of freedom, one from each normal number (Horner's rule)."""
    coefficients = chi_polynomial(degrees, normal.shape[0])
    value = jnp.zeros_like(normal)
    for column in coefficients.T[::-1]:
        value = value * (normal / REACH) + jnp.asarray(column, normal.dtype)
    return value


@lru_cache
def chi_polynomial(degrees: int, count: int) -> Float[np.ndarray, "count powers"]:
    """Polynomials in z/REACH that turn a normal z into χ with degrees, degrees − 1, … degrees of freedom."""
    power = 9 if degrees - count + 1 >= 180 else 17
    nodes = np.cos(np.pi * (np.arange(4 * power) + 0.5) / (4 * power))
    z = REACH * nodes
    fits = []
    for k in range(count):
        half = (degrees - k) / 2  # χ² is twice a gamma variable of this shape
        # from whichever tail is near, so that neither end loses its digits
        tail = special.ndtr(-np.abs(z))
        quantile = 2 * np.where(z < 0, special.gammaincinv(half, tail), special.gammainccinv(half, tail))
        fits.append(_in_powers(np.polynomial.chebyshev.chebfit(nodes, np.sqrt(quantile), power)))
    return np.stack(fits)


def _in_powers(series: Float[np.ndarray, " powers"]) -> Float[np.ndarray, " powers"]:
    """A Chebyshev series in as many powers of its variable; NumPy leaves out the last ones if they are exactly zero."""
    powers = np.zeros_like(series)
    found = np.polynomial.chebyshev.cheb2poly(series)
    powers[: len(found)] = found
    return powers


def _chi_by_gamma(key: Array, count: int, degrees: int, dtype: Any) -> Float[Array, " count"]:
    """The same by rejection, for few degrees of freedom."""
    freedom = (degrees - jnp.arange(count)).astype(dtype)
    return jnp.sqrt(2.0 * jax.random.gamma(draws.fold_in(key, 1), freedom / 2.0, dtype=dtype))
