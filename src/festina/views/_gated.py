"""Views of gates and students: the plane of the teachers, gates through blocks, what happens after a switch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from festina._lazy import np, xr
from festina.views._entries import first_of, some
from festina.views.vocabulary import Curves, Mark, Plane, Quantity

MOST_BLOCKS = 30  # whose beginnings are marked
MOST_TIMES = 120  # recordings at which costly numbers are computed


def thinned(data: xr.Dataset, most: int = MOST_TIMES) -> xr.Dataset:
    """Some of the recordings, evenly spread, with both ends."""
    count = data.sizes["time"]
    return data if count <= most else data.isel(time=np.linspace(0, count - 1, most).round().astype(int))


def student_names(array: xr.DataArray) -> xr.DataArray:
    """Paths by the number of their student."""
    return array.assign_coords(path=[f"student {k + 1}" for k in range(array.sizes["path"])])


def teacher_norm(config: Any) -> float:
    """|W*|, the norm of all rows of a teacher together."""
    import festina as fs

    return config.outputs**0.5 * fs.worlds.convention(config.convention).row_norm(config.inputs)


def _along(teacher: int) -> Quantity:
    """How much of a teacher each student has: its length along it, over the teacher's."""

    def of(data: xr.Dataset, config: Any) -> xr.DataArray:
        share = first_of(data["components"], "run").isel(teacher=teacher, drop=True) / teacher_norm(config)
        return student_names(share)

    return Quantity("components", f"share of teacher {'AB'[teacher]}", of=of)


def teachers(config: Any) -> Sequence[Mark]:
    return (Mark("teacher A", 1.0, 0.0, "target"), Mark("teacher B", 0.0, 1.0, "target"))


def students(title: str, by: tuple[str, ...], note: str = "") -> Plane:
    """Students of the first run in the plane of the first two teachers."""
    x, y = (_along(teacher) for teacher in (0, 1))
    return Plane(title, x, y, by=by, marks=teachers, equal=True, note=note)


def beginnings(config: Any) -> Sequence[Mark]:
    """Where blocks begin, with the letter of their task, if they are not too many."""
    length = config.block_length
    if not isinstance(length, int | float) or config.until / length > MOST_BLOCKS:
        return ()
    tasks = getattr(config, "tasks", 2)
    if not isinstance(tasks, int):
        return ()
    count = int(config.until / length + 1e-9)
    return tuple(Mark("ABCDEFGHIJKLMNOPQRST"[block % tasks], x=block * length) for block in range(count))


def gates(title: str, by: tuple[str, ...], note: str = "", **wanted: Any) -> Curves:
    """Gates over time, of the first run: which student takes which task is left to chance, and no mean says it."""

    def of(data: xr.Dataset, config: Any) -> xr.DataArray:
        return student_names(first_of(some(data["gates"], **wanted), "run"))

    return Curves(title, Quantity("gates", "gate c", of=of), by=by, marks=beginnings, note=note)


def loss(title: str, by: tuple[str, ...], note: str = "", marks: Any = beginnings) -> Curves:
    """The loss on the task that is shown."""
    return Curves(title, "loss", by=by, marks=marks, note=note)


def _blocks_of(values: xr.DataArray, config: Any, count: int) -> list[int]:
    """The first recordings of blocks, but for the first block, that have so many recordings so far."""
    length = max(round(config.block_length / config.step_size), 1) * config.step_size
    time = values["time"].values
    edges = length * np.arange(1, int(config.until / length + 1e-9) + 1)
    first = np.searchsorted(time, edges - 1e-9)
    return [int(place) for place in first if place + count <= len(time)]


def each_switch(variable: str, count: int, most: int) -> Quantity:
    """A variable in the first steps after each of the first switches, and after the last one so far."""

    def of(data: xr.Dataset, config: Any) -> xr.DataArray | None:
        found = _blocks_of(data[variable], config, count)
        if not found:
            return None
        shown = dict.fromkeys([*range(min(most, len(found))), len(found) - 1])
        names = [f"switch {number + 1}" for number in shown]
        return _after([data[variable].isel(time=slice(found[k], found[k] + count)) for k in shown], names)

    return Quantity(variable, of=of)


def early_and_late(variable: str, count: int, last: int) -> Quantity:
    """A variable in the first steps after the first switch, and after the last ones so far, on average."""

    def of(data: xr.Dataset, config: Any) -> xr.DataArray | None:
        found = _blocks_of(data[variable], config, count)
        if not found:
            return None
        pieces = [data[variable].isel(time=slice(place, place + count)) for place in found]
        stacked = [piece.drop_vars("time").rename(time="step") for piece in pieces]
        late = sum(stacked[-last:]) / len(stacked[-last:])
        return _named_stages([stacked[0], late], ["first switch", "late switches"])  # pyright: ignore

    return Quantity(variable, of=of)


def _after(pieces: list[xr.DataArray], names: list[str]) -> xr.DataArray:
    return _named_stages([piece.drop_vars("time").rename(time="step") for piece in pieces], names)


def _named_stages(parts: list[xr.DataArray], names: list[str]) -> xr.DataArray:
    whole = xr.concat(parts, "stage").assign_coords(stage=names)
    return whole.assign_coords(step=np.arange(whole.sizes["step"]))


def total_alignment(data: xr.Dataset, config: Any) -> xr.DataArray:
    """The cosine of all students with all teachers, matched anew at every moment; as recorded, if it is.

    Matching takes time, so that of more than two students only some recordings of a few runs are looked at.
    """
    import festina as fs

    if "components" not in data:
        return data["total_alignment"]
    components, norms = data["components"], data["norms"]
    if components.sizes["teacher"] == components.sizes["path"] == 2:
        straight, crossed = (
            components.isel(teacher=0, path=k, drop=True) + components.isel(teacher=1, path=1 - k, drop=True)
            for k in (0, 1)
        )
        matched = xr.where(straight > crossed, straight, crossed)
        return matched / (2 * (norms**2).sum("path", skipna=False)) ** 0.5
    few = thinned(data[["components", "norms"]], 40).isel(run=slice(2))
    dims = [["teacher", "path"], ["path"]]
    return xr.apply_ufunc(fs.measures.total_alignment, few["components"], few["norms"], input_core_dims=dims)
