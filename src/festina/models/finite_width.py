"""A wide network of any number of neurons that is sampled from its posterior, without a record of single neurons."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import festina as fs
from festina._lazy import jnp, np, xr
from festina.config import structural
from festina.errors import ArgumentError
from festina.model import Preset, Variable
from festina.models._sampled import SAMPLED
from festina.models._wide import ON, at_all_times
from festina.models.wide_bayesian import WideBayesian

if TYPE_CHECKING:
    from festina.models._types import Bayesian, Float, Observed, Prediction, Solution
    from festina.models._wide import Begin

NEURON_BY_NEURON = ("readout", "activity")  # what is recorded of other networks, and here not
DRAWN = 20_000  # neurons drawn from the theory, of which the shares of codes are counted


class FiniteWidth(WideBayesian):
    """A wide network of N neurons with one hidden layer, sampled from its posterior; its theory is that of N → ∞.

    As `model/wide-bayesian`. What neurons do is recorded in sums over them, so that networks may be very wide: the
    kernel between classes, the second moments aᵀa/N of readouts, and the share of neurons with each code, on for those
    classes in which their mean activity is above ½.

    Example:
        >>> import festina as fs
        >>> model = fs.models.FiniteWidth(nonlinearity="linear", counts=(4, 4), temperature=1e-3, tests=1)
        >>> model.theory()(0.0)["moments"].shape  # of the readouts of two outputs
        (2, 2)
    """

    name = "finite-width"
    variables = {name: each for name, each in SAMPLED.items() if name not in NEURON_BY_NEURON} | {
        "moments": Variable("second moments aᵀa/N of readouts", ("output", "other_output")),
        "shares": Variable("share of neurons with each code", ("code",)),
        "test": Variable("answer f to test inputs", ("input", "output")),
    }
    quick = WideBayesian.quick | {"width": 50}
    presets = (
        Preset("sigmoidal", "Shares of codes of few neurons stray far from those of infinitely many."),
        Preset("linear", "Second moments of readouts do.", {"nonlinearity": "linear"}),
    )

    layers: int = structural(1, ge=1, le=1, help="hidden layers L")

    def coordinates(self) -> dict[str, Any]:
        outputs = range(len(self.counts))
        own = {"other_output": outputs, "code": range(2 ** len(self.counts))}
        return {name: values for name, values in super().coordinates().items() if name != "neuron"} | own

    def seen(self, network: Bayesian) -> Observed:
        found = super().seen(network)
        readout, activity = found.pop("readout"), found.pop("activity")
        every = (np.arange(2 ** len(self.counts))[:, None] >> np.arange(len(self.counts))[None]) & 1  # on, by code
        shares = jnp.mean(jnp.all((activity > ON)[:, None] == (every == 1)[None], axis=-1).astype(float), axis=0)
        return found | {"moments": readout.T @ readout / self.width, "shares": shares}

    def limit(self) -> Prediction:
        """The theory of infinitely many neurons; refused where it is not solved."""
        return self.model_copy(update={"width": 10**9}).prediction(self.temperature)

    def solution(self, start: Begin) -> Solution | None:
        """Equilibrium of infinitely many neurons; the square of an answer has the variance of N of them."""
        try:
            theory = self.limit()
        except ArgumentError:
            return None
        kernel = theory.kernels[-1]
        found = {"kernel": kernel, "class_kernel": fs.measures.between_classes(kernel, self.world().membership)}
        found |= {"answer": theory.mean, "shares": self.code_shares()}
        if self.nonlinearity == "linear":
            found["moments"] = theory.readout_covariance  # pyright: ignore[reportAttributeAccessIssue]
        if self.tests:
            data, tests = self.world(), self.test_inputs()
            overlaps, norms = tests @ np.asarray(data.inputs).T, np.sum(tests**2, axis=1)
            mean, variance = theory.predict(overlaps, norms, self.width)
            found |= {"mean": mean, "square": variance + mean**2}
        return at_all_times(found)

    def code_shares(self) -> Float[np.ndarray, " codes"]:
        """The share of each code in theory, among many neurons that are drawn from it."""
        return self.drawn_shares(self.temperature, DRAWN)

    @classmethod
    def measure(cls, data: xr.Dataset) -> dict[str, xr.DataArray]:
        return {}
