"""Several networks of one kind, one for each seed, as one: their weights have a leading axis of seeds."""

from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from festina.errors import ArgumentError, require
from festina.precision import double, is_traced, to_numpy


class Ensemble(eqx.Module):
    """Networks that differ in their weights alone. ``ensemble[k]`` is one of them, and all have a common ``sizes``.

    Attributes:
        members: one network whose real arrays have a leading axis of seeds.
        seeds: how many there are.

    Example:
        >>> import jax
        >>> import festina as fs
        >>> several = fs.networks.DeepLinear.init(jax.random.key(0), (8, 4, 2), seeds=3)
        >>> len(several), several[1].weights[0].shape
        (3, (4, 8))
    """

    members: Any
    seeds: int = eqx.field(static=True)

    @classmethod
    def draw(cls, make: Callable[[Array], Any], key: Array, seeds: int) -> "Ensemble":
        """``make(key)`` for as many keys as there are seeds, in float64.

        Args:
            make: a network from a key.
            key: of all of them; network k has the k-th of the keys that it is split into.
            seeds: how many.

        Example:
            >>> import equinox as eqx, jax
            >>> several = Ensemble.draw(lambda key: eqx.nn.Linear(4, 2, key=key), jax.random.key(0), seeds=5)
            >>> several[0].weight.shape
            (2, 4)
        """
        require(isinstance(seeds, int) and seeds >= 1, "seeds", "be a whole number from 1 on", seeds)
        with double():
            drawn = [make(each) for each in jax.random.split(key, seeds)]
            return cls.of(drawn if is_traced(key) else to_numpy(drawn))

    @classmethod
    def of(cls, networks: list[Any]) -> "Ensemble":
        """Networks that are there already, all of one kind and of the same sizes."""
        require(len(networks) >= 1, "networks", "hold at least one", networks)
        parts = [eqx.partition(network, eqx.is_inexact_array) for network in networks]
        kinds = {
            (jax.tree.structure(weights), tuple(np.shape(leaf) for leaf in jax.tree.leaves(weights)))
            for weights, _ in parts
        }
        if len(kinds) != 1:
            raise ArgumentError(f"Argument `networks` must be of one kind and size, but are {len(kinds)} kinds.")
        stacked = jax.tree.map(lambda *leaves: _stacked(leaves), *(weights for weights, _ in parts))
        return cls(eqx.combine(stacked, parts[0][1]), len(networks))

    def __len__(self) -> int:
        return self.seeds

    def __iter__(self) -> Iterator[Any]:
        """The networks one after the other."""
        return (self[number] for number in range(self.seeds))

    def __getitem__(self, number: int) -> Any:
        """One network."""
        require(-self.seeds <= number < self.seeds, "number", f"lie below {self.seeds}", number)
        weights, static = eqx.partition(self.members, eqx.is_inexact_array)
        return eqx.combine(jax.tree.map(lambda leaf: leaf[number], weights), static)


def _stacked(leaves: tuple[Any, ...]) -> Any:
    return jnp.stack(leaves) if is_traced(leaves) else np.stack([np.asarray(leaf) for leaf in leaves])
