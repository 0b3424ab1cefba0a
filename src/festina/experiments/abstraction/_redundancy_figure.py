"""The figure of `abstraction/redundancy`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.abstraction._common import block_edges
from festina.experiments.abstraction._panels import shade_blocks, task_color
from festina.experiments.abstraction.redundancy import ARMS, SILENCE, TASKS, late_activity, relative_norms, silent_paths

DASHES: tuple[Any, ...] = ("-", (0, (4, 1.2)), (0, (1, 1)), (0, (6, 1, 1, 1)))
STYLE = fs.figures.style
LOOKS: dict[str, dict[str, Any]] = {
    "no cost": {"color": STYLE.BLACK, "ls": "-", "marker": "o"},
    "cost of columns": {"color": STYLE.VERMILLION, "ls": (0, (4, 1.2)), "marker": "s"},
    "cost of squares": {"color": STYLE.SKY, "ls": (0, (1, 1)), "marker": "^"},
    "no cost, weak bounds": {"color": STYLE.GREY, "ls": (0, (6, 1, 1, 1)), "marker": "D"},
}


def draw(result: Any) -> Any:
    """Gates of one run in three arms; then how used and how heavy paths are in all runs, and how many are silent."""
    with STYLE.style():
        figure, axes = plt.subplots(2, 3, figsize=(7.2, 4.4))
        run = _telling_run(result)
        for number, axis in enumerate(axes[0]):
            _draw_gates(axis, result, run, ARMS[number])
        _draw_contributions(axes[1, 0], result)
        _draw_weakest(axes[1, 1], result)
        _draw_counts(axes[1, 2], result)
        STYLE.letter(*axes.ravel())
    return figure


def _telling_run(result: Any) -> int:
    """The first run in which the cost of columns makes the difference; if there is none, the first."""
    silent = silent_paths(result).sum(axis=-1)
    tells = (silent[:, 1] > silent[:, 0]) & (silent[:, 1] == result.config.paths - TASKS)
    return int(np.argmax(tells))


def _draw_gates(axis: Any, result: Any, run: int, arm: str) -> None:
    gates = result["gates"].isel(run=run).sel(arm=arm).transpose("path", "time").values
    for path, values in enumerate(gates):
        axis.plot(
            result["time"].values, values, color=task_color(path), ls=DASHES[path % 4], lw=1.0, label=f"{path + 1}"
        )
    shade_blocks(axis, block_edges(result.config), range(TASKS))
    axis.set(xlabel="time t", ylabel=f"gates of paths, run {run}", xlim=(0, result.config.until), ylim=(-0.05, 1.45))
    axis.set_yticks([0, 0.5, 1])
    axis.legend(loc="upper center", ncols=4, fontsize=6.5, columnspacing=0.9, handletextpad=0.4)
    axis.set_title(arm, fontsize=8, pad=14)


def _draw_contributions(axis: Any, result: Any) -> None:
    """The largest contribution of every path in late blocks, from the busiest path of a run to the least busy."""
    contributions = -np.sort(-late_activity(result)[1].max(axis=-1), axis=-1)
    rank = np.arange(1, contributions.shape[-1] + 1)
    for number, arm in enumerate(ARMS):
        shifted = rank + 0.16 * (number - 1.5)
        look = LOOKS[arm] | {"ls": "none", "ms": 1.8, "alpha": 0.35, "mew": 0}
        for values in contributions[:, number]:
            axis.plot(shifted, values, **look)
        axis.plot(shifted, contributions[:, number].mean(axis=0), **(LOOKS[arm] | {"lw": 0.9, "ms": 3.5}))
    axis.axhline(SILENCE, color="0.5", lw=0.7, ls=":")
    axis.set(xlabel="path, by its use", ylabel="contribution |c| |W| / |W*|", xticks=rank, ylim=(-0.04, 1.15))


def _draw_weakest(axis: Any, result: Any) -> None:
    norms = relative_norms(result).min("path").transpose("run", "arm", "time")
    for arm in ARMS:
        look = {name: value for name, value in LOOKS[arm].items() if name != "marker"}
        fs.figures.style.draw_band(axis, result["time"].values, norms.sel(arm=arm).values, lw=1.1, label=arm, **look)
    axis.set(xlabel="time t", ylabel="lightest path |W| / |W*|", xlim=(0, result.config.until))
    axis.set_ylim(0, 1.75 * axis.get_ylim()[1])
    axis.legend(loc="upper left", fontsize=6.5)


def _draw_counts(axis: Any, result: Any) -> None:
    """The share of runs with any number of silent paths, stacked, from as many as are redundant at the bottom."""
    silent = silent_paths(result).sum(axis=-1)
    bottom = np.zeros(len(ARMS))
    greys = ("#08306b", "#6baed6", "#deebf7", "#ffffff")
    for place, count in enumerate(range(result.config.paths - TASKS, -1, -1)):
        share = (silent == count).mean(axis=0)
        axis.bar(
            range(len(ARMS)), share, 0.7, bottom, color=greys[place % 4], edgecolor="0.2", lw=0.6, label=f"{count}"
        )
        bottom += share
    axis.set(ylabel="share of runs", ylim=(0, 1.3), yticks=[0, 0.5, 1])
    axis.set_xticks(range(len(ARMS)), ["no\ncost", "columns", "squares", "weak\nbounds"], fontsize=6.5)
    axis.legend(loc="upper center", ncols=4, title="silent paths", title_fontsize=6.5, fontsize=6.5, columnspacing=1)
