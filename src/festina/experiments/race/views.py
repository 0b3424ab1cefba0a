"""Several views of one target: what data decide, and what is left to the start."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import festina as fs
from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Experiment, Panels, Preset, Result, use
from festina.experiments._needs import entries, require_case
from festina.experiments.race._settled import at_the_end, require_run, require_until
from festina.figures.panels import Page, bars_and_law, curves, if_known, means_and_law, pairs, runs_beside
from festina.sources import JARVIS_2025, SAXE_2022

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUMMARY = "simulations of the author of a secondary summary of Jarvis et al. 2025: {}"
ENOUGH = 10  # seeds from which a distribution over seeds can be spoken of, and twice as many as there are views
SMALL, SPREAD = 1e-4, 0.5  # a start, and a spread of it over views, from which one view has to win
LEAST = 0.75  # of the target, where coverage is said to mislead
SLOT_TIME = 16.0  # ln(10⁷): from 10⁻⁴ to 10⁻³ of the end, in units of 1/(difference of amplitudes)

once_settled = partial(at_the_end, panel="views")


class Views(Experiment):
    """Views of one target share it as least squares demand; only among views never seen apart does the start decide.

    V views of one target each have a pathway of L layers; with probability p all are present, otherwise one at a time
    (`model/views`). For p < 1 every start ends in the one non-negative least-squares solution: there may be a transient
    race, but it leaves no trace. This is why seeds can give identical results to three digits, such as the
    dominance of .379 ± .000 over ten seeds that the author of a summary of Jarvis et al. reports of simulations of
    their own. (Its value depends on correlations that are not told, and is not judged here.) For p = 1 the start
    decides. At depth 2 its ratios are kept. From depth 3 on it is differences of π^(2/L−1), so that the smaller the
    start, the more one view takes, and which one depends on the seed.

    Two statements of that summary, neither of which is known to be the paper's, do not hold: that views in a single
    task never race, and that strengths are Lotka–Volterra species, ṡ_m = r_m s_m(1 − Σs²/K), which stands below as a
    misprint. That form keeps ratios at equal rates, and so has no winner-take-all; it is exact only at depth 2
    with p = 1 and s = √π. And a measure can mislead: views that share a target get less than half of it each, so that
    a "coverage" which asks for more than half from each alone reads 0 where nearly all there is has been learned.

    Beside it, views on orthogonal slots with answers of their own. With pathways of their own, D = I and there is no
    competition at all. Through one hidden layer of r units (`model/bottleneck`), the r strongest are learned and no
    others.
    """

    name = "race/views"
    sources = (SAXE_2022, JARVIS_2025)
    arms = Panels(
        views=Arms(
            use(models.Views, answers="shared", weakest=1.0),
            depth=(2, 3, 4),
            together=(0.0, 0.5, 0.8, 1.0),
            initial=(1e-4, 1e-3, 1e-2, 1e-1),
        ),
        slots=Arms(use(models.Views, answers="own", depth=2, together=1.0, initial=lambda config: config.initial[0])),
        bottleneck=Arms(models.Bottleneck, bottleneck=(1, 2, 3)),
    )
    base = {"weakest": 0.5, "until": 2000.0, "records": 120}
    seeds = 20
    quick = models.Views.quick | {"seeds": 10, "depth": (2, 3), "together": (0.5, 1.0), "initial": (1e-4, 1e-2)}
    presets = (
        Preset(
            "seen apart or never",
            "Views that are sometimes seen alone end alike; of views never seen apart one takes most at depth 3.",
        ),
        Preset(
            "nearly equal starts",
            "With hardly any spread the winner among deep pathways is less clear.",
            {"spread": 0.05},
        ),
        Preset(
            "unequal starts",
            "With a wide spread one view dominates at depth 2 as well, if views are never seen apart.",
            {"spread": 1.5, "until": 4000.0},
        ),
    )

    @claims.theory(claims.below(1e-6), source=SAXE_2022)
    def exact(self, result: Result) -> np.ndarray:
        """Gated linear networks follow the race reduction at every depth, co-occurrence and start."""
        return result.part("views").errors("strength", "loss")

    @claims.theory(claims.below(1e-3))
    @once_settled
    def one_end(self, result: Result) -> xr.DataArray:
        """Views that are sometimes seen apart, p < 1, end in the non-negative least-squares solution from every seed
        (largest distance of a strength).
        """
        ends = _views(result)["strength"].isel(time=-1).transpose(..., "view")
        gaps = [abs(ends.sel(together=p) - _end_state(result, p).strength) for p in _apart(result)]
        return xr.concat(gaps, "together").max(["together", "depth", "initial", "view"], skipna=False)

    @claims.reference(SUMMARY.format("dominance .379 ± .000 over ten seeds"), claims.below(5e-4))
    @once_settled
    def identical_seeds(self, result: Result) -> xr.DataArray:
        """Views that are sometimes seen apart, p < 1, have at the end a dominance that is the same for all seeds to
        three digits (s.d. over seeds).
        """
        return _spread(_views(result)["dominance"].isel(time=-1).sel(together=_apart(result)))

    @claims.reference(
        SUMMARY.format("no race in a single task"),
        claims.below(5e-4),
        reason="the summary's scope: views that are never seen apart do race; see the experiment's description",
    )
    @once_settled
    def never_a_race(self, result: Result) -> xr.DataArray:
        """Views of a single task never race, and seeds always agree (s.d. over seeds of the dominance at p = 1, from
        depth 3 on).
        """
        return _spread(_racing(result)["dominance"].isel(time=-1))

    @claims.theory(claims.below(1e-6))
    def ratios_kept(self, result: Result) -> xr.DataArray:
        """At depth 2 views that always co-occur keep the ratios of their start (largest change of ln π_i/π_j)."""
        return fs.measures.ratio_change(_at_two(result)["strength"], "view").max("initial", skipna=False)

    @claims.theory(claims.below(1e-6))
    def differences_kept(self, result: Result) -> xr.DataArray:
        """From depth 3 on views that always co-occur keep differences of π^(2/L−1) (largest change, relative to its
        size at the start).
        """
        each = _racing(result)["strength"].transpose("depth", "run", "initial", "time", "view")
        kept = partial(fs.theory.views.conserved, null=_end_state(result, 1.0).null)
        drifts = [fs.measures.drift(kept(own["depth"].item(), own.values)) for own in each]
        return xr.DataArray(np.max(drifts, axis=(0, 2)), dims="run")

    @claims.theory(claims.above(0.8))
    @once_settled
    def winner_takes_all(self, result: Result) -> xr.DataArray:
        """From the smallest start one of the views that always co-occur has nearly all at depth 3 and beyond (mean
        dominance of each depth; our threshold).
        """
        return _final_dominance(_small_start(result)).isel(initial=0)

    @claims.theory(claims.above(0.0))
    @once_settled
    def sharpening(self, result: Result) -> xr.DataArray:
        """The smaller the start, the more one of the views that always co-occur takes, from depth 3 on (steps of the
        mean dominance as the start shrinks).
        """
        require_case(len(result.config.initial) > 1, "several starts")
        return -_final_dominance(result).diff("initial")

    @claims.theory(claims.above(0.8))
    @once_settled
    def winner_by_seed(self, result: Result) -> xr.DataArray:
        """Which of the views that always co-occur wins depends on the seed (entropy of the winner, in units of that of
        a fair draw; our threshold).
        """
        chosen, enough = _racing(result)["strength"], max(ENOUGH, 2 * result.config.views)
        require_run(result.data.sizes["run"] >= enough, f"winners are too few to be counted; needs --seeds {enough}")
        winners = chosen.isel(time=-1, initial=0).argmax("view").transpose("depth", "run").values
        return xr.DataArray([fs.measures.winner_entropy(row, result.config.views) for row in winners], dims="depth")

    @claims.theory(claims.above(0.2))
    @once_settled
    def transient(self, result: Result) -> xr.DataArray:
        """Deep pathways of views that are sometimes seen apart race transiently: dominance meanwhile exceeds that at
        the end (difference at the largest p < 1; our threshold).
        """
        smallest = _views(_small_start(result)).sel(together=_most_apart(result), depth=_deep(result)).isel(initial=0)
        return fs.measures.overshoot(smallest["dominance"], smallest["strength"].sum("view")).mean("run", skipna=False)

    @claims.misprint(JARVIS_2025.at("competitive Lotka–Volterra form"), claims.above(0.05))
    @once_settled
    def lotka_volterra(self, result: Result) -> xr.DataArray:
        """The Lotka–Volterra form, in which strengths keep their ratios at equal rates, fails at depth 3 and beyond
        (mean change of ln π_max/π_min from the smallest start, p = 1).
        """
        strength = _racing(_small_start(result))["strength"]
        return fs.measures.ratio_change(strength.isel(initial=0), "view").mean("run", skipna=False)

    @claims.theory(claims.below(1e-6))
    def lotka_volterra_once(self, result: Result) -> xr.DataArray:
        """At depth 2 and p = 1, and there only, the roots √π of the strengths are Lotka–Volterra species (largest
        distance).
        """
        root = (_at_two(result)["strength"] ** 0.5).transpose("time", "run", "initial", "view")
        species = fs.theory.views.lotka_volterra(np.ones(root.shape[1:]), root.values[0])(root["time"].values)
        return abs(root - np.asarray(species["strength"])).max(["time", "initial", "view"], skipna=False)

    @claims.theory(claims.above(0.75))
    @once_settled
    def coverage_misleads(self, result: Result) -> xr.DataArray:
        """No view alone gets more than half of the answer in networks that have learned most of what there is (share
        of the target explained where coverage reads 0, at the largest p < 1).
        """
        together = _most_apart(result)
        best = _end_state(result, together)
        little = best.strength.max() <= 0.5 and best.fit @ best.strength >= LEAST
        require_case(little, "a largest p < 1 at which views have less than half each, and most of all together")
        ends = _views(result).sel(together=together).isel(time=-1)
        return (1.0 - 2.0 * ends["loss"]).where(ends["coverage"] == 0, 0.0).min(["depth", "initial"], skipna=False)

    @claims.theory(claims.below(1e-6))
    def no_competition(self, result: Result) -> np.ndarray:
        """Slots with pathways and answers of their own learn as if alone (distance from the closed form)."""
        return result.part("slots").errors("strength")

    @claims.theory(claims.below(1e-3))
    def bottleneck(self, result: Result) -> xr.DataArray:
        """Through r hidden units the r strongest slots are learned and no other (largest distance at the end)."""
        size = np.linspace(1.0, result.config.weakest, result.config.views)
        require_case(size[0] > size[1], "slots of different amplitudes, --weakest below 1")
        needed = SLOT_TIME / min(size[-1], size[0] - size[1])
        require_until(result, needed, "slots of nearly equal amplitudes need time to be told apart")
        learned = result.panel("bottleneck")["learned"].isel(time=-1)
        return abs(learned - _passing(result)).max(["bottleneck", "slot"], skipna=False)

    def figure(self, result: Result) -> Figure:
        """Two courses; what data decide; what the start decides; ratios; slots through a bottleneck."""
        together = sorted(result.config.together)
        with Page(2, 3, height=4.5) as page:
            _draw_course(page[0], result, together[-1])
            _draw_course(page[1], result, together[max(len(together) - 2, 0)])
            for place, draw in enumerate((_draw_ends, _draw_sharpening, _draw_ratios, _draw_slots), start=2):
                with if_known(page[place]):
                    draw(page[place], result)
        return page.figure


def _views(result: Result) -> xr.Dataset:
    """Views of one target, starts rising."""
    return result.panel("views").sortby("initial")


def _never_apart(result: Result) -> xr.Dataset:
    """Views that always co-occur, p = 1."""
    require_case(1.0 in result.config.together, "p = 1 among the probabilities")
    return _views(result).sel(together=1.0)


def _at_two(result: Result) -> xr.Dataset:
    """The same at depth 2, where they do not race."""
    together = _never_apart(result)
    return together.sel(depth=entries(result.config, "depth", lambda it: it == 2, "the depth 2 among the depths")[0])


def _racing(result: Result) -> xr.Dataset:
    """The same from depth 3 on, where they do."""
    return _never_apart(result).sel(depth=_deep(result))


def _end_state(result: Result, together: float) -> fs.theory.views.EndState:
    """Where data lead: the non-negative least-squares solution, and what they do not see."""
    world = fs.worlds.co_occurring_views(result.config.views, together)
    return fs.theory.views.end_state(world.strengths, world.overlaps)


def _passing(result: Result) -> xr.DataArray:
    """What is learned of each slot through r units."""
    size = np.linspace(1.0, result.config.weakest, result.config.views)
    like = result.panel("bottleneck")["learned"].isel(run=0, time=-1).transpose("bottleneck", "slot")
    return like.copy(data=np.stack([fs.theory.views.bottleneck(size, units) for units in result.config.bottleneck]))


def _spread(dominance: xr.DataArray) -> xr.DataArray:
    """The largest s.d. over seeds."""
    require_run(dominance.sizes["run"] > 1, "one seed has no spread; needs --seeds 2 or more")
    return dominance.std("run", skipna=False).max(skipna=False)


def _final_dominance(result: Result) -> xr.DataArray:
    """Mean over runs of the dominance at the end for p = 1, by depth (from 3 on) and start, smallest first."""
    ends = _views(result)["dominance"].isel(time=-1).sel(together=1.0, depth=_racing(result)["depth"])
    return ends.mean("run", skipna=False).transpose("depth", "initial")


def _small_start(result: Result) -> Result:
    """The result, if one of the views has to win from its smallest start."""
    require_case(min(result.config.initial) <= SMALL, f"a start of {SMALL:g} or smaller")
    require_case(result.config.spread >= SPREAD, f"--spread {SPREAD:g} or more: from equal starts no view gets ahead")
    return result


def _apart(result: Result) -> list[float]:
    return entries(result.config, "together", lambda p: p < 1, "p < 1 among the probabilities")


def _deep(result: Result) -> list[int]:
    return entries(result.config, "depth", lambda depth: depth >= 3, "a depth of 3 or more")


def _most_apart(result: Result) -> float:
    return max(entries(result.config, "together", lambda p: 0 < p < 1, "0 < p < 1 among the probabilities"))


def _draw_course(axis: Axes, result: Result, together: float) -> None:
    """Strengths in the first run from the smallest start, at the smallest depth with a race: theory as lines."""
    depth = min((depth for depth in result.config.depth if depth >= 3), default=max(result.config.depth))
    where = {"depth": depth, "together": together, "initial": min(result.config.initial)}
    curves(axis, result.part("views"), "strength", by="view", label=lambda x: f"view {x}", every=4, log=True, **where)
    axis.set(xlabel="time t / τ", ylabel="strength of pathway π", ylim=(-0.04, 1.1))
    axis.set(xlim=(1.0, result.config.until), title=f"p = {together:g}, depth {depth}")
    axis.legend(loc="upper left", fontsize=6.5, handlelength=1.6)


def _draw_ends(axis: Axes, result: Result) -> None:
    """The strongest view at the end, of every seed, from the smallest start; least squares as a line."""
    final, views = _views(result)["strength"].isel(time=-1, initial=0).max("view"), result.config.views
    probability = np.linspace(0.0, 1.0, 200)
    present = probability + (1 - probability) / views
    axis.plot(probability, present / (present + (views - 1) * probability), color="0.6", lw=2.5, label="least squares")
    runs_beside(axis, final, "together", "depth", step=0.022, ms=2.6, mew=0.6, mfc="none")
    axis.axhline(0.5, color="0.3", lw=0.7, ls=":")
    axis.text(0.27, 0.51, "“covered” above ½", fontsize=6.5, va="bottom", color="0.3")
    axis.set(xlabel="co-occurrence p of the views", ylabel="strongest view at the end", ylim=(0, 1.1))
    axis.set_title("Every seed")
    axis.legend(loc="lower left", fontsize=6.5)


def _draw_sharpening(axis: Axes, result: Result) -> None:
    """Dominance at the end of views that always co-occur, against the size of the start; what is conserved as lines."""
    axis.set(xscale="log", xlabel="strength at the start", ylabel="dominance max π / Σπ", ylim=(0.3, 1.03))
    axis.set_title("Always together (p = 1)")
    views, end = _never_apart(result), fs.theory.views.co_occurring_end
    final, first = views["dominance"].isel(time=-1), views["strength"].isel(time=0, depth=0, initial=0)
    sizes = np.geomspace(min(result.config.initial), max(result.config.initial), 12)
    starts = (first / first["initial"]).drop_vars(["initial", "depth"]) * xr.DataArray(sizes, {"initial": sizes})
    along = {"input_core_dims": [[], ["view"]], "output_core_dims": [["view"]], "vectorize": True}
    kept = xr.apply_ufunc(lambda depth, start: end(depth, np.ones_like(start), start), final["depth"], starts, **along)
    law = (kept.max("view") / kept.sum("view")).mean("run")
    means_and_law(axis, final, law, "initial", "depth", label="L = {}".format, mew=0.8)
    axis.legend(loc="upper right", fontsize=6.5)


def _draw_ratios(axis: Axes, result: Result) -> None:
    """ln π_i/π_1 at the end against the start: on the diagonal, as Lotka–Volterra species have it, or off it."""
    axis.set(xlabel="ln π$_i$/π$_1$ at the start", ylabel="ln π$_i$/π$_1$ at the end", title="Ratios (p = 1)")
    logs = xr.apply_ufunc(np.log, _never_apart(result)["strength"].isel(time=[0, -1], initial=0))
    ratios = (logs - logs.isel(view=0)).isel(view=slice(1, None)).transpose("time", "depth", "run", "view")
    reach = 1.1 * float(abs(ratios.isel(time=0)).max())
    axis.plot([-reach, reach], [-reach, reach], color="0.6", lw=2.5, label="Lotka–Volterra")
    pairs(axis, ratios[0], ratios[1], "depth", label="L = {}".format, ms=2.8, mfc="none", mew=0.7)
    axis.legend(loc="upper left", fontsize=6.5, handlelength=1.2)


def _draw_slots(axis: Axes, result: Result) -> None:
    """What is learned of each slot through r hidden units, and what theory says."""
    final, views = result.panel("bottleneck")["learned"].isel(time=-1), result.config.views
    bars_and_law(axis, final, _passing(result), "bottleneck", "slot", label="slot {}".format)
    axis.set(xlabel="hidden units r of all slots", ylabel="learned at the end", title="Slots and a bottleneck")
    axis.set(xticks=final["bottleneck"], ylim=(-0.02, 1.42), yticks=[0, 0.5, 1])
    axis.legend(loc="upper left", fontsize=6.5, ncols=min(views, 3), columnspacing=0.8, handlelength=1.2)
