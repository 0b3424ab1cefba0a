"""The command line: thin, quick to answer, and plain about what went wrong. JAX is imported only for work."""

import os
import sys
import traceback
from collections.abc import Sequence
from io import TextIOWrapper

from festina.cli.commands import dispatch
from festina.errors import FestinaError, Interrupted

__all__ = ["main"]

WRONG = 2
INTERRUPTED = 130
BROKEN_PIPE = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out a command; the exit code."""
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
        return _complain("interrupted; results that were finished are kept", INTERRUPTED, debug)
    except Interrupted as error:
        return _complain(str(error), INTERRUPTED, debug)
    except FestinaError as error:
        return _complain(str(error), WRONG, debug)
    except OSError as error:
        named = f"{error.filename}: " if error.filename else ""
        return _complain(f"{named}{error.strerror or error}", WRONG, debug)
    except Exception as error:
        hint = "" if debug else " (--debug shows where)"
        return _complain(f"unexpected {type(error).__name__}: {error}{hint}", 1, debug)


def _answer(words: list[str]) -> int:
    try:
        return dispatch(words)
    except SystemExit as leaving:  # argparse leaves this way after --help
        return int(leaving.code or 0)


def _complain(message: str, code: int, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    sys.stdout.flush()
    print(f"festina: {' '.join(message.split())}", file=sys.stderr)
    return code


def _never_fail_to_print() -> None:
    """A terminal that cannot show τ gets a question mark instead of a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
