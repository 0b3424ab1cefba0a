"""The figure of `abstraction/reduction`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.abstraction._common import block_edges
from festina.experiments.abstraction._panels import shade_blocks, task_color
from festina.experiments.abstraction.reduction import EXACT, gap, largest_gap, specialised_at

LOOKS: dict[str, dict[str, Any]] = {
    "full": {"color": "#000000", "ls": "-"},
    "reduced": {"color": "#0072B2", "ls": (0, (4, 1.2))},
    "published": {"color": "#D55E00", "ls": (0, (1, 1))},
    "rows": {"color": "#009E73", "ls": (0, (5, 1, 1, 1))},
}
EARLY = 12  # blocks that single runs are shown for


def draw(result: Any) -> Any:
    """One run of the full network and its reduced model; differences of all models; when they specialise."""
    with fs.figures.style.style():
        figure, axes = plt.subplots(2, 3, figsize=(7.2, 4.5))
        gaps = largest_gap(result, "reduced", "full")
        run = int(np.argsort(gaps)[len(gaps) // 2])  # neither the best nor the worst
        _draw_loss(axes[0, 0], result, run)
        _draw_gates(axes[0, 1], result, run)
        _draw_weights(axes[0, 2], result, run)
        _draw_specialization(axes[1, 0], result)
        _draw_gaps(axes[1, 1], result)
        _draw_times(axes[1, 2], result)
        edges = block_edges(result.config)
        for axis, shown in zip(axes.ravel(), (*(edges[: EARLY + 1],) * 3, edges, edges), strict=False):
            shade_blocks(axis, shown, (0, 1))
            axis.set(xlabel="time t", xlim=(0, shown[-1]))
        fs.figures.style.letter(*axes.ravel())
    return figure


def _draw_loss(axis: Any, result: Any, run: int) -> None:
    for model in ("full", "reduced", "published"):
        loss = result["loss"].isel(run=run).sel(model=model)
        axis.plot(loss["time"], loss, lw=1.0, label=model, **LOOKS[model])
    axis.set(ylabel="loss / untrained", ylim=(0, 2.9), yticks=[0, 1, 2])
    axis.legend(loc="upper right", fontsize=6.5, ncols=2, columnspacing=0.8)


def _draw_gates(axis: Any, result: Any, run: int) -> None:
    for model, width in (("full", 2.4), ("reduced", 1.0)):
        gates = result["gates"].isel(run=run).sel(model=model)
        for path in range(2):
            look = {"color": task_color(path)} if model == "full" else {"color": "k", "ls": (0, (3, 1.5))}
            axis.plot(gates["time"], gates.isel(path=path), lw=width, alpha=0.6 if model == "full" else 1.0, **look)
    for path in range(2):
        axis.plot([], [], color=task_color(path), lw=2.4, alpha=0.6, label=f"full, $c^{path + 1}$")
    axis.plot([], [], color="k", ls=(0, (3, 1.5)), lw=1.0, label="reduced")
    axis.set(ylabel="gates", ylim=(-0.15, 1.95), yticks=[0, 0.5, 1])
    axis.legend(loc="upper right", fontsize=6.5, ncols=2, columnspacing=0.8)


def _draw_weights(axis: Any, result: Any, run: int) -> None:
    """All four w^p_m: colours for teachers, thick for path 1."""
    for model in ("full", "reduced"):
        weights = result["weights"].isel(run=run).sel(model=model)
        for path in range(2):
            for teacher in range(2):
                look = {"color": task_color(teacher), "alpha": 0.6, "lw": 2.6 - 1.2 * path}
                if model == "reduced":
                    look = {"color": "k", "ls": (0, (3, 1.5)), "lw": 0.8}
                axis.plot(weights["time"], weights.isel(path=path, teacher=teacher), **look)
    for teacher in range(2):
        axis.plot([], [], color=task_color(teacher), alpha=0.6, lw=2.4, label=f"along {'AB'[teacher]}")
    axis.plot([], [], color="k", ls=(0, (3, 1.5)), lw=0.8, label="reduced")
    axis.set(ylabel="weights (path 1 thick)", ylim=(-0.15, 1.75), yticks=[0, 0.5, 1])
    axis.legend(loc="upper right", fontsize=6.5, ncols=2, columnspacing=0.8)


def _draw_specialization(axis: Any, result: Any) -> None:
    for model in ("full", "reduced", "published"):
        values = result["specialization"].sel(model=model).transpose("run", "time").values
        fs.figures.style.draw_band(axis, result["time"].values, values, lw=1.2, label=model, **LOOKS[model])
    axis.set(ylabel=r"specialisation $|\bar{w}|$", ylim=(0, 1.05), yticks=[0, 0.5, 1])
    axis.legend(loc="lower right", fontsize=6.5)


def _draw_gaps(axis: Any, result: Any) -> None:
    """Differences of gates and loss; medians over runs."""
    time = result["time"].values[1:]
    for model in ("published", "rows", "reduced"):
        median = np.median(gap(result, model, "full")[:, 1:], axis=0)
        axis.plot(time, np.maximum(median, 1e-17), lw=1.0, label=f"{model} − full", **LOOKS[model])
    pairs = (("reduced", "aligned", "0.0", "-"), ("rows", "spanned", "0.4", "-"), ("closed", "full", "0.65", "-"))
    for one, other, color, line in pairs:
        median = np.median(gap(result, one, other)[:, 1:], axis=0)
        axis.plot(time, np.maximum(median, 1e-17), lw=0.8, color=color, ls=line, label=f"{one} − {other}")
    axis.axhline(EXACT, color="0.8", lw=0.7, zorder=0)
    axis.set(yscale="log", ylim=(1e-17, 1e9), yticks=[1e-15, 1e-10, 1e-5, 1], ylabel="|difference|, median")
    axis.legend(loc="upper right", fontsize=5.8, ncols=2, columnspacing=0.8, handlelength=1.4)


def _draw_times(axis: Any, result: Any) -> None:
    """When each run specialises, by the full network and by its models."""
    full = specialised_at(result, "full")
    for model, marker in (("reduced", "o"), ("rows", "^"), ("published", "s")):
        at, color = specialised_at(result, model), LOOKS[model]["color"]
        axis.plot(full, at, marker, color=color, mfc="none", mew=1.0, ms=4, label=model)
    low, high = axis.get_xlim()
    axis.plot([low, high], [low, high], color="0.6", lw=0.8, zorder=0)
    axis.set(xlabel="full network specialises (block)", ylabel="model specialises (block)")
    axis.legend(loc="upper left", fontsize=6.5)
