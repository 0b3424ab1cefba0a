"""The figure of `linear/depth`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.linear import _depth_measures as measured
from festina.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, THEORY, VERMILLION

LOOKS = {
    "small": ("s", BLUE, "small, aligned"),
    "gaussian": ("o", VERMILLION, "small, Gaussian"),
    "pretrained": ("v", ORANGE, "pretrained, then trained"),
    "orthogonal": ("^", PURPLE, "random orthogonal"),
    "aligned": ("D", GREEN, "aligned orthogonal"),
}
DASHED = {**THEORY, "label": "theory"}


def draw(result: Any) -> Any:
    """Training times, courses at every depth, durations of pretraining, and what becomes of square networks."""
    with fs.figures.style.style():
        figure, ((times, courses), (stages, fates)) = plt.subplots(
            2, 2, figsize=(fs.figures.style.TWO_COLUMNS, 5.4), width_ratios=(1.15, 1)
        )
        _draw_times(times, result)
        _draw_courses(courses, result)
        _draw_stages(stages, result)
        _draw_fates(fates, result)
        fs.figures.style.letter(times, courses, stages, fates)
    return figure


def _draw_times(axis: Any, result: Any) -> None:
    """Runs as small markers and their median as a large one; an arrow where that is not trained when last seen."""
    depths, config = result["depth"].values, result.config
    highest = 12 * float(np.nanmax([config.until, *result["training_time"].values.ravel()]))
    dots = {"mew": 0, "alpha": 0.45, "ls": "none"}
    for start, (marker, color, label) in LOOKS.items():
        times = result["training_time"].sel(start=start)
        medians = times.fillna(np.inf).median("run").values
        for run in times.values:
            axis.plot(depths, run, marker, color=color, ms=2.2, **dots)
        axis.plot(depths, medians, marker, color=color, ms=4.8, label=label)
        late = ~np.isfinite(medians)
        for depth in depths[late]:
            shift = 1.05 if start == "gaussian" else 1 / 1.05  # so that two arrows at one depth can be told apart
            tip, tail = (depth * shift, highest * 0.9), (depth * shift, highest * 0.35)
            axis.annotate("", tip, tail, arrowprops={"arrowstyle": "->", "color": color, "lw": 1.1})
            note = axis.text(depth, highest * 0.3, "not yet", fontsize=6, color=GREY, ha="center", va="top")
            note.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.5})
    known = measured.time_to_loss(result.theory)
    for start in ("small", "orthogonal", "aligned"):
        axis.plot(depths, known.sel(start=start).fillna(np.inf).median("run"), **THEORY)
    _draw_linear(axis, result)
    deep = np.geomspace(4, max(8, *depths), 200)
    axis.plot(deep, measured.law(config, deep), color=BLUE, lw=0.9, ls=":", label="law $b^{2-D}/s(1-2/D)$")
    axis.plot([], [], **DASHED)
    axis.set(xscale="log", yscale="log", xlabel="depth D", ylabel="training time / τ", ylim=(0.4, highest))
    axis.set_xticks(depths, [str(depth) for depth in depths])
    axis.minorticks_off()
    axis.legend(loc="lower left", fontsize=6.5, ncols=3, bbox_to_anchor=(-0.12, 1.0), columnspacing=1.0)


def _draw_linear(axis: Any, result: Any) -> None:
    """What pretrained networks would take if every layer cost what those between the two smallest depths do."""
    times = result["training_time"].sel(start="pretrained").median("run").sortby("depth")
    if times.size > 1:
        (low, high), (first, second) = times["depth"].values[:2], times.values[:2]
        depths = np.geomspace(low, float(times["depth"].max()), 100)
        line = first + (depths - low) * (second - first) / (high - low)
        axis.plot(depths, line, color=ORANGE, lw=0.9, ls=":", label="linear in D")


def _draw_courses(axis: Any, result: Any) -> None:
    """Loss of the first run at every depth, from random orthogonal and from Gaussian weights."""
    depths = sorted(result.config.depths)
    colors = plt.get_cmap("viridis")(np.linspace(0, 0.9, len(depths)))
    one = {"run": 0, "time": slice(1, None)}
    for depth, color in zip(depths, colors, strict=True):
        for start, dash in (("orthogonal", "-"), ("gaussian", (0, (1, 1)))):
            seen = result["loss"].isel(one).sel(start=start, depth=depth)
            axis.plot(result["time"][1:], seen, color=color, ls=dash, lw=1.3, label=None if dash != "-" else f"{depth}")
        known = result.theory["loss"].isel(one).sel(start="orthogonal", depth=depth)
        axis.plot(result["time"][1:], known, **THEORY)
    axis.axhline(measured.TRAINED, color=GREY, lw=0.7)
    axis.text(1.3e-2, measured.TRAINED * 1.15, "trained", fontsize=6.5, color=GREY, va="bottom")
    axis.plot([], [], color=GREY, label="orthogonal")
    axis.plot([], [], color=GREY, ls=(0, (1, 1)), label="Gaussian")
    axis.set(xscale="log", yscale="log", xlim=(1e-2, None), ylim=(2e-3, 3))
    axis.set(xlabel="time t / τ", ylabel="loss / loss at zero weights")
    handles, labels = axis.get_legend_handles_labels()
    lines = axis.legend(handles[-2:], labels[-2:], loc="center left", fontsize=6.5)
    axis.add_artist(lines)
    axis.legend(
        handles[:-2],
        labels[:-2],
        loc="lower center",
        fontsize=6.5,
        ncols=6,
        title="depth D",
        title_fontsize=6.5,
        bbox_to_anchor=(0.5, 1.0),
        columnspacing=1.0,
    )


def _draw_stages(axis: Any, result: Any) -> None:
    """How long each layer was pretrained: runs as dots, their mean as a line."""
    stages = result["pretraining"].isel(time=0)
    layers = stages["layer"].values
    for run in stages.values:
        axis.plot(layers, run, "o", color=ORANGE, ms=2.2, mew=0, alpha=0.5)
    axis.plot(layers, stages.mean("run"), color=ORANGE, label="mean of runs")
    known = result.theory["pretraining"].isel(time=0, layer=0).mean("run")
    axis.plot(1, known, "x", color=BLACK, ms=5, mew=1, label="first layer, theory")
    axis.set(xlabel="layer", ylabel="duration of its pretraining / τ", ylim=(0, 1.35 * float(stages.max())))
    axis.legend(
        loc="upper right", fontsize=6.5, title=f"stopped at an error of {result.config.level:g}", title_fontsize=6.5
    )


def _draw_fates(axis: Any, result: Any) -> None:
    """Loss of the deepest square networks, by the sign of their determinant."""
    depth = max(result.config.depths)
    chosen = {"start": "square", "depth": depth}
    loss, known = (data["loss"].sel(chosen).isel(time=slice(1, None)) for data in (result.data, result.theory))
    right = measured.has_right_sign(result).sel(depth=depth).values
    for run, color in enumerate(np.where(right, BLUE, VERMILLION)):
        axis.plot(loss["time"], loss.isel(run=run), color=color, lw=1.3)
        axis.plot(loss["time"], known.isel(run=run), **THEORY)
    axis.plot([], [], color=BLUE, label=f"sign of det S ({right.sum()} of {len(right)})")
    axis.plot([], [], color=VERMILLION, label=f"other sign ({(~right).sum()} of {len(right)})")
    axis.plot([], [], **DASHED)
    saddle = 1 / result.config.outputs
    axis.axhline(saddle, color=GREY, lw=0.7)
    axis.text(1.3e-2, saddle * 0.96, "saddle", fontsize=6.5, color=GREY, va="top")
    axis.legend(loc="upper right", fontsize=6.5, title=f"square, D = {depth}: determinant has", title_fontsize=6.5)
    axis.set(xscale="log", xlim=(1e-2, None), ylim=(0, None), xlabel="time t / τ", ylabel="loss / loss at zero weights")
