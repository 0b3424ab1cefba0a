"""A wide network with two hidden layers that is sampled from its posterior, and the theories of both layers."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import festina as fs
from festina._lazy import np
from festina.config import structural
from festina.model import Preset
from festina.models._wide import Begin, at_all_times, toy_task
from festina.models.wide_bayesian import WideBayesian

if TYPE_CHECKING:
    from festina.models._types import Prediction, Solution
    from festina.theory.coding import Blocks, TwoLayers

SOLVED = 1e-3  # the mismatch below which equations count as solved
LADDER = (1.0, 0.7, 0.6, 0.5, 0.45, 0.4, 0.35)  # along which they are, each solution being the start of the next


class DeepBayesian(WideBayesian):
    """A wide network with several hidden layers, sampled from its posterior, cooled to a temperature T.

    As `model/wide-bayesian`: z_1 = W_1 x, z_l = W_l φ(z_{l−1})/√N, f = aφ(z_L)/N. Theory has the kernels of all layers
    of linear networks as T → 0 (and so is that of low temperatures only), and those of two sigmoidal layers, solved
    from scratch from T = 1 down to `lowest`, where the solver gets that far.

    Example:
        >>> import festina as fs
        >>> model = fs.models.DeepBayesian(layers=2, nonlinearity="linear", counts=(4, 4))
        >>> model.theory()(0.0)["kernels"].shape  # of both layers, between eight examples
        (2, 8, 8)
    """

    name = "deep-bayesian"
    quick = WideBayesian.quick | {"width": 40, "temperature": 1.0, "lowest": 1.0}
    presets = (
        Preset("sigmoidal", "The first layer holds a noisy version of the code that the second has sharp."),
        Preset("linear", "Both layers of linear networks have a closed form.", {"nonlinearity": "linear"}),
    )

    layers: int = structural(2, ge=2, le=10, help="hidden layers L")
    lowest: float = structural(
        0.35, ge=0.1, le=1, scale="log", help="temperature down to which theory is solved from scratch"
    )

    def solution(self, start: Begin) -> Solution | None:
        """Kernels of all layers, the same at every time; None where there is no theory, or it is not solved."""
        found = self.deep_prediction()
        return None if found is None else at_all_times({"kernels": np.stack(found.kernels)})

    def deep_prediction(self) -> Prediction | None:
        """What theory says of linear layers as T → 0, or of two sigmoidal ones from scratch."""
        if self.nonlinearity == "linear":
            targets = np.asarray(self.world().targets)
            neurons = self.width if self.width > len(targets) else np.inf
            settings = targets, float(self.readout_variance), self.layers, neurons
            return fs.theory.coding.analog_at_zero(np.eye(len(targets)), *settings)
        return self.solved(float(self.temperature)).get(float(self.temperature))

    def from_scratch(self, lowest: float = 0.0) -> dict[float, TwoLayers]:
        """Two sigmoidal layers at falling temperatures from ``lowest`` on, by temperature; read their `mismatch`."""
        if self.nonlinearity != "sigmoidal" or self.layers != 2:
            return {}
        course = {heat for heat in (*LADDER, float(self.temperature)) if heat >= max(lowest, self.lowest)}
        return _from_scratch(self.counts, float(self.readout_variance), tuple(sorted(course, reverse=True)))

    def solved(self, lowest: float = 0.0) -> dict[float, TwoLayers]:
        """Those of them whose equations are solved."""
        found = self.from_scratch(lowest).items()
        return {heat: each for heat, each in found if each.diagnostics["mismatch"] < SOLVED}

    def second_layer(self, first: Blocks) -> TwoLayers:
        """The second of two sigmoidal layers on top of a kernel of the first."""
        given = tuple(map(tuple, first.between.tolist())), tuple(first.excess.tolist())
        return _second_layer(self.counts, float(self.temperature), float(self.readout_variance), *given)


@lru_cache
def _from_scratch(counts: tuple[int, ...], variance: float, temperatures: tuple[float, ...]) -> dict[float, TwoLayers]:
    if not temperatures:
        return {}
    found = fs.theory.coding.two_layers(counts, toy_task(counts).class_targets, temperatures, variance)
    return dict(zip(temperatures, found, strict=True))


@lru_cache
def _second_layer(
    counts: tuple[int, ...],
    temperature: float,
    variance: float,
    between: tuple[tuple[float, ...], ...],
    excess: tuple[float, ...],
) -> TwoLayers:
    first = fs.theory.coding.Blocks(np.array(between), np.array(excess))
    return fs.theory.coding.second_layer(counts, toy_task(counts).class_targets, temperature, variance, first)
