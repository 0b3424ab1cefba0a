"""Cumulants of a preactivation under a field, for a bounded nonlinearity φ, by the trapezoidal rule."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

SPACING, EDGE = 0.15, 9.0  # of the nodes of a trapezoidal rule, which is exact to rounding for such integrands
WIDEST = 1e4  # variance of z for which there are nodes enough
STRONG = 4  # by which nodes are closer if fields are more than moderate
MODERATE = 200.0
REACH = 2.0  # widths by which a field may move z until nodes have to follow it
CLOSER = 4  # times that nodes close in on it

Real = Float[np.ndarray, "..."]


class Site(NamedTuple):
    """One preactivation under a field b: all cumulants that the theory asks for, in the shape of b.

    Attributes:
        log_partition: G(b).
        mean: G' = ⟨φ⟩.
        variance: G'' = ⟨φ²⟩ − ⟨φ⟩².
        preactivation: ⟨z⟩.
        spread: ⟨z²⟩ − ⟨z⟩².
        covariance: ⟨zφ⟩ − ⟨z⟩⟨φ⟩.
    """

    log_partition: Real
    mean: Real
    variance: Real
    preactivation: Real
    spread: Real
    covariance: Real


@cache
def _nodes(finer: int) -> Float[np.ndarray, " nodes"]:
    count = finer * round(EDGE / SPACING)
    return np.linspace(-EDGE, EDGE, 2 * count + 1)


def by_quadrature(
    function: Callable[[Any], Any], mean: Real, variance: Real, field: Real, curvature: Any = 0.0
) -> Site:
    """The cumulants for a bounded φ by the trapezoidal rule: nearly exact for fields up to ±10⁶, and any variance.

    Its nodes are closer where φ is steep next to the width of z, and where fields are strong.

    Args:
        function: φ.
        mean: m, in the shape of the answer, as the next two.
        variance: v.
        field: b.
        curvature: δ of a density ∝ N(z|m,v) exp(bφ + ½δφ²); zero unless given.
    """
    steep = float(np.sqrt(np.clip(np.max(variance, initial=0.0), 1.0, WIDEST)))
    strength = np.asarray(np.abs(field) + np.abs(curvature))
    nodes = _nodes(int(np.ceil(steep)) * (STRONG if np.any(strength > MODERATE) else 1))
    width = np.asarray(np.sqrt(variance))

    def seen(nodes: Real) -> tuple[Real, Real, Real]:
        z = mean[..., None] + width[..., None] * nodes
        phi = function(z)
        exponent = (field[..., None] + 0.5 * np.asarray(curvature)[..., None] * phi) * phi
        exponent -= 0.5 * nodes**2
        return z, phi, exponent

    nodes = _followed(lambda nodes: seen(nodes)[2], width, strength, nodes)
    z, phi, exponent = seen(nodes)
    top = exponent.max(axis=-1)
    exponent -= top[..., None]
    weight = np.exp(exponent, out=exponent)  # in place, as all that follows: these arrays are larger than a cache
    total = weight.sum(axis=-1)
    weight /= total[..., None]
    average, first = _summed(weight, phi), _summed(weight, z)
    phi -= average[..., None]
    z -= first[..., None]
    log_partition = top + np.log(total * (nodes[..., 1] - nodes[..., 0]) / np.sqrt(2.0 * np.pi))
    heavy = weight * phi
    variance, covariance = _summed(heavy, phi), _summed(heavy, z)
    return Site(log_partition, average, variance, first, _summed(np.multiply(weight, z, out=heavy), z), covariance)


def _summed(one: Real, other: Real) -> Real:
    """Σ of products over nodes, the last axis."""
    return np.asarray(np.einsum("...n,...n->...", one, other))


def _followed(exponent: Callable[[Real], Real], width: Real, strength: Real, nodes: Real) -> Real:
    """The nodes, or nodes that go with z where a strong field pulls it out of their reach.

    In units of its width z is pulled by √v(b + δφ)φ'. For 0 ≤ φ ≤ 1 as steep as ½ at most that is ½√v(|b| + |δ|), and
    nobody goes further than √(2(|b| + |δ|)), which costs more than the field can give. From there nodes close in on
    where the density is.
    """
    reach = np.minimum(0.5 * width * strength, np.sqrt(2.0 * strength))
    if not REACH < np.max(reach, initial=0.0) < np.inf:
        return nodes
    low, high = -EDGE - reach, EDGE + reach
    for _ in range(CLOSER):
        places = np.linspace(low, high, len(nodes), axis=-1)
        height = exponent(places)
        heavy = height > height.max(axis=-1, keepdims=True) - 0.5 * EDGE**2
        first, last = np.argmax(heavy, axis=-1), len(nodes) - 1 - np.argmax(heavy[..., ::-1], axis=-1)
        step = (high - low) / (len(nodes) - 1)
        low, high = low + (first - 1) * step, low + (last + 1) * step
    return np.linspace(low, high, len(nodes), axis=-1)
