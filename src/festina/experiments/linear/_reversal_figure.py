"""The figure of `linear/reversal`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.linear.reversal import (
    AXES,
    EXPANDED,
    NUDGED,
    REORDERED,
    ROTATED,
    SINGLE,
    crossing_times,
    ladder_of,
    loss_ratio,
)

DASHES = ("-", (0, (5, 1.2)), (0, (1.2, 1)), (0, (4, 1, 1, 1)))
MARKERS = "osD^v"


def draw(result: Any) -> Any:
    """The reversal for all λ, its times, the spurious escape, and where it comes from."""
    with fs.lab.style.style():
        figure, axes = plt.subplots(2, 2, figsize=(7.2, 4.9))
        (courses, times), (escapes, parts) = axes
        _draw_courses(courses, result)
        _draw_times(times, result)
        _draw_escapes(escapes, result)
        _draw_parts(parts, result)
        fs.lab.style.letter(*axes.flat)
    return figure


def _power(value: float) -> str:
    """10⁻⁴ for 1e-4, and the plain number for others."""
    exponent = np.log10(value)
    near = np.isclose(exponent, np.round(exponent))
    return f"$10^{{{int(np.round(exponent))}}}$" if near else f"{value:.1e}"


def _draw_courses(axis: Any, result: Any) -> None:
    """The strongest mode for each λ, simulated as lines and exact as dashes, and λ = 0 as theory has it."""
    time, strongest = result["time"].values, result.config.strengths[0]
    course = result["strength"].isel(run=0, mode=0).transpose("rung", "time").values / strongest
    exact = result.theory["strength"].isel(run=0, mode=0).transpose("rung", "time").values / strongest
    ladder = np.asarray(ladder_of(result.config))
    colors = plt.get_cmap("viridis")(np.linspace(0.0, 0.9, len(ladder)))
    for rung, imbalance in enumerate(ladder):
        known = f"λ = {_power(imbalance)}" if rung in (0, len(ladder) // 2, len(ladder) - 1) else None
        axis.plot(time, course[rung], color=colors[rung], lw=2.0, label=known)
        axis.plot(time, exact[rung], **fs.lab.style.THEORY)
    level = result.theory["level"].isel(run=0, mode=0, arithmetic=0) / strongest
    axis.plot(time, level, color=fs.lab.style.VERMILLION, lw=1.6, ls=(0, (1.2, 1)), label="λ = 0, exact")
    axis.plot([], [], **fs.lab.style.THEORY, label="theory")
    last = 1.5 * float(np.max(crossing_times(result, 0.5)[0, :, 0]))
    axis.set(xlim=(0, min(last, time[-1])), ylim=(-1.08, 1.08), xlabel="time since the reversal t / τ")
    axis.set(ylabel="strongest mode a/s", title="The less imbalance, the longer the wait")
    axis.legend(loc="upper right", labelspacing=0.35)


def _draw_times(axis: Any, result: Any) -> None:
    """Times to zero (filled) and to half of the new task (open), for every run, against λ."""
    ladder = np.asarray(ladder_of(result.config))
    for mode, strength in enumerate(result.config.strengths):
        color, marker = fs.lab.style.PALETTE[mode % 7], MARKERS[mode % len(MARKERS)]
        for share, face, slope in ((0.0, color, 0.5), (0.5, "white", 1.0)):
            measured = crossing_times(result, share)[:, :, mode].T
            axis.plot(ladder, measured, marker, color=color, mfc=face, ms=3.8, mew=0.9)
            line = measured[-1].mean() + slope / strength * np.log(ladder[-1] / ladder)
            axis.plot(ladder, line, color=color, lw=0.9, ls=DASHES[mode % len(DASHES)], zorder=0)
        axis.plot(
            [], [], color=color, marker=marker, ms=3.8, lw=0.9, ls=DASHES[mode % len(DASHES)], label=f"s = {strength:g}"
        )
    axis.plot([], [], "o", color="0.3", ms=3.8, label="to a = 0; slope 1/2s")
    axis.plot([], [], "o", color="0.3", mfc="white", ms=3.8, label="to a = −s/2; slope 1/s")
    axis.set(xscale="log", ylim=(0, None), xlabel="imbalance λ of the layers", ylabel="time t / τ")
    axis.set(title="Waiting times grow as ln(1/λ)")
    axis.set_ylim(0, 1.12 * axis.get_ylim()[1])
    axis.legend(loc="upper right", labelspacing=0.35)


def _draw_escapes(axis: Any, result: Any) -> None:
    """λ = 0: the loss of one network, computed in six ways."""
    style = fs.lab.style
    shown = (
        (SINGLE, style.ORANGE, DASHES[2], "rotated, float32 start"),
        (ROTATED, style.BLUE, DASHES[0], "rotated"),
        (EXPANDED, style.GREEN, DASHES[1], "rotated, expanded"),
        (REORDERED, style.PURPLE, DASHES[3], "rotated, reordered"),
        (NUDGED, style.SKY, DASHES[0], "on axes, + 1e-15"),
        (AXES, style.VERMILLION, DASHES[0], "on axes"),
    )
    time, loss = result["time"].values, result["level_loss"].isel(run=0)
    for name, color, dashes, label in shown:
        course = loss.sel(arithmetic=name)
        axis.plot(time, course / course[0], color=color, ls=dashes, lw=1.3, label=label)
    exact = result.theory["level_loss"].isel(run=0, arithmetic=0)
    axis.plot(time, exact / exact[0], **style.THEORY, label="exact, all six")
    axis.axhline(0.25, color="0.7", lw=0.7, ls=":", zorder=0)
    axis.annotate("¼", (1, loss_ratio(result.theory, AXES)[0]), xycoords=("axes fraction", "data"), xytext=(3, 0),
                  textcoords="offset points", va="center", fontsize=7.5)  # fmt: skip
    axis.set(xlim=(0, time[-1]), ylim=(-0.01, 0.55), xlabel="time since the reversal t / τ")
    axis.set(ylabel="loss / loss at t = 0", title="λ = 0: escapes that mean nothing")
    axis.legend(loc="upper right", ncols=2, fontsize=7, labelspacing=0.35, columnspacing=1.2)


def _draw_parts(axis: Any, result: Any) -> None:
    """The two parts of the weights in the strongest mode: rounding errors grow, all else dies."""
    style, time = fs.lab.style, result["time"].values
    growing, dying = (result[name].isel(run=0, mode=0) for name in ("growing", "dying"))
    for name, color, dashes, label in (
        (SINGLE, style.ORANGE, DASHES[2], "float32 start"),
        (ROTATED, style.BLUE, DASHES[0], "float64"),
    ):
        axis.plot(time, growing.sel(arithmetic=name), color=color, ls=dashes, label=f"growing part, {label}")
    axis.plot(
        time, dying.sel(arithmetic=AXES), color="0.35", lw=1.3, ls=DASHES[1], label="dying part, exact and on axes"
    )
    strongest = result.config.strengths[0]
    start = float(growing.sel(arithmetic=ROTATED)[0])
    last = min(time[-1], 50.0 / strongest)
    guide = time[time < 0.2 * last]
    axis.plot(guide, 30 * start * np.exp(strongest * guide), color="0.6", lw=0.8)
    axis.text(guide[-1], 30 * start * np.exp(strongest * guide[-1]), "$e^{st}$ ", ha="right", va="bottom", fontsize=7.5)
    axis.axhline(2.0**-53, color="0.7", lw=0.7, ls=":", zorder=0)
    axis.text(0.42 * last, 2.0**-53, "rounding error $2^{-53}$", ha="center", va="bottom", fontsize=7, color="0.3")
    axis.set(yscale="log", xlim=(0, last), ylim=(1e-18, 1e7), xlabel="time since the reversal t / τ")
    axis.set(ylabel="size in strongest mode", title="Rounding errors grow, the rest dies")
    axis.legend(loc="upper right", fontsize=7, labelspacing=0.35)
