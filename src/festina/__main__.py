"""The command `festina` as a process: whatever happens, it ends with one sentence and the right exit code.

A thread inside XLA that wakes up while the interpreter is torn down aborts the process, and so does, now and then, an
interrupted clean-up at exit. Hence the process never tears the interpreter down: it prints what is left to print, and
leaves. Nor does Ctrl-C wait for the main thread, which may be compiling for a long time: a thread of its own listens
for the signal, too. Results on disk are whole at every moment, so that leaving at once loses nothing that was finished;
what can save more than that takes the signal over (`festina.interrupts.handled`) and is waited for, until a second
Ctrl-C.
"""

from __future__ import annotations

import os
import signal
import threading
from contextlib import suppress

from festina import exit_codes

TYPE_CHECKING = False  # `typing` takes longer to import than all else here, and Ctrl-C must be heard before
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn

PATIENCE = 2.0  # seconds after which a user is told what is being waited for


class LastWord:
    """The sentence that a process ends with: the first to speak is heard, and all others are kept waiting for the end.

    A turn is never given back. Only the thread that has it can come again, when a signal finds it in the middle.
    """

    def __init__(self) -> None:
        self._turn, self._spoken = threading.RLock(), False
        self._voice = os.dup(2)  # whatever becomes of standard error meanwhile

    def say(self, sentence: str) -> bool:
        """Whether this was the last word; False if this very thread is saying another."""
        self._turn.acquire()
        if self._spoken:
            return False
        self._spoken = True
        _silence_others()
        _write(sentence, to=self._voice)
        return True

    def remark(self, sentence: str) -> None:
        """Say something before the last word."""
        with self._turn:
            _write(sentence, to=self._voice)

    def leave(self, code: int) -> NoReturn:
        """End the process, unless another thread has the last word and does so."""
        self._turn.acquire()
        os._exit(code)


def run() -> NoReturn:
    """Carry out the command of this process, and leave it."""
    _fill_in_streams()
    last = LastWord()
    if callable(signal.getsignal(signal.SIGINT)):  # not in a process that was started to ignore Ctrl-C
        _listen(last)
    from festina.cli import main  # takes a while, and Ctrl-C must be heard before

    last.leave(main(say=last.say))


def _fill_in_streams() -> None:
    """Where a standard stream was closed, put nothing in its place: no file of ours may come to stand there."""
    for stream in (0, 1, 2):
        try:
            os.fstat(stream)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free


def _listen(last: LastWord) -> None:
    """Leave on Ctrl-C: in the main thread if it gets to hear of it, or else in a thread that waits for nothing else."""

    def leave(*_: object) -> None:
        if last.say(exit_codes.INTERRUPTED_SENTENCE):
            os._exit(exit_codes.INTERRUPTED)

    signal.signal(signal.SIGINT, leave)
    from festina.interrupts import answered

    ears, mouth = os.pipe()
    os.set_blocking(mouth, False)
    threading.Thread(target=_obey, args=(ears, leave, answered, last), name="interrupts", daemon=True).start()
    signal.set_wakeup_fd(mouth, warn_on_full_buffer=False)


def _obey(ears: int, leave: Callable[[], None], answered: Sequence[int], last: LastWord) -> None:
    """Wait for Ctrl-C, and leave; on the first only if nobody has taken the signal over."""
    _wait_for_interrupt(ears)
    # In this order: who takes a signal over, and has heard it, has made a note of it before it gives it back.
    if signal.getsignal(signal.SIGINT) is not leave or signal.SIGINT in answered:
        about = "stopping at the end of the step at hand; Ctrl-C again ends at once"
        threading.Timer(PATIENCE, last.remark, [about]).start()
        _wait_for_interrupt(ears)
    leave()


def _wait_for_interrupt(ears: int) -> None:
    while os.read(ears, 1) != bytes([signal.SIGINT]):
        pass


def _silence_others() -> None:
    """Lose what is printed from now on."""
    with suppress(OSError):  # too many open files
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(nowhere, stream)


def _write(sentence: str, to: int) -> None:
    """One line, whoever holds Python's own streams; over a progress bar, if there is one."""
    clear = "\r\x1b[K" if os.isatty(to) else ""
    with suppress(OSError):  # where nobody is there to read it
        os.write(to, f"{clear}festina: {' '.join(sentence.split())}\n".encode(errors="replace"))


if __name__ == "__main__":
    run()
