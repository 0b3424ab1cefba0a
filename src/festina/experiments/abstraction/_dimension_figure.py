"""The figure of `abstraction/dimension`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.abstraction._common import block_edges
from festina.experiments.abstraction._panels import shade_blocks
from festina.experiments.abstraction.dimension import (
    CONDITIONS,
    closed_form,
    final_alignment,
    gate_speed,
    lowest_gate,
    weight_speed,
)

LOOKS: dict[str, dict[str, Any]] = {
    "fast gates": {"color": "#000000", "ls": "-", "marker": "o"},
    "equal timescales": {"color": "#0072B2", "ls": (0, (4, 1.2)), "marker": "s"},
    "equal, unbounded": {"color": "#7F7F7F", "ls": (0, (1, 1)), "marker": "^"},
}
LINES: tuple[Any, ...] = ("-", (0, (4, 1.2)), (0, (1, 1)), (0, (6, 1, 1, 1)), (0, (3, 1)), (0, (2, 2)))


def draw(result: Any) -> Any:
    """How gates and weights change at a switch, by rank; where networks specialise, and how they get there."""
    from matplotlib.lines import Line2D

    with fs.figures.style.style():
        figure, axes = plt.subplots(2, 3, figsize=(7.2, 4.9))
        _draw_drive(axes[0, 0], result)
        _draw_gate_speed(axes[0, 1], result)
        _draw_weight_speed(axes[0, 2], result)
        _draw_by_rank(axes[1, 0], result, final_alignment, "total alignment at the end")
        _draw_by_rank(axes[1, 1], result, lowest_gate, "smaller gate at the end")
        _draw_courses(axes[1, 2], result)
        lines = [Line2D([], [], ms=3.5, **LOOKS[condition]) for condition in CONDITIONS]
        figure.legend(lines, CONDITIONS, loc="outside lower center", ncols=len(lines))
        fs.figures.style.letter(*axes.ravel())
    return figure


def _rank_scale(axis: Any, result: Any) -> None:
    ranks = result.config.ranks
    labels = [
        f"{rank}" if k in (0, len(ranks) - 1) or ranks[k + 1] > 1.3 * rank else "" for k, rank in enumerate(ranks)
    ]
    axis.set(xscale="log", xlabel="rank of the tasks", xlim=(0.85 * min(ranks), 1.3 * max(ranks)))
    axis.set_xticks(ranks, labels, fontsize=6.5)
    axis.minorticks_off()


def _draw_drive(axis: Any, result: Any) -> None:
    """Σ_α (s*_α s_α − s_α²) as all modes of a single student grow to those of its teacher."""
    learned = np.linspace(0, 1, 101)
    for k, rank in enumerate(result.config.ranks):
        drive = rank * (learned - learned**2)
        shade = 0.75 * (1 - k / max(1, len(result.config.ranks) - 1))
        axis.plot(learned, drive, color=str(shade), ls=LINES[k % len(LINES)], lw=1.2, label=f"r = {rank}")
    axis.set(xlabel="share of the task learned, s/s*", ylabel=r"gate drive $\langle W^*\!-\!W, W\rangle$")
    axis.set_ylim(0, 1.5 * axis.get_ylim()[1])
    axis.legend(loc="upper center", fontsize=6.5, ncols=3, columnspacing=0.8)


def _draw_gate_speed(axis: Any, result: Any) -> None:
    ranks = np.asarray(result.config.ranks)
    _draw_mean(axis, ranks, gate_speed(result), ms=4, label="measured", **LOOKS["fast gates"])
    axis.plot(
        ranks, closed_form(result.config, ranks), color=fs.figures.style.VERMILLION, ls=(0, (3, 2)), label="√2 r/τ$_c$"
    )
    _rank_scale(axis, result)
    axis.set(yscale="log", ylabel="|dc/dt| after a switch")
    axis.legend(loc="upper left", fontsize=6.5)


def _draw_weight_speed(axis: Any, result: Any) -> None:
    ranks = np.asarray(result.config.ranks)
    _draw_mean(axis, ranks, weight_speed(result), ms=4, label="measured", **LOOKS["fast gates"])
    level = 1 / result.config.weight_timescale
    axis.axhline(level, color=fs.figures.style.VERMILLION, ls=(0, (3, 2)), label="1/τ$_w$")
    _rank_scale(axis, result)
    axis.set(ylim=(0, 1.6 * level), ylabel="|dW/dt| / |W| after a switch")
    axis.legend(loc="lower left", fontsize=6.5)


def _draw_mean(axis: Any, ranks: Any, values: Any, **look: Any) -> None:
    """The mean over runs (the first axis) with its standard error."""
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else None
    axis.errorbar(ranks, values.mean(axis=0), error, lw=1.1, **look)


def _draw_by_rank(axis: Any, result: Any, measure: Any, label: str) -> None:
    for condition in CONDITIONS:
        values = measure(result, condition)
        _draw_mean(axis, np.asarray(result.config.ranks), values, ms=4, mfc="white", **LOOKS[condition])
    _rank_scale(axis, result)
    axis.set(ylabel=label)


def _draw_courses(axis: Any, result: Any) -> None:
    """Total alignment over time at the highest rank."""
    values = result["total_alignment"].isel(rank=-1).transpose("condition", "run", "time")
    for condition in CONDITIONS:
        look = {name: LOOKS[condition][name] for name in ("color", "ls")}
        fs.figures.style.draw_band(axis, result["time"].values, values.sel(condition=condition).values, lw=1.1, **look)
    edges = block_edges(result.config)
    shade_blocks(axis, edges, (0, 1))
    axis.set(
        xlabel="time t",
        xlim=(0, edges[-1]),
        ylim=(0.4, 1.05),
        ylabel=f"total alignment, rank {result.config.ranks[-1]}",
    )
