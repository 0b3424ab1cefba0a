"""Outliers of rectified networks whose cooling dwells where codes condense: how they are counted, and how drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from festina._lazy import np, xr
from festina.experiments._needs import require_case
from festina.figures.panels import bands, graded_looks, groups
from festina.style import BLUE, THEORY, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from festina.experiment import Result

PANEL = "dwelling"
STAGES = {
    "when cooling ends": {"color": VERMILLION, "marker": "^"},
    "in the end": {"color": BLUE, "marker": "o"},
}


def plainly_cooled(result: Result, values: xr.DataArray) -> xr.DataArray:
    """Of all arms but those that dwell on purpose."""
    return values.isel(arm=np.flatnonzero(result["panel"].values != PANEL))


def by_slowness(result: Result, values: xr.DataArray) -> xr.DataArray:
    """Of the arms that dwell, by their `slowness`, from 1 or the least on."""
    slowness = {arm.labels[PANEL]: number for number, arm in enumerate(result.arms) if PANEL in arm.labels}
    order = sorted(slowness)
    chosen = values.isel(arm=[slowness[each] for each in order])
    return chosen.rename(arm="slowness").drop_vars("panel", errors="ignore").assign_coords(slowness=order)


def least_less_most(number: xr.DataArray) -> xr.DataArray:
    """A number at the least slowness less that at the largest."""
    require_case(number.sizes["slowness"] > 1, f"--{PANEL} with two values or more")
    return number.isel(slowness=0, drop=True) - number.isel(slowness=-1, drop=True)


def draw_schedules(axis: Axes, result: Result) -> None:
    """T by draw, and where it dwells."""
    heat = by_slowness(result, result["heat"]).isel(run=0)
    network: Any = next(arm.model for arm in result.arms if PANEL in arm.labels)
    axis.axhspan(float(network.slow_to), float(network.slow_from), color="0.92", lw=0, zorder=0)
    for slowness, look in graded_looks(heat["slowness"].values.tolist()).items():
        axis.semilogy(heat["time"], heat.sel(slowness=slowness), label=f"slowness {slowness:g}", **look)
    onsets: Any = {"color": "0.4", "fontsize": 6.5, "va": "center", "ha": "right"}
    for onset in network.onsets():
        axis.axhline(onset, lw=0.6, ls=":", color="0.4")
    axis.annotate("onsets", (1, max(network.onsets())), (-2, 5), ("axes fraction", "data"), "offset points", **onsets)
    axis.set(xlabel="draws", ylabel="temperature T", xlim=(0, heat["time"].values[-1]))
    axis.legend(loc="center right", bbox_to_anchor=(1.0, 0.36))


def draw_courses(axis: Axes, number: xr.DataArray) -> None:
    """Outliers per code over draws."""
    looks = graded_looks(number["slowness"].values.tolist())
    bands(axis, number, "slowness", looks=looks, label=lambda value: f"slowness {value:g}", lw=1.0)
    axis.axhline(1, **THEORY)
    axis.set(ylabel="outliers per code")


def draw_stages(axis: Axes, cooled: xr.DataArray, last: xr.DataArray) -> None:
    """Outliers per code against slowness, when cooling ends and in the end: of every run, and their mean."""
    both = xr.concat([cooled, last], xr.DataArray(list(STAGES), dims="stage", name="stage"), coords="minimal")
    shown = both.assign_coords(slowness=[f"{value:g}" for value in both["slowness"].values])
    groups(axis, shown, "slowness", "stage", looks=STAGES, step=0.24, runs=True, ms=4.5, mfc="none")
    axis.axhline(1, **THEORY)
    axis.set(xlabel="slowness between onsets", ylabel="outliers per code", ylim=(0, 1.4 * float(shown.max())))
    axis.legend(loc="upper right")
