"""The figure of `race/xor`."""

from itertools import product
from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.race.xor import CHANCE, GATINGS, OCCUPIED, fits

LINES: tuple[Any, ...] = ("-", (0, (5, 1.2)), (0, (4, 1, 1, 1)), (0, (1.2, 1)))
MARKS = ("o", "s", "^", "D", "v")


def draw(result: Any) -> Any:
    """Gated networks under every gating, rectified networks beside the closed form, and which gatings can be kept."""
    with fs.lab.style.style():
        figure, axes = plt.subplots(2, 3, figsize=(7.2, 4.6))
        _draw_gated(axes[0, 0], result)
        _draw_rectified(axes[0, 1], result)
        _draw_shifted(axes[0, 2], result)
        _draw_starts(axes[1, 0], result)
        _draw_alignment(axes[1, 1], result)
        _draw_sets(axes[1, 2])
        fs.lab.style.letter(*axes.ravel())
    return figure


def _draw_gated(axis: Any, result: Any) -> None:
    """Closed forms as lines, gated networks as marks."""
    time, some = result["time"].values, slice(0, None, max(1, len(result["time"]) // 22))
    for number, gating in enumerate(GATINGS):
        color = fs.lab.style.PALETTE[number]
        exact, simulated = (data["loss"].isel(run=0).sel(gating=gating).values for data in (result.theory, result.data))
        begin = 0 if number < 3 else max(1, len(time) // 44)  # the two that are stuck lie on each other
        places = slice(begin, None, some.step)
        axis.plot(time, exact, color=color, ls=LINES[number])
        axis.plot(time[places], simulated[places], MARKS[number], color=color, ms=3, mfc="white", mew=0.8)
        axis.plot([], [], color=color, ls=LINES[number], marker=MARKS[number], ms=3, mfc="white", mew=0.8, label=gating)
    axis.set(xlabel="time t / τ", ylabel="loss", title="Gated networks", ylim=(-0.02, 0.56), xlim=(0, time[-1]))
    axis.legend(loc="center right", bbox_to_anchor=(1.0, 0.48), fontsize=6.5, handlelength=2)


def _draw_rectified(axis: Any, result: Any) -> None:
    """Rectified networks as bands, the closed form from the fitted start (its geometric mean) dashed."""
    time = result["time"].values
    for number, scale in enumerate(result.config.scale):
        losses = result["rectified_loss"].sel(scale=scale).transpose("run", "time").values
        look = {"color": fs.lab.style.PALETTE[number], "ls": LINES[number % len(LINES)]}
        _band(axis, time, losses, label=f"σ = {scale:g}", **look)
        start = np.exp(np.log(fits(result, scale)[0]).mean())
        axis.plot(time, fs.theory.margin.xor(start)(time)["loss"], **fs.lab.style.THEORY)
    axis.plot([], [], **fs.lab.style.THEORY, label="closed form")
    axis.set(xlabel="time t / τ", ylabel="loss", title="Rectified networks", ylim=(-0.02, 0.56), xlim=(0, time[-1]))
    axis.legend(loc="upper right", fontsize=6.5, borderaxespad=0.1)


def _draw_shifted(axis: Any, result: Any) -> None:
    """Every run on the clock of its own fitted start: all are one curve."""
    time = result["time"].values
    rate = np.sqrt(2.0) / 2.0
    for number, scale in enumerate(result.config.scale):
        look = {"color": fs.lab.style.PALETTE[number], "ls": LINES[number % len(LINES)]}
        shifts = np.log(1.0 / np.sqrt(2.0) / fits(result, scale)[0] - 1.0) / rate
        losses = result["rectified_loss"].sel(scale=scale).transpose("run", "time").values
        for shift, loss in zip(shifts, losses, strict=True):
            axis.plot(time - shift, loss, lw=0.9, alpha=0.7, **look)
        axis.plot([], [], label=f"σ = {scale:g}", **look)
    inside = np.linspace(-8, 8, 200)
    start = 1.0 / np.sqrt(2.0) / (1.0 + np.exp(rate * 8.0))
    axis.plot(inside, fs.theory.margin.xor(start)(inside + 8.0)["loss"], **fs.lab.style.THEORY, label="closed form")
    axis.set(xlim=(-8, 8), ylim=(-0.02, 0.56), xlabel="(t − half-time of π) / τ", ylabel="loss")
    axis.set_title("Every run, shifted once")
    axis.legend(loc="upper right", fontsize=6.5, borderaxespad=0.1)


def _draw_starts(axis: Any, result: Any) -> None:
    """The fitted start over Hσ², and in the colour of errors what the shift leaves unexplained."""
    errors = axis.twinx()
    for scale in result.config.scale:
        start, left = fits(result, scale)
        spread = np.geomspace(0.88, 1.14, len(start)) if len(start) > 1 else np.ones(1)
        occupied = start / (result.config.width * scale**2)
        axis.plot(scale * spread / 1.25, occupied, "o", color=fs.lab.style.BLUE, ms=3, mfc="white", mew=0.8)
        errors.plot(scale * spread * 1.25, left, "x", color=fs.lab.style.VERMILLION, ms=3.5, mew=0.9)
    axis.axhline(OCCUPIED, **fs.lab.style.THEORY)
    axis.set(xscale="log", xlabel="initial s.d. σ", title="One number for the start", ylim=(0, 0.3))
    axis.set_ylabel("fitted $π_0 / Hσ^2$  (○)", color=fs.lab.style.BLUE)
    axis.text(
        0.32, OCCUPIED - 0.006, f"{OCCUPIED:g}", transform=axis.get_yaxis_transform(), fontsize=7, va="top", ha="center"
    )
    errors.set(yscale="log")
    errors.set_ylabel("largest |ΔL|  (×)", color=fs.lab.style.VERMILLION)
    errors.spines["right"].set_visible(True)


def _draw_alignment(axis: Any, result: Any) -> None:
    """How far units have turned towards single examples, against what is learned."""
    for number, scale in enumerate(result.config.scale):
        cosine = result["alignment"].sel(scale=scale).transpose("run", "time").values
        look = {"color": fs.lab.style.PALETTE[number], "ls": LINES[number % len(LINES)]}
        _band(axis, result["time"].values, cosine, label=f"σ = {scale:g}", **look)
    axis.set(xlabel="time t / τ", ylabel="cosine with example", title="Units turn to one example")
    axis.set(xlim=(0, result["time"].values[-1]), ylim=(0.88, 1.005))
    axis.legend(loc="lower right", fontsize=6.5)


def _draw_sets(axis: Any) -> None:
    """Every set of examples a pathway could be on for: how strong it is, and whether a unit can keep it."""
    world = fs.worlds.logic.xor()
    every = np.asarray(list(product((False, True), repeat=4))[1:])
    strength = np.linalg.norm((every * world.targets[:, 0]) @ world.inputs, axis=1) / 4
    kept = {tuple(row) for row in fs.theory.margin.self_consistent_sets(world.inputs, world.targets[:, 0])}
    size = every.sum(axis=1)
    for number, value in sorted(set(zip(size, np.round(strength, 6), strict=True))):
        same = every[(size == number) & np.isclose(strength, value)]
        can = tuple(same[0]) in kept
        axis.plot(number, value, "o", color=fs.lab.style.BLUE, ms=6, mfc=fs.lab.style.BLUE if can else "white")
        axis.annotate(f"×{len(same)}", (number, value), (6, 3), textcoords="offset points", fontsize=7)
    axis.plot([], [], "o", color=fs.lab.style.BLUE, ms=5, label="can be kept")
    axis.plot([], [], "o", color=fs.lab.style.BLUE, ms=5, mfc="white", label="cannot")
    axis.set(xlim=(0.6, 4.8), ylim=(-0.04, 0.74), xticks=[1, 2, 3, 4], xlabel="examples it is on for")
    axis.set(ylabel="strength s", title="All 15 gatings of a unit", yticks=[0, 0.25, CHANCE])
    axis.legend(loc="upper right", fontsize=6.5, ncols=2, columnspacing=0.8, handletextpad=0.2)


def _band(axis: Any, time: Any, runs: Any, **look: Any) -> None:
    """Mean ± standard error over runs."""
    mean, error = runs.mean(axis=0), runs.std(axis=0) / max(len(runs) - 1, 1) ** 0.5
    axis.plot(time, mean, lw=1.5, **look)
    axis.fill_between(time, mean - error, mean + error, color=look["color"], alpha=0.25, lw=0)
