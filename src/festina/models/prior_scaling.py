"""A wide network whose readouts have a prior variance that falls with the number of examples, by any power of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import festina as fs
from festina._lazy import jax, jnp, np
from festina.config import continuous
from festina.errors import ArgumentError
from festina.model import Equation, Preset, Variable
from festina.models._sampled import SAMPLED
from festina.models._wide import POSTERIOR, at_all_times
from festina.models.wide_bayesian import WideBayesian

if TYPE_CHECKING:
    from festina.models._types import Bayesian, Observed, Prediction, Solution
    from festina.models._wide import Begin

WHOLE = ("kernel", "mean", "square")  # what is recorded of other networks, and here not

SCALING = Equation(
    r"s = \sigma_a^2\, P^{-\gamma}, \qquad \gamma = \frac{e}{L}",
    "The prior variance of readouts falls with the number P of examples; γ = 1/L keeps what is learned alike.",
)


class PriorScaling(WideBayesian):
    """A wide network sampled from its posterior, with readouts of prior variance σ_a²/P^γ for any power γ.

    As `model/wide-bayesian`, where γ = 1/L; here γ = e/L with the exponent e as a field. Kernels of all layers are
    recorded class by class: between different examples, and what an example has in excess with itself. Theory has them
    for one hidden layer, and for any number of linear ones.

    Example:
        >>> import festina as fs
        >>> few, many = (fs.models.PriorScaling(counts=(n, n), exponent=0.0) for n in (4, 64))
        >>> few.readout_variance == many.readout_variance == 1.0
        True
        >>> fs.models.PriorScaling(counts=(8, 8), layers=2).readout_variance  # 16^(−1/2)
        0.25
    """

    name = "prior-scaling"
    equations = (POSTERIOR, SCALING)
    variables = {name: each for name, each in SAMPLED.items() if name not in WHOLE} | {
        "class_kernels": Variable("kernel of each layer, mean over pairs", ("layer", "class", "other_class")),
        "between": Variable("the same, mean over draws", ("layer", "class", "other_class"), final=True),
        "excess": Variable("what examples have more with themselves", ("layer", "class"), final=True),
        "hidden": Variable("activity of the last layer at the end", ("example", "neuron"), final=True),
    }
    presets = (
        Preset("the source's", "The prior variance falls as 1/P^(1/L), and codes are sharp for any P."),
        Preset("constant", "With a constant prior variance examples drown their class.", {"exponent": 0.0}),
        Preset("too steep", "With 1/P² nothing is left to learn with.", {"exponent": 2.0, "counts": (50, 25, 25)}),
    )

    exponent: float = continuous(1.0, ge=0, le=4, help="γL: the prior variance of readouts is σ_a²/P^γ")

    @property
    def readout_variance(self) -> Any:
        """s = σ_a²/P^γ."""
        return self.amplitude**2 / sum(self.counts) ** (self.exponent / self.layers)

    def averaged(self, network: Bayesian) -> Observed:
        layers, members = network.hidden(np.asarray(self.world().inputs)), self.members()
        between, own = jax.vmap(lambda activity: self._between(activity, members))(jnp.stack(layers))
        excess = own - (between * np.eye(len(self.counts))[None]).sum(axis=-1)
        return {"answer": network.answer(layers[-1]), "between": between, "excess": excess}

    def _between(self, activity: Any, members: Any) -> tuple[Any, Any]:
        """A layer's kernel between different examples, and that of an example with itself, class by class."""
        kernel = fs.networks.bayesian.kernel(activity)
        own = members.T @ (kernel * np.eye(len(members))).sum(axis=1) / members.sum(axis=0)
        return fs.measures.between_classes(kernel, members), own

    def seen(self, network: Bayesian) -> Observed:
        found = super().seen(network)
        return found if self.layers > 1 else found | {"class_kernels": found["class_kernel"][None]}

    def concluded(self, network: Bayesian) -> Observed:
        return {"hidden": network.hidden(np.asarray(self.world().inputs))[-1]}

    def solution(self, start: Begin) -> Solution | None:
        """Equilibrium at the final temperature; None where theory has none, or its equations are not solved."""
        try:
            theory = self.prediction(self.temperature)
        except ArgumentError:
            return None
        blocks = [fs.theory.coding.blocks(each, self.world().labels) for each in theory.kernels]
        between, excess = (np.stack([getattr(each, part) for each in blocks]) for part in ("between", "excess"))
        return at_all_times({"between": between, "excess": excess, "answer": theory.mean})

    def _prediction(self, temperature: float, variance: float) -> Prediction:
        if self.nonlinearity != "linear":
            return super()._prediction(temperature, variance)
        targets = np.asarray(self.world().targets)
        return fs.theory.coding.deep_analog(targets, temperature, variance, self.layers, self.width)
