"""Endless worlds: fresh examples in every step, from a network that teaches or from a function of one's own."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from festina.errors import ArgumentError, require
from festina.precision import is_traced
from festina.worlds.data import Samples


class Taught(eqx.Module):
    """A network as teacher: y = f*(x) + noise, with standard normal inputs x; fresh examples without end.

    Args:
        teacher: any network that answers one input.
        inputs: how many of them.
        noise: standard deviation of the noise on each output.

    Example:
        >>> import equinox as eqx, jax
        >>> teacher = eqx.nn.MLP(5, 1, 2, depth=1, key=jax.random.key(0))
        >>> Taught(teacher, inputs=5).draw(jax.random.key(1), 3).targets.shape
        (3, 1)
    """

    weights: Any
    static: Any = eqx.field(static=True)  # what of the teacher is no weight: activation functions, sizes
    inputs: int = eqx.field(static=True)
    noise: Any

    def __init__(self, teacher: Any, inputs: int, noise: Any = 0.0) -> None:
        require(callable(teacher), "teacher", "answer to an input", type(teacher).__name__)
        require(inputs >= 1, "inputs", "be at least 1", inputs)
        if not is_traced(noise):
            require(0.0 <= float(noise) < np.inf, "noise", "be zero or positive, and finite", noise)
        self.weights, self.static = eqx.partition(teacher, eqx.is_inexact_array)
        self.inputs, self.noise = inputs, noise

    @property
    def teacher(self) -> Any:
        """f*."""
        return eqx.combine(self.weights, self.static)

    def draw(self, key: Array, batch: int) -> Samples:
        """``batch`` fresh examples, in the precision of the teacher."""
        kind = next((leaf.dtype for leaf in jax.tree.leaves(self.weights)), jnp.result_type(float))
        for_inputs, for_noise = jax.random.split(key)
        inputs = jax.random.normal(for_inputs, (batch, self.inputs), kind)
        answers = jax.vmap(self.teacher)(inputs)
        noise = jnp.asarray(self.noise, kind) * jax.random.normal(for_noise, answers.shape, kind)
        return Samples(inputs, answers + noise)


class Stream(eqx.Module):
    """A world that a function draws: ``function(key, batch)`` gives inputs and targets, one example a row.

    Example:
        >>> import jax
        >>> def parity(key, batch):
        ...     signs = jax.random.rademacher(key, (batch, 4), float)
        ...     return signs, signs[:, :1] * signs[:, 1:2]
        >>> Stream(parity).draw(jax.random.key(0), 3).inputs.shape
        (3, 4)
    """

    function: Callable[[Array, int], tuple[Any, Any]] = eqx.field(static=True)

    def draw(self, key: Array, batch: int) -> Samples:
        drawn = self.function(key, batch)
        shapes = [np.shape(part) for part in drawn] if isinstance(drawn, tuple | list) else []
        if len(shapes) != 2 or any(len(shape) < 2 or shape[0] != batch for shape in shapes):
            raise ArgumentError(
                f"Argument `function` must give inputs and targets with {batch} rows each for a batch of {batch}, "
                f"but gives {f'arrays of shapes {shapes}' if shapes else type(drawn).__name__}."
            )
        return Samples(*(jnp.asarray(part) for part in drawn))
