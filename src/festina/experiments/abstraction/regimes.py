"""Where networks are flexible and where they are forgetful: a map over gate speed, block length and regularisation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Experiment, Panels, Preset, Result, use
from festina.figures.panels import Page, map_of
from festina.models.task_abstraction import LARGE
from festina.sources import SANDBRINK_2024

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MODEL = models.TaskAbstraction
STRENGTH, TIMESCALE = 0.3, 0.005  # of the bounds in the first map, of the gates in the second
NOTEBOOK = SANDBRINK_2024.at("repository aproca/neural_task_abstraction, fig5_NTA_hpam.ipynb")
UNLIKE_PRINT = (
    "likely the source: its published code, run anew, differs from its printed values as much, see the experiment's "
    "description"
)
SOURCE, BATCH = 7.0, 200  # how long the source trains every cell, and inputs that it sees in a step
ACROSS = {"speed": "gate_timescale", "strength": "strength"}  # what varies in a map, besides the block length
TITLES = {"speed": f"s = {STRENGTH:g}", "strength": f"τ$_c$ = {TIMESCALE:g}"}
LABELS = {"speed": "gate timescale τ$_c$", "strength": "strength s of the regulariser"}
LENGTHS = (1.0, 0.8, 0.6, 0.4, 0.1)
COLUMNS = {"speed": (0.02, 0.04, 0.06, 0.08, 0.1), "strength": (0.0, 0.05, 0.1, 0.15, 0.2)}
PRINTED = {  # total alignments that the notebook prints, one row for each block length
    "speed": (
        (0.9998, 0.994, 0.993, 0.917, 0.919),
        (0.999, 0.997, 0.987, 0.919, 0.743),
        (0.999, 0.985, 0.920, 0.625, 0.642),
        (0.994, 0.595, 0.640, 0.664, 0.684),
        (0.695, 0.702, 0.706, 0.706, 0.706),
    ),
    "strength": (
        (0.546, 0.416, 1.0, 1.0, 1.0),
        (0.500, 0.698, 1.0, 1.0, 1.0),
        (0.504, 1.0, 1.0, 1.0, 1.0),
        (0.569, 0.908, 0.997, 0.995, 0.988),
        (0.662, 0.686, 0.623, 0.637, 0.642),
    ),
}


class Regimes(Experiment):
    """Students specialise only if gates are fast, gates are bounded and blocks are long enough.

    Two maps of the total alignment after a fixed time: over gate timescale τ_c and block length at one strength s of
    the regulariser, and over s and block length at one τ_c, with coefficients 5s/3 of Σ max(0, −c) and 25s/6 of
    (‖c‖₁ − 1)². All cells of a seed start from one network and see one stream of data. With `closure` data a map of
    100 × 100 cells and 10 seeds takes seconds. Beside every map of moderate size stands its limit for infinitely many
    inputs, from the inner products of students and teachers alone.

    The published figure was evidently made with the `mean` convention: under `sum`, the panel of gate speeds does not
    specialise at all. The authors' notebook prints both maps, as means of ten seeds. Ten seeds of ours differ from
    them by .10 (root mean square over the 25 cells) in each map, most of all

    - with τ_c = .06 and more at the longest blocks (.90 .74 .71 for a printed .993 .917 .919 at τ_B = 1),
    - just beyond the edge of specialisation, where .60 to .64 is printed and .71 to .75 found,
    - at the edge of the second map (strength .05), and at its shortest blocks, where .82 to .90 is found for a printed
      .62 to .69 with any regulariser.

    The notebook's numbers are not those of the code beside it: run anew, that code differs from the printed values as
    much, and from the maps here by .01 and .02. How the printed values were computed is not known, but likely from
    larger initial weights: with
    `scale=0.1`, ten times the published one, the second map is off by .05 and the first by .08. `abstraction/starts`
    has the maps of all scales.
    """

    name = "abstraction/regimes"
    sources = (SANDBRINK_2024,)
    arms = Panels(
        speed=Arms(use(MODEL, strength=STRENGTH), gate_timescale=COLUMNS["speed"], block_length=LENGTHS),
        strength=Arms(use(MODEL, gate_timescale=TIMESCALE), strength=COLUMNS["strength"], block_length=LENGTHS),
    )
    base = {"nonnegativity": 5.0 / 3.0, "normalization": 25.0 / 6.0, "weight_timescale": 0.1, "convention": "mean"}
    base |= {"until": SOURCE, "records": 70, "recorded": "totals"}
    seeds = 10
    quick = {"seeds": 3, "data": "closure"}
    presets = (
        Preset("Figure 5", "Students specialise where gates are fast, gates are bounded and blocks are long."),
        Preset(
            "larger start",
            "From weights ten times larger both maps come nearer to those that the authors' notebook prints.",
            {"scale": 0.1},
        ),
        Preset("free gates", "Without bounds nothing specialises.", {"nonnegativity": 0.0, "normalization": 0.0}),
        Preset(
            "slow students",
            "Students three times slower hardly specialise anywhere in the same time.",
            {"weight_timescale": 0.3},
        ),
    )

    @claims.theory(claims.below(1e-10))
    def closed(self, result: Result) -> xr.DataArray:
        """With infinitely many inputs the dynamics closes on the inner products of students and teachers (largest
        error).
        """
        _gap(result, ("population", "closure"))
        return xr.DataArray(result.errors("total_alignment", "loss"), dims="run")

    @claims.theory(claims.below(0.05), source=SANDBRINK_2024.at("section 5.1"))
    def many_samples(self, result: Result) -> xr.DataArray:
        """Batches of 200 inputs act nearly as infinitely many do (difference of each cell's mean total alignment from
        that limit; our threshold).
        """
        return abs(_gap(result, ("sampled", "wishart")).mean("run"))

    @claims.paper(SANDBRINK_2024.at("fig. 5"), claims.above(0.98))
    def fast_gates(self, result: Result) -> xr.DataArray:
        """With the fastest gates and the longest blocks students specialise (total alignment, 1 at most; our
        threshold).
        """
        return alignments(result, "speed").isel(gate_timescale=0, block_length=-1)

    @claims.paper(SANDBRINK_2024.at("fig. 5"), claims.below(-0.85))
    def slow_gates(self, result: Result) -> float:
        """Students specialise less, the slower the gates (rank correlation of total alignment with τ_c at the longest
        blocks; our threshold).
        """
        ends = alignments(result, "speed").isel(block_length=-1).mean("run").values
        if len(ends) < 3:
            raise claims.NotApplicable("needs at least three gate timescales")
        return np.corrcoef(np.arange(len(ends)), np.argsort(np.argsort(ends)))[0, 1]

    @claims.paper(SANDBRINK_2024.at("section 6, fig. 5"), claims.above(0.2))
    def long_blocks(self, result: Result) -> xr.DataArray:
        """In equal time long blocks specialise more than short ones (total alignment of the longest less the
        shortest, fastest gates; our threshold).
        """
        ends = alignments(result, "speed").isel(gate_timescale=0)
        if ends.sizes["block_length"] < 2:
            raise claims.NotApplicable("needs at least two block lengths")
        return ends.isel(block_length=-1) - ends.isel(block_length=0)

    @claims.paper(SANDBRINK_2024.at("fig. 5"), claims.below(0.75))
    def unbounded(self, result: Result) -> xr.DataArray:
        """Without a regulariser nothing specialises, however fast the gates (largest total alignment over block
        lengths; our threshold).
        """
        return _at(alignments(result, "strength"), strength=0.0).max("block_length")

    @claims.paper(SANDBRINK_2024.at("fig. 5"), claims.above(0.98))
    def bounded(self, result: Result) -> xr.DataArray:
        """With a regulariser of strength .1 or more, and blocks of .4 or more, all networks specialise (mean total
        alignment of each cell; our threshold).
        """
        strong = alignments(result, "strength").mean("run").sel(strength=slice(0.1 - 1e-9, None))
        if not (cells := strong.sel(block_length=slice(0.4 - 1e-9, None))).size:
            raise claims.NotApplicable("needs strengths of .1 and more, and blocks of .4 and more")
        return cells

    @claims.code(NOTEBOOK, claims.near(0.919, 0.02), reason=UNLIKE_PRINT)
    def slowest_gates(self, result: Result) -> xr.DataArray:
        """Even the slowest gates, τ_c = .1, reach a total alignment of .919 at the longest blocks, τ_B = 1."""
        return _at(alignments(result, "speed"), gate_timescale=0.1, block_length=1.0)

    @claims.code(NOTEBOOK, claims.near(0.642, 0.02), reason=UNLIKE_PRINT)
    def short_blocks(self, result: Result) -> xr.DataArray:
        """At the shortest blocks, τ_B = .1, a regulariser of strength .2 leaves a total alignment of only .642."""
        return _at(alignments(result, "strength"), strength=0.2, block_length=0.1)

    @claims.code(NOTEBOOK, claims.below(0.05), reason=UNLIKE_PRINT, each={"which": tuple(PRINTED)})
    def printed_table(self, result: Result, which: str) -> xr.DataArray:
        """All 25 cells of the printed table of the {which} map are met (root mean square over cells of the difference
        of mean total alignments; our threshold).
        """
        return off_print(result, which)

    def figure(self, result: Result) -> Figure:
        """The maps of the total alignment: block lengths upwards, the other field to the right."""
        config = result.config
        with Page(1, len(PRINTED), height=3.1) as page:
            for axis, which in zip(page.axes[0], PRINTED, strict=True):
                ends = alignments(result, which, whole=False).mean("run")
                map_of(axis, ends, ACROSS[which], "block_length", numbers=True, vmin=0.3, vmax=1.0)
                axis.set(xlabel=LABELS[which], ylabel="block length τ$_B$", title=TITLES[which])
            look = {"label": "total alignment", "shrink": 0.9, "ticks": [0.4, 0.6, 0.8, 1.0]}
            page.figure.colorbar(page[0].images[0], ax=page.axes[0].tolist(), **look)
            inputs = f"{config.data} (B = {config.batch if config.data in ('sampled', 'wishart') else '∞'})"
            seeds = f"mean of {result.data.sizes['run']} seeds, t = {config.until:g}"
            page.figure.suptitle(f"{inputs}, {config.convention} convention, {seeds}", fontsize=7.5, color="0.35")
        return page.figure


def alignments(result: Result, which: str, *, whole: bool = True) -> xr.DataArray:
    """The total alignment at the end of one map: (run, …, gate_timescale or strength, block_length), rising."""
    if whole and result.config.until < SOURCE - 1e-9:
        raise claims.Undecided(f"total alignment at the end of training needs --until {SOURCE:g}")
    dims = [ACROSS[which], "block_length"]
    return result.panel(which)["total_alignment"].isel(time=-1).transpose("run", ..., *dims).sortby(dims)


def as_printed(result: Result, which: str) -> xr.DataArray:
    """The cells that are printed, in their order: (run, …, block_length, gate_timescale or strength)."""
    cells = _at(alignments(result, which), **{"block_length": LENGTHS, ACROSS[which]: COLUMNS[which]})
    return cells.transpose("run", ..., "block_length", ACROSS[which])


def off_print(result: Result, which: str) -> xr.DataArray:
    """By how much means over runs differ from a printed table: the root mean square over its 25 cells."""
    gap = as_printed(result, which).mean("run") - np.asarray(PRINTED[which])
    return (gap**2).mean(["block_length", ACROSS[which]]) ** 0.5


def _at(ends: xr.DataArray, **wanted: Any) -> xr.DataArray:
    """Some values of dimensions, by name."""
    for dim, values in wanted.items():
        missing = [value for value in np.ravel(values) if not np.isclose(ends[dim], value).any()]
        if missing:
            raise claims.NotApplicable(f"needs {missing[0]:g} among the values of {dim}")
    return ends.sel({dim: np.asarray(values) for dim, values in wanted.items()}, method="nearest")


def _gap(result: Result, data: tuple[str, ...]) -> xr.DataArray:
    """Alignments at the end less those in the limit of infinitely many inputs."""
    if result.config.data in ("sampled", "wishart") and result.config.batch < BATCH:
        raise claims.NotApplicable(f"needs batches of at least {BATCH} inputs")
    if result.config.data not in data or result.theory is None:
        raise claims.NotApplicable(f"needs {' or '.join(data)} data, and at most {LARGE} networks")
    return (result["total_alignment"] - result.theory["total_alignment"]).isel(time=-1)
