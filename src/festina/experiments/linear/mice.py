"""Mice that learn a visual decision, each in its own way: a deep network with a tutor and an executor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import festina as fs
from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Experiment, ExperimentConfig, Preset, Result, continuous, named
from festina.experiments._needs import require_case
from festina.experiments.linear import _cohort as cohorts
from festina.experiments.linear import _cohort_panels as panels
from festina.experiments.linear._cohort import DEEP, GRADED, SHALLOW, TOTAL
from festina.experiments.linear._common import as_simulated, model_of
from festina.figures.panels import Page, shades
from festina.models.tutor_executor import LATE
from festina.sources import LECTURE, LIEBANA_2025

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIMULATED = "a separate simulation of the published rule, without spread of the initial weights"
REANALYSED = "a third party's analysis of the published behaviour of 30 mice (aeronjl/unspool, cell2025)"
DEPTH = LECTURE.at("Saddle points arise through depth")
SADDLES = LECTURE.at("Dynamics pass near a hierarchy of saddle points")
BY_CHANCE = "the model's scope: nothing but chance in the first sessions makes its animals differ"
BY_SPREAD = "its sign depends on the unpublished spread of the first weights; see the experiment's description"
NOT_FITTED = "the model's scope: nothing in it is fitted to this accuracy; see the experiment's description"
BIASED = "bias takes animals away from {const}, where the rate is linearised; see the experiment's description"
TOO_SHORT = "the length of training: few animals arrive there in 6400 trials; see the experiment's description"
SLOPES, FLIPS = (claims.near(r, 2.0 * (1.0 - r**2) / 30**0.5) for r in (0.69, -0.53))  # two standard errors, 30 mice
ONE_LAYER = {"layers": 1, "crosstalk": 1.0}


class Mice(Experiment):
    """Deep networks learn a decision along individual yet systematic trajectories; shallow ones do not.

    Next to the published model each animal, with the same stimuli and the same random numbers, is a *scattered start*,
    with constant weights that begin with a spread, of which nothing is published; a *total error* network, in which
    both layers descend the gradient of (R − Q)²/2; a *shallow* and a *slow shallow* one, with the delta rule; and a
    *graded* one, which sees gratings of half the contrast half as well: the published model only sees whether there is
    one.

    Simulated animals end with 85 % of their choices right, with nothing fitted to the 75.8 % of mice. Robust: deep
    networks (with either rule and any start) end up far more diverse than shallow ones, and the late asymmetry of an
    animal follows its early bias. Not robust: the sign of the correlation between early and late bias, which is
    negative without spread and goes to zero and beyond with it (late bias is one and the same curve of early bias,
    falling in the middle and rising at both ends, and a spread puts more animals at the ends). The one-sided saddle and
    its rate .086 are those of the total error, and our own; animals come nearer to it than shallow learners do, but do
    not reach it in 6400 trials. Stimulus pathways grow at the linearised rate .159 in the expected update and in
    animals without much bias; over all animals they grow more slowly (`growth-cohort` fails), for bias takes an animal
    away from {const} and starves the pathway of the other side.

    Saddles arise through depth: with choices made by chance the loss of a shallow network has one stationary point,
    that of a deep one eight, one for each set of open pathways, of which seven are saddles with as many directions of
    descent as pathways are closed. If only the presence of a grating matters, choices by the animal's own values have
    the same points.
    """

    name = "linear/mice"
    sources = (LIEBANA_2025, LECTURE)
    arms = Arms(
        models.TutorExecutor,
        network=named(
            tutor_executor={},
            scattered_start={"initial_spread": lambda config: config.scatter},
            total_error={"crosstalk": 1.0},
            shallow=ONE_LAYER,
            slow_shallow=ONE_LAYER | {"learning_rate": lambda config: config.learning_rate / config.slowdown},
            graded={"grading": 1.0},
        ),
    )
    seeds, quick = 200, {"seeds": 40}
    presets = (
        Preset("published model", "Chance decides which side is learned first, though animals start alike."),
        Preset(
            "scattered starts", "With unequal first constant weights animals no longer change the side of their bias.",
            {"initial_spread": 0.05},
        ),
        Preset(
            "undecided", "Animals that choose more at random learn less, and differ less from each other.",
            {"inverse_temperature": 3.0},
        ),
    )  # fmt: skip

    class Config(ExperimentConfig):
        scatter: float = continuous(0.05, ge=0, le=10, help="`initial_spread` of the scattered start")
        slowdown: float = continuous(8.0, ge=0.01, le=1e3, help="how many times slower `slow-shallow` learns")

    @claims.paper(DEPTH, claims.above(5.0))
    def diverse(self, result: Result) -> xr.DataArray:
        """Deep networks end up diverse, shallow ones alike: the SD of the late slope difference is more than five
        times larger (our threshold).
        """
        spread = cohorts.cohort(result)["asymmetry"].std("run")
        return spread.sel(network=DEEP) / spread.sel(network=["shallow", "slow-shallow"])

    @claims.paper(LIEBANA_2025.at("Fig. 1I"), SLOPES, loosely=claims.above(0.0), reason=BY_CHANCE)
    def systematic(self, result: Result) -> float:
        """The late right − left slope follows the early bias with the correlation r = .69 of 30 mice (give or take
        two of its standard errors).
        """
        return cohorts.after_bias(result, "asymmetry")

    @claims.reference(SIMULATED, claims.near(0.95, 0.05))
    def systematic_simulated(self, result: Result) -> float:
        """The late right − left slope of simulated animals follows their early bias with r = .95."""
        return cohorts.after_bias(as_simulated(result, "the default configuration"), "asymmetry")

    @claims.theory(claims.above(0.8))
    def systematic_total_error(self, result: Result) -> float:
        """With the total error in both layers the late right − left slope follows the early bias, r > .8: this
        correlation does not speak for partial errors.
        """
        return cohorts.after_bias(result, "asymmetry", "total-error")

    @claims.paper(LIEBANA_2025.at("Fig. 1G"), FLIPS, loosely=claims.below(0.0), reason=BY_SPREAD)
    def flip(self, result: Result) -> float:
        """The bias changes sides: early and late bias have the correlation r = −.53 of 30 mice (give or take two of
        its standard errors).
        """
        return cohorts.after_bias(result, "late_bias")

    @claims.reference(SIMULATED, claims.near(-0.67, 0.26))
    def flip_simulated(self, result: Result) -> float:
        """Early and late bias of simulated animals without spread of initial weights have r = −.67 (± .26, the standard
        deviation over cohorts).
        """
        return cohorts.after_bias(as_simulated(result, "the default configuration"), "late_bias")

    @claims.theory(claims.above(0.2))
    def flip_not_robust(self, result: Result) -> float:
        """A spread of the first constant weights undoes the change of sides: r of early and late bias rises by more
        than .2.
        """
        larger = result.config.scatter > result.config.initial_spread
        require_case(larger, "a larger spread in `scattered-start` than in the published model")
        return cohorts.after_bias(result, "late_bias", "scattered-start") - cohorts.after_bias(result, "late_bias")

    @claims.reference(REANALYSED, claims.near(0.517, 0.02))
    def accuracy_first(self, result: Result) -> xr.DataArray:
        """In their first session mice are right in 51.7 % of trials with a grating (± 2 %, our tolerance)."""
        return cohorts.accuracy_in(result, 1)

    @claims.reference(REANALYSED, claims.near(0.758, 0.05), loosely=claims.near(0.758, 0.15), reason=NOT_FITTED)
    def accuracy_last(self, result: Result) -> xr.DataArray:
        """In their last session mice are right in 75.8 % of trials with a grating (± 5 %, our tolerance)."""
        return cohorts.accuracy_in(cohorts.trained(result), -1)

    @claims.theory(claims.near(1.0, 0.125), reason=BIASED)
    def growth_cohort(self, result: Result) -> xr.DataArray:
        """In sessions 8–12 stimulus pathways grow at the linearised rate of the saddle {const}, on average over all
        animals (ratio).
        """
        return cohorts.growth(result, result.data)

    @claims.theory(claims.near(1.0, 0.125))
    def growth_near(self, result: Result) -> xr.DataArray:
        """In animals near the saddle {const}, of early bias within ± .1, stimulus pathways grow at its linearised
        rate in sessions 8–12 (ratio).
        """
        near = np.abs(result["early_bias"].sel(network=DEEP).values) < 0.1
        if not near.any():
            raise claims.Undecided("no animal has an early bias within ± .1: needs more --seeds")
        return cohorts.growth(result, result.data)[near]

    @claims.theory(claims.near(1.0, 0.0625))
    def growth_expected(self, result: Result) -> xr.DataArray:
        """In the expected update, which knows no chance and so no bias, stimulus pathways grow at the linearised rate
        of the saddle {const} in sessions 8–12 (ratio).
        """
        return cohorts.growth(result, result.solved)

    @claims.paper(SADDLES, claims.below(0.5), loosely=claims.below(0.75), reason=TOO_SHORT)
    def near_saddles(self, result: Result) -> float:
        """Deep learners pass near a one-sided saddle: the median of their nearest distance to one is less than half
        (our threshold) of that of shallow ones.
        """
        model = model_of(cohorts.trained(result), network=DEEP)
        places = np.stack([model.saddle_slopes(side, "const") for side in ("left", "right")])
        nearest = {it: fs.measures.behaviour.nearest(cohorts.slopes_of(result, it), places) for it in (DEEP, SHALLOW)}
        return np.median(nearest[DEEP]) / np.median(nearest[SHALLOW])

    @claims.theory(claims.below(0.1))
    def chance(self, result: Result) -> xr.DataArray:
        """Individual differences arise by chance: from animals' first weights the expected update gives less than a
        tenth of the SD of their late slope difference.
        """
        require_case(result.config.initial_spread == 0, "animals with equal initial weights")
        expected = models.TutorExecutor.measure(result.solved)["asymmetry"].std("run")
        return (expected / cohorts.cohort(result)["asymmetry"].std("run")).sel(network=DEEP)

    @claims.theory(claims.above(0.9), loosely=claims.above(0.7))
    def fate(self, result: Result) -> float:
        """After session 8 little is left to chance: the expected update from an animal's weights predicts its late
        slope difference (r).
        """
        seen = cohorts.cohort(result)["asymmetry"].sel(network=DEEP).values
        foretold = cohorts.forecast(result)["right"][:, -LATE:].mean(axis=1)
        return fs.measures.behaviour.across_animals(seen, fs.measures.behaviour.slope_difference(foretold))

    @claims.paper(SADDLES, claims.below(0.5))
    def near_const(self, result: Result) -> float:
        """Deep learners pass near the saddle {const}: the median of the nearest distance of their products to it is
        less than half (our threshold) of that of shallow ones.
        """
        cohorts.trained(result)
        return np.median(cohorts.to_const(result, DEEP)) / np.median(cohorts.to_const(result, SHALLOW))

    @claims.paper(DEPTH, claims.near(1.0, 0.0))
    def one_point(self, result: Result) -> int:
        """A shallow network has no saddle: a search from 200 random starts finds one stationary point of its loss, with
        choices made by chance.
        """
        return len(cohorts.found_points(model_of(result, network=SHALLOW)))

    @claims.paper(DEPTH, claims.above(0.0))
    def deep_saddles(self, result: Result) -> int:
        """A deep network has saddles: the same search finds stationary points with negative directions of the Hessian
        (their number).
        """
        model = model_of(result, network=TOTAL)
        downs = [fs.theory.stationary.directions_down(model.naive_task, it) for it in cohorts.found_points(model)]
        return int(np.count_nonzero(downs))

    @claims.theory(claims.below(1e-6))
    def eight_points(self, result: Result) -> float:
        """A deep network has 2³ stationary points, one for each set of open pathways, and no other: largest distance
        between those of the closed form and those that the search finds.
        """
        model = model_of(result, network=TOTAL)
        known = [point.products for point in fs.theory.stationary.points(model.naive_task)]
        return cohorts.apart(cohorts.found_points(model), np.stack(known))

    @claims.theory(claims.below(0.5))
    def indices(self, result: Result) -> xr.DataArray:
        """The Hessian has as many negative directions as pathways are closed, and so has the expected update of weights
        that cannot be negative and choices that are the animal's own (largest miscount).
        """
        return cohorts.miscounts(model_of(result, network=TOTAL))

    @claims.theory(claims.near(1.0, 0.05))
    def step(self, result: Result) -> float:
        """In the published model a grating of half the contrast changes late choices as much as a full one (ratio of
        the differences between gratings on the right and on the left).
        """
        require_case(result.config.grading == 0, "gratings of which only the presence matters, --grading 0")
        return cohorts.weak_over_strong(result, DEEP)

    @claims.theory(claims.between(0.5, 0.9))
    def graded_curve(self, result: Result) -> float:
        """If what an animal sees is in proportion to contrast, gratings of half the contrast change late choices by
        half to nine tenths (our prediction) of what full ones do.
        """
        require_case(
            model_of(result, network=GRADED).grading == 1,
            "gratings that matter in proportion to their contrast",
        )
        return cohorts.weak_over_strong(result, GRADED)

    @claims.theory(claims.near(1.0, 0.0625))
    def growth_graded(self, result: Result) -> xr.DataArray:
        """With graded gratings stimulus pathways leave the saddle {const} more slowly, in the expected update at the
        linearised rate times the mean input ¾ (ratio in sessions 8–12).
        """
        return cohorts.growth(result, result.solved, GRADED)

    @claims.theory(claims.below(0.08))
    def curves_expected(self, result: Result) -> xr.DataArray:
        """From an animal's weights after session 8 the expected update predicts its late choices at all five contrasts
        (mean absolute error of their shares, graded gratings).
        """
        seen = cohorts.shares_right(cohorts.cohort(result), GRADED, slice(-LATE, None))
        return abs(seen - cohorts.forecast(result, GRADED)["right"][:, -LATE:].mean(axis=1)).mean()

    @claims.paper(LIEBANA_2025.at("Abstract"), claims.below(-0.8), loosely=claims.below(0.0))
    def signals_strategy(self, result: Result) -> float:
        """Teaching signals reflect each animal's strategy: late δ_stim of correct choices, right − left, falls with the
        late right − left slope, r < −.8 (our threshold).
        """
        slopes = cohorts.cohort(result)["asymmetry"].sel(network=DEEP)
        stimulus = cohorts.seen_signals(result).sel(signal="stimulus").isel(time=slice(-LATE, None)).mean("time")
        known = stimulus.diff("side").squeeze("side").dropna("run")  # some are never right on one side
        return fs.measures.behaviour.across_animals(known.values, slopes.sel(run=known["run"]).values)

    @claims.theory(claims.below(0.05))
    def signals_expected(self, result: Result) -> xr.DataArray:
        """From an animal's weights after session 8 the expected update predicts its late teaching signals δ_tot,
        δ_stim and δ_const of correct choices (mean absolute error).
        """
        cohorts.cohort(result)
        late = {"time": slice(-LATE, None)}
        return abs(cohorts.seen_signals(result).isel(late) - cohorts.expected_signals(result).isel(late)).mean()

    @claims.check(claims.below(1e-9))
    def signals_sum(self, result: Result) -> xr.DataArray:
        """Partial errors add up: δ_stim + δ_const − δ_tot is the reward, 1 of correct choices (largest error)."""
        require_case(result.config.crosstalk == 0, "partial errors")
        parts = cohorts.seen_signals(result)
        total, stimulus, const = (parts.sel(signal=name) for name in fs.networks.tutor.SIGNALS)
        return abs(stimulus + const - total - 1.0).max()

    def figure(self, result: Result) -> Figure:
        """Courses and learning curves of single animals, curves and signals by session, stationary points, and two
        correlations.
        """
        with Page(3, 3, height=7.5) as page:
            colors = shades(-0.45, 0.45, cmap="cividis")
            panels.draw_courses(page[0], result, DEEP, "Deep: tutor-executor", colors)
            panels.draw_courses(page[1], result, "slow-shallow", f"Shallow, {result.config.slowdown:g}× slower", colors)
            bar = {"cax": page[1].inset_axes((0.8, 0.55, 0.05, 0.42)), "ticks": (-0.4, 0, 0.4), "label": "early bias"}
            page.figure.colorbar(colors, **bar).ax.yaxis.set_label_position("left")
            panels.draw_animals(page[2], result, colors)
            panels.draw_psychometric(page[3], result)
            panels.draw_signals(page[4], result)
            panels.draw_points(page[5], result)
            panels.draw_saddles(page[6], result)
            names = {network: network for network in (TOTAL, DEEP, SHALLOW)}
            panels.draw_followers(page[7], result, "asymmetry", 0.69, names)
            page[7].set(ylim=(-1.05, 1.6), yticks=(-1, -0.5, 0, 0.5, 1), title="Systematic if deep")
            spreads = {"scattered-start": result.config.scatter, DEEP: result.config.initial_spread}
            starts = {network: f"start spread {spread:g}" for network, spread in spreads.items()}
            panels.draw_followers(page[8], result, "late_bias", -0.53, starts)
            page[8].set(ylim=(-0.52, 0.75), yticks=(-0.5, 0, 0.5), title="Change of sides: not robust")
        return page.figure
