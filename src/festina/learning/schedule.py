"""When a run is recorded, and how many steps it takes."""

from typing import Any

import numpy as np

from festina._lazy import optax
from festina.errors import ArgumentError, require

RECORDS = 200
STEP_SIZE = 1e-3
MOST_STEPS = 1e15  # that can still be counted in a float


def recording_times(until: float | None, times: Any) -> np.ndarray:
    if (until is None) == (times is None):
        raise ArgumentError("Argument `until` or `times` must be given, and not both.")
    if times is None:
        require(until is not None and 0 < until < np.inf, "until", "be positive and finite", until)
        return np.linspace(0.0, float(until or 0.0), RECORDS + 1)
    grid = np.asarray(times, dtype=float)
    rising = grid.ndim == 1 and len(grid) >= 2 and np.all(np.diff(grid) > 0) and np.all(np.isfinite(grid))
    require(bool(rising), "times", "be at least two finite numbers that rise", times)
    return grid


def count_steps(
    until: float | None,
    steps: int | None,
    step_size: float | None,
    optimiser: "optax.GradientTransformation | None",
    timescale: Any,
    records: int,
) -> int:
    """How many steps are asked for, in whichever way."""
    require(isinstance(records, int) and records >= 1, "records", "be at least 1", records)
    if (until is None) == (steps is None):
        raise ArgumentError("Argument `until` or `steps` must be given, and not both.")
    if optimiser is not None:
        made = isinstance(optimiser, optax.GradientTransformation)
        require(made, "optimiser", "be one of optax, such as `optax.adam(1e-3)`", optimiser)
        require(steps is not None, "steps", "be given with an optimiser, instead of `until`", steps)
        require(step_size is None, "step_size", "be left out with an optimiser, which has its own", step_size)
        plain = isinstance(timescale, int | float) and timescale == 1.0
        require(plain, "timescale", "be left out with an optimiser; see `optax.multi_transform`", timescale)
    if steps is not None:
        whole = isinstance(steps, int | np.integer) and 1 <= steps < MOST_STEPS
        require(whole, "steps", f"be a whole number from 1 to {MOST_STEPS:.0e}", steps)
        require(step_size is None or step_size > 0, "step_size", "be positive", step_size)
        return int(steps)
    size, end = STEP_SIZE if step_size is None else step_size, float(until or 0.0)
    require(size > 0, "step_size", "be positive", step_size)
    require(0 < end < np.inf, "until", "be positive and finite", until)
    require(end / size < MOST_STEPS, "until", f"hold fewer than {MOST_STEPS:.0e} steps of {size}", until)
    require(round(end / size) >= 1, "until", f"hold at least one step of {size}", until)
    return round(end / size)


def spread_recordings(steps: int, records: int) -> tuple[int, int]:
    """How many recordings to make and how many steps apart: exactly ``steps`` in all, if that costs few recordings."""
    apart = -(-steps // records)
    even = next(steps // count for count in range(min(records, steps), 0, -1) if steps % count == 0)
    apart = even if even <= 2 * apart else apart
    return -(-steps // apart), apart
