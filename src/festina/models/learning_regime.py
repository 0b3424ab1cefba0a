"""A wide network anywhere between learning features and being lazy, sampled from its posterior."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationInfo, field_validator

import festina as fs
from festina._lazy import jnp, np, xr
from festina.config import continuous, structural
from festina.errors import ArgumentError
from festina.model import Equation, Preset, Variable
from festina.models._sampled import SAMPLED
from festina.models._wide import ON, POSTERIOR, at_all_times
from festina.models.wide_bayesian import WideBayesian

if TYPE_CHECKING:
    from festina.models._types import Array, Bayesian, Float, Int, Observed, Predictor, Solution
    from festina.models._wide import Begin

NEURON_BY_NEURON = ("readout", "activity", "kernel")  # what is recorded of other networks, and here not

LAZINESS = Equation(
    r"s = \bigl(\sigma_a^2 P^{-1/L}\bigr)^{1 - h} N^h, \qquad T \to T N^h",
    "With the laziness h = 1 answers are f = aφ/√N with standard normal a at temperature T: a lazy network. With h = 0 "
    "it learns features.",
)


class LearningRegime(WideBayesian):
    """A wide network sampled from its posterior, with a laziness h from 0, where it learns features, to 1.

    A lazy network, f = aφ/√N with a ~ N(0, 1) and the posterior exp(−Σ|y − f|²/2T), is one of `model/wide-bayesian`
    with readouts of prior variance N at the temperature NT. Between the two, h is the exponent of N in both.

    Recorded are answers to test inputs, in *parts*: f* = Σ_γ f*_γ, where f*_γ is what neurons of code γ contribute,
    those that are on in the same classes. A neuron is on where its mean activity is above ½ if it is sigmoidal, above 0
    if linear, and above half of its largest if rectified. Theory has mean and variance of answers of lazy networks as
    N → ∞, of linear ones, and of one layer that learns features.

    Example:
        >>> import festina as fs
        >>> fs.models.LearningRegime(laziness=1.0, width=100).readout_variance  # N, for answers aφ/√N
        100.0
        >>> lazy, rich = (fs.models.LearningRegime(laziness=h, nonlinearity="linear").predicted() for h in (1.0, 0.0))
        >>> bool(lazy.variance.mean() > 50 * rich.variance.mean())
        True
    """

    name = "learning-regime"
    equations = (POSTERIOR, LAZINESS)
    variables = {name: each for name, each in SAMPLED.items() if name not in NEURON_BY_NEURON} | {
        "heat": Variable("temperature T N^h of the draw"),
        "test": Variable("answer f to test inputs", ("input", "output")),
        "parts": Variable("what neurons of each code contribute to it", ("code", "input", "output")),
    }
    quick = WideBayesian.quick | {"width": 50}
    presets = (
        Preset("features", "Answers of a network that learns features vary little."),
        Preset("lazy", "Those of a lazy network are a Gaussian process.", {"laziness": 1.0}),
        Preset("half-way", "Between the two regimes.", {"laziness": 0.5}),
    )

    tests: int = structural(4, ge=1, le=1000, help="noisy test inputs of each class")
    laziness: float = continuous(0.0, ge=0, le=1, help="exponent h of N: 0 where features are learned, 1 if lazy")

    @field_validator("laziness")
    @classmethod
    def _collapsed_features(cls, laziness: float, info: ValidationInfo) -> float:
        if info.data.get("method") == "collapsed" and laziness > 0:
            raise ValueError("be 0 for the collapsed method")
        return laziness

    @property
    def readout_variance(self) -> Any:
        """s = (σ_a²/P^{1/L})^{1−h} N^h."""
        return super().readout_variance ** (1.0 - self.laziness) * self.width**self.laziness

    def heat(self, draw: Int[Array, ""]) -> Float[Array, ""]:
        """T N^h of each draw, by its number."""
        return super().heat(draw) * self.width**self.laziness

    def coordinates(self) -> dict[str, Any]:
        found = {name: values for name, values in super().coordinates().items() if name != "neuron"}
        return found | {"code": range(2 ** len(self.counts))}

    def seen(self, network: Bayesian) -> Observed:
        seen = super().seen(network)
        found, on = {name: seen[name] for name in ("loss", "class_kernel")}, self._on(seen["activity"])
        codes = (np.arange(2 ** len(self.counts))[:, None] >> np.arange(len(self.counts))[None]) & 1 == 1
        mine = jnp.all(on[:, None] == codes[None], axis=-1).astype(float)  # neuron × code
        hidden = network.hidden(jnp.asarray(self.test_inputs()))[-1]
        parts = jnp.einsum("in,nc,no->cio", hidden, mine, network.readouts) / self.width
        return found | {"test": parts.sum(axis=0), "parts": parts}

    def _on(self, activity: Float[Array, "neurons classes"]) -> Any:
        """Where a neuron is on, by class."""
        if self.nonlinearity == "rectified":
            return activity > ON * activity.max(axis=1, keepdims=True)
        return activity > (ON if self.nonlinearity == "sigmoidal" else 0.0)

    def averaged(self, network: Bayesian) -> Observed:
        answers = network(jnp.asarray(self.test_inputs()))
        return {"answer": network(np.asarray(self.world().inputs)), "mean": answers, "square": answers**2}

    def concluded(self, network: Bayesian) -> Observed:
        return {}

    def predicted(self) -> Predictor | None:
        """Mean and variance of answers to test inputs in theory; None where there is none, or it is not solved."""
        data, tests, theory = self.world(), self.test_inputs(), fs.theory.coding
        targets, heat = np.asarray(data.targets), self.temperature
        if self.laziness == 1.0:
            found = theory.lazy(self.input_kernel(), targets, heat, theory.UNITS[self.nonlinearity], self.layers)
        elif self.laziness > 0.0:
            return None
        elif self.nonlinearity == "linear":
            found = theory.deep_analog(targets, heat, self.readout_variance, self.layers, self.width)
        else:
            try:
                found = self.prediction(heat)
            except ArgumentError:
                return None
        return found.predict(tests @ np.asarray(data.inputs).T, np.sum(tests**2, axis=1), self.width)

    def solution(self, start: Begin) -> Solution | None:
        """Equilibrium at the final temperature, the same at every time."""
        found = self.predicted()
        return None if found is None else at_all_times({"mean": found.mean, "square": found.variance + found.mean**2})

    @classmethod
    def measure(cls, data: xr.Dataset) -> dict[str, xr.DataArray]:
        return {}
