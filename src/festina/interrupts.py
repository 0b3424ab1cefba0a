"""Ctrl-C where it can do no harm.

Python raises `KeyboardInterrupt` between any two instructions, those of JAX's own book-keeping included, where it is
printed and lost, or leaves something half done. Work that goes in steps holds it back until a step is finished.
"""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from threading import current_thread, main_thread
from typing import Any


@contextmanager
def held() -> Iterator[Callable[[], bool]]:
    """Let Ctrl-C wait: within, it is only noted, and the function that is handed out tells whether it was pressed.

    A second Ctrl-C does not wait. Other threads than the main one, and processes that ignore Ctrl-C, never hear of it.

    Example:
        >>> with held() as pressed:
        ...     steps = [step for step in range(3) if not pressed()]
    """
    if not _hears():
        yield lambda: False
        return
    pressed: list[int] = []

    def note(number: int, frame: object) -> None:
        pressed.append(number)
        if len(pressed) > 1:
            raise KeyboardInterrupt

    with handled(note):
        yield lambda: bool(pressed)


@contextmanager
def raised() -> Iterator[None]:
    """Let Ctrl-C raise `KeyboardInterrupt` at once, for code that waits and has nothing to finish."""
    with handled(signal.default_int_handler) if _hears() else nullcontext():
        yield


@contextmanager
def handled(handler: Callable[[int, Any], Any], *signals: int) -> Iterator[None]:
    """Let a function of one's own answer Ctrl-C, or other signals, for a while; in the main thread only."""
    before = {number: signal.signal(number, handler) for number in signals or (signal.SIGINT,)}
    try:
        yield
    finally:
        for number, known in before.items():
            signal.signal(number, known)


def _hears() -> bool:
    """Whether Ctrl-C reaches this thread: only the main one, and not in a process that was started to ignore it."""
    return current_thread() is main_thread() and callable(signal.getsignal(signal.SIGINT))
