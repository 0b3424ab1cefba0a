"""The network before training, with which all that is seen later is compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from festina.errors import ArgumentError, FestinaError, one_line, require
from festina.watching import tangent, weights
from festina.watching.course import DataModes
from festina.watching.labelled_twin import LabelledTwin
from festina.watching.look import Look, check_finite
from festina.watching.outside import Linearised, Outside, Parameters
from festina.watching.representation import represented
from festina.watching.tangent import Kernel, Tangents
from festina.watching.targets import Targets
from festina.watching.twin import Twin, curvature, gap

KERNEL = ("movement", "distance", "alignment", "participation_ratio", "trace")
SHUFFLES = 20


@dataclass(frozen=True)
class Examples:
    """What a network is trained on, or some of it: the network on these inputs, and their targets."""

    network: Outside
    targets: Targets


@dataclass(frozen=True)
class Seen:
    """A network at one step: all that costs derivatives."""

    parameters: Parameters
    around: Linearised
    kernels: Mapping[str, Kernel]
    activations: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Start:
    """The network before training, and all that later looks are compared with.

    Attributes:
        network: on its probes, whose targets are ``targets`` and whose inputs, one a row, are ``inputs``.
        modes: of the probes; None if they have none.
        tangents: how tangent kernels are found.
        seen: of the network as it was.
        twin: its first-order expansion, trained on ``training``, or on the probes if that is None.
        pairs: names of weights of consecutive layers.
    """

    network: Outside
    targets: Targets
    inputs: Float[np.ndarray, "n inputs"]
    modes: DataModes | None
    tangents: Tangents
    seen: Seen
    twin: Twin | LabelledTwin
    training: Examples | None
    pairs: tuple[tuple[str, str], ...]

    @classmethod
    def of(
        cls,
        network: Outside,
        inputs: Any,
        given: Any,
        directions: int = 0,
        now: Any = None,
        training: tuple[Outside, Any] | None = None,
    ) -> Start:
        """Look at a network for the first time, as it is, or as a checkpoint (``now``) has it."""
        parameters = network.parameters(now)
        check_finite(parameters, 0)
        around = _linearised(network, parameters, "inputs")
        probes, outputs = around.answers.shape
        targets = Targets.of(given, probes, outputs)
        flat = np.asarray(inputs, float).reshape(probes, -1)
        modes = DataModes.of(flat, targets.values)
        tangents = Tangents.of(network, parameters, outputs, probes, directions=directions)
        seen = Seen(parameters, around, tangents.kernels(around), network.activations(parameters))
        examples, twin = None, None
        if training is not None:
            examples, learned = _examples(*training, parameters, targets)
            twin = examples.targets.twin(learned, around)
        return cls(
            network,
            targets,
            flat,
            modes if modes.strengths.size else None,
            tangents,
            seen,
            targets.twin(around) if twin is None else twin,
            examples,
            tuple(weights.chained(network, parameters)),
        )

    def first(self, step: int = 0) -> Look:
        """All numbers of the network as it was."""
        return self._numbers(step, self.seen)

    def look(self, step: int, parameters: Parameters) -> Look:
        """All numbers of the network as it is now."""
        check_finite(parameters, step)
        around = self.network.linearised(parameters)
        check_finite({"answers": around.answers}, step)
        activations = self.network.activations(parameters)
        return self._numbers(step, Seen(parameters, around, self.tangents.kernels(around), activations))

    def _numbers(self, step: int, now: Seen) -> Look:
        answers = now.around.answers.astype(float)
        learned = np.empty(0) if self.modes is None else self.modes.learned(self.targets.comparable(answers))
        found = {
            layer: represented(values, self.seen.activations[layer], self.inputs, self.targets)
            for layer, values in now.activations.items()
        }
        names = next(iter(found.values())).numbers if found else ()
        return Look(
            step,
            self._scalars(step, now, answers),
            self._by_layer(now),
            self._balance(now.parameters),
            learned,
            {name: {layer: each.numbers[name] for layer, each in found.items()} for name in names},
            {layer: each.code for layer, each in found.items()},
            dict(now.activations),
        )

    def _scalars(self, step: int, now: Seen, answers: Float[np.ndarray, "n outputs"]) -> dict[str, float]:
        whole = now.kernels[tangent.WHOLE]
        curved = curvature(self.seen.around, self.seen.parameters, now.parameters, now.around.answers)
        trained = answers if self.training is None else self.training.network.answers(now.parameters).astype(float)
        parted = gap(self.twin.at_equal_loss(trained), self.seen.around.answers.astype(float), answers)
        loss = self.targets.loss(answers)
        check_finite({"loss": np.array([loss])}, step)
        found = {
            "loss": loss,
            "accuracy": self.targets.accuracy(answers),
            "curvature": curved.value,
            "curvature_error": curved.error,
            "gap": parted.value,
            "gap_error": parted.error,
            "distance_error": tangent.distance_error(whole, self.seen.kernels[tangent.WHOLE], answers.shape[1]),
            **self._null(whole),
        }
        return found if self.training is None else found | {"training_loss": self.training.targets.loss(trained)}

    def _by_layer(self, now: Seen) -> dict[str, dict[str, float]]:
        layers = {name: {} for name in (*KERNEL, "weight_change")}
        for layer, kernel in now.kernels.items():
            for name, value in self._of_kernel(kernel, self.seen.kernels[layer]).items():
                layers[name][layer] = value
            own = self.tangents.layers.get(layer, list(now.parameters))
            layers["weight_change"][layer] = weights.relative_change(now.parameters, self.seen.parameters, own)
        return layers

    def _of_kernel(self, kernel: Kernel, start: Kernel) -> dict[str, float]:
        values = (
            tangent.movement(kernel, start),
            tangent.distance(kernel, start),
            tangent.alignment(kernel, self.targets.values),
            tangent.participation_ratio(kernel),
            kernel.trace,
        )
        return dict(zip(KERNEL, values, strict=True))

    def _null(self, kernel: Kernel) -> dict[str, float]:
        """Alignment of the kernel with targets that belong to other probes."""
        random = np.random.default_rng(0)
        found = [tangent.alignment(kernel, random.permutation(self.targets.values)) for _ in range(SHUFFLES)]
        return {"shuffled_alignment": float(np.mean(found)), "shuffled_spread": float(np.std(found))}

    def _balance(self, now: Parameters) -> dict[str, dict[str, float]]:
        found: dict[str, dict[str, float]] = {"imbalance": {}, "drift": {}}
        for first, second in self.pairs:
            both = [self.network.matrix(name, now[name]) for name in (first, second)]
            before = [self.network.matrix(name, self.seen.parameters[name]) for name in (first, second)]
            place = f"{self.network.layer_of(first)} → {self.network.layer_of(second)}"
            found["imbalance"][place] = weights.imbalance(*both)
            found["drift"][place] = weights.drift(*both, *before)
        return found


def _linearised(network: Outside, parameters: Parameters, argument: str) -> Linearised:
    try:
        around = network.linearised(parameters)
    except FestinaError:
        raise
    except Exception as error:  # whatever another library says of inputs that do not fit
        raise ArgumentError(
            f"Argument `{argument}` must be what the network takes, but it says: {one_line(error)}."
        ) from None
    require(not np.iscomplexobj(around.answers), "model", "give real answers", "of complex ones")
    check_finite({"answers": around.answers}, 0)
    return around


def _examples(network: Outside, given: Any, parameters: Parameters, probes: Targets) -> tuple[Examples, Linearised]:
    """What the network is trained on, and the network around its start on it."""
    around = _linearised(network, parameters, "training")
    try:
        targets = Targets.of(given, *around.answers.shape)
    except ArgumentError as error:
        raise ArgumentError(f"Argument `training`: {error}") from None
    if (targets.labels is None) != (probes.labels is None):
        raise ArgumentError("Argument `training` must have classes if the probes do, and numbers if they have numbers.")
    return Examples(network, targets), around
