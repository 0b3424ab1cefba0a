"""The gates of a layer on one page."""

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from festina.measures.effective import EffectiveNetwork
    from festina.measures.gates import Gates

BLUE, ORANGE = "#0072B2", "#D55E00"
MOST_GROUPS = 10
SMALL: dict[Any, Any] = {"font.size": 8, "axes.spines.top": False, "axes.spines.right": False, "axes.titlesize": 8.5}


def draw(found: "Gates", effective: "EffectiveNetwork | None") -> Figure:
    """Raster of gates, share by number of contexts against the null, strongest groups, and what they explain."""
    panels = 3 if effective is None else 4
    with plt.rc_context(SMALL):
        figure, axes = plt.subplots(
            1,
            panels,
            figsize=(2.0 + 2.3 * (panels - 1), 2.7),
            layout="constrained",
            width_ratios=[1.25] + [1] * (panels - 1),
        )
        _draw_raster(axes[0], found)
        _draw_sizes(axes[1], found)
        _draw_groups(axes[2], found)
        if effective is not None:
            _draw_losses(axes[3], effective)
    return figure


def _draw_raster(axis: Any, found: "Gates") -> None:
    """Units, sorted into groups, against samples, sorted by context and item."""
    contexts = found.samples.contexts
    keys = (contexts,) if found.samples.items is None else (found.samples.items, contexts)
    order = np.lexsort(keys)
    units = np.concatenate([group.units[np.argsort(-found.strength[group.units])] for group in found.groups])
    axis.imshow(found.on[order][:, units].T, aspect="auto", cmap="Greys", vmin=0, vmax=1.4, interpolation="nearest")
    edges = np.cumsum([np.sum(contexts == name) for name in found.contexts])
    for edge in edges[:-1]:
        axis.axvline(edge - 0.5, color=ORANGE, lw=0.8)
    sizes = np.cumsum([len(group.units) for group in found.groups])
    for size in sizes[:-1]:
        axis.axhline(size - 0.5, color=BLUE, lw=0.6)
    middles = (np.concatenate([[0], edges[:-1]]) + edges) / 2 - 0.5
    axis.set_xticks(middles, [str(name) for name in found.contexts])
    axis.set(xlabel="samples, by context", ylabel="units, by group", title="Gates (dark = on)")


def _draw_sizes(axis: Any, found: "Gates") -> None:
    sizes = np.arange(len(found.by_size))
    low, middle, high = np.percentile(found.null, [2.5, 50, 97.5], axis=0)  # a mean need not lie within
    axis.bar(sizes, found.by_size, color=BLUE, width=0.62, label="found")
    axis.errorbar(
        sizes, middle, yerr=[middle - low, high - middle], fmt="_", color=ORANGE, capsize=3, label="shuffled, 95 %"
    )
    axis.set_xticks(sizes)
    axis.set(xlabel="contexts a unit is on in", ylabel="share of strength", title="Selectivity")
    axis.legend(frameon=False, fontsize=7)


def _draw_groups(axis: Any, found: "Gates") -> None:
    shown = found.groups[:MOST_GROUPS]
    places = np.arange(len(shown))
    axis.barh(places, [group.share for group in shown], color=BLUE, height=0.62)
    names = [group.name if len(group.name) <= 18 else f"{group.name[:16]} …" for group in shown]
    axis.set_yticks(places, names, fontsize=7)
    axis.invert_yaxis()
    left = len(found.groups) - len(shown)
    more = f" (and {left} more)" if left else ""
    axis.set(xlabel="share of strength", title=f"Strongest groups{more}")


def _draw_losses(axis: Any, effective: "EffectiveNetwork") -> None:
    counts = np.arange(1, len(effective.losses) + 1)
    axis.plot(counts, effective.losses, "o-", color=BLUE, ms=3, label="gated linear")
    axis.axhline(effective.loss_linear, color=ORANGE, ls="--", lw=1, label="linear")
    axis.axhline(effective.loss_zero, color="0.5", ls=":", lw=1, label="no network")
    axis.set(xlabel="pathways, strongest first", ylabel="loss", title="Effective network", ylim=(0, None))
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.legend(frameon=False, fontsize=7)
