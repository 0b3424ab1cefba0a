"""Gated deep linear networks on any acyclic graph.

With gates g per sample, which are part of the data, h_v = g_v x_v at the inputs and elsewhere

    h_v = g_v Σ_{e → v} g_e W_e h_{s(e)}.

Whatever is on is linear: a network of this kind computes nonlinear functions and keeps the mathematics of linear ones.
A gate may be one number for a node or one for each of its units, so that a layer of rectified units is one node.

Source: A. M. Saxe, S. Sodhani, S. Lewallen, "The neural race reduction: dynamics of abstraction in gated networks"
(2022).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, overload

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from festina import draws
from festina.errors import UnknownName, require
from festina.networks.ensemble import Ensemble
from festina.networks.graph import Graph, Group, edge_name
from festina.precision import double, is_traced, precise, to_numpy
from festina.worlds.gated import node_slices
from festina.worlds.world import as_array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Named = Mapping[str, Any]


class Gated(eqx.Module):
    """A gated deep linear network; ``blocks`` holds one matrix for each of ``graph.groups``.

    Nodes of one level that share their sources are one matrix product, so that cost and compile time grow with the
    number of levels, not with that of edges or paths.

    Args:
        blocks: of shape (width of the group's targets, width of its sources); make them with :meth:`init`, :meth:`of`
            or :meth:`of_maps`.
        graph: the architecture.

    Example:
        >>> network = fs.networks.Gated.of_maps({"left": [[1.0, 0.0]], "right": [[0.0, 1.0]]})
        >>> gates = {"left": np.array(1.0), "right": np.array(0.0)}
        >>> network({"x": np.array([2.0, 3.0])}, gates)["y"].tolist()
        [2.0]
        >>> sorted(network.weights)
        ['left->y', 'right->y', 'x->left', 'x->right']
    """

    blocks: tuple[Float[Any, "_ _"], ...]
    graph: Graph = eqx.field(static=True)

    def __check_init__(self) -> None:
        shapes = [(self.graph.width(group.targets), self.graph.width(group.sources)) for group in self.graph.groups]
        given = [tuple(np.shape(block)[-2:]) for block in self.blocks]
        require(given == shapes, "blocks", f"have the shapes {shapes} of the graph's groups", given)

    @precise
    def __call__(self, inputs: Named, gates: Named | None = None) -> dict[str, Float[Any, "*batch _"]]:
        """What the output nodes answer, by name.

        Args:
            inputs: the input of each input node, a vector or a stack of them with the units last.
            gates: by name of a node or edge (``"x->h"``), one number a sample or, for nodes, one a unit; what is not
                named is on.
        """
        activity = self.activity(inputs, gates)
        return {node: activity[node] for node in self.graph.outputs}

    @precise
    def activity(self, inputs: Named, gates: Named | None = None) -> dict[str, Float[Any, "*batch _"]]:
        """h_v of every node."""
        inputs, gates = self._checked(inputs, {} if gates is None else gates)
        activity = {node: _gate(inputs[node], gates.get(node)) for node in self.graph.inputs}
        for block, group in zip(self.blocks, self.graph.groups, strict=True):
            answers = self._propagate(block, group, activity, gates)
            activity |= {node: _gate(answers[node], gates.get(node)) for node in group.targets}
        return activity

    def _propagate(self, block: Any, group: Group, activity: Named, gates: Named) -> dict[str, Any]:
        """Σ_e g_e W_e h_s for the nodes of a group: one product, or one for each node some edge of which has a gate."""
        rows = self._slices(group.targets)
        free = [node for node in group.targets if not any(edge_name(s, node) in gates for s in group.sources)]
        answers = {}
        if free:
            together = jnp.concatenate([activity[source] for source in group.sources], axis=-1)
            whole = len(free) == len(group.targets)
            chosen = block if whole else jnp.concatenate([block[rows[node]] for node in free])
            answer = together @ chosen.T
            columns = self._slices(free)
            answers = {node: answer[..., columns[node]] for node in free}
        for node in group.targets:
            if node not in answers:
                arriving = [_gate(activity[s], gates.get(edge_name(s, node))) for s in group.sources]
                answers[node] = jnp.concatenate(arriving, axis=-1) @ block[rows[node]].T
        return answers

    def _slices(self, nodes: Any) -> dict[str, slice]:
        return node_slices(tuple((node, self.graph.widths[node]) for node in nodes))

    def _checked(self, inputs: Named, gates: Named) -> tuple[dict[str, Any], dict[str, Any]]:
        """Inputs and gates as arrays, with the names and shapes the graph asks for."""
        for name in inputs:
            if name not in self.graph.inputs:
                raise UnknownName("input node", name, self.graph.inputs)
        for name in gates:
            if name not in self.graph.names:
                raise UnknownName("gate", name, self.graph.names)
        for node in self.graph.inputs:
            require(node in inputs, "inputs", f"hold the input of node {node!r}", sorted(inputs))
        shown, on = ({name: as_array(part) for name, part in parts.items()} for parts in (inputs, gates))
        batch = shown[self.graph.inputs[0]].shape[:-1]
        for node, values in shown.items():
            shape = (*batch, self.graph.widths[node])
            require(values.shape == shape, f"inputs[{node!r}]", f"be of shape {shape}", values.shape)
        for name, gate in on.items():
            allowed = {batch, (*batch, self.graph.widths[name])} if name in self.graph.widths else {batch}
            listed = " or ".join(map(str, sorted(allowed, key=len)))
            require(gate.shape in allowed, f"gates[{name!r}]", f"be of shape {listed}", gate.shape)
        return shown, on

    @property
    def weights(self) -> dict[str, Float[Any, "_ _"]]:
        """W_e by the name of the edge."""
        found = {}
        for block, group in zip(self.blocks, self.graph.groups, strict=True):
            rows, columns = self._slices(group.targets), self._slices(group.sources)
            for target in group.targets:
                found |= {edge_name(s, target): block[rows[target], columns[s]] for s in group.sources}
        return {edge_name(*edge): found[edge_name(*edge)] for edge in self.graph.edges}

    @classmethod
    def of(cls, graph: Graph, weights: Named) -> "Gated":
        """A network from the weights of its edges, W_e of shape (width of target, width of source)."""
        edges = [edge_name(*edge) for edge in graph.edges]
        for name in weights:
            if name not in edges:
                raise UnknownName("edge", name, edges)
        for source, target in graph.edges:
            name, shape = edge_name(source, target), (graph.widths[target], graph.widths[source])
            require(name in weights, "weights", f"hold a matrix for the edge {name}", sorted(weights))
            require(np.shape(weights[name]) == shape, f"weights[{name!r}]", f"be {shape}", np.shape(weights[name]))
        stack = jnp if is_traced(weights) else np
        return cls(
            tuple(
                stack.concatenate(
                    [
                        stack.concatenate([weights[edge_name(s, t)] for s in group.sources], axis=1)
                        for t in group.targets
                    ]
                )
                for group in graph.groups
            ),
            graph,
        )

    @classmethod
    def of_maps(cls, maps: Named) -> "Gated":
        """Pathways x -> name -> y in parallel, one for each map W_p, balanced: W_p = (U√S)(√S Vᵀ)."""
        require(len(maps) >= 1, "maps", "name at least one pathway", maps)
        outputs, inputs = np.shape(next(iter(maps.values())))
        weights, widths = {}, {"x": inputs, "y": outputs}
        for name, mapping in maps.items():
            require(np.shape(mapping) == (outputs, inputs), f"maps[{name!r}]", f"be {(outputs, inputs)}", mapping)
            left, sizes, right = np.linalg.svd(np.asarray(mapping, float), full_matrices=False)
            root = np.sqrt(sizes)
            weights |= {edge_name("x", name): root[:, None] * right, edge_name(name, "y"): left * root[None]}
            widths[name] = len(sizes)
        edges = tuple(edge for name in maps for edge in (("x", name), (name, "y")))
        return cls.of(Graph(tuple(widths.items()), edges, ("y",)), weights)

    @overload
    @classmethod
    def init(cls, key: Array, graph: Graph, scale: Any = 1e-2, *, seeds: None = None) -> "Gated": ...

    @overload
    @classmethod
    def init(cls, key: Array, graph: Graph, scale: Any = 1e-2, *, seeds: int) -> Ensemble: ...

    @classmethod
    def init(cls, key: Array, graph: Graph, scale: Any = 1e-2, *, seeds: int | None = None) -> "Gated | Ensemble":
        """Independent normal weights with standard deviation ``scale``/√(width of the edge's source).

        Args:
            key: of all random numbers.
            graph: the architecture.
            scale: standard deviation of the weights times √(width of the edge's source).
            seeds: how many networks to draw, as one `Ensemble`; unless given, one network by itself.

        Example:
            >>> import jax
            >>> import festina as fs
            >>> graph = fs.networks.Graph.of("x -> h -> y", widths={"x": 3, "h": 6, "y": 2})
            >>> len(Gated.init(jax.random.key(0), graph, seeds=2))
            2
        """
        if seeds is not None:
            return Ensemble.draw(lambda each: cls.init(each, graph, scale), key, seeds)
        spread = {node: 1.0 / width**0.5 for node, width in graph.nodes}

        def block(number: int, group: Group) -> Any:
            shape = (graph.width(group.targets), graph.width(group.sources))
            columns = np.concatenate([np.full(graph.widths[s], spread[s]) for s in group.sources])
            return scale * columns[None] * draws.normal(draws.fold_in(key, number), shape, jnp.zeros(()).dtype)

        if is_traced((key, scale)):
            return cls(tuple(jnp.asarray(block(*pair)) for pair in enumerate(graph.groups)), graph)
        require(bool(np.isfinite(scale)), "scale", "be finite", scale)
        with double():
            return cls(tuple(to_numpy(np.asarray(block(*pair))) for pair in enumerate(graph.groups)), graph)

    @classmethod
    def decoupled(cls, graph: Graph, strengths: Named, bases: Named) -> "Gated":
        """W_e = R_t diag(B_e) R_sᵀ for every edge: the initial weights that the race reduction asks for.

        Args:
            graph: the architecture.
            strengths: B_e, one number a mode, by the name of the edge.
            bases: R_v by the name of the node, (width, modes) with orthonormal columns. Hidden nodes may be left out:
                the first units then carry one mode each.
        """
        for edge in graph.edges:
            require(edge_name(*edge) in strengths, "strengths", f"hold B of {edge_name(*edge)}", sorted(strengths))
        strengths, bases = ({name: as_array(part) for name, part in parts.items()} for parts in (strengths, bases))
        modes = len(next(iter(strengths.values())))

        def basis(node: str) -> Any:
            hidden = node not in graph.inputs and node not in graph.outputs
            require(node in bases or hidden, "bases", f"hold a basis for {node!r}", sorted(bases))
            if node not in bases:
                require(graph.widths[node] >= modes, "strengths", f"have at most {graph.widths[node]} modes", modes)
            return bases.get(node, np.eye(graph.widths[node], modes))

        return cls.of(
            graph,
            {edge_name(s, t): (basis(t) * strengths[edge_name(s, t)][None]) @ basis(s).T for s, t in graph.edges},
        )

    def draw(self, gates: Named | None = None) -> "Figure":
        """The graph, with the strength of its weights and, below each node and on each edge, its gates."""
        from festina.networks.drawing import draw

        return draw(self, {} if gates is None else gates)


def _gate(values: Any, gate: Any) -> Any:
    """Values times a gate that is one number a sample, or one a unit."""
    if gate is None:
        return values
    return values * (gate[..., None] if jnp.ndim(gate) == jnp.ndim(values) - 1 else gate)
