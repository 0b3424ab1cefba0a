"""The run-time type checker of the tests: beartype, with an int accepted wherever a float is asked for.

jaxtyping hands over functions without a body, two for each function: one that takes its arguments and returns
anything, called before it, and one that takes its arguments once more and returns what it did, called after it. Those
of a function within another come anew in every call of that other, and to write the code that checks them takes longer
than most such functions do: signatures that are equal share it.
"""

from collections.abc import Callable
from typing import Any

from beartype import BeartypeConf, beartype

_decorated = beartype(conf=BeartypeConf(is_pep484_tower=True))
_known: dict[Any, Callable[..., Any]] = {}


def checked(signature: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, which raises an exception where it is called with what its annotations do not allow.

    What checks it is written when it is first called: a worker calls half of the functions that it imports.
    """
    written: list[Callable[..., Any]] = []

    def checking(*arguments: Any, **named: Any) -> Any:
        if not written:
            written.append(_written(signature))
        return written[0](*arguments, **named)

    return checking


def _written(signature: Callable[..., Any]) -> Callable[..., Any]:
    """The function with what checks it, or that of an equal signature."""
    returned = signature.__annotations__.get("return", Any)
    if returned is not Any:  # its arguments have been checked before
        signature.__annotations__ = {"return": returned}
    key = (
        signature.__module__,
        signature.__qualname__,
        signature.__code__,
        tuple(signature.__annotations__.items()),
        len(signature.__defaults__ or ()),
        frozenset(signature.__kwdefaults__ or ()),
    )
    try:
        known = _known.get(key)
    except TypeError:  # an annotation that cannot be hashed
        return _decorated(signature)
    if known is None:
        known = _known[key] = _decorated(signature)
    return known
