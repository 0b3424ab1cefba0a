"""Views of many networks at once: maps over two fields, and networks without paths."""

from __future__ import annotations

from functools import partial
from typing import Any

from festina._lazy import np, xr
from festina.views import _gated as gated
from festina.views._parts import panel_of
from festina.views.vocabulary import Curves, Heat, Mark, Quantity

SPECIALISES = "Bright cells are networks whose students have become their teachers."


def _network(experiment: str, panel: str, shown: tuple[str, str], config: Any) -> Any:
    """The model of an arm of a panel, with fields that are not shown at their largest, as the map has them."""
    import festina as fs

    arms = [arm for arm in fs.lab.find(experiment).arms_at(config) if arm.labels["panel"] == panel]
    rest = [name for name in arms[0].labels if name not in ("panel", *shown)]
    return max(arms, key=lambda arm: [arm.labels[name] for name in rest]).model


def _map(title: str, experiment: str, panel: str, columns: str, rows: str = "block_length", **more: Any) -> Heat:
    """The total alignment of every arm of a panel, the mean over runs, as it grows; fields that are left over are at
    their largest.
    """

    def of(data: xr.Dataset, config: Any) -> xr.DataArray:
        few = gated.thinned(data[["total_alignment"]], 60)["total_alignment"]
        cells = panel_of(few, config, experiment, panel).mean("run")
        rest = [dim for dim in cells.dims if dim not in ("time", rows, columns)]
        cells = cells.isel(dict.fromkeys(rest, -1), drop=True)
        return cells.isel({rows: slice(None, None, -1)})  # the smallest below

    quantity = Quantity("total_alignment", "total alignment", of=of)
    opens = partial(_network, experiment, panel, (rows, columns))
    return Heat(title, quantity, rows, columns, low=0.3, high=1.0, opens=opens, note=SPECIALISES, **more)


REGIMES = (
    _map(
        "Students specialise where gates are fast and blocks are long", "abstraction/regimes", "speed", "gate_timescale"
    ),
    _map("They do not unless gates are bounded", "abstraction/regimes", "strength", "strength"),
)
STARTS = (
    _map(
        "Larger initial weights specialise sooner, up to a point",
        "abstraction/starts",
        "speed",
        "gate_timescale",
        "scale",
    ),
    _map("With fast gates small starts are not held back", "abstraction/starts", "strength", "strength", "scale"),
    _map("Initial gates hardly matter", "abstraction/starts", "gates", "initial_gate"),
)


def _likeness(data: xr.Dataset, config: Any) -> xr.DataArray:
    """For every row of the teachers the largest cosine of any hidden unit, mean over rows and runs."""
    few = gated.thinned(data[["components", "norms"]], 24).isel(run=slice(2))
    cosine = few["components"] / few["norms"].clip(min=1e-30)
    return cosine.max("hidden").mean("row", skipna=False).mean("run")


def _connected_map(title: str, panel: str, columns: str) -> Heat:
    def of(data: xr.Dataset, config: Any) -> xr.DataArray:
        cells = panel_of(_likeness(data, config), config, "abstraction/connected_map", panel)
        return cells.isel(block_length=slice(None, None, -1))

    quantity = Quantity("components", "cosine of a teacher's row with the unit most like it", of=of)
    opens = partial(_network, "abstraction/connected_map", panel, ("block_length", columns))
    return Heat(title, quantity, "block_length", columns, low=0.0, high=1.0, opens=opens, note=SPECIALISES)


CONNECTED_MAP = (
    _connected_map(
        "Units specialise where the second layer is fast and blocks are long", "timescale", "gate_timescale"
    ),
    _connected_map("They do not unless it is bounded", "strength", "strength"),
)


def _sorted_units(data: xr.Dataset, variable: str) -> xr.DataArray:
    """A variable of the first run with hidden units in the order of the teachers' rows that they resemble late."""
    import festina as fs

    few = gated.thinned(data[["components", "norms", variable]], 60).isel(run=[0])
    late = few.isel(time=slice(few.sizes["time"] // 2, None))
    cosine = (late["components"] / late["norms"].clip(min=1e-30)).mean("time").transpose(..., "row", "hidden")
    order = xr.DataArray(fs.measures.matched_paths(cosine.values), dims=(*cosine.dims[:-2], "unit"))
    return few[variable].isel(hidden=order).assign_coords(unit=_row_names(order.sizes["unit"]))


def _row_names(rows: int) -> list[str]:
    return [f"{'AB'[2 * row // rows]}{row % (rows // 2) + 1}" for row in range(rows)]


def connected(by: tuple[str, ...]) -> tuple[Any, ...]:
    """The second layer becomes gates, the first one teachers; units in the order of the teachers' rows."""
    return (
        Heat(
            "The second layer opens the half of the current task",
            Quantity("second_layer", "weight", of=lambda data, config: _sorted_units(data, "second_layer")),
            rows="output",
            columns="unit",
            panels=by,
            diverging=True,
            note="Units are in the order of the teachers' rows that they resemble: those of A, then those of B.",
        ),
        Heat(
            "Hidden units become rows of the teachers",
            Quantity("components", "length along a row", of=lambda data, config: _sorted_units(data, "components")),
            rows="row",
            columns="unit",
            panels=by,
            diverging=True,
        ),
        Curves("Loss on the task shown", "loss", by=by, y="log", marks=gated.beginnings),
    )


def _by_length(variable: str) -> Any:
    """A variable of regular and of random blocks by their mean length."""

    def of(data: xr.Dataset, config: Any) -> xr.DataArray:
        few = gated.thinned(data[[variable]], 40)[variable]
        regular = panel_of(few, config, "abstraction/interleaved", "regular").rename(block_length="mean_length")
        random = panel_of(few, config, "abstraction/interleaved", "random").rename(switching="mean_length")
        random = random.assign_coords(mean_length=config.step_size / random["mean_length"].values).sortby("mean_length")
        lengths = np.unique(np.concatenate([regular["mean_length"], random["mean_length"]]).round(6))
        both = [part.assign_coords(mean_length=part["mean_length"].values.round(6)) for part in (regular, random)]
        whole = xr.concat([part.reindex(mean_length=lengths) for part in both], "schedule")
        return whole.assign_coords(schedule=["regular", "random"])

    return of


def _mean_of_tasks(config: Any) -> tuple[Mark, ...]:
    return (Mark("both students the mean of the tasks", y=0.5**0.5),)


INTERLEAVED = (
    Curves(
        "Long blocks specialise, interleaved tasks do not",
        Quantity("total_alignment", "total alignment", of=_by_length("total_alignment")),
        by=("network", "schedule"),
        along="mean_length",
        x="log",
        marks=_mean_of_tasks,
        note="By the mean length of blocks; tasks that change at random before any step are interleaved at the left.",
    ),
    Curves(
        "Loss on the task shown",
        Quantity("loss", "loss", of=_by_length("loss")),
        by=("network", "schedule"),
        along="mean_length",
        x="log",
    ),
)
