"""What to look at in Bayesian networks of several layers: how sharp classes are in each of them."""

from __future__ import annotations

from functools import reduce
from typing import Any

from festina._lazy import np, xr
from festina.views import _neurons as neurons
from festina.views._entries import some
from festina.views._parts import panel_of
from festina.views.vocabulary import Curves, Heat, Quantity


def sharpness(data: xr.Dataset, config: Any) -> xr.DataArray:
    """η² of every layer: the share of the variance of activity over examples that lies between classes."""
    counts = np.asarray(config.counts, float)
    share = xr.DataArray(counts / counts.sum(), dims="class")
    between = neurons.class_signal(data[["between"]].rename(between="class_kernel"), config)
    return between / (between + (data["excess"] * share).sum("class", skipna=False))


DEEPER = (
    neurons.layered("Classes are sharper in every layer", ("nonlinearity", "layer"), "Of the deepest networks."),
    neurons.raster("Activity of the last layer", ("nonlinearity", "depth")),
    Curves(
        "Sharpness of every layer",
        Quantity("between", "sharpness η²", of=sharpness),
        by=("nonlinearity", "depth"),
        along="layer",
        note="The share of the variance over examples that lies between classes, at the end.",
    ),
)


def _of_examples(data: xr.Dataset, config: Any) -> xr.DataArray:
    """Kernels of the last layer, each over its largest."""
    kernel = data["kernels"].isel(layer=-1, drop=True)
    return kernel / kernel.max(["example", "other"]).clip(min=1e-30)


DEPTH = (
    neurons.layered(
        "The second layer has the classes sharper than the first",
        ("network", "layer"),
        network=("linear", "sigmoidal cold", "rectified"),
    ),
    neurons.raster("Activity of the second layer", ("network",)),
    Heat(
        "Kernels between examples, and theory",
        Quantity("kernels", "kernel", of=_of_examples),
        rows="example",
        columns="other",
        panels=("network",),
        note="Of the second layer, at the end.",
    ),
)


def _by_examples(array: xr.DataArray, config: Any, networks: tuple[str, ...]) -> xr.DataArray:
    """Arms of `coding/scaling` along the number of examples, of some networks."""
    own = some(panel_of(array, config, "coding/scaling", "sampled"), network=networks)
    counts = sorted(config.counts)
    return own.rename(counts="examples").assign_coords(examples=[sum(each) for each in counts]).sortby("examples")


def _signal(data: xr.Dataset, config: Any) -> xr.DataArray:
    """V of each arm; classes have the same shares in all of them, but for rounding."""
    return neurons.class_signal(data, config.model_copy(update={"counts": max(config.counts)}))


def _sharp_last(data: xr.Dataset, config: Any) -> xr.DataArray:
    """η² of the last layer of each arm; classes have the same shares in all arms, but for rounding."""
    values = sharpness(data, config.model_copy(update={"counts": max(config.counts)}))
    every = [values.isel(layer=layer, drop=True) for layer in range(values.sizes["layer"])]
    return reduce(lambda lower, upper: upper.fillna(lower), every)


def _sharp(title: str, networks: tuple[str, ...], note: str = "") -> Curves:
    def of(data: xr.Dataset, config: Any) -> xr.DataArray:
        return _by_examples(_sharp_last(data, config), config, networks)

    quantity = Quantity("between", "sharpness η² of the last layer", of=of)
    return Curves(title, quantity, by=("network", "exponent"), along="examples", x="log", note=note)


SHALLOW, DEEP = ("linear", "sigmoidal"), ("deep-linear", "deep-sigmoidal")
SCALING = (
    Curves(
        "Classes in the kernel, by the number of examples",
        Quantity(
            "class_kernel",
            "class variance V of the kernel",
            of=lambda data, config: _by_examples(_signal(data[["class_kernel"]], config), config, SHALLOW),
        ),
        by=("network", "exponent"),
        along="examples",
        x="log",
        note="Only with a prior that falls as 1/P (exponent 1) are many examples coded as few are.",
    ),
    _sharp("Sharpness of one layer, and theory", SHALLOW, "The share of variance that lies between classes."),
    _sharp("Sharpness of the second of two layers", DEEP),
)
