"""Curves over time, or along another dimension."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from festina.page.scenes.common import (
    MOST_RUNS,
    ends,
    entry_name,
    found,
    frame_times,
    groups_of,
    marks_of,
    named,
    places,
    shown_times,
    time_label,
    times_of,
)
from festina.page.series import MOST_TIMES, band, chosen, numbers
from festina.views import Curves

MOST_LINES = 48


def curves(view: Curves, data: xr.Dataset, config: Any) -> dict[str, Any] | None:
    """Lines of each group; where runs are many, their mean and how far they spread.

    Curves over time are drawn as they stand; those along another dimension, if they are recorded in time, at the
    moment that is chosen, so that every line has frames.
    """
    array = found(view.quantity, data, config)
    if array is None or view.along not in array.dims:
        return None
    if view.along != "time" and "time" in array.dims:
        array = array.isel(time=shown_times(array, array.size // array.sizes["time"]))
    grids: list[list[Any]] = []
    groups = groups_of(array, view.by)
    rest = [dim for dim in array.dims if dim not in ("run", "time", view.along, *view.by)]
    lines = [
        line
        for number, (_, place) in enumerate(groups)
        for more in places(array, list(map(str, rest)), max(1, MOST_LINES // max(1, len(groups))))
        for line in _lines(array.isel(place | more), view.along, number, entry_name(array, more), grids)
    ]
    low, high = ends(array.values)
    framed = view.along != "time" and "time" in array.dims
    return {
        "groups": [name for name, _ in groups],
        "times": frame_times(array, np.arange(array.sizes["time"])) if framed else [],
        "time_label": time_label(array),
        "x": {"label": _x_label(array, view.along), "log": view.x == "log"},
        "y": {"label": named(array), "log": view.y == "log", "low": low, "high": high},
        "grids": grids,
        "lines": lines,
        "marks": marks_of(view.marks, config),
    }


def _x_label(array: xr.DataArray, along: str) -> str:
    if along == "time":
        return time_label(array)
    return named(array[along]) if "long_name" in array[along].attrs else along.replace("_", " ")


def _lines(array: xr.DataArray, along: str, group: int, name: str, grids: list[list[Any]]) -> list[dict[str, Any]]:
    """The lines of all runs of one entry: one by one if they are few."""
    at = chosen(array.sizes[along], MOST_TIMES)
    array = array.isel({along: at}).transpose("run", ..., along)
    head = {"name": name, "group": group, "quiet": False}
    values = np.asarray(array.values, float)
    if array.sizes["run"] <= MOST_RUNS:
        grid = [_grid(_abscissa(array.isel(run=run), along), grids) for run in range(len(values))]
        each = [head | {"run": run, "grid": grid[run]} for run in range(len(values))]
        return [line | {"y": _nested(own), "low": None, "high": None} for line, own in zip(each, values, strict=True)]
    grid = _grid(_abscissa(array.isel(run=0), along), grids)
    if values.ndim == 2:
        whole = band(values)
        return [head | {"run": None, "grid": grid, "y": whole["values"], "low": whole["low"], "high": whole["high"]}]
    return [head | {"run": None, "grid": grid, "y": _nested(values.mean(axis=0)), "low": None, "high": None}]


def _nested(values: np.ndarray) -> list[Any]:
    """One row of numbers, or one for each frame."""
    return numbers(values) if values.ndim == 1 else [numbers(row) for row in values]


def _abscissa(array: xr.DataArray, along: str) -> np.ndarray:
    if along == "time":
        times = times_of(array)
        assert times is not None
        return np.asarray(times.values, float)
    values = array[along].values if along in array.coords else np.arange(array.sizes[along])
    return np.asarray(values, float) if values.dtype.kind in "iuf" else np.arange(len(values), dtype=float)


def _grid(values: np.ndarray, grids: list[list[Any]]) -> int:
    """The number of a list of abscissae; those that are there already are not sent twice."""
    plain = numbers(values)
    if plain not in grids:
        grids.append(plain)
    return grids.index(plain)
