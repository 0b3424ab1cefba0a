"""The picture of a trajectory."""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from matplotlib import pyplot as plt

from festina.style import BLACK, BLUE, PALETTE, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from festina.learning.trajectory import Trajectory

MOST_CURVES = 12  # of one panel
SHARED = ("loss", "test_loss", "accuracy", "test_accuracy", "map")


def draw_trajectory(run: "Trajectory") -> "Figure":
    """Loss, and beside it mode strengths, accuracy, and every other variable that is a curve or a few of them."""
    panels: list[Any] = [name for name in ("loss", "accuracy") if name in run.data]
    modes = run.strengths
    others = [name for name, values in run.data.items() if name not in SHARED and _width(values) <= MOST_CURVES]
    panels += [modes] if modes is not None else []
    panels += others
    if not panels:  # nothing but large arrays
        panels = list(run.data.data_vars)[:1]
    with style():
        figure, axes = plt.subplots(1, len(panels), figsize=(0.6 + 2.7 * len(panels), 2.5), squeeze=False)
        for axis, panel in zip(axes[0], panels, strict=True):
            if isinstance(panel, str):
                _draw_pair(axis, run, panel)
            else:
                _draw_modes(axis, panel, run)
            axis.set_xlabel(f"time ({run.data['time'].attrs['units']})")
    return figure


def _width(values: xr.DataArray) -> int:
    return int(np.prod([size for name, size in values.sizes.items() if name not in ("seed", "time")], initial=1))


def _draw_pair(axis: "Axes", run: "Trajectory", name: str) -> None:
    """A variable, and that of the test set dashed."""
    tested = f"test_{name}" in run.data
    colors = [BLUE] if _width(run[name]) == 1 else PALETTE
    _draw(axis, run[name], colors, label="training" if tested else None)
    if tested:
        _draw(axis, run[f"test_{name}"], [BLACK], ls="--", label="test")
        axis.legend()
    positive = name == "loss" and float(run[name].min()) > 0 and float(run[name].max() / run[name].min()) > 30
    axis.set(ylabel=name.replace("_", " "), **({"yscale": "log"} if positive else {}))


def _draw(axis: "Axes", values: xr.DataArray, colors: Any, label: str | None = None, **look: Any) -> None:
    """One line for each entry and seed; of several seeds all thin, and their mean."""
    own = [name for name in values.dims if name not in ("seed", "time")]
    flat = values.stack(entry=own) if own else values.expand_dims("entry", axis=-1)
    for number in range(min(flat.sizes["entry"], MOST_CURVES)):
        curve, color = flat.isel(entry=number), colors[number % len(colors)]
        if "seed" in values.dims:
            axis.plot(curve["time"], curve.transpose("time", "seed"), color=color, lw=0.6, alpha=0.5, **look)
            curve = curve.mean("seed")
        axis.plot(curve["time"], curve, color=color, label=label if number == 0 else None, **look)


def _draw_modes(axis: "Axes", strengths: xr.DataArray, run: "Trajectory") -> None:
    """The strength of each mode of the world, strongest first."""
    count = min(strengths.sizes["mode"], MOST_CURVES)
    shades = plt.get_cmap("viridis")(np.linspace(0.0, 0.85, count))
    _draw(axis, strengths.isel(mode=slice(0, count)), shades)
    axis.set(ylabel="mode strength $u_k^\\top W v_k$")
    whole = run.strengths
    assert whole is not None
    if whole.sizes["mode"] > count:
        axis.set_title(f"{count} strongest of {whole.sizes['mode']} modes")
