"""What to look at in wide Bayesian networks."""

from __future__ import annotations

from typing import Any

from festina.views.vocabulary import Heat, Plane, Quantity, Raster

FIRST, SECOND = (Quantity("readout", f"readout to class {k + 1}", where={"output": k}) for k in (0, 1))

WIDE = (
    Plane(
        "Readouts of all neurons",
        FIRST,
        SECOND,
        points="neuron",
        equal=True,
        note="Neurons that share a code share a place: a cloud is an analog code, islands are a redundant one.",
    ),
    Raster("Activity of neurons in each class", "activity", rows="neuron", columns="class"),
    Heat("Kernel between classes", "class_kernel", rows="class", columns="other_class"),
)

VIEWS = {"model/wide-bayesian": WIDE}
HEADLINES = {"model/wide-bayesian": ("temperature",)}
MATTERS = {}


def _onsets(model: Any) -> list[float]:
    """Temperatures at which outliers condense, in theory, in rectified networks of one hidden layer."""
    return model.onsets() if model.nonlinearity == "rectified" and model.layers == 1 else []


CRITICAL = {"model/wide-bayesian": {"temperature": _onsets}}
