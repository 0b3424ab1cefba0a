"""What a network can see of a world at one moment: its second moments, or samples.

Both know the loss of a network on them, so that a way of learning needs no case distinction.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


class Moments(eqx.Module):
    """Second moments Σxx = ⟨x xᵀ⟩, Σyx = ⟨y xᵀ⟩, Σyy = ⟨y yᵀ⟩: all that a linear network sees."""

    inputs: Float[Any, "*batch i i"]
    cross: Float[Any, "*batch o i"]
    outputs: Float[Any, "*batch o o"]

    def loss(self, network: Any) -> Float[Array, ""]:
        """½⟨|y − W x|²⟩ = ½ tr Σyy − tr(W Σyxᵀ) + ½ tr(W Σxx Wᵀ), with W = ``network.map``."""
        mapping = network.map
        fitted = jnp.sum(mapping * (mapping @ self.inputs))
        return 0.5 * jnp.trace(self.outputs) - jnp.sum(mapping * self.cross) + 0.5 * fitted


class Samples(eqx.Module):
    """Pairs (x, y): what any network sees."""

    inputs: Float[Any, "*batch n i"]
    targets: Float[Any, "*batch n o"]

    def loss(self, network: Any) -> Float[Array, ""]:
        """½ mean |y − f(x)|² over the samples."""
        error = self.targets - jax.vmap(network)(self.inputs)
        return 0.5 * jnp.mean(jnp.sum(error**2, axis=-1))

    @property
    def moments(self) -> Moments:
        """The samples' own second moments, XᵀX/n and so on."""
        count = self.inputs.shape[-2]
        return Moments(
            inputs=self.inputs.T @ self.inputs / count,
            cross=self.targets.T @ self.inputs / count,
            outputs=self.targets.T @ self.targets / count,
        )
