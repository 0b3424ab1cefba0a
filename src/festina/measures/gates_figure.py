"""The gates of a layer on one page."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from festina.style import BLUE, GREY, PALETTE, VERMILLION, style

if TYPE_CHECKING:
    from festina.measures.effective import EffectiveNetwork
    from festina.measures.gates import Gates
    from festina.measures.groups import Group

MOST_GROUPS = 10
MOST_EDGES = 40  # groups with a line between them: more would hide the gates
MOST_TICKS = 24
LONGEST = 16  # letters of a label


def draw(found: "Gates", effective: "EffectiveNetwork | None") -> Figure:
    """Raster of gates, share by number of contexts against the null, strongest groups, and what they explain."""
    panels = 3 if effective is None else 4
    with style():
        figure, axes = plt.subplots(
            1, panels, figsize=(2.1 + 2.4 * (panels - 1), 2.9), width_ratios=[1.25] + [1] * (panels - 1)
        )
        _draw_raster(axes[0], found)
        _draw_sizes(axes[1], found)
        _draw_groups(axes[2], found)
        if effective is not None:
            _draw_losses(axes[3], effective)
    return figure


def draw_thresholds(found: "Gates", scanned: xr.Dataset) -> Figure:
    """Shares by number of contexts, and the contextual share, over thresholds; the null dashed."""
    at = scanned["threshold"]
    with style():
        figure, axes = plt.subplots(1, 2, figsize=(6.6, 2.7), sharex=True, sharey=True)
        sizes = scanned.sizes["contexts"]
        shades = PALETTE if sizes <= len(PALETTE) else plt.get_cmap("viridis")(np.linspace(0, 0.9, sizes))
        for size in range(sizes):
            axes[0].plot(at, scanned["share"].isel(contexts=size), color=shades[size], label=f"{size}")
            axes[0].plot(at, scanned["null"].isel(contexts=size), color=shades[size], lw=0.8, ls="--")
        axes[0].legend(title="contexts", ncols=1 + (sizes - 1) // 6, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        axes[1].plot(at, scanned["contextual"], color=BLUE, label="found")
        axes[1].plot(at, scanned["contextual_null"], color=BLUE, lw=0.8, ls="--", label="shuffled")
        taken = _taken(found, at.attrs["long_name"])
        for axis in axes if taken is not None else ():
            axis.axvline(taken, color=GREY, lw=0.8, ls=":", label="taken" if axis is axes[1] else None)
        axes[1].legend()
        axes[0].set(ylabel="share of strength", title="By contexts a unit is on in", ylim=(-0.02, 1.02))
        axes[1].set(title="Purely contextual")
        figure.supxlabel(at.attrs["long_name"], fontsize=8.5)
    return figure


def _taken(found: "Gates", axis: str) -> float | None:
    """Where the threshold of an analysis lies on the axis of a scan, if it is on it."""
    if found.above.common:
        return float(found.above.of_units[0]) if "all units" in axis else None
    return 0.5 if found.above.reasons and "low (0)" in axis else None


def _draw_raster(axis: Any, found: "Gates") -> None:
    """Units, sorted into groups, against samples, sorted by context and item."""
    numbers = found.samples.numbers
    order = np.lexsort((numbers,) if found.samples.items is None else (found.samples.items, numbers))
    units = np.concatenate([group.units[np.argsort(-found.strength[group.units])] for group in found.groups])
    axis.imshow(found.on[order][:, units].T, aspect="auto", cmap="Greys", vmin=0, vmax=1.4)
    edges = np.cumsum(np.bincount(numbers, minlength=len(found.contexts)))
    for edge in edges[:-1]:
        axis.axvline(edge - 0.5, color=VERMILLION, lw=0.8)
    for size in np.cumsum([len(group.units) for group in found.groups])[:-1] if len(found.groups) <= MOST_EDGES else ():
        axis.axhline(size - 0.5, color=BLUE, lw=0.6)
    middles = (np.concatenate([[0], edges[:-1]]) + edges) / 2 - 0.5
    _name_contexts(axis, found, middles)
    axis.yaxis.get_major_locator().set_params(integer=True)
    axis.set(xlabel="samples, by context", ylabel="units, by group", title="Gates (dark = on)")


def _name_contexts(axis: Any, found: "Gates", middles: np.ndarray) -> None:
    """Labels that do not run into each other: slanted if they are long, with the numbers that name groups instead."""
    names = [_short(str(name)) for name in found.contexts]
    if _numbered(found):
        names = [f"{number}: {name}" for number, name in enumerate(names, start=1)]
    some = slice(None, None, -(-len(names) // MOST_TICKS))
    slanted = sum(map(len, names[some])) > LONGEST
    look = {"rotation": 40, "ha": "right", "rotation_mode": "anchor"} if slanted else {}
    axis.set_xticks(middles[some], names[some], **look)


def _numbered(found: "Gates") -> bool:
    """Whether the contexts of some group are too long for a label, so that they are named by number."""
    return any(len(replace(group, items=None).name) > LONGEST for group in found.groups[:MOST_GROUPS])


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 2]} …"


def _group_name(found: "Gates", group: "Group") -> str:
    """A group by its contexts, and how many items it has if naming them would take too long."""
    numbered = _numbered(found)
    if not numbered and len(group.name) <= LONGEST:
        return group.name
    contexts = _by_number(found, group) if numbered else replace(group, items=None).name
    return contexts if group.items is None else f"{contexts} | {len(group.items)} items"


def _by_number(found: "Gates", group: "Group") -> str:
    """The numbers of a group's contexts, those that follow one another as 2–5."""
    numbers = [found.contexts.index(name) + 1 for name in group.contexts]
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    parts = [str(run[0]) if len(run) == 1 else f"{run[0]}{',' if len(run) == 2 else '–'}{run[-1]}" for run in runs]
    return ",".join(parts)


def _draw_sizes(axis: Any, found: "Gates") -> None:
    sizes = np.arange(len(found.by_size))
    low, middle, high = np.percentile(found.null, [2.5, 50, 97.5], axis=0)  # a mean need not lie within
    axis.bar(sizes, found.by_size, color=BLUE, width=0.62, label="found")
    axis.errorbar(
        sizes, middle, yerr=[middle - low, high - middle], fmt="_", color=VERMILLION, capsize=3, label="shuffled, 95 %"
    )
    axis.set_xticks(sizes[:: -(-len(sizes) // MOST_TICKS)])
    top = max(float(np.max(found.by_size)), float(np.max(high)))
    axis.set(xlabel="contexts a unit is on in", ylabel="share of strength", title="Selectivity", ylim=(0, 1.3 * top))
    axis.legend(loc="upper left")  # above the highest bar


def _draw_groups(axis: Any, found: "Gates") -> None:
    shown = found.groups[:MOST_GROUPS]
    places = np.arange(len(shown))
    axis.barh(places, [group.share for group in shown], color=BLUE, height=0.62)
    axis.set_yticks(places, [_group_name(found, group) for group in shown])
    axis.set_ylim(max(len(shown), 4) - 0.5, -0.5)  # the first on top; few groups have no thicker bars than many
    left = len(found.groups) - len(shown)
    title = f"{len(shown)} of {len(found.groups)} groups" if left else "Groups"
    axis.set(xlabel="share of strength", ylabel="contexts, by number" if _numbered(found) else "contexts", title=title)


def _draw_losses(axis: Any, effective: "EffectiveNetwork") -> None:
    counts = np.arange(1, len(effective.losses) + 1)
    axis.plot(counts, effective.losses, "o-", color=BLUE, ms=3, label="gated linear")
    axis.axhline(effective.loss_linear, color=VERMILLION, ls="--", lw=1, label="linear")
    axis.axhline(effective.loss_zero, color=GREY, ls=":", lw=1, label="no network")
    top = 1.75 * max(effective.loss_zero, effective.loss_linear, float(effective.losses.max()))
    axis.set(xlabel="pathways, by strength", ylabel="loss", title="Effective network", ylim=(0, top or None))
    axis.xaxis.get_major_locator().set_params(integer=True)
    axis.legend(loc="upper right")
