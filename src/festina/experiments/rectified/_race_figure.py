"""The figure of `rectified/race`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.rectified._panels import GREYS, SIZE_LOOKS
from festina.experiments.rectified.race import RIVALS, STARTS, correlations

TITLES = {"scratch": "from scratch", "residual": "on the residual"}
LOOKS = {
    "single": {"color": fs.lab.style.VERMILLION, "ls": (0, (6, 1, 1, 1))},
    "all but one": {"color": fs.lab.style.BLUE, "ls": "-"},
}


def draw(result: Any) -> Any:
    """Both races, both duels, and the correlations behind them: a row from scratch, a row on the residual."""
    with fs.lab.style.style():
        figure, axes = plt.subplots(2, 4, figsize=(7.2, 4.2), width_ratios=(1.2, 1.1, 1, 1.1))
        for row, start in zip(axes, STARTS, strict=True):
            _draw_course(row[0], result, start)
            _draw_end(row[1], result, start)
            _draw_correlations(row[2], result, start)
            _draw_duel(row[3], result, start)
        fs.lab.style.letter(*axes.ravel())
    return figure


def _draw_course(axis: Any, result: Any, start: str) -> None:
    contexts = max(result.config.contexts)
    steps, energy = result["time"].values / 1000, result["energy"].sel(contexts=contexts, start=start)
    for size in range(1, contexts + (start == "scratch")):
        values = energy.sel(size=size).transpose("run", "time").values
        fs.lab.style.draw_band(axis, steps, values, label=f"{size} of {contexts}", **SIZE_LOOKS[size])
    axis.set(xlabel="steps (thousands)", ylabel="share of energy", ylim=(0, 1.5), yticks=[0, 0.5, 1])
    axis.set_title(f"Race {TITLES[start]}, C = {contexts}", fontsize=7.5)
    axis.legend(fontsize=6, loc="upper center", ncols=2, columnspacing=0.8)


def _draw_end(axis: Any, result: Any, start: str) -> None:
    every = result.config.contexts
    width = 0.8 / len(every)
    for number, contexts in enumerate(every):
        last = result["energy"].sel(contexts=contexts, start=start).isel(time=-1).sel(size=range(1, contexts + 1))
        values = last.transpose("run", "size").values
        place = np.arange(1, contexts + 1) - contexts + width * (number - (len(every) - 1) / 2)
        look = {"color": GREYS[number % len(GREYS)], "edgecolor": "k", "linewidth": 0.5}
        error = values.std(axis=0) / len(values) ** 0.5
        axis.bar(place, values.mean(axis=0), width, yerr=error, error_kw={"lw": 0.7}, label=f"C = {contexts}", **look)
    ticks = range(1 - max(every), 1)
    axis.set(xticks=ticks, ylim=(0, 1.35), yticks=[0, 0.5, 1], xlabel="contexts of a path", ylabel="energy at the end")
    axis.set_xticklabels(["C" if tick == 0 else f"C−{-tick}" for tick in ticks], fontsize=6.5)
    axis.legend(fontsize=6, loc="upper left", ncols=2, columnspacing=0.8)


def _draw_correlations(axis: Any, result: Any, start: str) -> None:
    for number, contexts in enumerate(result.config.contexts):
        fine = np.linspace(1, contexts, 100)
        law = np.sqrt(fine**2 + fine) if start == "scratch" else np.sqrt(fine * (contexts - fine) / contexts)
        color = fs.lab.style.PALETTE[number % len(fs.lab.style.PALETTE)]
        axis.plot(fine, law, color=color, lw=0.9, ls=(0, (3, 2)))
        look = {"color": color, "marker": "osD^v"[number % 5], "ms": 3.5, "ls": "none", "mfc": "white", "mew": 0.9}
        axis.plot(range(1, contexts + 1), correlations(contexts, start), label=f"C = {contexts}", **look)
    axis.set(xlabel="contexts k of a path", ylabel="S · P/σ", xticks=range(1, max(result.config.contexts) + 1))
    axis.set_ylim(-0.05 * axis.get_ylim()[1], 1.45 * axis.get_ylim()[1])
    axis.set_title("Correlation", fontsize=7.5)
    axis.legend(fontsize=6, loc="upper left", ncols=2, columnspacing=0.6, handletextpad=0.2)


def _draw_duel(axis: Any, result: Any, start: str) -> None:
    contexts = min(result.config.contexts)
    loss = result["duel_loss"].sel(contexts=contexts, start=start).transpose("paths", "run", "time").values
    for rival, values in zip(RIVALS, loss, strict=True):
        fs.lab.style.draw_band(
            axis, result["time"].values / 1000, values / values[:, :1], label=rival, lw=1.3, **LOOKS[rival]
        )
    axis.set(xlabel="steps (thousands)", ylabel="loss, share of start", ylim=(0, 1.3), yticks=[0, 0.5, 1])
    axis.set_title(f"Duel, C = {contexts}", fontsize=7.5)
    axis.legend(fontsize=6.5, loc="upper right")
