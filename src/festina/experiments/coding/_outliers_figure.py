"""The figure of `coding/outliers`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.claims import Undecided
from festina.experiments.coding._outliers_measures import (
    ANNEALED,
    QUENCHED,
    arms,
    by_code,
    codes,
    effective_by_code,
    in_common,
    kernel_difference,
    number,
    prediction,
)

MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES: tuple[Any, ...] = ("-", (0, (4, 1.2)), (0, (1, 1)), (0, (6, 1, 1, 1)))
STRONGEST = 8  # neurons shown of the first run


def draw(result: Any) -> Any:
    """Outliers over time; per code against width and task; sizes of one run; identity."""
    with fs.figures.style.style():
        figure, axes = plt.subplots(2, 3, figsize=(7.2, 4.7))
        _draw_time(axes[0, 0], result)
        _draw_sizes(axes[0, 1], result)
        _draw_width(axes[0, 2], result)
        _draw_tasks(axes[1, 0], result)
        _draw_kernel(axes[1, 1], result)
        _draw_identity(axes[1, 2], result)
        fs.figures.style.letter(*axes.ravel())
    return figure


def _draw_time(axis: Any, result: Any) -> None:
    """The number of outliers of the first task, at each width."""
    config = result.config
    for each, width in enumerate(config.widths):
        look = {"color": fs.figures.style.PALETTE[each % 7], "ls": LINES[each % 4], "lw": 1.0}
        fs.figures.style.draw_band(
            axis, result["time"].values, number(result)[:, :, each], label=f"N = {width}", **look
        )
    axis.axhline(codes(config)[0], label="codes of the theory", **fs.figures.style.THEORY)
    _shade_cooling(axis, config)
    axis.set(xlabel="draws", ylabel="outliers", xlim=(0, config.anneal + config.hold))
    axis.set_ylim(0, 1.55 * axis.get_ylim()[1])
    axis.legend(loc="upper right", fontsize=7)


def _shade_cooling(axis: Any, config: Any) -> None:
    axis.axvspan(0, config.anneal, color="0.92", lw=0, zorder=0)
    look = {"rotation": 90, "va": "top", "color": "0.4", "fontsize": 7}
    axis.annotate("cooling", (0, 1), xycoords="axes fraction", xytext=(3, -3), textcoords="offset points", **look)


def _draw_sizes(axis: Any, result: Any) -> None:
    """|a|/√N of the strongest neurons of one run at the largest width, by the class they serve."""
    config = result.config
    each = len(config.widths) - 1
    one = result.data.isel(run=0, arm=each).transpose("time", "neuron", ...)
    sizes, serves = one["size"].values, one["serves"].values[-1].astype(int)
    for neuron in np.argsort(-sizes.max(axis=0))[:STRONGEST]:
        best = serves[neuron]
        axis.plot(
            one["time"].values,
            sizes[:, neuron],
            color=fs.figures.style.PALETTE[best],
            ls=LINES[best],
            lw=0.9,
            alpha=0.9,
        )
    for best in range(len(config.tasks[0])):
        axis.plot([], [], color=fs.figures.style.PALETTE[best], ls=LINES[best], label=f"class {chr(65 + best)}")
    theirs = np.linalg.norm(prediction(config.tasks[0], config.temperature).outliers, axis=1)
    for size in sorted(set(np.round(theirs, 6))):
        axis.axhline(size, **fs.figures.style.THEORY)
    axis.plot([], [], label="one each", **fs.figures.style.THEORY)
    _shade_cooling(axis, config)
    axis.set(xlabel="draws", ylabel=r"size $|a_i|/\sqrt{N}$, one run", xlim=(0, config.anneal + config.hold))
    axis.set_ylim(0, 1.6 * max(sizes.max(), theirs.max()))
    axis.legend(loc="upper right", ncols=2, columnspacing=0.8, fontsize=7)


def _points(axis: Any, place: Any, values: Any, **look: Any) -> None:
    """Every run, and the mean with its standard error."""
    runs = len(values)
    for one in values:
        axis.plot(place, one, ls="none", marker=look["marker"], ms=2, color=look["color"], alpha=0.4)
    error = values.std(axis=0, ddof=1) / runs**0.5 if runs > 1 else np.zeros(values.shape[1])
    axis.errorbar(place, values.mean(axis=0), error, ls="none", ms=4.5, mfc="none", elinewidth=0.8, **look)


def _draw_width(axis: Any, result: Any) -> None:
    widths = np.asarray(result.config.widths)
    _counts(axis, widths, result, slice(0, len(widths)), 1.04)
    axis.set_xscale("log")
    axis.minorticks_off()
    axis.set_xticks(widths, [str(width) for width in widths])
    axis.set(xlabel="neurons N", xlim=(widths[0] / 1.2, widths[-1] * 1.25))


def _draw_tasks(axis: Any, result: Any) -> None:
    config = result.config
    middle = len(config.widths) // 2
    chosen = [middle, *range(len(config.widths), len(config.widths) + len(config.tasks) - 1)]
    _counts(axis, np.arange(len(chosen)) + 1.0, result, chosen, 1.0)
    names = ["/".join(map(str, arms(config)[each].counts)) for each in chosen]
    axis.set_xticks(np.arange(len(chosen)) + 1.0, names, fontsize=5.5)
    axis.set(xlabel=f"examples of each class (N = {config.widths[middle]})", xlim=(0.4, len(chosen) + 0.6))


def _counts(axis: Any, place: Any, result: Any, chosen: Any, apart: float) -> None:
    """Outliers per code, as they are counted and as effective numbers."""
    shift = 0.0 if apart > 1 else 0.12
    looks = ({"color": fs.figures.style.BLUE, "marker": "o"}, {"color": fs.figures.style.VERMILLION, "marker": "^"})
    pairs = (("counted", by_code, place / apart - shift), ("effective", effective_by_code, place * apart + shift))
    for look, (label, measure, where) in zip(looks, pairs, strict=True):
        _points(axis, where, measure(result)[:, chosen], label=label, **look)
    axis.axhline(1, **fs.figures.style.THEORY)
    axis.set(ylabel="outliers per code", ylim=(0, 1.35 * max(by_code(result)[:, chosen].max(), 1.5)))
    axis.legend(loc="upper left", ncols=2, columnspacing=0.8, handletextpad=0.2)


def _draw_kernel(axis: Any, result: Any) -> None:
    """The kernel does not know how many outliers there are."""
    difference, count = kernel_difference(result), by_code(result)
    for each, arm in enumerate(arms(result.config)):
        if not arm.common:
            look = {"color": fs.figures.style.PALETTE[each % 7], "marker": MARKS[each % 8]}
            axis.plot(count[:, each], difference[:, each], ls="none", ms=3.5, mfc="none", label=arm.name, **look)
    axis.set(xlabel="outliers per code", ylabel="relative difference\nof kernel from theory")
    axis.set_ylim(0, 2.2 * difference.max())
    axis.legend(loc="upper right", fontsize=6, handletextpad=0.1, labelspacing=0.25)


def _draw_identity(axis: Any, result: Any) -> None:
    """The share of outliers that pairs of runs have in common, and what chance would give."""
    config = result.config
    middle = arms(config)[len(config.widths) // 2]
    names = (middle.name, ANNEALED, QUENCHED)
    for place, name in enumerate(names):
        try:
            shares = in_common(result, name)
        except Undecided:
            continue
        spread = np.linspace(-0.2, 0.2, len(shares)) if len(shares) > 1 else np.zeros(1)
        look = {"color": fs.figures.style.PALETTE[place], "marker": MARKS[place]}
        axis.plot(place + spread, shares, ls="none", ms=4, mfc="none", **look)
    chance = number(result)[:, -1, [arm.name for arm in arms(config)].index(middle.name)].mean() / middle.width
    axis.axhline(chance, label="by chance", **fs.figures.style.THEORY)
    axis.set_xticks(range(3), ["own start,\nannealed", "common,\nannealed", "common,\nquenched"], fontsize=7)
    axis.set(ylabel="outliers in common,\neach pair of runs", ylim=(-0.05, 1.05), xlim=(-0.5, 2.5))
    axis.legend(loc="upper left")
