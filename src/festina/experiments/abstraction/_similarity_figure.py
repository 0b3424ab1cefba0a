"""The figure of `abstraction/similarity`."""

from typing import Any

from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize

import festina as fs
from festina._lazy import np, plt
from festina.experiments.abstraction._common import ARMS, block_edges
from festina.experiments.abstraction._panels import LOOKS
from festina.experiments.abstraction.similarity import (
    adaptation_speed,
    published_specialisation,
    separation,
    specialisation,
)

AFTER = 0.15  # time after a switch for which the loss is shown, in blocks
FLOOR = 1e-4  # of specialisation, as far as it is drawn
EXAMPLES: tuple[tuple[float, Any], ...] = ((0.0, "o"), (0.5, "s"), (0.75, "^"))  # similarities whose loss is shown
ARM_MARKS = dict(zip(ARMS, ("o", "s"), strict=True))


def draw(result: Any) -> Any:
    """Loss after a switch, speed of adaptation, two measures of specialisation, and how it grows."""
    with fs.figures.style.style():
        figure, axes = plt.subplots(2, 2, figsize=(7.2, 4.8))
        _draw_loss(axes[0, 0], result)
        _draw_speed(axes[0, 1], result)
        _draw_specialisation(axes[1, 0], result)
        _draw_growth(axes[1, 1], result, figure)
        fs.figures.style.letter(*axes.ravel())
    return figure


def _color(result: Any, cosine: float) -> Any:
    low, high = result.config.similarity[0], result.config.similarity[-1]
    return plt.get_cmap("viridis")(0.85 * (cosine - low) / max(high - low, 1e-9))


def _draw_loss(axis: Any, result: Any) -> None:
    """The mean over the switches of the second half, for a few similarities."""
    edges, time = block_edges(result.config), result["time"].values
    starts = np.searchsorted(time, edges[len(edges) // 2 : -1] - 1e-9)
    count = int(np.sum(time < AFTER * result.config.block_length - 1e-9)) + 1
    for cosine, mark in EXAMPLES:
        nearest = float(result["similarity"].sel(similarity=cosine, method="nearest"))
        loss = result["loss"].sel(similarity=nearest).transpose("run", "arm", "time").values
        for number, arm in enumerate(ARMS):
            shown = np.mean([loss[:, number, start : start + count] for start in starts], axis=0)
            look = {"color": _color(result, nearest), "ls": LOOKS[arm]["ls"], "marker": mark, "ms": 2.8, "lw": 1.0}
            fs.figures.style.draw_band(axis, time[:count], shown, **look)
        axis.plot([], [], color=_color(result, nearest), marker=mark, ms=2.8, label=f"ρ = {nearest:g}")
    for arm in ARMS:
        axis.plot([], [], color="0.3", ls=LOOKS[arm]["ls"], lw=1.0, label=arm)
    axis.set(xlabel="time after a switch", ylabel="loss on the task shown", ylim=(0, None))
    axis.legend(loc="upper right")


def _draw_speed(axis: Any, result: Any) -> None:
    speed = adaptation_speed(result)
    for number, arm in enumerate(ARMS):
        fs.figures.style.draw_band(
            axis, result.config.similarity, speed[:, :, number], marker=ARM_MARKS[arm], label=arm, **LOOKS[arm]
        )
    axis.set(xlabel="similarity ρ of teachers", ylabel="adaptation speed, max |dL/dt|", ylim=(0, None))
    axis.legend(loc="upper right")


def _draw_specialisation(axis: Any, result: Any) -> None:
    cosines = np.asarray(result.config.similarity)
    ours, published = specialisation(result), published_specialisation(result)
    colors = dict(zip(ARMS, (fs.figures.style.BLUE, fs.figures.style.ORANGE), strict=True))
    axis.plot(cosines, 1 - cosines, color="0.6", lw=3.5, alpha=0.5, label="1 − ρ", zorder=0)
    for number, arm in enumerate(ARMS):
        fs.figures.style.draw_band(
            axis, cosines, ours[:, :, number], marker=ARM_MARKS[arm], label=f"{arm}, one to one", **LOOKS[arm]
        )
    for number, arm in enumerate(ARMS):
        look = {"color": colors[arm], "ls": "none", "marker": ARM_MARKS[arm], "mfc": "none", "ms": 4.5 + 1.5 * number}
        axis.plot(cosines, published[:, :, number].mean(axis=0), label=f"{arm}, published measure", **look)
    axis.set(xlabel="similarity ρ of teachers", ylabel="specialisation", ylim=(-0.05, 1.25))
    axis.legend(loc="upper right", fontsize=6.5, borderaxespad=0)


def _draw_growth(axis: Any, result: Any, figure: Any) -> None:
    """Of the flexible network at the end of each block; runs are averaged in the logarithm."""
    edges = block_edges(result.config)
    ends = fs.measures.at_block_ends(result["time"].values, separation(result)[:, :, 0], edges)
    for number, cosine in enumerate(result.config.similarity):
        if cosine < 1:
            mean = np.exp(np.log(np.maximum(np.abs(ends[:, number]), FLOOR)).mean(axis=0))
            axis.plot(np.arange(1, len(edges)), mean, marker=".", lw=1.0, color=_color(result, cosine))
    axis.set(xlabel="block", ylabel="specialisation (flexible)", yscale="log", ylim=(FLOOR, 2))
    low, high = result.config.similarity[0], result.config.similarity[-1]
    shades = ListedColormap([_color(result, cosine) for cosine in np.linspace(low, high, 256)])
    figure.colorbar(ScalarMappable(Normalize(low, high), shades), ax=axis, label="similarity ρ", pad=0.02)
