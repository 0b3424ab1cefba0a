"""One number for each run, for maps: where a variable ends, when it is half-way, how sudden it is; and critical values.

Any variable with a course in time has three numbers: its last value, its half-time, and its stage index
(t₉₀ − t₁₀)/t₁₀, small for a plateau with a jump. Families may declare more (``SCALARS``). A *critical value* of a field
(``CRITICAL``) is where theory says that something changes: a line on the map.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from festina._lazy import np, xr
from festina.views.declared import declared_in, names_of

if TYPE_CHECKING:
    from festina.experiment import Experiment

PARTS = (0.1, 0.5, 0.9)


@dataclass(frozen=True)
class Scalar:
    """One number for each run.

    Attributes:
        name: by which a map asks for it.
        label: what the map says.
        of: makes it of the recorded data: dimensions run and those of the arms.

    Example:
        >>> from festina.views.scalars import Scalar
        >>> Scalar("peak", "largest loss", lambda data: data["loss"].max("time")).name
        'peak'
    """

    name: str
    label: str
    of: Callable[[xr.Dataset], xr.DataArray]


def scalars_of(experiment: Experiment) -> tuple[Scalar, ...]:
    """The numbers that a map of an experiment can show besides last values: declared ones first."""
    found = [scalar for name in names_of(experiment) for scalar in declared_in("SCALARS").get(name, ())]
    arms = len(experiment.arms.dims)
    for name, kind in experiment.variables.items():
        if not kind.final and len(kind.dims) == arms:
            found += [
                Scalar(f"half_time:{name}", f"half-time: {kind.label}", _of(name, half_time)),
                Scalar(f"stage:{name}", f"(t₉₀ − t₁₀)/t₁₀: {kind.label}", _of(name, stage)),
            ]
    return tuple(found)


def critical(experiment: Experiment, field: str, configs: Sequence[Any]) -> list[list[float]]:
    """Critical values of a field at each configuration, of the model of its first arm; nothing if theory has none."""
    rules = [declared_in("CRITICAL").get(name, {}).get(field) for name in names_of(experiment)]
    rule = next(filter(None, rules), None)
    if rule is None:
        return []
    return [[float(value) for value in rule(experiment.arms_at(config)[0].model)] for config in configs]


def _of(name: str, measure: Callable[[xr.DataArray], xr.DataArray]) -> Callable[[xr.Dataset], xr.DataArray]:
    return lambda data: measure(data[name])


def half_time(course: xr.DataArray) -> xr.DataArray:
    """When a course is half-way from its first to its last value; not a number if it never moves.

    Example:
        >>> from festina.views.scalars import half_time
        >>> import xarray as xr
        >>> float(half_time(xr.DataArray([0.0, 1.0, 4.0], dims="time", coords={"time": [0.0, 1.0, 2.0]})).round(2))
        1.33
    """
    return _when(course, PARTS[1])


def stage(course: xr.DataArray) -> xr.DataArray:
    """(t₉₀ − t₁₀)/t₁₀ of a course: small for a long wait and a sudden change."""
    early, late = _when(course, PARTS[0]), _when(course, PARTS[2])
    return (late - early) / early.where(early > 0)


def _when(course: xr.DataArray, part: float) -> xr.DataArray:
    """The first time at which so much of the way from the first to the last value is gone, between two recordings."""
    course = course.transpose(..., "time")
    times = (course["clock"] if "clock" in course.coords else course["time"]).broadcast_like(course)
    times = times.transpose(*course.dims).values.astype(float)
    values = course.values.astype(float)
    first, last = values[..., :1], values[..., -1:]
    with np.errstate(all="ignore"):
        share = (values - first) / (last - first)
    passed = share >= part
    after = np.maximum(passed.argmax(axis=-1), 1)[..., None]
    low, high = (np.take_along_axis(share, after - back, -1)[..., 0] for back in (1, 0))
    begin, end = (np.take_along_axis(times, after - back, -1)[..., 0] for back in (1, 0))
    with np.errstate(all="ignore"):
        found = begin + (end - begin) * np.clip((part - low) / (high - low), 0.0, 1.0)
    known = passed.any(axis=-1) & np.isfinite(last[..., 0]) & (last[..., 0] != first[..., 0])
    return course.isel(time=0, drop=True).copy(data=np.where(known, found, np.nan))
