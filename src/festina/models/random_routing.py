"""Many domains through one hidden layer, from random weights: what becomes of pairs that are never trained."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, ValidationInfo, field_validator

import festina as fs
from festina._lazy import jax, jnp
from festina.config import continuous, structural
from festina.model import Equation, Preset, Variable
from festina.models._routing import Count, RoutingModel, shared_maps
from festina.models._small_steps import SmallSteps
from festina.ranges import Duration, SmallStepSize
from festina.sources import LECTURE, SAXE_2022

if TYPE_CHECKING:
    from festina.models._routing import Layers
    from festina.models._types import Key, Observed, Process
    from festina.theory.routing import Reduction

Gain = Annotated[float, Field(ge=1e-3, le=10)]
FEATURES, ITEMS = 7, 4  # of the hierarchy


class RandomRouting(RoutingModel, SmallSteps):
    """A network y_o = W3_o W2 W1_i x_i that starts from random matrices with orthonormal rows or columns, times a gain.

    Matrices are drawn for each domain by itself. The loss is the mean over trained pairs, so that all K take about as
    long; where the flow ends does not depend on this clock. What the network answers for the other pairs is measured in
    units of ½|Y|²: 1 is the error of answering zero. While a small start learns, all domains come to share one
    representation, and each mode acts as if it had begun with equal layers b1 = b2 = b3 of a size of its own
    (`RandomRouting.reduced`).

    Example:
        >>> import festina as fs
        >>> run = fs.models.RandomRouting(domains=2, trained=1, hidden=9, until=10.0, step_size=0.02, records=10).run()
        >>> run["learned"].isel(run=0, time=-1).values.round(2)
        array([1., 1., 1., 1.])
    """

    name = "random-routing"
    sources = (SAXE_2022, LECTURE)
    variables = {
        "strength": Variable("mode strengths on trained pairs", ("mode",)),
        "learned": Variable("share of s learned", ("mode",)),
        "loss": Variable("mean loss of trained pairs"),
        "untrained_error": Variable("error on untrained pairs, in ½|Y|²"),
    }
    quick = {"until": 20.0, "records": 100}

    domains: Annotated[Count, Field(ge=2)] = structural(7, help="domains M on either side")
    trained: Count = structural(4, help="trained outputs K of each input; fewer than domains")
    gain: Gain = continuous(0.2, scale="log", help="gain of the random orthogonal weights")
    hidden: int = structural(64, ge=FEATURES, le=1000, help="hidden units of both layers")
    until: Duration = structural(40.0, unit="τ", help="when to stop")
    step_size: SmallStepSize = structural(0.005, unit="τ", help="longest step of descent")
    records: int = structural(400, ge=10, le=10_000, help="recordings, evenly spaced")

    equations = (
        Equation(
            r"y_o = W_3^{(o)} W_2\, W_1^{(i)} x_i",
            "Every input domain i reaches every output domain o through one shared matrix, though few pairs are ever "
            "trained.",
        ),
        Equation(
            r"\tau \dot b_1 = \tfrac1M b_2 b_3 E, \quad \tau \dot b_2 = b_1 b_3 E, "
            r"\quad \tau \dot b_3 = \tfrac1M b_1 b_2 E, "
            r"\quad E = s - b_1 b_2 b_3",
            "While all M domains share one representation, three numbers describe each mode, whatever pairs are "
            "trained.",
        ),
    )
    presets = (
        Preset("small start", "With K = 4 of 7 a small start answers pairs that were never trained."),
        Preset("large start", "From a large start pairs that were never trained stay wrong.", {"gain": 2.5}),
        Preset("nothing tied", "With one trained output of each input nothing ties the domains.", {"trained": 1}),
    )

    @field_validator("trained")
    @classmethod
    def _at_most_all(cls, trained: int, info: ValidationInfo) -> int:
        if trained >= info.data.get("domains", trained + 1):
            raise ValueError("be fewer than the domains")
        return trained

    def start(self, key: Key) -> Layers:
        """Matrices with orthonormal rows or columns, times the gain."""
        from festina.worlds.orthogonal import orthogonal_factor

        shapes = (
            (self.domains, self.hidden, ITEMS),
            (1, self.hidden, self.hidden),
            (self.domains, FEATURES, self.hidden),
        )
        first, second, third = (
            self.gain * jax.vmap(orthogonal_factor)(jnp.asarray(fs.draws.normal(child, shape)))
            for child, shape in zip(fs.draws.split(key, 3), shapes, strict=True)
        )
        return first, second[0], third

    def process(self, start: Layers) -> Process:
        world = self.world("trained pairs")

        def observe(weights: Layers) -> Observed:
            maps = shared_maps(weights)
            strength, errors = self.strengths_of(maps), world.untrained_error(maps)
            learned = strength / jnp.asarray(self.modes.strengths)
            return {"strength": strength, "learned": learned, "loss": world.loss(maps), "untrained_error": errors}

        return self.descend(start, lambda weights: world.loss(shared_maps(weights)), observe)

    def reduced(self, starts: Any) -> Reduction:
        """The reduction to three numbers a mode from b1 = b2 = b3, one start for each mode or one for all."""
        return fs.theory.routing.reduction(self.modes.strengths, (starts,) * 3, **self.pairs)

    @property
    def pairs(self) -> dict[str, Any]:
        """M, K, and the weight of a trained pair in the loss."""
        weight = fs.worlds.TRAINED_PAIRS.weight(self.domains, self.trained)
        return {"domains": self.domains, "trained": self.trained, "pair_weight": weight}
