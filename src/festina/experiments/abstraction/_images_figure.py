"""The figure of `abstraction/images`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.errors import FestinaError
from festina.experiments.abstraction._after_switches import first_recordings
from festina.experiments.abstraction._common import ARMS, block_edges
from festina.experiments.abstraction._images_sets import PAIRS, title
from festina.experiments.abstraction._panels import LOOKS, draw_arms, shade_blocks, task_color
from festina.experiments.abstraction.images import LAST, recovery_times

DASHES: tuple[Any, ...] = ("-", (0, (4, 1.2)))
LEGEND: dict[str, Any] = {"loc": "upper right", "ncols": 2, "columnspacing": 0.8, "handlelength": 1.3, "fontsize": 6.3}
WINDOW = 0.2  # of a block after a switch, for a closer look


def draw(result: Any) -> Any:
    """The two tasks; accuracy, gates and students over time; what happens after a switch, early and late."""
    with fs.figures.style.style():
        figure, axes = plt.subplots(2, 3, figsize=(7.2, 4.5))
        _draw_tasks(axes[0, 0], result)
        _draw_accuracy(axes[0, 1], result)
        _draw_gates(axes[0, 2], result)
        _draw_switches(axes[1, 0], result)
        _draw_recovery(axes[1, 1], result)
        _draw_students(axes[1, 2], result)
        for axis in (axes[0, 1], axes[0, 2], axes[1, 2]):
            shade_blocks(axis, block_edges(result.config), (0, 1))
            axis.set(xlabel="time t", xlim=(0, result.config.until))
        fs.figures.style.letter(*axes.ravel())
        figure.suptitle(title(result.config), fontsize=9)
    return figure


def _draw_tasks(axis: Any, result: Any) -> None:
    """Every class with its label in either task, and an image of it where there is one to be had."""
    pair = PAIRS[result.config.images]
    for number, (name, first, second) in enumerate(zip(pair.classes, *pair.codes, strict=True)):
        kept = first == second
        look = {"color": "0.35", "ls": DASHES[0]} if kept else {"color": task_color(1), "ls": DASHES[1]}
        axis.plot([0, 1], [first, second], lw=1.0, **look)
        axis.text(-0.06, first, str(first), ha="right", va="center", fontsize=6.5)
        axis.text(1.06, second, f"{second}", ha="left", va="center", fontsize=6.5)
        axis.text(1.25, second, name if name != str(number) else f"“{name}”", ha="left", va="center", fontsize=6.5)
    for number, image in enumerate(_examples(pair)):
        axis.imshow(image, cmap="gray_r", extent=(-0.44, -0.22, number + 0.4, number - 0.4), aspect="auto")
    axis.text(0, -0.9, "A", ha="center", va="bottom", fontsize=7, color=task_color(0))
    axis.text(1, -0.9, "B", ha="center", va="bottom", fontsize=7, color=task_color(1))
    axis.set(xlim=(-0.6, 2.0), ylim=(9.6, -0.6), xticks=[], yticks=[])
    axis.set_title("labels in the two tasks", fontsize=8, pad=12)
    for side in axis.spines.values():
        side.set_visible(False)


def _examples(pair: Any) -> list[Any]:
    """The first image of each class; none if the images, which a stored result can outlive, are not there."""
    try:
        images = fs.worlds.load_images(pair.images)
    except FestinaError:
        return []
    return [images.images[np.argmax(images.labels == number)] for number in range(len(pair.classes))]


def _draw_accuracy(axis: Any, result: Any) -> None:
    draw_arms(axis, result, "accuracy", lw=0.9)
    level, green = float(result["pretrained"].mean()), fs.figures.style.GREEN
    axis.axhline(level, color=green, ls=(0, (1, 1)), lw=1.0)
    axis.text(result.config.until, level + 0.03, "pretrained network", color=green, ha="right", va="bottom", fontsize=6)
    axis.set(ylabel="accuracy (test images)", ylim=(0, 1.35), yticks=[0, 0.5, 1])
    axis.legend(**LEGEND)


def _draw_gates(axis: Any, result: Any) -> None:
    gates = result["sorted_gates"].transpose("run", "arm", "student", "time")
    time = result["time"].values
    for student in range(2):
        look = {"color": task_color(student), "ls": DASHES[student], "lw": 1.0}
        values = gates.sel(arm="flexible").isel(student=student).values
        fs.figures.style.draw_band(axis, time, values, label=f"$c^{student + 1}$, flexible", **look)
    forgetful = gates.sel(arm="forgetful").mean("student").values
    fs.figures.style.draw_band(axis, time, forgetful, label="forgetful", **(LOOKS["forgetful"] | {"lw": 0.9}))
    axis.set(ylabel="gates")
    axis.set_ylim(axis.get_ylim()[0], 1.35 * axis.get_ylim()[1])
    axis.legend(**LEGEND)


def _draw_switches(axis: Any, result: Any) -> None:
    """Accuracy after the first switch and after late ones, on a stretched axis."""
    if len(block_edges(result.config)) < 3:
        axis.text(0.5, 0.5, "no switch", transform=axis.transAxes, ha="center")
        return
    steps = round(WINDOW * result.config.block_length / result.config.step_size)
    for number, arm in enumerate(ARMS):
        courses = _after_switches(result, number)
        fs.figures.style.draw_band(
            axis, courses["since"], courses["late"], **(LOOKS[arm] | {"lw": 1.5, "label": f"{arm}, late"})
        )
        look = LOOKS[arm] | {"lw": 0.7, "marker": "." if arm == "flexible" else "x", "ms": 3, "markevery": 0.1}
        fs.figures.style.draw_band(axis, courses["since"], courses["first"], **(look | {"label": f"{arm}, first"}))
    axis.set(xlabel="steps after a switch", ylabel="accuracy (test images)", xlim=(0, steps), ylim=(0, 1.45))
    axis.set_yticks([0, 0.5, 1])
    axis.legend(**LEGEND)


def _after_switches(result: Any, arm: int) -> dict[str, Any]:
    """Accuracy by run after the first switch, and averaged over the last ones, against steps since the switch."""
    spacing = result["time"].values[1] - result["time"].values[0]
    count = int(WINDOW * result.config.block_length / spacing + 1e-9) + 1
    courses = first_recordings(result, "accuracy", count)[:, arm, 1:]
    since = np.arange(count) * spacing / result.config.step_size
    return {"since": since, "first": courses[:, 0], "late": courses[:, -LAST:].mean(axis=1)}


def _draw_recovery(axis: Any, result: Any) -> None:
    times = recovery_times(result) / result.config.step_size
    block = np.arange(2, times.shape[-1] + 2)
    for number, arm in enumerate(ARMS):
        fs.figures.style.draw_band(axis, block, times[:, number], marker="o", ms=2.5, label=arm, **LOOKS[arm])
    spacing = (result["time"].values[1] - result["time"].values[0]) / result.config.step_size
    axis.axhline(spacing, color="0.6", ls=(0, (1, 1)), lw=0.8, label="resolution")
    whole = result.config.block_length / result.config.step_size
    axis.set(xlabel="block", ylabel="steps to recover", yscale="log", ylim=(0.7 * spacing, 15 * whole))
    axis.set_xticks(block[:: max(1, len(block) // 5)])
    axis.legend(**LEGEND)


def _draw_students(axis: Any, result: Any) -> None:
    """How good each student of the flexible network is at each task, on its own."""
    alone = result["sorted_alone"].sel(arm="flexible").transpose("run", "task", "student", "time").values
    time = result["time"].values
    for student in range(2):
        for task in range(2):
            look = {"color": task_color(task), "ls": DASHES[student], "lw": 1.0}
            fs.figures.style.draw_band(
                axis, time, alone[:, task, student], label=f"$W^{student + 1}$ in {'AB'[task]}", **look
            )
    axis.set(ylabel="accuracy of one student", ylim=(0, 1.45), yticks=[0, 0.5, 1])
    axis.legend(**LEGEND)
