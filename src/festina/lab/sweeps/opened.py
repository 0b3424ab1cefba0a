"""Reading a sweep: one data set with the sweep's own axes, whose values are fetched from disk when they are asked for.

A sweep may be larger than memory. What is read at once is one tile of one variable, besides what was asked for.
"""

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
import zarr
from xarray.backends import BackendArray
from xarray.core import indexing

from festina.errors import StoreError
from festina.experiment import Experiment
from festina.lab.damage import damage_named
from festina.lab.sweeps import tiles
from festina.lab.sweeps.axes import plain
from festina.lab.sweeps.folder import read_card
from festina.lab.sweeps.plan import Group, Plan, Tile


def swept_data(folder: Path, plan: Plan) -> xr.Dataset:
    """A sweep's results with the sweep's own axes as dimensions; values stay on disk until they are asked for."""
    parts = parts_of(folder, plan)
    data = _settled(_assembled(plan, parts), parts, plan.experiment)
    card = read_card(folder)
    data.attrs = {k: v for k, v in card.items() if k != "question"} | {
        "experiment": plan.experiment.name,
        "config": json.dumps(card["question"]["config"]),
        "failures": tiles.reasons(folder, _done_tiles(plan, parts)),
        "store": str(folder),
    }
    return data


@dataclass(frozen=True)
class Part:
    """What there is of one group.

    Attributes:
        folder: of the sweep.
        number: of the group.
        tile: how many runs are in a tile.
        done: which runs were done when the sweep was opened.
        lazy: the group's data; what no run changes is in memory.
        arrays: its variables on disk.
    """

    folder: Path
    number: int
    tile: int
    done: np.ndarray
    lazy: xr.Dataset
    arrays: Mapping[str, zarr.Array]

    @property
    def starts(self) -> range:
        """The first run of every tile."""
        return range(0, len(self.done), self.tile)

    def read(self, name: str, start: int) -> np.ndarray:
        """One tile of a variable: fill values if it is not done, and StoreError if it is not as it was written."""
        runs, array = slice(start, start + self.tile), self.arrays[name]
        if name == "done":
            return self.done[runs]
        if not self.done[start]:
            return np.full((len(self.done[runs]), *array.shape[1:]), array.fill_value, array.dtype)
        with damage_named(tiles.group_path(self.folder, self.number) / name):
            tiles.check_tile(self.folder, self.number, start, self.tile, name)
            return np.asarray(array[runs])


def parts_of(folder: Path, plan: Plan) -> list[Part | None]:
    """All groups in the order of the structural axes; None for those not begun."""
    for number in range(len(plan.groups)):
        tiles.check_group(folder, number)
    parts = [_part(folder, number, group) for number, group in enumerate(plan.groups)]
    if not any(parts):
        raise StoreError(f"{folder} holds no finished batch yet")
    return parts


def _part(folder: Path, number: int, group: Group) -> Part | None:
    if not tiles.group_card(folder, number).exists():
        return None
    path = tiles.group_path(folder, number)
    with damage_named(path), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lazy = xr.open_zarr(path, consolidated=False, chunks=None)
        for values in lazy.variables.values():
            if "run" not in values.dims:
                values.load()
        arrays = {str(name): array for name, array in zarr.open_group(path, mode="r").arrays()}
        done = tiles.read_done(folder, number, group, arrays["done"])
    return Part(folder, number, group.tile, done, lazy, arrays)


def _done_tiles(plan: Plan, parts: Sequence[Part | None]) -> list[Tile]:
    """The tiles that were done when the sweep was opened."""
    return [tile for tile in plan.tiles() if (part := parts[tile.group]) is not None and part.done[tile.start]]


def _assembled(plan: Plan, parts: Sequence[Part | None]) -> xr.Dataset:
    """All groups as one data set; along dimensions in which they differ, each has its values at its own labels."""
    begun = [part for part in parts if part is not None]
    labels = {dim: _union([part.lazy[dim].to_index() for part in begun]) for dim in _inner_dims(begun)}
    swept = {axis.name: _name_beside(axis.name, begun) for axis in plan.structural}
    absorbed = {axis for axis, name in swept.items() if name == axis and axis in labels}
    grid = {
        f"{axis.name}_swept" if axis.name in labels else axis.name: np.asarray(axis.values, float)
        for axis in plan.continuous
    }
    variables: dict[str, Any] = {}
    for name, values in begun[0].lazy.variables.items():
        if str(name).startswith("config_") or name in ("seed", *begun[0].lazy.dims):
            continue
        if values.dims[:1] == ("run",):
            lazy = GridArray(str(name), plan, tuple(parts), labels, absorbed)
            leading = (*(swept[axis.name] for axis in plan.structural if lazy.leads(axis.name)), "seed", *grid)
            variables[str(name)] = xr.Variable((*leading, *values.dims[1:]), lazy.cached(), values.attrs)
        else:
            variables[str(name)] = values
    coordinates: dict[str, Any] = {"seed": list(plan.seeds)} | grid
    coordinates |= {swept[axis.name]: [plain(value) for value in axis.values] for axis in plan.structural}
    for dim in labels.keys() - absorbed:
        coordinates[dim] = (dim, labels[dim], begun[0].lazy[dim].attrs)
    data = xr.Dataset(variables, coords=coordinates)
    return data.assign({name: data[name].load() for name in ("done", "failed")})


def _inner_dims(parts: Sequence[Part]) -> list[str]:
    return sorted({str(dim) for part in parts for dim in part.lazy.dims} - {"run"})


def _union(indexes: Sequence[pd.Index]) -> pd.Index:
    """All labels; in the order they have if all groups have the same."""
    if all(index.equals(indexes[0]) for index in indexes):
        return indexes[0]
    if not all(index.is_unique for index in indexes):
        return max(indexes, key=len)
    return reduce(lambda one, other: one.union(other), indexes)


def _name_beside(axis: str, parts: Sequence[Part]) -> str:
    """What a structural axis is called: it gives way to a dimension of its name, unless that has one entry only."""
    return f"{axis}_swept" if any(part.lazy.sizes.get(axis, 1) != 1 for part in parts) else axis


class GridArray(BackendArray):
    """One variable of a sweep as an array over structural axes, seeds, continuous axes and its own dimensions.

    A structural axis whose name is that of a dimension with one entry takes that dimension's place.
    """

    def __init__(
        self,
        name: str,
        plan: Plan,
        parts: tuple[Part | None, ...],
        labels: Mapping[str, pd.Index],
        absorbed: set[str],
    ) -> None:
        first = next(part for part in parts if part is not None)
        self.name, self.parts = name, parts
        self.inner = tuple(str(dim) for dim in first.lazy[name].dims[1:])
        self.dtype = first.arrays[name].dtype
        self.structural = {axis.name: len(axis.values) for axis in plan.structural}
        self.absorbed = absorbed & set(self.inner)
        self.runs = (len(plan.seeds), *(len(axis.values) for axis in plan.continuous))
        self.labels = labels
        own = tuple(self.structural[dim] if dim in self.absorbed else len(labels[dim]) for dim in self.inner)
        self.shape = (*(size for axis, size in self.structural.items() if self.leads(axis)), *self.runs, *own)

    def leads(self, axis: str) -> bool:
        """Whether a structural axis is a dimension of its own."""
        return axis not in self.absorbed

    def cached(self) -> Any:
        """As xarray wants an array that is read when needed, kept once it is read, and never written to disk."""
        lazy: Any = indexing.LazilyIndexedArray(self)
        return indexing.MemoryCachedArray(indexing.CopyOnWriteArray(lazy))

    def __getitem__(self, key: indexing.ExplicitIndexer) -> Any:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER, self._read)

    def _read(self, key: tuple[Any, ...]) -> np.ndarray:
        chosen = [np.arange(size)[each] for size, each in zip(self.shape, key, strict=True)]
        wanted = [np.atleast_1d(each) for each in chosen]
        fill = np.nan if np.issubdtype(self.dtype, np.floating) else 0
        found = np.full([len(each) for each in wanted], fill, self.dtype)
        for places, number in self._groups(wanted):
            part = self.parts[number]
            if part is not None:
                self._read_part(part, wanted, places, found)
        return found[tuple(0 if np.ndim(each) == 0 else slice(None) for each in chosen)]

    def _positions(self) -> dict[str, int]:
        """Where each structural axis is among the dimensions."""
        leading = [axis for axis in self.structural if self.leads(axis)]
        before = len(leading) + len(self.runs)
        return {
            axis: leading.index(axis) if self.leads(axis) else before + self.inner.index(axis)
            for axis in self.structural
        }

    def _groups(self, wanted: Sequence[np.ndarray]) -> Iterator[tuple[dict[int, int], int]]:
        """Every group that is asked for: where its values go along the structural dimensions, and its number."""
        positions = list(self._positions().values())
        for places in product(*(range(len(wanted[position])) for position in positions)):
            here = [int(wanted[position][place]) for position, place in zip(positions, places, strict=True)]
            number = int(np.ravel_multi_index(here, tuple(self.structural.values()))) if here else 0
            yield dict(zip(positions, places, strict=True)), number

    def _read_part(
        self, part: Part, wanted: Sequence[np.ndarray], places: Mapping[int, int], found: np.ndarray
    ) -> None:
        """Fetch what a group has of what is wanted, tile by tile."""
        leading = sum(self.leads(axis) for axis in self.structural)
        runs = wanted[leading : leading + len(self.runs)]
        numbers = np.ravel_multi_index(np.ix_(*runs), self.runs)
        into, take = [], []
        for place, dim in enumerate(self.inner, leading + len(self.runs)):
            if place in places:
                into.append(np.array([places[place]]))
                take.append(np.array([0]))
                continue
            own = _places(part.lazy[dim].to_index(), self.labels[dim], wanted[place])
            into.append(np.flatnonzero(own >= 0))
            take.append(own[own >= 0])
        before = tuple(places[place] for place in range(leading))
        for start in part.starts:
            here = (numbers >= start) & (numbers < start + part.tile)
            if here.any():
                picked = part.read(self.name, start)[np.ix_(numbers[here] - start, *take)]
                target = found[before]  # a view
                rows = target.reshape(-1, *target.shape[len(self.runs) :])
                rows[np.ix_(np.flatnonzero(here.ravel()), *into)] = picked


def _places(own: pd.Index, labels: pd.Index, wanted: np.ndarray) -> np.ndarray:
    """Where a group has the wanted ones of all labels; −1 where it has not. Labels that repeat count by position."""
    if own.equals(labels):
        return wanted
    if own.is_unique:
        return own.get_indexer(labels[wanted])
    return np.where(wanted < len(own), wanted, -1)


def _settled(data: xr.Dataset, parts: Sequence[Part | None], experiment: Experiment) -> xr.Dataset:
    """Recordings at their times, if all runs that are done share them; otherwise each run keeps its `clock`."""
    if "clock" not in data:
        return data
    times = _shared_times([part for part in parts if part is not None], data.sizes["time"])
    if times is not None:
        return data.drop_vars("clock").assign_coords(time=("time", times, {"units": experiment.time_unit}))
    numbered = data.assign_coords(time=("time", data["time"].values, {"units": "recording"}))
    return numbered.set_coords("clock")


def _shared_times(parts: Sequence[Part], records: int) -> np.ndarray | None:
    """The times of all runs that are done, if they are the same."""
    clocks = (clock for part in parts for start in part.starts for clock in _clocks(part, start))
    times = next(clocks, None)
    if times is None or len(times) != records:
        return None
    return times if all(np.array_equal(clock, times) for clock in clocks) else None


def _clocks(part: Part, start: int) -> np.ndarray:
    """The times of the runs of a tile, if it is done."""
    return part.read("clock", start) if part.done[start] else np.empty((0, 0))
