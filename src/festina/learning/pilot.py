"""A law of single neurons found by a short chain, where no theory has one.

The chain cools down by elliptical slices alone, which is exact but keeps neurons near what they code for. The residual
t that it leaves in the end and the readouts that some of its neurons have make a `SiteLaw`; with that a second chain,
at the final temperature, exchanges codes as well, and leaves a better one. Whatever the law, what is drawn with it is
exact.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from festina import draws
from festina.errors import require
from festina.learning.collapsed import Collapsed, Layer, Redraw
from festina.learning.evidence import Evidence, drawn_readouts
from festina.learning.posterior import annealed
from festina.learning.site_law import SiteLaw
from festina.learning.slices import Slice
from festina.networks.bayesian import Bayesian

POINTS = 63  # neurons whose readouts stand for all, besides a share of neurons of the prior
SAFE = 0.02  # that share
SETTLED = 0.5  # of a chain, from where its residual is averaged


def piloted_law(
    key: Array,
    network: Bayesian,
    inputs: Float[np.ndarray, "p d"],
    targets: Float[np.ndarray, "p m"],
    temperature: Any,
    hottest: Any = 1.0,
    sweeps: int = 100,
    points: int = POINTS,
) -> SiteLaw:
    """A `SiteLaw` from two short chains that start from a network.

    Args:
        key: of all random numbers.
        network: where the first chain starts, with one hidden layer, non-lazy.
        inputs: X, one example a row.
        targets: Y, one example a row.
        temperature: T.
        hottest: from which the first chain cools down.
        sweeps: of each chain.
        points: neurons whose readouts are taken; all, if there are fewer.

    Returns:
        The law, for `Redraw`.

    Example:
        >>> random = np.random.default_rng(0)
        >>> network = fs.networks.Bayesian.init(jax.random.key(0), (3, 30, 1), readout_variance=0.2)
        >>> inputs, targets = random.normal(size=(5, 3)), random.normal(size=(5, 1))
        >>> with fs.double():
        ...     law = fs.learning.piloted_law(jax.random.key(1), network, inputs, targets, 0.1, sweeps=10, points=8)
        >>> law.readouts.shape, law.residual.shape
        ((9, 1), (5, 1))
    """
    require(sweeps >= 2, "sweeps", "be at least 2", sweeps)
    require(points >= 1, "points", "be at least 1", points)
    points = min(points, network.width)
    cooled, warmed = draws.split(key, 2)
    whole = Collapsed(network, inputs, targets, temperature, (Slice(),))
    places = jnp.asarray(network.weights[0]) @ whole.span.basis.T
    heat = annealed(jnp.maximum(hottest, temperature), temperature, max(1, round(SETTLED * sweeps)))
    places, law = _chain(cooled, whole, places, heat, sweeps, points)
    again = Collapsed(network, inputs, targets, temperature, (Redraw(law), Slice()))
    return _chain(warmed, again, places, lambda _: jnp.asarray(temperature, float), sweeps, points)[1]


def _chain(
    key: Array, collapsed: Collapsed, places: Any, heat: Any, sweeps: int, points: int
) -> tuple[Float[Array, "n r"], SiteLaw]:
    """Where the neurons end, and the law that goes with the mean residual and their readouts."""
    span, variance = collapsed.span, jnp.asarray(collapsed.network.readout_variance, float)
    targets = jnp.asarray(collapsed.targets)

    def features_of(places: Any) -> Any:
        return collapsed.nonlinearity(span.preactivations(places))

    def sweep(places: Any, number: Any) -> Any:
        features = features_of(places)
        layer = Layer(places, features, Evidence.of(features, targets, heat(number), variance))
        own = draws.fold_in(key, number)
        for turn, move in enumerate(collapsed.moves):
            layer, _ = move(draws.fold_in(own, turn), layer, collapsed)
        return layer.places, layer.evidence.residual

    places, residuals = jax.lax.scan(sweep, places, jnp.arange(sweeps))
    residual = residuals[round(SETTLED * sweeps) :].mean(axis=0)
    readouts = drawn_readouts(
        draws.fold_in(key, sweeps), features_of(places), targets, heat(jnp.asarray(sweeps)), variance
    )
    weights = np.append(np.full(points, (1.0 - SAFE) / points), SAFE)
    chosen = jnp.concatenate([readouts[:points], jnp.zeros((1, readouts.shape[1]))])
    return places, SiteLaw(chosen, weights, residual, span.coordinates, collapsed.nonlinearity)
