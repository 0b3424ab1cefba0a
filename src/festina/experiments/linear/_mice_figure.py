"""The figure of `linear/mice`."""

from typing import Any

import festina as fs
from festina._lazy import LazyModule, np, plt
from festina.experiments.linear import _mice_cohort as cohort
from festina.experiments.linear import mice

behaviour = LazyModule("festina.measures.behaviour")

DEEP, SCATTERED, TOTAL, SHALLOW, SLOW = mice.MODELS
EXAMPLES = 24
WIDEST = 0.45  # early bias at the ends of the colour scale


def draw(result: Any) -> Any:
    """Courses of deep and of shallow learners, psychometric curves, saddles, and two correlations."""
    with fs.figures.style.style():
        figure = plt.figure(figsize=(7.2, 4.9))
        rows = figure.add_gridspec(2, 1)
        top = rows[0].subgridspec(1, 3)
        bottom = rows[1].subgridspec(1, 3)
        deep, shallow, curves = (figure.add_subplot(place) for place in top)
        plane, slopes, flip = (figure.add_subplot(place) for place in bottom)
        _draw_courses(deep, result, DEEP, "Deep: tutor-executor")
        colors = _draw_courses(shallow, result, SLOW, f"Shallow, {result.config.slowdown:g}× slower")
        bar = figure.colorbar(colors, ax=shallow, ticks=(-0.4, 0, 0.4), shrink=0.74, aspect=16, pad=0.02)
        bar.set_label("early bias", labelpad=-4)
        _draw_curves(curves, result)
        _draw_saddles(plane, result)
        _draw_slopes(slopes, result)
        _draw_flip(flip, result)
        for axis in (curves, slopes, flip):
            axis.set_box_aspect(1)
        fs.figures.style.letter(deep, shallow, curves, plane, slopes, flip)
    return figure


def _slope_plane(axis: Any, title: str, limits: tuple[float, float] = (-0.08, 1.02)) -> None:
    """The plane of the two slopes; their sum is at most 1."""
    axis.plot([0, 1], [1, 0], color="0.75", lw=0.7, ls=":")
    axis.set(xlim=limits, ylim=limits, xticks=(0, 0.5, 1), yticks=(0, 0.5, 1), aspect="equal")
    axis.set(xlabel="left slope p₀ − p$_L$", ylabel="right slope p$_R$ − p₀", title=title)


def _draw_courses(axis: Any, result: Any, model: str, title: str) -> Any:
    """Slopes of some animals, session by session, coloured by their early bias."""
    slopes = behaviour.slopes(cohort.rights(result, model))[:EXAMPLES]
    bias = cohort.early_bias(result, model)[:EXAMPLES]
    colors = plt.cm.ScalarMappable(cmap="cividis")
    colors.set_clim(-WIDEST, WIDEST)
    _slope_plane(axis, title)
    for course, shade in zip(slopes, colors.to_rgba(bias), strict=True):
        axis.plot(*course.T, color=shade, lw=0.9)
        axis.plot(*course[-1], "o", color=shade, ms=3.2, mec="black", mew=0.4, zorder=3)
    return colors


def _draw_curves(axis: Any, result: Any) -> None:
    """Mean psychometric curves of the third with the most rightward and the most leftward early bias."""
    right, order = cohort.rights(result, DEEP), np.argsort(cohort.early_bias(result, DEEP))
    third = max(1, len(order) // 3)
    groups = ((order[:third], fs.figures.style.BLUE, "left"), (order[-third:], fs.figures.style.VERMILLION, "right"))
    windows = ((cohort.EARLY, (0, (2, 1.2)), "white", "early"), (cohort.late(result), "-", None, "late"))
    for animals, color, side in groups:
        marker = {"left": "s", "right": "o"}[side]
        for window, line, filling, when in windows:
            curve = behaviour.window(right[animals], *window)
            look = {"color": color, "ls": line, "marker": marker, "ms": 4, "mfc": filling, "elinewidth": 0.7}
            axis.errorbar(range(3), curve.mean(axis=0), curve.std(axis=0), label=f"bias {side}, {when}", **look)
    axis.axhline(0.5, color="0.75", lw=0.7, ls=":", zorder=0)
    axis.set(xticks=range(3), xticklabels=("left", "none", "right"), xlim=(-0.25, 2.25), ylim=(-0.04, 1.36))
    axis.set(yticks=(0, 0.5, 1), xlabel="grating", ylabel="P(right)", title="Early bias, late curve")
    axis.legend(loc="upper right", bbox_to_anchor=(1.12, 1), fontsize=6, ncols=2, handlelength=1.4, columnspacing=0.6)


def _draw_saddles(axis: Any, result: Any) -> None:
    """A few animals with the expected course from their weights after the early window, and the saddles."""
    slopes, expected = behaviour.slopes(cohort.rights(result, DEEP)), cohort.forecast(result, DEEP)["right"]
    _slope_plane(axis, "Courses and saddles", (-0.24, 1.34))
    order = np.argsort(cohort.asymmetry(result, DEEP))
    chosen = [order[int(share * (len(order) - 1))] for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    for animal, color in zip(chosen, fs.figures.style.PALETTE, strict=False):
        axis.plot(*slopes[animal].T, color=color, lw=1.3)
        axis.plot(*behaviour.slopes(expected[animal]).T, **fs.figures.style.THEORY, zorder=3)
    _mark_saddles(axis, result)
    axis.plot([], [], color="0.4", lw=1.3, label="simulation")
    axis.plot([], [], **fs.figures.style.THEORY, label="expected from session 8")
    axis.plot([], [], "D", color="black", mfc="white", ms=4, mew=0.9, label="saddle {open}: growth rate")
    axis.legend(loc="upper right", fontsize=6, borderaxespad=0, labelspacing=0.3, handlelength=2.0)


def _mark_saddles(axis: Any, result: Any) -> None:
    rates = cohort.linear_rates(result)
    places = (
        (("const",), f"{{}}, {{c}}: {_short(rates[2])}", (5, -4), "left", "top"),
        (("right", "const"), f"{{R, c}}: {_short(rates[3])}", (6, 1), "left", "center"),
        (("left", "const"), f"{{L, c}}: {_short(rates[3])}", (2, 5), "center", "bottom"),
        (("left", "right", "const"), "all open", (5, 3), "left", "bottom"),
    )
    for opened, text, offset, horizontal, vertical in places:
        place = cohort.landmark_slopes(result, *opened)
        last = len(opened) == 3
        axis.plot(*place, "*" if last else "D", color="black", mfc="white", ms=8 if last else 5, mew=0.9, zorder=5)
        axis.annotate(
            text, place, xytext=offset, textcoords="offset points", fontsize=6.5, ha=horizontal, va=vertical, zorder=6
        )


def _short(value: float) -> str:
    """Three decimals, as the tables of rates have them: .159."""
    return f"{value:.3f}".removeprefix("0")


def _scatter(axis: Any, result: Any, model: str, values: Any, look: dict[str, Any], label: str) -> None:
    bias = cohort.early_bias(result, model)
    strength = behaviour.across_animals(bias, values)
    known = f", r = {'−' if strength < 0 else '+'}{abs(strength):.2f}" if np.isfinite(strength) else ""
    axis.plot(bias, values, ls="none", alpha=0.75, label=(label + known).replace("0.", "."), **look)


def _draw_slopes(axis: Any, result: Any) -> None:
    """Early bias against the late slope difference."""
    looks = {
        TOTAL: ({"marker": "^", "color": fs.figures.style.ORANGE, "ms": 2.6, "mew": 0}, "total error"),
        DEEP: ({"marker": "o", "color": fs.figures.style.BLUE, "ms": 2.8, "mew": 0}, "tutor-executor"),
        SHALLOW: ({"marker": "x", "color": "black", "ms": 2.8, "mew": 0.7}, "shallow"),
    }
    for model, (look, label) in looks.items():
        _scatter(axis, result, model, cohort.asymmetry(result, model), look, label)
    axis.set(xlim=(-0.52, 0.52), ylim=(-1.05, 1.6), xlabel="early bias", ylabel="late right − left slope")
    axis.set(title="Systematic if deep", yticks=(-1, -0.5, 0, 0.5, 1))
    _finish_scatter(axis, "mice r = +.69")


def _draw_flip(axis: Any, result: Any) -> None:
    """Early bias against late bias, without and with spread at the start."""
    looks = {
        SCATTERED: ({"marker": "s", "color": fs.figures.style.VERMILLION, "ms": 2.6, "mew": 0}, result.config.scatter),
        DEEP: ({"marker": "o", "color": fs.figures.style.BLUE, "ms": 2.8, "mew": 0}, result.config.initial_spread),
    }
    for model, (look, spread) in looks.items():
        _scatter(axis, result, model, cohort.late_bias(result, model), look, f"start spread {spread:g}")
    axis.set(xlim=(-0.52, 0.52), ylim=(-0.52, 0.75), xlabel="early bias", ylabel="late bias")
    axis.set(title="Change of sides: not robust", yticks=(-0.5, 0, 0.5))
    _finish_scatter(axis, "mice r = −.53")


def _finish_scatter(axis: Any, note: str) -> None:
    axis.axhline(0, color="0.75", lw=0.7, ls=":", zorder=0)
    axis.axvline(0, ymax=0.74, color="0.75", lw=0.7, ls=":", zorder=0)
    axis.plot([], [], ls="none", label=note)
    axis.legend(loc="upper left", fontsize=6, borderaxespad=0.1, labelspacing=0.3, handletextpad=0.2)
