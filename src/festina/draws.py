"""Random numbers by counting: cheap to compile, cheap to draw, and the same in every batch.

The n-th number of a key is a hash of the key and of n (SplitMix64: a Weyl sequence through a 64-bit mixing function, as
seeds of many generators are made). JAX's own generator, Threefry, is stronger than simulations need and takes XLA a
quarter of a second to compile wherever it occurs; this one takes a fraction of that, and draws twice as fast. For a key
that is known (outside of `jit` and `vmap`) NumPy does the work, and nothing is compiled at all. Keys are JAX's keys, so
that both generators can be used with them.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, UInt32

from festina._lazy import special
from festina.arrays import Reals
from festina.precision import double, is_traced

_STRIDE = np.uint64(0x9E3779B97F4A7C15)  # 2⁶⁴/golden ratio, odd
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_BITS = {"float32": 23, "float64": 52}  # of the uniform number behind a normal one: it must not round to ±1


def fold_in(key: Array, number: Any) -> Array:
    """The key of the ``number``-th child of a key.

    Args:
        key: of JAX.
        number: from 0 on; may be traced, as may the key.

    Returns:
        A key of JAX.

    Example:
        >>> key = jax.random.key(0)
        >>> first, second = fs.draws.fold_in(key, 0), fs.draws.fold_in(key, 1)
        >>> bool((first == second).item()), bool((second == fs.draws.split(key, 2)[1]).item())
        (False, True)
    """
    with double():
        return jax.random.wrap_key_data(_children(key, number))


def split(key: Array, count: int) -> tuple[Array, ...]:
    """``count`` children of a key.

    Args:
        key: of JAX.
        count: how many.

    Returns:
        Keys of JAX; child n is ``fold_in(key, n)``.

    Example:
        >>> for_weights, for_data = fs.draws.split(jax.random.key(0), 2)
        >>> fs.draws.normal(for_weights, (3, 2)).shape
        (3, 2)
    """
    with double():
        return tuple(jax.random.wrap_key_data(child) for child in _children(key, np.arange(count)))


def normal(key: Array, shape: tuple[int, ...], dtype: Any = float) -> Reals:
    """Standard normal numbers, √2 erf⁻¹(u) with u uniform on (−1, 1).

    In float32 u has 23 bits, so that tails end at 5.3 standard deviations, in float64 52 bits, for 8.2. NumPy and JAX
    compute erf⁻¹ alike to twelve digits.

    Args:
        key: of JAX.
        shape: of the array.
        dtype: `float` (float64) or float32.

    Returns:
        An array of NumPy, if the key is known and the numbers are in float64; of JAX otherwise.

    Example:
        >>> drawn = fs.draws.normal(jax.random.key(0), (1000, 10))
        >>> round(abs(float(drawn.mean())), 1), round(float(drawn.std()), 1)
        (0.0, 1.0)
        >>> bool((fs.draws.normal(jax.random.key(0), (10_000,)) == drawn.ravel()).all())  # whatever the shape
        True
    """
    with double():
        return _quantile(uniform(key, shape, dtype))


def uniform(key: Array, shape: tuple[int, ...], dtype: Any = float) -> Reals:
    """Numbers that are uniform on (0, 1), and never 0 or 1.

    Args:
        key: of JAX.
        shape: of the array.
        dtype: `float` (float64, with 52 bits) or float32 (with 23).

    Returns:
        An array of NumPy, if the key is known and the numbers are in float64; of JAX otherwise.

    Example:
        >>> drawn = fs.draws.uniform(jax.random.key(0), (10_000,))
        >>> round(float(drawn.mean()), 1), round(float((drawn < 0.2).mean()), 1)
        (0.5, 0.2)
    """
    count = int(np.prod(shape, dtype=int))
    with double(), np.errstate(over="ignore"):
        words = _words(key)
        drawn = _in_a_row if is_traced(words) else partial(_counted, np if _known(words, dtype) else jnp)
        return drawn(count, np.dtype(dtype).name, words).reshape(shape)


def normals(key: Array, counts: Sequence[int], dtype: Any = float) -> Reals:
    """Standard normal numbers of several children of a key in a row: ``counts[n]`` of child n.

    They are those of ``normal(fold_in(key, n), (counts[n],))``, and compile in the time of one such call.

    Args:
        key: of JAX.
        counts: how many numbers of each child.
        dtype: `float` (float64) or float32.

    Returns:
        An array of NumPy, if the key is known and the numbers are in float64; of JAX otherwise.

    Example:
        >>> drawn = fs.draws.normals(jax.random.key(0), (3, 2))
        >>> bool((drawn[3:] == fs.draws.normal(fs.draws.fold_in(jax.random.key(0), 1), (2,))).all())
        True
    """
    with double():
        return _quantile(uniforms(key, counts, dtype))


def uniforms(key: Array, counts: Sequence[int], dtype: Any = float) -> Reals:
    """The same for numbers that are uniform on (0, 1); see `normals`.

    Args:
        key: of JAX.
        counts: how many numbers of each child.
        dtype: `float` (float64) or float32.

    Returns:
        An array of NumPy, if the key is known and the numbers are in float64; of JAX otherwise.

    Example:
        >>> drawn = fs.draws.uniforms(jax.random.key(0), (0, 1))
        >>> bool((drawn == fs.draws.uniform(fs.draws.fold_in(jax.random.key(0), 1), (1,))).all())
        True
    """
    with double(), np.errstate(over="ignore"):
        words = _words(key)
        module = np if _known(words, dtype) else jnp
        children = _mixed(_hash(_joined(words), np.arange(len(counts), dtype=np.uint64)))
        weyl = [_weyl(children[n], module.arange(count, dtype=np.uint64)) for n, count in enumerate(counts) if count]
        return _even(_mixed(module.concatenate(weyl)), dtype)


def _counted(module: Any, count: int, dtype: str, words: Any) -> Any:
    """The first numbers of a key that are uniform on (0, 1), by NumPy or JAX."""
    return _even(_hash(_joined(words), module.arange(count, dtype=np.uint64)), dtype)


# The same few dozen operations are in every program of a model: a function that JAX knows is traced only once.
_in_a_row = jax.jit(partial(_counted, jnp), static_argnums=(0, 1))


def _quantile(even: Any) -> Any:
    """√2 erf⁻¹(2u − 1): the standard normal number of a uniform one."""
    root, two, one = (even.dtype.type(value) for value in (np.sqrt(2.0), 2.0, 1.0))
    return root * (special.erfinv if isinstance(even, np.ndarray | np.generic) else jax.lax.erf_inv)(two * even - one)


def _even(hashed: Any, dtype: Any) -> Any:
    """The number between 0 and 1 that belongs to a hash."""
    kind = np.dtype(dtype)
    bits = _BITS[kind.name]
    half, grain = kind.type(0.5), kind.type(2.0**-bits)
    return ((hashed >> np.uint64(64 - bits)).astype(kind) + half) * grain


def _known(words: Any, dtype: Any) -> bool:
    """Whether NumPy does the work."""
    return not is_traced(words) and np.dtype(dtype) == np.float64


def _children(key: Array, numbers: Any) -> Any:
    """The halves of the keys of some children (inside `double`): one hash for all of them is quickest to compile."""
    words = _words(key)
    module = jnp if is_traced((words, numbers)) else np
    with np.errstate(over="ignore"):
        children = _hash(_joined(words), module.asarray(numbers).astype(np.uint64))
    halves = module.stack([children >> np.uint64(32), children & np.uint64(0xFFFFFFFF)], axis=-1)
    return halves.astype(np.uint32)


def _words(key: Array) -> UInt32[Array | np.ndarray, "2"]:
    """The two halves of a key: as NumPy has them, if they are known."""
    words = jax.random.key_data(key)
    return words if is_traced(words) else np.asarray(words)


def _joined(words: Any) -> Any:
    """A key as 64 bits, well mixed: keys that differ in one bit have nothing in common."""
    high, low = words[0].astype(np.uint64), words[1].astype(np.uint64)
    return _mixed((high << np.uint64(32)) | low)


def _hash(word: Any, number: Any) -> Any:
    return _mixed(_weyl(word, number))


def _weyl(word: Any, number: Any) -> Any:
    return word + _STRIDE * (number + np.uint64(1))


def _mixed(bits: Any) -> Any:
    """A bijection of 64-bit words in which every bit of the input moves every bit of the output (Stafford's mix 13)."""
    bits = (bits ^ (bits >> np.uint64(30))) * _FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * _SECOND
    return bits ^ (bits >> np.uint64(31))
