"""The figure of `abstraction/connected`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.abstraction._common import ARMS, block_edges, times_to
from festina.experiments.abstraction._connected_rows import TASKS
from festina.experiments.abstraction._panels import LOOKS, draw_arms, shade_blocks, task_color
from festina.experiments.abstraction.connected import LEVEL

DASHES: tuple[Any, ...] = ("-", (0, (4, 1.2)))


def draw(result: Any) -> Any:
    """Learning over time, and the second layer at the ends of the last blocks, sorted and as it is."""
    with fs.figures.style.style():
        figure = plt.figure(figsize=(7.2, 6.6))
        parts: Any = figure.subfigures(2, 1, height_ratios=(1.75, 1))
        axes = parts[0].subplots(2, 3)
        draw_arms(axes[0, 0], result, "loss", lw=0.9)
        axes[0, 0].set(ylabel="loss on task shown", yscale="log", ylim=(None, 50.0))
        axes[0, 0].legend(loc="upper right", ncols=2, columnspacing=0.8)
        _draw_gates(axes[0, 1], result)
        _draw_alignment(axes[0, 2], result)
        draw_arms(axes[1, 0], result, "total_alignment", lw=1.0)
        axes[1, 0].set(ylabel="total alignment", ylim=(-0.1, 1))
        _draw_gradients(axes[1, 1], result)
        _draw_times(axes[1, 2], result)
        for axis in axes.ravel()[:5]:
            shade_blocks(axis, block_edges(result.config), range(TASKS))
            axis.set(xlabel="time t", xlim=(0, result.config.until))
        images = _draw_layers(parts[1], result)
        fs.figures.style.letter(*axes.ravel(), images[0, 0], images[1, 0])
    return figure


def _draw_gates(axis: Any, result: Any) -> None:
    gates = result["sorted_gates"].transpose("run", "arm", "student", "time")
    for student in range(TASKS):
        look = {"color": task_color(student), "ls": DASHES[student]}
        values = gates.isel(student=student)
        label = f"rows of {chr(65 + student)}"
        fs.figures.style.draw_band(
            axis, result["time"].values, values.sel(arm="flexible").values, lw=1.1, label=label, **look
        )
        fs.figures.style.draw_band(
            axis, result["time"].values, values.sel(arm="forgetful").values, lw=0.7, alpha=0.55, **look
        )
    axis.set(ylabel="gates: diagonal of C")
    axis.set_ylim(top=1.4 * axis.get_ylim()[1])
    axis.plot([], [], color="0.4", lw=0.7, alpha=0.55, label="forgetful (thin)")
    axis.legend(loc="upper right", ncols=2, fontsize=6.5, columnspacing=0.8)


def _draw_alignment(axis: Any, result: Any) -> None:
    values = result["sorted_alignment"].isel(student=0).transpose("run", "arm", "teacher", "time")
    for teacher in range(TASKS):
        look = {"color": task_color(teacher), "ls": DASHES[teacher]}
        of_teacher = values.isel(teacher=teacher)
        label = f"with teacher {chr(65 + teacher)}"
        fs.figures.style.draw_band(
            axis, result["time"].values, of_teacher.sel(arm="flexible").values, lw=1.1, label=label, **look
        )
        fs.figures.style.draw_band(
            axis, result["time"].values, of_teacher.sel(arm="forgetful").values, lw=0.7, alpha=0.55, **look
        )
    axis.plot([], [], color="0.4", lw=0.7, alpha=0.55, label="forgetful (thin)")
    axis.set(ylabel="alignment, units of A", ylim=(-0.2, 1.6), yticks=[0, 0.5, 1])
    axis.legend(loc="upper right", fontsize=6.5)


def _draw_gradients(axis: Any, result: Any) -> None:
    """Norms of both layers' gradients, averaged over each block."""
    config, time = result.config, result["time"].values
    edges = block_edges(config)
    speeds = result["speeds"].transpose("run", "arm", "of", "time").values
    timescales = {"first": config.weight_timescale, "second": config.gate_timescale}
    for number, (layer, timescale) in enumerate(timescales.items()):
        for place, arm in enumerate(ARMS):
            inside = [(time >= start - 1e-9) & (time < start + config.block_length - 1e-9) for start in edges[:-1]]
            means = timescale * np.stack([speeds[:, place, number, block].mean(axis=-1) for block in inside], axis=-1)
            look = LOOKS[arm] | {"color": (fs.figures.style.BLACK, fs.figures.style.VERMILLION)[number], "lw": 1.0}
            fs.figures.style.draw_band(axis, (edges[:-1] + edges[1:]) / 2, means, marker="os"[number], ms=1.8, **look)
        axis.plot([], [], color=look["color"], marker="os"[number], ms=2.5, label=f"{layer} layer")
    axis.plot([], [], color="0.4", ls=LOOKS["forgetful"]["ls"], lw=1.0, label="forgetful")
    axis.set(ylabel="norm of gradient", yscale="log")
    low, high = axis.get_ylim()
    axis.set_ylim(low, high * (high / low) ** 0.55)
    axis.legend(loc="upper right", fontsize=6.5)


def _draw_times(axis: Any, result: Any) -> None:
    times = times_to(result, LEVEL)
    block = np.arange(1, times.shape[-1] + 1)
    for number, arm in enumerate(ARMS):
        known = np.isfinite(times[:, number]).all(axis=0)
        fs.figures.style.draw_band(
            axis, block[known], times[:, number][:, known], marker="o", ms=2, label=arm, **LOOKS[arm]
        )
    axis.set(xlabel="block", ylabel=f"time to L = {LEVEL:g}", ylim=(0, None))
    axis.legend(loc="upper right")


def _draw_layers(figure: Any, result: Any) -> Any:
    """The second layer at the ends of the last blocks of A and of B: mean of runs when sorted, one run when not."""
    ends = block_edges(result.config)[1:]
    moments = [ends[np.arange(len(ends)) % TASKS == task][-1] for task in range(TASKS)]
    axes = figure.subplots(2, 2 * len(ARMS), sharex="row", sharey=True)
    rows = {
        "sorted,\nmean of runs": result["sorted_second_layer"].mean("run").transpose("time", "arm", "output", "row"),
        "unsorted,\none run": result["second_layer"].isel(run=0).transpose("time", "arm", "output", "hidden"),
    }
    limit = float(max(abs(layer.sel(time=moments, method="nearest")).max() for layer in rows.values()))
    image = None
    for line, (name, layer) in enumerate(rows.items()):
        for place, axis in enumerate(axes[line]):
            arm, task = ARMS[place // TASKS], place % TASKS
            shown = layer.sel(arm=arm).sel(time=moments[task], method="nearest").values
            image = axis.imshow(shown, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
            axis.set(xticks=[], yticks=[])
            if line == 0:
                axis.set_title(f"{arm}, end of {chr(65 + task)}", fontsize=8)
                axis.axvline(shown.shape[1] / TASKS - 0.5, color="0.3", lw=0.6, ls=":")
        axes[line, 0].set_ylabel(name, fontsize=7.5)
    for axis in axes[0]:
        axis.set_xlabel("units of A | units of B", fontsize=7)
    for axis in axes[1]:
        axis.set_xlabel("hidden unit", fontsize=7)
    figure.colorbar(image, ax=axes, label="weight C", shrink=0.8, pad=0.01)
    return axes
