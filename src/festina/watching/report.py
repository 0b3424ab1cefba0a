"""What was seen of a training: its numbers over time, the verdict, a figure, a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from festina.errors import UnknownName, require
from festina.files import write_bytes
from festina.measures.coding import Coding, coding
from festina.measures.gates import Gates, gates
from festina.notebook import told
from festina.watching.look import Look
from festina.watching.prediction import NO_CLASSES, Prediction, predict
from festina.watching.representation import units_of
from festina.watching.start import Start
from festina.watching.verdict import Verdict, judge

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MEANING = {
    "loss": "loss on the probes: ½⟨|f − y|²⟩, or the cross-entropy of classes",
    "accuracy": "share of probes whose class has the largest answer",
    "curvature": "|f − f₀ − J₀(θ − θ₀)| / |f − f₀|: how far the network is from its expansion at its start",
    "gap": "|f − f_twin| / |f − f₀| at equal loss: how far it is from its linearised twin, trained alike",
    "curvature_error": "standard error of the curvature, over probes",
    "gap_error": "standard error of the gap, over probes",
    "training_loss": "loss on the training examples that were given",
    "distance_error": "standard error of the distance of all layers, over probes, and directions if it is projected",
    "shuffled_alignment": "alignment of the kernel with shuffled targets, mean",
    "shuffled_spread": "the same, standard deviation",
    "movement": "|K − K₀| / |K₀| of the tangent kernel",
    "distance": "1 − ⟨K₀, K⟩ / |K₀||K|: how far the tangent kernel has turned",
    "alignment": "yᵀKy / |K||y|²: alignment of the tangent kernel with the targets",
    "participation_ratio": "(tr K)² / |K|² of the tangent kernel: over how many equal directions it could be spread",
    "trace": "tr K",
    "weight_change": "|θ − θ₀| / |θ₀|",
    "imbalance": "|W₂ᵀW₂ − W₁W₁ᵀ| / (|W₂ᵀW₂| + |W₁W₁ᵀ|)",
    "drift": "change of W₂ᵀW₂ − W₁W₁ᵀ since the start, relative to the same",
    "predicted": "the same for a linear network with the same start, by theory",
    "similarity_to_start": "CKA of a watched layer with what it was at the start",
    "similarity_to_inputs": "CKA of a watched layer with the inputs",
    "similarity_to_targets": "CKA of a watched layer with the targets",
    "dimension": "participation ratio of a watched layer, (Σλ)² / Σλ² of its covariance",
    "variability_in_classes": "tr(Σ_W Σ_B⁺) / C of a watched layer: 0 when classes have collapsed to points",
    "active_share": "share of (probe, unit) of a watched layer at which a unit is on",
    "code": "coding scheme of a watched layer, beyond what it was at the start",
    "code_strength": "variance between classes beyond that of the start, over the start's within: below 0.05 lazy",
    "code_strength_shuffled": "97.5 % of code strengths with labels shuffled over probes lie below",
    "code_share": "share of the top tenth of units in telling classes apart: above 0.45 sparse",
    "code_neighbour": "distance of units to their nearest neighbour, 1 for Gaussian ones: below 0.4 redundant",
    "classes_per_unit": "for how many classes a unit of a watched layer is on, by strength",
    "classes_per_unit_shuffled": "the same with every unit's activations shuffled over probes",
    "selective_share": "share of the strength in units that are on for some classes and not for all",
    "selective_share_shuffled": "the same with every unit's activations shuffled over probes",
    "learned": "u_kᵀ⟨f xᵀ⟩v_k / s_k: how far mode k of the probes is learned",
    "strength": "s_k, singular values of Σyx of the probes",
}


@dataclass(frozen=True)
class Report:
    """What was seen of a training.

    Attributes:
        data: all numbers: (step), (step, layer), (step, pair), (step, mode) and (step, watched_layer); each says what
            it is (``long_name``).
        verdict: what kind of learning it was, and why.
        exact: whether tangent kernels are exact, or projected on random directions.
        activations: of the watched layers on the probes, at the start and when last seen.
        labels: classes of the probes, as numbers; None if they have none.

    Example:
        >>> apply = lambda parameters, inputs: inputs @ parameters["weight"]
        >>> seen = fs.watch((apply, {"weight": np.zeros((2, 1))}), np.eye(2), np.ones((2, 1)))
        >>> _ = seen(1, {"weight": np.ones((2, 1))})
        >>> seen.report().verdict.word  # as is all that is linear in its weights
        'lazy'
    """

    data: xr.Dataset
    verdict: Verdict
    exact: bool
    activations: Mapping[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict, repr=False)
    labels: np.ndarray | None = field(default=None, repr=False)

    def __str__(self) -> str:
        steps = self.data["step"].values
        head = f"{len(steps)} looks from step {steps[0]} to {steps[-1]}"
        if "layer" in self.data.sizes:
            how = "exact" if self.exact else "on random directions"
            head += f", {self.data.sizes['layer'] - 1} layers, tangent kernels {how}"
        return f"{head}\n{self.verdict}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return told(str(self)) + self.data._repr_html_()

    def figure(self) -> Figure:
        """Loss, gap to the linearised network, kernel by layer, alignment, modes and weights; or activations alone."""
        from festina.watching.report_figure import draw, draw_representations

        return draw(self) if "distance" in self.data else draw_representations(self)

    def coding(self, layer: str, readout: Any = None) -> Coding:
        """The coding scheme of a watched layer when last seen, beyond what it was at the start (`measures.coding`)."""
        before, after = self._layer(layer)
        require(self.labels is not None, "layer", "have probes with classes", layer)
        first = units_of(before)
        return coding(units_of(after), self.labels, readout, prior_kernel=first @ first.T / first.shape[1])

    def gates(self, layer: str, contexts: Any = None) -> Gates:
        """Which units of a watched layer are on in which contexts, classes unless given (`measures.gates`)."""
        _, after = self._layer(layer)
        known = self.labels if contexts is None else contexts
        require(known is not None, "contexts", "be given for probes without classes", None)
        return gates(units_of(after), known)

    def _layer(self, layer: str) -> tuple[np.ndarray, np.ndarray]:
        if layer not in self.activations:
            raise UnknownName("watched layer", layer, self.activations)
        return self.activations[layer]

    def save(self, path: str | Path) -> Path:
        """Keep it: ``.html`` is a page to send around, ``.nc`` the numbers alone."""
        target = Path(path)
        kinds = (".html", ".nc")
        require(target.suffix in kinds, "path", f"end in {' or '.join(kinds)}", str(path))
        if target.suffix == ".nc":
            named = self.data.assign_attrs(verdict=str(self.verdict))
            write_bytes(target, bytes(named.to_netcdf(engine="scipy")))
            return target
        from festina.watching.report_page import page

        write_bytes(target, page(self).encode())
        return target


def report_of(start: Start, looks: Sequence[Look], rate: float | None = None) -> Report:
    """All looks as one data set, and the verdict on them."""
    steps = [look.step for look in looks]
    data = xr.Dataset(coords={"step": ("step", steps)})
    for name in looks[0].scalars:
        data[name] = ("step", [look.scalars[name] for look in looks])
    data = data.merge(_table(looks, "layers", "layer")).merge(_table(looks, "pairs", "pair"))
    data = data.merge(_table(looks, "representations", "watched_layer"))
    if looks[0].codes and start.targets.labels is not None:
        data["code"] = (("step", "watched_layer"), [list(look.codes.values()) for look in looks])
    if start.modes is not None:
        data["learned"] = (("step", "mode"), np.array([look.modes for look in looks]))
        data["strength"] = ("mode", start.modes.strengths)
        expected = _predicted(start, data, rate)
        data["learned"].attrs["prediction"] = expected.words
        if expected.learned is not None:
            data["predicted"] = (("step", "mode"), expected.learned)
    for name, said in MEANING.items():
        if name in data:
            data[name].attrs["long_name"] = said
    both = {layer: (start.seen.activations[layer], now) for layer, now in looks[-1].activations.items()}
    return Report(data, judge(data), start.tangents.exact, both, start.targets.labels)


def _predicted(start: Start, data: xr.Dataset, rate: float | None) -> Prediction:
    """The course of the modes in a linear network with the same start; there is none for classes."""
    assert start.modes is not None
    if start.targets.labels is not None:
        return Prediction(None, NO_CLASSES)
    steps, learned = data["step"].values.astype(float), data["learned"].values
    return predict(start.network, start.seen.parameters, start.modes, steps - steps[0], learned, rate)


def _table(looks: Sequence[Look], kind: str, dimension: str) -> xr.Dataset:
    """Numbers that looks have by name, and then by place."""
    tables: list[dict[str, dict[str, float]]] = [getattr(look, kind) for look in looks]
    places = list(next(iter(tables[0].values()), {})) if tables[0] else []
    found: dict[Any, Any] = {}
    for name in tables[0] if places else ():
        found[name] = (("step", dimension), [[table[name][place] for place in places] for table in tables])
    return xr.Dataset(found, coords={dimension: places} if places else None)
