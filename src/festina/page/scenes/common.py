"""What all scenes need: the quantity that a view names, the groups that colours tell apart, the frames to show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import xarray as xr

from festina.lab.tables import value_text
from festina.page.series import chosen, numbers
from festina.views import Mark, Quantity

MOST_FRAMES = 60
MOST_NUMBERS = 60_000  # in the frames of a scene
MOST_GROUPS = 12
MOST_RUNS = 8  # that are drawn one by one


def short(values: np.ndarray) -> list[Any]:
    """Numbers as colours and places need them: to four digits."""
    with np.errstate(all="ignore"):
        size = 10.0 ** (3 - np.floor(np.log10(np.abs(values))))
        rounded = np.where(np.isfinite(size) & (size > 0), np.round(values * size) / size, values)
    return numbers(rounded)


def found(quantity: str | Quantity, data: xr.Dataset, config: Any) -> xr.DataArray | None:
    """The quantity as the data have it, run first; None if they do not."""
    asked = Quantity(quantity) if isinstance(quantity, str) else quantity
    if (asked.variable and asked.variable not in data) or data.sizes.get("time") == 0:
        return None
    array = data[asked.variable] if asked.of is None else asked.of(data, config)
    if array is None:
        return None
    label = {"long_name": asked.label, "units": ""} if asked.label else {}
    array = entries(array, asked.where)
    if "run" not in array.dims:
        array = array.expand_dims("run")
    return array.transpose("run", ...).assign_attrs(array.attrs | label)


def entries(array: xr.DataArray, where: Mapping[str, Any]) -> xr.DataArray:
    """Some entries of an array, by their labels; a dimension that it does not have is no condition."""
    for dim, label in where.items():
        if dim in array.dims:
            several = isinstance(label, tuple)
            array = array.sel({dim: list(label) if several else label}, drop=not several)
    return array


def named(array: xr.DataArray) -> str:
    """What an axis says: the label, and the unit if there is one."""
    unit = array.attrs.get("units", "")
    return str(array.attrs.get("long_name", array.name or "")) + (f" ({unit})" if unit else "")


def times_of(array: xr.DataArray) -> xr.DataArray | None:
    """The times of an array, with the dimensions on which they depend; None if it has no time."""
    if "time" not in array.dims:
        return None
    return array["clock"] if "clock" in array.coords else array["time"]


def time_label(array: xr.DataArray) -> str:
    times = times_of(array)
    unit = "" if times is None else str(times.attrs.get("units", ""))
    return f"time ({unit})" if unit else "time"


def shown_times(array: xr.DataArray, numbers_a_frame: int) -> np.ndarray:
    """Which recordings become frames: few enough for all their numbers."""
    most = max(2, min(MOST_FRAMES, MOST_NUMBERS // max(1, numbers_a_frame)))
    return chosen(array.sizes["time"], most) if "time" in array.dims else np.zeros(1, int)


def frame_times(array: xr.DataArray, at: np.ndarray) -> list[Any]:
    """The times of some frames, of the first run and arm where these differ; none if there is no time."""
    times = times_of(array)
    if times is None:
        return []
    first = times.isel({dim: 0 for dim in times.dims if dim != "time"})
    return numbers(first.values[at])


def groups_of(array: xr.DataArray, by: Sequence[str]) -> list[tuple[str, dict[str, int]]]:
    """What colours tell apart: every combination of entries along some dimensions, with its name."""
    dims = [dim for dim in by if dim in array.dims]
    places = [range(array.sizes[dim]) for dim in dims]
    combinations = [dict(zip(dims, place, strict=True)) for place in product(*places)]
    kept = [combinations[k] for k in chosen(len(combinations), MOST_GROUPS)]
    return [(entry_name(array, place), place) for place in kept]


def entry_name(array: xr.DataArray, place: Mapping[str, int]) -> str:
    """Where an entry stands, in words: texts speak for themselves, numbers need the name of their dimension."""
    parts = []
    for dim, index in place.items():
        value = array.coords[dim].values.tolist()[index] if dim in array.coords else index
        text = f"{value:.4g}" if isinstance(value, float) else value_text(value)
        parts.append(value if isinstance(value, str) else f"{dim.replace('_', ' ')} {text}")
    return ", ".join(parts)


def places(array: xr.DataArray, dims: Sequence[str], most: int) -> Iterator[dict[str, int]]:
    """Entries along some dimensions, at most so many, evenly spread."""
    shape = [array.sizes[dim] for dim in dims]
    for k in chosen(int(np.prod(shape)), most) if dims else [0]:
        yield dict(zip(dims, map(int, np.unravel_index(k, shape)), strict=True)) if dims else {}


def ends(values: np.ndarray, low: float | None = None, high: float | None = None) -> tuple[float | None, float | None]:
    """The smallest and largest known value, unless they are given; None where nothing is known."""
    known = values[np.isfinite(values)]
    if not known.size:
        return low, high
    return (float(known.min()) if low is None else low), (float(known.max()) if high is None else high)


def marks_of(marks: Any, config: Any) -> list[dict[str, Any]]:
    """Places to mark, as JSON."""
    known: Sequence[Mark] = marks(config) if marks else ()
    return [{"x": mark.x, "y": mark.y, "label": mark.label, "shape": mark.shape} for mark in known]


def axis_values(array: xr.DataArray, dim: str) -> list[Any]:
    """Labels along a dimension."""
    values = array[dim].values if dim in array.coords else np.arange(array.sizes[dim])
    return [value_text(value) if isinstance(value, str) else value for value in values.tolist()]
