"""Replica exchange: a chain in the company of hotter ones, with which it now and then changes places.

Replica r has its own temperature T_r = λ_r T, r = 0 being the chain itself with λ_0 = 1, and the law of all of them is
the product Π_r exp(−E(θ_r; T_r) − ½|θ_r|²). Every replica makes a draw of its own law; then neighbours r, r+1 change
places with probability min(1, e^Δ),

    Δ = E(θ_r; T_r) + E(θ_{r+1}; T_{r+1}) − E(θ_{r+1}; T_r) − E(θ_r; T_{r+1}),

which keeps the product. The prior is the same at all temperatures and drops out. For energies E = U/T it is the usual
Δ = (1/T_r − 1/T_{r+1})(U(θ_r) − U(θ_{r+1})), but E may depend on T in any way. Pairs with even r meet in even draws,
those with odd r in odd ones.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from festina import draws
from festina.errors import require
from festina.learning.adaptation import Adaptation, adapted_draw
from festina.learning.collapsed import Collapsed
from festina.learning.samplers import HMC, Energy, Sampler, Transition
from festina.precision import is_traced

Heated = Callable[[Any], Energy]  # the energy at so many times the temperature
MEETING = 1 << 30  # child of a draw's key from which hotter replicas and meetings have theirs; a sampler uses the first


class Company(eqx.Module):
    """The hotter replicas of a chain, from cold to hot.

    Attributes:
        parameters: θ of each, with a leading axis.
        adaptation: of the step of each.
        acceptance: how likely each pair of neighbours was to change places when it last met; first the chain itself
            with the coldest of its company.

    Example:
        >>> company = fs.learning.ReplicaExchange((1.0, 2.0, 4.0)).company(jax.numpy.zeros(5))
        >>> company.parameters.shape, company.acceptance.shape
        ((2, 5), (2,))
    """

    parameters: Any
    adaptation: Adaptation
    acceptance: Float[Array, " pairs"]


@dataclass(frozen=True)
class ReplicaExchange:
    """Replica exchange over temperature, also called parallel tempering: for posteriors of several separate modes.

    A draw takes one of every replica: the chain's own costs what it costs alone, hotter ones less, for their steps are
    larger. Record ``state.memory.company.acceptance`` to see whether neighbours change places: where it is nearly zero
    the ladder wants another rung.

    Attributes:
        ladder: temperatures of the replicas, in units of the chain's own: 1, and rising from there.
        within: how each of them is drawn.

    Example:
        >>> def build(inputs):  # two wells at ±2, the left one deeper, with a barrier of 40 between them
        ...     return fs.learning.posterior_process(
        ...         lambda theta, data, heat: jax.numpy.sum(40 * (theta**2 / 4 - 1) ** 2 + theta / 4) / heat,
        ...         inputs["start"], (), inputs["key"], records=1, draws_per_record=3000,
        ...         observe=lambda state: {"right": state.memory.means}, temperature=fs.learning.constant(1.0),
        ...         warm_up=300, sampler=fs.learning.ReplicaExchange((1.0, 3.0, 10.0, 30.0)),
        ...         average=lambda theta: (theta > 0).astype(float))
        >>> chains = {"start": np.full((4, 1), 2.0), "key": jax.random.split(jax.random.key(0), 4)}
        >>> round(float(fs.learning.drive(build, chains).observed["right"][:, -1].mean()), 1)  # 1/(1 + e) = 0.27
        0.3
    """

    ladder: tuple[Any, ...]
    within: Sampler = field(default_factory=HMC)

    def __post_init__(self) -> None:
        collapsed = isinstance(self.within, Collapsed)
        require(not collapsed, "within", "draw at any temperature", "a collapsed sampler, which is for one")
        if is_traced(self.ladder):
            return
        rising = len(self.ladder) > 1 and self.ladder[0] == 1 and bool(np.all(np.diff(self.ladder) > 0))
        require(rising, "ladder", "have two temperatures or more, the first of them 1, and rise", self.ladder)

    @classmethod
    def geometric(cls, replicas: int, hottest: Any, within: Sampler | None = None) -> "ReplicaExchange":
        """A ladder of so many replicas with one factor between neighbours, the last ``hottest`` times as hot.

        Example:
            >>> fs.learning.ReplicaExchange.geometric(3, 9.0).ladder
            (1.0, 3.0, 9.0)
        """
        require(replicas >= 2, "replicas", "be at least 2", replicas)
        ladder = (1.0, *(hottest ** (rung / (replicas - 1)) for rung in range(1, replicas)))
        return cls(ladder, within or HMC())

    @property
    def first_step(self) -> float:
        return self.within.first_step

    @property
    def target(self) -> float:
        return self.within.target

    def transition(self, key: Array, parameters: Any, step: Any, energy: Energy) -> Transition:
        """A draw of the chain itself, before it meets its company."""
        return self.within.transition(key, parameters, step, energy)

    def company(self, parameters: Any) -> Company:
        """Hotter replicas that all start where the chain does."""
        hotter = len(self.ladder) - 1
        repeated = lambda leaf: jnp.repeat(jnp.asarray(leaf)[None], hotter, axis=0)  # noqa: E731
        adaptation = jax.tree.map(repeated, Adaptation.start(self.first_step))
        return Company(jax.tree.map(repeated, parameters), adaptation, jnp.zeros(hotter))

    def meet(
        self,
        key: Array,
        number: Int[Array, ""],
        parameters: Any,
        company: Company,
        warming: Bool[Array, ""],
        at: Heated,
    ) -> tuple[Any, Company, Int[Array, ""]]:
        """Draws of all hotter replicas, and then the meeting of neighbours.

        Args:
            key: of the draw.
            number: of the draw.
            parameters: θ of the chain itself, which has made its draw.
            company: the others, which have not.
            warming: whether steps are adapted.
            at: ``at(λ)`` is the energy of θ at λ times the temperature.

        Returns:
            θ of the chain itself, its company, and the gradients that this took.
        """
        for_draws, for_meeting = draws.split(draws.fold_in(key, MEETING), 2)
        keys = jnp.stack(draws.split(for_draws, len(self.ladder) - 1))
        ladder = jnp.stack([jnp.asarray(rung, float) for rung in self.ladder])

        def one(key: Array, own: Any, adaptation: Adaptation, rung: Any) -> tuple[Transition, Adaptation]:
            return adapted_draw(self.within, key, own, adaptation, warming, at(rung))

        moved, adaptation = jax.vmap(one)(keys, company.parameters, company.adaptation, ladder[1:])
        together = jax.tree.map(lambda cold, hot: jnp.concatenate([cold[None], hot]), parameters, moved.parameters)
        acceptance = meeting(together, ladder, at)
        meets = jnp.arange(len(self.ladder) - 1) % 2 == number % 2
        chances = jax.vmap(lambda own: draws.uniform(own, ()))(
            jnp.stack(draws.split(for_meeting, len(self.ladder) - 1))
        )
        together = exchanged(together, meets & (chances < acceptance))
        last = jnp.where(meets, acceptance, company.acceptance)
        hotter = Company(_part(together, slice(1, None)), adaptation, last)
        return _part(together, 0), hotter, jnp.sum(moved.gradients)


def meeting(together: Any, ladder: Float[Array, " replicas"], at: Heated) -> Float[Array, " pairs"]:
    """min(1, e^Δ), how likely each pair of neighbours is to change places.

    Args:
        together: θ of all replicas, from cold to hot, with a leading axis.
        ladder: λ of each.
        at: ``at(λ)`` is the energy of θ at λ times the temperature.
    """
    energies = jax.vmap(lambda own, rung: at(rung)(own))
    colder, hotter = (
        jax.tree.map(lambda leaf, part=part: leaf[part], together) for part in (slice(-1), slice(1, None))
    )
    now = energies(together, ladder)
    change = now[:-1] + now[1:] - energies(hotter, ladder[:-1]) - energies(colder, ladder[1:])
    return jnp.where(jnp.isfinite(change), jnp.exp(jnp.minimum(change, 0.0)), 0.0)


def exchanged(together: Any, swap: Bool[Array, " pairs"]) -> Any:
    """Replicas after some pairs of neighbours, none of which share one, changed places."""
    up, down = (jnp.pad(swap.astype(int), widths) for widths in ((0, 1), (1, 0)))
    return _part(together, jnp.arange(len(swap) + 1) + up - down)


def _part(together: Any, which: Any) -> Any:
    """Some of the replicas."""
    return jax.tree.map(lambda leaf: leaf[which], together)
