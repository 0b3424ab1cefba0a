"""What happens right after a switch: the first recordings of every block."""

from typing import Any

from festina._lazy import np
from festina.claims import NotApplicable
from festina.experiments.abstraction._common import block_edges


def first_recordings(result: Any, name: str, count: int) -> Any:
    """A variable at the first recordings of every block: (run, arm, …, block, recording)."""
    first = np.searchsorted(result["time"].values, block_edges(result.config) - 1e-9)
    if (np.diff(first) < count).any():
        raise NotApplicable(f"needs at least {count} recordings in every block")
    values = result[name].transpose("run", "arm", ..., "time").values
    return values[..., first[:-1, None] + np.arange(count)]
