"""Ctrl-C within a process: who answers it, when, and that it is never lost."""

import os
import signal
import subprocess
import sys
import threading

import pytest

from festina.interrupts import apart, handled, held
from interrupting import answering


@pytest.fixture(autouse=True)
def hearing():
    """Ctrl-C as Python has it at first, however the tests were started; and nothing of it has changed in the end."""
    with answering(signal.default_int_handler):
        yield
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def press() -> None:
    signal.raise_signal(signal.SIGINT)


def test_held_notes_it_and_raises_at_the_end():
    steps = []
    with pytest.raises(KeyboardInterrupt), held() as pressed:
        for step in range(5):
            steps.append((step, pressed()))
            if step == 2:
                press()
    assert steps == [(0, False), (1, False), (2, False), (3, True), (4, True)]
    with held() as pressed:
        assert not pressed()


def test_held_loses_it_to_no_error():
    with pytest.raises(KeyboardInterrupt), held():
        press()
        raise ValueError("of the step at hand")


def test_the_second_does_not_wait():
    after = []
    with pytest.raises(KeyboardInterrupt), held():
        press()
        press()
        after.append("the second")
    assert after == []


CHILD = """
import os, signal
print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []), os.path.sameopenfile(2, os.open(os.devnull, 0)))
"""


def child() -> str:
    return subprocess.run([sys.executable, "-c", CHILD], stdout=subprocess.PIPE, text=True, check=True).stdout


def test_apart_starts_processes_that_neither_hear_nor_speak():
    said, over = [], threading.Event()
    thread = threading.Thread(target=lambda: over.wait() and said.append(child()))
    before, plain = os.fstat(2), child()
    with apart():
        thread.start()
        said.append(child())
    over.set()
    thread.join()
    assert said == ["True True\n", plain.replace("False", "True", 1)] and plain.startswith("False")
    assert child() == plain and os.path.samestat(os.fstat(2), before)


def test_handled_answers_once_and_gives_it_back():
    heard = []
    with answering(lambda number, frame: heard.append("before")):
        with handled(lambda number, frame: heard.append("within")):
            press()
            press()
        press()
        with handled(lambda number, frame: heard.append("within")):
            pass
        press()
    assert heard == ["within", "before", "before", "before"]


def test_held_within_held_hears_it_first():
    with pytest.raises(KeyboardInterrupt), held() as outer:
        with pytest.raises(KeyboardInterrupt), held() as inner:
            press()
            assert inner() and not outer()
        press()
        assert outer()


def test_other_threads_and_processes_that_ignore_it_never_hear():
    seen = []

    def work() -> None:
        with held() as pressed:
            seen.append((pressed(), signal.getsignal(signal.SIGINT)))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(False, signal.default_int_handler)]
    with answering(signal.SIG_IGN), held() as pressed:
        press()
        assert not pressed()
