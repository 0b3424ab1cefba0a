"""A normal number y ~ N(x, 1) that is known to be positive: its mean and variance, without loss of digits for any x.

With the hazard h = N(x|0,1)/Φ(x) they are x + h and 1 − h(x + h). For x far below zero both are differences of large
numbers, and moments come from an asymptotic series instead,

    ∫₀^∞ y^k e^{−y²/2 − ay} dy = Σ_j (−½)^j (k + 2j)!/(j! a^{k+2j+1}),    a = −x.
"""

from typing import Any

import numpy as np
from jaxtyping import Float

from festina._lazy import special

FAR = -12.0  # from here on down the series, whose twentieth term is then below rounding
TERMS = 20

Real = Float[Any, "..."]


def hazard(place: Real) -> Real:
    """N(x|0,1)/Φ(x)."""
    with np.errstate(over="ignore"):  # erfcx is infinite far above zero, where there is no hazard
        return np.sqrt(2.0 / np.pi) / special.erfcx(-place / np.sqrt(2.0))


def cut_moments(place: Real) -> tuple[Real, Real]:
    """⟨y⟩ and Var y."""
    near = np.maximum(place, FAR)
    risk = hazard(near)
    mean, variance = near + risk, 1.0 - risk * (near + risk)
    beyond = place < FAR
    if not np.any(beyond):  # as nearly always
        return mean, variance
    zeroth, first, second = (_series(-np.minimum(place, FAR), power) for power in range(3))
    return np.where(beyond, first / zeroth, mean), np.where(beyond, second / zeroth - (first / zeroth) ** 2, variance)


def _series(distance: Real, power: int) -> Real:
    """a times the integral over y^k."""
    share = 1.0 / distance**2
    term = total = np.prod(np.arange(1.0, power + 1)) / distance**power
    for j in range(1, TERMS):
        term = term * (-0.5 * (power + 2 * j) * (power + 2 * j - 1) / j) * share
        total = total + term
    return total
