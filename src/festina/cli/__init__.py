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
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # Whoever read has gone; the interpreter's own flush at exit must find somewhere to write.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except (Exception, KeyboardInterrupt) as error:
        if debug:
            traceback.print_exc()
        with suppress(OSError):  # whoever read has gone, as all of a pipeline do on Ctrl-C, or the disk is full
            sys.stdout.flush()
        code, sentence = _verdict(error)
        say(sentence if debug or code != BROKEN else f"{sentence} (--debug shows where)")
        return code


def _verdict(error: BaseException) -> tuple[int, str]:
    """What went wrong: as an exit code, and in one sentence."""
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
    return BROKEN, f"unexpected {type(error).__name__}: {error}"


def _answer(words: list[str]) -> int:
    try:
        return dispatch(words)
    except SystemExit as leaving:  # argparse leaves this way after --help
        return int(leaving.code or 0)


def _never_fail_to_print() -> None:
    """A terminal that cannot show τ gets a question mark instead of a traceback; what was closed takes everything."""
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115, PTH123
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115, PTH123
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
