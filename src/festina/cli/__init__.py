"""The command line: thin, quick to answer, and plain about what went wrong. JAX is imported only for work."""

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from io import TextIOWrapper

from festina.cli.commands import dispatch
from festina.errors import FestinaError, Interrupted
from festina.exit_codes import BROKEN, BROKEN_PIPE, INTERRUPTED, WRONG

__all__ = ["main"]

Say = Callable[[str], None]


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
    except KeyboardInterrupt:
        code, sentence = INTERRUPTED, "interrupted; results that were finished are kept"
    except Interrupted as error:
        code, sentence = INTERRUPTED, str(error)
    except FestinaError as error:
        code, sentence = WRONG, str(error)
    except OSError as error:
        named = f"{error.filename}: " if error.filename else ""
        code, sentence = WRONG, f"{named}{error.strerror or error}"
    except Exception as error:
        hint = "" if debug else " (--debug shows where)"
        code, sentence = BROKEN, f"unexpected {type(error).__name__}: {error}{hint}"
        if debug:
            traceback.print_exc()
    sys.stdout.flush()
    say(sentence)
    return code


def _answer(words: list[str]) -> int:
    try:
        return dispatch(words)
    except SystemExit as leaving:  # argparse leaves this way after --help
        return int(leaving.code or 0)


def _never_fail_to_print() -> None:
    """A terminal that cannot show τ gets a question mark instead of a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
