"""The figure of `linear/depth`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.linear import _depth_stack as stack
from festina.experiments.linear import depth as measured
from festina.experiments.linear._depth_stack import STARTS, TRAINED

LOOKS = {
    "small": ("o", "small, aligned"),
    "random": ("s", "small, random"),
    "aligned": ("D", "orthogonal, aligned"),
    "orthogonal": ("^", "orthogonal, right sign"),
    "pretrained": ("v", "pretrained"),
}


def draw(result: Any) -> Any:
    """Training times, courses of aligned networks, and what becomes of random orthogonal ones."""
    with fs.lab.style.style():
        figure, axes = plt.subplots(2, 2, figsize=(7.2, 5.2), width_ratios=(1.25, 1))
        (times, courses), (fates, counts) = axes
        _draw_times(times, result)
        _draw_courses(courses, result)
        _draw_fates(fates, result)
        _draw_counts(counts, result)
        fs.lab.style.letter(times, courses, fates, counts)
    return figure


def _color(start: str) -> str:
    return fs.lab.style.PALETTE[STARTS.index(start)]


def _draw_times(axis: Any, result: Any) -> None:
    """Runs as small markers, their median as a large one; theory as lines, with the middle 80 % of random rotations."""
    depths, config = result["depth"].values, result.config
    exact = measured.time_to_loss(result.theory.assign(elapsed=result["elapsed"]), TRAINED).isel(run=0)
    low, middle, high = np.quantile(measured.population(config), (0.1, 0.5, 0.9), axis=0)
    axis.fill_between(depths, low, high, color=_color("orthogonal"), alpha=0.18, lw=0)
    lines = {"small": exact.sel(start="small"), "aligned": exact.sel(start="aligned"), "orthogonal": middle}
    lines["pretrained"] = (depths - 1) * float(stack.stage_time(config.small))
    for start, line in lines.items():
        axis.plot(depths, line, color=_color(start), lw=1.2, ls="-." if start == "pretrained" else "-")
    deep = np.linspace(3, max(4, *depths), 200)
    axis.plot(deep, measured.asymptote(config, deep), color="0.3", lw=0.9, ls=":", label="law $b^{2-D}/s(1-2/D)$")
    for start, (marker, label) in LOOKS.items():
        times = result["training_time"].sel(start=start).fillna(np.inf).values
        use = measured.has_right_sign(result) if start == "orthogonal" else np.full(times.shape, True)
        medians = [
            np.median(column[good]) if any(good) else np.nan for column, good in zip(times.T, use.T, strict=True)
        ]
        for run in np.where(use, times, np.nan):
            axis.plot(depths, run, marker, color=_color(start), ms=2, mew=0, alpha=0.5)
        axis.plot(depths, medians, marker, color=_color(start), ms=4.5, label=label)
    first = measured.median(result, 1 - 0.9 / config.width).sel(start="random")
    axis.plot(depths, first, "s", color=_color("random"), mfc="white", ms=4.5, label="… its first mode")
    axis.set(yscale="log", xlabel="depth D", ylabel="training time / τ", xticks=depths)
    order = [1, 2, 6, 3, 4, 5, 0]
    handles, labels = axis.get_legend_handles_labels()
    chosen = {"handles": [handles[k] for k in order], "labels": [labels[k] for k in order]}
    axis.legend(**chosen, loc="lower left", fontsize=6.5, ncols=3, bbox_to_anchor=(-0.02, 1.0), columnspacing=1.2)


def _draw_courses(axis: Any, result: Any) -> None:
    """Loss of aligned networks, small and orthogonal, at three depths: simulation as markers, theory as lines."""
    depths = result["depth"].values
    chosen = list(zip(depths[[0, len(depths) // 2, -1]], ("-", "--", "-."), strict=True))
    one = {"run": 0, "time": slice(max(depths), None)}
    for start in ("small", "aligned"):
        marker, label = LOOKS[start]
        for depth, dash in chosen:
            clock, seen = (result[name].isel(one).sel(start=start, depth=depth) for name in ("elapsed", "loss"))
            axis.plot(clock, result.theory["loss"].isel(one).sel(start=start, depth=depth), dash, color=_color(start))
            axis.plot(clock[::12], seen[::12], marker, color=_color(start), ms=2.6, mfc="white", mew=0.8)
        axis.plot([], [], marker, color=_color(start), ms=2.6, mfc="white", mew=0.8, label=label)
    for depth, dash in chosen:
        axis.plot([], [], dash, color="0.3", lw=1.1, label=f"D = {depth}")
    axis.legend(
        loc="lower center", fontsize=6.5, ncols=3, handlelength=2.3, bbox_to_anchor=(0.48, 1.0), columnspacing=1
    )
    axis.set(xscale="log", xlabel="time t / τ", ylabel="loss / loss at zero weights")


def _draw_fates(axis: Any, result: Any) -> None:
    """Loss of the deepest random orthogonal networks, by the sign of their determinant."""
    depth = max(result.config.depths)
    one = {"start": "orthogonal", "depth": depth}
    learning = slice(depth, None)
    clock = result["elapsed"].sel(one).isel(run=0, time=learning)
    for run, right in enumerate(measured.has_right_sign(result)[:, list(result.config.depths).index(depth)]):
        color, dash = (_color("small"), "-") if right else (_color("random"), "--")
        axis.plot(clock, result["loss"].sel(one).isel(run=run, time=learning), dash, color=color, lw=1)
    axis.plot([], [], "-", color=_color("small"), label="determinant has the sign of det S")
    axis.plot([], [], "--", color=_color("random"), label="determinant has the other sign")
    axis.axhline(1 / result.config.width, color="0.4", lw=0.8, ls=":")
    note = {"fontsize": 6.5, "color": "0.3", "ha": "right", "va": "top", "xytext": (0, -3)}
    axis.annotate("saddle", (clock[-1], 1 / result.config.width), textcoords="offset points", **note)
    axis.legend(loc="upper right", fontsize=6.5, title=f"random orthogonal, D = {depth}", title_fontsize=7)
    axis.set(xscale="log", xlabel="time t / τ", ylabel="loss / loss at zero weights")


def _draw_counts(axis: Any, result: Any) -> None:
    """How many random orthogonal networks are trained and stuck, by the sign of their determinant."""
    right, trained = measured.has_right_sign(result), measured.is_trained(result)
    groups = (
        ("right sign, trained", right & trained, _color("small"), ""),
        ("right sign, not yet", right & ~trained, _color("pretrained"), ".."),
        ("wrong sign, trained", ~right & trained, "0.3", "xx"),
        ("wrong sign, stuck", ~right & ~trained, _color("random"), "///"),
    )
    places, base = np.arange(right.shape[1]), np.zeros(right.shape[1])
    for label, members, color, hatch in groups:
        if members.any():
            share = members.mean(axis=0)
            axis.bar(places, share, 0.75, base, label=label, color=color, hatch=hatch, edgecolor="white", lw=0.4)
            base = base + share
    axis.axhline(0.5, color="black", lw=0.8, ls=":")
    axis.legend(loc="lower center", fontsize=6.5, ncols=2, bbox_to_anchor=(0.5, 1.0), columnspacing=1)
    axis.set(
        xticks=places, xticklabels=result["depth"].values, xlabel="depth D", ylabel="share of networks", ylim=(0, 1)
    )
