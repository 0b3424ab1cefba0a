"""Steps of a sampler, adapted while a chain warms up."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from festina.learning.samplers import Energy, Sampler, Transition

SHRINKAGE, DELAY, FORGETTING = 0.05, 10.0, 0.75  # of dual averaging, as usual


class Adaptation(eqx.Module):
    """Dual averaging of the logarithm of a step towards a rate of acceptance (Hoffman & Gelman 2014)."""

    log_step: Float[Array, "*replicas"]
    log_averaged: Float[Array, "*replicas"]
    shortfall: Float[Array, "*replicas"]
    centre: Float[Array, "*replicas"]
    count: Float[Array, "*replicas"]

    @classmethod
    def start(cls, step: float) -> "Adaptation":
        log = jnp.log(jnp.asarray(step, float))
        return cls(log, log, jnp.zeros(()), log + jnp.log(jnp.asarray(10.0)), jnp.zeros(()))

    def after(self, acceptance: Any, target: float) -> "Adaptation":
        """One draw further: log ε = centre − √n/γ · (average shortfall of acceptance)."""
        count = self.count + 1.0
        weight = 1.0 / (count + DELAY)
        shortfall = (1.0 - weight) * self.shortfall + weight * (target - acceptance)
        log_step = self.centre - jnp.sqrt(count) / SHRINKAGE * shortfall
        share = count**-FORGETTING
        averaged = share * log_step + (1.0 - share) * self.log_averaged
        return Adaptation(log_step, averaged, shortfall, self.centre, count)


def adapted_draw(
    sampler: Sampler, key: Array, parameters: Any, adaptation: Adaptation, warming: Bool[Array, ""], energy: Energy
) -> tuple[Transition, Adaptation]:
    """One draw with the step of the moment, and the step of the next one: the same, unless the chain is warming up."""
    log_step = jnp.where(warming, adaptation.log_step, adaptation.log_averaged)
    moved = sampler.transition(key, parameters, jnp.exp(log_step), energy)
    adapted = adaptation.after(moved.acceptance, sampler.target)
    return moved, jax.tree.map(lambda new, old: jnp.where(warming, new, old), adapted, adaptation)
