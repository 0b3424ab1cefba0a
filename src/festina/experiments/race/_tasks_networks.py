"""The worlds and networks of `race/tasks`, and their reduction."""

from typing import Any

import festina as fs
from festina._lazy import jax, jnp


def cosine_at(count: Any, mean: Any) -> Any:
    """ρ of C unit targets whose mean has the norm |ȳ|: (C|ȳ|² − 1)/(C − 1)."""
    return (count * mean**2 - 1.0) / (count - 1.0)


def pathway_maps(network: Any) -> Any:
    """m_p = W₂(p) W₁(p) of every pathway from the one input, pathways before outputs."""
    first, second = network.blocks
    pathways = first.shape[0] // network.graph.nodes[1][1]
    return jnp.einsum("oph,ph->po", second.reshape(second.shape[0], pathways, -1), first.reshape(pathways, -1))


def _graph(config: Any, count: int) -> Any:
    hidden = ["shared", *(f"task{number}" for number in range(1, count + 1))]
    widths: dict[str, int] = {"x": 1, "y": count, **dict.fromkeys(hidden, int(config.width))}
    return fs.networks.Graph.of(f"x -> {', '.join(hidden)} -> y", widths=widths)


def networks_of(config: Any, count: int, key: Any) -> Any:
    """One drawn network at every scale, once for each cosine: leaves (initial, mean target, …).

    W₁ ~ N(0, σ²) and W₂ ~ N(0, σ²/H) give a pathway the strength |(W₂ᵀu + W₁)/2|² = σ²(H + 1)/4, on average.
    """
    unit = fs.networks.Gated.init(fs.draws.fold_in(key, count), _graph(config, count), 1.0)
    scale = jnp.sqrt(4.0 * jnp.asarray(config.initial) / (config.width + 1.0))
    return jax.tree.map(
        lambda leaf: scale[:, None, None, None] * jnp.broadcast_to(leaf, (1, config.points, *leaf.shape)), unit
    )


def worlds_of(config: Any, count: int) -> Any:
    """The tasks of every cosine, the same for every start: leaves (initial, mean target, …)."""
    cosines = cosine_at(float(count), jnp.linspace(0.0, 1.0, config.points))
    worlds = jax.vmap(lambda cosine: fs.worlds.similar_tasks(count, cosine))(cosines)
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (len(config.initial), *leaf.shape)), worlds)


def each(function: Any) -> Any:
    return jax.vmap(jax.vmap(function))


def loss_of(network: Any, world: Any) -> Any:
    return world.dataset.samples.loss(network)


def padded_strengths(config: Any, maps: list[Any]) -> Any:
    """Norms of maps (…, initial, mean target, path, output), one for each C, as (…, C, initial, mean target, path)."""
    norms = [jnp.linalg.norm(jnp.asarray(found), axis=-1) for found in maps]
    most = max(config.tasks) + 1
    filled = [jnp.pad(norm, [(0, 0)] * (norm.ndim - 1) + [(0, most - norm.shape[-1])]) for norm in norms]
    return jnp.stack(filled, axis=-4)


def reduction_of(config: Any, count: int, key: Any) -> tuple[Any, Any]:
    """Targets (mean target, task, output), and the reduction from the weights of each pathway that grow."""
    from festina.precision import to_numpy

    prepared = jax.jit(_prepared, static_argnums=(0, 1))(config, count, key)
    targets, cross, growing = to_numpy(prepared)
    return targets, fs.theory.views.vector_race(cross, fs.worlds.similar_tasks(count, 0.0).overlaps, growing)


def _prepared(config: Any, count: int, key: Any) -> tuple[Any, Any, Any]:
    """Targets, Σyx of every pathway and the strength of its weights that grow."""
    worlds, networks = worlds_of(config, count), networks_of(config, count, key)
    return worlds.targets[0], each(_cross)(worlds), each(_growing)(networks, worlds)


def _cross(world: Any) -> Any:
    return world.cross


def _growing(network: Any, world: Any) -> Any:
    """|(W₂ᵀu + W₁)/2|² of every pathway along u, the direction of its Σyx."""
    first, second = network.blocks
    cross, size = world.cross, world.strengths[:, None]
    along = cross / jnp.where(size > 0, size, 1.0)
    first = first.reshape(cross.shape[0], -1)
    return jnp.sum(((jnp.einsum("oph,po->ph", second.reshape(-1, *first.shape), along) + first) / 2) ** 2, axis=1)
