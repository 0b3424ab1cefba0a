"""Deep linear networks of one width, with all layers between the ends in one array: one short program for any depth."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from festina.worlds.orthogonal import orthogonal_factor


class Stack(eqx.Module):
    """W_D ⋯ W_1: the first layer, the D − 2 layers between, and the last one.

    Example:
        >>> Stack.aligned(np.eye(2), np.eye(3), width=4, depth=5, gain=0.5).map.shape
        (2, 3)
    """

    first: Float[Any, "hidden inputs"]
    middle: Float[Any, "between hidden hidden"]
    last: Float[Any, "outputs hidden"]

    @property
    def depth(self) -> int:
        return self.middle.shape[0] + 2

    @property
    def map(self) -> Float[Array, "outputs inputs"]:
        """W_D ⋯ W_1."""
        return self._from_above()[0] @ self.first

    def _from_above(self) -> tuple[Float[Array, "outputs hidden"], Float[Array, "between outputs hidden"]]:
        """W_D ⋯ W_2, and W_D ⋯ W_{l+1} for each layer l between; few rows, for there are few outputs."""
        return jax.lax.scan(lambda rows, weights: (rows @ weights, rows), self.last, self.middle, reverse=True)

    def rate(self, target: Float[Any, "outputs inputs"]) -> "Stack":
        """(1/D) (W_D⋯W_{l+1})ᵀ (S − W_D⋯W_1) (W_{l−1}⋯W_1)ᵀ for every layer l: gradient flow on white inputs."""
        rows, above = self._from_above()
        error = target - rows @ self.first
        last, below = jax.lax.scan(
            lambda columns, weights: (weights @ columns, columns), self.first @ error.T, self.middle
        )
        # A sum over outputs of outer products: faster than many small matrix products.
        outer = [above[:, o, :, None] * below[:, None, :, o] for o in range(target.shape[0])]
        slopes = Stack(rows.T @ error, sum(outer, start=jnp.zeros_like(self.middle)), last.T)
        return jax.tree.map(lambda slope: slope / self.depth, slopes)

    def gaussian(self, gain: Any) -> "Stack":
        """From normal weights: those of standard deviation gain/√(inputs of the layer).

        Singular values then have the mean square gain².
        """
        return jax.tree.map(lambda weights: gain * weights / weights.shape[-1] ** 0.5, self)

    def orthogonal(self, gain: Any) -> "Stack":
        """From normal weights: random orthogonal layers times a gain; those at the ends are semi-orthogonal."""
        middle = jax.vmap(orthogonal_factor)(self.middle) if self.depth > 2 else self.middle
        return Stack(gain * orthogonal_factor(self.first), gain * middle, gain * orthogonal_factor(self.last))

    @classmethod
    def aligned(
        cls, left: Float[Any, "outputs outputs"], right: Float[Any, "inputs inputs"], width: int, depth: int, gain: Any
    ) -> "Stack":
        """Orthogonal layers times a gain that hand each mode of U s Vᵀ to the next: the product is gain^D U Vᵀ."""
        into, out = jnp.eye(width, len(right)) @ right.T, left @ jnp.eye(len(left), width)
        return cls(gain * into, gain * jnp.broadcast_to(np.eye(width), (depth - 2, width, width)), gain * out)
