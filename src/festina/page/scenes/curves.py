"""Curves over time, or along another dimension."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import xarray as xr

from festina.page.scenes.common import (
    MOST_RUNS,
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
from festina.page.series import MOST_TIMES, band, numbers, telling
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
    array = array.isel({view.along: _shown(array, view)})
    grids: list[list[Any]] = []
    groups = groups_of(array, view.by)
    rest = [str(dim) for dim in array.dims if dim not in ("run", "time", view.along, *view.by)]
    of_place = _values(array, view.along)
    lines = [
        line
        for number, (_, place) in enumerate(groups)
        for more in places(array, rest, max(1, MOST_LINES // max(1, len(groups))))
        for line in _lines(*of_place(place | more), grids, {"name": entry_name(array, more), "group": number})
    ]
    if not lines:
        return None
    framed = view.along != "time" and "time" in array.dims
    return {
        "groups": [name for name, _ in groups],
        "times": frame_times(array, np.arange(array.sizes["time"])) if framed else [],
        "time_label": time_label(array),
        "x": {"label": _x_label(array, view.along), "log": view.x == "log"},
        "y": {"label": named(array), "log": view.y == "log", "low": view.low, "high": view.high},
        "grids": grids,
        "lines": lines,
        "marks": marks_of(view.marks, config),
    }


def _shown(array: xr.DataArray, view: Curves) -> np.ndarray:
    """Which places along a view's dimension are drawn."""
    values = np.asarray(array.transpose(..., view.along).values, float)
    if view.y == "log":
        values = np.log(np.where(values > 0, values, np.nan))
    return telling(values, MOST_TIMES)


def _x_label(array: xr.DataArray, along: str) -> str:
    if along == "time":
        return time_label(array)
    return named(array[along]) if "long_name" in array[along].attrs else along.replace("_", " ")


def _values(array: xr.DataArray, along: str) -> Callable[[dict[str, int]], tuple[np.ndarray, np.ndarray]]:
    """What gives the values of an entry, (run, …, along), and its abscissae, for all runs or for each: plain arrays."""
    own = [dim for dim in array.dims if dim not in ("run", "time", along)]
    framed = ("time",) if along != "time" and "time" in array.dims else ()
    values = np.asarray(array.transpose(*own, "run", *framed, along).values, float)
    abscissae = times_of(array) if along == "time" else _labels(array, along)
    assert abscissae is not None
    dims = [dim for dim in abscissae.dims if dim in own]
    clock = np.asarray(abscissae.transpose(*dims, ..., along).values, float)

    def of(place: dict[str, int]) -> tuple[np.ndarray, np.ndarray]:
        return values[tuple(place[str(dim)] for dim in own)], clock[tuple(place[str(dim)] for dim in dims)]

    return of


def _labels(array: xr.DataArray, along: str) -> xr.DataArray:
    """Numbers along a dimension; places where it has names."""
    values = array[along].values if along in array.coords else np.arange(array.sizes[along])
    return xr.DataArray(values if values.dtype.kind in "iuf" else np.arange(len(values)), dims=along)


def _lines(
    values: np.ndarray, clock: np.ndarray, grids: list[list[Any]], head: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """The lines of all runs of one entry: one by one if they are few; none of which nothing is known."""
    clock = np.broadcast_to(clock, (len(values), clock.shape[-1]))
    if len(values) <= MOST_RUNS:
        for run in np.flatnonzero(np.isfinite(values).reshape(len(values), -1).any(axis=1)).tolist():
            own = {"run": run, "grid": _grid(clock[run], grids), "y": numbers(values[run])}
            yield head | {"quiet": False} | own | {"low": None, "high": None}
    elif np.isfinite(values).any():
        own = {"run": None, "grid": _grid(clock[0], grids)}
        spread = band(values)
        ends_of = {"low": spread["low"], "high": spread["high"]} if values.ndim == 2 else {"low": None, "high": None}
        yield head | {"quiet": False} | own | {"y": spread["values"]} | ends_of


def _grid(values: np.ndarray, grids: list[list[Any]]) -> int:
    """The number of a list of abscissae; those that are there already are not sent twice."""
    plain = numbers(values)
    if plain not in grids:
        grids.append(plain)
    return grids.index(plain)
