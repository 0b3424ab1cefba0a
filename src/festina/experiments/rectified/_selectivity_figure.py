"""The figure of `rectified/selectivity`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.rectified._panels import GREYS, SIZE_LOOKS
from festina.experiments.rectified._selectivity_measures import (
    SETTLED,
    fitted,
    gaps,
    gaps_of_fits,
    share_of_loss,
    time_ratio,
    world_names,
)

LOOKS: dict[str, dict[str, Any]] = {
    "relu": {"color": fs.lab.style.BLACK, "ls": "-", "lw": 1.6, "label": "ReLU"},
    "all but one": {"color": fs.lab.style.BLUE, "ls": (0, (4, 1.2)), "lw": 1.4, "label": "gated, all but one"},
    "single": {"color": fs.lab.style.VERMILLION, "ls": (0, (6, 1, 1, 1)), "lw": 1.2, "label": "gated, single"},
    "modular": {"color": fs.lab.style.ORANGE, "ls": (0, (1, 1)), "lw": 1.4, "label": "gated, modular"},
    "frozen": {"color": fs.lab.style.GREEN, "ls": (0, (2, 1)), "lw": 1.2, "label": "gates frozen at start"},
}
MARKERS = {"all but one": "o", "single": "s", "modular": "D", "frozen": "v"}


def draw(result: Any) -> Any:
    """Losses, how far apart they are and how fast they fall; contexts of units over time and at the end."""
    with fs.lab.style.style():
        figure, axes = plt.subplots(2, 3, figsize=(7.2, 4.7))
        _draw_losses(axes[0, 0], result)
        _draw_gaps(axes[0, 1], result)
        _draw_speeds(axes[0, 2], result)
        _draw_course(axes[1, 0], result)
        _draw_sizes(axes[1, 1], result)
        _draw_whole(axes[1, 2], result)
        fs.lab.style.letter(*axes.ravel())
    return figure


def _draw_losses(axis: Any, result: Any) -> None:
    steps, name = result["time"].values / 1000, world_names(result.config)[0]
    for arm, look in LOOKS.items():
        fs.lab.style.draw_band(axis, steps, share_of_loss(result, arm)[:, 0], **look)
    every = max(1, len(steps) // 30)
    closed = fitted(result, 2)[:, 0].mean(axis=0)
    axis.plot(steps[::every], closed[::every], "o", ms=2.6, mfc="white", color="0.2", mew=0.7, label="closed form")
    axis.set(xlabel="steps (thousands)", ylabel="loss, share of L(0)", ylim=(0, 1.04), title=name)
    axis.legend(fontsize=5.8, loc="upper right", labelspacing=0.25)


def _draw_gaps(axis: Any, result: Any) -> None:
    rows = {
        "closed form,\ntwo starts": gaps_of_fits(result, 2),
        "closed form,\none start": gaps_of_fits(result, 1),
        "gated,\nall but one": gaps(result, "all but one"),
        "gated,\nsingle": gaps(result, "single"),
    }
    names = world_names(result.config)
    for number, name in enumerate(names):
        means = np.array([values[:, number].mean() for values in rows.values()])
        offset = 0.18 * (number - (len(names) - 1) / 2)
        look = {"marker": "osD^v"[number % 5], "color": GREYS[number % len(GREYS)], "ms": 4, "ls": "none"}
        axis.plot(means, np.arange(len(rows)) + offset, label=name, mec="k", mew=0.5, **look)
    axis.set(yticks=range(len(rows)), yticklabels=list(rows), xlabel="largest gap to ReLU, share of L(0)")
    axis.set(xlim=(0, 1.1 * axis.get_xlim()[1]), ylim=(len(rows) - 0.4, -1.9))
    axis.tick_params(axis="y", labelsize=6.5)
    axis.xaxis.label.set_fontsize(7.5)
    axis.legend(fontsize=6, loc="upper right", ncols=2, columnspacing=0.6, handletextpad=0.1)


def _draw_speeds(axis: Any, result: Any) -> None:
    names = world_names(result.config)
    place = np.arange(len(names))
    for number, arm in enumerate(MARKERS):
        ratio = time_ratio(result, arm)
        shift = 0.08 * (number - 1.5)
        look = {
            "color": LOOKS[arm]["color"],
            "marker": MARKERS[arm],
            "ms": 4,
            "ls": "none",
            "label": LOOKS[arm]["label"],
        }
        axis.errorbar(place + shift, ratio.mean(axis=0), ratio.std(axis=0) / len(ratio) ** 0.5, **look)
    axis.axhline(1.0, color="0.5", lw=0.8, ls=":")
    axis.set(xticks=place, xlim=(-0.6, len(names) - 0.4), ylim=(0, None))
    axis.set_xticklabels([name.replace(", ", "\n") for name in names], fontsize=6.8)
    axis.set_ylabel(f"time to {SETTLED:g} L(0),\nover that of ReLU")
    axis.set_ylim(0, 1.55 * axis.get_ylim()[1])
    axis.legend(fontsize=6, loc="upper left", labelspacing=0.3)


def _draw_course(axis: Any, result: Any) -> None:
    steps, contexts = result["time"].values / 1000, result.config.contexts[0]
    shares = result["strength"].isel(world=0).transpose("run", "size", "time")
    for size in range(1, contexts + 1):
        fs.lab.style.draw_band(
            axis, steps, shares.sel(size=size).values, label=f"{size} of {contexts}", **SIZE_LOOKS[size]
        )
    everywhere = result["everywhere"].isel(world=0).transpose("run", "time").values
    fs.lab.style.draw_band(
        axis, steps, everywhere, color="0.5", ls=":", lw=1.2, label=f"{contexts} of {contexts}, units"
    )
    axis.set(xlabel="steps (thousands)", ylabel="strength, by contexts", ylim=(0, 1.45), yticks=[0, 0.5, 1])
    axis.set_title(world_names(result.config)[0])
    axis.legend(fontsize=6, loc="upper center", ncols=2, columnspacing=0.9)


def _draw_sizes(axis: Any, result: Any) -> None:
    names = world_names(result.config)
    width = 0.8 / len(names)
    for number, (name, contexts) in enumerate(zip(names, result.config.contexts, strict=True)):
        last = result["strength"].isel(world=number, time=-1).sel(size=range(1, contexts + 1))
        values = last.transpose("run", "size").values
        place = np.arange(1, contexts + 1) - contexts + width * (number - (len(names) - 1) / 2)
        look = {"color": GREYS[number % len(GREYS)], "edgecolor": "k", "linewidth": 0.5}
        error = values.std(axis=0) / len(values) ** 0.5
        axis.bar(place, values.mean(axis=0), width, yerr=error, error_kw={"lw": 0.7}, label=name, **look)
    lowest = 1 - max(result.config.contexts)
    ticks = range(lowest, 1)
    axis.set(xticks=ticks, ylim=(0, 1.3), yticks=[0, 0.5, 1], xlabel="contexts of a unit", ylabel="strength at the end")
    axis.set_xticklabels(["C" if tick == 0 else f"C − {-tick}" for tick in ticks], fontsize=7)
    axis.legend(fontsize=6, loc="upper left", ncols=2, columnspacing=0.9)


def _draw_whole(axis: Any, result: Any) -> None:
    steps = result["time"].values / 1000
    for number, name in enumerate(world_names(result.config)):
        values = result["whole"].isel(world=number).transpose("run", "time").values
        look = {
            "color": fs.lab.style.PALETTE[number],
            "ls": ("-", (0, (4, 1.2)), (0, (1, 1)), (0, (6, 1, 1, 1)))[number % 4],
        }
        fs.lab.style.draw_band(axis, steps, values, lw=1.2, label=name, **look)
    axis.set(xlabel="steps (thousands)", ylabel="strength in units with\ngates of whole contexts", ylim=(0, 1.02))
    axis.legend(fontsize=6.5, loc="upper right")
