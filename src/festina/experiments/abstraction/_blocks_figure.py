"""The figure of `abstraction/blocks`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.abstraction._panels import task_color
from festina.experiments.abstraction.blocks import AT, STARTS, at_rounds, exact_rates, growth_rates, second_order_gain

LINES: tuple[Any, ...] = ((0, (1, 0.8)), (0, (3, 1)), "-", (0, (6, 1)), (0, (4, 1, 1, 1)), (0, (2, 2)))
MARKERS = "ov^sDP"
FACE = {"random": "k", "orbit": "white"}
PLANE_UNTIL = 8.0  # how long trajectories in the plane are shown


def draw(result: Any) -> Any:
    """Courses from random weights for all block lengths; growth rates; what begins on the orbit, and what moves it."""
    from matplotlib.lines import Line2D

    with fs.figures.style.style():
        figure, axes = plt.subplots(2, 3, figsize=(7.2, 4.9))
        looks = _looks(result.config.block_lengths)
        _draw_plane(axes[0, 0], result)
        _draw_courses(axes[0, 1], result, looks)
        _draw_alignment(axes[0, 2], result)
        _draw_rates(axes[1, 0], result)
        _draw_orbit(axes[1, 1], result)
        _draw_force(axes[1, 2], result, looks)
        lines = [Line2D([], [], **look) for look in looks]
        names = [f"$τ_B$ = {length:g}" for length in result.config.block_lengths]
        figure.legend(lines, names, loc="outside lower center", ncols=min(6, len(lines)), columnspacing=1.3)
        fs.figures.style.letter(*axes.ravel())
    return figure


def _looks(lengths: Any) -> list[dict[str, Any]]:
    shades = plt.get_cmap("viridis")(np.linspace(0.9, 0.0, len(lengths)))
    return [
        {"color": shade, "ls": LINES[k % len(LINES)], "marker": MARKERS[k % len(MARKERS)], "ms": 3, "markevery": 1}
        for k, shade in enumerate(shades)
    ]


def _plain(look: dict[str, Any]) -> dict[str, Any]:
    return {"color": look["color"], "ls": look["ls"]}


def _middle(result: Any) -> int:
    """The block length nearest to 1."""
    return int(np.argmin(np.abs(np.asarray(result.config.block_lengths) - 1.0)))


def _draw_plane(axis: Any, result: Any) -> None:
    """Both students of the first run with blocks of two lengths, the shorter one faint."""
    place = _middle(result)
    weights = result["weights"].isel(run=0).sel(start="random").transpose("block_length", "time", "path", "teacher")
    during = result["time"].values <= PLANE_UNTIL + 1e-9
    for chosen, look in ((max(place - 1, 0), {"lw": 0.8, "alpha": 0.5}), (place, {"lw": 1.4})):
        length = result.config.block_lengths[chosen]
        for path, line in enumerate(("-", (0, (3, 1)))):
            course = weights.values[chosen, during, path]
            axis.plot(*course.T, color=task_color(path), ls=line, **look)
            axis.plot(*course[-1], "os"[path], color=task_color(path), ms=3.5, mec="k", mew=0.5, zorder=4)
        axis.plot([], [], color="0.3", label=f"$τ_B$ = {length:g}", **look)
    for name, (x, y) in {"A": (1, 0), "B": (0, 1)}.items():
        axis.plot(x, y, "*k", ms=5, clip_on=False)
        axis.annotate(name, (x, y), xytext=(5, 3), textcoords="offset points", fontsize=7)
    axis.set(xlim=(-0.08, 1.15), ylim=(-0.08, 1.15), xticks=[0, 0.5, 1], yticks=[0, 0.5, 1], aspect="equal")
    axis.set(xlabel="along teacher A", ylabel="along teacher B", title=f"students, t ≤ {PLANE_UNTIL:g}")
    axis.legend(loc="upper right", fontsize=6.5)


def _draw_courses(axis: Any, result: Any, looks: Any) -> None:
    values = result["total_alignment"].sel(start="random").transpose("block_length", "run", "time").values
    for one, look in zip(values, looks, strict=True):
        fs.figures.style.draw_band(axis, result["time"].values, one, lw=1.1, **_plain(look))
    axis.set(xlabel="time t", ylabel="total alignment", title="from random weights")
    axis.set(xlim=(0, min(AT, result.config.until)), ylim=(0.45, 1.03))


def _draw_alignment(axis: Any, result: Any) -> None:
    """Total alignment after the same time, by block length and start."""
    lengths = np.asarray(result.config.block_lengths)
    values = result["total_alignment"].sel(time=AT, method="nearest").transpose("start", "run", "block_length")
    for start, line in (("random", "-"), ("orbit", (0, (4, 1.2)))):
        seen = values.sel(start=start).values
        mean, error = seen.mean(axis=0), seen.std(axis=0, ddof=min(1, len(seen) - 1)) / np.sqrt(len(seen))
        axis.errorbar(lengths, mean, error, color="k", ls=line, marker="o", ms=4, mfc=FACE[start], lw=1.1, label=start)
    axis.axvline(result.config.weight_timescale, color="0.6", lw=0.8, ls=(0, (1, 1)))
    axis.text(result.config.weight_timescale, 1.015, " $τ_w$", fontsize=7, color="0.3")
    axis.set(xscale="log", xlabel="block length $τ_B$", ylabel="total alignment", ylim=(0.66, 1.06))
    axis.set(title=f"at t = {AT:g}", xticks=lengths, xticklabels=[f"{x:g}" for x in lengths])
    axis.minorticks_off()
    axis.legend(loc="upper left", fontsize=6.5)


def _draw_rates(axis: Any, result: Any) -> None:
    """How fast small differences grow on the orbit: measured, exact, and to second order."""
    lengths = np.asarray(result.config.block_lengths)
    second = [np.log1p(second_order_gain(result.config, length)) / (2 * length) for length in lengths]
    axis.plot(lengths, second, color=fs.figures.style.ORANGE, ls=(0, (1, 1)), label="second order (eq. 21)")
    axis.plot(lengths, exact_rates(result), label="exact", **fs.figures.style.THEORY)
    axis.plot(lengths, growth_rates(result), "o", color=fs.figures.style.BLUE, mfc="none", ms=5, mew=1.1, label="twins")
    axis.set(xlabel="block length $τ_B$", ylabel="growth rate", title="near the orbit", ylim=(-0.05, 1.6))
    axis.legend(loc="upper right", fontsize=6.5)


def _draw_orbit(axis: Any, result: Any) -> None:
    """The difference of the two paths over time, from random weights and from the orbit."""
    place = _middle(result)
    edges, apart = at_rounds(result, "difference", place)
    size = np.sqrt((apart**2).sum(axis=-1))
    for start, line in (("random", "-"), ("orbit", (0, (4, 1.2)))):
        for run, values in enumerate(size[:, STARTS.index(start)]):
            label = start if run == 0 else None
            axis.plot(edges, values, color="k" if start == "random" else "0.5", ls=line, lw=0.8, label=label)
    slope = exact_rates(result)[place]
    axis.plot(edges, 0.012 * np.exp(slope * edges), color=fs.figures.style.VERMILLION, lw=1.6, label="exact rate")
    axis.set(yscale="log", xlabel="time t", ylabel="difference of the paths", xlim=(0, edges[-1]), ylim=(2e-3, 30))
    axis.set_title(f"$τ_B$ = {result.config.block_lengths[place]:g}")
    axis.legend(loc="upper right", fontsize=6.5, ncols=2, columnspacing=0.8)


def _draw_force(axis: Any, result: Any, looks: Any) -> None:
    """The mean change of |w̄| over a round, by |w̄| at its beginning."""
    for place, look in enumerate(looks):
        edges, values = at_rounds(result, "specialization", place)
        known = np.concatenate([values[:, STARTS.index(start)] for start in ("random", "orbit")])
        force = np.diff(known, axis=1) / np.diff(edges)
        axis.plot(known[:, :-1].ravel(), force.ravel(), look["marker"], color=look["color"], ms=2, alpha=0.5, mew=0)
    axis.axhline(0, color="0.75", lw=0.7, zorder=0)
    axis.set(xlabel=r"specialisation $|\bar{w}|$", ylabel=r"change of $|\bar{w}|$ per time", title="force over a round")
