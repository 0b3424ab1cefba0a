"""What to look at in Bayesian networks of finite width: how far they deviate from theory, and the shares of codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from festina._lazy import np, xr
from festina.views import _neurons as neurons
from festina.views._entries import some
from festina.views.vocabulary import Bars, Curves, Mark, Quantity

CODES = "A code is the set of classes for which a neuron is on."


def _deviations(data: xr.Dataset, config: Any) -> xr.DataArray | None:
    """|κ − κ_wide|/|κ_wide| of each draw after warming up, rms over draws: against the widest network's mean."""
    kernel = data["class_kernel"].where(data["kept"] > 0) if "kept" in data else None
    if kernel is None or not bool((data["kept"] > 0).any()):
        return None
    widest = kernel.isel(width=-1, drop=True).mean(["run", "time"])
    pair = ["class", "other_class"]
    off = ((kernel - widest) ** 2).sum(pair, skipna=False) / (widest**2).sum(pair)
    return off.mean("time") ** 0.5


def _half(config: Any) -> Sequence[Mark]:
    return (Mark("5 %", y=0.05),)


def _shares(data: xr.Dataset, config: Any) -> xr.DataArray:
    """Shares of codes by their names, of sigmoidal neurons."""
    import festina as fs

    shares = some(data["shares"], nonlinearity="sigmoidal")
    classes = int(np.log2(shares.sizes["code"]))
    return shares.assign_coords(code=[fs.measures.code_name(code, classes) for code in range(2**classes)])


SHARES = Quantity("shares", "share of neurons", of=_shares)
WIDTH = (
    Bars("Neurons with each code, and theory", SHARES, along="code", by=("width",), note=CODES),
    Curves(
        "Single networks deviate less, the wider they are",
        Quantity("class_kernel", "relative deviation of the kernel, rms over draws", of=_deviations),
        by=("nonlinearity",),
        along="width",
        x="log",
        y="log",
        marks=_half,
        note="From the mean over draws of the widest network.",
    ),
    neurons.kernels("Kernel between classes", ("nonlinearity", "width")),
)

FINITE = (
    Bars("Neurons with each code, and theory", SHARES, along="code", note=CODES),
    neurons.kernels("Kernel between classes"),
)
