"""Examples that a watched network is trained on, so that its linearised twin can be trained on the same."""

from __future__ import annotations

from typing import Any

from festina.errors import require
from festina.watching.outside import Outside, read_probes, take_in

MOST = 10_000
"""How many examples there may be: a twin asks for derivatives of all of them a hundred times."""


def examples_of(model: Any, training: Any) -> tuple[Outside, Any] | None:
    """The network on the examples that it is trained on, and their targets; None if there are none."""
    if training is None:
        return None
    pair = isinstance(training, tuple | list) and len(training) == 2
    require(pair, "training", "be a pair (inputs, targets)", f"of type {type(training).__name__}")
    inputs = read_probes(training[0], "training")
    require(len(inputs) <= MOST, "training", f"be {MOST} examples at most (some of them will do)", f"{len(inputs)}")
    return take_in(model, inputs), training[1]
