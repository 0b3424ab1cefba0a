"""The command `festina` as a process: whatever happens, it ends with one sentence and the right exit code.

A thread inside XLA that wakes up while the interpreter is torn down aborts the process, and so does, now and then, an
interrupted clean-up at exit. Hence the process never tears the interpreter down: it prints what is left to print, and
leaves. Nor does it wait for the main thread to hear of Ctrl-C, which may be compiling for a long time: a thread of its
own listens for the signal. Results on disk are whole at every moment, so that leaving at once loses nothing that was
finished; what can save more than that takes the signal over (`festina.interrupts.held`, the page) and is waited for,
until a second Ctrl-C.
"""

import os
import select
import signal
import socket
import threading
from contextlib import suppress
from typing import NoReturn

from festina import exit_codes

PATIENCE = 2.0  # seconds after which a user is told what is being waited for


class LastWord:
    """The sentence that a process ends with: the first to speak is heard, and nobody after it."""

    def __init__(self) -> None:
        self._lock, self._spoken = threading.Lock(), False

    def say(self, sentence: str) -> None:
        with self._lock:
            if not self._spoken:
                self._spoken = True
                _write(sentence)


def run() -> NoReturn:
    """Carry out the command of this process, and leave it."""
    last = LastWord()
    if callable(signal.getsignal(signal.SIGINT)):  # not in a process that was started to ignore Ctrl-C
        _listen(last)
    from festina.cli import main  # takes a while, and Ctrl-C must be heard before

    code = main(say=last.say)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is said and done
    os._exit(code)


def _listen(last: LastWord) -> None:
    """Hear of Ctrl-C in a thread, whatever the main thread is at."""
    ears, mouth = socket.socketpair()
    mouth.setblocking(False)
    signal.set_wakeup_fd(mouth.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, _leave_to_the_thread)
    threading.Thread(target=_obey, args=(ears, mouth, last), name="interrupts", daemon=True).start()


def _leave_to_the_thread(number: int, frame: object) -> None:
    """What the main thread does on Ctrl-C: nothing; but without a handler Python would not wake the other thread."""


def _obey(ears: socket.socket, mouth: socket.socket, last: LastWord) -> None:
    """Wait for Ctrl-C, and leave; on the first only if nobody has taken the signal over. (``mouth`` is kept open.)"""
    _wait_for_interrupt(ears)
    if signal.getsignal(signal.SIGINT) is not _leave_to_the_thread and not _heard_within(ears, PATIENCE):
        _write("stopping at the end of the step at hand; Ctrl-C again ends at once")
        _wait_for_interrupt(ears)
    last.say("interrupted; results that were finished are kept")
    os._exit(exit_codes.INTERRUPTED)


def _wait_for_interrupt(ears: socket.socket) -> None:
    while signal.SIGINT not in ears.recv(64):
        pass


def _heard_within(ears: socket.socket, seconds: float) -> bool:
    return bool(select.select([ears], [], [], seconds)[0]) and signal.SIGINT in ears.recv(64)


def _write(sentence: str) -> None:
    """One line on standard error, whoever holds Python's own streams; over a progress bar, if there is one."""
    clear = "\r\x1b[K" if os.isatty(2) else ""
    with suppress(OSError):  # where nobody is there to read it
        os.write(2, f"{clear}festina: {' '.join(sentence.split())}\n".encode(errors="replace"))


if __name__ == "__main__":
    run()
