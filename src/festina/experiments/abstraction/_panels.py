"""Panels that the figures on task abstractions share."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import festina as fs
from festina.figures.panels import means

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

    from festina.experiment import Result

LOOKS: dict[str, dict[str, Any]] = {
    "flexible": {"color": "#000000", "ls": "-"},
    "forgetful": {"color": "#7F7F7F", "ls": (0, (4, 1.2))},
}
"""How the two arms are drawn, everywhere."""

MARKS = {"flexible": "o", "forgetful": "s"}
"""What single points of them look like."""


def task_color(task: int) -> str:
    """The colour of a task, and of all that belongs to it."""
    style = fs.figures.style
    return (style.BLUE, style.VERMILLION, style.GREEN, style.PURPLE, style.ORANGE, style.SKY)[task % 6]


def task_look(task: int) -> dict[str, Any]:
    """Its colour, and a line that can be told from those of its neighbours."""
    lines = ("-", (0, (4, 1.2)), (0, (1, 1)), (0, (6, 1, 1, 1)))
    return {"color": task_color(task), "ls": lines[task % len(lines)]}


def shade_blocks(axis: Any, edges: Any, order: Any) -> None:
    """A strip above the axis in the colour of the task shown, with its letter (A, B, C, …) while there is room."""
    place = axis.get_xaxis_transform()
    for block, (start, end) in enumerate(itertools.pairwise(edges)):
        task = order[block % len(order)]
        axis.axvspan(start, end, ymin=1.0, ymax=1.045, color=task_color(task), alpha=0.75, lw=0, clip_on=False)
        if len(edges) <= 24:
            middle = (start + end) / 2
            axis.text(
                middle, 1.05, chr(65 + task), transform=place, ha="center", va="bottom", fontsize=5.5, color="0.3"
            )


def shade_mixtures(axis: Any, edges: Any, groups: Any, named: bool = True) -> None:
    """The strip above the axis in the colours of all teachers of the task shown, one above the other, and its letters.

    ``groups`` are the teachers of each block, as (0,) or (2, 0).
    """
    place = axis.get_xaxis_transform()
    for (start, end), group in zip(itertools.pairwise(edges), groups, strict=True):
        height = 0.045 / len(group)
        for level, teacher in enumerate(reversed(group)):
            low = 1.0 + level * height
            axis.axvspan(start, end, ymin=low, ymax=low + height, color=task_color(teacher), lw=0, clip_on=False)
        if named:
            letters, middle = "".join(chr(65 + teacher) for teacher in group), (start + end) / 2
            axis.text(middle, 1.05, letters, transform=place, ha="center", va="bottom", fontsize=5.5, color="0.3")


def draw_arms(axis: Any, result: Any, name: str, **look: Any) -> None:
    """One variable of both arms over time."""
    values = result[name].transpose("run", "arm", "time")
    for arm in values["arm"].values:
        fs.figures.style.draw_band(
            axis, result["time"].values, values.sel(arm=arm).values, **(LOOKS[str(arm)] | {"label": str(arm)} | look)
        )


def draw_along(axis: Axes, values: xr.DataArray, dim: str, suffix: str = "") -> None:
    """A number of both arms along a dimension: means over runs with their standard errors."""
    for arm, look in LOOKS.items():
        means(axis, values[dim], values.sel(arm=arm), marker=MARKS[arm], label=f"{arm}{suffix}", **look)


def draw_gates(axis: Axes, result: Result, **at: Any) -> None:
    """The gates of the flexible network over time, sorted by teachers."""
    gates = result["sorted_gates"].sel({"arm": "flexible"} | at).transpose("student", "run", "time")
    for student, values in enumerate(gates.values):
        label = f"$c^{{{student + 1}}}$"
        fs.figures.style.draw_band(axis, result["time"].values, values, label=label, lw=1.0, **task_look(student))
    axis.set(ylabel="gates (flexible)")
