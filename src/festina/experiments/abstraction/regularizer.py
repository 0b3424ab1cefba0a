"""What the bounds on gates do by themselves: they make gates compete, but never say which of them should win."""

from math import isclose
from typing import Any

from pydantic import ValidationInfo, field_validator

import festina as fs
from festina import claims
from festina._lazy import jax, jnp, np
from festina.errors import require
from festina.experiment import Equation, Experiment, ExperimentConfig, Preset, Variable, continuous, structural
from festina.experiments.abstraction._regularizer_measures import (
    correlations,
    drift,
    largest_error,
    largest_residue,
    relaxed,
    residue_of_equals,
    share_nonnegative,
    starts,
    trap_error,
)
from festina.ranges import Coefficient, Duration
from festina.sources import SANDBRINK_2024

NORMS = (1, 2)  # orders k of ‖c‖_k
LEFT_BEHIND = (
    "likely the source: for k = 1 gates that all start negative are held at local minima, see the experiment's "
    "description"
)


class RegularizerFlow(Experiment):
    """The bounds on gates alone leave a whole curve of solutions, from one open gate to two that are equally open.

    Two gates descend on R(c) = λ₁ Σ max(0, −c) + λ₂ (‖c‖_k − 1)² alone, τ_c ċ = −∂R/∂c, from a grid of starts, for
    k = 1 and k = 2. R is zero on the part of the unit sphere of the norm where no gate is negative: a segment or an arc
    that holds the specialised solutions (1, 0) and (0, 1) as well as the unspecialised one in the middle. On it one
    gate can only rise if the other falls, which is competition; but nothing pulls towards its ends.

    From gates that are not negative the flow is solved in closed form, with s = c₁ + c₂, d = c₁ − c₂ and r = ‖c‖₂:

    - k = 1: s = 1 + (s₀ − 1) e^(−4λ₂t) and d is conserved, until a gate reaches zero. That happens if |d| > 1; the
      other gate then goes on alone, c = 1 + (|d| − 1) e^(−2λ₂(t − t*)), to the end of the segment;
    - k = 2: r = 1 + (r₀ − 1) e^(−2λ₂t), and the direction of c is conserved.

    The bound against negative gates is soft. For k = 1 and λ₁ < 2λ₂, gates that all start below zero stay there: the
    norm pushes them outwards, and the segment ‖c‖₁ = 1 − λ₁/2λ₂ =: q with all c < 0 is made of local minima. For k = 2
    such gates come to an axis, at (−q, 0), where the one that reached zero feels no force; any disturbance to the
    positive side (here, the length of a step) grows, but only as e^(λ₁t/q). Equal negative gates go to another saddle,
    with ‖c‖₂ = 1 − λ₁/(√2 λ₂). That gates are confined to the positive quadrant is thus true of k = 2 after a long
    time, and of k = 1 only if they do not all begin outside it.
    """

    name = "abstraction/regularizer"
    sources = (SANDBRINK_2024,)
    time_unit = "τ_c"
    variables = {
        "gates": Variable("gates c", ("norm", "gate", "start")),
        "penalty": Variable("regulariser R", ("norm", "start")),
    }
    seeds = 1
    quick = {"records": 200}

    class Config(ExperimentConfig):
        nonnegativity: Coefficient = continuous(1 / 11, help="coefficient λ₁ of Σ max(0, −c)")
        normalization: float = continuous(5 / 11, ge=1e-3, le=100, help="coefficient λ₂ of (‖c‖ − 1)²")
        lowest: float = continuous(-0.6, ge=-10, le=10, help="smallest gate among the starts")
        highest: float = continuous(1.4, ge=1e-3, le=10, help="largest gate among the starts")
        side: int = structural(
            12, ge=2, le=200, help="starts along each side of their square grid; (0, 0) cannot be one"
        )
        until: Duration = structural(200.0, unit="τ_c", help="when to stop")
        steps: int = structural(200_000, ge=1, le=10_000_000, help="Euler steps; gates at zero tremble by one of them")
        records: int = structural(1000, ge=1, le=1_000_000, help="recordings, evenly spaced; must divide the steps")

        @field_validator("records")
        @classmethod
        def _whole(cls, records: int, info: ValidationInfo) -> int:
            steps = info.data.get("steps", 0)
            if steps % records:
                raise ValueError(f"divide the {steps} steps there are")
            return records

    def configure(self, budget: Any = "full", **fields: Any) -> Any:
        """As any; not a validator, since those see the defaults of continuous fields when a run is built."""
        config = super().configure(budget, **fields)
        places = (number / (config.side - 1) for number in range(config.side))
        line = [config.lowest + (config.highest - config.lowest) * place for place in places]
        zero = any(isclose(gate, 0.0, abs_tol=1e-12) for gate in line)
        require(not zero, "side", "leave out (0, 0), where ‖c‖₂ has no gradient", config.side)
        return config

    def coordinates(self, config: Any) -> dict[str, Any]:
        return {"norm": list(NORMS)}

    def simulate(self, config: Any, key: Any) -> Any:
        bounds = [fs.networks.Regularizer(config.nonnegativity, config.normalization, order=order) for order in NORMS]

        def penalties(gates: Any) -> Any:
            return jnp.stack(
                [jax.vmap(bound.of_gates, in_axes=1)(part) for bound, part in zip(bounds, gates, strict=True)]
            )

        def rate(gates: Any, data: Any, stage: Any) -> Any:
            return jax.grad(lambda gates: -jnp.sum(penalties(gates)))(gates)

        return fs.learning.descent_process(
            rate,
            jnp.stack([starts(config, jnp)] * len(NORMS)),
            key,
            config.until / config.steps,
            config.records,
            config.steps // config.records,
            lambda state: {"gates": state.parameters, "penalty": penalties(state.parameters)},
            draw=lambda key: None,
        )

    def theory(self, config: Any, key: Any) -> Any:
        begin = np.asarray(starts(config, np))

        def curves(time: Any) -> dict[str, Any]:
            both = [solution(begin, config.normalization, np.asarray(time), order) for order in NORMS]
            return {"gates": np.stack(both, axis=1)}

        return curves

    equations = (
        Equation(
            r"\tau_c\, \dot c = -\nabla R, "
            r"\qquad R = \lambda_1 \sum_p \max(0, -c^p) + \lambda_2\, \bigl(\|c\|_k - 1\bigr)^2",
            "Gates that feel nothing but their bounds, which vanish on a whole curve where no gate is negative.",
        ),
        Equation(
            r"c_1 + c_2 = 1 + (s_0 - 1)\, e^{-4 \lambda_2 t/\tau_c}, \qquad c_1 - c_2 = \text{const} \qquad (k = 1)",
            "Positive gates come to the segment along its normal, so that their difference is kept.",
        ),
        Equation(
            r"\|c\|_2 = 1 + (r_0 - 1)\, e^{-2 \lambda_2 t/\tau_c} \qquad (k = 2)",
            "With the Euclidean norm they come to the arc along a ray, so that their direction is kept.",
        ),
    )
    presets = (
        Preset(
            "Figure B.1", "Most gates come to the positive segment or arc; some that start negative are left behind."
        ),
        Preset("firm bounds", "With λ₁ above 2λ₂ no start is left among the negative gates.", {"nonnegativity": 1.0}),
        Preset("positive starts", "Gates that start positive follow the closed forms.", {"lowest": 0.05}),
    )

    @claims.theory(claims.below(2e-3))
    def exact(self, result: Any) -> Any:
        """Gates that start positive follow the closed form (largest error of any of them at any time)."""
        return largest_error(result)

    @claims.theory(claims.below(1e-3), source=SANDBRINK_2024.at("fig. B.1"))
    def zero(self, result: Any) -> Any:
        """The regulariser can be satisfied without residue (largest R at the end from starts that are not all
        negative).
        """
        return relaxed(result, largest_residue(result), climbing=True)

    @claims.paper(SANDBRINK_2024.at("app. B.3, fig. B.1"), claims.below(1e-6))
    def unspecialised_solution(self, result: Any) -> Any:
        """Equal gates are a solution (largest regulariser R at the end from starts that are positive and equal; our
        threshold).
        """
        return relaxed(result, residue_of_equals(result))

    @claims.paper(SANDBRINK_2024.at("app. B.3, fig. B.1"), claims.below(1e-3))
    def not_forced(self, result: Any) -> Any:
        """Unequal gates are not forced to specialise: positive starts with |c₁ − c₂| < 1 keep that difference for k = 1
        (largest change; our threshold).
        """
        return relaxed(result, drift(result))

    @claims.paper(SANDBRINK_2024.at("app. B.3"), claims.below(-0.9))
    def competition(self, result: Any) -> Any:
        """Among solutions a more open gate means a less open other one (correlation of the two gates at the end; our
        threshold).
        """
        return relaxed(result, correlations(result))

    @claims.paper(SANDBRINK_2024.at("app. B.3"), claims.near(1.0, 0.05), reason=LEFT_BEHIND)
    def nonnegative_l1(self, result: Any) -> Any:
        """For k = 1 gates are constrained to the positive quadrant (share of all starts that end there; our
        tolerance).
        """
        return share_nonnegative(result, 1)

    @claims.paper(SANDBRINK_2024.at("app. B.3"), claims.near(1.0, 0.05))
    def nonnegative_l2(self, result: Any) -> Any:
        """For k = 2 gates are constrained to the positive quadrant (share of all starts that end there; our
        tolerance).
        """
        return share_nonnegative(result, 2)

    @claims.theory(claims.below(1e-3))
    def negative_minima(self, result: Any) -> Any:
        """For k = 1 gates that are all negative end at ‖c‖₁ = 1 − λ₁/2λ₂ (largest deviation)."""
        return relaxed(result, trap_error(result))

    def figure(self, result: Any) -> Any:
        from festina.experiments.abstraction._regularizer_figure import draw

        return draw(result)


def solution(start: Any, strength: float, time: Any, order: int) -> Any:
    """The gates in closed form from each start at each time, (time, gate, start); NaN where a start is negative."""
    time = np.asarray(time)[:, None]
    if order == 2:
        norm = np.sqrt((start**2).sum(axis=0))
        found = start * ((1.0 + (norm - 1.0) * np.exp(-2.0 * strength * time)) / norm)[:, None]
    else:
        found = _along_segment(start, strength, time)
    return np.where(start.min(axis=0) >= 0, found, np.nan)


def _along_segment(start: Any, strength: float, time: Any) -> Any:
    """The same for k = 1: the sum relaxes and the difference stays, until the smaller gate is zero."""
    total, apart = start.sum(axis=0), np.abs(start[0] - start[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        closes = np.where(apart > 1.0, np.log((total - 1.0) / (apart - 1.0)) / (4.0 * strength), np.inf)
    alone = 1.0 + (apart - 1.0) * np.exp(-2.0 * strength * np.maximum(time - closes, 0.0))
    together = 1.0 + (total - 1.0) * np.exp(-4.0 * strength * time)
    larger = np.where(time < closes, (together + apart) / 2.0, alone)
    smaller = np.where(time < closes, (together - apart) / 2.0, 0.0)
    return np.where((start[0] >= start[1])[None, None], np.stack([larger, smaller], 1), np.stack([smaller, larger], 1))
