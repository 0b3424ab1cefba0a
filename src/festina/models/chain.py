"""A chain of scalar weights: the smallest deep network."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

import festina as fs
from festina._lazy import jax, jnp
from festina.config import OrInfinite, continuous, structural
from festina.model import Equation, Model, Variable
from festina.ranges import Start, Strength
from festina.sources import LECTURE, SAXE_2013

if TYPE_CHECKING:
    from festina.models._types import Array, Float, Key, Process, Solution

Depth = Annotated[float, Field(ge=1), OrInfinite(le=1000)]


class Chain(Model):
    """A chain of D weights, y = w_D ⋯ w_1 x, from equal weights.

    With input variance λ and input-output correlation s the product a of the weights obeys τ ȧ = D a^(2−2/D) (s − λ a):
    exponential for D = 1, a sigmoid for D = 2, ever later and more abrupt beyond. For D = ∞ the rate is divided by D,
    τ ȧ = a² (s − λ a), so that there is a limit. Integer depths are simulated as the D weights they are; other depths
    through the equation for a, which is all that defines them.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> model = fs.models.Chain(depth=2, strength=3.0, input_variance=2.0)
        >>> model.theory()(np.array([0.0, 0.5, 1.0, 10.0]))["product"].round(3)  # a sigmoid, to s/λ
        array([0.01 , 0.178, 1.095, 1.5  ])
    """

    name = "chain"
    sources = (SAXE_2013, LECTURE)
    solved_from_start = False
    variables = {
        "product": Variable("product of the weights a"),
        "loss": Variable("loss ½λ(a − s/λ)²"),
    }
    quick = {"records": 500}

    depth: Depth = structural(2.0, help="layers D, whole or not, or `inf`")
    strength: Strength = continuous(3.0, help="input-output correlation s")
    input_variance: Strength = continuous(2.0, help="input variance λ")
    initial: Start = continuous(1e-2, scale="log", help="product a₀ of the weights at t = 0")
    until: float = continuous(100.0, ge=1e-6, le=1e5, unit="τ", help="when to stop")
    records: int = structural(1000, ge=10, le=100_000, help="recordings, evenly spaced in log time")

    equations = (
        Equation(
            r"\tau\, \dot a = D\, a^{2 - 2/D}\, (s - \lambda a)",
            "The product a of D equal weights goes to s/λ; from two layers on it has no speed at zero, which is the "
            "saddle.",
        ),
        Equation(
            r"a(t) = \frac{s\, a_0}{\lambda a_0 + (s - \lambda a_0)\, e^{-2st/\tau}} \qquad (D = 2)",
            "Two layers follow a sigmoid: the wait grows as the logarithm of 1/a₀, and the jump takes as long from any "
            "start.",
        ),
        Equation(
            r"a(t) = \frac{s/\lambda}{1 + \omega(L)}, \quad L = y_0 + \ln y_0 - \frac{s^2}{\lambda} \frac{t}{\tau}, "
            r"\quad y_0 = \frac{s}{\lambda a_0} - 1 \qquad (D = \infty)",
            "With the rate divided by D there is a limit of infinite depth, solved by Wright's ω, ω + ln ω = L.",
        ),
    )

    @property
    def has_weights(self) -> bool:
        """Whether there is a whole number of weights."""
        return math.isfinite(self.depth) and float(self.depth).is_integer()

    def start(self, key: Key) -> Float[Array, " weights"]:
        """Equal weights whose product is ``initial``; the product itself where there is no whole number of weights."""
        if self.has_weights:
            return jnp.full((int(self.depth),), 1.0) * self.initial ** (1.0 / self.depth)
        return jnp.ones((1,)) * self.initial

    def process(self, start: Float[Array, " weights"]) -> Process:
        def loss(weights: Float[Array, " weights"]) -> Float[Array, ""]:
            return 0.5 * self.input_variance * (jnp.prod(weights) - self.strength / self.input_variance) ** 2

        def rate(weights: Float[Array, " weights"], stage: Array) -> Float[Array, " weights"]:
            downhill = -jax.grad(loss)(weights)
            return downhill if self.has_weights else downhill * self._mobility(weights)

        return fs.learning.flow_process(
            rate,
            start,
            self._times(),
            lambda state: {"product": jnp.prod(state.parameters), "loss": loss(state.parameters)},
        )

    def solution(self, start: Float[Array, " weights"]) -> Solution:
        return fs.theory.chain(self.depth, self.strength, self.initial, input_variance=self.input_variance)

    def _mobility(self, product: Float[Array, " weights"]) -> Float[Array, " weights"]:
        """How fast the product follows its own gradient: D a^(2−2/D), or a² at infinite depth."""
        return product**2 if math.isinf(self.depth) else self.depth * product ** (2.0 - 2.0 / self.depth)

    def _times(self) -> Float[Array, " records"]:
        """Zero, then evenly spaced in log time, from where one layer, which is as fast as λ, has hardly begun."""
        first = jnp.minimum(1e-4, 0.02 / (self.input_variance * self.until))
        shares = jnp.exp(jnp.linspace(jnp.log(first), 0.0, self.records))
        return jnp.concatenate([jnp.zeros(1), self.until * shares])
