"""What makes a pathway fast: data, depth, start and shared edges."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import festina as fs
from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Experiment, Panels, Preset, Result, named, over, use
from festina.experiments._needs import entries, require_case
from festina.experiments.race._settled import at_the_end, longer, require_run, theory_of
from festina.figures.panels import Page, curves, graded_looks, if_known, marks_of
from festina.sources import LECTURE, SAXE_2022
from festina.style import PALETTE, THEORY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SAYS = "the neural race reduction: {}"
SMALL = 1e-2  # strength up to which a start is called small
HALF = 0.5  # of what there is to learn
DENSE = 100  # recordings between which curves may be taken for straight lines
OWN = use(models.TwoPathways, answers="own")
PANELS = {"data": "data", "depth": "depth", "start": "scale", "balance": "balance", "sharing": "sharing"}


class Speeds(Experiment):
    """A pathway is fast if its data correlate, its layers are few, its start large or unequal, and its edges shared.

    The lecture's four determinants of a pathway's speed, each a race inside one gated network (`model/two-pathways`): a
    first pathway of two layers, and a rival that differs from it in one thing alone. With outputs of their own they do
    not interact, and half-times say how fast they are; with the same outputs they compete, and the faster one
    dominates. From a balanced start a pathway of L layers, correlation s, and a first edge shared by n paths is a
    chain, τπ̇ = n^(1/L) s L π^(2−2/L) (1 − π). The n paths send n times the gradient to the edge that they share, but
    to no other, which is why a shared edge gains n^(1/L) and not n.

    Three of the four are qualified by "generally". Depth is slow from a small start only: L layers are faster than
    M < L wherever π is above (M/L)^(LM/2(L−M)), 8/27 for three layers against two, and from there on deeper is faster.
    Imbalance at the same strength never slows a pathway, at any depth, since Σ_l (∂π/∂w_l)² is least where all terms
    are equal. Sharing is faster here because all paths pull their edge in the same direction and the loss is a sum over
    outputs; as a mean over them, its edges would learn n times more slowly.
    """

    name = "race/speeds"
    sources = (LECTURE, SAXE_2022)
    arms = Panels(
        data=Arms(OWN, rival_correlation=(1.0, 0.5, 0.25)),
        depth=Arms(OWN, rival_depth=(2, 3, 4), depth_initial=over("initial", 1e-3, 0.4)),
        start=Arms(OWN, rival_start=(1.0, 10.0, 100.0)),
        balance=Arms(OWN, rival_imbalance=(1.0, 10.0, 100.0)),
        sharing=Arms(OWN, path_count=(1, 2, 4), shared_depth=over("rival_depth", 2, 3)),
        contest=Arms(
            use(models.TwoPathways, answers="same"),
            rival=named(
                less_data={"rival_correlation": lambda config: min(config.rival_correlation)},
                deeper={"rival_depth": lambda config: max(config.rival_depth)},
                larger_start={"rival_start": lambda config: max(config.rival_start)},
                imbalanced={"rival_imbalance": lambda config: max(config.rival_imbalance)},
                shared_edge={"path_count": lambda config: max(config.path_count)},
            ),
        ),
    )
    quick = {"records": 120, "shared_depth": (2,)}
    presets = (
        Preset("four determinants", "Each rival differs from the first pathway in one thing, and is faster or slower."),
        Preset("smaller start", "From smaller weights all wait longer, the deep ones most.", {"initial": 1e-4}),
        Preset(
            "many paths", "An edge that nine paths share makes two layers three times as fast.", {"path_count": (1, 9)}
        ),
    )

    @claims.paper(LECTURE.at(SAYS.format("larger input-output correlation faster")), claims.above(0.0))
    def effective_data(self, result: Result) -> xr.DataArray:
        """A pathway learns faster the larger its effective input-output correlation, the share of samples that its gate
        lets through (steps of −ln half-time as that share grows).
        """
        return -_steps(result, "data", "rival_correlation")

    @claims.paper(LECTURE.at(SAYS.format("deeper generally slower")), claims.above(0.0))
    def depth(self, result: Result) -> xr.DataArray:
        """From a small start a pathway is slower the deeper it is (steps of ln half-time from depth to depth)."""
        small = entries(result.config, "depth_initial", lambda start: start <= SMALL, f"a depth initial ≤ {SMALL:g}")
        return _steps(result, "depth", "rival_depth", depth_initial=small)

    @claims.paper(LECTURE.at(SAYS.format("larger initialization generally faster")), claims.above(0.0))
    def larger_start(self, result: Result) -> xr.DataArray:
        """A pathway learns faster from a larger start (steps of −ln half-time as its initial strength grows)."""
        return -_steps(result, "start", "rival_start")

    @claims.paper(LECTURE.at(SAYS.format("imbalanced initialization generally faster")), claims.above(0.0))
    def imbalanced_start(self, result: Result) -> xr.DataArray:
        """Of starts with one strength the less balanced is the faster (steps of −ln half-time as the ratio of the two
        weights of a pathway grows from 1).
        """
        ratios = entries(result.config, "rival_imbalance", lambda ratio: ratio >= 1, "imbalances of 1 or more")
        return -_steps(result, "balance", "rival_imbalance", rival_imbalance=ratios)

    @claims.paper(LECTURE.at(SAYS.format("more pathways through edge generally faster")), claims.above(0.0))
    def edge_sharing(self, result: Result) -> xr.DataArray:
        """A pathway learns faster the more paths share its first edge (steps of −ln half-time as paths are added)."""
        return -_steps(result, "sharing", "path_count")

    @claims.paper(LECTURE.at(SAYS.format("the fastest pathways can dominate the solution")), claims.above(0.5))
    @partial(at_the_end, panel="contest")
    def dominance(self, result: Result) -> xr.DataArray:
        """Of two pathways to one target the one that is faster alone has most of it in the end, whatever makes it
        faster (its share of both; our threshold).
        """
        final, alone = _shares(result), _alone(result, "contest")
        apart = alone.isel(pathway=0) != alone.isel(pathway=1)
        require_case(bool(apart.all()), "rivals that differ from the first pathway in every contest")
        return final.isel(pathway=alone.argmin("pathway"))

    @claims.theory(claims.below(1e-6), source=SAXE_2022)
    def reduction(self, result: Result) -> np.ndarray:
        """Both pathways of a gated network follow the race reduction, whatever their data, depths, starts and shared
        edges (largest error of strengths and loss).
        """
        return result.errors("learned", "loss")

    @claims.theory(claims.below(0.01))
    def half_times(self, result: Result) -> xr.DataArray:
        """Pathways with outputs of their own have the half-times of chains that sharing and data have sped up or slowed
        down, in closed form (largest relative error).
        """
        errors = [abs(_half_times(result, panel) / _alone(result, panel) - 1.0).max() for panel in PANELS]
        return xr.concat(errors, "panel")

    @claims.theory(claims.below(0.01))
    def sharing_law(self, result: Result) -> xr.DataArray:
        """An edge that n equal paths share makes a pathway of L layers faster by n^(1/L), not by n (largest relative
        error of the ratio of half-times).
        """
        require_case(1 in result.config.path_count, "a single path to compare with, 1 among --path-count")
        rival = _half_times(result, "sharing").sel(pathway="rival")
        law = rival["path_count"] ** (1.0 / rival["shared_depth"])
        return abs(rival.sel(path_count=1) / rival / law - 1.0).max("path_count")

    @claims.theory(claims.above(0.0))
    def deeper_is_faster(self, result: Result) -> xr.DataArray:
        """From a start above (M/L)^(LM/2(L−M)) a pathway of L layers is faster than one of M < L: the lecture's
        “generally slower” has an end (steps of −ln half-time).
        """
        depths = sorted(result.config.rival_depth)
        least = max(map(fs.theory.speeds.overtaking, depths, depths[1:]), default=0.0)
        needed = f"several depths, and a depth initial between {least:.3g} and {HALF:g}"
        large = entries(result.config, "depth_initial", lambda start: 0 < least < start < HALF, needed)
        return -_steps(result, "depth", "rival_depth", depth_initial=large)

    def figure(self, result: Result) -> Figure:
        """Rivals that differ in one thing each; half-times and their closed forms; who has the target in the end."""
        starts, layers = result.config.depth_initial, min(result.config.shared_depth)
        with Page(2, 4, height=4.0) as page:
            _draw_rivals(page[0], result, "data", "rival_correlation", "s = {:g}", "Effective data")
            for place, start, size in ((1, min(starts), "small"), (5, max(starts), "large")):
                title = f"Depth, {size} start"
                _draw_rivals(page[place], result, "depth", "rival_depth", "L = {}", title, depth_initial=start)
            _draw_rivals(page[2], result, "start", "rival_start", "{:g}×", "Initial scale")
            _draw_rivals(page[3], result, "balance", "rival_imbalance", "{:g}:1", "Imbalance")
            title = f"Shared edge, L = {layers}"
            _draw_rivals(page[4], result, "sharing", "path_count", "n = {}", title, shared_depth=layers)
            for place, draw in ((6, _draw_half_times), (7, _draw_contests)):
                with if_known(page[place]):
                    draw(page[place], result)
        return page.figure


def _half_times(result: Result, panel: str) -> xr.DataArray:
    """When the pathways of a panel have learned half, and not before all of them have."""
    learned = result.panel(panel)["learned"].isel(run=0)
    require_case(bool((learned.isel(time=0) < HALF).all()), "starts below half of what there is to learn")
    require_run(learned.sizes["time"] > DENSE, f"recordings are too few for half-times; needs --records {DENSE}")
    found = fs.measures.crossings(learned, HALF)
    if not bool(np.isfinite(found).all()):
        enough = longer(result, theory_of(result, "learned", panel=panel), lambda *seen: seen[-1] > HALF)
        raise claims.Undecided(f"a pathway has not learned half at the end; {enough}")
    return found


def _steps(result: Result, panel: str, dim: str, **where: Any) -> xr.DataArray:
    """Differences of the rival's ln half-time from each entry of a dimension to the next larger one."""
    rival = _half_times(result, panel).sel(pathway="rival", **where).sortby(dim)
    require_case(rival.sizes[dim] > 1, f"several values along {dim.replace('_', ' ')}")
    return xr.apply_ufunc(np.log, rival).diff(dim)


def _alone(result: Result, panel: str) -> xr.DataArray:
    """Half-times of both pathways with outputs of their own, in closed form."""
    reach = fs.theory.speeds.time_to_reach

    def of(model: Any) -> list[float]:
        own = {"correlation": model.rival_correlation, "paths": model.path_count, "imbalance": model.rival_imbalance}
        first = reach(model.depth, HALF, model.initial)
        return [float(first), float(reach(model.rival_depth, HALF, model.initial * model.rival_start, **own))]

    flat = xr.DataArray([of(arm.model) for arm in result.arms], {"pathway": result["pathway"]}, ("arm", "pathway"))
    whole = result.data.isel(time=0, run=0, drop=True).assign(alone=flat)
    return result.panel(panel, whole)["alone"]


def _shares(result: Result) -> xr.DataArray:
    """What each pathway has of both when a contest is over."""
    final = result.panel("contest")["learned"].isel(time=-1, run=0)
    return final / final.sum("pathway")


def _draw_rivals(axis: Axes, result: Result, panel: str, dim: str, label: str, title: str, **where: Any) -> None:
    """Strengths of rivals that differ in one thing: the reduction as lines, networks as dots."""
    values, until = sorted(getattr(result.config, dim)), result.config.until
    here: dict[str, Any] = {"pathway": "rival", dim: values, **where}
    looks = graded_looks(values)
    curves(axis, result.part(panel), "learned", by=dim, looks=looks, label=label.format, log=True, **here)
    axis.set(title=title, ylabel="strength π of the rival", ylim=(-0.03, 1.06), yticks=[0, 0.5, 1])
    large = where.get("depth_initial", 0.0) > SMALL
    axis.set_xlim((1e-3 if large else 2e-3) * until, (0.1 if large else 1.0) * until)
    axis.legend(loc="best", fontsize=6.5, handlelength=1.2, handletextpad=0.5, borderaxespad=0.0)


def _draw_half_times(axis: Axes, result: Result) -> None:
    """Half-times of all rivals with outputs of their own, against their closed forms."""
    drawn: list[float] = []
    for panel, mark in marks_of(PANELS).items():
        exact, found = (values(result, panel).sel(pathway="rival") for values in (_alone, _half_times))
        drawn += exact.values.ravel().tolist()
        axis.plot(exact.values.ravel(), found.transpose(*exact.dims).values.ravel(), ls="", label=PANELS[panel], **mark)
    ends = 0.6 * min(drawn), 1.7 * max(drawn)
    axis.loglog(ends, ends, zorder=0, **THEORY)
    axis.set(xlabel="half-time in theory / τ", ylabel="half-time / τ", title="All rivals")
    axis.legend(loc="lower right", fontsize=6, handlelength=0.8, labelspacing=0.2, borderaxespad=0.1)


def _draw_contests(axis: Axes, result: Result) -> None:
    """Who has the target in the end, for each thing in which the rival differs."""
    rival = _shares(result).sel(pathway="rival")
    places = np.arange(rival.size)
    axis.barh(places, rival, color=PALETTE[0], height=0.6, label="rival")
    axis.barh(places, 1.0 - rival, left=rival, color="0.8", height=0.6, label="first")
    axis.axvline(0.5, color="white", lw=0.8, ls=":")
    axis.set_yticks(places, [str(name).replace("-", " ") for name in rival["rival"].values], fontsize=6.5)
    axis.set(
        xlabel="share at the end",
        title="One target for both",
        xlim=(0, 1),
        ylim=(len(places) - 0.4, -1.4),
        xticks=[0, 0.5, 1],
    )
    axis.legend(loc="upper center", ncols=2, fontsize=6.5, handlelength=1.0)
