"""Linear attention that learns in context: the losses at its saddles, as a network of one's own.

Inputs have the covariance Λ with eigenvalues .4, .3, .2, .1; a sequence holds N = 31 examples of a task w ~ N(0, I).
Attention answers a query x by Σ_h v_h (k_hᵀβ)(q_hᵀx), where β is the mean of yx over the sequence: linear in the
features βxᵀ. All that their statistics say is in E[ββᵀ] = Λ²(1 + 1/N) + Λ tr Λ/N and in E[y βxᵀ] = Λ², so that a small
set of examples with the same second moments is as good as all sequences.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import festina as fs
from references.facts import DWELLING, SADDLES

PRINTED = [1.0, 0.64057971, 0.37737216, 0.2098046, 0.13599507]
VARIANCES, CONTEXT = np.array([0.4, 0.3, 0.2, 0.1]), 31
MOMENT = VARIANCES**2 * (1 + 1 / CONTEXT) + VARIANCES * VARIANCES.sum() / CONTEXT  # of β


class Attention(eqx.Module):
    """Heads of rank one: value v, key k and query q of each."""

    value: Any
    key: Any
    query: Any

    def __call__(self, features: Any) -> Any:
        weights = jnp.einsum("h,hi,hj->ij", self.value, self.key, self.query)
        return (features @ weights.ravel())[..., None]


def world() -> fs.worlds.Dataset:
    """Sixteen features, and one example more with the part of the answers that they do not tell."""
    spread = np.sqrt(np.outer(MOMENT, VARIANCES)).ravel()
    told = np.diag(VARIANCES**2).ravel() / spread
    count = spread.size + 1
    inputs = np.vstack([np.diag(spread), np.zeros(spread.size)])
    targets = np.append(told, np.sqrt(VARIANCES.sum() - np.sum(told**2)))
    return fs.worlds.Dataset(inputs * np.sqrt(count), targets[:, None] * np.sqrt(count))


def loss(network: Any, data: Any) -> dict[str, Any]:
    """The mean squared error; twice festina's."""
    return {"loss": jnp.mean((data.targets - network(data.inputs)) ** 2)}


def test_the_loss_at_every_saddle_is_the_one_printed():
    learned = VARIANCES / MOMENT  # what a head holds once it has learned its direction
    for heads, printed in enumerate(PRINTED):
        value = np.where(np.arange(4) < heads, learned, 0.0)
        found = loss(Attention(value, np.eye(4), np.eye(4)), world().samples)["loss"]
        assert abs(found - printed) < SADDLES.allowed


@pytest.mark.full
def test_learning_dwells_at_the_saddles():
    random = np.random.default_rng(3)
    start = Attention(*(1e-3 * random.standard_normal(shape) for shape in ((8,), (8, 4), (8, 4))))
    run = fs.flow(start, world(), times=np.linspace(0.0, 6e4, 3001), observe=loss)
    found = run["loss"].values
    speed = -np.gradient(found)
    slowest = np.flatnonzero((speed[1:-1] < speed[:-2]) & (speed[1:-1] <= speed[2:])) + 1
    plateaus = found[[0, *slowest, -1]]
    plateaus = plateaus[np.append(True, np.diff(plateaus) < -0.01)]
    assert len(plateaus) == len(PRINTED), plateaus
    np.testing.assert_allclose(plateaus, PRINTED, atol=DWELLING.allowed)
