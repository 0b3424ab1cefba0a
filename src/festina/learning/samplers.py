"""Ways to draw from a posterior with a standard normal prior, p(θ) ∝ exp(−E(θ) − ½|θ|²).

Hamiltonian Monte Carlo is festina's own: a trajectory alternates kicks of the momentum by −∂E/∂θ with the exact motion
under the prior, a rotation of (θ, momentum), so that for a flat likelihood it is exact at any step. The general-purpose
samplers come from blackjax.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int

from festina import draws

Energy = Callable[[Any], Float[Array, ""]]


class Transition(NamedTuple):
    """One draw: where the chain is now, how likely its proposal was to be accepted, and how many gradients it took."""

    parameters: Any
    acceptance: Float[Array, ""]
    gradients: Int[Array, ""]


@runtime_checkable
class Sampler(Protocol):
    """``transition(key, θ, step size, E)`` is one draw; the step is adapted to the acceptance ``target``.

    Example:
        >>> isinstance(fs.learning.HMC(), fs.learning.Sampler), isinstance(fs.learning.NUTS(), fs.learning.Sampler)
        (True, True)
    """

    @property
    def first_step(self) -> float: ...

    @property
    def target(self) -> float: ...

    def transition(self, key: Array, parameters: Any, step: Any, energy: Energy) -> Transition: ...


@dataclass(frozen=True)
class Kinked:
    """An energy whose slope has jumps, as that of rectified neurons, and the same with its kinks rounded off.

    A trajectory of steps ε that crosses a kink ends with an energy that is wrong by a random number of order ε, where
    without kinks it would be ε²: with many kinks on the way nearly all of them must be small. Forces of the rounded
    energy, over a width of a step or two, keep the rounded energy; the true one then differs at both ends only, by what
    lies within the width at that moment.

    Attributes:
        exact: the energy.
        rounded: the same with kinks rounded off, by the width in which they are.

    Example:
        >>> size = fs.learning.Kinked(lambda z: abs(z).sum(), lambda width: lambda z: ((z**2 + width**2) ** 0.5).sum())
        >>> float(size(np.array([-3.0, 0.0]))), float(size.rounded(4.0)(np.array([-3.0, 0.0])))
        (3.0, 9.0)
    """

    exact: Callable[..., Float[Array, ""]]
    rounded: Callable[[Any], Callable[..., Float[Array, ""]]]

    def __call__(self, *arguments: Any) -> Float[Array, ""]:
        return self.exact(*arguments)


@dataclass(frozen=True)
class HMC:
    """Hamiltonian Monte Carlo by kick, rotate, kick.

    Forces may be computed in float32. Kicks by *any* function of θ, and rotations, can be reversed and preserve volume:
    with energies in float64 at both ends of a trajectory the chain keeps its law, whatever the error of the forces, and
    also if they are those of an energy with its kinks rounded off.

    Attributes:
        length: angle travelled in the prior's rotation; π/2 would be an independent draw of the prior.
        jitter: the step of a trajectory differs from the adapted one by up to this share, at random.
        target: acceptance the step is adapted to.
        first_step: where adaptation begins.
        force_precision: of the forces; energies are always in the precision of the parameters.
        most_steps: of one trajectory.
        rounding: width over which forces round off the kinks of a `Kinked` energy, in steps; 0 leaves them.

    Example:
        >>> flat = lambda theta: 0.0 * jax.numpy.sum(theta)  # nothing was seen: the posterior is the prior
        >>> draw = jax.jit(lambda key: fs.learning.HMC().transition(key, jax.numpy.zeros(3), 0.1, flat))
        >>> with fs.double():
        ...     moved = draw(jax.random.key(0))
        >>> round(float(moved.acceptance), 6), int(moved.gradients)
        (1.0, 16)
    """

    length: float = 1.5
    jitter: float = 0.2
    target: float = 0.8
    first_step: float = 0.1
    force_precision: str = "float32"
    most_steps: int = 2000
    rounding: float = 0.0

    def transition(self, key: Array, parameters: Any, step: Any, energy: Energy) -> Transition:
        start, shaped = ravel_pytree(parameters)  # one array, so that all of it compiles once and not for every layer
        momentum = draws.normals(draws.fold_in(key, 0), _sizes(parameters), start.dtype)
        jitter, choice = draws.uniforms(key, (0, 1, 1))
        count = jnp.clip(jnp.ceil(self.length / step), 1, self.most_steps).astype(int)
        # The number of steps stays, so that the length varies too: no direction comes back to where it was every time.
        step = step * (1.0 + self.jitter * (2.0 * jitter - 1.0))
        guide = energy.rounded(self.rounding * step) if self.rounding and isinstance(energy, Kinked) else energy
        forces = _forces(guide, shaped, self.force_precision)

        def forward(number: Any, state: tuple[Array, Array]) -> tuple[Array, Array]:
            """A kick, half as long at either end, and a rotation, unless it is the end."""
            position, momentum = state
            last = number == count
            momentum = momentum + jnp.where((number == 0) | last, 0.5 * step, step) * forces(position)
            return _rotated(position, momentum, jnp.where(last, 0.0, step))

        position, last = jax.lax.fori_loop(0, count + 1, forward, (start, momentum))
        motion = 0.5 * jnp.sum(start**2 + momentum**2 - position**2 - last**2)
        before, after = jax.vmap(lambda theta: energy(shaped(theta)))(jnp.stack([start, position]))
        change = before - after + motion
        acceptance = jnp.where(jnp.isfinite(change), jnp.exp(jnp.minimum(change, 0.0)), 0.0)
        chosen = jnp.where(choice < acceptance, position, start)
        return Transition(shaped(chosen), acceptance, count + 1)


@dataclass(frozen=True)
class MALA:
    """The Metropolis-adjusted Langevin algorithm of blackjax, one gradient a draw.

    Attributes:
        target: acceptance the step is adapted to.
        first_step: where adaptation begins.

    Example:
        >>> fs.learning.MALA(first_step=1e-2)  # the `sampler` of a `posterior_process`
        MALA(target=0.574, first_step=0.01)
    """

    target: float = 0.574
    first_step: float = 1e-3

    def transition(self, key: Array, parameters: Any, step: Any, energy: Energy) -> Transition:
        import blackjax

        kernel: Any = blackjax.mala(_log_density(energy), step)
        state, info = kernel.step(_threefry(key), kernel.init(parameters))
        return Transition(state.position, info.acceptance_rate, jnp.asarray(2))


@dataclass(frozen=True)
class NUTS:
    """The No-U-Turn sampler of blackjax, with unit masses (parameters are whitened).

    Attributes:
        target: acceptance the step is adapted to.
        first_step: where adaptation begins.
        most_doublings: of one trajectory.

    Example:
        >>> fs.learning.NUTS(target=0.9)  # the `sampler` of a `posterior_process`
        NUTS(target=0.9, first_step=0.1, most_doublings=10)
    """

    target: float = 0.8
    first_step: float = 0.1
    most_doublings: int = 10

    def transition(self, key: Array, parameters: Any, step: Any, energy: Energy) -> Transition:
        import blackjax

        size = sum(np.size(leaf) for leaf in jax.tree.leaves(parameters))
        kernel: Any = blackjax.nuts(_log_density(energy), step, jnp.ones(size), max_num_doublings=self.most_doublings)
        state, info = kernel.step(_threefry(key), kernel.init(parameters))
        return Transition(state.position, info.acceptance_rate, info.num_integration_steps + 1)


def normal_like(key: Array, tree: Any) -> Any:
    """Standard normal numbers in the shape of a tree; leaf n is drawn with child n of the key."""
    flat, shaped = ravel_pytree(tree)
    return shaped(jnp.asarray(draws.normals(key, _sizes(tree), flat.dtype)))


def _sizes(tree: Any) -> list[int]:
    return [np.size(leaf) for leaf in jax.tree.leaves(tree)]


def _forces(energy: Energy, shaped: Callable[[Array], Any], precision: str) -> Callable[[Array], Array]:
    """−∂E/∂θ of θ as one array, computed in a precision of its own."""

    def forces(position: Array) -> Array:
        slope = jax.grad(energy)(jax.tree.map(lambda leaf: leaf.astype(precision), shaped(position)))
        return -ravel_pytree(slope)[0].astype(position.dtype)

    return forces


def _rotated(position: Array, momentum: Array, angle: Any) -> tuple[Array, Array]:
    """The motion under the prior: dθ/dt = p, dp/dt = −θ."""
    cosine, sine = jnp.cos(angle), jnp.sin(angle)
    return cosine * position + sine * momentum, cosine * momentum - sine * position


def _log_density(energy: Energy) -> Energy:
    """−E(θ) − ½|θ|²."""
    return lambda position: -energy(position) - 0.5 * jnp.sum(ravel_pytree(position)[0] ** 2)


def _threefry(key: Array) -> Array:
    """A key in the form blackjax splits."""
    return jax.random.wrap_key_data(jax.random.key_data(key), impl="threefry2x32")
