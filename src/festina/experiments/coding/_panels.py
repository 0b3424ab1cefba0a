"""Panels that the figures on coding schemes share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import festina as fs
from festina._lazy import np, plt
from festina.style import ORANGE, THEORY, VERMILLION

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from festina.experiment import Result
    from festina.measures.coding import Coding

ROWS = 60  # neurons in a raster of single examples
STRONGEST = 30  # rectified neurons in one of several layers
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def class_color(number: int) -> str:
    """The colour of a class, and of a pair of classes in a kernel."""
    style = fs.style
    return (style.BLUE, style.VERMILLION, style.GREEN, style.PURPLE, style.ORANGE, style.SKY)[number % 6]


def last_draw(result: Result, **where: Any) -> tuple[np.ndarray, np.ndarray]:
    """Readouts (neuron, output) and mean activity (neuron, class) at the end of the first run."""
    last = result.data.sel(**where).isel(run=0, time=-1)
    return last["readout"].transpose("neuron", "output").values, last["activity"].transpose("neuron", "class").values


def class_look(number: int) -> dict[str, Any]:
    """The colour and marker of a class, or of a group of neurons."""
    return {"color": class_color(number), "marker": MARKERS[number % len(MARKERS)], "ls": ""}


def draw_readouts(axis: Axes, readouts: np.ndarray, groups: np.ndarray, *, classes: bool = False, **look: Any) -> None:
    """Readouts of neurons to the first two classes, one dot a neuron; each group has its colour and marker.

    Groups that are ``classes`` have those of their number, whichever others there are.
    """
    for number, group in enumerate(np.unique(groups)):
        here = readouts[groups == group]
        usual = {"mew": 0, "alpha": 0.55, "ms": 2.2} | class_look(group if classes else number)
        axis.plot(here[:, 0], here[:, 1], **usual | look)
    axis.set(xlabel="readout to class 1, $a_1$", ylabel="readout to class 2, $a_2$")


def draw_code(axis: Axes, found: list[Coding], expected: str) -> None:
    """Neurons of the first run, by the class in which they are most active; the title names the code of all runs."""
    draw_readouts(axis, found[0].points, np.argmax(found[0].means, axis=1), classes=True, ms=2.6, alpha=0.7)
    axis.set(xlabel="", ylabel="")
    axis.margins(0.1)
    names = [each.scheme for each in found]
    common = max(sorted(set(names)), key=names.count)
    count = "" if names.count(common) == len(names) else f" ({names.count(common)} of {len(names)})"
    note, color = ("", "black") if common == expected else (f", not {expected}", VERMILLION)
    axis.set_title(f"{common}{count}{note}", fontsize=8, color=color)


def draw_predicted(axis: Axes, readouts: np.ndarray, **look: Any) -> None:
    """Where theory has readouts to the first two classes, as crosses, with room for a legend above them."""
    axis.plot(readouts[:, 0], readouts[:, 1], "k+", **({"ms": 10, "mew": 0.8, "label": "theory"} | look))
    low, high = axis.get_ylim()
    axis.set_ylim(low, high + 0.3 * (high - low))
    axis.legend(loc="upper right")


def draw_ranks(axis: Axes, readouts: xr.DataArray, predicted: np.ndarray) -> None:
    """|a| of all neurons of each chain in order of size, and of the outliers of the theory."""
    sizes = -np.sort(-np.linalg.norm(readouts.transpose("run", "neuron", "output").values, axis=-1), axis=1)
    rank = np.arange(1, sizes.shape[1] + 1)
    for run, size in enumerate(sizes):
        axis.loglog(rank, size, "os^Dv"[run % 5], ms=2.5, mew=0, color=class_color(run), label=f"chain {run + 1}")
    theirs = -np.sort(-np.linalg.norm(predicted, axis=1))
    axis.loglog(rank[: len(theirs)], theirs, "k+", ms=10, mew=0.8, label="theory")
    axis.set(xlabel="neuron, by size of readout", ylabel="size of readout |a|")
    axis.legend(loc="upper right")


def draw_numbers(axis: Axes, result: Result, numbers: xr.DataArray, expected: int) -> None:
    """How many outliers each chain has, as it is drawn."""
    time, most = result["time"].values, int(numbers.max())
    axis.axvspan(0, result.config.warm_up, color="0.93", lw=0, zorder=0)
    for run, number in enumerate(numbers.transpose("run", "time").values):
        axis.plot(time, number, color=class_color(run), ls=("-", (0, (2, 0.8)))[run % 2], lw=0.9)
    axis.axhline(expected, label="one a class", **THEORY)
    axis.set(xlabel="draw", ylabel="number of outliers", xlim=(0, time[-1]), ylim=(0, 1.15 * max(4, most)))
    axis.legend(loc="upper right")


def draw_sizes(
    axis: Axes, x: str, last: xr.Dataset, theory: np.ndarray, looks: Sequence[Mapping[str, Any]], number: int
) -> None:
    """|a|/√N of the strongest neurons of a run along a dimension, by the class that they serve in the end.

    Args:
        axis: to draw on.
        x: the dimension.
        last: readouts and activity of one run along it.
        theory: |ā| of outliers that are alone in their direction, one a row; along the same dimension, or constant.
        looks: of each class.
        number: of neurons that are drawn.
    """
    sizes = (
        np.linalg.norm(last["readout"].transpose(x, "neuron", "output").values, axis=-1) / last.sizes["neuron"] ** 0.5
    )
    serves = last["activity"].isel({x: -1}).transpose("neuron", "class").values.argmax(axis=1)
    for neuron in np.argsort(-sizes.max(axis=0))[:number]:
        axis.plot(last[x], sizes[:, neuron], **looks[serves[neuron]])
    for number, look in enumerate(looks):
        axis.plot([], [], label=f"class {chr(65 + number)}", **look)
    for number, size in enumerate(theory):
        axis.plot(last[x], np.broadcast_to(size, len(sizes)), label="one each" if number == 0 else None, **THEORY)
    axis.set(
        ylabel=r"size of a neuron $|a_i|/\sqrt{N}$", ylim=(0, 1.75 * max(sizes.max(), np.nanmax(theory, initial=0.0)))
    )
    axis.legend(loc="upper right", ncols=2, columnspacing=0.8, fontsize=7)


def draw_shares(axis: Axes, shares: Mapping[str, np.ndarray], theory: np.ndarray) -> None:
    """Shares of all codes in chains, (run, 2^classes), with their standard error; and those of the theory."""
    classes, place = len(theory).bit_length() - 1, np.arange(len(theory))
    for number, (name, values) in enumerate(shares.items()):
        error = values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else None
        look = {
            "color": class_color(number),
            "hatch": (None, "////", "....")[number],
            "edgecolor": "white",
            "label": name,
        }
        shift = (number - 0.5 * (len(shares) - 1)) * 0.8 / max(2, len(shares))
        axis.bar(place + shift, values.mean(axis=0), 0.8 / len(shares), yerr=error, error_kw={"lw": 0.7}, **look)
    axis.plot(place, theory, "_", color="black", ms=11, mew=1.2, label="theory")
    axis.set(xlabel="on for classes", ylabel="share of neurons", xticks=place)
    names = [fs.measures.code_name(number, classes, "123456789", "–") for number in range(len(theory))]
    axis.set_xticklabels(names, fontsize=6.5)
    axis.set_ylim(0, 1.3 * axis.get_ylim()[1])
    axis.legend(loc="upper right")


def draw_raster(axis: Axes, activity: np.ndarray, order: np.ndarray, label: str = "mean activity", **look: Any) -> None:
    """The mean activity of neurons in each class, one neuron a row, in a given order."""
    axis.imshow(activity[order], aspect="auto", interpolation="none", **look)
    classes = activity.shape[1]
    axis.set(xticks=range(classes), xticklabels=range(1, classes + 1), xlabel="class", ylabel="neuron, sorted")
    axis.spines[["top", "right"]].set_visible(True)
    _draw_bar([axis], label, fraction=0.08, pad=0.04)


def draw_rasters(
    axis: Axes, found: Coding, parts: Sequence[np.ndarray], counts: Sequence[Sequence[int]], names: Sequence[Any]
) -> None:
    """The activity of the strongest neurons for every example, by the class in which they are most active.

    Examples are in parts side by side, each with so many of every class; classes are named below.
    """
    strongest = np.argsort(-np.linalg.norm(found.points, axis=1))[:ROWS]
    order = strongest[np.argsort(found.means.argmax(axis=1)[strongest], kind="stable")]
    together = np.concatenate(parts, axis=1)
    high = np.quantile(np.abs(together), 0.995)
    scale = {"vmin": -high, "cmap": "RdBu_r"} if together.min() < 0 else {"cmap": "Greys"}
    draw_raster(axis, together, order, "activity φ", vmax=high, **scale)
    edges, middles = _class_places(np.concatenate(counts).tolist())
    for number, edge in enumerate(edges, 1):
        whole = number % len(names) == 0
        axis.axvline(edge, color="k" if whole else "0.45", lw=1.4 if whole else 0.4)
    axis.set_xticks(middles, [str(name) for _ in parts for name in names])
    axis.tick_params(axis="x", length=0)


def draw_layers(
    axes: Sequence[Axes], found: Sequence[Coding], layers: Iterable[np.ndarray], kind: str, counts: Sequence[int]
) -> None:
    """The activity of neurons for every example, layer by layer, in an order that shows the code of their nonlinearity.

    Examples have classes side by side, so many of each; all layers have one scale of colours, with one bar.
    """
    shown = [activity[_order(each, kind)] for activity, each in zip(layers, found, strict=True)]
    # A few extreme values would wash out all others.
    span = 1.0 if kind == "sigmoidal" else max(np.quantile(np.abs(each), 0.99) for each in shown)
    scale = {"vmin": -span, "cmap": "RdBu_r"} if kind == "linear" else {"vmin": 0.0, "cmap": "Greys"}
    edges, middles = _class_places(counts)
    for number, (axis, activity) in enumerate(zip(axes, shown, strict=True), 1):
        axis.imshow(activity, aspect="auto", interpolation="none", vmax=span, **scale)
        for edge in edges:
            axis.axvline(edge, color=ORANGE, lw=0.8, ls=(0, (3, 1.5)))
        axis.set(xticks=middles, xticklabels=range(1, len(counts) + 1), xlabel="class", yticks=[])
        axis.set_title(f"layer {number}", fontsize=8)
        axis.tick_params(length=0)
        axis.spines[["top", "right"]].set_visible(True)
    axes[0].set_ylabel(f"{kind} neuron, " + ("by strength" if kind == "rectified" else "sorted"))
    _draw_bar(axes, "activity", labelpad=2, fraction=0.06, pad=0.03, aspect=25)


def _order(found: Coding, kind: str) -> np.ndarray:
    """Neurons by the angle of their class means (linear), by their code, or the strongest ones by what they carry."""
    if kind == "rectified":
        return np.argsort(-found.contributions)[:STRONGEST]
    if kind == "linear":
        apart = found.means - found.means.mean(axis=0, keepdims=True)
        _, _, directions = np.linalg.svd(apart, full_matrices=False)
        return np.argsort(np.arctan2(*(apart @ directions[:2].T).T))
    middle = found.means.mean(axis=1, keepdims=True)
    return np.lexsort((found.means[:, 0], -fs.measures.code_numbers(found.means > middle)))


def draw_kernels(axes: Sequence[Axes], kernels: Mapping[str, np.ndarray], counts: Sequence[int]) -> None:
    """Kernels side by side with one scale of colours, and one bar for all of them; classes are named at the edge.

    The diagonal is left out of the scale, since noise of single examples adds to it.
    """
    outside = [kernel[~np.eye(len(kernel), dtype=bool)] for kernel in kernels.values()]
    low, high = min(part.min() for part in outside), max(part.max() for part in outside)
    span = max(abs(low), abs(high))
    scale = {"vmin": -span, "vmax": span, "cmap": "RdBu_r"} if low < 0 else {"vmin": 0.0, "vmax": high}
    edges, middles = _class_places(counts)
    for axis, (title, kernel) in zip(axes, kernels.items(), strict=True):
        axis.imshow(kernel, interpolation="none", **scale)
        axis.set_title(title, fontsize=8)
        axis.set(xticks=middles, xticklabels=range(1, len(counts) + 1), xlabel="class of example")
        axis.set(yticks=middles, yticklabels=range(1, len(counts) + 1), ylabel="class of example")
        axis.tick_params(length=0)
        axis.spines[["top", "right"]].set_visible(True)
        for edge in edges:
            axis.axhline(edge, color="0.4", lw=0.4)
            axis.axvline(edge, color="0.4", lw=0.4)
    _draw_bar(axes, "kernel K", fraction=0.05, pad=0.03, shrink=0.85, extend="max")


def _draw_bar(axes: Sequence[Axes], label: str, labelpad: float | None = None, **place: Any) -> None:
    """One bar of colours for images on the same scale."""
    bar = axes[0].figure.colorbar(axes[0].images[0], ax=list(axes), **place)
    bar.set_label(label, labelpad=labelpad)
    bar.outline.set_linewidth(0.5)


def _class_places(counts: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """Where one class ends and the next begins in a row of examples, so many of each; and the middles of classes."""
    edges = np.cumsum([0, *counts]) - 0.5
    return edges[1:-1], 0.5 * (edges[1:] + edges[:-1])


def draw_trace(axis: Axes, result: Result, **where: Any) -> None:
    """The kernel between classes of every chain as it is drawn, with the theory's dashed; grey while warming up."""
    ours = result["class_kernel"].sel(**where).transpose("run", "time", "class", "other_class").values
    theirs = result.theory["class_kernel"].sel(**where).isel(run=0, time=-1).values  # pyright: ignore
    time = result["time"].values
    axis.axvspan(0, result.config.warm_up, color="0.93", lw=0, zorder=0)
    for number, (one, other) in enumerate(shown_pairs(theirs)):
        look: dict[str, Any] = {"color": class_color(number), "marker": MARKERS[number % len(MARKERS)]}
        for run in range(len(ours)):
            label = f"$K_{{{one + 1}{other + 1}}}$" if run == 0 else None
            axis.plot(time, ours[run, :, one, other], ls="-", lw=0.5, ms=1.6, mew=0, label=label, **look)
        axis.axhline(theirs[one, other], **THEORY)
    axis.set(xlabel="draw", ylabel="kernel between classes", xlim=(0, time[-1]))


def shown_pairs(kernel: np.ndarray) -> list[tuple[int, int]]:
    """Pairs of classes with distinct predictions: of those that theory cannot tell apart, one is enough."""
    found: dict[float, tuple[int, int]] = {}
    for one, other in zip(*np.triu_indices(len(kernel)), strict=True):
        found.setdefault(float(np.round(kernel[one, other], 6)), (int(one), int(other)))
    return list(found.values())


def canvas(height: float = 4.4) -> tuple[Figure, dict[str, Axes]]:
    """A figure of two columns' width with six panels, a … f."""
    figure = plt.figure(figsize=(fs.style.TWO_COLUMNS, height))
    return figure, figure.subplot_mosaic([["a", "b", "c"], ["d", "e", "f"]])
