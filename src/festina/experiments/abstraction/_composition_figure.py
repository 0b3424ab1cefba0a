"""The figure of `abstraction/composition`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.abstraction._common import ARMS, block_edges
from festina.experiments.abstraction._latent import PAIRS, TEACHERS
from festina.experiments.abstraction._panels import LOOKS, shade_mixtures, task_color
from festina.experiments.abstraction.composition import SETTINGS

TITLES = {"task": "task composition", "task-unit": "the same, unit teachers", "subtask": "subtask composition"}
DASHES: tuple[Any, ...] = ("-", (0, (4, 1.2)), (0, (1, 1)))
CLEAR: dict[str, Any] = {"frameon": True, "framealpha": 1.0, "edgecolor": "none", "borderpad": 0.1}
BEFORE, AFTER = 3, 4  # blocks around the first new task that are shown


def draw(result: Any) -> Any:
    """A column for each setting: loss and gates around the first new task, total alignment throughout."""
    with fs.figures.style.style():
        figure, axes = plt.subplots(3, 3, figsize=(7.2, 5.6))
        for column, setting in zip(axes.T, SETTINGS, strict=True):
            _draw_loss(column[0], result, setting)
            _draw_gates(column[1], result, setting)
            _draw_alignment(column[2], result, setting)
            column[0].set_title(TITLES[setting], pad=16)
            column[2].set_xlabel("time t")
        for axis in axes.ravel():
            axis.axvline(_onset(result), color="0.35", lw=0.8, ls=(0, (2, 1.5)), zorder=0)
        axes[0, 0].set_ylabel("loss on the task shown")
        axes[1, 0].set_ylabel("gates (flexible)")
        axes[2, 0].set_ylabel("total alignment")
        axes[0, 0].legend(loc="upper right", borderaxespad=0.1)
        axes[1, 2].legend(loc="upper right", ncols=3, columnspacing=0.7, handlelength=1.3, fontsize=6.5, **CLEAR)
        fs.figures.style.letter(*axes.ravel())
    return figure


def _onset(result: Any) -> float:
    return result.config.training_blocks * result.config.block_length


def _around_onset(axis: Any, result: Any) -> Any:
    """Show the blocks around the first new task, with a strip of their teachers; which recordings these are."""
    config, edges, time = result.config, block_edges(result.config), result["time"].values
    first = max(0, config.training_blocks - BEFORE)
    last = min(len(edges) - 1, config.training_blocks + AFTER, len(config.order))
    groups = [(task,) if task < TEACHERS else PAIRS[task - TEACHERS] for task in config.order[first:last]]
    shade_mixtures(axis, edges[first : last + 1], groups)
    axis.set_xlim(edges[first], edges[last])
    return (time >= edges[first]) & (time <= edges[last])


def _draw_loss(axis: Any, result: Any, setting: str) -> None:
    inside = _around_onset(axis, result)
    loss = result["loss"].sel(setting=setting).transpose("run", "arm", "time").isel(time=inside)
    for arm in ARMS:
        fs.figures.style.draw_band(
            axis, result["time"].values[inside], loss.sel(arm=arm).values, lw=1.0, label=arm, **LOOKS[arm]
        )
    axis.set_ylim(0, 1.1 * float(loss.mean("run").max()))


def _draw_gates(axis: Any, result: Any, setting: str) -> None:
    inside = _around_onset(axis, result)
    gates = result["sorted_gates"].sel(setting=setting, arm="flexible").transpose("run", "student", "time").values
    for student in range(TEACHERS):
        look = {"color": task_color(student), "ls": DASHES[student], "lw": 1.1, "label": f"of {chr(65 + student)}"}
        fs.figures.style.draw_band(axis, result["time"].values[inside], gates[:, student][:, inside], **look)
    axis.set_ylim(-0.08, max(1.1, 1.1 * float(np.max(gates[:, :, inside]))))


def _draw_alignment(axis: Any, result: Any, setting: str) -> None:
    alignment = result["total_alignment"].sel(setting=setting).transpose("run", "arm", "time")
    for arm in ARMS:
        fs.figures.style.draw_band(
            axis, result["time"].values, alignment.sel(arm=arm).values, lw=1.0, label=arm, **LOOKS[arm]
        )
    shared = 1 / np.sqrt(TEACHERS)
    axis.axhline(shared, color=fs.figures.style.ORANGE, lw=0.8, ls=(0, (1, 1)), zorder=0)
    if setting == "subtask":
        look = {"ha": "right", "va": "bottom", "fontsize": 6.5, "color": fs.figures.style.ORANGE}
        axis.text(0.72, shared + 0.02, r"$1/\sqrt{3}$", transform=axis.get_yaxis_transform(), **look)
    place = axis.get_xaxis_transform()
    axis.text(_onset(result), 1.02, "new tasks", transform=place, ha="center", fontsize=6.5, color="0.3")
    axis.set(xlim=(0, result.config.until), ylim=(-0.05, 1.08), yticks=[0, 0.5, 1])
