"""Waiting in tests: for what must happen, however busy the machine is, and not for ever."""

import time
from collections.abc import Callable

PATIENCE = 600.0  # seconds; they pass only where something has failed


def wait_for(condition: Callable[[], object]) -> None:
    """Look again and again until something holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
