"""The figure of `coding/descent`."""

from typing import Any

import festina as fs
from festina._lazy import np, plt
from festina.experiments.coding._descent_measures import analysed, least_loss
from festina.experiments.coding._panels import MARKERS, class_color, draw_readouts
from festina.experiments.coding.descent import SCHEMES, TRAININGS
from festina.measures.coding import SPARSE_ABOVE
from festina.models._wide import KINDS

SHADES = ("black", fs.figures.style.BLUE, fs.figures.style.VERMILLION, fs.figures.style.GREEN)
DASHES = ("-", (0, (4, 1)), (0, (1, 1)), (0, (4, 1, 1, 1)))


def draw(result: Any) -> Any:
    """Readouts of each nonlinearity trained in each way, with the name of the code; the numbers behind it; losses."""
    found = {
        (kind, training): [analysed(result, kind, training, run) for run in range(result.data.sizes["run"])]
        for kind in KINDS
        for training in TRAININGS
    }
    with fs.figures.style.style():
        figure = plt.figure(figsize=(fs.figures.style.TWO_COLUMNS, 7.0))
        parts: Any = figure.subfigures(2, 1, height_ratios=(2.35, 1.0))
        above, below = parts
        grid = above.subplots(len(KINDS), len(TRAININGS))
        for row, kind in zip(grid, KINDS, strict=True):
            for axis, training in zip(row, TRAININGS, strict=True):
                _draw_code(axis, found[kind, training], kind)
            row[0].set_ylabel(f"{kind}\nreadout $a_2$")
        for axis, training in zip(grid[0], TRAININGS, strict=True):
            axis.annotate(training, (0.5, 1.28), xycoords="axes fraction", ha="center", fontsize=9, fontweight="bold")
        for axis in grid[-1]:
            axis.set_xlabel("readout $a_1$")
        above.legend(handles=_classes(result), loc="outside lower center", ncols=len(result.config.counts))
        panels = below.subplots(1, 3)
        _draw_shares(panels[0], found)
        _draw_loss(panels[1], result, "linear")
        _draw_loss(panels[2], result, "rectified")
        fs.figures.style.letter(*grid[:, 0], *panels)
    return figure


def _draw_code(axis: Any, found: list[Any], kind: str) -> None:
    """Neurons of the first run, by the class in which they are most active; the names are those of all runs."""
    first = found[0]
    strongest = np.argmax(first.means, axis=1)
    for each in np.unique(strongest):
        own = {"color": class_color(each), "marker": MARKERS[each % len(MARKERS)]}
        draw_readouts(
            axis, first.readout[strongest == each], np.zeros(np.sum(strongest == each)), ms=2.6, alpha=0.7, **own
        )
    axis.set(xlabel="", ylabel="")
    axis.margins(0.1)
    names = [each.scheme for each in found]
    common = max(sorted(set(names)), key=names.count)
    count = "" if names.count(common) == len(names) else f" ({names.count(common)} of {len(names)})"
    color = "black" if common == SCHEMES[kind] else fs.figures.style.VERMILLION
    note = "" if common == SCHEMES[kind] else f", not {SCHEMES[kind]}"
    axis.set_title(f"{common}{count}{note}", fontsize=8, color=color)


def _classes(result: Any) -> list[Any]:
    """What colours and markers of neurons mean."""
    from matplotlib.lines import Line2D

    return [
        Line2D(
            [],
            [],
            color=class_color(each),
            marker=MARKERS[each % len(MARKERS)],
            ls="",
            ms=3.5,
            label=f"most active in class {each + 1}",
        )
        for each in range(len(result.config.counts))
    ]


def _draw_shares(axis: Any, found: dict[tuple[str, str], list[Any]]) -> None:
    """The share of the class signal in the top tenth of the neurons against the distance of neighbours."""
    for number, training in enumerate(TRAININGS):
        for other, kind in enumerate(KINDS):
            numbers = [each.statistics for each in found[kind, training]]
            share, near = (np.array([getattr(each, name) for each in numbers]) for name in ("share", "neighbour"))
            look = {"marker": MARKERS[other], "color": SHADES[number], "ls": "", "mfc": "none", "ms": 4.5, "mew": 0.9}
            axis.plot(near, share, **look)
    axis.axhline(SPARSE_ABOVE, **fs.figures.style.THEORY)
    axis.set(xlabel="distance to nearest neighbour,\nrelative to normal numbers", ylabel="share of the top tenth")
    axis.set(ylim=(0, 1.05), xlim=(-0.06, 1.75))
    for other, kind in enumerate(KINDS):
        axis.plot([], [], marker=MARKERS[other], color="0.4", ls="", mfc="none", ms=4.5, label=kind)
    axis.legend(loc="upper right", handletextpad=0.1)
    axis.annotate("sparse above", (1.73, SPARSE_ABOVE + 0.02), ha="right", fontsize=7)


def _draw_loss(axis: Any, result: Any, kind: str) -> None:
    """The loss of each run as it is trained, over that at the least energy."""
    time, least = result["time"].values, least_loss(result.config, kind)
    for number, training in enumerate(TRAININGS):
        losses = result["loss"].sel(nonlinearity=kind, training=training).transpose("run", "time").values / least
        look = {"color": SHADES[number], "ls": DASHES[number], "lw": 1.1}
        fs.figures.style.draw_band(axis, time, losses, label=training, **look)
    axis.axhline(1.0, color="0.75", lw=0.8, zorder=0)
    axis.set(yscale="log", xlabel="draw", ylabel="loss over the least", title=f"{kind} neurons")
    axis.set(xlim=(0, time[-1]), ylim=(0.7, None))
    axis.legend(loc="upper right")
