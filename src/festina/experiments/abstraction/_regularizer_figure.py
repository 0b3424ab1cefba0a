"""The figure of `abstraction/regularizer`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.abstraction._regularizer_measures import all_negative, starts
from festina.experiments.abstraction.regularizer import NORMS

STYLE = fs.figures.style
EVERY = 2  # of the starts along each side, one in so many is drawn
LOWEST = -1.05  # shown of either gate


def draw(result: Any) -> Any:
    """R over both gates with the ways down, for each norm; and how far apart gates are in the end."""
    with STYLE.style():
        figure, axes = plt.subplots(1, 3, figsize=(7.2, 2.75))
        for number, order in enumerate(NORMS):
            _draw_landscape(axes[number], result, order)
        _draw_differences(axes[2], result)
        handles, labels = axes[1].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), columnspacing=1.2)
        STYLE.letter(*axes)
    return figure


def _draw_landscape(axis: Any, result: Any, order: int) -> None:
    config = result.config
    low = min(LOWEST, config.lowest)
    line = np.linspace(low, config.highest, 251)
    first, second = np.meshgrid(line, line, indexing="ij")
    size = np.abs(first) + np.abs(second) if order == 1 else np.hypot(first, second)
    negative = np.maximum(-first, 0.0) + np.maximum(-second, 0.0)
    penalty = config.nonnegativity * negative + config.normalization * (size - 1.0) ** 2
    axis.contourf(first, second, np.sqrt(penalty), 24, cmap="Blues", alpha=0.8)
    _draw_ways(axis, result, order)
    turn = np.linspace(0.0, np.pi / 2, 101)
    ray = np.stack([np.cos(turn), np.sin(turn)])
    curve = ray / (ray.sum(axis=0) if order == 1 else 1.0)
    axis.plot(*curve, color=STYLE.BLACK, lw=2.0, label="R = 0")
    middle = 0.5 if order == 1 else 0.5**0.5
    axis.plot([0, 1], [1, 0], "o", color=STYLE.GREEN, mec="white", ms=6, label="specialised")
    axis.plot([middle], [middle], "X", color=STYLE.VERMILLION, mec="white", ms=7, label="unspecialised")
    axis.set(xlabel="gate $c_1$", ylabel="gate $c_2$", aspect="equal", title=f"$\\|c\\|_{order}$")
    axis.set(xlim=(low, config.highest), ylim=(low, config.highest), xticks=[-1, 0, 1], yticks=[-1, 0, 1])
    _draw_traps(axis, config, order)


def _draw_traps(axis: Any, config: Any, order: int) -> None:
    """Where gates that are all negative end: a segment of minima for k = 1, saddles for k = 2."""
    reach = 1.0 - config.nonnegativity / (2.0 * config.normalization)
    if reach <= 0:
        return
    if order == 1:
        axis.plot([-reach, 0], [0, -reach], color=STYLE.PURPLE, lw=2.0, ls=(0, (2, 1)))
        return
    middle = (1.0 - config.nonnegativity / (2.0**0.5 * config.normalization)) / 2.0**0.5
    places = [-reach, 0.0, -middle], [0.0, -reach, -middle]
    axis.plot([], [], color=STYLE.PURPLE, lw=2.0, ls=(0, (2, 1)), label="other minima")
    axis.plot(*places, "D", color=STYLE.PURPLE, mec="white", ms=5, label="saddle")


def _draw_ways(axis: Any, result: Any, order: int) -> None:
    side = result.config.side
    gates = result["gates"].isel(run=0).sel(norm=order).transpose("start", "gate", "time").values
    chosen = np.zeros((side, side), bool)
    chosen[::EVERY, ::EVERY] = chosen[1::EVERY, 1::EVERY] = True
    for way, negative in zip(gates[chosen.ravel()], all_negative(result)[chosen.ravel()], strict=True):
        color = STYLE.PURPLE if negative else "0.35"
        axis.plot(*way, color=color, lw=0.6)
        axis.plot(*way[:, :1], ".", color=color, ms=2)
        axis.plot(*way[:, -1:], "s", color=color, ms=2)


def _draw_differences(axis: Any, result: Any) -> None:
    """c₁ − c₂ at the end over that at the start, for starts without a negative gate."""
    begin = starts(result.config, np)
    positive = begin.min(axis=0) >= 0
    end = result["gates"].isel(run=0, time=-1).transpose("norm", "gate", "start").values
    theory = result.theory["gates"].isel(run=0, time=-1).transpose("norm", "gate", "start").values
    for number, order in reversed(list(enumerate(NORMS))):
        look = {"color": (STYLE.BLUE, STYLE.ORANGE)[number], "ls": "none", "marker": "os"[number], "ms": (5, 3)[number]}
        look |= {"mfc": "none"} if order == 1 else {}
        axis.plot(begin[0, positive] - begin[1, positive], (end[number, 0] - end[number, 1])[positive], **look)
        axis.plot([], [], label=f"$\\|c\\|_{order}$", **look)
        exact = (theory[number, 0] - theory[number, 1])[positive]
        axis.plot(begin[0, positive] - begin[1, positive], exact, "+", color="black", ms=4, mew=0.5)
    axis.plot([], [], "+", color="black", ms=4, mew=0.5, label="theory")
    axis.set(xlabel="$c_1 - c_2$ at the start", ylabel="$c_1 - c_2$ at the end")
    axis.legend(loc="upper left")
