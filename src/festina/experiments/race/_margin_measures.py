"""What is measured of `race/margin`: shares at the end, where they cross, and what the law predicts."""

from itertools import pairwise
from math import sqrt
from typing import Any

import festina as fs
from festina._lazy import np
from festina.claims import NotApplicable
from festina.experiments.race._small_steps import SMALL

CROSSING = sqrt(2.0 / 3.0)
WELL_BELOW, WELL_ABOVE = 0.4, 1.2  # margins at which the race is decided
LAST_SINGLE = sqrt(2.0)  # no unit can keep a single example from this margin on
CLOSE = 0.1  # distance of margins between which curves may be taken for straight lines


def final_share(result: Any) -> Any:
    """The share at the end: (run, scale, separation)."""
    return _final(result, "single_share")


def mean_share(result: Any) -> Any:
    """Its mean over runs."""
    return final_share(result).mean(axis=0)


def predicted_share(result: Any) -> Any:
    """The same as theory has it."""
    return result.theory["single_share"].isel(run=0, time=-1).transpose("scale", "separation").values


def from_smallest(result: Any) -> Any:
    """The shares of every run as they follow from its own end at the last, smallest start.

    By the law, the end from a start k times as large is where the race leads (backwards, if k > 1) from k times the
    end: neither π₀ and ρ₀ nor T need be known.
    """
    larger = (result["scale"].values / result["scale"].values[-1]) ** 2
    ends = (_final(result, name)[:, -1:] for name in ("nonlinear", "linear"))
    nonlinear, linear = (larger[None, :, None] * end for end in ends)
    separation = np.broadcast_to(result["separation"].values, nonlinear.shape)
    return fs.theory.margin.race(nonlinear, linear, separation).end["single_share"]


def crossings(result: Any) -> Any:
    """Where the curves of neighbouring starts cross, by interpolation: (pair, run); the crossing next to Δ* counts."""
    _margins_around(result)
    share, separation = final_share(result), result["separation"].values
    gaps = [share[:, after] - share[:, before] for before, after in pairwise(range(share.shape[1]))]
    return np.asarray([[_zero(separation, gap) for gap in runs] for runs in gaps])


def close_crossings(result: Any) -> Any:
    """The same for claims, which need margins close to Δ*."""
    _require_close(result)
    return crossings(result)


def _zero(separation: Any, gap: Any) -> float:
    """Where a difference that is positive on the left becomes negative, next to Δ*; NaN if nowhere."""
    found = [
        left + (right - left) * before / (before - after)
        for (left, before), (right, after) in pairwise(zip(separation, gap, strict=True))
        if before > 0 >= after
    ]
    return min(found, key=lambda place: abs(place - CROSSING), default=float("nan"))


def slopes(result: Any) -> Any:
    """−d(mean share)/dΔ between the margins on either side of Δ*, for each start."""
    _require_close(result)
    before, after = _margins_around(result)
    share, separation = mean_share(result), result["separation"].values
    return (share[:, before] - share[:, after]) / (separation[after] - separation[before])


def _margins_around(result: Any) -> tuple[int, int]:
    """The margins next to Δ*, as numbers in the list of all."""
    after = int(np.searchsorted(result["separation"].values, CROSSING))
    if not 0 < after < result["separation"].size:
        raise NotApplicable("needs margins on either side of √(2/3)")
    return after - 1, after


def _require_close(result: Any) -> None:
    before, after = (result["separation"].values[number] for number in _margins_around(result))
    if after - before > CLOSE + 1e-9:
        raise NotApplicable(f"needs margins no more than {CLOSE:g} apart on either side of √(2/3)")


def share_at(result: Any, separation: float) -> Any:
    """The share at one margin from the smallest start, by run."""
    if separation not in result.config.separation:
        raise NotApplicable(f"needs the margin {separation:g}")
    small_starts(result)
    return final_share(result)[:, -1, result.config.separation.index(separation)]


def _final(result: Any, name: str) -> Any:
    """A variable at the end: (run, scale, separation)."""
    return result[name].isel(time=-1).transpose("run", "scale", "separation").values


def small_starts(result: Any) -> list[int]:
    """The small starts, as numbers in the list of all; the last of them is the smallest."""
    small = [number for number, scale in enumerate(result.config.scale) if scale <= SMALL]
    if not small:
        raise NotApplicable(f"needs a start of at most σ = {SMALL:g}")
    return small


def other_small_starts(result: Any) -> list[int]:
    """All of them but the smallest."""
    others = small_starts(result)[:-1]
    if not others:
        raise NotApplicable(f"needs two starts of at most σ = {SMALL:g}")
    return others


def large_starts(result: Any) -> list[int]:
    """The others, beside a small one."""
    small_starts(result)
    large = [number for number, scale in enumerate(result.config.scale) if scale > SMALL]
    if not large:
        raise NotApplicable(f"needs a start above σ = {SMALL:g}")
    return large


def worst_error(result: Any, predicted: Any, chosen: list[int]) -> Any:
    """The largest error of a predicted share over margins at which there are units for one example, by start."""
    possible = result["separation"].values < LAST_SINGLE
    if not possible.any():
        raise NotApplicable("needs a margin below √2")
    return np.abs(predicted - mean_share(result))[chosen][:, possible].max(axis=1)


def share_beyond(result: Any) -> Any:
    """The share where no unit can keep a single example, from the smallest start, by run and margin."""
    wide = result["separation"].values > LAST_SINGLE
    if not wide.any():
        raise NotApplicable("needs a margin above √2")
    small_starts(result)
    return final_share(result)[:, -1, wide]


def answer_gap(result: Any) -> Any:
    """Largest distance of π√(2+Δ²) + ρΔ from 1 at the end, from the smallest start, by run."""
    small_starts(result)
    separation = result["separation"].values
    nonlinear, linear = (_final(result, name)[:, -1] for name in ("nonlinear", "linear"))
    return np.abs(nonlinear * np.sqrt(2.0 + separation**2) + linear * separation - 1.0).max(axis=1)


def index_gap(result: Any) -> Any:
    """Largest distance of the function's index from that of a nonlinear solution, at narrow margins, by run."""
    narrow = result["separation"].values <= WELL_BELOW
    if not narrow.any():
        raise NotApplicable(f"needs a margin of at most {WELL_BELOW:g}")
    small_starts(result)
    pure = fs.theory.margin.pure_index(result["separation"].values[narrow])
    return np.abs(_final(result, "index")[:, -1, narrow] - pure).max(axis=1)
