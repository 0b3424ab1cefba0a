"""Many domains through one hidden layer, or through a network for every pair, or both: from decoupled weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

import festina as fs
from festina._lazy import jax, jnp, np
from festina.config import continuous, knows_numbers, structural
from festina.model import Equation, Preset, Variable
from festina.models._routing import MODES, RoutingModel, private_maps, shared_maps
from festina.ranges import Duration
from festina.sources import LECTURE, SAXE_2022

if TYPE_CHECKING:
    from festina.models._routing import Layers
    from festina.models._types import Array, Curves, Float, Key, Observed, Process, Solution, State

    Weights = dict[str, Layers]

Product = Annotated[float, Field(ge=1e-9, le=1.499)]
Exponent = Annotated[float, Field(ge=-2.0, le=2.0)]
FIRST = 1e-3  # of the duration: the first recording after the start


class Routing(RoutingModel):
    """A network y_o = W3_o W2 W1_i x_i with one hidden matrix for all domains, a network for every pair, or both.

    L = w Σ_trained ½|Y − W_oi|², where the weight w of a pair is 1/M² or, averaged over trained pairs alone, 1/(KM).
    From decoupled weights, the same in all domains, each mode of the shared pathway follows τḃ1 = wK b2 b3 E,
    τḃ2 = wKM b1 b3 E, τḃ3 = wK b1 b2 E, and every layer of a private one τċ = w c² E, with E = s − b1 b2 b3 − c³.
    Layers of the shared pathway start with b2 = M^(β/2) b1 and b3 = b1, all equal at β = 0 and balanced at β = 1; those
    of private pathways are equal.

    Example:
        >>> import festina as fs
        >>> model = fs.models.Routing(domains=4, trained=2)
        >>> model.theory()(50.0)["learned"].round(3)
        array([1., 1., 1., 1.])
    """

    name = "routing"
    sources = (SAXE_2022, LECTURE)
    solved_from_start = False
    variables = {
        "strength": Variable("mode strengths on trained pairs", ("mode",)),
        "learned": Variable("share of s learned", ("mode",)),
        "shared": Variable("share of s that the shared pathway has learned", ("mode",)),
        "private": Variable("share of s that private pathways have learned", ("mode",)),
        "loss": Variable("loss"),
    }
    quick = {"records": 100}

    pathways: Literal["shared", "private", "both"] = structural("shared", help="which pathways there are")
    average: Literal["all pairs", "trained pairs"] = structural(
        "all pairs", help="over which pairs the loss is averaged; over trained ones, its speed does not depend on K"
    )
    initial: Product = continuous(0.2, help="product of the three layers of each pathway at t = 0")
    balance: Exponent = continuous(1.0, help="β, which sets b2 = M^(β/2) b1 at t = 0: equal layers at 0, balanced at 1")
    until: Duration = continuous(50.0, unit="τ", help="when to stop")
    records: int = structural(300, ge=10, le=100_000, help="recordings, evenly spaced in log time")

    equations = (
        Equation(
            r"\tau \dot u = 3K M^{-5/3}\, u^{4/3}\, (s - u)",
            "The product u of three shared layers learns faster by K·M^(1/3) than a network of its own for every pair "
            "would.",
        ),
        Equation(
            r"u^{-1/3} - K M^{1/3}\, v^{-1/3} = \text{const}",
            "A shared pathway u and a private one v race under this law: the smaller the start, the more the shared "
            "one takes.",
        ),
    )
    presets = (
        Preset("shared", "One hidden matrix learns from all trained pairs, mode by mode."),
        Preset(
            "private", "A network for every pair learns from its own pair alone, and is slow.", {"pathways": "private"}
        ),
        Preset(
            "race",
            "From a small start the shared pathway takes nearly all.",
            {"pathways": "both", "average": "trained pairs", "initial": 1e-3},
        ),
    )

    @field_validator("initial")
    @classmethod
    def _leaves_a_race(cls, initial: float, info: ValidationInfo) -> float:
        single = info.data.get("single", np.inf)
        if info.data.get("pathways") == "both" and knows_numbers(info) and 2.0 * initial >= single:
            raise ValueError(f"be less than half of `single`, {single:g}, for two pathways to race")
        return initial

    @property
    def layers(self) -> tuple[Array, Array, Array]:
        """b1, b2 and b3 of the shared pathway at t = 0."""
        root = float(self.domains) ** (0.5 * self.balance)
        outer = (self.initial / root) ** (1 / 3)
        return outer, root * outer, outer

    def start(self, key: Key) -> Weights:
        """Weights that hold b1, b2 and b3 on the diagonal of every mode, one hidden unit each; nothing is random."""
        found, equal = {}, self.initial ** (1 / 3)
        if self.pathways != "private":
            found["shared"] = self._decoupled(self.layers, (self.domains,), ())
        if self.pathways != "shared":
            pairs = (self.domains, self.domains)
            found["private"] = self._decoupled((equal, equal, equal), pairs, pairs)
        return found

    def _decoupled(self, layers: Layers, outer: tuple[int, ...], inner: tuple[int, ...]) -> Layers:
        """Layers of one pathway, the first and third for each of ``outer``, the second for each of ``inner``."""
        first, second, third = layers
        modes = self.modes
        matrices = first * jnp.asarray(modes.right.T), second * jnp.eye(MODES), third * jnp.asarray(modes.left)
        stacks = (outer, inner, outer)
        one, two, three = (jnp.broadcast_to(m, (*s, *m.shape)) for m, s in zip(matrices, stacks, strict=True))
        return one, two, three

    def process(self, start: Weights) -> Process:
        world, kinds = self.world(self.average), {"shared": shared_maps, "private": private_maps}

        def maps(weights: Weights) -> Float[Array, "outputs inputs features items"]:
            first, *others = (kinds[name](layers) for name, layers in weights.items())
            return sum(others, start=first)

        def rate(weights: Weights, stage: Array) -> Weights:
            return jax.grad(lambda weights: -world.loss(maps(weights)))(weights)

        def observe(state: State) -> Observed:
            weights = state.parameters
            whole, size, none = maps(weights), jnp.asarray(self.modes.strengths), jnp.zeros(MODES)
            parts = {name: self.strengths_of(kinds[name](layers)) for name, layers in weights.items()}
            strength = self.strengths_of(whole)
            shares = {name: parts.get(name, none) / size for name in kinds}
            return {"strength": strength, "learned": strength / size, **shares, "loss": world.loss(whole)}

        later = self.until * jnp.geomspace(FIRST, 1.0, self.records)
        times = jnp.concatenate([jnp.zeros(1), later])
        return fs.learning.flow_process(rate, start, times, observe, tolerance=fs.learning.Tolerance(1e-12, 1e-14))

    def solution(self, start: Weights) -> Solution:
        shared, private = (self.pathways != other for other in ("private", "shared"))
        reduction = fs.theory.routing.reduction(
            self.modes.strengths,
            self.layers if shared else (0.0, 0.0, 0.0),
            self.domains,
            self.trained,
            pair_weight=float(self.world(self.average).weight),
            private=self.initial if private else 0.0,
        )

        def curves(time: np.ndarray) -> Curves:
            found, size = reduction(time), self.modes.strengths
            parts = {"shared": found["strength"] / size, "private": found["private"] / size}
            total = found["strength"] + found["private"]
            return {"strength": total, "learned": total / size, **parts, "loss": found["loss"]}

        return curves
