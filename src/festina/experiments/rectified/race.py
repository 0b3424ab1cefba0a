"""The race of all sets of contexts, and what decides it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import festina as fs
from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Experiment, Preset, Result, named, use
from festina.experiments._needs import require_case
from festina.experiments.rectified import _common as common
from festina.figures.panels import Page, marks_of
from festina.models.gated_contexts import left_over
from festina.sources import JARVIS_2025
from festina.style import BLUE, VERMILLION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SETTLED = {"scratch": 0.1, "residual": 0.5}  # share of the loss at which rivals are compared, well within the residual
TITLES = {"scratch": "from scratch", "residual": "on the residual"}
LOOKS = {"single": {"color": VERMILLION, "ls": (0, (6, 1, 1, 1))}, "all-but-one": {"color": BLUE, "ls": "-"}}


class Race(Experiment):
    """Paths on in all contexts but one win the race of all subsets by a head start, not by a larger correlation.

    Every non-empty subset of C contexts has a linear path that is on in these contexts alone, of equal width and
    initial scale, all on one joint loss in the world of `rectified/selectivity`. The *energy* of a path is the sum of
    squares of what it adds to the output over all samples. Subsets of C − 1 contexts win, with the path always on.

    How much they win by depends on the definition of energy, and on what paths see, so that there is no claim about it.
    In one run, a dozen definitions (energies, norms of W_p or of units, centred or not; the whole input or objects
    alone for partial paths) gave C − 1 shares of .29 to .67, .44 to .76 and .49 to .82 with three, four and five
    contexts. Sizes below C − 1 had at most .17 together: that they lose does not depend on the definition. The one used
    here was chosen for coming closest to shares of .51, .69 and .75 that an earlier simulation of ours had found, and
    agreement with these is no evidence.

    The source explains this by correlation: paths that share contexts see more data, and so have a larger S. In a
    centred mode σ a path of k contexts has S = √(k² + k) σ/P *at the start*. On the *residual*, what the path always on
    leaves, it has S = √(k(C − k)/C) σ/P, the same for k = 1 and k = C − 1, and largest for the middle sizes
    (`festina.theory.rectified`). So there are two races, one from scratch, and one of all paths but the common one with
    the residual as the target; and two races of single contexts against all but one alone (*duels*), from scratch (each
    with a common path) and on the residual. On the residual both kinds are equally fast, and middle sizes win the race:
    what makes C − 1 win from scratch is how much larger these paths are when the common one is done.
    """

    name = "rectified/race"
    sources = (JARVIS_2025,)
    arms = Arms(
        use(models.GatedContexts, counted="of each path", structures="same", first_layer="none"),
        contexts=(3, 4, 5),
        start=named(scratch={"target": "whole", "common": True}, residual={"target": "residual", "common": False}),
        rivals=named(
            race={"paths": "all subsets", "seen": "everything"},
            single={"paths": "single", "seen": "objects"},
            all_but_one={"paths": "all but one", "seen": "objects"},
        ),
    )
    base = {"width": 20, "deviation": 8e-6}
    seeds = 10
    quick = {"seeds": 2, "contexts": (3, 4), "width": 10, "records": 80}
    presets = (
        Preset("head start", "Paths of all contexts but one win from scratch; on the residual they have no advantage."),
        Preset(
            "large weights",
            "From weights a hundred times as large all is learned sooner, and the same paths win.",
            {"deviation": 1e-3},
        ),
    )

    @claims.paper(JARVIS_2025.at("why mixed selectivity wins: the winning strategy"), claims.above(0.0))
    def mixed_wins(self, result: Result) -> xr.DataArray:
        """In a race of all subsets of contexts, paths on in all contexts but one end with more energy than all smaller
        subsets together (difference of shares).
        """
        leads = [
            energy.sel(size=contexts - 1, drop=True) - energy.sel(size=slice(1, contexts - 2)).sum("size")
            for contexts, energy in _ends(result, "scratch", 3)
        ]
        return xr.concat(leads, "world")

    @claims.paper(
        JARVIS_2025.at("why mixed selectivity wins: sharing raises S"),
        claims.above(1.05),
        reason="the source's scope: sharing raises S before the common path is done, and not on what it leaves; see "
        "the experiment's description",
    )
    def sharing_raises_correlation(self, result: Result) -> xr.DataArray:
        """On the residual that the common path leaves, a path of all contexts but one has a larger input-output
        correlation S than one of a single context (ratio; our threshold).
        """
        return correlation_ratios(result, "residual")

    @claims.paper(JARVIS_2025.at("why mixed selectivity wins: sharing raises S"), claims.above(1.0))
    def head_start(self, result: Result) -> xr.DataArray:
        """At the start, a path of all contexts but one has a larger input-output correlation S than one of a single
        context (ratio; √(C(C − 1)/2) by theory).
        """
        return correlation_ratios(result, "scratch")

    @claims.theory(claims.near(1.0, 0.03))
    def draw_on_the_residual(self, result: Result) -> xr.DataArray:
        """On the residual that the common path leaves, paths of single contexts learn as fast as paths of all but one
        (ratio of times to half of it).
        """
        return duel(result, "residual")

    @claims.paper(JARVIS_2025.at("why mixed selectivity wins: faster than modular alternatives"), claims.above(1.4))
    def won_from_scratch(self, result: Result) -> xr.DataArray:
        """From scratch and beside a common path, paths of single contexts take longer than paths of all but one (ratio
        of times to a tenth of the loss; our threshold).
        """
        return duel(result, "scratch")

    @claims.theory(claims.below(0.0))
    def middle_sizes(self, result: Result) -> xr.DataArray:
        """Without the head start middle sizes win the race: on the residual, with C ≥ 4, paths of C − 1 contexts do not
        lead (their share of energy less the largest other).
        """
        leads = [
            energy.sel(size=contexts - 1, drop=True) - energy.drop_sel(size=contexts - 1).max("size")
            for contexts, energy in _ends(result, "residual", 4)
        ]
        return xr.concat(leads, "world")

    def figure(self, result: Result) -> Figure:
        """Both races, both duels, and the correlations behind them: a row from scratch, a row on the residual."""
        with Page(2, 4, height=4.2, width_ratios=(1.2, 1.1, 1, 1.1)) as page:
            for row, start in enumerate(SETTLED):
                _draw_course(page[row, 0], result, start)
                energy = result["energy"].sel(start=start, rivals="race").isel(time=-1)
                common.draw_ends(page[row, 1], {f"C = {c}": _sizes(energy, c) for c in result.config.contexts})
                page[row, 1].set(ylim=(0, 1.35), xlabel="contexts of a path", ylabel="energy at the end")
                page[row, 1].legend(fontsize=6, loc="upper left", ncols=2, columnspacing=0.8)
                _draw_correlations(page[row, 2], result.config.contexts, start)
                _draw_duel(page[row, 3], result, start)
        return page.figure


def _sizes(values: xr.DataArray, contexts: int) -> xr.DataArray:
    """In a world of so many contexts, for sizes from 1 to all of them."""
    return values.sel(contexts=contexts, size=slice(1, contexts)).drop_vars("contexts")


def _ends(result: Result, start: str, least: int) -> Iterator[tuple[int, xr.DataArray]]:
    """Shares of energy at the end of every race of so many contexts at least."""
    race = result.data.sel(start=start, rivals="race")
    for contexts in at_least(result, least):
        late = common.share_of_loss(race["loss"].sel(contexts=contexts)).isel(time=-1) > SETTLED[start]
        common.require_steps(~late, f"the race of {contexts} contexts ({start}) is not over", result)
        yield contexts, _sizes(race["energy"], contexts).isel(time=-1)


def at_least(result: Result, least: int) -> list[int]:
    """The numbers of contexts from one on; with two, all contexts but one are a single one."""
    many = [contexts for contexts in result.config.contexts if contexts >= least]
    require_case(many, f"{'three' if least == 3 else 'four'} contexts or more")
    return many


def correlations(contexts: int, start: str) -> np.ndarray:
    """S of one path of each size from 1 on, in units of σ/P, measured on the strongest centred mode of the data."""
    world = fs.worlds.multitask(contexts)
    targets = world.dataset.targets if start == "scratch" else left_over(world)
    _, strengths, modes = np.linalg.svd(world.common)
    along = world.dataset.inputs[:, : world.object_count] @ modes[1]
    gates = [world.contexts < size for size in range(1, contexts + 1)]
    return np.array([np.linalg.norm(along[gate] @ targets[gate]) / strengths[1] for gate in gates])


def correlation_ratios(result: Result, start: str) -> xr.DataArray:
    """S of a path on in all contexts but one over S of a path of one context, for every number of contexts."""
    measured = [correlations(contexts, start) for contexts in at_least(result, 3)]
    return xr.DataArray([every[-2] / every[0] for every in measured], dims="world")


def duel(result: Result, start: str) -> xr.DataArray:
    """The time single contexts take until the loss has settled, over that of all but one; runs × contexts."""
    loss = result["loss"].sel(start=start, contexts=at_least(result, 3))
    single, others = (loss.sel(rivals=rivals, drop=True) for rivals in ("single", "all-but-one"))
    ratio = common.slowness(SETTLED[start], single, others)
    common.require_steps(ratio.notnull(), f"the loss of a rival ({start}) has not settled", result)
    return ratio


def _draw_course(axis: Axes, result: Result, start: str) -> None:
    contexts = max(result.config.contexts)
    energy = _sizes(result["energy"].sel(start=start, rivals="race"), contexts)
    common.draw_course(axis, energy.sel(size=slice(1, contexts if start == "scratch" else contexts - 1)), contexts)
    axis.set(ylabel="share of energy", ylim=(0, 1.5))
    axis.set_title(f"Race {TITLES[start]}, C = {contexts}", fontsize=7.5)
    axis.legend(fontsize=6, loc="upper center", ncols=2, columnspacing=0.8)


def _draw_correlations(axis: Axes, every: tuple[int, ...], start: str) -> None:
    for contexts, look in marks_of(every, ms=3.5).items():
        fine = np.linspace(1, contexts, 100)
        law = np.sqrt(fine**2 + fine) if start == "scratch" else np.sqrt(fine * (contexts - fine) / contexts)
        axis.plot(fine, law, color=look["color"], lw=0.9, ls=(0, (3, 2)))
        axis.plot(range(1, contexts + 1), correlations(contexts, start), ls="none", label=f"C = {contexts}", **look)
    axis.set(xlabel="contexts k of a path", ylabel="S · P/σ", xticks=range(1, max(every) + 1))
    axis.set_ylim(-0.05 * axis.get_ylim()[1], 1.45 * axis.get_ylim()[1])
    axis.set_title("Correlation", fontsize=7.5)
    axis.legend(fontsize=6, loc="upper left", ncols=2, columnspacing=0.6, handletextpad=0.2)


def _draw_duel(axis: Axes, result: Result, start: str) -> None:
    contexts = min(result.config.contexts)
    loss = common.share_of_loss(result["loss"].sel(contexts=contexts, start=start))
    common.draw_over_steps(axis, loss, "rivals", looks=LOOKS, label=lambda rival: rival.replace("-", " "), lw=1.3)
    axis.set(ylabel="loss, share of start", ylim=(0, 1.3), yticks=[0, 0.5, 1])
    axis.set_title(f"Duel, C = {contexts}", fontsize=7.5)
    axis.legend(fontsize=6.5, loc="upper right")
