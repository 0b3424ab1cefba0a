"""What to look at in wide Bayesian networks."""

from __future__ import annotations

from typing import Any

from festina.views import _neurons as neurons
from festina.views._entries import some
from festina.views.coding_answers import PREDICTOR, REGIME, test_answer
from festina.views.coding_layers import DEEPER, DEPTH, SCALING
from festina.views.coding_outliers import OUTLIERS
from festina.views.coding_width import FINITE, WIDTH
from festina.views.vocabulary import Curves, Quantity

MELTS = "Raise the temperature and the code melts."
ANALOG = f"A cloud: every neuron carries its own mixture of classes, Gaussian as in theory (rings). {MELTS}"
REDUNDANT = f"Islands: many neurons share a code, at the places that theory predicts. {MELTS}"
SPARSE = f"All but a few neurons stay at zero; the outliers are where theory predicts them. {MELTS}"
ANY = f"Neurons that share a code share a place: a cloud, islands, or a few outliers. {MELTS}"


def _wide(experiment: str, note: str) -> tuple[Any, ...]:
    return (
        neurons.readouts("Readouts of all neurons, and those that theory predicts", note, experiment),
        neurons.raster("Activity of neurons in each class", note="Rows are in the order of their codes."),
        neurons.kernels("Kernel between classes"),
    )


COLD = ("equilibrium", "cooled", "planted")
REDUNDANT_VIEWS = (
    neurons.readouts(
        "Readouts of all neurons, and those that theory predicts", REDUNDANT, "coding/redundant", phase="equilibrium"
    ),
    neurons.raster(
        "Codes of three chains",
        ("phase",),
        "Cooled chains freeze with shares of codes of their own; those that start from theory (planted) keep its.",
        phase=COLD,
    ),
    neurons.kernels("Kernel between classes", ("phase",), phase=COLD),
)


DIGITS = (
    neurons.raster("One task, three codes", ("nonlinearity",), "Rows are in the order of their codes."),
    neurons.kernels("Kernel between digits", ("nonlinearity",)),
    neurons.kernels(
        "Features of images that were never seen", ("nonlinearity",), variable="test_class_kernel", note="At the end."
    ),
)
DESCENT = (
    neurons.raster(
        "Codes by nonlinearity and by how networks are trained",
        ("nonlinearity", "training"),
        "Noise, plain descent and momentum keep the code of a nonlinearity; Adam need not.",
    ),
    Curves("How the loss falls", "loss", by=("training",), y="log"),
    neurons.kernels("Kernel between classes", ("nonlinearity", "training")),
)


TEMPERATURE = (
    neurons.raster(
        "Codes form as temperature falls, and melt as it rises", ("chain",), "Move through time, down the ladder or up."
    ),
    Curves(
        "The part of the kernel that tells classes apart",
        Quantity("class_kernel", "class variance V of the kernel", of=neurons.class_signal),
        by=("chain",),
    ),
    Curves(
        "Temperature and outliers",
        Quantity("outliers", of=lambda data, config: some(data["outliers"], chain="rectified")),
    ),
)
LADDER = (
    neurons.raster("Codes form as temperature falls", note="Move through time, down the ladder."),
    TEMPERATURE[1],
    Curves("Temperature", "heat", y="log"),
)

REGIME_MODEL = (
    Curves("Answers of draw after draw to one test input", Quantity("", "answer", of=test_answer)),
    neurons.kernels("Kernel between classes"),
)
SCALED_MODEL = (
    neurons.raster("Activity of neurons in each class"),
    neurons.layered("Kernels of all layers", ("layer",)),
)
IMAGES_MODEL = (
    neurons.raster("Activity of neurons for each digit"),
    neurons.kernels("Kernel between digits"),
    neurons.kernels("Features of images that were never seen", variable="test_class_kernel", note="At the end."),
)

VIEWS = {
    "model/wide-bayesian": _wide("model/wide-bayesian", ANY),
    "model/wide-descent": _wide("model/wide-descent", ANY),
    "model/deep-bayesian": SCALED_MODEL,
    "model/prior-scaling": SCALED_MODEL,
    "model/finite-width": FINITE,
    "model/learning-regime": REGIME_MODEL,
    "model/temperature-ladder": LADDER,
    "model/wide-images": IMAGES_MODEL,
    "coding/analog": _wide("coding/analog", ANALOG),
    "coding/sparse": _wide("coding/sparse", SPARSE),
    "coding/redundant": REDUNDANT_VIEWS,
    "coding/digits": DIGITS,
    "coding/ten_digits": DIGITS,
    "coding/descent": DESCENT,
    "coding/deeper": DEEPER,
    "coding/depth": DEPTH,
    "coding/scaling": SCALING,
    "coding/outliers": OUTLIERS,
    "coding/predictor": PREDICTOR,
    "coding/regime": REGIME,
    "coding/width": WIDTH,
    "coding/temperature": TEMPERATURE,
}
TEMPERATURE_FIRST = ("temperature",)
HEADLINES = {
    "model/wide-bayesian": ("temperature", "nonlinearity", "width"),
    "model/wide-descent": ("temperature", "nonlinearity", "noise", "optimiser"),
    "model/deep-bayesian": ("temperature", "nonlinearity", "layers"),
    "model/prior-scaling": ("exponent", "temperature", "layers"),
    "model/finite-width": ("width", "temperature", "nonlinearity"),
    "model/learning-regime": ("laziness", "temperature", "layers"),
    "model/temperature-ladder": ("nonlinearity", "stay", "heated"),
    "model/wide-images": ("temperature", "nonlinearity", "digits"),
    "coding/analog": ("temperature", "width"),
    "coding/sparse": ("temperature", "width"),
    "coding/redundant": ("temperature", "cold"),
    "coding/digits": ("temperature", "digits"),
    "coding/ten_digits": TEMPERATURE_FIRST,
    "coding/descent": ("temperature", "step", "rate"),
    "coding/deeper": ("temperature", "depth"),
    "coding/depth": ("temperature", "cold"),
    "coding/scaling": ("temperature", "exponent"),
    "coding/outliers": ("temperature", "width", "dwelling"),
    "coding/predictor": ("temperature", "noise"),
    "coding/regime": ("temperature", "depth"),
    "coding/width": ("width", "temperature"),
    "coding/temperature": ("stay", "ladder"),
}
DWELLS = {"origin": ["prior", "common"]}
MATTERS = {
    "model/wide-bayesian": {
        "cooling": DWELLS,
        "slowness": DWELLS,
        "slow_from": DWELLS,
        "slow_to": DWELLS,
    },
    "model/wide-descent": {"step": {"optimiser": ["descent"]}, "noise": {"optimiser": ["descent"]}},
}


def _onsets(model: Any) -> list[float]:
    """Temperatures at which outliers condense, in theory, in rectified networks of one hidden layer."""
    return model.onsets() if model.nonlinearity == "rectified" and model.layers == 1 else []


CRITICAL = {"model/wide-bayesian": {"temperature": _onsets}}
