"""Effective sample size and split-R̂ of Markov chains.

Chains are arrays (chains, draws, …); every further entry is a quantity of its own. Each chain is split into halves, so
that a drift within a chain counts like a disagreement between chains.

Sources: A. Gelman et al., "Bayesian Data Analysis" (2013); C. J. Geyer, "Practical Markov chain Monte Carlo" (1992),
for the truncation of autocorrelations.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from festina.errors import require

FEWEST = 4  # draws of a chain


def split_r_hat(draws: Float[Any, "chains draws *quantities"]) -> Float[np.ndarray, "*quantities"]:
    """√(V/W) with W the mean variance within half chains and V = (n−1)/n W + variance between their means.

    1 if all half chains agree; 1.01 is a usual bound. A quantity that never moves has 1.

    Example:
        >>> draws = np.random.default_rng(0).normal(size=(4, 1000))
        >>> bool(split_r_hat(draws) < 1.01), bool(split_r_hat(draws + np.arange(4.0)[:, None]) > 1.5)
        (True, True)
    """
    halves = _halves(draws)
    count = halves.shape[1]
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = halves.mean(axis=1).var(axis=0, ddof=1)
    pooled = (count - 1) / count * within + between
    still = pooled <= np.finfo(float).eps * np.abs(halves).max(axis=(0, 1)) ** 2
    return np.sqrt(np.where(still, 1.0, pooled) / np.where(still, 1.0, np.maximum(within, np.finfo(float).tiny)))


def effective_sample_size(draws: Float[Any, "chains draws *quantities"]) -> Float[np.ndarray, "*quantities"]:
    """Independent draws that would give the mean as exactly: all draws over 1 + 2 Σ_t ρ_t.

    The autocorrelations ρ_t are those of half chains together, 1 − (W − mean autocovariance)/V. Sums of neighbours
    ρ_{2t} + ρ_{2t+1} are positive and fall for a reversible chain: the sum ends where they stop being positive, and a
    later one counts no more than an earlier one. Negative correlations may make more of the draws than there are, up to
    a factor log₁₀ of their number. A quantity that never moves has no sample size, and gives NaN.

    Example:
        >>> draws = np.random.default_rng(0).normal(size=(4, 1000))
        >>> slow = np.repeat(draws, 10, axis=1)  # every draw ten times: nothing is gained
        >>> bool(abs(effective_sample_size(slow) / effective_sample_size(draws) - 1.0) < 0.2)
        True
    """
    halves = _halves(draws)
    chains, count = halves.shape[:2]
    flat = halves.reshape(chains, count, -1)
    within = flat.var(axis=1, ddof=1).mean(axis=0)
    pooled = (count - 1) / count * within + flat.mean(axis=1).var(axis=0, ddof=1)
    moves = pooled > np.finfo(float).eps * np.abs(flat).max(axis=(0, 1)) ** 2
    covariance = _autocovariance(flat).mean(axis=0)
    correlation = 1.0 - (within[None] - covariance * count / (count - 1)) / np.where(moves, pooled, 1.0)[None]
    correlation[0] = 1.0
    pairs = correlation[: 2 * (count // 2)].reshape(count // 2, 2, -1).sum(axis=1)
    positive = np.cumprod(pairs > 0, axis=0)
    falling = np.minimum.accumulate(np.where(positive == 1, pairs, np.inf), axis=0)
    time = -1.0 + 2.0 * np.sum(np.where(positive == 1, falling, 0.0), axis=0)
    total = chains * count
    size = total / np.maximum(time, 1.0 / np.log10(total))
    return np.where(moves, size, np.nan).reshape(halves.shape[2:])


def _halves(draws: Any) -> Float[np.ndarray, "half_chains half_draws *quantities"]:
    values = np.asarray(draws, dtype=float)
    fits = values.ndim >= 2 and values.shape[0] >= 1 and values.shape[1] >= FEWEST
    require(fits, "draws", f"be (chains, at least {FEWEST} draws, …)", f"of shape {values.shape}")
    require(
        bool(np.all(np.isfinite(values))),
        "draws",
        "be finite",
        f"NaN or infinite in {np.sum(~np.isfinite(values))} places",
    )
    half = values.shape[1] // 2
    return np.concatenate([values[:, :half], values[:, -half:]])


def _autocovariance(chains: Float[np.ndarray, "chains draws q"]) -> Float[np.ndarray, "chains draws q"]:
    """1/n Σ_s (x_s − mean)(x_{s+t} − mean) of each chain, by the fast Fourier transform."""
    count = chains.shape[1]
    centred = chains - chains.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, n=2 * count, axis=1)
    return np.fft.irfft(np.abs(spectrum) ** 2, axis=1)[:, :count] / count
