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
class HMC:
    """Hamiltonian Monte Carlo by kick, rotate, kick.

    Forces may be computed in float32. Kicks by *any* function of θ, and rotations, can be reversed and preserve volume:
    with energies in float64 at both ends of a trajectory the chain keeps its law, whatever the error of the forces.

    Attributes:
        length: angle travelled in the prior's rotation; π/2 would be an independent draw of the prior.
        jitter: the step of a trajectory differs from the adapted one by up to this share, at random.
        target: acceptance the step is adapted to.
        first_step: where adaptation begins.
        force_precision: of the forces; energies are always in the precision of the parameters.
        most_steps: of one trajectory.

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

    def transition(self, key: Array, parameters: Any, step: Any, energy: Energy) -> Transition:
        for_momentum, for_jitter, for_choice = draws.split(key, 3)
        momentum = normal_like(for_momentum, parameters)
        count = jnp.clip(jnp.ceil(self.length / step), 1, self.most_steps).astype(int)
        # The number of steps stays, so that the length varies too: no direction comes back to where it was every time.
        step = step * (1.0 + self.jitter * (2.0 * uniform(for_jitter) - 1.0))
        forces = _forces(energy, self.force_precision)

        def kick(position: Any, momentum: Any, size: Any) -> Any:
            return jax.tree.map(lambda p, f: p + size * f, momentum, forces(position))

        def forward(_: Any, state: tuple[Any, Any]) -> tuple[Any, Any]:
            position, momentum = _rotated(*state, step)
            return position, kick(position, momentum, step)

        halfway = (parameters, kick(parameters, momentum, 0.5 * step))
        position, last = jax.lax.fori_loop(0, count - 1, forward, halfway)
        position, last = _rotated(position, last, step)
        last = kick(position, last, 0.5 * step)
        change = _hamiltonian(energy, parameters, momentum) - _hamiltonian(energy, position, last)
        acceptance = jnp.where(jnp.isfinite(change), jnp.exp(jnp.minimum(change, 0.0)), 0.0)
        accepted = uniform(for_choice) < acceptance
        chosen = jax.tree.map(lambda new, old: jnp.where(accepted, new, old), position, parameters)
        return Transition(chosen, acceptance, count + 1)


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
    """Standard normal numbers in the shape of a tree."""
    leaves, structure = jax.tree.flatten(tree)
    drawn = [draws.normal(draws.fold_in(key, n), np.shape(leaf), leaf.dtype) for n, leaf in enumerate(leaves)]
    return jax.tree.unflatten(structure, [jnp.asarray(part) for part in drawn])


def uniform(key: Array) -> Float[Array, ""]:
    """One number between 0 and 1."""
    return 0.5 * (1.0 + jax.lax.erf(jnp.asarray(draws.normal(key, (), float)) / 2**0.5))


def _forces(energy: Energy, precision: str) -> Callable[[Any], Any]:
    """−∂E/∂θ, computed in a precision of its own."""

    def forces(position: Any) -> Any:
        slope = jax.grad(energy)(jax.tree.map(lambda leaf: leaf.astype(precision), position))
        return jax.tree.map(lambda s, leaf: -s.astype(leaf.dtype), slope, position)

    return forces


def _rotated(position: Any, momentum: Any, angle: Any) -> tuple[Any, Any]:
    """The motion under the prior: dθ/dt = p, dp/dt = −θ."""
    cosine, sine = jnp.cos(angle), jnp.sin(angle)
    moved = jax.tree.map(lambda q, p: cosine * q + sine * p, position, momentum)
    return moved, jax.tree.map(lambda q, p: cosine * p - sine * q, position, momentum)


def _hamiltonian(energy: Energy, position: Any, momentum: Any) -> Float[Array, ""]:
    squares = [jnp.sum(leaf**2) for leaf in jax.tree.leaves((position, momentum))]
    return energy(position) + 0.5 * sum(squares, start=jnp.asarray(0.0))


def _log_density(energy: Energy) -> Energy:
    return lambda position: -_hamiltonian(energy, position, ())


def _threefry(key: Array) -> Array:
    """A key in the form blackjax splits."""
    return jax.random.wrap_key_data(jax.random.key_data(key), impl="threefry2x32")
