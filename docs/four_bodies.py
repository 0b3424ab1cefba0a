"""The README's picture, one panel for each body of work: `python docs/four_bodies.py`."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import festina as fs
from festina.experiment import Result
from festina.style import BLUE, GREEN, PALETTE, VERMILLION, style

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "figures" / "four_bodies.png"
MARKS = ("o", "s", "^", "D")
MARGINS = tuple(round(0.1 * tenth, 1) for tenth in range(1, 15))  # below √2, where the law holds
SHOWN_BLOCKS = 12
LETTERING: dict[Any, float] = {  # larger than in print, for a page that shows the picture at half its size
    "axes.labelsize": 9.5,
    "axes.titlesize": 10.5,
    "figure.constrained_layout.wspace": 0.05,
    "legend.fontsize": 8.5,
    "legend.title_fontsize": 8.5,
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
}


def draw(semantics: Result, margin: Result, tasks: Result, codes: Result) -> Any:
    """Four panels side by side."""
    with style(), plt.rc_context(LETTERING):
        figure, axes = plt.subplots(1, 4, figsize=(10.6, 2.7), width_ratios=(1.1, 1.0, 1.2, 0.85))
        _draw_stages(axes[0], semantics)
        _draw_race(axes[1], margin)
        _draw_gates(axes[2], tasks)
        _draw_code(axes[3], codes)
        for axis, letter in zip(axes, "abcd", strict=True):
            axis.set_title(f"$\\bf{{{letter}}}$   {axis.get_title()}", loc="left", pad=8)
            axis.set_title("")
    return figure


def _draw_stages(axis: Any, result: Result) -> None:
    """What a deep linear network has learned of each level of a tree: simulation as marks, closed form as lines."""
    seen, exact = (data["learned"].isel(run=0).sel(network="deep") for data in (result.data, _theory(result)))
    time = result["time"].values
    for level, name in enumerate(("all alike", "2 branches", "4 branches", "8 leaves")):
        color, mark = PALETTE[level], MARKS[level]
        axis.plot(time, exact.isel(level=level), color=color, lw=1.4)
        axis.plot(time[::2], seen.isel(level=level)[::2], mark, color=color, ms=3.6, mfc="white", mew=1.0, label=name)
    axis.set(xlim=(0, 24), ylim=(-0.03, 1.06), xlabel="time t / τ", ylabel="share learned", yticks=(0, 0.5, 1))
    axis.set_title("Learning in stages")
    axis.legend(loc="lower right", handletextpad=0.2, borderaxespad=0.1)


def _draw_race(axis: Any, result: Result) -> None:
    """The share that nonlinear pathways win, over the margin: simulation as marks, the law as lines."""
    for number, scale in enumerate(result.config.scale):
        share, exact = (data["single_share"].isel(time=-1).sel(scale=scale) for data in (result.data, _theory(result)))
        look = {"color": PALETTE[number], "marker": MARKS[number], "ms": 3.6, "mfc": "white", "mew": 1.0}
        axis.plot(MARGINS, exact.isel(run=0), color=PALETTE[number], lw=1.4)
        power = round(float(np.log10(scale)))
        axis.plot(MARGINS, share.mean("run"), ls="", label=f"$\\sigma = 10^{{{power}}}$", **look)
    crossing = float(np.sqrt(2 / 3))
    axis.axvline(crossing, color="0.6", lw=0.8, zorder=0)
    axis.text(crossing + 0.03, 1.0, "Δ*", color="0.35", va="center")
    axis.set(xlim=(0, 1.45), ylim=(-0.03, 1.06), xlabel="margin Δ of the task", ylabel="nonlinear share")
    axis.set(yticks=(0, 0.5, 1), xticks=(0, 0.5, 1))
    axis.set_title("A race of pathways")
    axis.legend(loc="lower left", handletextpad=0.2, borderaxespad=0.1, title="initial weights", alignment="left")


def _draw_gates(axis: Any, result: Result) -> None:
    """The gates of both students through the first blocks; above them the task that is shown."""
    gates = result["sorted_gates"].sel(arm="flexible").isel(run=0)
    length = result.config.block_length
    shown = gates.sel(time=gates["time"] < SHOWN_BLOCKS * length)
    for student, (color, line) in enumerate(((BLUE, "-"), (VERMILLION, (0, (3, 1))))):
        axis.plot(shown["time"], shown.isel(student=student), color=color, ls=line, lw=1.4)
    for block in range(SHOWN_BLOCKS):
        axis.fill_between((block * length, (block + 1) * length), 1.22, 1.38, color=(BLUE, VERMILLION)[block % 2], lw=0)
        look = {"color": "white", "fontsize": 8.5, "fontweight": "bold", "ha": "center", "va": "center_baseline"}
        axis.text((block + 0.5) * length, 1.29, "AB"[block % 2], **look)
    axis.set(xlim=(0, SHOWN_BLOCKS * length), ylim=(-0.05, 1.38), yticks=(0, 0.5, 1), xticks=range(0, 13, 4))
    axis.set(xlabel="time t, one task after the other", ylabel="gates of two paths")
    axis.set_title("Gates learn to switch")


def _draw_code(axis: Any, result: Result) -> None:
    """The mean activity of every neuron in each class, neurons of one code together."""
    last = result.data.sel(phase="planted").isel(run=0, time=-1)
    activity = last["activity"].transpose("neuron", "class").values
    codes = (activity > 0.5) @ 2 ** np.arange(3)
    order = np.argsort(codes, kind="stable")
    image = axis.imshow(activity[order], aspect="auto", interpolation="none", cmap="Greys", vmin=0, vmax=1)
    for code in np.unique(codes):
        where = np.flatnonzero(codes[order] == code)
        axis.axhline(where[-1] + 0.5, color=GREEN, lw=0.8)
    axis.set(xticks=range(3), xticklabels=range(1, 4), xlabel="class", ylabel="neuron, sorted", yticks=(0, 100, 199))
    axis.set_yticklabels((1, 100, 200))
    axis.spines[["top", "right"]].set_visible(True)
    bar = axis.figure.colorbar(image, ax=axis, fraction=0.09, pad=0.05, ticks=(0, 0.5, 1))
    bar.set_label("mean activity")
    bar.outline.set_linewidth(0.5)
    axis.set_title("Groups share codes")


def _theory(result: Result) -> Any:
    assert result.theory is not None
    return result.theory


def main() -> None:
    results = (
        fs.run("linear/semantics", budget="quick", seeds=1),
        fs.run("race/margin", budget="quick", scale=(1e-2, 1e-3, 1e-4), separation=MARGINS),
        fs.run("abstraction/specialization", budget="quick", seeds=1),
        fs.run("coding/redundant", budget="quick", seeds=1),
    )
    draw(*results).savefig(PICTURE, dpi=200)
    print(f"{PICTURE.relative_to(ROOT)}: {PICTURE.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
