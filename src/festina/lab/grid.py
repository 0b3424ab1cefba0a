"""The grid of a sweep on disk: one zarr group for each structure, runs along one dimension, cut into tiles.

A tile is one chunk of every array, so that writing it touches no other; `done` is marked after its data is written.
"""

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
import zarr

from festina.errors import StoreError
from festina.lab.axes import Axis, checked
from festina.lab.plan import Group, Plan
from festina.lab.registry import find
from festina.learning.checkpoint import write_json
from festina.learning.loop import Failure

CARD = "sweep.json"
DATA = "data.zarr"
FAILURES = "failures"


def group_path(folder: Path, number: int) -> Path:
    return folder / DATA / f"group-{number}"


def read_done(folder: Path, number: int, runs: int) -> np.ndarray:
    """Which runs of a group are finished; none if the group cannot be read."""
    try:
        return np.asarray(zarr.open_array(group_path(folder, number) / "done", mode="r")[:])
    except (OSError, ValueError, KeyError):
        return np.zeros(runs, bool)


def write_tile(
    folder: Path, number: int, group: Group, start: int, data: xr.Dataset, failures: Sequence[Failure]
) -> None:
    """Write the runs from ``start`` on: first the data, then why some failed, last the mark that they are done."""
    stop = start + data.sizes["run"]
    try:
        root = _open_group(folder, number, group, data)
        for name, values in data.variables.items():
            if values.dims[:1] == ("run",):
                _write(root, str(name), start, values.values)
        if failures:
            reasons = {str(failure.run): str(failure) for failure in failures}
            write_json(folder / FAILURES / f"{number}-{start}.json", reasons)
        failed = np.zeros(stop - start, bool)
        failed[[failure.run - start for failure in failures]] = True
        _write(root, "failed", start, failed)
        _write(root, "done", start, np.ones(stop - start, bool))
    except OSError as error:
        raise StoreError(f"cannot write {folder}: {error.strerror or error}; finished batches are kept") from error


def _write(root: zarr.Group, name: str, start: int, values: np.ndarray) -> None:
    array = root[name]
    assert isinstance(array, zarr.Array)
    array[start : start + len(values)] = values


def _open_group(folder: Path, number: int, group: Group, data: xr.Dataset) -> zarr.Group:
    """The zarr group of a structure, allocated whole when its first tile arrives."""
    path = group_path(folder, number)
    if (path / "done").exists():
        return zarr.open_group(path, mode="r+")
    root = zarr.open_group(path, mode="w")
    for name, values in data.variables.items():
        _allocate(root, str(name), values, group)
    mask = xr.Variable(("run",), np.zeros(group.tile, bool))
    _allocate(root, "failed", mask, group)
    _allocate(root, "done", mask, group)  # last: its presence says that the group is allocated whole
    return root


def _allocate(root: zarr.Group, name: str, values: xr.Variable, group: Group) -> None:
    """An array like ``values`` for all runs of the group; what no run changes is written at once."""
    per_run = values.dims[:1] == ("run",)
    inner = values.shape[1:] if per_run else values.shape
    leading = ((len(group.runs),), (group.tile,)) if per_run else ((), ())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zarr warns of text coordinates, which it does write
        array = root.create_array(
            name,
            shape=(*leading[0], *inner),
            chunks=(*leading[1], *(max(1, size) for size in inner)) or "auto",
            dtype=values.dtype,
            fill_value=np.nan if np.issubdtype(values.dtype, np.floating) else 0,
            dimension_names=[str(name) for name in values.dims],
            attributes={str(k): v for k, v in values.attrs.items() if isinstance(v, str | int | float)},
        )
        if not per_run:
            array[...] = values.values


def open_sweep(folder: str | Path) -> xr.Dataset:
    """A sweep's results with the sweep's own axes as dimensions; runs not done yet are NaN, with `done` False."""
    folder = Path(folder)
    try:
        card = json.loads((folder / CARD).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StoreError(f"{folder} holds no readable sweep: {error}") from None
    question = card["question"]
    experiment = find(question["experiment"])
    axes = [Axis(name, tuple(values)) for name, values in question["axes"]]
    fields = {k: v for k, v in question["config"].items() if k not in {axis.name for axis in axes}}
    axes = checked(experiment, axes, question["budget"], fields)
    plan = Plan(experiment, tuple(axes), tuple(question["seeds"]), question["budget"], fields, ())
    parts = [_unstacked(group_path(folder, number), plan) for number in range(_count(plan.structural))]
    for axis in reversed(plan.structural):
        size = len(axis.values)
        along = xr.DataArray([_plain(value) for value in axis.values], dims=axis.name, name=axis.name)
        parts = [
            xr.concat(
                parts[k : k + size], dim=along, join="outer", data_vars="all", coords="minimal", compat="override"
            )
            for k in range(0, len(parts), size)
        ]
    data = parts[0]
    data.attrs = {k: v for k, v in card.items() if k != "question"} | {
        "experiment": experiment.name,
        "config": json.dumps(question["config"]),
        "failures": _reasons(folder),
        "store": str(folder),
    }
    return data


def _reasons(folder: Path) -> list[str]:
    files = sorted((folder / FAILURES).glob("*.json"))
    return [text for path in files for text in json.loads(path.read_text(encoding="utf-8")).values()]


def _count(axes: Sequence[Axis]) -> int:
    return int(np.prod([len(axis.values) for axis in axes], dtype=int))


def _unstacked(path: Path, plan: Plan) -> xr.Dataset:
    """One group with its runs spread over seeds and continuous axes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with xr.open_zarr(path, consolidated=False) as lazy:
            flat = lazy.load()
    axes = {axis.name: np.asarray(axis.values, float) for axis in plan.continuous}
    shape = (len(plan.seeds), *(len(values) for values in axes.values()))
    variables = {}
    for name, values in flat.data_vars.items():
        if str(name).startswith("config_") or name == "seed":
            continue
        if values.dims[:1] == ("run",):
            dims = ("seed", *axes, *values.dims[1:])
            variables[name] = (dims, values.values.reshape(*shape, *values.shape[1:]), values.attrs)
        elif str(name) not in values.dims:
            variables[name] = values.variable
    coordinates = {name: flat[name] for name in flat.variables if name in flat.dims}
    return xr.Dataset(variables, coords={"seed": list(plan.seeds)} | axes | coordinates)


def _plain(value: Any) -> Any:
    """A field's value as a coordinate: a tuple of one is its one value, a longer one is text."""
    if not isinstance(value, tuple):
        return value
    return value[0] if len(value) == 1 else ",".join(f"{part:g}" for part in value)
