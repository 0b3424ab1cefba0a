"""Effective sample sizes and R̂ of chains whose autocorrelation is known."""

import numpy as np
import pytest

from festina.chains import effective_sample_size, split_r_hat
from festina.errors import ArgumentError


def autoregressive(correlation, chains=4, draws=20_000, quantities=3, seed=0):
    random = np.random.default_rng(seed)
    noise = random.normal(size=(chains, draws, quantities)) * (1 - correlation**2) ** 0.5
    values = np.empty_like(noise)
    values[:, 0] = random.normal(size=(chains, quantities))
    for draw in range(1, draws):
        values[:, draw] = correlation * values[:, draw - 1] + noise[:, draw]
    return values


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9, -0.5])
def test_the_sample_size_of_an_autoregressive_chain(correlation):
    """1 + 2Σρᵗ = (1 + ρ)/(1 − ρ); negative correlations make more of the draws than there are, up to a bound."""
    chains = autoregressive(correlation)
    expected = 80_000 * (1 - correlation) / (1 + correlation)
    np.testing.assert_allclose(effective_sample_size(chains), expected, rtol=0.12)


@pytest.mark.full
def test_the_error_of_the_mean_is_what_the_sample_size_says():
    means = np.array([autoregressive(0.8, 1, 2000, 1, seed).mean() for seed in range(300)])
    size = effective_sample_size(autoregressive(0.8, 4, 2000, 1, 1))[0] / 4
    np.testing.assert_allclose(means.std(), size**-0.5, rtol=0.2)


def test_chains_that_disagree_or_drift_are_seen():
    chains = autoregressive(0.5, draws=2000)
    np.testing.assert_allclose(split_r_hat(chains), 1.0, atol=0.01)
    apart = chains + np.arange(4)[:, None, None]
    assert split_r_hat(apart).min() > 1.5 and effective_sample_size(apart).max() < 30
    drifting = chains[:1] + np.linspace(0.0, 4.0, 2000)[None, :, None]
    assert split_r_hat(drifting).min() > 1.3


def test_shapes_constants_and_bad_input():
    chains = autoregressive(0.5, draws=100)
    chains[..., 1] = 7.0
    assert effective_sample_size(chains).shape == split_r_hat(chains).shape == (3,)
    assert np.isnan(effective_sample_size(chains)[1]) and split_r_hat(chains)[1] == 1.0
    assert np.shape(effective_sample_size(chains[..., 0])) == ()
    with pytest.raises(ArgumentError, match="at least 4 draws"):
        split_r_hat(np.zeros((2, 3)))
    with pytest.raises(ArgumentError, match="finite"):
        split_r_hat(np.full((2, 10), np.nan))
