"""The figure of `linear/transition`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.linear.transition import EARLY, EXPONENTIAL, LATE, half_time_ratios, level_time, ratios


def draw(result: Any) -> Any:
    """Two weights: their course, its shape, t10/t90 over λ. Below, the modes of a network."""
    from matplotlib.lines import Line2D

    with fs.lab.style.style():
        figure, axes = plt.subplots(2, 3, figsize=(7.2, 4.6))
        looks = _looks(result.config.imbalance)
        _draw_curves(axes[0, 0], result, looks)
        _draw_rescaled(axes[0, 1], result, looks)
        _draw_ratios(axes[0, 2], result, looks)
        small, large = (choose(result.config.imbalance, key=abs) for choose in (min, max))
        _draw_modes(axes[1, 0], result, small)
        _draw_modes(axes[1, 1], result, large)
        _draw_half_times(axes[1, 2], result, looks)
        lines = [Line2D([], [], color=color, ls=line) for color, line in looks.values()]
        labels = [f"λ = {imbalance:g}".replace("-", "−") for imbalance in looks]
        figure.legend(lines, labels, loc="outside upper center", ncols=len(lines), fontsize=7, columnspacing=1.3)
        fs.lab.style.letter(*axes.ravel())
    return figure


def _looks(imbalances: Any) -> dict[float, tuple[str, Any]]:
    """Colour and line of each imbalance, from small to large."""
    style = fs.lab.style
    colors = (style.BLACK, style.BLUE, style.SKY, style.GREEN, style.ORANGE, style.VERMILLION, style.PURPLE)
    lines = ("-", (0, (6, 1)), (0, (3, 1)), (0, (4, 1, 1, 1)), (0, (2, 1)), (0, (1, 0.8)))
    known = sorted(set(imbalances), key=lambda imbalance: (abs(imbalance), imbalance))
    return {x: (colors[rank % len(colors)], lines[rank % len(lines)]) for rank, x in enumerate(known)}


def _draw_curves(axis: Any, result: Any, looks: Any) -> None:
    """The closed form as lines, the two simulated weights as dots."""
    time, some = result["time"].values, slice(1, None, max(1, len(result["time"]) // 32))
    for imbalance, (color, line) in looks.items():
        exact, simulated = (
            data["product"].isel(run=0).sel(imbalance=imbalance).values / result.config.strength
            for data in (result.theory, result.data)
        )
        axis.plot(time[1:], exact[1:], color=color, ls=line)
        axis.plot(time[some], simulated[some], "o", color=color, ms=2.6, mfc="white", mew=0.7)
    axis.plot([], [], "o", color="0.3", ms=2.6, mfc="white", mew=0.7, label="simulation")
    axis.plot([], [], color="0.3", label="closed form")
    axis.set(xscale="log", xlabel="time t / τ", ylabel="share learned a/s", title="Two weights", ylim=(-0.03, 1.25))
    axis.set(xticks=[1e-4, 1e-2, 1], yticks=[0, 0.5, 1])
    axis.legend(loc="upper left", fontsize=6.5, ncols=2, columnspacing=1)


def _draw_rescaled(axis: Any, result: Any, looks: Any) -> None:
    """Every imbalance on its own clock: the shape of learning."""
    for imbalance, (color, line) in looks.items():
        share = result["product"].isel(run=0).sel(imbalance=imbalance) / result.config.strength
        axis.plot(share["time"] / level_time(result.config, imbalance, LATE), share, color=color, ls=line)
    axis.axhline(EARLY, color="0.75", lw=0.7, zorder=0)
    axis.axhline(LATE, color="0.75", lw=0.7, zorder=0)
    axis.set(xlim=(0, 1.5), xlabel="time / time to 90 %", ylabel="share learned a/s")
    axis.set_title("From sigmoid to exponential")


def _draw_ratios(axis: Any, result: Any, looks: Any) -> None:
    """Measured t10/t90 over |λ|, on the curve of the closed form."""
    _imbalance_scale(axis, result)
    fine = np.concatenate([np.linspace(0, 1e-3, 9)[:-1], np.geomspace(1e-3, 1e3, 200)]) * result.config.strength
    axis.plot(fine, level_time(result.config, fine, EARLY) / level_time(result.config, fine, LATE), color="0.5", lw=1.2)
    axis.axhline(EXPONENTIAL, **fs.lab.style.THEORY)
    for size, ratio in zip(*ratios(result), strict=True):
        axis.plot(size, ratio, "o", color=looks.get(size, looks.get(-size))[0], ms=4.5, mfc="white", mew=1.1)
    inside = axis.get_yaxis_transform()
    axis.text(0.03, EXPONENTIAL - 0.008, f"exponential, {EXPONENTIAL:.4f}", transform=inside, fontsize=7, va="top")
    axis.set(ylim=(0, None), ylabel="$t_{10}$ / $t_{90}$", title="Measured and closed form")


def _draw_modes(axis: Any, result: Any, imbalance: float) -> None:
    """The modes of the network in the first run, exact solution over simulation."""
    learned, exact = (data["learned"].isel(run=0).sel(imbalance=imbalance) for data in (result.data, result.theory))
    strengths = np.linspace(1.0, result.config.weakest, result.config.modes) * result.config.strength
    for mode, color in zip(range(result.config.modes), fs.lab.style.PALETTE * 10, strict=False):
        width = max(4.5 - 1.4 * mode, 1.4)  # where modes are learned together, all can be seen
        axis.plot(learned["time"], learned.isel(mode=mode), color=color, lw=width, label=f"s = {strengths[mode]:.2g}")
        axis.plot(exact["time"], exact.isel(mode=mode), **fs.lab.style.THEORY)
    axis.plot([], [], **fs.lab.style.THEORY, label="exact")
    last = fs.measures.crossing_time(learned["time"].values, learned.transpose("mode", "time").values, 0.97)
    until = np.nanmax([*last, learned["time"].values[5]])
    axis.set(xlim=(0, 1.3 * until), ylim=(-0.03, 1.07), xlabel="time t / τ", ylabel="share of mode learned")
    axis.set_title(f"Network, λ = {imbalance:g}".replace("-", "−"))
    axis.legend(loc="lower right", fontsize=6.5)


def _draw_half_times(axis: Any, result: Any, looks: Any) -> None:
    """How much later the weakest mode is learned than the strongest, in every run."""
    _imbalance_scale(axis, result)
    for imbalance, (color, _) in looks.items():
        values = half_time_ratios(result, imbalance)
        axis.plot(np.full(len(values), abs(imbalance)), values, "o", color=color, ms=4, mfc="none", mew=0.9)
    axis.axhline(1.0, **fs.lab.style.THEORY)
    axis.text(0.03, 1.04, "together", transform=axis.get_yaxis_transform(), fontsize=7, va="bottom")
    axis.set(ylabel="weakest / strongest", title="Half-times of the modes", ylim=(0, None))


def _imbalance_scale(axis: Any, result: Any) -> None:
    threshold = 1e-3 * result.config.strength
    axis.set_xscale("symlog", linthresh=threshold, linscale=0.4)
    axis.set(xlim=(-0.5 * threshold, 5e5 * threshold), xlabel="imbalance |λ|")
    ticks = [0.0, *(threshold * 10.0**power for power in (1, 3, 5))]
    axis.set_xticks(ticks, ["0", *(f"{tick:g}" for tick in ticks[1:])])
