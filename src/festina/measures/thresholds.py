"""Above which activation a unit counts as on, and how much depends on that.

Rectified units have a natural threshold, zero. Firing rates and units with a smooth nonlinearity have none: they are
never at zero, and with that threshold all units would be on in all samples. If less than one activation in a hundred is
at or below zero, each unit has a threshold of its own, half-way between its low and its high responses,

    θ = ½ (mean of low + mean of high),

the two groups of responses with the least variance within (Otsu's). Any unit can be split so, also one whose responses
are of one kind: groups that hold much of its variance (`two_kinds`) are what tells.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from jaxtyping import Bool, Float, Int

from festina.errors import require
from festina.measures.activity import active_sets, strength_by_size, whole_context_share
from festina.measures.arrays import as_real
from festina.measures.layers import read_layer

RARELY = 0.01  # a smaller share of activations at or below zero: zero is no threshold
TWO_KINDS = 0.8  # of a unit's variance is between its low and high responses; .64 for normal, .75 for uniform ones
SCANNED = 25
FRACTIONS = np.linspace(0.1, 0.9, 17)
HIGHEST = 95.0  # percentile of activations up to which one threshold for all units is tried


@dataclass(frozen=True)
class Threshold:
    """θ of each unit, in words, whether it is one number for all, and why if it was chosen."""

    of_units: Float[np.ndarray, " units"]
    words: str
    common: bool
    reasons: tuple[str, ...] = ()


def threshold(above: Any, values: Float[np.ndarray, "n units"]) -> Threshold:
    """The threshold that was given, one for all or one a unit; if none was, that of the module's docstring."""
    units = values.shape[1]
    if above is not None:
        given = as_real("above", above)
        fits = given.shape in ((), (units,))
        require(fits, "above", f"be one number, or {units}, one a unit", f"of shape {given.shape}")
        if given.ndim == 0:
            return Threshold(np.full(units, float(given)), f"above {float(given):g}", True)
        return Threshold(given, f"above a threshold of its own ({_range(given)})", False)
    alive = values[:, np.any(values != 0, axis=0)]
    low_share = float(np.mean(alive <= 0)) if alive.size else 1.0
    if low_share >= RARELY:
        return Threshold(np.zeros(units), "above 0", True)
    chosen = half_way(values)
    distinct = int(np.sum(two_kinds(values)))
    reasons = (
        f"half-way between its low and its high responses, as only {low_share:.1%} of activations are at or below 0",
        f"{distinct} of {units} units have two distinct kinds of responses; for others half-way is arbitrary",
    )
    return Threshold(chosen, f"above a threshold of its own ({_range(chosen)})", False, reasons)


def half_way(activations: Any) -> Float[np.ndarray, " units"]:
    """θ of each unit, half-way between its low and its high responses; 0 for a unit that always responds alike.

    Args:
        activations: of a layer, in any shape that `gates` takes.

    Example:
        >>> import numpy as np
        >>> half_way(np.array([[1.0, 5.0], [1.2, 5.2], [3.0, 9.0], [3.2, 9.2]])).round(6)
        array([2.1, 7.1])
    """
    low, high = low_and_high(read_layer(activations).values)
    return np.where(high > low, (low + high) / 2, 0.0)


def low_and_high(values: Float[np.ndarray, "n units"]) -> tuple[np.ndarray, np.ndarray]:
    """The means of the low and of the high responses of each unit: two groups with the least variance within."""
    rising = np.sort(values, axis=0)
    count = len(rising)
    below = np.arange(1, count)[:, None]
    sums = np.cumsum(rising, axis=0)
    low, high = sums[:-1] / below, (sums[-1:] - sums[:-1]) / (count - below)
    best = np.argmax(below * (count - below) * (high - low) ** 2, axis=0)[None]
    found = (np.take_along_axis(part, best, axis=0)[0] for part in (low, high))
    one, other = found
    alike = np.ptp(values, axis=0) == 0  # whose sums differ by rounding
    return np.where(alike, values[0], one), np.where(alike, values[0], other)


def two_kinds(values: Float[np.ndarray, "n units"]) -> Bool[np.ndarray, " units"]:
    """Whether the low and the high responses of a unit hold most of its variance, more than those of any one bump."""
    low, high = low_and_high(values)
    share = np.mean(values > (low + high) / 2, axis=0)
    between, whole = share * (1 - share) * (high - low) ** 2, np.var(values, axis=0)
    return between > TWO_KINDS * np.where(whole > 0, whole, np.inf)


def thresholds_around(chosen: Threshold, values: Float[np.ndarray, "n units"]) -> xr.DataArray:
    """Thresholds to try, (threshold, unit): up to high activations if all units have one, and else from the low to the
    high responses of each."""
    if chosen.common:
        top = float(np.percentile(values, HIGHEST))
        numbers = np.unique(np.append(np.linspace(min(0.0, float(values.min())), top, SCANNED), chosen.of_units[0]))
        return _tried(np.repeat(numbers[:, None], values.shape[1], axis=1), numbers, "threshold for all units")
    low, high = low_and_high(values)
    tried = low[None] + FRACTIONS[:, None] * (high - low)[None]
    return _tried(tried, FRACTIONS, "threshold, from low (0) to high (1) responses")


def thresholds_given(given: Any, units: int) -> xr.DataArray:
    """The same of numbers, one for all units each, or of rows with one number a unit."""
    values = as_real("thresholds", given)
    fits = values.ndim in (1, 2) and len(values) > 0 and values.shape[1:] in ((), (units,))
    require(fits, "thresholds", f"be numbers, or rows of {units}, one a unit", f"of shape {values.shape}")
    if values.ndim == 1:
        return _tried(np.repeat(values[:, None], units, axis=1), values, "threshold for all units")
    return _tried(values, np.arange(len(values)), "number of the threshold")


def by_threshold(
    values: Float[np.ndarray, "n units"],
    labels: Int[np.ndarray, " n"],
    strength: Float[np.ndarray, " units"],
    tried: xr.DataArray,
    most: float,
    shuffles: int,
    seed: int,
) -> xr.Dataset:
    """Shares by number of contexts, and the contextual share, at each threshold; and their means over shuffles."""

    def shares(on: np.ndarray) -> tuple[np.ndarray, float]:
        return strength_by_size(active_sets(on, labels, most), strength), float(
            whole_context_share(on, labels, strength)
        )

    random = np.random.default_rng(seed)
    found, null = [], []
    for row in tried.values:
        on = values > row
        found.append(shares(on))
        null.append([shares(random.permuted(on, axis=0)) for _ in range(shuffles)])
    sizes = len(found[0][0])
    return xr.Dataset(
        {
            "share": (("threshold", "contexts"), np.stack([share for share, _ in found])),
            "contextual": ("threshold", np.array([whole for _, whole in found])),
            "null": (("threshold", "contexts"), np.stack([np.mean([s for s, _ in row], axis=0) for row in null])),
            "contextual_null": ("threshold", np.array([np.mean([whole for _, whole in row]) for row in null])),
        },
        coords={"threshold": tried["threshold"], "contexts": np.arange(sizes)},
    )


def _tried(values: np.ndarray, coordinate: np.ndarray, name: str) -> xr.DataArray:
    coordinates = {"threshold": ("threshold", coordinate, {"long_name": name})}
    return xr.DataArray(values, dims=("threshold", "unit"), coords=coordinates)


def _range(values: np.ndarray) -> str:
    return f"{values.min():.3g} … {values.max():.3g}"
