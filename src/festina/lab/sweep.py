"""Sweeps: any number of axes × seeds, in compiled batches, into a store that survives a kill at any moment.

On disk a sweep is one zarr group for each structure, with the runs along one dimension, cut into tiles; a tile is
one chunk of every array, so that writing it touches no other. `done` is marked after a tile's data is written.
"""

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
import zarr

from festina.errors import ArgumentError, StoreError, require
from festina.experiment import Budget, Experiment
from festina.lab.axes import Axis, checked, parse_axis
from festina.lab.batch import dataset, simulate
from festina.lab.plan import Group, Plan, make_plan
from festina.lab.provenance import code_digest, digest, provenance
from festina.lab.registry import find
from festina.lab.run import Interrupted
from festina.lab.store import check_writable
from festina.learning.checkpoint import write_atomically
from festina.learning.progress import Progress

CARD = "sweep.json"
DATA = "data.zarr"


def sweep(
    experiment: str | Experiment,
    over: Mapping[str, Sequence[Any]] | Sequence[str],
    *,
    store: str | Path,
    seeds: int | None = None,
    first_seed: int = 0,
    budget: Budget = "full",
    variables: Sequence[str] | None = None,
    tile: int | None = None,
    **fields: Any,
) -> xr.Dataset:
    """Run an experiment at every point of a grid, and give the results as one data set with the grid's axes.

    Args:
        experiment: its name, or an `Experiment`.
        over: values for each field, or texts such as ``"initial=log:1e-6:1e-2:20"``.
        store: a folder; a sweep that finds its own earlier work there goes on from it.
        seeds: how many seeds at every point.
        first_seed: the first of them.
        budget: `quick` or `full`.
        variables: keep only these variables.
        tile: runs per compiled batch; chosen to fit memory unless given.
        **fields: configuration fields that stay fixed.
    """
    experiment = find(experiment) if isinstance(experiment, str) else experiment
    count = experiment.seeds_at(budget) if seeds is None else seeds
    require(count >= 1, "seeds", "be at least 1", count)
    require(tile is None or tile >= 1, "tile", "be at least 1", tile)
    axes = [Axis(k, tuple(v)) for k, v in over.items()] if isinstance(over, Mapping) else [parse_axis(o) for o in over]
    axes = checked(experiment, axes, budget, fields)
    plan = make_plan(experiment, axes, tuple(range(first_seed, first_seed + count)), budget, fields, tile)
    folder = sweep_folder(Path(store), plan, variables)
    prepare(folder, plan)
    work(folder, plan, variables)
    return open_sweep(folder)


def sweep_folder(store: Path, plan: Plan, variables: Sequence[str] | None) -> Path:
    """Where a sweep lives: the same question always in the same folder."""
    key = digest(plan.question(), sorted(variables) if variables else None)
    return store / plan.experiment.name / f"sweep-{key}"


def prepare(folder: Path, plan: Plan) -> None:
    """Start a sweep's folder, or make sure that the one that is there may be gone on with."""
    check_writable(folder)
    card = {"question": plan.question(), **provenance()}
    path = folder / CARD
    if path.exists():
        try:
            known = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            raise StoreError(f"{path} is damaged; remove {folder} to start the sweep anew") from None
        if known["code"] != code_digest():
            raise StoreError(
                f"{folder} was begun by festina {known['version']} (code {known['code']}), this is "
                f"{card['version']} (code {card['code']}); finish it with that version, or choose another store"
            )
        return
    write_atomically(path, lambda temporary: _write_json(temporary, card))


def work(folder: Path, plan: Plan, variables: Sequence[str] | None = None) -> None:
    """Compute every tile that is not done yet."""
    pending = list(_pending(folder, plan))
    total = plan.runs
    left = sum(stop - start for _, start, stop in pending)
    with Progress(f"sweep {plan.experiment.name}", total=total, unit="run") as progress:
        progress.advance(total - left)
        for number, start, stop in pending:
            group = plan.groups[number]
            _compute_tile(folder, plan, number, group, start, stop, variables)
            progress.advance(stop - start)


def _pending(folder: Path, plan: Plan) -> Iterator[tuple[int, int, int]]:
    for number, group in enumerate(plan.groups):
        done = read_done(folder, number, len(group.runs))
        for start, stop in group.tiles():
            if not done[start:stop].all():
                yield number, start, stop


def read_done(folder: Path, number: int, runs: int) -> np.ndarray:
    """Which runs of a group are finished; none if the group cannot be read."""
    try:
        return np.asarray(zarr.open_array(folder / DATA / f"group-{number}" / "done", mode="r")[:])
    except (OSError, ValueError, KeyError, zarr.errors.BaseZarrError):
        return np.zeros(runs, bool)


def _compute_tile(
    folder: Path, plan: Plan, number: int, group: Group, start: int, stop: int, variables: Sequence[str] | None
) -> None:
    runs = group.padded(start, stop)
    outcome = simulate(plan.experiment, runs, label=f"runs {start + 1}–{stop}")
    if outcome.interrupted:
        raise Interrupted(f"sweep interrupted; finished batches are kept in {folder}, ask again to go on")
    data = _select(dataset(plan.experiment, runs, outcome), variables).isel(run=slice(0, stop - start))
    try:
        root = _group(folder, number, group, data)
        for name in (*data.data_vars, *_run_coordinates(data)):
            root[str(name)][start:stop] = data[name].values
        failures = {f.run + start: str(f) for f in outcome.failures if f.run < stop - start}
        if failures:
            reasons = {
                str(run): text.replace(f"run {run - start} ", f"run {run} ", 1) for run, text in failures.items()
            }
            write_atomically(folder / "failures" / f"{number}-{start}.json", lambda path: _write_json(path, reasons))
        failed = np.zeros(stop - start, bool)
        failed[[run - start for run in failures]] = True
        root["failed"][start:stop] = failed
        root["done"][start:stop] = True
    except OSError as error:
        raise StoreError(f"cannot write {folder}: {error.strerror or error}; finished batches are kept") from error


def _select(data: xr.Dataset, variables: Sequence[str] | None) -> xr.Dataset:
    unknown = [name for name in variables or () if name not in data]
    if unknown:
        raise ArgumentError(f"Argument `variables` must name some of {sorted(data.data_vars)}, but names {unknown}.")
    return data if variables is None else data[list(variables)]


def _run_coordinates(data: xr.Dataset) -> list[str]:
    return [str(name) for name, values in data.coords.items() if values.dims[:1] == ("run",)]


def _group(folder: Path, number: int, group: Group, data: xr.Dataset) -> zarr.Group:
    """The zarr group of a structure, allocated whole when its first tile arrives."""
    path = folder / DATA / f"group-{number}"
    if (path / "done").exists():
        return zarr.open_group(path, mode="r+")
    root = zarr.open_group(path, mode="w")
    total = len(group.runs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in data.variables:
            values = data[name]
            per_run = values.dims[:1] == ("run",)
            shape = (total, *values.shape[1:]) if per_run else values.shape
            chunks = (group.tile, *values.shape[1:]) if per_run else values.shape
            array = root.create_array(
                str(name),
                shape=shape,
                chunks=tuple(max(1, c) for c in chunks) if shape else "auto",
                dtype=values.dtype,
                fill_value=np.nan if np.issubdtype(values.dtype, np.floating) else 0,
                dimension_names=[str(d) for d in values.dims],
                attributes={k: v for k, v in values.attrs.items() if isinstance(v, str | int | float)},
            )
            if not per_run:
                array[...] = values.values
        root.create_array(
            "failed", shape=(total,), chunks=(group.tile,), dtype=bool, fill_value=False, dimension_names=["run"]
        )
        # Last: its presence says that the group is allocated whole.
        root.create_array(
            "done", shape=(total,), chunks=(group.tile,), dtype=bool, fill_value=False, dimension_names=["run"]
        )
    return root


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
    parts = [_unstacked(folder / DATA / f"group-{number}", plan) for number in range(_count(plan.structural))]
    for axis in reversed(plan.structural):
        size = len(axis.values)
        along = xr.DataArray([_plain(value) for value in axis.values], dims=axis.name, name=axis.name)
        parts = [
            xr.concat(parts[k : k + size], dim=along, join="outer", coords="minimal", compat="override")
            for k in range(0, len(parts), size)
        ]
    data = parts[0]
    reasons: dict[str, str] = {}
    for path in sorted((folder / "failures").glob("*.json")):
        reasons |= {f"{path.stem.split('-')[0]}:{run}": text for run, text in json.loads(path.read_text()).items()}
    data.attrs = {k: v for k, v in card.items() if k != "question"} | {
        "experiment": experiment.name,
        "config": json.dumps(question["config"]),
        "failures": list(reasons.values()),
        "store": str(folder),
    }
    return data


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
    return value if isinstance(value, int | float | str | bool) else ",".join(map(str, value))


def _write_json(path: Path, content: Any) -> None:
    path.write_text(json.dumps(content, indent=1), encoding="utf-8")
