"""The command line: thin, quick to answer, and plain about what went wrong. JAX is imported only for work."""

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from io import TextIOWrapper

from festina.cli.commands import dispatch
from festina.errors import FestinaError, Interrupted
from festina.exit_codes import BROKEN, BROKEN_PIPE, INTERRUPTED, INTERRUPTED_SENTENCE, WRONG

__all__ = ["main"]

Say = Callable[[str], object]


def complain(sentence: str) -> None:
    """One line on standard error."""
    print(f"festina: {' '.join(sentence.split())}", file=sys.stderr)


def main(arguments: Sequence[str] | None = None, say: Say = complain) -> int:
    """Carry out a command; the exit code. What went wrong is told to ``say`` in one sentence."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    _never_fail_to_print()
    try:
        code = _answer(words)
        _flush()
        return code
    except BrokenPipeError:
        # Whoever read has gone; the interpreter's own flush at exit must find somewhere to write.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except (KeyboardInterrupt, Exception) as error:
        code, sentence = _verdict_on(error)
        if debug:
            traceback.print_exc()
    with suppress(OSError):  # whoever read has gone, as all of a pipeline do on Ctrl-C, or the disk is full
        _flush()
    say(sentence)
    return code


def _verdict_on(error: BaseException) -> tuple[int, str]:
    """The exit code, and the sentence that says what went wrong."""
    match error:
        case KeyboardInterrupt():
            return INTERRUPTED, INTERRUPTED_SENTENCE
        case Interrupted():
            return INTERRUPTED, str(error)
        case FestinaError():
            return WRONG, str(error)
        case OSError():
            named = f"{error.filename}: " if error.filename else ""
            return WRONG, f"{named}{error.strerror or error}"
    return BROKEN, f"unexpected {type(error).__name__}: {error} (--debug shows where)"


def _answer(words: list[str]) -> int:
    try:
        return dispatch(words)
    except SystemExit as leaving:  # argparse leaves this way after --help
        return int(leaving.code or 0)


def _flush() -> None:
    if sys.stdout is not None:  # as it is where standard output was closed
        sys.stdout.flush()


def _never_fail_to_print() -> None:
    """A terminal that cannot show τ gets a question mark instead of a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
