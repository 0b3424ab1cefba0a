"""The figure of `race/views`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt

MARKERS = ("o", "s", "^", "D", "v", "P")
LINES: tuple[Any, ...] = ("-", (0, (5, 1.2)), (0, (2, 1)), (0, (5, 1, 1, 1)), (0, (1, 1)), (0, (7, 2)))


def draw(result: Any) -> Any:
    """Two courses; what data decide; what the start decides; ratios; slots through a bottleneck."""
    with fs.lab.style.style():
        figure, axes = plt.subplots(2, 3, figsize=(7.2, 4.5))
        together = sorted(result.config.together)
        _draw_course(axes[0, 0], result, together[-1])
        _draw_course(axes[0, 1], result, together[max(len(together) - 2, 0)])
        _draw_ends(axes[0, 2], result)
        _draw_sharpening(axes[1, 0], result)
        _draw_ratios(axes[1, 1], result)
        _draw_slots(axes[1, 2], result)
        fs.lab.style.letter(*axes.ravel())
    return figure


def _look(number: int) -> tuple[str, str, Any]:
    """Colour, marker and line of a view, a depth or a slot."""
    return fs.lab.style.PALETTE[number % 7], MARKERS[number % 6], LINES[number % 6]


def _shown_depth(result: Any) -> int:
    """The smallest depth at which there is a race, if any."""
    return min((depth for depth in result.config.depth if depth >= 3), default=max(result.config.depth))


def _draw_course(axis: Any, result: Any, together: float) -> None:
    """Strengths in the first run from the smallest start: theory as lines, simulation as markers."""
    depth = _shown_depth(result)
    where = {"depth": depth, "together": together, "initial": min(result.config.initial)}
    simulated, predicted = (data["strength"].isel(run=0).sel(where) for data in (result.data, result.theory))
    for number in range(result.config.views):
        color, marker, line = _look(number)
        axis.plot(predicted["time"], predicted.isel(view=number), color=color, ls=line, label=f"view {number + 1}")
        few = simulated.isel(view=number, time=slice(1, None, 4))
        axis.plot(few["time"], few, marker, color=color, ms=2.6, mfc="white", mew=0.8)
    axis.set(xscale="log", xlabel="time t / τ", ylabel="strength of pathway π", ylim=(-0.04, 1.1))
    axis.set_xlim(1.0, result.config.until)
    axis.set_title(f"p = {together:g}, depth {depth}")
    axis.legend(loc="upper left", fontsize=6.5, handlelength=1.6)


def _draw_ends(axis: Any, result: Any) -> None:
    """The strongest view at the end, of every seed, from the smallest start; least squares as a line."""
    final = result["strength"].isel(time=-1).sel(initial=min(result.config.initial)).max("view")
    probability = np.linspace(0.0, 1.0, 200)
    present = probability + (1 - probability) / result.config.views
    axis.plot(probability, present / (present + (result.config.views - 1) * probability), color="0.6", lw=2.5)
    axis.plot([], [], color="0.6", lw=2.5, label="least squares")
    for number, depth in enumerate(result.config.depth):
        color, marker, _ = _look(number)
        shift = 0.022 * (number - (len(result.config.depth) - 1) / 2)
        values = final.sel(depth=depth).transpose("together", "run").values
        place = np.repeat(np.asarray(result.config.together)[:, None] + shift, values.shape[1], axis=1)
        axis.plot(place.ravel(), values.ravel(), marker, color=color, ms=2.6, mfc="none", mew=0.6)
    axis.axhline(0.5, color="0.3", lw=0.7, ls=":")
    axis.text(0.27, 0.51, "“covered” above ½", fontsize=6.5, va="bottom", color="0.3")
    axis.set(xlabel="co-occurrence p of the views", ylabel="strongest view at the end", ylim=(0, 1.1))
    axis.set_title("Every seed")
    axis.legend(loc="lower left", fontsize=6.5)


def _draw_sharpening(axis: Any, result: Any) -> None:
    """Dominance at the end of views that always co-occur, against the size of the start."""
    axis.set(
        xscale="log", xlabel="strength at the start", ylabel="dominance max π / Σπ", title="Always together (p = 1)"
    )
    axis.set_ylim(0.3, 1.03)
    if 1.0 not in result.config.together:
        return
    final = result["dominance"].isel(time=-1).sel(together=1.0)
    shapes = result["strength"].isel(time=0, depth=0, together=0, initial=0).transpose("run", "view").values
    shapes = shapes / result.config.initial[0]
    sizes = np.geomspace(min(result.config.initial), max(result.config.initial), 12)
    for number, depth in enumerate(result.config.depth):
        color, marker, line = _look(number)
        axis.plot(sizes, _predicted_dominance(depth, sizes, shapes), color=color, ls=line, lw=1.1)
        values = final.sel(depth=depth).transpose("run", "initial").values
        error = values.std(axis=0, ddof=1) / len(values) ** 0.5 if len(values) > 1 else None
        look = {"color": color, "ms": 3.2, "mfc": "white", "mew": 0.8, "elinewidth": 0.7}
        axis.errorbar(
            result.config.initial, values.mean(axis=0), error, fmt=marker, ls=line, lw=0, label=f"L = {depth}", **look
        )
    axis.legend(loc="upper right", fontsize=6.5)


def _predicted_dominance(depth: int, sizes: Any, shapes: Any) -> Any:
    """The mean over seeds of the dominance that what is conserved leads to."""
    alike = np.ones(shapes.shape[1])
    ends = [[fs.theory.views.co_occurring_end(depth, alike, size * shape) for shape in shapes] for size in sizes]
    return fs.measures.dominance(np.array(ends)).mean(axis=1)


def _draw_ratios(axis: Any, result: Any) -> None:
    """ln π_i/π_1 at the end against the start: on the diagonal, as Lotka–Volterra species have it, or off it."""
    axis.set(xlabel="ln π$_i$/π$_1$ at the start", ylabel="ln π$_i$/π$_1$ at the end", title="Ratios (p = 1)")
    if 1.0 not in result.config.together:
        return
    logs = np.log(result["strength"].isel(time=[0, -1]).sel(together=1.0, initial=min(result.config.initial)))
    ratios = (logs - logs.isel(view=0)).isel(view=slice(1, None)).transpose("time", "depth", "run", "view").values
    reach = 1.1 * np.abs(ratios[0]).max()
    axis.plot([-reach, reach], [-reach, reach], color="0.6", lw=2.5, label="Lotka–Volterra")
    for number, depth in enumerate(result.config.depth):
        color, marker, _ = _look(number)
        start, end = ratios[:, number].reshape(2, -1)
        axis.plot(start, end, marker, color=color, ms=2.8, mfc="none", mew=0.7, label=f"L = {depth}")
    axis.legend(loc="upper left", fontsize=6.5, handlelength=1.2)


def _draw_slots(axis: Any, result: Any) -> None:
    """What is learned of each slot through r hidden units, and what theory says."""
    size = np.linspace(1.0, result.config.weakest, result.config.views)
    final = result["slot_strength"].isel(time=-1).transpose("run", "bottleneck", "slot").values
    widths = np.arange(1, result.config.views + 1)
    expected = np.stack([fs.theory.views.bottleneck(size, int(width)) for width in widths])
    bar = 0.8 / result.config.views
    for number in range(result.config.views):
        place = widths + (number - (result.config.views - 1) / 2) * bar
        color, _, _ = _look(number)
        look = {"color": color, "alpha": 0.55, "hatch": ("", "///", "...", "xx")[number % 4], "edgecolor": "white"}
        axis.bar(place, final[..., number].mean(axis=0), 0.9 * bar, lw=0, label=f"slot {number + 1}", **look)
        axis.hlines(expected[:, number], place - bar / 2, place + bar / 2, color="k", lw=1.1)
    axis.set(xlabel="hidden units r of all slots", ylabel="learned at the end", title="Slots and a bottleneck")
    axis.set(xticks=widths, ylim=(-0.02, 1.42), yticks=[0, 0.5, 1])
    axis.legend(loc="upper left", fontsize=6.5, ncols=min(result.config.views, 3), columnspacing=0.8, handlelength=1.2)
