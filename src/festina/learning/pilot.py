"""A law of single neurons found by a short chain, where no theory has one.

The chain cools down by elliptical slices alone, which is exact but keeps neurons near what they code for. Its neurons
are where climbs start that find the modes of the law (`festina.learning.climbing`); with these the chain goes on, and
exchanges codes as well. What neurons leave to each other then changes, and modes with it: they are found anew, a few
times. Whatever the law, what is drawn with it is exact.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from festina import draws
from festina.errors import require
from festina.learning.climbing import modes_of
from festina.learning.collapsed import Collapsed, Layer, Move, Redraw
from festina.learning.evidence import Evidence
from festina.learning.mode_law import ModeLaw, Others
from festina.learning.posterior import annealed
from festina.learning.slices import Slice
from festina.networks.bayesian import Bayesian

STARTS = 16  # neurons from which climbs start, or twice as many as there may be modes, if that is more
FIELDS = 32  # neurons whose fields are averaged
REPEATS = 4  # times that modes are found anew
COOLING = 0.75  # share of the first chain during which it cools


def piloted_law(
    key: Array,
    network: Bayesian,
    inputs: Float[np.ndarray, "p d"],
    targets: Float[np.ndarray, "p m"],
    temperature: Any,
    hottest: Any = 1.0,
    sweeps: int = 60,
    modes: int = 8,
) -> ModeLaw:
    """A `ModeLaw` from short chains that start from a network.

    Args:
        key: of all random numbers.
        network: where the first chain starts, with one hidden layer, non-lazy, of smooth and bounded neurons.
        inputs: X, one example a row.
        targets: Y, one example a row.
        temperature: T.
        hottest: from which the first chain cools down.
        sweeps: of the first chain, and of all others together.
        modes: that the law has at most.

    Returns:
        The law, for `Redraw`.

    Example:
        >>> random = np.random.default_rng(0)
        >>> network = fs.networks.Bayesian.init(jax.random.key(0), (3, 30, 1), readout_variance=0.2)
        >>> inputs, targets = random.normal(size=(5, 3)), random.normal(size=(5, 1))
        >>> with fs.double():
        ...     law = fs.learning.piloted_law(jax.random.key(1), network, inputs, targets, 0.1, sweeps=8, modes=4)
        >>> law.means.shape
        (4, 3)
    """
    require(sweeps >= REPEATS, "sweeps", f"be at least {REPEATS}", sweeps)
    require(modes >= 1, "modes", "be at least 1", modes)
    whole = Collapsed(network, inputs, targets, temperature, (Slice(),))
    span, cooled = whole.span, annealed(jnp.maximum(hottest, temperature), temperature, max(1, round(COOLING * sweeps)))
    constant = jnp.asarray(temperature, float)
    places = jnp.asarray(network.weights[0]) @ span.basis.T
    places = _moved(draws.fold_in(key, 0), whole, places, cooled, sweeps, whole.moves)

    def found(key: Array, places: Any) -> ModeLaw:
        layer = _layer(whole, places, constant)
        starts = places[_apart(layer.features, max(STARTS, 2 * modes))]
        return modes_of(key, _others(layer), starts, span.coordinates, whole.nonlinearity, modes)

    def again(places: Any, number: Any) -> Any:
        own = draws.fold_in(key, number)
        moves = (Redraw(found(draws.fold_in(own, sweeps), places)), Slice())
        return _moved(own, whole, places, lambda _: constant, sweeps // REPEATS, moves), None

    places, _ = jax.lax.scan(again, places, 1 + jnp.arange(REPEATS))
    return found(draws.fold_in(key, 1 + REPEATS), places)


def _moved(
    key: Array, collapsed: Collapsed, places: Any, heat: Any, sweeps: int, moves: tuple[Move, ...]
) -> Float[Array, "n r"]:
    """Where neurons are after some sweeps."""

    def sweep(places: Any, number: Any) -> Any:
        layer, own = _layer(collapsed, places, heat(number)), draws.fold_in(key, number)
        for turn, move in enumerate(moves):
            layer, _ = move(draws.fold_in(own, turn), layer, collapsed)
        return layer.places, None

    return jax.lax.scan(sweep, places, jnp.arange(sweeps))[0]


def _layer(collapsed: Collapsed, places: Any, heat: Any) -> Layer:
    features, variance = (
        collapsed.nonlinearity(collapsed.span.preactivations(places)),
        collapsed.network.readout_variance,
    )
    evidence = Evidence.of(features, jnp.asarray(collapsed.targets), heat, jnp.asarray(variance, float))
    return Layer(places, features, evidence)


def _apart(features: Float[Array, "n p"], count: int) -> Int[Array, " starts"]:
    """Numbers of so many neurons, each as different as can be from those before it: no code must be missed."""

    def choose(nearest: Any, _: Any) -> Any:
        furthest = jnp.argmax(nearest)
        distance = jnp.sum((features - features[furthest][None]) ** 2, axis=1)
        return jnp.minimum(nearest, distance), furthest

    return jax.lax.scan(choose, jnp.full(len(features), jnp.inf), None, length=count)[1]


def _others(layer: Layer) -> Others:
    """What all others leave to a neuron, on average."""

    def one(features: Any) -> Others:
        return Others.of(layer.evidence.without(features, layer.evidence.inverse @ features))

    every = jax.lax.map(one, layer.features[:FIELDS])
    return jax.tree.map(lambda each: jnp.mean(each, axis=0), every)
