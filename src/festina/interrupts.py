"""Ctrl-C where it can do no harm.

Python raises `KeyboardInterrupt` between any two instructions, those of JAX's own book-keeping included, where it is
printed and lost, or leaves something half done. Work that goes in steps holds it back until a step is finished.
"""

import os
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import Any

answered: list[int] = []
"""The signals of this process that came to a handler of `handled`: whoever that was sees to the end of the work."""


@contextmanager
def held() -> Iterator[Callable[[], bool]]:
    """Let Ctrl-C wait: within, it is only noted, and the function that is handed out tells whether it was pressed.

    If it was, `KeyboardInterrupt` is raised at the end, however that was reached. A second Ctrl-C does not wait. Other
    threads than the main one, and processes that were started to ignore Ctrl-C, never hear of it.

    Example:
        >>> with held() as pressed:
        ...     steps = [step for step in range(3) if not pressed()]
    """
    pressed: list[int] = []
    try:
        with handled(lambda number, frame: pressed.append(number)):
            yield lambda: bool(pressed)
    finally:
        if pressed:
            raise KeyboardInterrupt


@contextmanager
def apart() -> Iterator[None]:
    """Start processes that hear nothing of Ctrl-C, which a terminal sends to all, and that say nothing when they end.

    Threads that are started within start such processes, too, if only to hear nothing of Ctrl-C.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    words, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(words, 2)
        os.close(words)
        os.close(nowhere)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def handled(handler: Callable[[int, Any], Any], *signals: int) -> Iterator[None]:
    """Let a function of one's own answer Ctrl-C, or other signals, for a while.

    It answers each of them once: the next goes to whoever would have had the first.
    """
    before = _answerable(signals or (signal.SIGINT,))

    def answer(number: int, frame: object) -> None:
        answered.append(number)
        signal.signal(number, before[number])
        handler(number, frame)

    try:
        for number in before:
            signal.signal(number, answer)
        yield
    finally:
        for number, known in before.items():
            signal.signal(number, known)


def _answerable(signals: Iterable[int]) -> dict[int, Any]:
    """Who answers signals now; none in other threads than the main one, and no signal that the process ignores."""
    if current_thread() is not main_thread():
        return {}
    known = {number: signal.getsignal(number) for number in signals}
    return {number: each for number, each in known.items() if callable(each) or each is signal.SIG_DFL}
