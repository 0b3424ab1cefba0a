"""The worlds and networks of `race/views`."""

from typing import Any

import festina as fs
from festina._lazy import jax, jnp, np

SMALL = 1e-2  # scale of the slots' networks at t = 0


def gated_worlds(config: Any) -> Any:
    """Views that co-occur with each of the probabilities: one world with leaves (together, …)."""
    return jax.vmap(lambda together: fs.worlds.co_occurring_views(config.views, together))(jnp.asarray(config.together))


def starts(config: Any, key: Any) -> Any:
    """π_m(0), log-normal around each initial strength; one draw for all depths and starts: (initial, view)."""
    drawn = fs.draws.normal(fs.draws.fold_in(key, 0), (config.views,))
    return jnp.asarray(config.initial)[:, None] * jnp.exp(config.spread * jnp.asarray(drawn))[None]


def gated_networks(config: Any, depth: int, key: Any) -> Any:
    """Decoupled networks with a pathway of ``depth`` layers from each view to `y`: leaves (together, initial, …)."""
    graph = _graph(config, depth, dict.fromkeys(range(config.views), "y"))
    networks = jax.vmap(lambda initial: _decoupled(config, graph, depth, key, initial))(starts(config, key))
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (len(config.together), *leaf.shape)), networks)


def separate_network(config: Any, key: Any) -> Any:
    """A decoupled network with a pathway of two layers from each slot to an answer of its own."""
    graph = _graph(config, 2, {view: f"answer{view + 1}" for view in range(config.views)})
    return _decoupled(config, graph, 2, key, starts(config, key)[0])


def slots(config: Any) -> Any:
    """As many slots as views, with amplitudes from 1 down to the weakest."""
    return fs.worlds.separate_slots(config.views, jnp.linspace(1.0, config.weakest, config.views))


def slot_networks(config: Any, key: Any) -> list[Any]:
    """Small random linear networks from all slots to all answers through 1, 2, …, V hidden units."""
    keys = fs.draws.split(fs.draws.fold_in(key, 1), config.views)
    sizes = [(config.views, width, config.views) for width in range(1, config.views + 1)]
    return [fs.networks.DeepLinear.init(one, size, SMALL) for one, size in zip(keys, sizes, strict=True)]


def _graph(config: Any, depth: int, answers: dict[int, str]) -> Any:
    """A pathway of its own from each view to the node that answers it."""
    names = fs.worlds.views.view_names(config.views)
    hidden = [[_hidden(view, layer) for layer in range(depth - 1)] for view in range(config.views)]
    routes = [" -> ".join([names[view], *hidden[view], answers[view]]) for view in range(config.views)]
    widths: dict[str, int] = dict.fromkeys([*names, *answers.values()], 1)
    widths |= {node: int(config.width) for layers in hidden for node in layers}
    return fs.networks.Graph.of(*routes, widths=widths)


def _decoupled(config: Any, graph: Any, depth: int, key: Any, initial: Any) -> Any:
    """Every layer of a pathway of strength π is π^(1/L) along a random direction of its hidden units."""
    drawn = jnp.asarray(fs.draws.normal(fs.draws.fold_in(key, depth), (config.views, depth - 1, config.width)))
    directions = drawn / jnp.linalg.norm(drawn, axis=-1, keepdims=True)
    bases: dict[str, Any] = {node: np.ones((1, 1)) for node in (*graph.inputs, *graph.outputs)}
    for view in range(config.views):
        bases |= {_hidden(view, layer): directions[view, layer][:, None] for layer in range(depth - 1)}
    weight = initial ** (1.0 / depth)
    edges = {f"{source}->{target}": weight[_view_of(source), None] for source, target in graph.edges}
    return fs.networks.Gated.decoupled(graph, edges, bases)


def _hidden(view: int, layer: int) -> str:
    return f"view{view + 1}.{layer + 1}"


def _view_of(node: str) -> int:
    return int(node.removeprefix("view").split(".")[0]) - 1
