"""The picture of a comparison: simulation as dots, theory as lines."""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from festina.style import BLACK, PALETTE, style

if TYPE_CHECKING:
    from festina.measures.compare import Comparison

DOTS = 25  # of one curve


def draw(found: "Comparison", most: int) -> Figure:
    """One panel a variable; in place of the map, the strengths of its modes."""
    names = [str(name) for name in found.theory.data_vars]
    modes = found.strengths
    units = found.run["time"].attrs.get("units", "τ")
    with style():
        figure, axes = plt.subplots(1, len(names), figsize=(0.8 + 2.9 * len(names), 2.7), squeeze=False)
        for axis, name in zip(axes[0], names, strict=True):
            if name == "map" and modes is not None:
                _draw_curves(axis, modes["run"].isel(mode=slice(most)), modes["theory"].isel(mode=slice(most)))
                left = f", {most} of {modes.sizes['mode']} modes" if modes.sizes["mode"] > most else ""
                axis.set(ylabel="mode strength $u_k^\\top W v_k$")
            else:
                run, theory, count = _largest(found.run[name], found.theory[name], most)
                _draw_curves(axis, run, theory)
                left = f", {most} of {count} entries" if count > most else ""
                axis.set(ylabel=name.replace("_", " "))
            axis.set(xlabel=f"time ({units})", title=_title(found, name) + left)
        _explain(axes[0, 0])
        if found.standing:
            figure.suptitle(f"Theory is {found.standing}", fontsize=8.5)
    return figure


def _title(found: "Comparison", name: str) -> str:
    from festina.measures.compare import percent

    return f"{name}: off by {found.errors[name]:.1e} ({percent(found.relative_errors[name])})"


def _largest(run: xr.DataArray, theory: xr.DataArray, most: int) -> tuple[xr.DataArray, xr.DataArray, int]:
    """The entries of a variable that change most in the run, along one dimension ``mode``; and how many there are."""
    own = [name for name in run.dims if name not in ("seed", "time")]
    lead = [name for name in ("seed", "time") if name in run.dims]
    flat = [values.stack(mode=own) if own else values.expand_dims("mode", axis=-1) for values in (run, theory)]
    changes = (flat[0].max(lead) - flat[0].min(lead)).fillna(0.0).values
    chosen = np.sort(np.argsort(-changes)[:most])
    return flat[0].isel(mode=chosen), flat[1].isel(mode=chosen), len(changes)


def _draw_curves(axis: Any, run: xr.DataArray, theory: xr.DataArray) -> None:
    """Simulation as dots and theory as lines, both in the colour of the mode; all seeds."""
    count = run.sizes["mode"]
    shades = PALETTE if count <= len(PALETTE) else plt.get_cmap("viridis")(np.linspace(0.0, 0.9, count))
    several = "seed" in run.dims
    time = run["time"].values
    some = np.unique(np.linspace(0, len(time) - 1, min(DOTS, len(time))).astype(int))
    for number in range(count):
        pair = [
            values.isel(mode=number).transpose("time", ...).values.reshape(len(time), -1) for values in (run, theory)
        ]
        line = {"color": shades[number] if count > 1 else BLACK, "lw": 0.7 if several else 1.0}
        axis.plot(time, pair[1], zorder=1, **line)
        dots = {"color": shades[number], "ms": 2.6 if several else 3.2, "mew": 0.0, "alpha": 0.8}
        axis.plot(time[some], pair[0][some], "o", zorder=2, **dots)


def _explain(axis: Any) -> None:
    """A legend without colours, which are those of modes."""
    dot = axis.plot([], [], "o", color="0.35", ms=3.2, label="simulation")
    line = axis.plot([], [], color="0.35", lw=1.0, label="theory")
    axis.legend(handles=[*dot, *line])
