"""Trajectories and clouds of points in a plane."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from festina.page.scenes.common import (
    MOST_FRAMES,
    MOST_RUNS,
    ends,
    entry_name,
    found,
    frame_times,
    groups_of,
    marks_of,
    named,
    places,
    short,
    shown_times,
    time_label,
)
from festina.page.series import MOST_TIMES, chosen, numbers
from festina.views import Plane

MOST_PATHS = 60
PATH_NUMBERS = 30_000  # of all paths
MOST_POINTS = 600
LABELLED = 16  # points, beyond which labels would cover each other


def plane(view: Plane, data: xr.Dataset, config: Any) -> dict[str, Any] | None:
    """Paths of runs over time, or the points of a cloud at each recording."""
    across, up = (found(quantity, data, config) for quantity in (view.x, view.y))
    if across is None or up is None:
        return None
    x, y = xr.broadcast(across, up)
    if "time" in x.dims:
        a_frame = 2 * x.size // x.sizes["time"]
        at = shown_times(x, a_frame) if view.points else chosen(x.sizes["time"], _path_length(a_frame))
        x, y = x.isel(time=at), y.isel(time=at)
    groups = groups_of(x, view.by)
    names = view.colours(config) if callable(view.colours) else view.colours
    colours = _colours(view, x, data, config)
    drawn = _clouds(view, x, y, groups, colours, len(names)) if view.points else _paths(view, x, y, groups, colours)
    if not drawn:
        return None
    surface = view.surface(config) if view.surface else None
    (left, right), (bottom, top) = (ends(np.asarray(part.values, float)) for part in (x, y))
    return {
        "groups": list(names) if view.colour else [name for name, _ in groups],
        "times": frame_times(x, np.arange(x.sizes.get("time", 1))),
        "time_label": time_label(x),
        "x": {"label": named(across), "low": left, "high": right},
        "y": {"label": named(up), "low": bottom, "high": top},
        "equal": view.equal,
        "surface": None
        if surface is None
        else {
            "x": numbers(surface.x),
            "y": numbers(surface.y),
            "values": short(surface.values),
            "label": surface.label,
            "levels": 12,
        },
        "paths": [] if view.points else drawn,
        "clouds": drawn if view.points else [],
        "marks": marks_of(view.marks, config),
    }


def _path_length(a_frame: int) -> int:
    """How many points a path may have: many, for it must not cut the corners of a course that turns at every switch."""
    return int(np.clip(PATH_NUMBERS // max(1, a_frame), MOST_FRAMES, MOST_TIMES))


def _paths(
    view: Plane,
    x: xr.DataArray,
    y: xr.DataArray,
    groups: list[tuple[str, dict[str, int]]],
    colours: xr.DataArray | None,
) -> list[Any]:
    """A path for each run and entry, of the colour that its group has, or that the path itself has at the end."""
    rest = [str(dim) for dim in x.dims if dim not in ("time", *view.by)]
    most = max(MOST_RUNS, MOST_PATHS // max(1, len(groups)))
    others = list(places(x, rest, most))
    names = [entry_name(x, {dim: index for dim, index in more.items() if dim != "run"}) for more in others]
    dims = [str(dim) for dim in x.dims if dim != "time"]
    across, up = (np.asarray(part.transpose(*dims, ...).values, float) for part in (x, y))
    drawn = []
    for number, (_, place) in enumerate(groups):
        for name, more in zip(names, others, strict=True):
            at = tuple((place | more)[dim] for dim in dims)
            own = [part[at].reshape(-1) for part in (across, up)]
            if not np.isfinite(own[0] + own[1]).any():
                continue
            group = number if colours is None else _own_colour(colours, place | more)
            path = {"name": name, "group": group, "run": more.get("run", 0)}
            drawn.append(path | {"x": short(own[0]), "y": short(own[1])})
    return drawn


def _own_colour(colours: xr.DataArray, place: dict[str, int]) -> int:
    """The group of a path, by the last whole number that is known of it; the first if none is."""
    dims = [str(dim) for dim in colours.dims if dim in place]
    known = np.asarray(colours.transpose(*dims, ...).values, float)[tuple(place[dim] for dim in dims)].reshape(-1)
    known = known[np.isfinite(known)]
    return int(known[-1]) if known.size else 0


def _colours(view: Plane, x: xr.DataArray, data: xr.Dataset, config: Any) -> xr.DataArray | None:
    """The group of every point by whole numbers, at the recordings that are shown."""
    array = found(view.colour, data, config) if view.colour else None
    if array is None:
        return None
    return array.sel(time=x["time"]) if "time" in array.dims and "time" in x.dims else array


def _clouds(
    view: Plane,
    x: xr.DataArray,
    y: xr.DataArray,
    groups: list[tuple[str, dict[str, int]]],
    colours: xr.DataArray | None,
    count: int,
) -> list[Any]:
    """The points of the first run, a cloud for each group; entries that are left over are further clouds."""
    at = chosen(x.sizes[view.points], MOST_POINTS)
    x, y = (part.isel({"run": 0, view.points: at}) for part in (x, y))
    rest = [str(dim) for dim in x.dims if dim not in ("time", view.points, *view.by)]
    labels = _point_labels(x, view.points)
    clouds = []
    for number, (_, place) in enumerate(groups):
        for more in places(x, rest, 4):
            own = [_frames(part.isel(place | more), view.points) for part in (x, y)]
            name = entry_name(x, more)
            if colours is None:
                clouds.append(_cloud(name, number, own, np.ones(own[0].shape, bool), labels))
                continue
            known = {dim: index for dim, index in (place | more).items() if dim in colours.dims}
            group = _frames(colours.isel({"run": 0, view.points: at} | known), view.points)
            group = np.broadcast_to(group, own[0].shape)
            for which in range(count):
                clouds.append(_cloud(name, which, own, group == which, None))
    return clouds


def _frames(array: xr.DataArray, points: str) -> np.ndarray:
    values = np.asarray(array.transpose(..., points).values, float)
    return values[None] if values.ndim == 1 else values


def _cloud(name: str, group: int, own: list[np.ndarray], kept: np.ndarray, labels: list[str] | None) -> dict[str, Any]:
    frames = [{"x": short(x[keep]), "y": short(y[keep])} for x, y, keep in zip(own[0], own[1], kept, strict=True)]
    return {"name": name, "group": group, "frames": frames, "labels": labels}


def _point_labels(array: xr.DataArray, points: str) -> list[str] | None:
    if array.sizes[points] > LABELLED:
        return None
    return [entry_name(array, {points: index}) for index in range(array.sizes[points])]
