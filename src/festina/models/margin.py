"""A rectified network that learns exclusive-or with a margin between the classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, ValidationInfo, field_validator

import festina as fs
from festina._lazy import jnp, np
from festina.config import continuous, knows_numbers, structural
from festina.model import Equation, Preset, Variable
from festina.models._small_steps import SmallSteps
from festina.ranges import Start
from festina.sources import LECTURE, SAXE_2022

if TYPE_CHECKING:
    from festina.models._types import Array, Curves, Float, Key, Observed, Process, Rectified, Solution

Separation = Annotated[float, Field(ge=0, le=10)]
NARROWEST = 1e-6  # margin below which the start of pathways is taken from its limit: rounding decides there


class Margin(SmallSteps):
    """A rectified network y = a·[Wx]₊ that learns y = z₁z₂ from x = (z₁, z₂, Δ·y), z = (±1, ±1), from small weights.

    For every margin Δ > 0 a linear map would do; Δ = 0 is exclusive-or, for which two inputs are enough. Two kinds of
    pathway race. Those on for one example have the strength s_XoR = √(2+Δ²)/4, those on for one class, a half-space,
    s_lin = Δ/2 (one on for all examples would have Δ, but no rectified unit can be that); both are equally fast at Δ* =
    √(2/3), and below Δ* the nonlinear kind wins. With π in each of four pathways of the first kind and ρ in each of two
    of the second, what each wins follows from π = π₀e^{2 s_XoR T}, ρ = ρ₀e^{2 s_lin T} and π√(2+Δ²) + ρΔ = 1. Theory
    takes π₀ and ρ₀ from the free growth of single units (`festina.theory.margin.captured`), with nothing fitted; it
    holds for small starts. At Δ = 0 units end on the edge of their active sets, so that no count of active examples
    means anything there, and theory gives the loss alone.

    As a function of Δ a run is smooth but for jumps: at some margins a unit that slides along the edge of its set comes
    off on the other side. Derivatives by Δ leave the jumps out; that of the loss is about a fifth off for that reason.

    Example:
        >>> import festina as fs
        >>> exact = fs.models.Margin(separation=0.5, width=50).theory()
        >>> bool(exact(50.0)["single_share"] > 0.9)  # below Δ* = √(2/3) the nonlinear kind wins
        True
    """

    name = "margin"
    sources = (LECTURE, SAXE_2022)
    solved_from_start = False
    variables = {
        "single_share": Variable("share of strength active on exactly one example"),
        "nonlinear": Variable("strength π of each pathway for one example"),
        "linear": Variable("strength ρ of each pathway for one class"),
        "loss": Variable("loss"),
        "index": Variable("index 2⟨y f(z₁, z₂, 0)⟩ − 1 of the function"),
        "alignment": Variable("cosine of incoming weights with the nearest example"),
    }
    quick = {"records": 100, "step_size": 0.025}

    inputs: int = structural(3, ge=2, le=3, help="3 inputs, or 2, which leave out the one with the margin")
    separation: Separation = continuous(0.5, help="margin Δ between the classes")
    scale: Start = continuous(1e-3, scale="log", help="s.d. σ of the weights at t = 0")
    width: int = structural(200, ge=4, le=10_000, help="hidden units H")

    equations = (
        Equation(
            r"s_{\text{XoR}} = \frac{\sqrt{2 + \Delta^2}}{4}, "
            r"\qquad s_{\text{lin}} = \frac{\Delta}{2}, \qquad \Delta^* = \sqrt{2/3}",
            "Pathways for one example and pathways for one class see these correlations, and so are equally fast at "
            "the margin Δ*.",
        ),
        Equation(
            r"\pi = \pi_0\, e^{2 s_{\text{XoR}} T}, \qquad \rho = \rho_0\, e^{2 s_{\text{lin}} T}, "
            r"\qquad \pi \sqrt{2 + \Delta^2} + \rho \Delta = 1",
            "Both kinds grow on one common error, until together they answer every example; that decides what each has "
            "won.",
        ),
    )
    presets = (
        Preset("nonlinear", "At a narrow margin units for one example win, though a linear map would do."),
        Preset("linear", "At a wide margin units for one class win.", {"separation": 1.2}),
        Preset(
            "exclusive-or",
            "Without a margin the network learns as four pathways would.",
            {"inputs": 2, "separation": 0.0},
        ),
    )

    @field_validator("separation")
    @classmethod
    def _has_an_input(cls, separation: float, info: ValidationInfo) -> float:
        if knows_numbers(info) and separation > 0 and info.data.get("inputs") == 2:
            raise ValueError("be 0 with two inputs, which leave out the one with the margin")
        return separation

    def start(self, key: Key) -> Rectified:
        """Independent normal weights with standard deviation σ."""
        return fs.networks.Rectified.init(key, (self.inputs, self.width, 1), self.scale)

    def process(self, start: Rectified) -> Process:
        samples = (fs.worlds.logic.margin(self.separation) if self.inputs == 3 else fs.worlds.logic.xor()).samples
        without = jnp.asarray(samples.inputs).at[:, 2:].set(0.0)

        def observe(network: Rectified) -> Observed:
            strength = fs.measures.activity.unit_strength(*network.weights)
            shares = fs.measures.activity.strength_by_size(network.hidden(samples.inputs)[0] > 0, strength)
            total = jnp.sum(strength)
            return {
                "single_share": shares[1],
                "nonlinear": shares[1] * total / 4.0,
                "linear": shares[2] * total / 2.0,
                "loss": samples.loss(network),
                "index": 2.0 * jnp.mean(samples.targets * network(without)) - 1.0,
                "alignment": jnp.sum(strength * nearest_cosine(network.weights[0], samples.inputs)) / total,
            }

        return self.descend(start, samples.loss, observe)

    def solution(self, start: Rectified) -> Solution:
        def curves(time: np.ndarray) -> Curves:
            return {name: values[..., 0] for name, values in race_of([self])(time).items()}

        return curves

    @classmethod
    def solutions(cls, models: Sequence[Margin], starts: Sequence[Rectified], times: np.ndarray) -> Iterator[Curves]:
        """All at once: chance has no part in the law, and all models of a batch record at the same times."""
        places = {model: place for place, model in enumerate(dict.fromkeys(models))}
        found = race_of(list(places))(times[0])
        for model in models:
            yield {name: values[..., places[model]] for name, values in found.items()}


def race_of(models: Sequence[Margin]) -> Solution:
    """The race in every network from the free growth of its units, networks last; counts are NaN where Δ = 0."""
    separation, size = (
        np.array(values) for values in zip(*((one.separation, one.width * one.scale**2) for one in models), strict=True)
    )
    nonlinear, linear = np.array([captured(max(margin, NARROWEST)) for margin in separation]).T
    race = fs.theory.margin.race(size * nonlinear, size * linear, separation)

    def curves(time: np.ndarray) -> Curves:
        found = race(time)
        return {
            name: values if name == "loss" else np.where(separation > 0, values, np.nan)
            for name, values in found.items()
        }

    return curves


@cache
def captured(separation: float) -> tuple[float, float]:
    """π₀/(Hσ²) and ρ₀/(Hσ²), the same for all runs."""
    nonlinear, linear = fs.theory.margin.captured(separation)
    return float(nonlinear), float(linear)


def nearest_cosine(incoming: Float[Array, "units i"], inputs: Float[Array, "n i"]) -> Float[Array, " units"]:
    """max_i cos(w, x_i) of every unit; all examples have one length."""
    length = jnp.linalg.norm(incoming, axis=-1) * jnp.linalg.norm(inputs[0])
    return jnp.max(incoming @ inputs.T, axis=-1) / length
