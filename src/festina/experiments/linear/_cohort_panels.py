"""Panels about cohorts of animals that learn a decision."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import festina as fs
from festina._lazy import np
from festina.experiment import Result
from festina.experiments.linear._cohort import (
    DEEP,
    GRADED,
    SHALLOW,
    TOTAL,
    expected_signals,
    forecast,
    found_points,
    seen_signals,
    shares_right,
    slopes_of,
)
from festina.experiments.linear._common import model_of, printed
from festina.figures.panels import DOTS, beside, note, path, shades
from festina.models.tutor_executor import EARLY, LATE
from festina.style import BLUE, ORANGE, PALETTE, THEORY, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STAR: dict[str, Any] = {"marker": "*", "ms": 9}


def _slope_plane(axis: Axes, title: str, low: float = -0.08, high: float = 1.02) -> None:
    """The plane of the two slopes; their sum is at most 1."""
    axis.plot([0, 1], [1, 0], color="0.75", lw=0.7, ls=":")
    axis.set(xlim=(low, high), ylim=(low, high), xticks=(0, 0.5, 1), yticks=(0, 0.5, 1), aspect="equal")
    axis.set(xlabel="left slope p₀ − p$_L$", ylabel="right slope p$_R$ − p₀", title=title)


def draw_courses(axis: Axes, result: Result, network: str, title: str, colors: Any) -> None:
    """Slopes of some animals, session by session, coloured by their early bias."""
    _slope_plane(axis, title)
    bias = result["early_bias"].sel(network=network).values
    for course, shade in list(zip(slopes_of(result, network), colors.to_rgba(bias), strict=True))[:24]:
        path(axis, course, color=shade, lw=0.9, end={"marker": "o", "ms": 3.2, "mec": "black", "mew": 0.4})


def draw_animals(axis: Axes, result: Result, colors: Any) -> None:
    """Learning curves of single animals: their share of correct choices, session by session."""
    sessions = result["time"].values[1:]
    looks: dict[str, dict[str, Any]] = {SHALLOW: {"color": "0.8", "lw": 0.6}, DEEP: {"lw": 0.9}}
    for network, look in looks.items():
        animals = result.data.sel(network=network).isel(run=slice(12), time=slice(1, None))
        shades = colors.to_rgba(animals["early_bias"].values)
        for curve, shade in zip(animals["accuracy"].transpose("run", "time").values, shades, strict=True):
            axis.plot(sessions, curve, **{"color": shade} | look)
    axis.plot([], [], color="0.8", lw=0.9, label=SHALLOW)
    axis.plot([], [], color="0.3", lw=0.9, label="deep, by early bias")
    axis.axhline(0.5, color="0.75", lw=0.7, ls=":", zorder=0)
    axis.set(ylim=(0.3, 1.02), yticks=(0.4, 0.6, 0.8, 1.0), xlabel="session", ylabel="share correct", box_aspect=1)
    axis.set_title("Single animals")
    axis.legend(loc="lower right", fontsize=6, handlelength=1.4)


def draw_psychometric(axis: Axes, result: Result) -> None:
    """Five-point curves of one animal with graded gratings, over sessions: its choices, and P(right) of its weights."""
    data, last = result.data.sel(network=[GRADED]), result.data.sizes["time"] - 1
    animal = int(np.argsort(data["asymmetry"].values.ravel())[-max(1, data.sizes["run"] // 4)])
    contrasts, colors = data["contrast"].values, shades(0, 1, cmap="viridis_r")
    middles = np.linspace(EARLY[1] - 2, last - LATE // 2, 4).astype(int)
    for middle in middles:
        sessions, shade = slice(middle - 2, middle + 3), colors.to_rgba(0.1 + 0.9 * middle / last)
        chosen = shares_right(data, GRADED, sessions).values[animal]
        drawn = data["right"].sel(network=GRADED).isel(run=animal, time=sessions).mean("time").values
        axis.plot(contrasts, drawn, color=shade, lw=1.1)
        look: dict[str, Any] = DOTS | {"ms": 3.4, "color": shade}
        axis.plot(contrasts, chosen, label=f"{middle - 2}–{middle + 2}", **look)
    axis.axhline(0.5, color="0.75", lw=0.7, ls=":", zorder=0)
    axis.set(xticks=contrasts, xlabel="contrast (left < 0 < right)", ylabel="P(right)", ylim=(-0.04, 1.04))
    axis.set(yticks=(0, 0.5, 1), title="One animal, graded gratings", box_aspect=1)
    axis.set_xticks(contrasts, [printed(f"{it:g}").replace("-", "−") for it in contrasts])
    axis.legend(title="sessions", title_fontsize=6, loc="upper left", fontsize=6, handletextpad=0.1, labelspacing=0.2)


def draw_signals(axis: Axes, result: Result) -> None:
    """Teaching signals of correct choices, by session: animals with the most rightward early bias, and expectation."""
    order = np.argsort(result["early_bias"].sel(network=DEEP).values)
    third = {"run": order[-max(1, len(order) // 3) :]}
    seen, expected = seen_signals(result).isel(third), expected_signals(result).isel(third)
    looks = {
        "total": ("δ$_{tot}$", "black", "o"),
        "stimulus": ("δ$_{stim}$", BLUE, "s"),
        "const": ("δ$_{const}$", ORANGE, "^"),
    }
    for signal, (name, color, marker) in looks.items():
        for side, fill in (("left", "white"), ("right", color)):
            at = {"signal": signal, "side": side}
            dots = seen.sel(at).mean("run").isel(time=slice(1, None, 2))
            line = expected.sel(at).mean("run")
            axis.plot(line["time"], line, color=color, lw=1.0, ls="-" if side == "right" else (0, (4, 1.2)))
            look = {"ls": "none", "marker": marker, "ms": 3.0, "mew": 0.7, "color": color, "mfc": fill}
            axis.plot(dots["time"], dots, **look, label=f"{name} {side}")
    axis.axhline(0, color="0.75", lw=0.7, ls=":", zorder=0)
    axis.set(xlabel="session", ylabel="teaching signal if correct", title="Teaching signals", box_aspect=1)
    axis.set(ylim=(-0.3, 1.55), yticks=(0, 0.5, 1))
    axis.legend(loc="upper center", fontsize=6, ncols=3, handletextpad=0.1, columnspacing=0.7, labelspacing=0.3)


def draw_points(axis: Axes, result: Result) -> None:
    """Stationary points of the loss in rows of equal index, with lines where one more pathway opens; below, the loss.

    Diamonds and stars are exact, dots what a search found, at the exact point next to it and at its counted index.
    """
    theory, free = fs.theory.stationary, {"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none"}
    for network, middle in ((TOTAL, 0.0), (SHALLOW, 3.0)):
        model = model_of(result, network=network)
        points = theory.points(model.naive_task, layers=model.layers)
        rows = [[point for point in points if point.index == index] for index in range(4)]
        columns = [middle + beside(len(row), 1.25) for row in rows]
        places = {it.opened: x for row, xs in zip(rows, columns, strict=True) for it, x in zip(row, xs, strict=True)}
        for one, other in product(points, repeat=2):
            if set(one.opened) < set(other.opened) and len(other.opened) == len(one.opened) + 1:
                ends = [places[one.opened], places[other.opened]], [one.index, other.index]
                axis.plot(*ends, color="0.8", lw=0.7, zorder=0)
        for point in points:
            place, look = (places[point.opened], point.index), {"marker": "D", "ms": 6} if point.index else STAR
            axis.plot(*place, color="black", mfc="white", mew=0.9, **look)
            name = "{" + ", ".join("LRc"[k] for k in point.opened) + "}"
            label = {"fontsize": 6, "ha": "center", "va": "top", "bbox": free, "zorder": 1, "linespacing": 0.95}
            note(axis, printed(f"{name}\n{point.loss:.3f}"), place, (0, -6), **label)
        for products in found_points(model):
            nearest = min(points, key=lambda point: float(np.linalg.norm(point.products - products)))
            index = theory.directions_down(model.naive_task, products, layers=model.layers)
            axis.plot(places[nearest.opened], index, "o", color=VERMILLION, ms=2.2, zorder=5)
    axis.plot([], [], "D", color="black", mfc="white", ms=4.5, mew=0.9, label="saddle")
    axis.plot([], [], color="black", mfc="white", mew=0.9, ls="none", **STAR, label="minimum")
    axis.plot([], [], "o", color=VERMILLION, ms=2.2, label="found")
    axis.set(xlim=(-1.9, 3.9), xticks=(0, 3), xticklabels=("deep", "shallow"), ylim=(-0.75, 3.5), yticks=range(4))
    axis.set(xlabel="network: {open}, and its loss", ylabel="directions down", title="Stationary points", box_aspect=1)
    axis.legend(loc="upper right", fontsize=6, labelspacing=0.3, handletextpad=0.3)


def draw_saddles(axis: Axes, result: Result) -> None:
    """A few animals with the expected course from their weights after the early window, and the saddles."""
    _slope_plane(axis, "Trajectories, saddles", -0.24, 1.34)
    courses, expected = slopes_of(result, DEEP), fs.measures.behaviour.slopes(forecast(result)["right"])
    order = np.argsort(result["asymmetry"].sel(network=DEEP).values)
    for animal, color in zip(order[np.linspace(0, len(order) - 1, 5).astype(int)], PALETTE, strict=False):
        axis.plot(*courses[animal].T, color=color, lw=1.3)
        axis.plot(*expected[animal].T, **THEORY, zorder=3)
    model, total = (model_of(result, network=network) for network in (DEEP, TOTAL))
    first, sided = model.growth("const")[0][0], total.growth("right", "const")[0][0]
    for opened, text, offset, ha, va in (
        (("const",), f"{{}}, {{c}}: {first:.3f}", (5, -4), "left", "top"),
        (("right", "const"), f"{{R, c}}: {sided:.3f}", (6, 1), "left", "center"),
        (("left", "const"), f"{{L, c}}: {sided:.3f}", (2, 5), "center", "bottom"),
        (("left", "right", "const"), "all open", (5, 3), "left", "bottom"),
    ):
        place, last = tuple(model.saddle_slopes(*opened)), len(opened) == 3
        axis.plot(*place, "*" if last else "D", color="black", mfc="white", ms=8 if last else 5, mew=0.9, zorder=5)
        note(axis, printed(text), place, offset, fontsize=6.5, ha=ha, va=va, zorder=6)
    axis.plot([], [], color="0.4", lw=1.3, label="simulation")
    axis.plot([], [], **THEORY, label="expected from session 8")
    axis.plot([], [], "D", color="black", mfc="white", ms=4, mew=0.9, label="saddle {open}: growth rate")
    axis.legend(loc="upper right", fontsize=6, borderaxespad=0, labelspacing=0.3, handlelength=2.0)


def draw_followers(axis: Axes, result: Result, measure: str, published: float, names: dict[str, str]) -> None:
    """Early bias against something later, for some networks, with r across animals."""
    looks = {SHALLOW: ("x", "black"), TOTAL: ("^", ORANGE), "scattered-start": ("s", VERMILLION)}
    for network, name in names.items():
        marker, color = looks.get(network, ("o", BLUE))
        one, other = (result[name].sel(network=network).values for name in ("early_bias", measure))
        r = fs.measures.behaviour.across_animals(one, other)
        look = {"marker": marker, "color": color, "ms": 2.7, "mew": 0.7 if network == SHALLOW else 0, "alpha": 0.75}
        axis.plot(one, other, ls="none", label=printed(name + (f", r = {r:+.2f}" if np.isfinite(r) else "")), **look)
    axis.plot([], [], ls="none", label=printed(f"mice r = {published:+.2f}"))
    axis.axhline(0, color="0.75", lw=0.7, ls=":", zorder=0)
    axis.axvline(0, ymax=0.74, color="0.75", lw=0.7, ls=":", zorder=0)
    axis.set(xlim=(-0.52, 0.52), xlabel="early bias", ylabel=result[measure].attrs["long_name"], box_aspect=1)
    axis.legend(loc="upper left", fontsize=6, borderaxespad=0.1, labelspacing=0.3, handletextpad=0.2)
