"""What a start depends on, found by leaving things out: a value that nobody may look at.

JAX finds out by tracing; this finds out at once, and for what is computed by NumPy.
"""

from collections.abc import Sequence
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int


class NotKnown(Exception):
    """Somebody looked at a value that is not known."""


class Unknown:
    """A number that raises `NotKnown` as soon as anything is computed with it, compared or decided."""

    def __array__(self, *arguments: Any, **named: Any) -> NoReturn:
        raise NotKnown


def _look(self: Unknown, *arguments: Any) -> NoReturn:
    raise NotKnown


BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "divmod")
LOOKS = [f"__{side}{name}__" for name in BINARY for side in ("", "r")]
LOOKS += [f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "abs", "round", "bool", "hash")]
LOOKS += [f"__{name}__" for name in ("int", "float", "index", "complex", "len", "iter", "getitem", "str", "repr")]
for name in LOOKS:
    setattr(Unknown, name, _look)

UNKNOWN = Unknown()


def known_key(seed: int) -> Array:
    """`jax.random.key` of a seed, without compiling anything where JAX's generator is its usual one."""
    if jax.config.jax_default_prng_impl != "threefry2x32" or not 0 <= seed < 2**63:  # pyright: ignore[reportAttributeAccessIssue]
        return jax.random.key(seed)
    words: Any = np.asarray([seed >> 32, seed & 0xFFFFFFFF], np.uint32)
    return jax.random.wrap_key_data(words)


def taken(starts: Sequence[Any], which: Int[np.ndarray, " n"]) -> Any:
    """Some of several starts, along a leading axis."""

    def take(*leaves: Any) -> Any:
        if isinstance(leaves[0], jax.Array) and jnp.issubdtype(leaves[0].dtype, jax.dtypes.prng_key):
            words: Any = np.stack([np.asarray(jax.random.key_data(leaf)) for leaf in leaves])[which]
            return jax.random.wrap_key_data(words)
        return np.stack([np.asarray(leaf) for leaf in leaves])[which]

    return jax.tree.map(take, *starts)
