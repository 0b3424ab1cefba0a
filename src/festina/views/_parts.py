"""What views are made of: arms of one panel, entries along a dimension, several quantities beside each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from festina._lazy import np, xr

Arms = dict[int, dict[str, Any]]


def panel(data: xr.Dataset, config: Any, experiment: str, name: str, variable: str) -> xr.DataArray:
    """A variable of the arms of one panel."""
    return panel_of(data[variable], config, experiment, name)


def panel_of(array: xr.DataArray, config: Any, experiment: str, name: str) -> xr.DataArray:
    """The arms of one panel, with what tells them apart as dimensions, in rising order if numbers; NaN where there is
    no arm.

    Recorded data of an experiment with panels have all arms along one dimension, `arm`.
    """
    own = {place: labels for place, labels in _places(experiment, config).items() if labels["panel"] == name}
    dims = [dim for dim in next(iter(own.values())) if dim != "panel"]
    axes = {dim: _in_order([labels[dim] for labels in own.values()]) for dim in dims}
    where = tuple([axes[dim].index(labels[dim]) for labels in own.values()] for dim in dims)
    texts = {dim: [_text(label) for label in labels] for dim, labels in axes.items()}
    array = array.isel(arm=list(own)).drop_vars(["panel", "arm"], errors="ignore")
    found = _arranged(array.drop_vars("clock", errors="ignore"), texts, where).assign_attrs(array.attrs)
    if "clock" in array.coords:
        clock = array["clock"].drop_vars("clock")
        own_clock = _arranged(clock, texts, where) if "arm" in clock.dims else clock
        found = found.assign_coords(clock=own_clock.assign_attrs(clock.attrs))
    return found


def _in_order(labels: list[Any]) -> list[Any]:
    """Each label once: numbers, and tuples of them, in rising order, texts as they come."""
    known = list(dict.fromkeys(labels))
    return known if isinstance(known[0], str) else sorted(known)


def _text(label: Any) -> Any:
    """A label as a coordinate holds it: a tuple is a text."""
    return "/".join(map(str, label)) if isinstance(label, tuple) else label


def _arranged(array: xr.DataArray, axes: Mapping[str, list[Any]], where: tuple[list[int], ...]) -> xr.DataArray:
    """The one dimension of arms cut into those of the panel, which stand last but for the variable's own."""
    values = array.transpose("arm", ...).values
    if not axes:
        return array.isel(arm=0)
    whole = np.full((*map(len, axes.values()), *values.shape[1:]), np.nan)
    whole[where] = values
    rest = [dim for dim in array.dims if dim != "arm"]
    coords = {name: part for name, part in array.coords.items() if "arm" not in part.dims}
    return xr.DataArray(whole, {**coords, **axes}, (*axes, *rest))


@lru_cache(maxsize=16)
def _places(experiment: str, config: Any) -> Arms:
    from festina.lab.registry import find

    return find(experiment).arms.places(config)


def beside(dim: str, parts: Mapping[str, xr.DataArray]) -> xr.DataArray:
    """Quantities of the same dimensions along a new one, by name; each with its own clock, if it has one."""
    first = next(iter(parts.values()))
    coords = {name: part for name, part in first.coords.items() if name != "clock"}
    joined = _stacked(dim, [part.transpose(*first.dims) for part in parts.values()], coords | {dim: list(parts)})
    if "clock" not in first.coords:
        return joined
    clocks = [part["clock"].transpose(*first["clock"].dims) for part in parts.values()]
    return joined.assign_coords(clock=_stacked(dim, clocks, {}).assign_attrs(first["clock"].attrs))


def _stacked(dim: str, parts: Sequence[xr.DataArray], coords: Mapping[Any, Any]) -> xr.DataArray:
    """Plain arrays, for joining labelled ones takes ten times as long."""
    return xr.DataArray(np.stack([part.values for part in parts]), coords, (dim, *parts[0].dims))


def at(array: xr.DataArray, dim: str, choose: Callable[[np.ndarray], Any]) -> xr.DataArray:
    """The entry along a dimension that ``choose`` picks of its labels; the array itself if it has no such dimension."""
    if dim not in array.dims:
        return array
    return array.isel({dim: int(choose(array[dim].values))}, drop=True)


def some(array: xr.DataArray, dim: str, wanted: Iterable[float]) -> xr.DataArray:
    """The entries nearest to some numbers, each once; the array itself if it has no such dimension."""
    if dim not in array.dims:
        return array
    labels = array[dim].values
    return array.isel({dim: list(dict.fromkeys(int(np.argmin(np.abs(labels - it))) for it in wanted))})


def named(array: xr.DataArray, dim: str, labels: Iterable[str]) -> xr.DataArray:
    """The entries of these names that there are, in this order; the array itself if it has no such dimension."""
    if dim not in array.dims:
        return array
    known = array[dim].values.tolist()
    return array.isel({dim: [known.index(label) for label in labels if label in known]})


def smallest(labels: np.ndarray) -> int:
    """The place of the smallest label."""
    return int(np.argmin(labels))


def largest(labels: np.ndarray) -> int:
    """The place of the largest label."""
    return int(np.argmax(labels))


def least(labels: np.ndarray) -> int:
    """The place of the label nearest to zero."""
    return int(np.argmin(np.abs(labels)))


def grid_of(reach: float, points: int = 41) -> np.ndarray:
    """Places along a side of a surface, from −reach to reach."""
    return np.linspace(-reach, reach, points)


def few(array: xr.DataArray, most: int) -> xr.DataArray:
    """At most so many recordings, evenly spread, with both ends."""
    count = array.sizes.get("time", 0)
    if count <= most:
        return array
    return array.isel(time=np.unique(np.linspace(0, count - 1, most).round().astype(int)))


def first_run(array: xr.DataArray) -> xr.DataArray:
    """One run, where runs differ in kind, or where only one is shown."""
    return array.isel(run=[0]) if "run" in array.dims else array
