"""Entries of what was recorded, for views: those that a configuration has, whatever it has."""

from __future__ import annotations

from functools import reduce
from typing import Any

from festina._lazy import np, xr


def some(array: xr.DataArray, **wanted: Any) -> xr.DataArray:
    """Entries of dimensions by their labels: those of the wanted that are there, the first one if none is.

    A single label takes its dimension away, a tuple of them keeps it.
    """
    for dim, labels in wanted.items():
        if dim not in array.dims:
            continue
        several = isinstance(labels, tuple)
        known = array[dim].values.tolist()
        there = [known.index(label) for label in (labels if several else (labels,)) if label in known] or [0]
        array = array.isel({dim: there if several else there[0]}, drop=True)
    return array


def first_of(array: xr.DataArray, *dims: str) -> xr.DataArray:
    """The first entry along dimensions, where they are."""
    return array.isel({dim: 0 for dim in dims if dim in array.dims}, drop=True)


def panel_of(array: xr.DataArray, config: Any, experiment: str, panel: str) -> xr.DataArray:
    """The arms of one panel of an experiment, with what tells them apart as dimensions, in rising order if numbers."""
    import festina as fs

    places = fs.lab.find(experiment).arms.places(config)
    own = {number: labels for number, labels in places.items() if labels["panel"] == panel}
    dims = [dim for dim in next(iter(own.values())) if dim != "panel"]
    values = {dim: list(dict.fromkeys(labels[dim] for labels in own.values())) for dim in dims}
    values = {dim: sorted(known) if not isinstance(known[0], str) else known for dim, known in values.items()}
    shape = tuple(len(known) for known in values.values())
    numbers = np.full(shape, -1)
    for number, labels in own.items():
        numbers[tuple(values[dim].index(labels[dim]) for dim in dims)] = number
    index = xr.DataArray(numbers, dims=dims)
    picked = array.drop_vars(["arm", "panel"], errors="ignore").isel(arm=index.clip(min=0)).where(index >= 0)
    texts = {dim: [_text(each) if isinstance(each, tuple) else each for each in known] for dim, known in values.items()}
    return picked.assign_coords(texts)


def _text(values: tuple[Any, ...]) -> str:
    return "/".join(map(str, values))


def lettered(array: xr.DataArray) -> xr.DataArray:
    """Classes by their letters, A, B, …"""
    dims = [dim for dim in ("class", "other_class") if dim in array.dims]
    return reduce(lambda part, dim: part.assign_coords({dim: [*"ABCDEFGHIJ"[: part.sizes[dim]]]}), dims, array)
