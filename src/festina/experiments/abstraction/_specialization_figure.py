"""The figure of `abstraction/specialization`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.abstraction._common import ARMS, block_edges, times_to
from festina.experiments.abstraction._panels import LOOKS, draw_arms, shade_blocks, task_color
from festina.experiments.abstraction.specialization import LEVEL

DASHES: tuple[Any, ...] = ("-", (0, (4, 1.2)), (0, (1, 1)), (0, (6, 1, 1, 1)))


def draw(result: Any) -> Any:
    """Loss, gates, alignment; how fast weights and gates change; how fast a task is adapted to."""
    with fs.lab.style.style():
        figure, axes = plt.subplots(2, 3, figsize=(7.2, 4.2))
        _draw_loss(axes[0, 0], result)
        _draw_gates(axes[0, 1], result)
        _draw_alignment(axes[0, 2], result)
        _draw_speed(axes[1, 0], result, "weights")
        _draw_speed(axes[1, 1], result, "gates")
        _draw_times(axes[1, 2], result)
        for axis in axes.ravel()[:5]:
            shade_blocks(axis, block_edges(result.config), range(result.config.tasks))
            axis.set(xlabel="time t", xlim=(0, result.config.until))
        fs.lab.style.letter(*axes.ravel())
    return figure


def _draw_loss(axis: Any, result: Any) -> None:
    draw_arms(axis, result, "loss", lw=0.9)
    axis.set(ylabel="loss on the task shown")
    axis.set_ylim(0, 1.35 * axis.get_ylim()[1])
    axis.legend(loc="upper right", ncols=2, columnspacing=0.8)


def _draw_gates(axis: Any, result: Any) -> None:
    gates = result["sorted_gates"].sel(arm="flexible").transpose("run", "student", "time").values
    for student in range(gates.shape[1]):
        look = {"color": task_color(student), "ls": DASHES[student % 4], "lw": 1.0}
        fs.lab.style.draw_band(axis, result["time"].values, gates[:, student], label=f"$c^{{{student + 1}}}$", **look)
    axis.set(ylabel="gates (flexible)")
    axis.legend(loc="center right", frameon=True, framealpha=0.9, edgecolor="none")


def _draw_alignment(axis: Any, result: Any) -> None:
    values = result["sorted_alignment"].transpose("run", "arm", "teacher", "student", "time")
    time, first = result["time"].values, values.isel(student=0)
    for teacher in range(values.sizes["teacher"]):
        look = {"color": task_color(teacher), "ls": DASHES[teacher % 4]}
        fs.lab.style.draw_band(axis, time, first.sel(arm="flexible").isel(teacher=teacher).values, lw=1.2, **look)
        fs.lab.style.draw_band(
            axis, time, first.sel(arm="forgetful").isel(teacher=teacher).values, lw=0.7, alpha=0.55, **look
        )
        axis.plot([], [], label=f"with teacher {chr(65 + teacher)}", **look)
    axis.plot([], [], color="0.4", lw=0.7, alpha=0.55, label="forgetful (thin)")
    axis.set(ylabel="alignment, student 1", ylim=(-0.1, 1.6), yticks=[0, 0.5, 1])
    axis.legend(loc="upper right", fontsize=6.5)


def _draw_speed(axis: Any, result: Any, of: str) -> None:
    speed = result["speeds"].sel(of=of).transpose("run", "arm", "time")
    for arm in ARMS:
        fs.lab.style.draw_band(axis, result["time"].values, speed.sel(arm=arm).values, lw=0.9, **LOOKS[arm])
    axis.set(ylabel="|dW/dt|" if of == "weights" else "|dc/dt|", ylim=(0, None))
    if of == "gates":
        norm = np.sqrt((result["norms"].sel(arm="flexible") ** 2).sum("path")).transpose("run", "time")
        twin = axis.twinx()
        fs.lab.style.draw_band(
            twin, result["time"].values, norm.values, color=fs.lab.style.GREEN, ls=(0, (5, 1.5)), lw=1.0
        )
        twin.set_ylabel("norm of students |W|", color=fs.lab.style.GREEN)
        twin.set_ylim(0, None)
        twin.spines["right"].set_visible(True)


def _draw_times(axis: Any, result: Any) -> None:
    times = times_to(result, LEVEL) / result.config.block_length
    block = np.arange(1, times.shape[-1] + 1)
    for number, arm in enumerate(ARMS):
        known = np.isfinite(times[:, number]).all(axis=0)
        fs.lab.style.draw_band(
            axis, block[known], times[:, number][:, known], marker="o", ms=2.5, label=arm, **LOOKS[arm]
        )
    axis.set(xlabel="block", ylabel=f"time to L = {LEVEL:g} (blocks)", ylim=(0, 1.05))
