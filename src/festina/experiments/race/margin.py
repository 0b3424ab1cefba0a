"""From nonlinear to linear solutions as a margin opens between the classes of exclusive-or."""

from __future__ import annotations

from itertools import pairwise
from math import inf, sqrt
from typing import TYPE_CHECKING

import festina as fs
from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Experiment, Preset, Result
from festina.experiments._needs import require_case
from festina.experiments.race._settled import at_the_end
from festina.figures.panels import DOTS, LINES, Page, beside, curves, if_known, marks_of, means_and_law, note, pairs
from festina.sources import LECTURE, SAXE_2022
from festina.style import BLUE, THEORY, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STRENGTHS = LECTURE.at("transition to nonlinearity, s_lin and s_XoR")
BEYOND = "beyond the scope of the reduction: units from σ = .03 still answer to a second example; see the description"
CROSSING = sqrt(2.0 / 3.0)
WELL_BELOW, WELL_ABOVE = 0.4, 1.2  # margins at which the race is decided
LAST_SINGLE = sqrt(2.0)  # no unit can keep a single example from this margin on
CLOSE = 0.1  # distance of margins between which curves may be taken for straight lines
EDGE = {"color": "0.6", "lw": 0.8, "zorder": 0}
SMALL = 1e-2  # up to this standard deviation of its weights the start of a network is called small


class Margin(Experiment):
    """A rectified network solves a linearly separable task nonlinearly, unless the margin is wide.

    Pathways for one example race pathways for one class (`model/margin`). Their strengths, and that nonlinear solutions
    appear before they are needed, are the lecture's; what follows was derived here. It is a crossover and not a switch:
    the share of strength in units active on exactly one example falls with Δ, more steeply the smaller the start, and
    the curves of all starts cross at Δ* = √(2/3), the one point at which the scale of the start does not matter.

    The law is put to two tests. If the start is multiplied by k, it leads from k times the old end to the new one:
    final strengths at the smallest start, and the ratio of σ², predict the ends from all other starts. And with π₀ and
    ρ₀ from the free growth of single units nothing is fitted at all; this is the theory beside the simulation. Both
    hold to two hundredths for small starts, σ ≤ .01. With narrow margins, units from σ = .03 (from .01, below Δ = .1)
    still answer to a second example when all is learned: the share is lower there than the law has it, and even rises
    with Δ at first, so that two claims are not reproduced. For a similar reason units for one example, which cannot
    last beyond Δ = √2, are found just beyond it unless the start is small.

    The function that is learned is a misleading measure. The index 2⟨y f(z₁, z₂, 0)⟩ − 1 suggests itself, but a network
    with no linear pathway has (2−Δ²)/(2+Δ²) of it, not 1: pathways for one example follow the third input, too.
    """

    name = "race/margin"
    sources = (LECTURE, SAXE_2022)
    arms = Arms(models.Margin, scale=(3e-2, 1e-2, 1e-3, 1e-4), separation=tuple(tenth / 10 for tenth in range(1, 16)))
    seeds = 10
    quick = models.Margin.quick | {
        "seeds": 4,
        "scale": (1e-2, 1e-3, 1e-4),
        "separation": (0.2, 0.4, 0.75, 0.85, 1.2, 1.5),
    }
    presets = (
        Preset(
            "crossover",
            "Below Δ* = 0.82 units for one example win, above it units for a class; all starts cross there.",
        ),
        Preset(
            "around the crossing",
            "Close to Δ* no kind wins outright, and the smaller start has the steeper curve.",
            {"separation": (0.7, 0.75, 0.8, 0.85, 0.9), "scale": (1e-2, 1e-4)},
        ),
    )

    @claims.theory(claims.near(CROSSING, 0.03), source=STRENGTHS)
    @at_the_end
    def crossing(self, result: Result) -> xr.DataArray:
        """Shares of strength on one example, as functions of the margin, cross for neighbouring initial scales at
        Δ* = √(2/3), where s_XoR = s_lin (solved here from the lecture's strengths).
        """
        return crossings(result, close=True).mean("pair", skipna=False)

    @claims.theory(claims.below(0.06), source=STRENGTHS)
    @at_the_end
    def one_point(self, result: Result) -> xr.DataArray:
        """The curves of all initial scales cross in one point (distance of each neighbouring pair's crossing from
        Δ* = √(2/3), mean over runs).
        """
        return abs(crossings(result, close=True).mean("run", skipna=False) - CROSSING)

    @claims.theory(claims.below(0.01), source=STRENGTHS, reason=BEYOND)
    @at_the_end
    def falling(self, result: Result) -> xr.DataArray:
        """From every initial scale the share of strength active on one example falls with the margin (largest rise
        between two margins; rises below .01 are taken for noise).
        """
        require_case(result["separation"].size > 1, "several margins")
        return _mean_share(result).diff("separation").max("separation", skipna=False)

    @claims.theory(claims.above(1.0), source=STRENGTHS)
    @at_the_end
    def sharper(self, result: Result) -> xr.DataArray:
        """The smaller the initial scale, the steeper the share on one example falls at Δ* (slope over that of the next
        larger scale).
        """
        fall = _mean_share(result).sel(separation=_around(result, close=True)).diff("separation").values[:, 0]
        return xr.DataArray(fall[1:] / fall[:-1], dims="pair")

    @claims.paper(
        LECTURE.at("transition to nonlinearity: nonlinear representations emerge before they are strictly necessary"),
        claims.above(0.95),
    )
    @at_the_end
    def nonlinear(self, result: Result) -> xr.DataArray:
        """Nonlinear representations emerge before they are strictly necessary: at a margin of .4 units on for one
        example hold nearly all strength (share, smallest initial scale; our margin, our threshold).
        """
        return _smallest(result, "single_share", "the margin 0.4", WELL_BELOW, WELL_BELOW).isel(separation=0)

    @claims.paper(
        LECTURE.at("neural race reduction: the one which learns fastest dominates the solution"),
        claims.between(0.0, 0.1),
    )
    @at_the_end
    def linear(self, result: Result) -> xr.DataArray:
        """At a margin of 1.2, where s_lin > s_XoR, the linear pathways dominate: units on for one example keep little
        strength (share, smallest initial scale; our margin, our threshold).
        """
        return _smallest(result, "single_share", "the margin 1.2", WELL_ABOVE, WELL_ABOVE).isel(separation=0)

    @claims.theory(claims.below(0.01))
    @at_the_end
    def none(self, result: Result) -> xr.DataArray:
        """Beyond a margin of √2 no rectified unit can stay on for a single example (share of strength in such units,
        smallest initial scale).
        """
        return _smallest(result, "single_share", "a margin above √2", low=LAST_SINGLE)

    @claims.theory(claims.below(0.02))
    @at_the_end
    def answered(self, result: Result) -> xr.DataArray:
        """At the end both kinds of pathway together answer every example, π√(2+Δ²) + ρΔ = 1 (distance from 1, smallest
        initial scale).
        """
        single, pair = _smallest(result, "nonlinear"), _smallest(result, "linear")
        answer = single * np.sqrt(2.0 + single["separation"] ** 2) + pair * pair["separation"]
        return abs(answer - 1.0).max("separation", skipna=False)

    @claims.theory(claims.below(0.05), loosely=claims.below(0.1))
    @at_the_end
    def law(self, result: Result) -> xr.DataArray:
        """The law of the race predicts from the ends at the smallest initial scale those at other small ones, σ ≤ .01
        (largest error of the mean share, Δ < √2).
        """
        others = _small(result)[:-1]
        require_case(others, f"two starts of at most σ = {SMALL:g}")
        return _worst_error(result).sel(scale=others)

    @claims.theory(claims.below(0.05), loosely=claims.below(0.1), reason=BEYOND)
    @at_the_end
    def law_large(self, result: Result) -> xr.DataArray:
        """The law of the race predicts from the ends at the smallest initial scale those at large ones, σ > .01
        (largest error of the mean share, Δ < √2).
        """
        _small(result)
        large = ends(result)["scale"] > SMALL
        require_case(large.any(), f"a start above σ = {SMALL:g}")
        return _worst_error(result).sel(scale=large)

    @claims.theory(claims.below(0.05), loosely=claims.below(0.1))
    @at_the_end
    def nothing_fitted(self, result: Result) -> xr.DataArray:
        """The law of the race, started from the free growth of single units, predicts every share from small initial
        scales with nothing fitted (largest error of the mean share, Δ < √2).
        """
        predicted = _in_order(result.solved["single_share"].isel(run=0, time=-1))
        return _worst_error(result, predicted).sel(scale=_small(result))

    @claims.theory(claims.below(0.02))
    @at_the_end
    def index(self, result: Result) -> xr.DataArray:
        """Where all units are nonlinear, the index of nonlinearity of the learned function is not 1 but (2−Δ²)/(2+Δ²)
        (distance, Δ ≤ .4, smallest initial scale).
        """
        index = _smallest(result, "index", "a margin of at most 0.4", high=WELL_BELOW)
        return abs(index - fs.theory.margin.pure_index(index["separation"])).max("separation", skipna=False)

    def figure(self, result: Result) -> Figure:
        """Both rates, the crossover and its law, where curves cross, the misleading index, the course of learning."""
        with Page(2, 3, height=4.7) as page:
            _draw_rates(page[0])
            for place, draw in enumerate((_draw_shares, _draw_crossings, _draw_law, _draw_index), start=1):
                with if_known(page[place]):
                    draw(page[place], result)
            _draw_course(page[5], result)
        return page.figure


def _in_order(values: xr.DataArray) -> xr.DataArray:
    """Starts falling and margins rising; without a margin no count of active examples means anything."""
    require_case((values["separation"] > 0).any(), "a margin above 0")
    rising = values.sel(separation=values["separation"] > 0).sortby("separation")
    return rising.sortby("scale", ascending=False).transpose(..., "scale", "separation")


def ends(result: Result, name: str = "single_share") -> xr.DataArray:
    """A variable at the end: (run, scale, separation)."""
    return _in_order(result[name].isel(time=-1))


def _mean_share(result: Result) -> xr.DataArray:
    return ends(result).mean("run", skipna=False)


def _small(result: Result) -> list[float]:
    """Small starts, falling."""
    found = [scale for scale in ends(result)["scale"].values if scale <= SMALL]
    require_case(found, f"a start of at most σ = {SMALL:g}")
    return found


def _smallest(result: Result, name: str, what: str = "", low: float = 0.0, high: float = inf) -> xr.DataArray:
    """A variable at the end from the smallest start, which has to be small, at margins from low to high."""
    found = ends(result, name).isel(scale=-1)
    found = found.sel(separation=(found["separation"] >= low) & (found["separation"] <= high))
    require_case(found.size, what)
    _small(result)
    return found


def _worst_error(result: Result, predicted: xr.DataArray | None = None) -> xr.DataArray:
    """The largest error of a predicted share over margins at which there are units for one example, by start.

    The prediction is that from the smallest start, unless it is given.
    """
    predicted = from_smallest(result).mean("run", skipna=False) if predicted is None else predicted
    possible = predicted["separation"] < LAST_SINGLE
    require_case(possible.any(), "a margin below √2")
    return abs(predicted - _mean_share(result)).sel(separation=possible).max("separation", skipna=False)


def from_smallest(result: Result) -> xr.DataArray:
    """The shares of every run as they follow from its own end at the smallest start: (run, scale, separation).

    By the law, the end from a start k times as large is where the race leads (backwards, if k > 1) from k times the
    end: neither π₀ and ρ₀ nor T need be known.
    """
    share = ends(result)
    larger = (share["scale"] / share["scale"][-1]) ** 2
    starts = (larger * ends(result, name).isel(scale=-1, drop=True) for name in ("nonlinear", "linear"))
    return _raced(*(start.transpose(*share.dims) for start in starts))


def _raced(nonlinear: xr.DataArray, linear: xr.DataArray) -> xr.DataArray:
    """The share at the end of the race from strengths π₀ and ρ₀."""
    margins = np.broadcast_to(nonlinear["separation"].values, nonlinear.shape)
    return nonlinear.copy(data=fs.theory.margin.race(nonlinear.values, linear.values, margins).end["single_share"])


def crossings(result: Result, *, close: bool = False) -> xr.DataArray:
    """Where curves of neighbouring starts cross: (pair, run); the crossing next to Δ* counts, NaN if there is none."""
    _around(result, close)
    gap = ends(result).diff("scale").rename(scale="pair").drop_vars("pair")
    return fs.measures.zero_crossing(gap, "separation", near=CROSSING, rising=False).transpose("pair", "run")


def _around(result: Result, close: bool) -> list[float]:
    """The margins next to Δ*; close to each other, if claims need it."""
    margins = np.sort(result["separation"].values)
    after = int(np.searchsorted(margins, CROSSING))
    require_case(0 < after < margins.size, "margins on either side of √(2/3)")
    near = margins[after] - margins[after - 1] <= CLOSE + 1e-9
    require_case(near or not close, f"margins no more than {CLOSE:g} apart on either side of √(2/3)")
    require_case(result["scale"].size > 1, "several starts")
    return list(margins[after - 1 : after + 1])


def _draw_rates(axis: Axes) -> None:
    """Strengths of both kinds over the margin."""
    fine = np.linspace(0, 2.0, 200)
    nonlinear, linear = fs.theory.margin.strengths(fine)
    axis.plot(fine, np.where(fine <= LAST_SINGLE, nonlinear, np.nan), color=BLUE, label="one example")
    axis.plot(fine, linear, color=VERMILLION, ls=LINES[1], label="one class")
    axis.plot(LAST_SINGLE, fs.theory.margin.strengths(LAST_SINGLE)[0], "o", color=BLUE, mfc="white", ms=4)
    axis.plot(CROSSING, CROSSING / 2, "o", color="black", ms=4)
    note(axis, "Δ* = √(2/3)", (CROSSING, CROSSING / 2), (0, -22))
    note(axis, "none\nfrom √2", (LAST_SINGLE, 0.5), (3, -5), va="top")
    axis.set(xlabel="margin Δ", ylabel="strength s", title="The race", xlim=(0, 2), ylim=(0, 1))
    axis.legend(loc="upper left", fontsize=6.5)


def _draw_shares(axis: Axes, result: Result) -> None:
    """The crossover: marks with standard errors; lines are the law from starts between those of the run."""
    share = ends(result)
    possible = share["separation"].values[share["separation"].values < LAST_SINGLE]
    begun = (_in_order(result.solved[name].isel(run=0, time=0)) for name in ("nonlinear", "linear"))
    starts = [start.sel(separation=possible) for start in begun]
    if len(possible) > 1:
        starts = [start.interp(separation=np.linspace(possible[0], possible[-1], 100)) for start in starts]
    means_and_law(axis, share, _raced(*starts), "separation", "scale", label="σ = {:g}".format)
    axis.axvline(CROSSING, **EDGE)
    axis.set(xlabel="margin Δ", ylabel="share on one example", title="Crossover", ylim=(-0.03, 1.05), xlim=(0, 1.6))
    axis.legend(loc="lower left", fontsize=6.5, handlelength=2)


def _draw_crossings(axis: Axes, result: Result) -> None:
    """Where the curves of neighbouring starts cross, in every run."""
    axis.set(xlabel="pair of starts σ", ylabel="crossing at Δ", title="All curves cross at Δ*", xticks=[], yticks=[])
    places = crossings(result)
    spread = beside(places.sizes["run"], 0.36 / max(places.sizes["run"] - 1, 1))
    axis.plot(np.arange(len(places))[:, None] + spread, places, "o", color=BLUE, ms=3, mfc="white", mew=0.8)
    axis.axhline(CROSSING, **THEORY)
    axis.text(len(places) - 0.55, CROSSING + 0.003, "√(2/3)", fontsize=7, va="bottom", ha="right")
    scales = ends(result)["scale"].values
    axis.set_xticks(range(len(places)), [f"{one:g}\n{other:g}" for one, other in pairwise(scales)])
    axis.set(xlim=(-0.5, len(places) - 0.5), ylim=(0.7, 0.95), yticks=[0.7, 0.8, 0.9])


def _draw_law(axis: Axes, result: Result) -> None:
    """What the smallest start predicts for the others, against what they show."""
    predicted, measured = from_smallest(result).mean("run"), _mean_share(result)
    require_case(measured["scale"].size > 1, "several starts")
    others = {"scale": slice(-1), "separation": np.flatnonzero(measured["separation"] < LAST_SINGLE)}
    axis.plot([0, 1], [0, 1], **THEORY)
    pairs(axis, predicted.isel(others), measured.isel(others), "scale", label="σ = {:g}".format)
    axis.set(xlabel=f"share predicted from σ = {measured['scale'].values[-1]:g}", ylabel="share measured")
    axis.set(title="One start predicts the rest", xlim=(-0.03, 1.05), ylim=(-0.03, 1.05))
    axis.legend(loc="upper left", fontsize=6.5, handletextpad=0.2)


def _draw_index(axis: Axes, result: Result) -> None:
    """The index of the function beside the share of strength, both from the smallest start."""
    fine, looks = np.linspace(0, LAST_SINGLE, 100), marks_of(("share", "index"), lw=0.8)
    share, index = (ends(result, name).isel(scale=-1).mean("run") for name in ("single_share", "index"))
    axis.plot(fine, fs.theory.margin.pure_index(fine), **THEORY, label="all nonlinear:\n$(2-Δ^2)/(2+Δ^2)$")
    axis.plot(index["separation"], index, label="index of function", **looks["index"])
    axis.plot(share["separation"], 2 * share - 1, label="2 × share − 1", **looks["share"])
    axis.plot([CROSSING, CROSSING], [-1.08, 1.08], **EDGE)
    axis.set(xlabel="margin Δ", ylabel="nonlinearity", title="A misleading index")
    axis.set(xlim=(0, 1.6), ylim=(-1.08, 2.3), yticks=[-1, 0, 1])
    axis.legend(loc="upper right", fontsize=6.5, labelspacing=0.3, borderaxespad=0.0)


def _draw_course(axis: Axes, result: Result) -> None:
    """Loss over time from the smallest start, in the first run; lines are the law with nothing fitted."""
    scale, margins = min(result["scale"].values), result["separation"]
    near = sorted({float(abs(margins - wanted).idxmin()) for wanted in (WELL_BELOW, CROSSING, WELL_ABOVE)})
    curves(axis, result, "loss", by="separation", label=lambda x: f"Δ = {x:g}", scale=scale, separation=near)
    axis.plot([], [], color="0.3", label="simulation", **DOTS)
    axis.set(title=f"Learning (σ = {scale:g})", xlim=(0, result["time"][-1]), ylim=(-0.02, 0.54))
    axis.legend(loc="center right", fontsize=6.5)
