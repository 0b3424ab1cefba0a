"""A sampler for one hidden layer that changes a neuron as a whole, with all readouts integrated out.

Hamiltonian Monte Carlo moves all weights a little, and a cold network's neurons then keep their code: to leave it, many
weights would have to change at once against a barrier. Here readouts are integrated out, which is exact as they are
Gaussian given the features (`festina.learning.evidence`), neurons are changed one after the other by *moves*, each of
which keeps their law, and readouts are drawn back. Nothing is adapted, and no gradient is computed.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from festina import draws
from festina.errors import require
from festina.learning.evidence import Evidence, drawn_readouts
from festina.learning.mode_law import ModeLaw
from festina.learning.neuron_law import NeuronLaw, chosen
from festina.learning.samplers import Energy, Transition
from festina.networks.bayesian import NON_LAZY, Bayesian, Nonlinearity
from festina.precision import is_traced

ORTHONORMAL = 1e-9  # largest difference of XXᵀ from the identity


class Layer(NamedTuple):
    """Neurons as moves see them, one a row, and the evidence of their features.

    Attributes:
        places: coordinates v of their weights, standard normal a priori, of which z = vRᵀ at the training inputs.
        features: φ(z).
        evidence: of all features together.
    """

    places: Float[Any, "n r"]
    features: Float[Any, "n p"]
    evidence: Evidence


@runtime_checkable
class Move(Protocol):
    """Something that keeps the law of the layer: ``move(key, layer, collapsed)`` gives it and how much was accepted."""

    def __call__(self, key: Array, layer: Layer, collapsed: "Collapsed") -> tuple[Layer, Float[Array, ""]]: ...


@dataclass(frozen=True, eq=False)
class Redraw:
    """Every neuron in turn may be replaced by one drawn from a law of single neurons, whatever that law is.

    The law q follows what the other neurons leave to explain, and so is the same before and after. A proposal z' is
    accepted with probability min(1, e^Δ), Δ = log p(Y|Φ') − log p(Y|Φ) + log w(z') − log w(z), w = N(z|0, I)/q(z): the
    posterior stays as it is for any q. The nearer q is to the law of the neuron in its network, the more are accepted;
    `fs.theory.coding.neuron_law` has that of infinitely many neurons.

    Attributes:
        law: q.

    Example:
        >>> prior = fs.learning.NeuronLaw(np.zeros((1, 1)), np.ones(1), np.zeros((1, 1)), (0, 0, 0))  # no field at all
        >>> fs.learning.Redraw(prior).law.labels
        (0, 0, 0)
    """

    law: NeuronLaw | ModeLaw

    def __call__(self, key: Array, layer: Layer, collapsed: "Collapsed") -> tuple[Layer, Float[Array, ""]]:
        for_points, for_places, for_choice = draws.split(key, 3)
        count, tables, span = len(layer.features), self.law.tables, collapsed.span
        random = (
            jnp.asarray(draws.uniform(for_points, (count,))),
            jnp.asarray(draws.normal(for_places, layer.places.shape)),
            jnp.log(jnp.asarray(draws.uniform(for_choice, (count,)))),
        )

        def one(evidence: Evidence, neuron: Any) -> tuple[Evidence, Any]:
            place, old, point, normal, chance = neuron
            pulled = evidence.inverse @ old
            among = tables.among(evidence.without(old, pulled))
            proposed = among.place(chosen(among.log_weights, point), normal)
            z = span.preactivations(jnp.stack([place, proposed]))
            new = collapsed.nonlinearity(z[1])
            change = evidence.change(old, new, pulled)
            before, after = among.log_ratio(place, z[0], old), among.log_ratio(proposed, z[1], new)
            log_ratio = change.log_ratio + before - after
            accepted = chance < log_ratio
            moved = jnp.where(accepted, proposed, place), jnp.where(accepted, new, old)
            return evidence.after(change, accepted.astype(float)), (*moved, jnp.exp(jnp.minimum(log_ratio, 0.0)))

        evidence, (places, features, rates) = jax.lax.scan(one, layer.evidence, (layer.places, layer.features, *random))
        return Layer(places, features, evidence), jnp.mean(rates)


@dataclass(frozen=True, eq=False)
class Collapsed:
    """The collapsed sampler of a `Bayesian` network with one hidden layer, non-lazy, at one temperature.

    It has the data itself, and asks neither for a step nor for an energy: those of `transition` are not used.
    ``acceptance`` of a draw is the mean over neurons and sweeps of the first move.

    Attributes:
        network: its nonlinearity, its prior and its sizes; the weights that it has do not matter.
        inputs: X, one example a row.
        targets: Y, one example a row.
        temperature: T.
        moves: what a sweep consists of, one after the other.
        sweeps: of a draw.

    Example:
        >>> network = fs.networks.Bayesian.init(jax.random.key(0), (3, 20, 1), readout_variance=1 / 3)
        >>> inputs, targets = np.eye(3), np.array([[1.0], [1.0], [-1.0]])
        >>> readouts, residual = np.array([[3.0], [-3.0], [0.0]]), np.array([[1.0], [-1.0]])  # of two classes
        >>> moves = (fs.learning.Redraw(fs.learning.NeuronLaw(readouts, np.ones(3), residual, labels=(0, 0, 1))),)
        >>> method = fs.learning.Collapsed(network, inputs, targets, 0.1, moves)
        >>> posterior = fs.sample(network, (inputs, targets), temperature=0.1, method=method, draws=200, warm_up=20)
        >>> bool(posterior.r_hats["answer"].max() < 1.05)
        True
    """

    network: Bayesian
    inputs: Float[Any, "p d"]
    targets: Float[Any, "p m"]
    temperature: Any
    moves: tuple[Move, ...]
    sweeps: int = 1
    first_step: float = field(default=1.0, repr=False)
    target: float = field(default=0.5, repr=False)

    def __post_init__(self) -> None:
        network = self.network
        require(isinstance(network, Bayesian), "network", "be a `Bayesian` network", type(network).__name__)
        require(network.depth == 1, "network", "have one hidden layer for a collapsed sampler", network.depth)
        lazy = network.scaling != NON_LAZY
        require(not lazy, "network", "be non-lazy for a collapsed sampler", network.scaling.name)
        require(len(self.moves) > 0, "moves", "have one move at least", self.moves)
        require(self.sweeps >= 1, "sweeps", "be at least 1", self.sweeps)
        inputs, outputs = network.weights[0].shape[-1], network.readout.shape[-2]
        fits = np.ndim(self.inputs) == 2 and np.shape(self.inputs)[1] == inputs
        require(fits, "inputs", f"have {inputs} columns, as the network has inputs", np.shape(self.inputs))
        shape = (np.shape(self.inputs)[0], outputs)
        require(np.shape(self.targets) == shape, "targets", f"be of shape {shape}", np.shape(self.targets))
        if not is_traced(self.temperature):
            require(self.temperature > 0, "temperature", "be positive", self.temperature)
        for move in self.moves:
            if isinstance(move, Redraw):
                move.law.check(self.span.coordinates, outputs, self.nonlinearity)

    @property
    def nonlinearity(self) -> Nonlinearity:
        return self.network.nonlinearity

    @property
    def span(self) -> "Span":
        """Coordinates of the space that the inputs span."""
        return Span.of(np.asarray(self.inputs))

    def transition(self, key: Array, parameters: Any, step: Any, energy: Energy) -> Transition:
        """All sweeps, and new readouts; weights in directions that no input has are drawn from the prior."""
        (weights, _), tree = jax.tree.flatten(parameters)
        for_moves, for_idle, for_readouts = draws.split(key, 3)
        span, variance = self.span, jnp.asarray(self.network.readout_variance, float)
        data = jnp.asarray(self.targets), jnp.asarray(self.temperature, float), variance

        def sweep(places: Any, sweep: Any) -> Any:
            features = self.nonlinearity(span.preactivations(places))
            layer, rates = Layer(places, features, Evidence.of(features, *data)), []
            for number, move in enumerate(self.moves):
                layer, rate = move(draws.fold_in(for_moves, sweep * len(self.moves) + number), layer, self)
                rates.append(rate)
            return layer.places, rates[0]

        places, rates = jax.lax.scan(sweep, weights @ span.basis.T, jnp.arange(self.sweeps))
        readouts = drawn_readouts(for_readouts, self.nonlinearity(span.preactivations(places)), *data)
        moved = span.weights(for_idle, places), (readouts / jnp.sqrt(variance)).T
        return Transition(jax.tree.unflatten(tree, moved), jnp.mean(rates), jnp.zeros((), int))

    def check(self, network: Any, examples: Any, temperature: float, prior: Any) -> None:
        """Refuse to draw anything but what it was made for.

        Args:
            network: whose weights are drawn.
            examples: the world's, with inputs and targets.
            temperature: T.
            prior: σ of all weights.
        """
        ours = self.network
        alike = (
            isinstance(network, Bayesian)
            and network.nonlinearity == ours.nonlinearity
            and network.scaling == ours.scaling
            and jax.tree.map(np.shape, network.whitened) == jax.tree.map(np.shape, ours.whitened)
            and network.readout_variance == ours.readout_variance
        )
        require(alike, "method", "be made for this network", "made for another one")
        given = ((self.inputs, examples.inputs), (self.targets, examples.targets))
        same = all(np.array_equal(np.asarray(one, float), np.asarray(other, float)) for one, other in given)
        require(same, "method", "be made for these examples", "made for others")
        require(self.temperature == temperature, "temperature", f"be the method's, {self.temperature}", temperature)
        require(np.ndim(prior) == 0 and prior == 1.0, "prior", "be 1 for a collapsed sampler", prior)


class Span(NamedTuple):
    """The space that inputs X = R B span: B is an orthonormal basis of it, and R their coordinates there.

    Attributes:
        basis: B, one direction a row.
        coordinates: R, one input a row.
        orthonormal: whether inputs are the basis themselves, R = I.
    """

    basis: Float[np.ndarray, "r d"]
    coordinates: Float[np.ndarray, "p r"]
    orthonormal: bool

    @classmethod
    def of(cls, inputs: Float[np.ndarray, "p d"]) -> "Span":
        examples = len(inputs)
        if examples <= inputs.shape[1] and np.abs(inputs @ inputs.T - np.eye(examples)).max() < ORTHONORMAL:
            return cls(inputs, np.eye(examples), True)
        _, sizes, directions = np.linalg.svd(inputs, full_matrices=False)
        basis = directions[sizes > ORTHONORMAL * sizes.max()]
        return cls(basis, inputs @ basis.T, False)

    def preactivations(self, places: Float[Any, "n r"]) -> Float[Any, "n p"]:
        """z = vRᵀ."""
        return places if self.orthonormal else places @ self.coordinates.T

    def weights(self, key: Array, places: Float[Any, "n r"]) -> Float[Any, "n d"]:
        """W with these coordinates, drawn from the prior in all directions that no input has."""
        rank, inputs = self.basis.shape
        if rank == inputs:
            return places @ self.basis
        idle = jnp.asarray(draws.normal(key, (len(places), inputs)))
        return places @ self.basis + idle - (idle @ self.basis.T) @ self.basis
