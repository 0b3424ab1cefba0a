"""A finished run as files: the figure, a table, and the data in two formats of science."""

import csv
import io
import shutil
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import xarray as xr

from festina.experiment import Result
from festina.lab.pictures import draw
from festina.lab.store import write_zarr
from festina.page.series import Recording, of_dataset

TYPES = {
    "figure.png": "image/png",
    "figure.svg": "image/svg+xml",
    "data.csv": "text/csv; charset=utf-8",
    "data.nc": "application/x-netcdf",
    "data.zip": "application/zip",
}
COLUMNS = ("variable", "run", "seed", "time", "entry", "simulation", "theory")
ROWS = 10_000  # of a table, in one piece
_drawing = Lock()  # matplotlib draws one figure at a time


def file_name(result: Result, name: str) -> str:
    """What a browser should call a download."""
    return f"{result.experiment.name.replace('/', '-')}-{name}"


def figure(result: Result, kind: str) -> bytes:
    """The figure the experiment draws, as PNG or SVG."""
    with _drawing:
        return draw(result)[kind]


def table(result: Result) -> Iterator[bytes]:
    """Every number that has a time, one to a row, as CSV; piece by piece, for there may be many."""
    yield _rows([COLUMNS])
    theory = {} if result.theory is None else _by_name(of_dataset(result.theory, result.experiment))
    for name, recording in _by_name(of_dataset(result.data, result.experiment)).items():
        for run, seed in enumerate(result.data["seed"].values):
            rows = _table_of(result, recording, theory.get(name), run, int(seed))
            while piece := list(islice(rows, ROWS)):
                yield _rows(piece)


def _table_of(
    result: Result, recording: Recording, predicted: Recording | None, run: int, seed: int
) -> Iterator[tuple[Any, ...]]:
    clock = result.data["clock"].values[run] if "clock" in result.data.coords else result.data["time"].values
    for entry in np.ndindex(recording.values.shape[2:]):
        simulated = recording.values[(run, slice(None), *entry)]
        exact = None if predicted is None else predicted.values[(run, slice(None), *entry)]
        called = recording.entry_name(entry)
        for k, time in enumerate(clock):
            theory = "" if exact is None else repr(float(exact[k]))
            yield recording.variable, run, seed, repr(float(time)), called, repr(float(simulated[k])), theory


def _by_name(recordings: list[Recording]) -> dict[str, Recording]:
    return {recording.variable: recording for recording in recordings}


def _rows(rows: Any) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def netcdf(result: Result) -> bytes:
    """Simulation and theory in one NetCDF file; the theory's variables are called theory_…"""
    data = result.data
    if result.theory is not None:
        shared = {f"theory_{name}": array.variable for name, array in result.theory.data_vars.items()}
        data = data.assign(shared)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.nc"
        _plain(data).to_netcdf(path, engine="scipy")
        return path.read_bytes()


def zipped_zarr(result: Result) -> bytes:
    """The zarr folder that the store would keep, with the groups simulation and theory, as one file."""
    with tempfile.TemporaryDirectory() as folder:
        inside = Path(folder) / "data.zarr"
        write_zarr(result.data, inside, "simulation")
        if result.theory is not None:
            write_zarr(result.theory, inside, "theory")
        archive = shutil.make_archive(str(Path(folder) / "data"), "zip", folder, "data.zarr")
        return Path(archive).read_bytes()


def _plain(data: xr.Dataset) -> xr.Dataset:
    """The same data with what this old format knows: lists of texts become texts, true and false numbers."""
    attrs = {name: _attribute(value) for name, value in data.attrs.items()}
    flags = {name: array.astype(np.int8) for name, array in data.variables.items() if array.dtype == bool}
    return data.assign(flags).assign_attrs(attrs)


def _attribute(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return "\n".join(map(str, value))
    return int(value) if isinstance(value, bool) else value
