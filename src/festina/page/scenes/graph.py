"""A network whose edges are as wide as they are strong."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from festina.page.scenes.common import ends, entries, found, frame_times, named, shown_times, time_label
from festina.page.series import numbers
from festina.views import Graph


def graph(view: Graph, data: xr.Dataset, config: Any) -> dict[str, Any] | None:
    """The strengths of all edges over time, of the mean over runs."""
    array = found(view.quantity, data, config)
    if array is None:
        return None
    nodes, edges = view.drawing(config)
    array = array.mean("run")
    array = array.isel(time=shown_times(array, len(edges))) if "time" in array.dims else array
    names = list(dict.fromkeys(edge.name for edge in edges))
    drawn = []
    for edge in edges:
        values = np.atleast_1d(np.asarray(entries(array, edge.entry).values, float))
        values = values.reshape(len(values), -1).mean(axis=1)
        ends_of = {"from": edge.begin, "to": edge.end, "name": edge.name, "group": names.index(edge.name)}
        drawn.append(ends_of | {"values": numbers(values)})
    low, high = ends(np.asarray(array.values, float), 0.0)
    return {
        "groups": names,
        "times": frame_times(array, np.arange(array.sizes.get("time", 1))),
        "time_label": time_label(array),
        "nodes": [{"id": node.name, "label": node.label, "x": node.x, "y": node.y} for node in nodes],
        "edges": drawn,
        "value": {"label": named(array), "low": low, "high": high},
    }
