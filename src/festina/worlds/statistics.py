"""How much of a world a learner sees in one step: all of it, a batch, or the law of a batch's moments."""

from typing import Any, Protocol, runtime_checkable

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from festina import draws
from festina.errors import ArgumentError, require
from festina.worlds.data import Moments, Samples
from festina.worlds.gated import GatedSamples, Patterns
from festina.worlds.wishart import second_moment

Seen = Moments | Samples | GatedSamples | Patterns


@runtime_checkable
class Statistics(Protocol):
    """``statistics(world, network, key)`` is what the network sees of a `World` in one step.

    Example:
        >>> all(isinstance(each, fs.worlds.Statistics) for each in (fs.worlds.Population(), fs.worlds.Wishart(64)))
        True
    """

    def __call__(self, world: Any, network: Any, key: Array) -> Seen: ...

    def second_moment(self, key: Array, inputs: int, dtype: Any) -> Float[Array, "inputs inputs"] | None:
        """⟨x xᵀ⟩ over what is seen in one step of a world with standard normal inputs; None for the identity."""
        ...


class Population(eqx.Module):
    """The whole world in every step: its moments for a linear network, all its samples for another.

    What a network sees may also stand for a world: `GatedSamples` and `Patterns` are seen as they are.

    Example:
        >>> world, see = fs.worlds.xor(), fs.worlds.Population()
        >>> linear = fs.networks.DeepLinear((np.zeros((1, 2)),))
        >>> rectified = fs.networks.Rectified((np.ones((3, 2)), np.ones((1, 3))))
        >>> [type(see(world, network, jax.random.key(0))).__name__ for network in (linear, rectified)]
        ['Moments', 'Samples']
    """

    def __call__(self, world: Any, network: Any, key: Array) -> Seen:
        if hasattr(network, "map"):
            return world.moments
        if isinstance(world, GatedSamples | Patterns):
            return world
        samples = getattr(world, "samples", None)
        if samples is None:
            raise ArgumentError(
                f"Argument `world` must be a finite data set for a network that is not linear, "
                f"but is a {type(world).__name__}; use `Sampled(batch=...)`."
            )
        return samples

    def second_moment(self, key: Array, inputs: int, dtype: Any) -> None:
        return None


class Sampled(eqx.Module):
    """A fresh batch in every step, seen sample by sample.

    Args:
        batch: samples in a step.

    Example:
        >>> network = fs.networks.Rectified((np.ones((3, 2)), np.ones((1, 3))))
        >>> seen = fs.worlds.Sampled(batch=5)(fs.worlds.xor(), network, jax.random.key(0))
        >>> seen.inputs.shape, seen.targets.shape
        ((5, 2), (5, 1))
    """

    batch: int = eqx.field(static=True)

    def __check_init__(self) -> None:
        require(self.batch >= 1, "batch", "be at least 1", self.batch)

    def __call__(self, world: Any, network: Any, key: Array) -> Seen:
        samples = world.draw(key, self.batch)
        return samples.moments if hasattr(network, "map") else samples

    def second_moment(self, key: Array, inputs: int, dtype: Any) -> Float[Array, "inputs inputs"]:
        drawn = jnp.asarray(draws.normal(key, (self.batch, inputs), dtype))
        return drawn.T @ drawn / self.batch


class Wishart(eqx.Module):
    """The moments of a fresh batch drawn directly: the law of `Sampled` at a fraction of its cost.

    Only for linear networks and Gaussian inputs, where the batch enters through its moments alone.

    Args:
        batch: samples in a step, at least as many as inputs.

    Example:
        >>> teacher, network = fs.worlds.Teacher(np.eye(3)), fs.networks.DeepLinear((np.zeros((3, 3)),))
        >>> see = jax.jit(lambda key: fs.worlds.Wishart(batch=100_000)(teacher, network, key).inputs)
        >>> bool(np.allclose(see(jax.random.key(0)), np.eye(3), atol=0.05))  # Σxx of a large batch
        True
    """

    batch: int = eqx.field(static=True)

    def __check_init__(self) -> None:
        require(self.batch >= 1, "batch", "be at least 1", self.batch)

    def __call__(self, world: Any, network: Any, key: Array) -> Moments:
        draw_moments = getattr(world, "draw_moments", None)
        if draw_moments is None or not hasattr(network, "map"):
            raise ArgumentError(
                "Argument `statistics` must be `Sampled` or `Population` unless a linear network learns from a "
                f"Gaussian `Teacher`, but is `Wishart` with a {type(world).__name__} "
                f"and a {type(network).__name__}."
            )
        return draw_moments(key, self.batch)

    def second_moment(self, key: Array, inputs: int, dtype: Any) -> Float[Array, "inputs inputs"]:
        return second_moment(key, inputs, self.batch, dtype)
