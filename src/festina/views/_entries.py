"""Entries of what was recorded, for views: those that a configuration has, whatever it has."""

from __future__ import annotations

from functools import reduce
from typing import Any

from festina._lazy import xr


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


def model_of(experiment: str, config: Any, **labels: Any) -> Any:
    """The model of the first arm that has these labels; None if there is none."""
    import festina as fs

    arms = fs.lab.find(experiment).arms_at(config)
    return next((arm.model for arm in arms if labels.items() <= arm.labels.items()), None)


def lettered(array: xr.DataArray, config: Any) -> xr.DataArray:
    """Classes by their letters, A, B, …, or by the digits that they are."""
    names = [str(digit) for digit in getattr(config, "digits", ())] or [*"ABCDEFGHIJ"]
    dims = [dim for dim in ("class", "other_class") if dim in array.dims]
    return reduce(lambda part, dim: part.assign_coords({dim: names[: part.sizes[dim]]}), dims, array)
