"""Formulas written once for NumPy and for JAX.

A closed form is compiled, batched and differentiated where JAX asks for it, and is plain NumPy everywhere else, where
compiling it would take a hundred times longer than computing it. Such a formula writes `xp` for the library: each call
goes to `jax.numpy` if one of its arguments is an array of JAX, traced or not, and to NumPy otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from types import ModuleType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import jax.typing
import numpy as np
from jaxtyping import Float, Shaped
from typing_extensions import TypeAliasType

from festina.precision import namespace

if TYPE_CHECKING:
    import jax.numpy as xp

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
# Aliases with a name of their own, so that `help` and editors show `ArrayLike` instead of all that it stands for.
ArrayLike = TypeAliasType("ArrayLike", jax.typing.ArrayLike)
"""An array of either library, or a number."""
Number = TypeAliasType("Number", Shaped[jax.typing.ArrayLike, ""])
"""One number, of whatever kind."""
Real = TypeAliasType("Real", Float[jax.Array | np.ndarray | np.floating, "..."])
"""An array of real numbers of either library, or a number out of NumPy."""
Reals = TypeAliasType("Reals", Float[jax.Array | np.ndarray, "..."])
"""An array of real numbers of either library."""


#: Of these, no argument is JAX's.
PLAIN = frozenset((np.ndarray, np.float64, float, int, bool))


class _Either:
    """The functions of NumPy and `jax.numpy` under their common names, each chosen by what it is called with."""

    def __init__(self, ours: ModuleType, theirs: ModuleType) -> None:
        self._libraries = ours, theirs

    def __getattr__(self, name: str) -> Any:
        ours, theirs = (getattr(library, name) for library in self._libraries)
        if isinstance(ours, ModuleType):
            found: Any = _Either(ours, theirs)
        else:
            found = _chosen(ours, theirs) if callable(ours) else ours
        setattr(self, name, found)
        return found


def _chosen(ours: Callable[..., Any], theirs: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        if PLAIN.issuperset(map(type, arguments)) and PLAIN.issuperset(map(type, named.values())):
            return ours(*arguments, **named)  # as is most often the case, and found out in a tenth of the time
        return (theirs if namespace(arguments, named) is jnp else ours)(*arguments, **named)

    return call


if not TYPE_CHECKING:
    xp = _Either(np, jnp)


def plain_on_host(function: Callable[P, R]) -> Callable[P, R]:
    """What `jax.jit` or `jax.custom_jvp` has made of a function, but for NumPy arrays the function as it was written.

    Example:
        >>> from festina.arrays import plain_on_host, xp
        >>> root = plain_on_host(jax.jit(lambda x: xp.sqrt(x)))
        >>> type(root(np.ones(2))).__name__, bool(jax.grad(root)(4.0) == 0.25)
        ('ndarray', True)
    """
    written = function.__wrapped__  # pyright: ignore[reportFunctionMemberAccess]

    @wraps(written)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return (function if namespace(args, kwargs) is jnp else written)(*args, **kwargs)

    return call


def repeat(count: int, step: Callable[[T], T], start: T) -> T:
    """``step`` of ``step`` of … ``start``: a loop of the program where it is traced."""
    if namespace(start) is jnp:
        return jax.lax.fori_loop(0, count, lambda _, value: step(value), start)
    for _ in range(count):
        start = step(start)
    return start


def real(value: Any) -> Any:
    """As an array of real numbers: of JAX's, in the precision in force, if it is one of JAX's; else in float64."""
    library = namespace(value)
    return library.asarray(value, dtype=jnp.result_type(float) if library is jnp else float)


def log_sigmoid(x: Real) -> Real:
    """ln 1/(1 + e^(−x))."""
    return -xp.logaddexp(-x, 0.0)


def sigmoid(x: Real) -> Real:
    """1/(1 + e^(−x))."""
    if namespace(x) is jnp:
        return jax.nn.sigmoid(x)
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small) / (1.0 + small)
