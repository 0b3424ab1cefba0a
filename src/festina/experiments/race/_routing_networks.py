"""The networks of `race/routing` and `race/systematic`: many learn side by side, each in a world of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import festina as fs
from festina._lazy import jax, jnp, np

MODES = 4  # of the answers, and hidden units of decoupled networks: one for each mode


def modes_of(answers: Any) -> tuple[Any, Any, Any]:
    """U, s and V of the answers."""
    left, strengths, right = np.linalg.svd(np.asarray(answers), full_matrices=False)
    return left, strengths, right.T


def mode_strengths() -> Any:
    """s of the hierarchy, strongest first."""
    return modes_of(fs.worlds.routing.HIERARCHY)[1]


def shared_maps(weights: tuple[Any, Any, Any]) -> Any:
    """W_oi = W3_o W2 W1_i of every pair, output domains first."""
    first, second, third = weights
    return jnp.einsum("ofh,ihx->oifx", third, jnp.einsum("hk,ikx->ihx", second, first))


def private_maps(weights: tuple[Any, Any, Any]) -> Any:
    """W3_oi W2_oi W1_oi: the map of each pair's own network."""
    first, second, third = weights
    return third @ (second @ first)


def racing_maps(weights: tuple[Any, Any]) -> Any:
    """A shared pathway and a private one for every pair, added."""
    return shared_maps(weights[0]) + private_maps(weights[1])


def start_of(kind: str, product: Any, domains: int) -> tuple[Any, Any, Any]:
    """b1, b2, b3 with a given product: all equal, or balanced (b2 = √M b1)."""
    return fs.theory.routing.balanced_start(product, domains if kind == "balanced" else 1)


def decoupled(layers: tuple[Any, Any, Any], domains: int) -> tuple[Any, Any, Any]:
    """Weights that hold b1, b2 and b3 on the diagonal of every mode, the same in all domains."""
    left, _, right = modes_of(fs.worlds.routing.HIERARCHY)
    first, second, third = (jnp.asarray(layer, float) for layer in layers)
    return (
        jnp.broadcast_to(first * jnp.asarray(right.T), (domains, MODES, right.shape[0])),
        second * jnp.eye(MODES),
        jnp.broadcast_to(third * jnp.asarray(left), (domains, left.shape[0], MODES)),
    )


def private(product: Any, domains: int) -> tuple[Any, Any, Any]:
    """Decoupled weights of equal size for a network of its own for every pair, stacked (output, input)."""
    first, second, third = decoupled(start_of("equal", product, 1), 1)
    pairs = (domains, domains)
    return (
        jnp.broadcast_to(first, (*pairs, *first.shape[1:])),
        jnp.broadcast_to(second, (*pairs, *second.shape)),
        jnp.broadcast_to(third, (*pairs, *third.shape[1:])),
    )


def random_weights(key: Any, domains: int, hidden: int) -> tuple[Any, Any, Any]:
    """Matrices with orthonormal rows or columns, drawn for each domain by itself."""
    from festina.worlds.orthogonal import orthogonal_factor

    features, items = fs.worlds.routing.HIERARCHY.shape
    shapes = ((domains, hidden, items), (1, hidden, hidden), (domains, features, hidden))
    first, second, third = (
        jax.vmap(orthogonal_factor)(jnp.asarray(fs.draws.normal(child, shape)))
        for child, shape in zip(fs.draws.split(key, 3), shapes, strict=True)
    )
    return first, second[0], third


def stacked(trees: list[Any]) -> Any:
    """Equal trees with a new first axis."""
    return jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(leaf, float) for leaf in leaves]), *trees)


@dataclass(frozen=True)
class Arm:
    """Networks of one shape that learn side by side.

    Attributes:
        weights: of all networks at the start, stacked.
        worlds: one for each network, stacked.
        maps: from the weights of one network to the map of every pair.
    """

    weights: Any
    worlds: Any
    maps: Any = shared_maps

    def total(self, weights: Any) -> Any:
        """The sum of all losses, whose gradient is each network's own."""
        return self.losses(weights).sum()

    def losses(self, weights: Any) -> Any:
        return self._each(lambda world, maps: world.loss(maps), weights)

    def strengths(self, weights: Any) -> Any:
        """Mode strengths on trained pairs, of each network."""
        return self._each(trained_strengths, weights)

    def untrained_errors(self, weights: Any) -> Any:
        return self._each(lambda world, maps: world.untrained_error(maps), weights)

    def _each(self, what: Any, weights: Any) -> Any:
        return jax.vmap(lambda world, weights: what(world, self.maps(weights)))(self.worlds, weights)


def trained_strengths(world: Any, maps: Any) -> Any:
    """u_kᵀ W_oi v_k, averaged over trained pairs."""
    left, _, right = modes_of(fs.worlds.routing.HIERARCHY)
    mean = jnp.einsum("oi,oifx->fx", world.trained, maps) / jnp.sum(world.trained)
    return jnp.einsum("fk,fx,xk->k", jnp.asarray(left), mean, jnp.asarray(right))
