"""What to look at in what Bayesian networks answer, and how sure they are of it."""

from __future__ import annotations

from typing import Any

from festina._lazy import np, xr
from festina.views import _neurons as neurons
from festina.views._entries import first_of
from festina.views.vocabulary import Bars, Curves, Quantity


def _evidence(variable: str) -> Quantity:
    """The answer for the first class along growing evidence for it: of draws, whose mean theory has, or their mean."""

    def of(data: xr.Dataset, config: Any) -> xr.DataArray | None:
        from festina.models.wide_bayesian import LEVELS, MOST_EVIDENCE

        name = "test" if variable == "test" and "test" in data else "mean"
        if name not in data:
            return None
        answers = data[name].isel(input=slice(LEVELS), output=0, drop=True).rename(input="evidence")
        return answers.assign_coords(evidence=np.linspace(0.0, MOST_EVIDENCE, LEVELS))

    return Quantity("", "answer for class A", of=of)


PREDICTOR = (
    Curves(
        "Answers of single draws along growing evidence",
        _evidence("test"),
        by=("nonlinearity",),
        along="evidence",
        note="Linear answers follow the evidence, sigmoidal ones saturate, rectified ones grow beyond it.",
    ),
    Curves("Mean answers, and theory", _evidence("mean"), by=("nonlinearity",), along="evidence"),
    neurons.raster("Codes behind the answers", ("nonlinearity",)),
)


def _variance(data: xr.Dataset, config: Any) -> xr.DataArray | None:
    if "square" not in data:
        return None
    return (data["square"] - data["mean"] ** 2).mean(["input", "output"], skipna=False)


def test_answer(data: xr.Dataset, config: Any) -> xr.DataArray | None:
    """Answers to the last test input, of every draw; theory has their mean."""
    if "test" not in data and "mean" not in data:
        return None
    answer = (data["test"] if "test" in data else data["mean"]).isel(input=-1, output=-1, drop=True)
    answer = first_of(answer, "depth").isel(run=slice(1))
    return answer if "time" in answer.dims else answer.expand_dims(time=data["time"])


REGIME = (
    Curves(
        "Answers of draw after draw to one test input",
        Quantity("", "answer", of=test_answer),
        by=("regime", "nonlinearity"),
        note="Those of lazy networks vary by far more.",
    ),
    Bars(
        "Features make answers sure, and less so in deep networks",
        Quantity("mean", "variance of answers", of=_variance),
        along="depth",
        by=("regime", "nonlinearity"),
    ),
    neurons.kernels("Kernel between classes", ("regime", "nonlinearity")),
)
