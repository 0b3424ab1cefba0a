"""The coding scheme of a layer on one page."""

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from festina.measures.coding import Coding

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999")
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")
SHOWN = 40  # neurons of a sparse layer: all others are alike
SMALL: dict[Any, Any] = {"font.size": 8, "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 8.5}


def draw(found: "Coding") -> Figure:
    """Neurons in their space, class means sorted by code, contributions, and the numbers that decided."""
    with plt.rc_context(SMALL):
        figure, axes = plt.subplots(1, 3, figsize=(7.2, 2.7), layout="constrained")
        _draw_points(axes[0], found)
        _draw_means(axes[1], found)
        _draw_contributions(axes[2], found)
        figure.suptitle(f"{found.scheme} code{found.agreement}", fontsize=9)
    return figure


def _draw_points(axis: Any, found: "Coding") -> None:
    """The two directions in which neurons differ most; codes by colour and mark."""
    centred = found.points - found.points.mean(axis=0, keepdims=True)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    flat = centred @ directions[:2].T
    flat = flat if flat.shape[1] == 2 else np.concatenate([flat, np.zeros((len(flat), 1))], axis=1)
    coded = np.concatenate([code.neurons for code in found.codes]) if found.codes else np.array([], int)
    rest = np.setdiff1d(np.arange(len(flat)), coded)
    axis.plot(*flat[rest].T, ".", color="0.6", ms=2.5)
    for number, code in enumerate(found.codes[: len(COLORS)]):
        look = {"color": COLORS[number], "marker": MARKS[number], "ms": 3, "ls": "none", "mfc": "none"}
        axis.plot(*flat[code.neurons].T, label=f"{code.name} {code.count}", **look)
    if found.codes:
        axis.legend(frameon=False, fontsize=6, handletextpad=0.2)
    what = "class means" if found.readout is None else "readouts"
    axis.set(xlabel=f"{what}, first direction", ylabel="second direction", title="Neurons")


def _draw_means(axis: Any, found: "Coding") -> None:
    """Neurons by class; in the order of codes, then of contributions."""
    order = [code.neurons[np.argsort(-found.contributions[code.neurons])] for code in found.codes]
    coded = np.concatenate(order) if order else np.array([], int)
    rest = np.setdiff1d(np.arange(len(found.means)), coded)
    rows = np.concatenate([coded, rest[np.argsort(-found.contributions[rest])]])
    rows = rows[:SHOWN] if found.scheme == "sparse" else rows
    image = axis.imshow(found.means[rows], aspect="auto", cmap="viridis", interpolation="nearest")
    axis.figure.colorbar(image, ax=axis, label="mean activity", shrink=0.9)
    axis.set_xticks(range(len(found.classes)), [str(name) for name in found.classes])
    for edge in np.cumsum([len(part) for part in order])[: len(order)]:
        axis.axhline(edge - 0.5, color="white", lw=0.7)
    ylabel = f"neurons, the first {len(rows)}" if len(rows) < len(found.means) else "neurons, by code"
    axis.set(xlabel="class", ylabel=ylabel, title="Class means")


def _draw_contributions(axis: Any, found: "Coding") -> None:
    """Share of all contributions in the strongest neurons, with the numbers that decided."""
    falling = np.sort(found.contributions)[::-1]
    share = np.cumsum(falling) / falling.sum()
    axis.plot(np.arange(1, len(share) + 1) / len(share), share, color=COLORS[0])
    axis.plot([0, 1], [0, 1], color="0.6", lw=0.8, ls=":")
    axis.plot([0.1], [found.statistics.share], "o", color=COLORS[1], ms=4)
    numbers = found.statistics
    text = (
        f"strength {numbers.strength:.2f}\ntop tenth {numbers.share:.2f}\n"
        f"neighbour {numbers.neighbour:.2f}\nkurtosis {numbers.kurtosis:.2f}"
    )
    axis.text(0.97, 0.05, text, transform=axis.transAxes, ha="right", va="bottom", fontsize=7)
    axis.set(
        xlabel="share of neurons", ylabel="share of contributions", title="Spread of contributions", ylim=(0, 1.02)
    )
