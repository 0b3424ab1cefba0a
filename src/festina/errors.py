"""What festina says when something cannot be done: which field, which value, what would be allowed."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


class FestinaError(Exception):
    """Anything a user can put right; the command line shows it as one line and exits with code 2."""


class ArgumentError(FestinaError, ValueError):
    """An argument outside what is allowed.

    Example:
        >>> fs.worlds.margin(-1.0)
        Traceback (most recent call last):
        festina.errors.ArgumentError: Argument `separation` must be zero or positive, but is -1.0.
    """


class UnknownName(FestinaError, LookupError):
    """A name festina does not know, with the nearest names it does know.

    Args:
        kind: of thing, as in "experiment".
        name: that was asked for.
        known: names.

    Example:
        >>> print(fs.errors.UnknownName("set of images", "mnits", ["digits", "mnist", "fashion"]))
        unknown set of images 'mnits'; did you mean 'mnist' or 'digits'?
    """

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.known = sorted(known)
        near = get_close_matches(name, self.known, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"known: {', '.join(self.known)}"
        super().__init__(f"unknown {kind} {name!r}; {hint}")


class StoreError(FestinaError):
    """A result folder that cannot be written, or cannot be trusted; ``result`` is what could not be kept."""

    result: Any = None


class Interrupted(FestinaError):
    """Ctrl-C: what is done is kept, and the same question goes on from there."""

    trajectory: Any = None


class FestinaWarning(UserWarning):
    """Something that is allowed and has a consequence worth knowing."""


def require(condition: bool, argument: str, must: str, value: Any) -> None:
    """Raise the one sentence every check of festina uses: ``Argument `x` must …, but is …``.

    Args:
        condition: what has to hold.
        argument: the argument's name.
        must: what it must do, as in "be positive".
        value: what it is.

    Example:
        >>> fs.errors.require(False, "width", "be positive", -3)
        Traceback (most recent call last):
        festina.errors.ArgumentError: Argument `width` must be positive, but is -3.
    """
    if not condition:
        raise ArgumentError(f"Argument `{argument}` must {must}, but is {value!r}.")


def one_line(error: BaseException) -> str:
    """An error as one line: users' errors as they are, others with their kind.

    Example:
        >>> fs.errors.one_line(ValueError("no  such   thing")), fs.errors.one_line(fs.errors.StoreError("no room"))
        ('ValueError: no such thing', 'no room')
    """
    text = " ".join(str(error).split())
    return text if isinstance(error, FestinaError) else f"{type(error).__name__}: {text}"
