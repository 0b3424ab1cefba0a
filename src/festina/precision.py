"""Double precision without touching JAX's global flag.

JAX computes in float32 unless a process-wide flag says otherwise, and festina may not flip a flag that
belongs to its user. Work is therefore done inside :func:`double`, and what leaves a public function is
NumPy, which no later operation demotes.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def double() -> Any:
    """The scope in which festina computes: ``with double(): ...``.

    Inside of it JAX computes in float64, and outside as before; what festina's functions hand out is in float64 anyway.

    Example:
        >>> with fs.double():
        ...     inside = jax.numpy.ones(2).dtype
        >>> inside, jax.numpy.ones(2).dtype
        (dtype('float64'), dtype('float32'))
    """
    return jax.enable_x64(True)


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, np.ndarray | np.generic | jax.Array)


def detached(values: Any) -> Any:
    """A tensor of another library without its gradient and on the host; anything else as it is."""
    return values.detach().cpu() if hasattr(values, "detach") else values


def to_numpy(tree: T) -> T:
    """The same tree with every JAX array as a NumPy array; PRNG keys and traced values stay what they are."""
    return jax.tree.map(_leaf_to_numpy, tree)


def _leaf_to_numpy(leaf: Any) -> Any:
    if not isinstance(leaf, jax.Array) or isinstance(leaf, Tracer):
        return leaf
    return leaf if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else np.asarray(leaf)


def to_double(tree: T) -> T:
    """The same tree with every real array in float64 (inside :func:`double`)."""
    return to_precision(tree, "float64")


def to_precision(tree: T, precision: str) -> T:
    """The same tree with every real array in a precision, "float64" or "float32" (inside :func:`double`)."""

    def convert(leaf: Any) -> Any:
        if _is_array(leaf) and jnp.issubdtype(leaf.dtype, jnp.floating):
            return jnp.asarray(leaf, dtype=precision)
        return leaf

    return jax.tree.map(convert, tree)


def on_host(tree: T) -> T:
    """The same tree with every array as a NumPy array, the real ones in float64; PRNG keys stay what they are."""
    return jax.tree.map(_leaf_on_host, tree)


def _leaf_on_host(leaf: Any) -> Any:
    if not _is_array(leaf) or jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return leaf
    return np.asarray(leaf, dtype=float if jnp.issubdtype(leaf.dtype, jnp.floating) else None)


def namespace(*trees: Any) -> Any:
    """The library that computes with these arrays: `jax.numpy` if any of them is JAX's, else NumPy.

    A formula written for both is compiled and differentiated where JAX asks for it, and costs no compiling elsewhere.

    Example:
        >>> from festina.precision import namespace
        >>> namespace(np.ones(2), 1.0).__name__, namespace(jax.numpy.ones(2)).__name__
        ('numpy', 'jax.numpy')
    """
    return jnp if any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(trees)) else np


def bytes_of(tree: Any) -> int:
    """How much memory the arrays of a tree take, or would take: their shapes are enough."""
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))


def is_traced(tree: Any) -> bool:
    """Whether any leaf is being traced by JAX (``jit``, ``grad``, ``vmap``).

    Args:
        tree: of anything.

    Example:
        >>> fs.draws.is_traced([1.0, np.ones(2)])
        False
        >>> bool(jax.jit(lambda x: fs.draws.is_traced(x))(1.0))
        True
    """
    return any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(tree))


def precise(function: Callable[P, R]) -> Callable[P, R]:
    """Run a public function in float64 and hand out NumPy.

    The function is given NumPy arrays; one that takes its :func:`namespace` from them compiles nothing. Under a JAX
    transformation it is called as it is, so that it can be differentiated, batched and compiled; precision is then the
    caller's: use ``with fs.double(): ...``.

    Example:
        >>> import jax.numpy as jnp
        >>> from festina.precision import precise
        >>> third = precise(lambda x: jnp.asarray(x) / 3)
        >>> third(1.0).dtype  # whatever JAX's flag says
        dtype('float64')
    """

    @wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        if is_traced((args, kwargs)):
            return function(*args, **kwargs)
        with double(), np.errstate(all="ignore"):  # JAX does not warn of infinities either
            arguments, named = on_host((args, kwargs))
            return to_numpy(function(*arguments, **named))

    return wrapper


def with_slope_of(value: Any, other: Any) -> Any:
    """The value of one expression with the derivatives of another, equal to it but for rounding.

    For a sum of squares, which keeps its digits, beside its expansion, whose slope is cheaper.
    """
    return _first(jax.lax.stop_gradient(value), other)


@jax.custom_jvp
def _first(value: Any, other: Any) -> Any:
    return value


@_first.defjvp
def _slope_of_the_other(primals: tuple[Any, Any], tangents: tuple[Any, Any]) -> tuple[Any, Any]:
    return primals[0], tangents[1]
