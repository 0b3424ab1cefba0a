"""All numbers of one look at a network: what it answers, its tangent kernel, its weights, its modes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from festina.errors import ArgumentError, FestinaError, one_line
from festina.watching import tangent, weights
from festina.watching.course import DataModes
from festina.watching.labelled_twin import LabelledTwin
from festina.watching.outside import Linearised, Outside, Parameters
from festina.watching.representation import represented
from festina.watching.tangent import PARTS, Kernel, Tangents
from festina.watching.targets import Targets
from festina.watching.twin import Twin, curvature

KERNEL = ("movement", "distance", "alignment", "effective_rank", "trace")
SHUFFLES = 20


@dataclass(frozen=True)
class Look:
    """Numbers at one step.

    Attributes:
        step: of training.
        scalars: by name: loss, accuracy, curvature, gap, distance_error, and the alignment with shuffled targets.
        layers: by name, then by layer: those of the tangent kernel, and weight_change; "all" is the whole network.
        pairs: imbalance and drift, by name, then by consecutive layers.
        modes: how far each mode of the data is learned.
        representations: by name, then by watched layer: similarity (CKA) to the start, to the inputs and to the
            targets, dimension, and variability within classes.
        activations: of the watched layers; only the latest look keeps them.
    """

    step: int
    scalars: dict[str, float]
    layers: dict[str, dict[str, float]]
    pairs: dict[str, dict[str, float]]
    modes: Float[np.ndarray, " modes"]
    representations: dict[str, dict[str, float]] = field(default_factory=dict)
    activations: dict[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class Start:
    """The network before training, and all that later looks are compared with."""

    network: Outside
    targets: Targets
    modes: DataModes | None
    parameters: Parameters
    around: Linearised
    tangents: Tangents
    kernels: Mapping[str, Kernel]
    twin: Twin | LabelledTwin
    inputs: Float[np.ndarray, "n inputs"]
    activations: Mapping[str, np.ndarray]
    pairs: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, network: Outside, inputs: Any, given: Any, directions: int = 0, now: Any = None) -> Start:
        """Look at a network for the first time, as it is, or as a checkpoint (``now``) has it."""
        parameters = network.parameters(now)
        _check(parameters, 0)
        try:
            around = network.linearised(parameters)
        except FestinaError:
            raise
        except Exception as error:  # whatever another library says of inputs that do not fit
            raise ArgumentError(
                f"Argument `inputs` must be what the network takes, but it says: {one_line(error)}."
            ) from None
        _check({"answers": around.answers}, 0)
        probes, outputs = around.answers.shape
        targets = Targets.of(given, probes, outputs)
        flat = np.asarray(inputs, float).reshape(probes, -1)
        modes = DataModes.of(flat, targets.values)
        tangents = Tangents.of(network, parameters, outputs, probes, directions=directions)
        return cls(
            network,
            targets,
            modes if modes.strengths.size else None,
            parameters,
            around,
            tangents,
            tangents.kernels(around),
            targets.twin(around),
            flat,
            network.activations(parameters),
            tuple(weights.chained(network, parameters)),
        )

    def look(self, step: int, parameters: Parameters) -> Look:
        """All numbers of the network as it is now."""
        _check(parameters, step)
        around = self.network.linearised(parameters)
        answers = around.answers.astype(float)
        _check({"answers": answers}, step)
        kernels = self.tangents.kernels(around)
        layers = {name: {} for name in (*KERNEL, "weight_change")}
        for layer, kernel in kernels.items():
            for name, value in self._of_kernel(kernel, self.kernels[layer]).items():
                layers[name][layer] = value
            own = self.tangents.layers.get(layer, list(parameters))
            layers["weight_change"][layer] = weights.relative_change(parameters, self.parameters, own)
        whole = kernels[tangent.WHOLE]
        scalars = {
            "loss": self.targets.loss(answers),
            "accuracy": self.targets.accuracy(answers),
            "curvature": curvature(self.around, self.parameters, parameters, around.answers),
            "gap": self.twin.gap(answers),
            "distance_error": self._uncertainty(whole),
            **self._null(whole),
        }
        learned = np.empty(0) if self.modes is None else self.modes.learned(self.targets.comparable(answers))
        seen = self.network.activations(parameters)
        return Look(step, scalars, layers, self._balance(parameters), learned, self._represented(seen), seen)

    def _represented(self, seen: Mapping[str, np.ndarray]) -> dict[str, dict[str, float]]:
        found: dict[str, dict[str, float]] = {}
        for layer, now in seen.items():
            of_layer = represented(now, self.activations[layer], self.inputs, self.targets)
            for name, value in of_layer.items():
                found.setdefault(name, {})[layer] = value
        return found

    def _of_kernel(self, kernel: Kernel, start: Kernel) -> dict[str, float]:
        values = (
            tangent.movement(kernel, start),
            tangent.distance(kernel, start),
            tangent.alignment(kernel, self.targets.values),
            tangent.effective_rank(kernel),
            kernel.trace,
        )
        return dict(zip(KERNEL, values, strict=True))

    def _uncertainty(self, kernel: Kernel) -> float:
        """Standard error of the distance of a projected kernel, by leaving out directions in turn; 0 if exact."""
        if self.tangents.exact:
            return 0.0
        start = self.kernels[tangent.WHOLE]
        left = [tangent.distance(kernel.without(part), start.without(part)) for part in range(PARTS)]
        return float(np.std(left) * np.sqrt(PARTS - 1))

    def _null(self, kernel: Kernel) -> dict[str, float]:
        """Alignment of the kernel with targets that belong to other probes."""
        random = np.random.default_rng(0)
        found = [tangent.alignment(kernel, random.permutation(self.targets.values)) for _ in range(SHUFFLES)]
        return {"shuffled_alignment": float(np.mean(found)), "shuffled_spread": float(np.std(found))}

    def _balance(self, now: Parameters) -> dict[str, dict[str, float]]:
        found: dict[str, dict[str, float]] = {"imbalance": {}, "drift": {}}
        for first, second in self.pairs:
            both = [self.network.matrix(name, now[name]) for name in (first, second)]
            before = [self.network.matrix(name, self.parameters[name]) for name in (first, second)]
            place = f"{self.network.layer_of(first)} → {self.network.layer_of(second)}"
            found["imbalance"][place] = weights.imbalance(*both)
            found["drift"][place] = weights.drift(*both, *before)
        return found


class Diverged(FestinaError):
    """A network with numbers that are not finite."""


def _check(values: Mapping[str, np.ndarray], step: int) -> None:
    for name, value in values.items():
        bad = int(np.sum(~np.isfinite(value)))
        if bad:
            raise Diverged(f"At step {step}, {bad} of the {value.size} numbers of `{name}` are not finite.")
