"""Moves of a collapsed sampler that need no law of neurons, for any nonlinearity and any inputs.

*Elliptical slice sampling* (Murray, Adams & MacKay 2010) turns the weights v of a neuron, standard normal a priori, on
an ellipse through themselves and a draw ν of the prior, v cos θ + ν sin θ, to an angle at which the evidence is above a
level drawn below the present one; angles that are not narrow the bracket in which the next is drawn. It moves a neuron
within what it codes for. A *shuffle* gives all neurons new places: they can be exchanged, and so this is exact too.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from festina import draws
from festina.errors import require
from festina.learning.collapsed import Collapsed, Layer
from festina.learning.evidence import Evidence

FULL_TURN = 2.0 * jnp.pi
MOST_ANGLES = 100  # that are tried: the bracket is then narrower than 1e-15, and the neuron where it was


@dataclass(frozen=True)
class Slice:
    """Elliptical slice sampling of every neuron in turn, with readouts integrated out.

    Attributes:
        rounds: how often each neuron is turned in a draw.

    Example:
        >>> random = np.random.default_rng(0)
        >>> network = fs.networks.Bayesian.init(jax.random.key(0), (3, 20, 1), fs.networks.RECTIFIED)
        >>> inputs, targets = random.normal(size=(5, 3)), random.normal(size=(5, 1))
        >>> method = fs.learning.Collapsed(network, inputs, targets, 0.1, (fs.learning.Slice(),))
        >>> posterior = fs.sample(network, (inputs, targets), temperature=0.1, method=method, draws=200, warm_up=50)
        >>> bool(posterior.r_hats["answer"].max() < 1.05)
        True
    """

    rounds: int = 1

    def __post_init__(self) -> None:
        require(self.rounds >= 1, "rounds", "be at least 1", self.rounds)

    def __call__(self, key: Array, layer: Layer, collapsed: Collapsed) -> tuple[Layer, Float[Array, ""]]:
        rates = []
        for number in range(self.rounds):
            layer, rate = self._once(draws.fold_in(key, number), layer, collapsed)
            rates.append(rate)
        return layer, jnp.mean(jnp.stack(rates))

    def _once(self, key: Array, layer: Layer, collapsed: Collapsed) -> tuple[Layer, Float[Array, ""]]:
        """The share of angles that were accepted is one over the mean number of those that were tried."""
        for_turn, for_level, for_angles = draws.split(key, 3)
        count, span = len(layer.places), collapsed.span
        turns = jnp.asarray(draws.normal(for_turn, layer.places.shape))
        levels = jnp.log(jnp.asarray(draws.uniform(for_level, (count,))))
        angles = jnp.asarray(draws.uniform(for_angles, (count, MOST_ANGLES)))

        def one(evidence: Evidence, neuron: Any) -> tuple[Evidence, Any]:
            place, old, turn, level, chances = neuron
            pulled = evidence.inverse @ old

            def seen(angle: Any) -> Any:
                moved = jnp.cos(angle) * place + jnp.sin(angle) * turn
                new = collapsed.nonlinearity(span.preactivations(moved[None])[0])
                return moved, new, evidence.change(old, new, pulled)

            def too_low(state: Any) -> Any:
                angle, _, _, tried = state
                return (seen(angle)[2].log_ratio <= level) & (tried < MOST_ANGLES)

            def narrowed(state: Any) -> Any:
                angle, low, high, tried = state
                low, high = jnp.where(angle < 0, angle, low), jnp.where(angle < 0, high, angle)
                return low + (high - low) * chances[tried], low, high, tried + 1

            first = FULL_TURN * chances[0]
            start = first, first - FULL_TURN, first, jnp.ones((), int)
            angle, _, _, tried = jax.lax.while_loop(too_low, narrowed, start)
            moved, new, change = seen(angle)
            return evidence.after(change), (moved, new, 1.0 / tried.astype(float))

        neurons = layer.places, layer.features, turns, levels, angles
        evidence, (places, features, rates) = jax.lax.scan(one, layer.evidence, neurons)
        return Layer(places, features, evidence), jnp.mean(rates)


@dataclass(frozen=True)
class Shuffle:
    """All neurons at random in new places, which changes nothing but their numbers.

    A statistic of one neuron is then one of any of them: for networks in which a few neurons stand out, and would stay
    who they are. Whether neurons keep what they code for can then no longer be seen from their numbers.

    Example:
        >>> fs.learning.Shuffle()
        Shuffle()
    """

    def __call__(self, key: Array, layer: Layer, collapsed: Collapsed) -> tuple[Layer, Float[Array, ""]]:
        order = jnp.argsort(jnp.asarray(draws.uniform(key, (len(layer.places),))))
        return Layer(layer.places[order], layer.features[order], layer.evidence), jnp.ones(())
