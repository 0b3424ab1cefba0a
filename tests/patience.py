"""Waiting in tests: for what must happen, however busy the machine is, and not for ever."""

import time
from collections.abc import Callable

PATIENCE = 600.0  # seconds; they pass only where something has failed


def wait_for(condition: Callable[[], object]) -> None:
    """Look again and again, ever less often, until something holds."""
    began, pause = time.monotonic(), 0.01
    while not condition():
        assert time.monotonic() - began < PATIENCE, "waited in vain"
        time.sleep(pause)
        pause = min(1.2 * pause, 0.2)
