"""From labelled data to the lines of a chart: few enough to read, thin enough to send."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import xarray as xr

from festina.experiment import Experiment
from festina.lab.tables import value_text

MOST_TIMES = 300
MOST_LINES = 24
MOST_RUNS = 5  # that are shown one by one


@dataclass(frozen=True)
class Recording:
    """One variable as it was recorded: axes (run, time, …), and how the further ones are called."""

    variable: str
    label: str
    unit: str
    values: np.ndarray
    dims: tuple[str, ...]
    coordinates: Mapping[str, Sequence[Any]]

    def entry_name(self, entry: tuple[Any, ...]) -> str:
        """Where an entry stands along the further axes, in words."""
        parts = []
        for dim, index in zip(self.dims, entry, strict=True):
            values = self.coordinates.get(dim)
            value = int(index) if values is None else values[index]
            parts.append(f"{dim.replace('_', ' ')} {value_text(_plain(value))}")
        return ", ".join(parts)


def chosen(count: int, most: int) -> np.ndarray:
    """At most so many of the numbers 0, 1, …, count − 1: evenly spread, with both ends."""
    return np.arange(count) if count <= most else np.unique(np.linspace(0, count - 1, most).round().astype(int))


def telling(values: np.ndarray, most: int) -> np.ndarray:
    """At most so many places along the last axis: evenly spread, and between any two that in which a line turns most.

    Even ones alone meet some of the peaks at switches of tasks and miss others, and so draw a course that is not there.
    """
    count = values.shape[-1]
    if count <= most:
        return np.arange(count)
    even = chosen(count, most // 2)
    before = np.searchsorted(even, np.arange(count), side="right").clip(1, len(even) - 1) - 1
    share = (np.arange(count) - even[before]) / np.diff(even)[before]
    rows = np.reshape(values, (-1, count))
    away = np.abs(rows - (rows[:, even[before]] * (1 - share) + rows[:, even[before + 1]] * share))
    away = np.where(np.isfinite(away), away, 0.0).max(axis=0, initial=0.0)
    turns = [start + int(away[start:stop].argmax()) for start, stop in pairwise(even)]
    return np.unique([*even, *turns])


def numbers(values: np.ndarray) -> list[Any]:
    """A list for JSON, with null for what is not finite."""
    values = np.asarray(values, float)
    finite = np.isfinite(values)
    if finite.all():
        return values.tolist()
    plain = values.astype(object)
    plain[~finite] = None
    return plain.tolist()


def of_dataset(data: xr.Dataset, experiment: Experiment) -> list[Recording]:
    """Every variable with a course in time, as the experiment orders them; those measured afterwards come last."""
    names = dict.fromkeys([*experiment.variables, *map(str, data.data_vars)])
    known = [name for name in names if name in data and {"run", "time"} <= set(data.variables[name].dims)]
    return [recording(experiment, name, data) for name in known]


def recording(experiment: Experiment, name: str, data: xr.Dataset) -> Recording:
    """A variable of a data set, called what the experiment calls it or else what its attributes say."""
    array = data.variables[name].transpose("run", "time", ...)  # bare, for no chart looks at what stands beside it
    dims = tuple(str(dim) for dim in array.dims[2:])
    known = experiment.variables.get(name)
    label = known.label if known else str(array.attrs.get("long_name", name))
    unit = known.unit if known else str(array.attrs.get("units", ""))
    coordinates = {dim: data.variables[dim].values.tolist() for dim in dims if dim in data.coords}
    return Recording(name, label, unit, array.values, dims, coordinates)


def lines(recordings: Sequence[Recording], records: np.ndarray) -> list[dict[str, Any]]:
    """The series of all variables at the chosen recordings."""
    return [series for recording in recordings for series in _lines_of(recording, records)]


def _lines_of(recording: Recording, records: np.ndarray) -> list[dict[str, Any]]:
    """One series for each entry and run; where these are too many, the mean over runs and how far they spread."""
    shape = recording.values.shape[2:]
    entries = [np.unravel_index(k, shape) for k in chosen(int(np.prod(shape)), MOST_LINES)] if shape else [()]
    runs = recording.values.shape[0]
    one_by_one = runs <= MOST_RUNS and runs * len(entries) <= MOST_LINES
    found = []
    for entry in entries:
        values = np.asarray(recording.values[(slice(None), records, *entry)], float)
        head = {
            "variable": recording.variable,
            "label": recording.label,
            "unit": recording.unit,
            "line": recording.entry_name(entry),
        }
        if one_by_one or runs == 1:
            found += [head | {"run": run, "values": numbers(values[run])} for run in range(runs)]
        else:
            found.append(head | {"run": None} | band(values))
    return found


def band(values: np.ndarray) -> dict[str, Any]:
    """Mean, smallest and largest over the runs that are known; nothing where none is."""
    known = np.isfinite(values)
    count = known.sum(axis=0)
    mean = np.where(known, values, 0.0).sum(axis=0) / np.where(count > 0, count, np.nan)
    low = np.where(known, values, np.inf).min(axis=0)
    high = np.where(known, values, -np.inf).max(axis=0)
    return {"values": numbers(mean), "low": numbers(low), "high": numbers(high)}


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
