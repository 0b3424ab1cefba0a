"""Where runs of a sweep end: curves over one axis, maps over two."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

from festina._lazy import np
from festina.errors import ArgumentError, UnknownName, require
from festina.figures.panels import Page, label_of, looks_of, map_of
from festina.style import ONE_COLUMN, TWO_COLUMNS, draw_band

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLUMNS = 3
MOST_PANELS = 9
MOST_ENTRIES = 8  # of a dimension that is no axis: curves of a panel, or maps of a variable
MASKS = ("done", "failed")
ROUNDING = 1e-6  # of where runs begin and end: what differs by less is drawn as the same
WIDEST = 26  # letters of a line beside or above a panel
TICKS = {"x": 3, "y": 6}  # of a map, at most


def swept_figure(data: xr.Dataset, axes: Mapping[str, str], names: Sequence[str] = ()) -> Figure:
    """What a sweep found: the last values of variables, the mean over seeds, over its one or two axes.

    Args:
        data: of a sweep, with the masks `done` and `failed`; runs that failed or are not done count nowhere.
        axes: its dimensions that were swept, and what to call each.
        names: of variables with at most one more dimension; the first that fit on a page, if none is named.

    Returns:
        The figure. Over one axis a variable has a panel, with the standard error as a band; over two a map, or one for
        every entry of its other dimension.
    """
    count = f"{len(axes)}: {', '.join(axes)}; select values of the others" if axes else "none"
    if not 1 <= len(axes) <= 2:
        raise ArgumentError(f"Argument `over` must leave one or two axes for a plot, but leaves {count}.")
    panels = _chosen(data, axes, names) if names else _fitting(data, axes)
    require(bool(panels), "names", "name variables with at most one dimension beside the axes", list(data.data_vars))
    columns = min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    size = {"height": 2.4 * rows, "width": ONE_COLUMN * 1.1 if columns == 1 else TWO_COLUMNS}
    with Page(rows, columns, letters=len(panels) > 1, **size) as page:
        for number, values in enumerate(panels):
            (_curves if len(axes) == 1 else _map)(page[number], values, axes)
        for axis in page.axes.ravel()[len(panels) :]:
            axis.set_axis_off()
    return page.figure


def _chosen(data: xr.Dataset, axes: Mapping[str, str], names: Sequence[str]) -> list[xr.DataArray]:
    """The panels of the variables that are asked for."""
    found = []
    for name in names:
        if name not in data.data_vars or name in MASKS:
            raise UnknownName(
                "variable of the sweep", name, [str(each) for each in data.data_vars if each not in MASKS]
            )
        others = _others(data[name], axes)
        if len(others) > 1:
            dims = " and ".join(others)
            raise ArgumentError(f"Argument `{name}` must have one dimension beside the axes, but has {dims}.")
        found += _panels(data, name, axes)
    return found


def _fitting(data: xr.Dataset, axes: Mapping[str, str]) -> list[xr.DataArray]:
    """The panels of the first variables that fit on a page."""
    found: list[xr.DataArray] = []
    for name, values in data.data_vars.items():
        others = _others(values, axes)
        drawable = values.dtype.kind in "fiu" and name not in MASKS and any(axis in values.dims for axis in axes)
        if drawable and (not others or (len(others) == 1 and values.sizes[others[0]] <= MOST_ENTRIES)):
            own = _panels(data, str(name), axes)
            if len(found) + len(own) <= MOST_PANELS:
                found += own
    return found


def _others(values: xr.DataArray, axes: Mapping[str, str]) -> list[str]:
    """Dimensions that are neither swept, nor seeds, nor time."""
    return [str(dim) for dim in values.dims if dim not in (*axes, "seed", "time")]


def _panels(data: xr.Dataset, name: str, axes: Mapping[str, str]) -> list[xr.DataArray]:
    """The last values of a variable, panel by panel: one over one axis; over two, one for each other entry."""
    ends = _ends(data, name)
    others = _others(ends, axes)
    if len(axes) == 1 or not others:
        return [ends]
    return [ends.isel({others[0]: place}) for place in range(ends.sizes[others[0]])]


def _ends(data: xr.Dataset, name: str) -> xr.DataArray:
    """The last value of every run that was recorded; NaN if it failed, or is not done."""
    values = data[name]
    sound = (data["done"] & ~data["failed"]).reset_coords(drop=True)
    if "time" not in values.dims:
        return values.where(sound)
    scale = {"scale": float(abs(values.isel(time=0)).max())}
    last = values.isel(time=-1, drop=True).assign_attrs(values.attrs | scale)
    if not bool((last.isnull() & sound).any()):
        return last.where(sound)
    whole = values.transpose(..., "time")  # runs of some structures have fewer recordings than others
    known = np.isfinite(whole.values)
    place = whole.sizes["time"] - 1 - np.argmax(known[..., ::-1], axis=-1)
    ends = np.take_along_axis(whole.values, place[..., None], axis=-1)[..., 0]
    return last.transpose(*whole.dims[:-1]).copy(data=ends).where(sound)


def _limits(values: xr.DataArray) -> tuple[float, float]:
    """From the least to the largest of what is drawn; from zero to where runs began, if it differs by rounding only."""
    low, high = float(values.min()), float(values.max())
    scale = max(abs(low), abs(high), values.attrs.get("scale", 0.0))
    if high - low > ROUNDING * scale:
        return low, high
    return (-scale if low < -ROUNDING * scale else 0.0, scale if high > -ROUNDING * scale else 0.0)


def _curves(axis: Axes, values: xr.DataArray, axes: Mapping[str, str]) -> None:
    """The mean over seeds along the one axis, with its standard error; a curve for each entry of another dimension."""
    (x,) = axes
    others = _others(values, axes)
    for entry, look in _entries(values, others):
        own = values if entry is None else values.isel({others[0]: entry})
        label = "" if entry is None else label_of(others[0], values[others[0]].values[entry])
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Mean of empty slice|Degrees of freedom")  # where all runs failed
            draw_band(axis, _places(values[x].values), own.transpose("seed", x).values, label=label, marker="o", **look)
    low, high = _limits(values)
    if low < float(values.min()) or high > float(values.max()):
        axis.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
    _ticks(axis, values[x].values)
    axis.set(xlabel=axes[x], ylabel=_label(values))
    if others:
        axis.legend(fontsize=6.5)


def _entries(values: xr.DataArray, others: Sequence[str]) -> Iterator[tuple[int | None, dict[str, Any]]]:
    looks = looks_of(range(values.sizes[others[0]]) if others else [None])
    return ((entry, {**look, "ms": 2.6}) for entry, look in looks.items())


def _map(axis: Axes, values: xr.DataArray, axes: Mapping[str, str]) -> None:
    """The mean over seeds over both axes, in colours."""
    x, y = axes
    mean = values.mean("seed", skipna=True, keep_attrs=True)
    low, high = _limits(mean)
    placed = mean.assign_coords({dim: np.arange(mean.sizes[dim]) for dim in (x, y)})
    image = map_of(axis, placed, x, y, vmin=low, vmax=high)
    for dim, ticks, most in ((x, axis.set_xticks, TICKS["x"]), (y, axis.set_yticks, TICKS["y"])):
        places = _even_places(mean.sizes[dim], most)
        ticks(places, [_written(mean[dim].values[place]) for place in places])
    entry = [label_of(str(name), each.item()) for name, each in mean.coords.items() if each.ndim == 0]
    axis.set_title("\n".join([_label(values), *entry]), fontsize=7.5, loc="left")
    axis.set(xlabel=axes[x], ylabel=axes[y])
    axis.figure.colorbar(image, ax=axis)


def _even_places(count: int, most: int) -> Any:
    """Places from the first to the last, at equal distances if there is such a number of them."""
    even = [number for number in range(min(most, count), 2, -1) if (count - 1) % (number - 1) == 0]
    return np.linspace(0, count - 1, even[0] if even else min(2, count)).round().astype(int)


def _label(values: xr.DataArray) -> str:
    name, unit = values.attrs.get("long_name") or str(values.name).replace("_", " "), values.attrs.get("units")
    return fill(f"{name} / {unit}" if unit else str(name), WIDEST)


def _places(values: Any) -> Any:
    """Where values stand along an axis: where they are, if they are finite numbers, or else side by side."""
    return values if _is_scale(values) else np.arange(len(values))


def _is_scale(values: Any) -> bool:
    return values.dtype.kind in "fiu" and bool(np.all(np.isfinite(values)))


def _ticks(axis: Axes, values: Any) -> None:
    """Names below what stands side by side; a logarithmic axis for what is spaced so."""
    if not _is_scale(values):
        axis.set_xticks(range(len(values)), [_written(value) for value in values])
    elif len(values) > 2 and np.all(values > 0) and np.allclose(np.diff(np.log(values), 2), 0, atol=1e-6):
        axis.set_xscale("log")


def _written(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "∞" if np.isinf(value) else f"{value:.3g}".replace("-", "−")
