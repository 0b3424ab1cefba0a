"""The figure of `abstraction/mixtures`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.abstraction._common import ARMS, block_edges
from festina.experiments.abstraction._latent import PAIRS, TEACHERS
from festina.experiments.abstraction._panels import LOOKS, shade_mixtures, task_color
from festina.experiments.abstraction.mixtures import turn

DASHES: tuple[Any, ...] = ("-", (0, (4, 1.2)), (0, (1, 1)))
MARKS = ("o", "s", "^")
SHOWN = 6  # blocks at the end in which loss and gates are shown
CORNERS = np.exp(2j * np.pi * (np.arange(TEACHERS) / TEACHERS + 0.25))  # where the teachers are drawn, A at the top


def draw(result: Any) -> Any:
    """Loss and gates at the end; how students come to the teachers, and how they turn away."""
    with fs.figures.style.style():
        figure, axes = plt.subplots(2, 3, figsize=(7.2, 4.4))
        _draw_loss(axes[0, 0], result)
        _draw_gates(axes[0, 1], result)
        _draw_alignment(axes[0, 2], result)
        _draw_total(axes[1, 0], result)
        _draw_turn(axes[1, 1], result)
        _draw_triangle(axes[1, 2], result)
        fs.figures.style.letter(*axes.ravel())
    return figure


def _late(axis: Any, result: Any) -> Any:
    """Show the last blocks, with a strip of their teachers; which recordings these are."""
    edges, time = block_edges(result.config), result["time"].values
    first = max(0, len(edges) - 1 - SHOWN)
    groups = [PAIRS[block % len(PAIRS)] for block in range(first, len(edges) - 1)]
    shade_mixtures(axis, edges[first:], groups)
    axis.set(xlim=(edges[first], edges[-1]), xlabel="time t")
    return (time >= edges[first]) & (time < edges[-1])


def _draw_loss(axis: Any, result: Any) -> None:
    inside = _late(axis, result)
    loss = result["loss"].transpose("run", "arm", "time").isel(time=inside)
    for arm in ARMS:
        fs.figures.style.draw_band(
            axis, result["time"].values[inside], loss.sel(arm=arm).values, lw=1.0, label=arm, **LOOKS[arm]
        )
    axis.set(ylabel="loss on the task shown", ylim=(0, 1.45 * float(loss.mean("run").max())))
    axis.legend(loc="upper right", ncols=2, columnspacing=0.8)


def _draw_gates(axis: Any, result: Any) -> None:
    inside = _late(axis, result)
    gates = result["sorted_gates"].sel(arm="flexible").transpose("run", "student", "time").values
    for student in range(TEACHERS):
        look = {"color": task_color(student), "ls": DASHES[student], "lw": 1.1, "label": f"of {chr(65 + student)}"}
        fs.figures.style.draw_band(axis, result["time"].values[inside], gates[:, student][:, inside], **look)
    axis.set(ylabel="gates (flexible)", ylim=(-0.05, 0.85))
    axis.legend(loc="upper right", ncols=3, columnspacing=0.7, handlelength=1.3)


def _draw_alignment(axis: Any, result: Any) -> None:
    """Of the student that belongs to A, with each teacher."""
    values = result["sorted_alignment"].sel(arm="flexible").isel(student=0).transpose("run", "teacher", "time").values
    for teacher in range(TEACHERS):
        look = {"color": task_color(teacher), "ls": DASHES[teacher], "label": f"with {chr(65 + teacher)}"}
        fs.figures.style.draw_band(axis, result["time"].values, values[:, teacher], lw=1.1, **look)
    axis.set(xlabel="time t", ylabel="alignment, student of A", xlim=(0, result.config.until), ylim=(-0.3, 1.05))
    axis.legend(loc="upper right", bbox_to_anchor=(1.0, 0.8))


def _draw_total(axis: Any, result: Any) -> None:
    alignment = result["total_alignment"].transpose("run", "arm", "time")
    for arm in ARMS:
        fs.figures.style.draw_band(axis, result["time"].values, alignment.sel(arm=arm).values, lw=1.1, **LOOKS[arm])
    look = {"color": fs.figures.style.BLUE, "lw": 0.9, "ls": (0, (1, 1)), "label": "flexible, median"}
    axis.plot(result["time"].values, np.median(alignment.sel(arm="flexible").values, axis=0), **look)
    axis.set(xlabel="time t", ylabel="total alignment", xlim=(0, result.config.until), ylim=(-0.05, 1.08))
    axis.legend(loc="center right", bbox_to_anchor=(1.0, 0.25))


def _draw_turn(axis: Any, result: Any) -> None:
    time, angles = result["time"].values, turn(result)
    late = time >= 0.1 * time[-1]  # before, students have no direction yet
    for angle in angles:
        axis.plot(time[late], angle[late], color="k", lw=0.6, alpha=0.7)
    low, high = min(-75.0, angles[:, late].min() - 5), max(75.0, angles[:, late].max() + 5)
    for multiple in range(int(np.ceil(low / 60)), int(np.floor(high / 60)) + 1):
        name, color = ("teachers", fs.figures.style.GREEN) if multiple % 2 == 0 else ("tasks", fs.figures.style.ORANGE)
        axis.axhline(60 * multiple, color=color, lw=0.9, ls="-" if multiple % 2 == 0 else (0, (4, 1.2)), zorder=0)
        axis.text(1.01, 60 * multiple, name, transform=axis.get_yaxis_transform(), fontsize=6.5, va="center")
    axis.set(xlabel="time t", ylabel="turn of students (degrees)", xlim=(0, time[-1]), ylim=(low, high))
    axis.set_yticks(60 * np.arange(int(np.ceil(low / 60)), int(np.floor(high / 60)) + 1))


def _draw_triangle(axis: Any, result: Any) -> None:
    """All students at the end, seen along A + B + C, with teachers at the corners and tasks at the midpoints."""
    last = result["sorted_alignment"].sel(arm="flexible").isel(time=-1).transpose("run", "teacher", "student").values
    places = np.einsum("rms,m->rs", last, CORNERS)
    _line(axis, CORNERS[[*range(TEACHERS), 0]], color="0.6", lw=0.8)
    circle = np.exp(1j * np.linspace(0, 2 * np.pi, 200))
    for radius, style in ((1.0, (0, (1, 1.5))), (0.5, (0, (4, 1.5)))):
        _line(axis, radius * circle, color="0.6", lw=0.7, ls=style)
    for teacher, corner in enumerate(CORNERS):
        color = task_color(teacher)
        look = {"ha": "center", "va": "center", "weight": "bold", "color": color}
        axis.text(1.22 * np.real(corner), 1.22 * np.imag(corner), chr(65 + teacher), **look)
        _line(axis, places[:, teacher], color=color, marker=MARKS[teacher], ms=4, alpha=0.6, mew=0, ls="none")
    middles = np.array([CORNERS[list(pair)].mean() for pair in PAIRS])
    _line(axis, middles, color="k", marker="x", ms=4.5, ls="none", label="tasks")
    axis.plot([], [], "o", color="0.4", ms=4, mew=0, label="students")
    axis.legend(loc="upper right", bbox_to_anchor=(1.12, 1.08), handlelength=0.8, fontsize=6.5)
    axis.set(xlim=(-1.35, 1.35), ylim=(-1.1, 1.4), aspect="equal")
    axis.axis("off")


def _line(axis: Any, points: Any, **look: Any) -> None:
    """Points of the complex plane."""
    axis.plot(np.real(points), np.imag(points), **look)
