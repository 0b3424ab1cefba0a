"""Worlds for gated networks: samples for several inputs and outputs, each with gates.

Gates belong to the data. A gated linear network sees samples that share all their gates through their second moments
only; two exact and smaller pictures of a data set follow, `GatedDataset.condensed` (to train on) and
`GatedDataset.patterns` (the moments themselves, for theory).
"""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from festina.errors import ArgumentError, require
from festina.precision import is_traced, precise
from festina.worlds.world import as_array, check_finite

Named = dict[str, Any]
NEGLIGIBLE = 1e-15  # singular values below this share of the largest one are rounding


def as_named(values: Any) -> Named:
    """Arrays by name, from any mapping."""
    named = dict(values)
    for name, array in named.items():
        try:
            named[name] = as_array(array)
        except (TypeError, ValueError):
            raise ArgumentError(f"Argument `{name}` must be an array of numbers, but is {array!r}.") from None
    return named


def node_slices(nodes: tuple[tuple[str, int], ...]) -> dict[str, slice]:
    """Where each of some nodes, given with their widths, stands among the columns of all of them."""
    edges = np.cumsum([0, *(width for _, width in nodes)])
    return {name: slice(int(edges[k]), int(edges[k + 1])) for k, (name, _) in enumerate(nodes)}


def _check_outputs(expected: dict[str, int], given: dict[str, int]) -> None:
    require(given == expected, "targets", f"be for the outputs and widths {expected} of the network", given)


class GatedSamples(eqx.Module):
    """Samples with gates as a network sees them: rows, each with a weight in the loss, and a constant part of it.

    Args:
        inputs: by input node, one sample a row.
        targets: by output node, one sample a row.
        gates: by name of a node or of an edge, one number a sample or one a unit; what is not named is on.
        share: the weight of each row in the loss.
        constant: what the loss has whatever the network does.

    Example:
        >>> samples = fs.worlds.logic.by_class(fs.worlds.xor()).samples
        >>> network = fs.networks.Gated.of_maps({"positive": np.zeros((1, 2)), "negative": np.zeros((1, 2))})
        >>> float(samples.loss(network))  # ½⟨y²⟩
        0.5
    """

    inputs: dict[str, Float[Any, "n _"]]
    targets: dict[str, Float[Any, "n _"]]
    gates: dict[str, Float[Any, "n ..."]]
    share: Float[Any, " n"]
    constant: Any = 0.0

    @precise
    def loss(self, network: Any) -> Float[Any, ""]:
        """½ Σ_n share_n Σ_out |y_v − h_v|² + constant."""
        answers = network(self.inputs, self.gates)
        _check_outputs(*({name: part.shape[-1] for name, part in sorted(of.items())} for of in (answers, self.targets)))
        errors = [jnp.sum((self.targets[node] - answers[node]) ** 2, axis=-1) for node in answers]
        return 0.5 * jnp.sum(self.share * sum(errors[1:], start=errors[0])) + self.constant


class Patterns(eqx.Module):
    """The second moments of each gate pattern g, ⟨· 1[g]⟩: all that a gated linear network sees.

    Nodes stand one after the other in the moments, in the order of ``input_nodes`` and ``output_nodes``, which hold
    their names and widths. A pattern's moments carry the pattern's probability. ``rows`` and ``answers`` are pairs with
    these moments, X_gᵀX_g = Σxx(g) and Y_gᵀX_g = Σyx(g), and ``rest`` is what ½⟨|y|²⟩ has beyond ½ Σ_g |Y_g|²: a loss
    is computed from what is left of the answers, since a difference of moments has no digits left once it is small.

    Args:
        gates: of each pattern, by name of a node or of an edge.
        inputs: Σxx(g) of each pattern.
        cross: Σyx(g) of each pattern.
        rows: X_g, filled up with zeros.
        answers: Y_g, filled up with zeros.
        rest: of ½⟨|y|²⟩.
        input_nodes: names and widths of the input nodes.
        output_nodes: names and widths of the output nodes.

    Example:
        >>> patterns = fs.worlds.logic.by_half_plane(fs.worlds.xor()).patterns
        >>> patterns.gates["right"].tolist(), patterns.cross.tolist()  # y is z₂ on the right and −z₂ on the left
        ([1.0, 0.0], [[[0.0, 0.5]], [[0.0, -0.5]]])
    """

    gates: dict[str, Float[Any, "patterns ..."]]
    inputs: Float[Any, "patterns i i"]
    cross: Float[Any, "patterns o i"]
    rows: Float[Any, "patterns n i"]
    answers: Float[Any, "patterns n o"]
    rest: Any
    input_nodes: tuple[tuple[str, int], ...] = eqx.field(static=True)
    output_nodes: tuple[tuple[str, int], ...] = eqx.field(static=True)

    @precise
    def loss(self, network: Any) -> Float[Any, ""]:
        """½ Σ_g |Y_g − X_g W_gᵀ|² + rest = ½⟨|y|²⟩ + Σ_g [½ tr(W_g Σxx(g) W_gᵀ) − tr(W_gᵀ Σyx(g))]."""
        error = self.answers - self.rows @ jnp.swapaxes(self.maps(network), -1, -2)
        return 0.5 * jnp.sum(error**2) + self.rest

    def maps(self, network: Any) -> Float[Array, "patterns o i"]:
        """W_g, the network's linear map in each pattern, by pushing the identity through it."""
        probe = _split(jnp.eye(self.inputs.shape[-1]), self.input_nodes)
        rows = self.inputs.shape[-1]

        def answers(gates: Named) -> Array:
            repeated = {name: jnp.broadcast_to(gate, (rows, *jnp.shape(gate))) for name, gate in gates.items()}
            outputs = network(probe, repeated)
            _check_outputs({name: part.shape[-1] for name, part in sorted(outputs.items())}, dict(self.output_nodes))
            return jnp.concatenate([outputs[name] for name, _ in self.output_nodes], axis=-1).T

        if not self.gates:
            return answers({})[None]
        return jax.vmap(answers)(self.gates)


class GatedDataset(eqx.Module):
    """Samples for the input and output nodes of a gated network, and the gates on each sample.

    Args:
        inputs: by input node, one sample a row.
        targets: by output node, one sample a row.
        gates: by name of a node or of an edge (``"x->h"``), one number a sample or, for a node, one a unit; what is not
            named is on.
        probabilities: of the samples; all alike unless given.

    Example:
        >>> gates = {"first": [1, 1, 0], "second": [0, 0, 1]}
        >>> world = fs.worlds.GatedDataset({"x": np.eye(3)}, {"y": [[1.0], [2.0], [3.0]]}, gates)
        >>> world.count, world.pattern.tolist()
        (3, [1, 1, 0])
        >>> world.patterns.cross.shape  # one moment ⟨y xᵀ⟩ for each pattern of gates
        (2, 1, 3)
    """

    inputs: dict[str, Float[Any, "n _"]] = eqx.field(converter=as_named)
    targets: dict[str, Float[Any, "n _"]] = eqx.field(converter=as_named)
    gates: dict[str, Float[Any, "n ..."]] = eqx.field(converter=as_named, default_factory=dict)
    probabilities: Float[Any, " n"] | None = eqx.field(
        converter=lambda values: None if values is None else as_array(values), default=None
    )

    def __check_init__(self) -> None:
        for kind, arrays in (("inputs", self.inputs), ("targets", self.targets)):
            require(len(arrays) >= 1, kind, "hold at least one node", sorted(arrays))
            for name, values in arrays.items():
                fits = values.ndim == 2 and min(values.shape) >= 1
                require(fits, f"{kind}[{name!r}]", "have one sample a row, at least one", f"of shape {values.shape}")
        for kind, arrays in (("inputs", self.inputs), ("targets", self.targets), ("gates", self.gates)):
            for name, values in arrays.items():
                fits = values.ndim in (1, 2) and values.shape[0] == self.count
                require(fits, f"{kind}[{name!r}]", f"have {self.count} rows, one a sample", f"of shape {values.shape}")
                check_finite(f"{kind}[{name!r}]", values)
        if self.probabilities is not None and not is_traced(self.probabilities):
            chances = np.asarray(self.probabilities)
            sound = chances.shape == (self.count,) and chances.min() >= 0 and abs(chances.sum() - 1) < 1e-9
            require(sound, "probabilities", f"be {self.count} numbers from 0 on that sum to 1", self.probabilities)

    @property
    def count(self) -> int:
        return next(iter(self.inputs.values())).shape[0]

    @property
    def share(self) -> Float[Any, " n"]:
        """The weight of each sample in the loss."""
        example = next(iter(self.inputs.values()))
        if self.probabilities is not None:
            return self.probabilities
        return np.full((self.count,), 1.0 / self.count, dtype=example.dtype)

    @property
    def samples(self) -> GatedSamples:
        """The samples as they are."""
        return GatedSamples(self.inputs, self.targets, self.gates, self.share)

    def draw(self, key: Array, batch: int) -> GatedSamples:
        """``batch`` samples, drawn with replacement."""
        rows = jax.random.choice(key, self.count, (batch,), p=jnp.asarray(self.share))
        inputs, targets, gates = (
            {name: jnp.asarray(values)[rows] for name, values in part.items()}
            for part in (self.inputs, self.targets, self.gates)
        )
        return GatedSamples(inputs, targets, gates, jnp.full_like(jnp.asarray(self.share), 1.0 / batch, shape=batch))

    @property
    def pattern(self) -> np.ndarray:
        """Which pattern of gates each sample has, numbered from 0."""
        require(not is_traced(self.gates), "gates", "be known for patterns to be found", "traced by JAX")
        columns = [np.reshape(self.gates[name], (self.count, -1)) for name in sorted(self.gates)]
        together = np.concatenate([np.zeros((self.count, 1)), *columns], axis=1)
        return np.unique(together, axis=0, return_inverse=True)[1].reshape(-1)

    @property
    def condensed(self) -> GatedSamples:
        """An exact picture with at most as many rows a pattern as inputs have units, and never more than samples.

        Rotating samples that share all their gates changes neither loss nor gradient. With √share · X = U S Vᵀ within
        a pattern, the rows S Vᵀ with the targets Uᵀ √share · Y say all; what is left of the targets is a constant.
        Where no pattern repeats, these are the samples themselves.
        """
        members, turned = self._turned
        first = np.concatenate([np.full(len(one.inputs), rows[0]) for rows, one in zip(members, turned, strict=True)])
        return GatedSamples(
            _split(np.concatenate([one.inputs for one in turned]), _widths(self.inputs)),
            _split(np.concatenate([one.targets for one in turned]), _widths(self.targets)),
            {name: np.asarray(gate)[first] for name, gate in self.gates.items()},
            np.ones(len(first)),
            np.asarray(sum(one.rest for one in turned)),
        )

    @property
    def patterns(self) -> Patterns:
        """The moments of each gate pattern."""
        members, turned = self._turned
        first, pattern = [rows[0] for rows in members], self.pattern
        member = np.eye(len(members))[pattern] * np.asarray(self.share)[:, None]
        inputs, targets = _joined(self.inputs), _joined(self.targets)
        most = max(len(one.inputs) for one in turned)
        rows, answers = (
            np.stack([np.pad(part, ((0, most - len(part)), (0, 0))) for part in parts])
            for parts in ([one.inputs for one in turned], [one.targets for one in turned])
        )
        return Patterns(
            {name: np.asarray(gate)[first] for name, gate in self.gates.items()},
            # from the samples themselves, whose zeros stay zeros
            np.einsum("ng,na,nb->gab", member, inputs, inputs, optimize=True),
            np.einsum("ng,na,nb->gab", member, targets, inputs, optimize=True),
            rows,
            answers,
            np.asarray(sum(one.rest for one in turned)),
            _widths(self.inputs),
            _widths(self.targets),
        )

    @property
    def _turned(self) -> tuple[list[np.ndarray], list["_Turned"]]:
        """The numbers of the samples of each pattern, and these samples rotated."""
        root = np.sqrt(np.asarray(self.share))[:, None]
        inputs, targets = root * _joined(self.inputs), root * _joined(self.targets)
        pattern = self.pattern
        members = np.split(np.argsort(pattern, kind="stable"), np.cumsum(np.bincount(pattern))[:-1])
        return members, [_turned(inputs[rows], targets[rows]) for rows in members]


class _Turned(NamedTuple):
    """The samples of one pattern in as few rows as their inputs have dimensions, and what is left of the loss."""

    inputs: np.ndarray
    targets: np.ndarray
    rest: float


def _turned(inputs: np.ndarray, targets: np.ndarray) -> _Turned:
    """The samples of one pattern, rotated; what no map explains of the targets is what their projection leaves."""
    if len(inputs) == 1:
        return _Turned(inputs, targets, 0.0)
    left, sizes, right = np.linalg.svd(inputs, full_matrices=False)
    kept = sizes > NEGLIGIBLE * max(sizes[0], np.finfo(float).tiny)
    answers = left[:, kept].T @ targets
    return _Turned(
        sizes[kept, None] * right[kept], answers, 0.5 * float(np.sum((targets - left[:, kept] @ answers) ** 2))
    )


def _widths(arrays: Named) -> tuple[tuple[str, int], ...]:
    return tuple((name, arrays[name].shape[1]) for name in sorted(arrays))


def _joined(arrays: Named) -> np.ndarray:
    """The columns of all nodes beside each other, in the order of their names."""
    return np.concatenate([np.asarray(arrays[name]) for name in sorted(arrays)], axis=1)


def _split(rows: Any, nodes: tuple[tuple[str, int], ...]) -> Named:
    """Columns back to the nodes they belong to."""
    return {name: rows[:, place] for name, place in node_slices(nodes).items()}
