"""The figure of `coding/depth`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.coding._depth_measures import (
    ARMS,
    COLD,
    COLDEST,
    LAYERS,
    SCRATCH,
    analysed,
    given_first_difference,
    is_checked,
    kernel_difference,
    layer_blocks,
    linear,
    sharpness,
    sharpness_of,
    solved,
    temperature,
)
from festina.experiments.coding._panels import MARKERS, class_color
from festina.experiments.coding._sampled import code_numbers

STRONGEST = 30  # rectified neurons whose activity is shown
LOOKS = {"linear": {"cmap": "RdBu_r"}, "sigmoidal": {"cmap": "Greys"}, "rectified": {"cmap": "Greys"}}


def draw(result: Any) -> Any:
    """Activity of both layers for each nonlinearity; sharpness by layer; kernels against theory; sharpness and T."""
    with fs.figures.style.style():
        figure = plt.figure(figsize=(fs.figures.style.TWO_COLUMNS, 4.9))
        halves: Any = figure.subfigures(2, 1, height_ratios=(1.1, 1.0))
        above, below = halves
        firsts = []
        for part, (kind, arm) in zip(above.subfigures(1, len(COLDEST)), COLDEST.items(), strict=True):
            panels = part.subplots(1, len(LAYERS), sharey=True)
            _draw_layers(panels, result, kind, arm)
            firsts.append(panels[0])
        axes = below.subplots(1, 3, width_ratios=(0.8, 1.0, 1.2))
        _draw_sharpness(axes[0], result)
        _draw_agreement(axes[1], result)
        _draw_temperatures(axes[2], result)
        fs.figures.style.letter(*firsts, *axes)
    return figure


def _draw_layers(panels: Any, result: Any, kind: str, arm: str) -> None:
    """The activity of neurons at every example in the first chain, layer by layer, on one scale of colours."""
    chosen = []
    for layer in LAYERS:
        activity = result["hidden"].isel(run=0).sel(arm=arm, layer=layer).transpose("neuron", "example").values
        chosen.append(activity[_order(result, kind, arm, layer)])
    # A few extreme values would wash out all others.
    span = max(np.quantile(np.abs(each), 0.99) for each in chosen) if kind != "sigmoidal" else 1.0
    image, edges = None, np.cumsum(result.config.counts)
    middles = edges - 0.5 * np.asarray(result.config.counts) - 0.5
    for axis, layer, activity in zip(panels, LAYERS, chosen, strict=True):
        low = -span if kind == "linear" else 0.0
        image = axis.imshow(activity, aspect="auto", interpolation="none", vmin=low, vmax=span, **LOOKS[kind])
        for edge in edges[:-1]:
            axis.axvline(edge - 0.5, color=fs.figures.style.ORANGE, lw=0.8, ls=(0, (3, 1.5)))
        axis.set(xticks=middles, xticklabels=range(1, len(edges) + 1), xlabel="class", yticks=[])
        axis.set_title(f"layer {layer}", fontsize=8)
        axis.tick_params(length=0)
        axis.spines[["top", "right"]].set_visible(True)
    panels[0].set_ylabel(f"{kind} neuron, " + ("by strength" if kind == "rectified" else "sorted"))
    bar = panels[0].figure.colorbar(image, ax=list(panels), fraction=0.06, pad=0.03, aspect=25)
    bar.set_label("activity", labelpad=2)
    bar.outline.set_linewidth(0.5)


def _order(result: Any, kind: str, arm: str, layer: int) -> Any:
    """Neurons by the angle of their class means (linear), by their code, or the strongest ones by what they carry."""
    found = analysed(result, arm, layer, 0)
    if kind == "rectified":
        return np.argsort(-found.contributions)[:STRONGEST]
    apart = found.means - found.means.mean(axis=0, keepdims=True)
    if kind == "linear":
        _, _, directions = np.linalg.svd(apart, full_matrices=False)
        return np.argsort(np.arctan2(*(apart @ directions[:2].T).T))
    middle = found.means.mean(axis=1, keepdims=True)
    return np.lexsort((found.means[:, 0], -code_numbers(found.means > middle)))


def _draw_sharpness(axis: Any, result: Any) -> None:
    """η² of the first and of the second layer, a line for each chain."""
    for number, arm in enumerate(ARMS):
        look = {"color": class_color(number), "marker": MARKERS[number], "ls": ("-", "--", "-.", ":", "-")[number]}
        for run, values in enumerate(sharpness(result, arm)):
            label = f"{arm.split()[0]},\nT = {temperature(result.config, arm):g}" if run == 0 else None
            axis.plot(LAYERS, values, ms=3.5, lw=0.9, mew=0, label=label, **look)
    axis.plot(LAYERS, _by_layer(linear(result.config), result.config), "k_", ms=11, mew=1.0, label="closed form")
    axis.set(
        xlabel="hidden layer", ylabel="sharpness of the code η²", xticks=LAYERS, xlim=(0.8, 2.2), ylim=(-0.03, 1.05)
    )
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=6.5, labelspacing=0.4)


def _by_layer(prediction: Any, config: Any) -> list[float]:
    """The predicted η² of each layer."""
    return [sharpness_of(each, config.counts) for each in layer_blocks(prediction.kernels, config)]


def _draw_agreement(axis: Any, result: Any) -> None:
    """How far sampled kernels are from those of each theory, one dot a chain."""
    config = result.config
    shown = {f"linear, layer {layer}": (0, kernel_difference(result, "linear", layer)) for layer in LAYERS}
    for arm in SCRATCH:
        heat = temperature(config, arm)
        if heat in solved(config):
            shown |= {f"T = {heat:g}, layer {layer}": (1, kernel_difference(result, arm, layer)) for layer in LAYERS}
    for arm in (*SCRATCH, COLD):
        if is_checked(config, arm):
            shown[f"T = {temperature(config, arm):g}, 2 given 1"] = (2, given_first_difference(result, arm))
    for number, (kind, values) in enumerate(shown.values()):
        look = {"color": class_color(kind), "marker": MARKERS[kind], "ls": "", "ms": 4, "mew": 0, "alpha": 0.8}
        axis.semilogx(values, np.full(len(values), number), **look)
    axis.set(xlabel="relative difference of kernels,\nsamples and theory", ylim=(len(shown) - 0.5, -0.5))
    axis.set_yticks(range(len(shown)), list(shown))
    axis.tick_params(axis="y", labelsize=6.5, length=0)


def _draw_temperatures(axis: Any, result: Any) -> None:
    """η² of sigmoidal layers against temperature: samples, and theory from scratch where it is solved."""
    config = result.config
    found = solved(config)
    theirs = np.array([_by_layer(each, config) for each in found.values()]).reshape(-1, len(LAYERS))
    arms = (*SCRATCH, COLD)
    for number, layer in enumerate(LAYERS):
        look = {"color": class_color(number), "marker": MARKERS[number]}
        axis.plot(list(found), theirs[:, number], color="k", marker="+", ms=5, mew=0.7, lw=0.9, ls=("-", "--")[number])
        ours = np.stack([sharpness(result, arm)[:, number] for arm in arms])
        where = np.repeat([temperature(config, arm) for arm in arms], ours.shape[1])
        axis.plot(where, ours.ravel(), ls="", ms=4, mew=0, label=f"layer {layer}", **look)
    axis.plot([], [], "k+-", ms=5, mew=0.7, lw=0.9, label="theory")
    axis.axvspan(0, min(found, default=1.0), color="0.93", lw=0, zorder=0, label="not solved")
    axis.set(xlabel="temperature T", ylabel="sharpness of the code η²", ylim=(-0.03, 1.05), xlim=(0, None))
    axis.legend(loc="upper right")
