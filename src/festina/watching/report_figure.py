"""The picture of a training that was watched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
    """Loss; gap to the linearised twin; the kernel's turn by layer; alignment; modes; weights; watched layers."""
    data, step = report.data, np.maximum(report.data["step"].values, 0.5)
    watched = "watched_layer" in data.sizes
    with Page(3 if watched else 2, 3, height=6.6 if watched else 4.4) as page:
        loss, parted, turn, aligned, modes, changed = (page[place] for place in range(6))
        _loss(loss, step, report)
        _off(parted, step, report)
        _by_layer(turn, step, report, "distance", "1 − cosine with the start")
        turn.set(title="Turn of the tangent kernel")
        _alignment(aligned, step, report)
        _modes(modes, step, report)
        _by_layer(changed, step, report, "weight_change", r"$|\theta - \theta_0| / |\theta_0|$")
        changed.set(title="Change of weights")
        if watched:
            _similarity(page[6], step, report)
            _selectivity(page[7], step, report)
            _codes(page[8], step, report)
        for axis in page.axes.ravel():
            axis.set(xscale="log", xlabel="step")
    return page.figure


def _loss(axis: Axes, step: np.ndarray, report: Report) -> None:
    axis.plot(step, report.data["loss"], color=BLACK, label="probes")
    if "training_loss" in report.data:
        axis.plot(step, report.data["training_loss"], color=GREY, ls=(0, (4, 1)), label="training examples")
        axis.legend()
    axis.set(ylabel="loss", yscale="log", title=f"Loss: {report.verdict.word}")


def _off(axis: Axes, step: np.ndarray, report: Report) -> None:
    """Curvature and gap with their standard errors, and the cuts."""
    data, twin = report.data, "twin, trained alike" if "training_loss" in report.data else "twin, trained on the probes"
    axis.axhspan(0, LAZY, color="0.93", lw=0)
    axis.axhspan(RICH, 10, color="0.93", lw=0)
    for name, colour, mark, label in (
        ("gap", VERMILLION, "o-", twin),
        ("curvature", BLUE, "-", "expansion at the weights"),
    ):
        axis.plot(step, data[name], mark, color=colour, ms=3, label=label)
        low, high = data[name] - data[f"{name}_error"], data[name] + data[f"{name}_error"]
        axis.fill_between(step, low, high, color=colour, alpha=0.25, lw=0)
    largest = np.nanmax(np.append(np.ravel([data["gap"], data["curvature"]]), 0.0))
    axis.set(ylabel="share of the change", ylim=(0, 1.3 * min(max(1.05, float(largest)), 2.0)))
    axis.set(title="Deviation from linearisation")
    for height, word in ((LAZY / 2, "lazy"), (RICH + 0.06, "rich")):
        axis.text(0.02, height, word, color="0.45", fontsize=7, va="center", transform=axis.get_yaxis_transform())
    axis.legend(loc="upper left", fontsize=7)


def _alignment(axis: Axes, step: np.ndarray, report: Report) -> None:
    mean, spread = report.data["shuffled_alignment"], report.data["shuffled_spread"]
    axis.plot(step, report.data["alignment"].sel(layer="all"), color=BLACK, label="targets")
    axis.fill_between(step, mean - 2 * spread, mean + 2 * spread, color="0.85", lw=0, label="shuffled (±2 s.d.)")
    axis.set(ylabel="alignment", ylim=(0, None), title="Kernel and targets")
    axis.legend()


def _similarity(axis: Axes, step: np.ndarray, report: Report) -> None:
    for layer, colour in _watched(report):
        own = report.data.sel(watched_layer=layer)
        axis.plot(step, own["similarity_to_start"], color=colour, label=f"{layer} and its start")
        axis.plot(step, own["similarity_to_targets"], color=colour, ls=(0, (3, 2)), label=f"{layer} and targets")
    axis.set(ylabel="similarity (CKA)", ylim=(0, 1.05), title="Similarity of layers")
    axis.legend(fontsize=7)


def _selectivity(axis: Axes, step: np.ndarray, report: Report) -> None:
    """Units that are on for some classes and not for all, and shuffled ones; without classes, the share that is on."""
    name = "selective_share" if "selective_share" in report.data else "active_share"
    for layer, colour in _watched(report):
        own = report.data.sel(watched_layer=layer)
        axis.plot(step, own[name], color=colour, label=layer)
        if f"{name}_shuffled" in own:
            axis.plot(step, own[f"{name}_shuffled"], color=colour, ls=":", label=f"{layer}, shuffled")
    with_null = f"{name}_shuffled" in report.data
    title = "Selective units" if with_null else "Activity of units"
    axis.set(ylabel="share of strength" if with_null else "share that is on", ylim=(0, 1.05), title=title)
    axis.legend(fontsize=7)


def _codes(axis: Axes, step: np.ndarray, report: Report) -> None:
    """How strongly classes are told apart beyond the start, with the name of the code; without classes, dimension."""
    if "code" not in report.data:
        for layer, colour in _watched(report):
            axis.plot(step, report.data["dimension"].sel(watched_layer=layer), color=colour)
        axis.set(ylabel="participation ratio", ylim=(0, None), title="Dimension")
        return
    for layer, colour in _watched(report):
        own = report.data.sel(watched_layer=layer)
        axis.plot(
            step, np.maximum(own["code_strength"], 0.0), color=colour, label=f"{layer}: {own['code'].values[-1] or '–'}"
        )
        axis.plot(step, own["code_strength_shuffled"], color=colour, ls=":", label=f"{layer}, shuffled")
    axis.set(ylim=(0, None), ylabel="strength of the code", title="Code of layers")
    axis.set_yscale("symlog", linthresh=0.1)
    axis.legend(fontsize=7)


def _watched(report: Report) -> list[tuple[str, Any]]:
    layers = [str(layer) for layer in report.data["watched_layer"].values]
    return list(zip(layers, _shades(len(layers)), strict=True))


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
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1}
    said = f"{count}, the strongest dark{dashed}"
    axis.text(0.03, 0.86, said, fontsize=7, va="top", transform=axis.transAxes, bbox=box)


def _shades(count: int) -> np.ndarray:
    """Colours from dark to light, as they are on a map, too."""
    return plt.get_cmap("viridis")(np.linspace(0, 0.85, count))
