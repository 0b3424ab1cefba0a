"""Quantities as people say them."""

import math


def duration(seconds: float) -> str:
    """A wall time."""
    if not math.isfinite(seconds):
        return "unknown"
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def size(count: float) -> str:
    """A number of bytes."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"
