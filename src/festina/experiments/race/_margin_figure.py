"""The figure of `race/margin`."""

from itertools import pairwise
from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.race._margin_measures import (
    CROSSING,
    LAST_SINGLE,
    crossings,
    final_share,
    from_smallest,
    mean_share,
    predicted_share,
)

LINES: tuple[Any, ...] = ((0, (1.2, 1)), (0, (4, 1, 1, 1)), (0, (5, 1.2)), "-")
MARKS = ("o", "s", "^", "D", "v")
EDGE = {"color": "0.6", "lw": 0.8, "zorder": 0}


def draw(result: Any) -> Any:
    """Both rates, the crossover and its law, where curves cross, the misleading index, and the course of learning."""
    with fs.lab.style.style():
        figure, axes = plt.subplots(2, 3, figsize=(7.2, 4.7))
        _draw_rates(axes[0, 0])
        _draw_shares(axes[0, 1], result)
        _draw_crossings(axes[0, 2], result)
        _draw_law(axes[1, 0], result)
        _draw_index(axes[1, 1], result)
        _draw_course(axes[1, 2], result)
        fs.lab.style.letter(*axes.ravel())
    return figure


def _look(number: int) -> dict[str, Any]:
    """Colour and mark of a start."""
    return {
        "color": fs.lab.style.PALETTE[number % 7],
        "marker": MARKS[number % 5],
        "ms": 3.2,
        "mfc": "white",
        "mew": 0.9,
    }


def _draw_rates(axis: Any) -> None:
    """Strengths of both kinds over the margin."""
    fine = np.linspace(0, 2.0, 200)
    nonlinear, linear = fs.theory.margin.strengths(fine)
    kept = fine <= LAST_SINGLE
    axis.plot(fine[kept], nonlinear[kept], color=fs.lab.style.BLUE, label="one example")
    axis.plot(fine, linear, color=fs.lab.style.VERMILLION, ls=(0, (5, 1.2)), label="one class")
    axis.plot(LAST_SINGLE, fs.theory.margin.strengths(LAST_SINGLE)[0], "o", color=fs.lab.style.BLUE, mfc="white", ms=4)
    axis.plot(CROSSING, CROSSING / 2, "o", color="black", ms=4)
    axis.annotate("Δ* = √(2/3)", (CROSSING, CROSSING / 2), (0, -22), textcoords="offset points", fontsize=7)
    axis.annotate("none\nfrom √2", (LAST_SINGLE, 0.5), (3, -5), textcoords="offset points", fontsize=7, va="top")
    axis.set(xlabel="margin Δ", ylabel="strength s", title="The race", xlim=(0, 2), ylim=(0, 1))
    axis.legend(loc="upper left", fontsize=6.5)


def _draw_shares(axis: Any, result: Any) -> None:
    """The crossover: marks with standard errors, and the law with nothing fitted as lines."""
    separation, shares = result["separation"].values, final_share(result)
    fine, predicted = _law(result)
    for number, scale in enumerate(result.config.scale):
        error = shares[:, number].std(axis=0) / max(len(shares) - 1, 1) ** 0.5
        look = _look(number)
        axis.errorbar(separation, shares[:, number].mean(axis=0), error, ls="none", lw=0.8, **look)
        line = LINES[number % len(LINES)]
        axis.plot(fine, predicted[number], color=look["color"], ls=line, lw=1.1)
        axis.plot([], [], ls=line, lw=1.1, label=f"σ = {scale:g}", **look)
    axis.axvline(CROSSING, **EDGE)
    axis.set(xlabel="margin Δ", ylabel="share on one example", title="Crossover", ylim=(-0.03, 1.05), xlim=(0, 1.6))
    axis.legend(loc="lower left", fontsize=6.5, handlelength=2)


def _law(result: Any) -> tuple[Any, Any]:
    """Margins close to each other and the shares the law predicts; starts are interpolated between those of the run."""
    possible = result["separation"].values[result["separation"].values < LAST_SINGLE]
    if len(possible) < 2:
        return possible, predicted_share(result)[:, : len(possible)]
    fine = np.linspace(possible[0], possible[-1], 100)
    starts = (result.theory[name].isel(run=0, time=0).sel(separation=possible) for name in ("nonlinear", "linear"))
    nonlinear, linear = (start.interp(separation=fine).transpose("scale", "separation").values for start in starts)
    return fine, fs.theory.margin.race(nonlinear, linear, np.broadcast_to(fine, nonlinear.shape)).end["single_share"]


def _draw_crossings(axis: Any, result: Any) -> None:
    """Where the curves of neighbouring starts cross, in every run."""
    if not result["separation"].values[0] < CROSSING < result["separation"].values[-1]:
        axis.text(0.5, 0.5, "needs margins around √(2/3)", transform=axis.transAxes, ha="center", fontsize=7)
        axis.set(xlabel="pair of starts σ", ylabel="crossing at Δ", xticks=[], yticks=[])
        return
    places = crossings(result)
    names = [f"{one:g}\n{other:g}" for one, other in pairwise(result.config.scale)]
    for number, runs in enumerate(places):
        spread = np.linspace(-0.18, 0.18, len(runs)) if len(runs) > 1 else np.zeros(1)
        axis.plot(number + spread, runs, "o", color=fs.lab.style.BLUE, ms=3, mfc="white", mew=0.8)
    axis.axhline(CROSSING, **fs.lab.style.THEORY)
    axis.text(len(places) - 0.55, CROSSING + 0.003, "√(2/3)", fontsize=7, va="bottom", ha="right")
    axis.set_xticks(range(len(places)), names)
    axis.set(xlim=(-0.5, len(places) - 0.5), ylim=(0.7, 0.95), xlabel="pair of starts σ", ylabel="crossing at Δ")
    axis.set_title("All curves cross at Δ*")


def _draw_law(axis: Any, result: Any) -> None:
    """What the smallest start predicts for the others, against what they show."""
    possible = result["separation"].values < LAST_SINGLE
    predicted, measured = from_smallest(result).mean(axis=0), mean_share(result)
    axis.plot([0, 1], [0, 1], **fs.lab.style.THEORY)
    for number, scale in enumerate(result.config.scale[:-1]):
        axis.plot(
            predicted[number, possible], measured[number, possible], ls="none", label=f"σ = {scale:g}", **_look(number)
        )
    axis.set(xlabel=f"share predicted from σ = {result.config.scale[-1]:g}", ylabel="share measured")
    axis.set(title="One start predicts the rest", xlim=(-0.03, 1.05), ylim=(-0.03, 1.05))
    axis.legend(loc="upper left", fontsize=6.5, handletextpad=0.2)


def _draw_index(axis: Any, result: Any) -> None:
    """The index of the function beside the share of strength, both from the smallest start."""
    fine = np.linspace(0, LAST_SINGLE, 100)
    separation = result["separation"].values
    index = result["index"].isel(time=-1, scale=-1).transpose("run", "separation").values.mean(axis=0)
    axis.plot(fine, fs.theory.margin.pure_index(fine), **fs.lab.style.THEORY, label="all nonlinear:\n$(2-Δ^2)/(2+Δ^2)$")
    axis.plot(separation, index, lw=0.8, label="index of function", **_look(1))
    axis.plot(separation, 2 * mean_share(result)[-1] - 1, lw=0.8, label="2 × share − 1", **_look(0))
    axis.plot([CROSSING, CROSSING], [-1.08, 1.08], **EDGE)
    axis.set(xlabel="margin Δ", ylabel="nonlinearity", title="A misleading index")
    axis.set(xlim=(0, 1.6), ylim=(-1.08, 2.3), yticks=[-1, 0, 1])
    axis.legend(loc="upper right", fontsize=6.5, labelspacing=0.3, borderaxespad=0.0)


def _draw_course(axis: Any, result: Any) -> None:
    """Loss over time from the smallest start, theory dashed."""
    time, separation = result["time"].values, result["separation"].values
    chosen = sorted({int(np.argmin(np.abs(separation - wanted))) for wanted in (0.4, CROSSING, 1.2)})
    for number, place in enumerate(chosen):
        loss = result["loss"].isel(scale=-1, separation=place).transpose("run", "time").values
        mean, error = loss.mean(axis=0), loss.std(axis=0) / max(len(loss) - 1, 1) ** 0.5
        color = fs.lab.style.PALETTE[number]
        axis.plot(time, mean, color=color, lw=2.0, alpha=0.8, label=f"Δ = {separation[place]:g}")
        axis.fill_between(time, mean - error, mean + error, color=color, alpha=0.25, lw=0)
        axis.plot(time, result.theory["loss"].isel(run=0, scale=-1, separation=place), **fs.lab.style.THEORY)
    axis.plot([], [], **fs.lab.style.THEORY, label="nothing fitted")
    axis.set(xlabel="time t / τ", ylabel="loss", title=f"Course (σ = {result.config.scale[-1]:g})")
    axis.set(xlim=(0, time[-1]), ylim=(-0.02, 0.54))
    axis.legend(loc="center right", fontsize=6.5)
