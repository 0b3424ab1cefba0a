"""The user's own folder: saved results, sweeps, reports of watched trainings and stories, in a folder of theirs.

A folder is looked through once, when the page is opened with it; what is in it is read when it is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xarray as xr

from festina.errors import ArgumentError, FestinaError, StoreError, one_line
from festina.lab import kept, store
from festina.lab.sweeps.folder import is_sweep
from festina.lab.sweeps.swept import Swept, open_sweep
from festina.page import telling
from festina.page.export import content_of
from festina.page.questions import FieldError
from festina.page.scenes import scenes
from festina.page.series import numbers
from festina.views import Curves, View

Kind = Literal["result", "sweep", "report", "story"]
MOST_ITEMS = 500
DEEPEST = 6  # folders within folders


@dataclass(frozen=True)
class Item:
    """Something to open: what it is, where it lies, and what it is called."""

    kind: Kind
    path: Path
    name: str


def items_in(folder: Path) -> list[Item]:
    """Everything in a folder that the page can open, by name.

    Args:
        folder: to look through, with the folders in it.
    """
    if not folder.is_dir():
        raise ArgumentError(f"Argument `folder` must be a folder, but is {str(folder)!r}.")
    found = []
    for item in _items(folder, folder, 0):
        found.append(item)
        if len(found) == MOST_ITEMS:
            break
    return sorted(found, key=lambda item: (item.kind, item.name))


def _items(root: Path, folder: Path, depth: int) -> Iterator[Item]:
    named = str(folder.relative_to(root)) if folder != root else folder.name
    if (folder / store.CARD).exists():
        yield Item("result", folder, named)
        return
    if is_sweep(folder):
        yield Item("sweep", folder, named)
        return
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name) if os.access(folder, os.R_OK) else ():
        path = Path(entry.path)
        if entry.is_dir(follow_symlinks=False) and depth < DEEPEST and not entry.name.startswith("."):
            yield from _items(root, path, depth + 1)
        elif path.suffix == ".nc":
            yield Item("report", path, str(path.relative_to(root)))
        elif path.suffix == ".toml" and _tells(path):
            yield Item("story", path, str(path.relative_to(root)))


def _tells(path: Path) -> bool:
    """Whether a TOML file means to be a story: others have settings, or projects, in such files."""
    try:
        return "[[steps]]" in path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False


def stories_in(items: list[Item]) -> dict[str, telling.Story]:
    """The stories of a folder, by the names of their files; one that is wrong is named, and ends the start."""
    return {item.path.stem: telling.read_story(item.path) for item in items if item.kind == "story"}


def opened(item: Item) -> dict[str, Any]:
    """What the page shows of an item."""
    try:
        match item.kind:
            case "result":
                return {"kind": "result", "name": item.name} | content_of(kept.load(item.path))
            case "sweep":
                return {"kind": "sweep", "name": item.name} | _sweep(open_sweep(item.path))
            case "report":
                return {"kind": "report", "name": item.name} | _report(_numbers_in(item.path))
            case "story":
                return telling.as_told(item.path.stem, telling.read_story(item.path))
    except FestinaError:
        raise
    except Exception as error:  # zarr, netCDF and their codecs raise many kinds
        raise StoreError(f"cannot read {item.name}: {one_line(error)}") from error


def _numbers_in(path: Path) -> xr.Dataset:
    with xr.open_dataset(path, engine="scipy") as data:
        loaded = data.load()
    if "step" not in loaded.dims:
        raise StoreError(f"{path.name} holds no report of a training: it has no dimension `step`")
    return loaded


OF_REPORT: tuple[View, ...] = (
    Curves("Loss on the probes", "loss", y="log"),
    Curves("How far from the linearised network", "curvature", note="Below 0.2 lazy, above 0.5 rich."),
    Curves("How far the tangent kernel turned", "distance", by=("layer",)),
    Curves("Alignment with the targets", "alignment", by=("layer",)),
    Curves("Modes of the data, learned", "learned", by=("mode",)),
    Curves("Similarity of a layer to the targets", "similarity_to_targets", by=("watched_layer",)),
)


def _report(data: xr.Dataset) -> dict[str, Any]:
    """The course of a watched training: its verdict, and the numbers that matter as curves."""
    verdict = str(data.attrs.get("verdict", ""))
    course = data.rename(step="time").expand_dims("run")
    course["time"].attrs["units"] = "steps"
    drawn = zip(OF_REPORT, scenes(OF_REPORT, course, None), strict=True)
    shown = [(view, scene) for view, scene in drawn if scene is not None]
    theory = xr.Dataset({"learned": course["predicted"]} if "predicted" in course else {})
    predicted = scenes([view for view, _ in shown], theory, None)
    return {"verdict": verdict, "simulation": [scene for _, scene in shown], "theory": predicted}


def _sweep(swept: Swept) -> dict[str, Any]:
    """The axes of a sweep, and what can be coloured."""
    axes = axes_of(swept)
    swept_too = {str(name): set(axes) <= set(array.dims) for name, array in swept.data_vars.items()}
    variables = [name for name, along in swept_too.items() if along and name != "done"]
    variables.sort(key=lambda name: name == "failed")  # whose map is empty, as a rule, comes last
    return {
        "experiment": swept.attrs["experiment"],
        "axes": [{"name": axis, "values": _labels(swept[axis])} for axis in axes],
        "variables": [{"name": name, "label": str(swept[name].attrs.get("long_name", name))} for name in variables],
        "done": float(np.mean(swept["done"].values)) if "done" in swept else 1.0,
    }


def axes_of(swept: Swept) -> list[str]:
    """The dimensions that were swept."""
    planned = [axis.name for axis in swept._plan.axes]
    return [name for axis in planned for name in (f"{axis}_swept", axis) if name in swept.dims]


def slice_of(item: Item, asked: Mapping[str, Any]) -> dict[str, Any]:
    """A map of one variable where runs end, over two axes of a sweep, at places along all others.

    Args:
        item: the sweep.
        asked: ``variable``, ``x``, ``y`` (or nothing for a sweep over one axis), and ``at``: {axis: index}.
    """
    swept = open_sweep(item.path)
    axes, variable = axes_of(swept), asked.get("variable")
    if not isinstance(variable, str) or variable not in swept:
        raise FieldError("variable", f"Argument `variable` must be one of the sweep's, but is {variable!r}.")
    x, y = asked.get("x", axes[0]), asked.get("y")
    for name, axis in (("x", x), ("y", y)):
        if axis not in axes and not (name == "y" and axis is None):
            raise FieldError(name, f"Argument `{name}` must be one of {', '.join(axes)}, but is {axis!r}.")
    array = swept[variable]
    array = array.isel(time=-1) if "time" in array.dims else array
    at = asked.get("at", {})
    for axis in axes:
        if axis not in (x, y):
            array = array.isel({axis: _index(at, axis, swept.sizes[axis])})
    kept_dims = [axis for axis in (y, x) if axis is not None]
    cells = array.mean([dim for dim in array.dims if dim not in kept_dims], skipna=True).transpose(*kept_dims)
    values = np.atleast_2d(np.asarray(cells.values, float))
    return {"x": _labels(swept[x]), "y": [0] if y is None else _labels(swept[y]), "values": numbers(values)}


def _index(at: Any, axis: str, size: int) -> int:
    index = at.get(axis, 0) if isinstance(at, dict) else None
    if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < size:
        raise FieldError("at", f"Argument `at` must give {axis!r} an index from 0 to {size - 1}, but gives {index!r}.")
    return index


def _labels(axis: xr.DataArray) -> list[Any]:
    return axis.values.tolist()
