"""The grid of a sweep on disk: one zarr group for each structure, runs along one dimension, cut into tiles.

A tile is one chunk of every array, so that writing it touches no other; `done` is marked after its data is written.
"""

import json
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
import zarr

from festina.errors import StoreError
from festina.experiment import Experiment
from festina.lab import tiles
from festina.lab.axes import Axis, checked, plain
from festina.lab.plan import Group, Plan
from festina.lab.registry import find
from festina.learning.checkpoint import write_json

CARD = "sweep.json"
NEEDED = {"experiment", "config", "axes", "seeds", "budget"}


def read_card(folder: Path) -> dict[str, Any]:
    """What a sweep's folder says it is."""
    path = folder / CARD
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
        whole = {"question", "version", "code"} <= card.keys() and card["question"].keys() >= NEEDED
    except OSError as error:
        raise StoreError(f"{folder} holds no readable sweep: {error}") from None
    except (ValueError, AttributeError):
        whole, card = False, {}
    if not whole:
        raise damaged_card(folder)
    return card


def damaged_card(folder: Path) -> StoreError:
    return StoreError(f"{folder / CARD} is damaged; remove {folder} to start the sweep anew")


def write_tile(
    folder: Path, number: int, group: Group, start: int, data: xr.Dataset, failures: Mapping[int, str]
) -> None:
    """Write the runs from ``start`` on: first the data, then why some failed, last the mark that they are done."""
    count = data.sizes["run"]
    per_run = {str(name): v.values for name, v in data.variables.items() if v.dims[:1] == ("run",)}
    per_run["failed"] = np.isin(np.arange(start, start + count), list(failures))
    try:
        root = _open_group(folder, number, group, data)
        tiles.clear_tile(folder, number, start, group.tile, list(per_run))
        for name, values in per_run.items():
            _write(root, name, start, values)
        if failures:
            reasons = {str(run): text for run, text in failures.items()}
            write_json(tiles.failures_path(folder, number, start), reasons)
        tiles.write_tile_card(folder, number, start, group.tile, list(per_run))
        _write(root, "done", start, np.ones(count, bool))
    except OSError as error:
        raise StoreError(f"cannot write {folder}: {error.strerror or error}; finished batches are kept") from error


def _write(root: zarr.Group, name: str, start: int, values: np.ndarray) -> None:
    array = root[name]
    assert isinstance(array, zarr.Array)
    array[start : start + len(values)] = values


def _open_group(folder: Path, number: int, group: Group, data: xr.Dataset) -> zarr.Group:
    """The zarr group of a structure, allocated whole when its first tile arrives."""
    path = tiles.group_path(folder, number)
    if tiles.group_card(folder, number).exists():
        return zarr.open_group(path, mode="r+")
    root = zarr.open_group(path, mode="w")
    for name, values in data.variables.items():
        _allocate(root, str(name), values, group)
    mask = xr.Variable(("run",), np.zeros(group.tile, bool))
    _allocate(root, "failed", mask, group)
    _allocate(root, "done", mask, group)
    tiles.write_group_card(folder, number)
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


def open_sweep(folder: str | Path, experiment: Experiment | None = None) -> xr.Dataset:
    """A sweep's results with the sweep's own axes as dimensions; runs not done yet are NaN, with `done` False.

    Args:
        folder: the folder of the sweep, as its attribute ``store`` names it.
        experiment: the experiment that was swept, if festina does not know it by name.
    """
    folder = Path(folder)
    card = read_card(folder)
    question = card["question"]
    experiment = find(question["experiment"]) if experiment is None else experiment
    parts = _parts(folder, plan := _plan(folder, experiment, question))
    for axis in reversed(plan.structural):
        parts = _joined(parts, axis)
    data = _settled(parts[0], experiment)
    data.attrs = {k: v for k, v in card.items() if k != "question"} | {
        "experiment": experiment.name,
        "config": json.dumps(question["config"]),
        "failures": _reasons(folder),
        "store": str(folder),
    }
    return data


def _plan(folder: Path, experiment: Experiment, question: dict[str, Any]) -> Plan:
    """The plan of a stored sweep, without its runs."""
    try:
        axes = [Axis(name, tuple(values)) for name, values in question["axes"]]
        seeds = tuple(int(seed) for seed in question["seeds"])
        fields = {k: v for k, v in question["config"].items() if k not in {axis.name for axis in axes}}
    except (TypeError, ValueError, AttributeError):
        raise damaged_card(folder) from None
    axes = checked(experiment, axes, question["budget"], fields)
    return Plan(experiment, tuple(axes), seeds, question["budget"], fields, ())


def _reasons(folder: Path) -> list[str]:
    files = (folder / tiles.FAILURES).glob("*.json")
    texts: list[str] = []
    for path in sorted(files, key=lambda path: [int(digits) for digits in re.findall(r"\d+", path.stem)]):
        try:
            texts += json.loads(path.read_text(encoding="utf-8")).values()
        except (OSError, ValueError, AttributeError):
            texts.append(f"{path} is not readable; ask the sweep again to mend it")
    return texts


def _parts(folder: Path, plan: Plan) -> list[xr.Dataset]:
    """All groups in the order of the structural axes; those not begun are like the first that is, with no run done."""
    count = int(np.prod([len(axis.values) for axis in plan.structural], dtype=int))
    begun = {n: _unstacked(folder, n, plan) for n in range(count) if tiles.group_card(folder, n).exists()}
    if not begun:
        raise StoreError(f"{folder} holds no finished batch yet")
    empty = _emptied(next(iter(begun.values())))
    return [begun.get(number, empty) for number in range(count)]


def _emptied(part: xr.Dataset) -> xr.Dataset:
    """The same arrays with nothing in them."""
    empty = {
        name: xr.full_like(values, np.nan if np.issubdtype(values.dtype, np.floating) else values.dtype.type())
        for name, values in part.data_vars.items()
        if "seed" in values.dims
    }
    return part.assign(empty)


def _unstacked(folder: Path, number: int, plan: Plan) -> xr.Dataset:
    """One group with its runs spread over seeds and continuous axes."""
    path = tiles.group_path(folder, number)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with xr.open_zarr(path, consolidated=False) as lazy:
                flat = lazy.load()
    except Exception as error:  # zarr and its codecs raise many kinds
        raise StoreError(f"{path} is damaged ({error}); ask the sweep again to mend it") from error
    names = [f"{axis.name}_swept" if axis.name in flat.dims else axis.name for axis in plan.continuous]
    axes = {name: np.asarray(axis.values, float) for name, axis in zip(names, plan.continuous, strict=True)}
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


def _joined(parts: Sequence[xr.Dataset], axis: Axis) -> list[xr.Dataset]:
    """Parts joined along one structural axis; it gives way to a dimension of its name that the variables have."""
    size = len(axis.values)
    clash = any(part.sizes.get(axis.name, 1) != 1 for part in parts)
    name = f"{axis.name}_swept" if clash else axis.name
    along = xr.DataArray([plain(value) for value in axis.values], dims=name, name=name)
    return [
        xr.concat(parts[k : k + size], dim=along, join="outer", data_vars="all", coords="minimal", compat="override")
        for k in range(0, len(parts), size)
    ]


def _settled(data: xr.Dataset, experiment: Experiment) -> xr.Dataset:
    """Recordings at their times, if all runs that are done share them; otherwise each run keeps its `clock`."""
    if "clock" not in data:
        return data
    clock = data["clock"].transpose(..., "time")
    times = clock.values[data["done"].transpose(*clock.dims[:-1]).values]
    if len(times) and np.all(times == times[0]):
        return data.drop_vars("clock").assign_coords(time=("time", times[0], {"units": experiment.time_unit}))
    numbered = data.assign_coords(time=("time", data["time"].values, {"units": "recording"}))
    return numbered.set_coords("clock")
