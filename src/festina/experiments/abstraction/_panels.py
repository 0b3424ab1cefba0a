"""Panels that the figures on task abstractions share."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import festina as fs
from festina._lazy import np
from festina.figures.panels import LINES, means

if TYPE_CHECKING:
    from collections.abc import Sequence

    import xarray as xr
    from matplotlib.axes import Axes

    from festina.experiment import Result

LOOKS: dict[str, dict[str, Any]] = {
    "flexible": {"color": "#000000", "ls": "-"},
    "forgetful": {"color": "#7F7F7F", "ls": (0, (4, 1.2))},
}
"""How the two arms are drawn, everywhere."""

THIN: dict[str, Any] = {"lw": 0.7, "alpha": 0.55}
"""How the forgetful arm is drawn where colours are those of tasks."""
MARKS = {"flexible": "o", "forgetful": "s"}
"""What single points of them look like."""


def task_color(task: int) -> str:
    """The colour of a task, and of all that belongs to it."""
    style = fs.style
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
        fs.style.draw_band(
            axis, result["time"].values, values.sel(arm=arm).values, **(LOOKS[str(arm)] | {"label": str(arm)} | look)
        )


def draw_by_task(axis: Axes, values: xr.DataArray, dim: str, label: str) -> None:
    """A variable of both arms for each entry of a dimension, in the colours of the tasks; the forgetful one is thin."""
    time = values["time"].values
    for place in range(values.sizes[dim]):
        own, look = values.isel({dim: place}).transpose("arm", "run", "time"), task_look(place)
        thick = {"lw": 1.2, "label": f"{label} {chr(65 + place)}"}
        for arm, width in (("flexible", thick), ("forgetful", THIN)):
            fs.style.draw_band(axis, time, own.sel(arm=arm).values, **look, **width)
    axis.plot([], [], color="0.4", label="forgetful (thin)", **THIN)
    axis.legend(loc="upper right", fontsize=6.5)


def draw_in_blocks(axis: Axes, values: xr.DataArray, label: str = "", **look: Any) -> None:
    """A number of both arms in each block, such as the time that adaptation takes, where all runs have one."""
    for arm, fill in (("flexible", None), ("forgetful", "white")):
        known = values.sel(arm=arm).transpose("run", "block").dropna("block")
        whole = LOOKS[arm] | {"marker": "o", "ms": 2.4, "mfc": fill, "label": f"{label}{arm}"} | look
        fs.style.draw_band(axis, known["block"].values + 1, known.values, **whole)
    axis.set(xlabel="block")


def draw_along(axis: Axes, values: xr.DataArray, dim: str, suffix: str = "") -> None:
    """A number of both arms along a dimension: means over runs with their standard errors."""
    for arm, look in LOOKS.items():
        means(axis, values[dim], values.sel(arm=arm), marker=MARKS[arm], label=f"{arm}{suffix}", **look)


def draw_gates(axis: Axes, result: Result, **at: Any) -> None:
    """The gates of the flexible network over time, sorted by teachers."""
    gates = result["sorted_gates"].sel({"arm": "flexible"} | at).transpose("student", "run", "time")
    for student, values in enumerate(gates.values):
        label = f"$c^{{{student + 1}}}$"
        fs.style.draw_band(axis, result["time"].values, values, label=label, lw=1.0, **task_look(student))
    axis.set(ylabel="gates (flexible)")


def draw_plane(axis: Axes, title: str) -> None:
    """The plane of two teachers, in which students of the reduced model live; each teacher is a star."""
    for name, place in {"A": (1, 0), "B": (0, 1)}.items():
        axis.plot(*place, "*k", ms=5, clip_on=False, zorder=5)
        axis.annotate(name, place, xytext=(5, 3), textcoords="offset points", fontsize=7)
    axis.set(xlim=(-0.08, 1.15), ylim=(-0.08, 1.15), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1], aspect="equal")
    axis.set(xlabel="along teacher A", ylabel="along teacher B", title=title)


def draw_students(axis: Axes, weights: xr.DataArray, gates: xr.DataArray | None = None, **look: Any) -> None:
    """The courses of both students in that plane, each with a mark where it ends, and dots as large as its gate.

    A label is that of the first student.
    """
    for path, (mark, line) in enumerate((("o", "-"), ("s", (0, (3, 1))))):
        color, course = task_color(path), weights.isel(path=path).transpose("teacher", "time").values
        axis.plot(*course, **{"color": color, "ls": line} | look)
        axis.plot(*course[:, -1], mark, color=color, ms=3.5, mec="k", mew=0.5, zorder=4)
        look.pop("label", None)
        if gates is not None:
            some = slice(None, None, max(1, course.shape[1] // 25))
            sizes, dots = 26 * np.abs(gates.isel(path=path).values[some]), {"marker": mark, "lw": 0, "alpha": 0.45}
            axis.scatter(*course[:, some], s=sizes, color=color, zorder=3, label=f"student {path + 1}", **dots)


def draw_gate_drive(axis: Axes) -> None:
    """w·ε just after a switch from A to B, by the direction of a student w."""
    angle = np.linspace(0.0, 90.0, 91)
    toward = np.sin(np.radians(angle)) - np.cos(np.radians(angle))
    for size, line in ((1.0, LINES[0]), (0.5, LINES[1]), (0.1, LINES[3])):
        axis.plot(angle, size * toward, color="k", ls=line, label=f"|w| = {size:g}")
    axis.axhline(0, color="0.75", lw=0.7, zorder=0)
    axis.set(xticks=[0, 45, 90], xticklabels=["A (0°)", "45°", "B (90°)"], xlabel="direction of the student")
    axis.set(ylabel=r"gate drive $w\cdot\varepsilon$", title="switch from A to B", yticks=[-1, 0, 1])
    axis.legend(loc="upper left", fontsize=6.5)


def draw_adaptation_speeds(axes: Sequence[Axes], separation: np.ndarray, overall: np.ndarray) -> None:
    """−dL/dt = Σ(c^p)²|ε|² + Σ(w^p·ε)² = (1 + c̄²) + 2w̄² just after a switch, ε = (−1, 1), with both timescales 1, for
    gates of sum 1 and symmetric students: whole, by its second term, by its first; and where a network was at switches.
    """
    across, up = np.linspace(0.0, 1.25, 101), np.linspace(0.0, 1.0, 81)  # one gate may pass 1 for a while
    through_gates = np.broadcast_to(2.0 * up[:, None] ** 2, (81, 101))
    through_weights = np.broadcast_to(1.0 + across[None, :] ** 2, (81, 101))
    speeds = {
        "whole kernel": through_gates + through_weights,
        r"gates move, $w^p w^{p\top}$": through_gates,
        r"weights move, $(c^p)^2$": through_weights,
    }
    for axis, (title, speed) in zip(axes, speeds.items(), strict=True):
        image = axis.pcolormesh(across, up, speed, shading="gouraud", rasterized=True, vmin=0.0, vmax=4.0)
        lines = axis.contour(across, up, speed, levels=np.arange(0.5, 4.0, 0.5), colors="white", linewidths=0.7)
        axis.clabel(lines, fontsize=6, fmt="%g")
        axis.plot(separation, overall, "o-", color="k", mfc="white", ms=3, lw=0.6, clip_on=False, zorder=5)
        axis.figure.colorbar(image, ax=axis, ticks=[0, 1, 2, 3, 4], pad=0.03).set_label("−dL/dt", fontsize=7.5)
        axis.set(xlabel=r"separation of gates $|\bar{c}|$", ylabel=r"specialisation $|\bar{w}|$", title=title)
        axis.set(xticks=[0, 0.5, 1], yticks=[0, 0.5, 1], xlim=(0, 1.25), ylim=(0, 1))
