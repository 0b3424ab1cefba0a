"""Tables of numbers as colours: heat maps, and rasters whose rows stand in the order of their codes."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from festina.errors import ArgumentError
from festina.experiment import Experiment
from festina.lab.registry import find
from festina.page.scenes.common import (
    axis_values,
    ends,
    found,
    frame_times,
    groups_of,
    named,
    short,
    shown_times,
    time_label,
)
from festina.page.series import chosen
from festina.page.sliders import as_control
from festina.views import Heat, Raster

MOST_CELLS = 64  # along a side
MOST_UNITS, FEWEST_UNITS = 160, 60  # rows of a raster, the latter of many panels
ONLY_RECORDED = ("records", "recorded")  # fields that say what is kept of a run, not what happens in it
SILENT = 0.05  # share of the strongest row's, below which a row is silent


def heat(view: Heat, data: xr.Dataset, config: Any) -> dict[str, Any] | None:
    """A panel for each entry of the panels' dimensions, of the first run; a frame for each recording."""
    array = found(view.quantity, data, config)
    if array is None or not {view.rows, view.columns} <= set(array.dims):
        return None
    array = array.isel(run=0)
    panels = _begun(array, groups_of(array, view.panels))
    units = max(FEWEST_UNITS, MOST_UNITS // max(1, len(panels) - 1))
    rows = chosen(array.sizes[view.rows], units if isinstance(view, Raster) else MOST_CELLS)
    columns = chosen(array.sizes[view.columns], MOST_CELLS)
    array = array.isel({view.rows: rows, view.columns: columns})
    ordered = isinstance(view, Raster)  # with the order of its rows in every frame
    at = shown_times(array, len(rows) * (2 * len(columns) + ordered) * len(panels))
    array = array.isel(time=at) if "time" in array.dims else array
    others = [dim for dim in array.dims if dim not in ("time", view.rows, view.columns, *view.panels)]
    array = array.isel(dict.fromkeys(others, 0))
    drawn = [_panel(view, name, own) for name, place in panels if _is_known(own := array.isel(place))]
    if not drawn:
        return None
    low, high = _range(view, array.values)
    scene = {
        "groups": [],
        "times": frame_times(array, np.arange(array.sizes.get("time", 1))),
        "time_label": time_label(array),
        "x": {"label": view.columns.replace("_", " "), "values": axis_values(array, view.columns)},
        "y": {"label": view.rows.replace("_", " "), "values": axis_values(array, view.rows)},
        "value": {"label": named(array), "low": low, "high": high, "diverging": view.diverging},
        "panels": drawn,
    }
    return scene | ({"bands": []} if isinstance(view, Raster) else {}) | opened(view, config)


def opened(view: Heat, config: Any) -> dict[str, Any]:
    """Where the run of a cell is to be seen: a model by itself, and the fields that all cells share."""
    model = view.opens(config) if view.opens else None
    if model is None:
        return {}
    alone = find(f"model/{type(model).name}")
    usual, own = (part.model_dump(mode="json") for part in (alone.configure("quick"), model))
    names = [name for name in own if name not in (*ONLY_RECORDED, view.rows, view.columns) and own[name] != usual[name]]
    fields = {name: as_control(own[name]) for name in names}
    fields |= _recordings(alone, fields, usual.get("records"), own.get("records"))
    return {"opens": {"experiment": alone.name, "fields": fields, "rows": view.rows, "columns": view.columns}}


def _recordings(alone: Experiment, fields: dict[str, Any], usual: int | None, own: int | None) -> dict[str, Any]:
    """As many recordings as a model has by itself, or else a multiple of what a cell has that goes with its fields."""
    if usual is None or own is None:
        return {}
    for records in (usual, *(own * times for times in (100, 10, 1) if own * times <= max(usual, own))):
        try:
            alone.configure("quick", **fields | {"records": records})
        except ArgumentError:
            continue
        return {} if records == usual else {"records": records}
    return {}


def _begun(array: xr.DataArray, panels: list[tuple[str, dict[str, int]]]) -> list[tuple[str, dict[str, int]]]:
    """Panels of which something is known; all of them as long as nothing is."""
    known = [panel for panel in panels if bool(np.isfinite(array.isel(panel[1]).values).any())]
    return known or panels


def _is_known(array: xr.DataArray) -> bool:
    return not bool(np.isnan(np.asarray(array.values, float)).all())


def _range(view: Heat, values: np.ndarray) -> tuple[float | None, float | None]:
    low, high = ends(np.asarray(values, float), view.low, view.high)
    if view.diverging and low is not None and high is not None:
        most = max(abs(low), abs(high))
        return -most, most
    return low, high


def _panel(view: Heat, name: str, array: xr.DataArray) -> dict[str, Any]:
    frames = np.asarray(array.transpose(..., view.rows, view.columns).values, float)
    frames = frames[None] if frames.ndim == 2 else frames
    panel = {"name": name, "group": None, "frames": short(frames)}
    if isinstance(view, Raster):
        panel["orders"] = [_by_code(frame).tolist() for frame in frames]
    return panel


def _by_code(frame: np.ndarray) -> np.ndarray:
    """Rows by the columns in which they have half of their most: those with the first column before all others, and
    among rows with the same columns the strong ones first. Rows that are all but silent stand at the end.
    """
    known = np.nan_to_num(frame)
    most = known.max(axis=1, initial=0.0)
    on = known >= np.maximum(0.5 * most, 1e-300)[:, None]
    silent = most < SILENT * most.max(initial=0.0)
    return np.lexsort((-most, *(~on.T[::-1]), silent))
