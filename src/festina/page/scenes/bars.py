"""A bar for each entry of a dimension."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from festina.page.scenes.common import entry_name, found, frame_times, groups_of, named, shown_times, time_label
from festina.page.series import chosen, numbers
from festina.views import Bars

MOST_BARS = 40


def bars(view: Bars, data: xr.Dataset, config: Any) -> dict[str, Any] | None:
    """Means over runs, and their standard deviation if there are several; a frame for each recording."""
    array = found(view.quantity, data, config)
    if array is None or view.along not in array.dims:
        return None
    groups = groups_of(array, view.by)
    at = chosen(array.sizes[view.along], MOST_BARS)
    array = array.isel({view.along: at})
    array = array.isel(time=shown_times(array, len(at) * len(groups))) if "time" in array.dims else array
    kept = ("run", "time", view.along, *view.by)
    array = array.mean([dim for dim in array.dims if dim not in kept])
    drawn = [
        _bar(array.isel({view.along: index} | place), entry_name(array, {view.along: index}), number)
        for number, (_, place) in enumerate(groups)
        for index in range(len(at))
    ]
    return {
        "groups": [name for name, _ in groups],
        "times": frame_times(array, np.arange(array.sizes.get("time", 1))),
        "time_label": time_label(array),
        "x": {"label": view.along.replace("_", " ")},
        "y": {"label": named(array), "low": None, "high": None},
        "bars": drawn,
    }


def _bar(array: xr.DataArray, name: str, group: int) -> dict[str, Any]:
    means = np.atleast_1d(np.asarray(array.mean("run").values, float))
    several = array.sizes["run"] > 1
    errors = numbers(np.atleast_1d(np.asarray(array.std("run").values, float))) if several else None
    return {"name": name, "group": group, "frames": numbers(means), "errors": errors}
