"""Which fully connected networks specialise: maps over block length, speed of the second layer, and its bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from festina import claims, models
from festina._lazy import xr
from festina.experiment import Arms, Experiment, Panels, Preset, Result, use
from festina.figures.panels import Page, map_of
from festina.sources import SANDBRINK_2024

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MODEL = models.ConnectedAbstraction
PLACE = SANDBRINK_2024.at("app. A.4.1, fig. A.7")
SOURCE = 20.0  # how long the source trains every cell
STRENGTH, TIMESCALE = 0.25, 0.01  # of the bounds in the first map, of the second layer in the second
LENGTHS = (0.8, 0.6, 0.4, 0.2, 0.1)
LONG = 0.5  # of the longest block: blocks from this share on are long
FAST = 3.0  # a second layer is fast if the timescale of the first is at least so many times its own


class ConnectedMap(Experiment):
    """A fully connected network specialises only with long blocks, a fast second layer, and bounds on it.

    The network and the sorting of `abstraction/connected` in every cell of two maps: block length τ_B × timescale τ₂ of
    the second layer (at one strength s of the bounds), and τ_B × s (at one τ₂). The total time is the same in all
    cells, so that short blocks come with many switches. The bounds are s·(10/11 Σ max(0, −C) + 5/11 (‖C‖₂ − 1)²), and
    what is mapped is the total alignment of the sorted first layer with all rows of the teachers at the end.

    Scales are those of the `mean` convention (unit teachers, loss averaged over outputs), with which the paper's maps
    were evidently made. All cells of a run share teachers, initial weights and inputs. The paper prints colours, not
    numbers: claims are about their order. In the shortest blocks nothing specialises, so that the speed of the second
    layer matters little there; and bounds can be too strong.
    """

    name = "abstraction/connected_map"
    sources = (SANDBRINK_2024,)
    arms = Panels(
        timescale=Arms(
            use(MODEL, strength=STRENGTH), block_length=LENGTHS, gate_timescale=(0.0075, 0.01, 0.0125, 0.015, 0.02)
        ),
        strength=Arms(use(MODEL, gate_timescale=TIMESCALE), block_length=LENGTHS, strength=(0.0, 0.2, 0.25, 0.3, 0.35)),
    )
    base = {"weight_timescale": 0.04, "nonnegativity": 10 / 11, "normalization": 5 / 11, "until": SOURCE}
    base |= {"records": 40, "convention": "mean", "recorded": "rows"}
    seeds = 10
    quick = {
        "seeds": 2,
        "block_length": (0.8, 0.4, 0.1),
        "gate_timescale": (0.0075, 0.01, 0.02),
        "strength": (0.0, 0.25),
    }
    presets = (
        Preset(
            "Figure A.7", "Rows agree with teachers where blocks are long, the second layer is fast and it is bounded."
        ),
        Preset(
            "weak bounds",
            "With a fifth of the bounds the first map shows less specialisation everywhere.",
            {"nonnegativity": 2 / 11, "normalization": 1 / 11},
        ),
    )

    @claims.paper(PLACE, claims.above(0.7))
    def specialised(self, result: Result) -> xr.DataArray:
        """With long blocks, a fast second layer and bounds on it, rows agree with those of the teachers (total
        alignment in each such cell, mean of runs; our threshold).
        """
        cells = _fast(result)
        return cells.isel(block_length=(cells["block_length"] >= LONG * cells["block_length"].max() - 1e-9).values)

    @claims.paper(PLACE, claims.below(0.5))
    def bounds_needed(self, result: Result) -> xr.DataArray:
        """Without bounds rows do not agree with those of the teachers, however long the blocks are (total alignment,
        mean of runs; our threshold).
        """
        cells = alignments(result, "strength")
        if 0.0 not in cells["strength"]:
            raise claims.NotApplicable("needs strength 0 among its values")
        return cells.sel(strength=0.0)

    @claims.paper(PLACE, claims.above(0.1), loosely=claims.above(0.0))
    def long_blocks_needed(self, result: Result) -> xr.DataArray:
        """Long blocks specialise more than short ones, for every fast second layer (total alignment in the longest less
        that in the shortest; our threshold).
        """
        return _gain(_fast(result), "block_length")

    @claims.paper(PLACE, claims.above(0.1), loosely=claims.above(0.0))
    def fast_second_layer_needed(self, result: Result) -> xr.DataArray:
        """A fast second layer specialises more than a slow one, for blocks of every length (total alignment with the
        fastest less that with the slowest; our threshold).
        """
        return -_gain(alignments(result, "timescale"), "gate_timescale")

    def figure(self, result: Result) -> Figure:
        """Both maps of total alignment, with the number in every cell."""
        across = {
            "timescale": ("gate_timescale", "timescale τ₂ of the second layer", f"strength s = {STRENGTH:g}"),
            "strength": ("strength", "strength s of the bounds", f"timescale τ₂ = {TIMESCALE:g}"),
        }
        with Page(1, 2, height=3.0, sharey=True) as page:
            for axis, (which, (along, label, title)) in zip(page.axes[0], across.items(), strict=True):
                map_of(
                    axis, alignments(result, which, whole=False), along, "block_length", numbers=True, vmin=0, vmax=1
                )
                axis.set(xlabel=label, ylabel=r"block length $\tau_B$")
                axis.set_title(title, fontsize=8)
            page[1].set_ylabel("")
            bar = {"label": "total alignment at the end", "pad": 0.02}
            page.figure.colorbar(page[0].images[0], ax=page.axes[0].tolist(), **bar)
        return page.figure


def alignments(result: Result, which: str, *, whole: bool = True) -> xr.DataArray:
    """The total alignment at the end of one map, mean of runs, with both dimensions rising."""
    if whole and result.config.until < SOURCE - 1e-9:
        raise claims.Undecided(f"total alignment at the end of training needs --until {SOURCE:g}")
    cells = result.panel(which)["total_alignment"].isel(time=-1).mean("run")
    return cells.sortby([str(dim) for dim in cells.dims])


def _fast(result: Result) -> xr.DataArray:
    """The cells of the first map with a fast second layer."""
    cells = alignments(result, "timescale")
    fast = cells["gate_timescale"] * FAST <= result.config.weight_timescale * (1 + 1e-9)
    if not fast.any():
        raise claims.NotApplicable("needs a fast second layer")
    return cells.isel(gate_timescale=fast.values)


def _gain(cells: xr.DataArray, dim: str) -> xr.DataArray:
    """What is gained from the smallest to the largest value along a dimension."""
    if cells.sizes[dim] < 2:
        raise claims.NotApplicable(f"needs two values of {dim}")
    return cells.isel({dim: -1}, drop=True) - cells.isel({dim: 0}, drop=True)
