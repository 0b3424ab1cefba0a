"""The picture of a training that was watched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from festina._lazy import plt
from festina.figures.panels import Page
from festina.style import BLACK, BLUE, GREY, VERMILLION
from festina.watching.verdict import LAZY, RICH

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from festina.watching.report import Report

LONG = 50  # steps, from which on they are drawn on a logarithmic scale


def draw(report: Report) -> Figure:
    """Loss; gap to the linearised twin; the kernel's turn by layer; alignment; modes of the data; weights."""
    data, step = report.data, np.maximum(report.data["step"].values, 0.5)
    with Page(2, 3, height=4.4) as page:
        loss, gap, turn, aligned, modes, changed = (page[place] for place in range(6))
        loss.plot(step, data["loss"], color=BLACK)
        loss.set(ylabel="loss", yscale="log", title=f"Loss: {report.verdict.word}")
        gap.axhspan(0, LAZY, color="0.93", lw=0)
        gap.axhspan(RICH, 10, color="0.93", lw=0)
        gap.plot(step, data["gap"], "o-", color=VERMILLION, ms=3, label="twin, trained on the probes")
        gap.plot(step, data["curvature"], color=BLUE, ls=(0, (4, 1)), label="expansion at the weights")
        top = max(1.05, float(np.nanmax([data["gap"].max(), data["curvature"].max()])) * 1.05)
        gap.set(ylabel="share of the way", ylim=(0, 1.25 * min(top, 2.0)), title="Off the linearised network")
        for height, word in ((LAZY / 2, "lazy"), (RICH + 0.1, "rich")):
            gap.text(0.02, height, word, color="0.45", fontsize=7, va="center", transform=gap.get_yaxis_transform())
        gap.legend(loc="upper left", fontsize=7)
        _by_layer(turn, step, report, "distance", "1 − cosine with the start")
        turn.set(title="Turn of the tangent kernel")
        aligned.plot(step, data["alignment"].sel(layer="all"), color=BLACK, label="targets")
        mean, spread = data["shuffled_alignment"], data["shuffled_spread"]
        aligned.fill_between(step, mean - 2 * spread, mean + 2 * spread, color="0.85", lw=0, label="shuffled (±2 s.d.)")
        aligned.set(ylabel="alignment", ylim=(0, None), title="Kernel and targets")
        aligned.legend()
        _modes(modes, step, report)
        _by_layer(changed, step, report, "weight_change", r"$|\theta - \theta_0| / |\theta_0|$")
        changed.set(title="Change of weights")
        for axis in page.axes.ravel():
            axis.set(xscale="log", xlabel="step")
    return page.figure


def draw_representations(report: Report) -> Figure:
    """Of activations alone: similarity to start, inputs and targets; dimension, and variability within classes."""
    data, step = report.data, report.data["step"].values
    is_long = step[-1] > LONG
    step = np.maximum(step, 0.5) if is_long else step
    with Page(1, 2, height=2.5) as page:
        for name, colour in (("start", BLACK), ("inputs", BLUE), ("targets", VERMILLION)):
            if f"similarity_to_{name}" in data:
                page[0].plot(
                    step, data[f"similarity_to_{name}"].isel(watched_layer=0), "o-", ms=3, color=colour, label=name
                )
        page[0].set(ylabel="similarity (CKA)", ylim=(0, 1.05), title=f"Similarity: {report.verdict.word}")
        page[0].legend()
        page[1].plot(step, data["dimension"].isel(watched_layer=0), "o-", ms=3, color=BLACK)
        page[1].set(ylabel="participation ratio", ylim=(0, None), title="Dimension")
        for axis in page.axes.ravel():
            axis.set(xscale="log" if is_long else "linear", xlabel="step")
    return page.figure


def _by_layer(axis: Axes, step: np.ndarray, report: Report, name: str, label: str) -> None:
    layers = [str(layer) for layer in report.data["layer"].values]
    colours = _shades(len(layers) - 1)
    for layer, colour in zip(layers[:-1], colours, strict=True):
        axis.plot(step, report.data[name].sel(layer=layer), color=colour, lw=1.0, label=layer)
    axis.plot(step, report.data[name].sel(layer="all"), color=BLACK, label="all")
    axis.set(ylabel=label, ylim=(0, None))
    if len(layers) <= 6:
        axis.legend()


def _modes(axis: Axes, step: np.ndarray, report: Report) -> None:
    if "learned" not in report.data:
        axis.text(0.5, 0.5, "the probes have no modes", ha="center", transform=axis.transAxes)
        return
    count = report.data.sizes["mode"]
    for mode, colour in enumerate(_shades(count)):
        axis.plot(step, report.data["learned"].isel(mode=mode), color=colour, lw=1.0)
        if "predicted" in report.data:
            axis.plot(step, report.data["predicted"].isel(mode=mode), color=colour, lw=0.8, ls=(0, (3, 2)))
    axis.axhline(1.0, color=GREY, lw=0.7, ls=":")
    axis.set(ylabel="learned share $a_k / s_k$", title="Modes of the data")
    dashed = ";\ndashed: a linear network" if "predicted" in report.data else ""
    axis.text(0.03, 0.86, f"{count}, the strongest dark{dashed}", fontsize=7, va="top", transform=axis.transAxes)


def _shades(count: int) -> np.ndarray:
    """Colours from dark to light, as they are on a map, too."""
    return plt.get_cmap("viridis")(np.linspace(0, 0.85, count))
