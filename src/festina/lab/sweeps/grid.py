"""Writing the grid of a sweep: one zarr group for each structure, runs along one dimension, cut into tiles.

A tile is one chunk of every array, so that writing it touches no other; `done` is marked after its data is written.
"""

import warnings
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import xarray as xr
import zarr

from festina.errors import StoreError
from festina.files import write_json
from festina.lab.damage import damage_named
from festina.lab.locks import exclusive
from festina.lab.sweeps import tiles
from festina.lab.sweeps.plan import Group


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
    """The zarr group of a structure, allocated whole by whoever brings the first of its tiles.

    Nothing is written into a group that is damaged: whoever mends it would throw that away.
    """
    path = tiles.group_path(folder, number)
    with exclusive(tiles.allocation_path(folder, number)):
        tiles.check_group(folder, number)
        if tiles.group_card(folder, number).exists():
            with damage_named(path):
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
