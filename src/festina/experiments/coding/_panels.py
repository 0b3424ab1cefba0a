"""Panels that the figures on coding schemes share."""

from typing import Any

import festina as fs
from festina._lazy import np, plt

MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def class_color(number: int) -> str:
    """The colour of a class, and of a pair of classes in a kernel."""
    style = fs.lab.style
    return (style.BLUE, style.VERMILLION, style.GREEN, style.PURPLE, style.ORANGE, style.SKY)[number % 6]


def draw_readouts(axis: Any, readouts: Any, groups: Any, **look: Any) -> None:
    """Readouts of neurons to the first two classes, one dot a neuron; each group has its colour and marker."""
    for number, group in enumerate(np.unique(groups)):
        here = readouts[groups == group]
        own = {"color": class_color(number), "marker": MARKERS[number % len(MARKERS)], "ms": 2.2}
        axis.plot(here[:, 0], here[:, 1], **({"ls": "", "mew": 0, "alpha": 0.55} | own | look))
    axis.set(xlabel="readout to class 1, $a_1$", ylabel="readout to class 2, $a_2$")


def draw_raster(axis: Any, activity: Any, order: Any, label: str = "mean activity", **look: Any) -> None:
    """The mean activity of neurons in each class, one neuron a row, in a given order."""
    image = axis.imshow(activity[order], aspect="auto", interpolation="none", **look)
    classes = activity.shape[1]
    axis.set(xticks=range(classes), xticklabels=range(1, classes + 1), xlabel="class", ylabel="neuron, sorted")
    axis.spines[["top", "right"]].set_visible(True)
    bar = axis.figure.colorbar(image, ax=axis, fraction=0.08, pad=0.04)
    bar.set_label(label)
    bar.outline.set_linewidth(0.5)


def draw_kernels(axes: Any, kernels: dict[str, Any], counts: Any) -> None:
    """Kernels side by side with one scale of colours, and one bar for all of them; classes are named at the edge.

    The diagonal is left out of the scale, since noise of single examples adds to it.
    """
    outside = [kernel[~np.eye(len(kernel), dtype=bool)] for kernel in kernels.values()]
    low, high = min(part.min() for part in outside), max(part.max() for part in outside)
    span = max(abs(low), abs(high))
    scale = {"vmin": -span, "vmax": span, "cmap": "RdBu_r"} if low < 0 else {"vmin": 0.0, "vmax": high}
    edges = np.concatenate([[0], np.cumsum(counts)])
    middles = 0.5 * (edges[1:] + edges[:-1]) - 0.5
    image = None
    for axis, (title, kernel) in zip(axes, kernels.items(), strict=True):
        image = axis.imshow(kernel, interpolation="none", **scale)
        axis.set_title(title, fontsize=8)
        axis.set(xticks=middles, xticklabels=range(1, len(counts) + 1), xlabel="class of example")
        axis.set(yticks=middles, yticklabels=range(1, len(counts) + 1), ylabel="class of example")
        axis.tick_params(length=0)
        axis.spines[["top", "right"]].set_visible(True)
        for edge in edges[1:-1]:
            axis.axhline(edge - 0.5, color="0.4", lw=0.4)
            axis.axvline(edge - 0.5, color="0.4", lw=0.4)
    bar = axes[0].figure.colorbar(image, ax=list(axes), fraction=0.05, pad=0.03, shrink=0.85, extend="max")
    bar.set_label("kernel K")
    bar.outline.set_linewidth(0.5)


def draw_trace(axis: Any, result: Any, **where: Any) -> None:
    """The kernel between classes of every chain as it is drawn, with the theory's dashed; grey while warming up."""
    ours = result["class_kernel"].sel(**where).transpose("run", "time", "class", "other_class").values
    theirs = result.theory["class_kernel"].sel(**where).isel(run=0, time=-1).values
    time = result["time"].values
    axis.axvspan(0, result.config.warm_up, color="0.93", lw=0, zorder=0)
    for number, (one, other) in enumerate(shown_pairs(theirs)):
        look = {"color": class_color(number), "marker": MARKERS[number % len(MARKERS)]}
        for run in range(len(ours)):
            label = f"$K_{{{one + 1}{other + 1}}}$" if run == 0 else None
            axis.plot(time, ours[run, :, one, other], ls="-", lw=0.5, ms=1.6, mew=0, label=label, **look)
        axis.axhline(theirs[one, other], **fs.lab.style.THEORY)
    axis.set(xlabel="draw", ylabel="kernel between classes", xlim=(0, time[-1]))


def shown_pairs(kernel: Any) -> list[tuple[int, int]]:
    """Pairs of classes with distinct predictions: of those that theory cannot tell apart, one is enough."""
    found: dict[float, tuple[int, int]] = {}
    for one, other in zip(*np.triu_indices(len(kernel)), strict=True):
        found.setdefault(float(np.round(kernel[one, other], 6)), (int(one), int(other)))
    return list(found.values())


def canvas(height: float = 4.4) -> tuple[Any, Any]:
    """A figure of two columns' width with six panels, a … f."""
    figure = plt.figure(figsize=(fs.lab.style.TWO_COLUMNS, height))
    return figure, figure.subplot_mosaic([["a", "b", "c"], ["d", "e", "f"]])
