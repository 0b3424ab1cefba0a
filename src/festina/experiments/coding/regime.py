"""Sampled lazy networks beside those that learn features, by depth: mean, variance, generalization, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from festina import claims, models
from festina._lazy import np, xr
from festina.claims import Undecided
from festina.experiment import Arms, Equation, Experiment, Preset, Result, named, over, use
from festina.experiments._needs import require_case
from festina.experiments.coding import _collapsed as collapsed
from festina.experiments.coding import _comparison as compare
from festina.experiments.coding._predictors import LOOKS, SHIFT
from festina.figures.panels import Page
from festina.models.wide_bayesian import LEVELS
from festina.sources import VAN_MEEGEN_2024
from festina.style import THEORY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from festina.models.learning_regime import LearningRegime

KINDS = ("linear", "sigmoidal")
REGIMES = ("features", "lazy")
DEPTHS = (1, 2, 3)
VARIANCE, BREAK = (VAN_MEEGEN_2024.at(f"mechanism 3{part}") for part in ("", ", break condition"))
MIXING = {"nonlinearity": "sigmoidal", "depth": 1, "regime": "features"}  # what can be drawn neuron by neuron
SHORT = {"features": "feat.", "lazy": "lazy"}
PARTS = ("within codes", "between codes", "between chains")
SCOPE = "the source's scope: its abstract has identical means of linear networks only; see the experiment's description"
NARROW = "our width: a lazy network is a Gaussian process only if N is far above P; see the experiment's description"
DEEP = "our depths and width: with three layers of few neurons .1 is too much to ask; see the experiment's description"
OWN = "our expectation, which did not hold everywhere; see the experiment's description"


class Regime(Experiment):
    """Features make answers of wide networks sure by averaging over neurons, and the less so the deeper networks are.

    Networks of one to three hidden layers are sampled on the toy task twice, as they learn features (f = aφ/N) and as
    lazy ones (f = aφ/√N), at the same temperature and width, and asked for noisy test inputs. The answer is a sum of
    parts, f* = Σ_γ f*_γ, one from the neurons of each code (those that are on for the same classes). Its variance is

        Var f* = Σ_γ Var f*_γ + Σ_{γ ≠ γ'} Cov(f*_γ, f*_γ') + Var(mean of a chain):

    within codes, between codes, and between chains; variances in the first two are over the draws of one chain.

    The sigmoidal network of one layer that learns features is drawn neuron by neuron (`fs.learning.Collapsed`): by
    Hamiltonian Monte Carlo (`--method hmc`), which draws all others, it is frozen (split-R̂ 1.3, 10 effective draws).

    Theory of lazy networks is the Gaussian process of any depth; of linear networks that learn features
    `fs.theory.coding.deep_analog`, with Var f* ≈ U_1/N times that of a lazy one, U_1 = s u^L; of one sigmoidal layer
    `redundant`. Deeper sigmoidal networks have none here.

    Expected before the first full run: (1) sampled lazy networks have the Gaussian process's mean and variance; (2) all
    networks that learn features have a variance below a tenth of a lazy one's, but for deep sigmoidal ones, since the
    Gaussian process of many sigmoidal layers hardly varies itself; (3) the reduction diminishes with depth, for linear
    networks by the ratio U_1/N = .006, .037, .072 at L = 1, 2, 3 and N = 100; (4) the reduction is there within codes
    already, as in any mean over N neurons with the factor 1/N; (5) codes make up for each other, so that parts vary
    more than their sum, in both regimes.

    Found at the full budget: all chains agree, sigmoidal ones of any depth and regime with split-R̂ 1.02 and 347
    effective draws. The variance of linear networks that learn features is that of theory at every depth, to 1 %, as is
    that of one sigmoidal layer, and .007, .05 and .11 of that of sampled lazy ones; of sigmoidal networks it is .005,
    .05 and .17. So (3) holds for both, and (2) up to two layers only, for linear networks too. (1) fails: with 100
    neurons for 40 examples a lazy network is no Gaussian process. Variances of linear ones are .83, .73 and .67 of its,
    those of sigmoidal ones 1.3, 2.9 and 6.1 times as large, and their means are .06, .25 and .26 from its mean (linear:
    .03). Means of both regimes are within .05 of each other if linear and .2 to .4 apart if sigmoidal, where features
    have the lower error from two layers on (.03 and .02 against .16 and .24), and with a single layer (.11 against .18)
    by their variance alone, for the error of their mean is larger (.11 against .06). (4) holds. (5) holds for lazy
    networks, whose parts vary up to twelve times as much as their sum if neurons are sigmoidal, and for one layer that
    learns features, with 3.9 (linear) and 3.1 times (sigmoidal): the latter had not shown in frozen chains, in which
    neurons keep their code. With two and three layers parts vary as if on their own (.7 to 1.1 times). Between chains
    there is 1 % of the variance at most.
    """

    name = "coding/regime"
    sources = (VAN_MEEGEN_2024,)
    arms = Arms(
        use(models.LearningRegime, origin="prior"),
        nonlinearity=KINDS,
        depth=over("layers", *DEPTHS),
        regime=named(features={"laziness": 0.0}, lazy={"laziness": 1.0}),
        also=collapsed.where(lambda arm: arm.items() >= MIXING.items()),
    )
    base = {"width": 100, "temperature": 0.05, "warm_up": 200, "draws": 300, "records": 250, "tests": 4}
    base |= collapsed.EQUILIBRIUM
    seeds = 4
    quick = {"seeds": 2, "width": 50, "depth": (1, 3), "warm_up": 60, "draws": 100, "records": 80}

    equations = (
        Equation(
            r"f^* = \sum_\gamma f^*_\gamma, \qquad \operatorname{Var} f^* = "
            r"\sum_\gamma \operatorname{Var} f^*_\gamma + "
            r"\sum_{\gamma \ne \gamma'} \operatorname{Cov}(f^*_\gamma, f^*_{\gamma'}) + "
            r"\operatorname{Var}_{\text{chains}}",
            "The variance of the predictor within codes, between codes and between chains.",
        ),
    )
    presets = (
        Preset("two regimes", "Answers of lazy networks vary by far more, and features help less with depth."),
        Preset("wider", "With twice as many neurons features make answers twice as sure.", {"width": 200}),
    )

    @claims.theory(claims.below(SHIFT), loosely=claims.below(0.1), reason=NARROW, each={"kind": KINDS})
    def lazy_mean(self, result: Result, kind: str) -> xr.DataArray:
        """Sampled lazy {kind} networks have the mean predictor of the Gaussian process of their depth (rms difference;
        .05 is our threshold).
        """
        ours, theirs = means(result, kind, "lazy"), predicted(result, kind, "lazy")[0]
        return rms(ours - theirs)

    @claims.theory(claims.near(1.0, 0.2), budget="full", reason=NARROW, each={"kind": KINDS})
    def lazy_variance(self, result: Result, kind: str) -> xr.DataArray:
        """Sampled lazy {kind} networks have the predictor variance of the Gaussian process of their depth (ratio)."""
        return variances(result, kind, "lazy") / predicted(result, kind, "lazy")[1]

    @claims.theory(claims.near(1.0, 0.2), budget="full")
    def features_variance(self, result: Result) -> xr.DataArray:
        """Linear networks that learn features have the predictor variance of our theory at every depth (ratio)."""
        return variances(result, "linear", "features") / predicted(result, "linear", "features")[1]

    @claims.paper(VARIANCE, claims.below(SHIFT), reason=SCOPE, each={"kind": KINDS})
    def same_mean(self, result: Result, kind: str) -> xr.DataArray:
        """The mean predictor of {kind} networks that learn features is that of sampled lazy ones at every depth (rms
        difference; .05 is our threshold).
        """
        return rms(means(result, kind, "features") - means(result, kind, "lazy"))

    @claims.paper(VARIANCE, claims.below(0.1), reason=DEEP, each={"kind": KINDS})
    def reduced(self, result: Result, kind: str) -> xr.DataArray:
        """The predictor variance of {kind} networks that learn features is much below that of sampled lazy ones at
        every depth (ratio; .1 is our threshold).
        """
        return reduction(result, kind)

    @claims.paper(VARIANCE, claims.below(1.0), each={"kind": KINDS})
    def generalization(self, result: Result, kind: str) -> xr.DataArray:
        """Features give {kind} networks a lower test error than sampled lazy ones have, at every depth (ratio of mean
        square errors).
        """
        return errors(result, kind, "features") / errors(result, kind, "lazy")

    @claims.paper(BREAK, claims.above(1.0), each={"kind": KINDS})
    def diminishes(self, result: Result, kind: str) -> xr.DataArray:
        """The reduction of the variance of {kind} networks diminishes with depth (ratio of variances, of features to
        lazy, at the largest depth over that at the smallest).
        """
        found = reduction(result, kind)
        require_case(found.sizes["depth"] > 1, "--depth with two values or more")
        return found.isel(depth=-1) / found.isel(depth=0)

    @claims.theory(claims.near(1.0, 0.3), each={"kind": KINDS})
    def averaging(self, result: Result, kind: str) -> xr.DataArray:
        """The reduction of the variance of {kind} networks of one layer is there within codes already, as in any mean
        over neurons (share of its logarithm).
        """
        require_case(1 in result.config.depth, "--depth with 1")
        codes, whole = (
            xr.ufuncs.log(split(result, kind, "features").sel(part=part) / split(result, kind, "lazy").sel(part=part))
            for part in ("within codes", "all")
        )
        return (codes / whole).sel(depth=1)

    @claims.theory(claims.below(1.0), reason=OWN, each={"kind": KINDS, "regime": REGIMES}, budget="full")
    def compensation(self, result: Result, kind: str, regime: str) -> xr.DataArray:
        """Codes of {kind} networks in the regime “{regime}” make up for each other: their sum varies less within a
        chain than they do (ratio at every depth).
        """
        found = split(result, kind, regime)
        return 1.0 + found.sel(part="between codes") / found.sel(part="within codes")

    checks = (
        *compare.sampling_checks("-linear", "test", "answers of linear networks to test inputs", nonlinearity="linear"),
        *compare.sampling_checks(
            "-sigmoidal", "test", "answers of sigmoidal networks to test inputs", "", nonlinearity="sigmoidal"
        ),
    )

    def figure(self, result: Result) -> Figure:
        """Variances and test errors by depth and regime; the reduction; the parts of the variance."""
        with Page(2, 3, height=4.6) as page:
            _draw_variances(page[0], result)
            _draw_reduction(page[1], result)
            _draw_errors(page[2], result)
            _draw_shift(page[3], result)
            for number, kind in enumerate(KINDS):
                _draw_parts(page[4 + number], result, kind)
            looks = {f"{kind}, {regime}": _look(kind, regime) | {"ls": "none"} for kind in KINDS for regime in REGIMES}
            page.legend(looks | {"theory": THEORY})
        return page.figure


def network(result: Result, kind: str, regime: str, depth: int) -> LearningRegime:
    found: Any = compare.network_of(result, nonlinearity=kind, regime=regime, depth=depth)
    return found


def noisy(values: xr.DataArray, kind: str, regime: str) -> xr.DataArray:
    """Of one network, at test inputs with noise, of every class."""
    return compare.picked(values, nonlinearity=kind, regime=regime).isel(input=slice(LEVELS, None))


def means(result: Result, kind: str, regime: str) -> xr.DataArray:
    """The mean predictor over draws of all runs."""
    return noisy(compare.long_enough(result)["mean"], kind, regime).mean("run")


def variances(result: Result, kind: str, regime: str) -> xr.DataArray:
    """The variance of the predictor over draws of all runs, mean over inputs and outputs: by depth."""
    square = noisy(compare.long_enough(result)["square"], kind, regime).mean("run")
    return (square - means(result, kind, regime) ** 2).mean(("input", "output"))


def reduction(result: Result, kind: str) -> xr.DataArray:
    """The variance of networks that learn features over that of lazy ones: by depth."""
    return variances(result, kind, "features") / variances(result, kind, "lazy")


def predicted(result: Result, kind: str, regime: str) -> tuple[xr.DataArray, xr.DataArray]:
    """Mean predictor, and its variance as above, in theory; not numbers at depths that have none."""
    mean, square = (noisy(result.solved[name], kind, regime).isel(run=0) for name in ("mean", "square"))
    return mean, (square - mean**2).mean(("input", "output"), skipna=False)


def errors(result: Result, kind: str, regime: str) -> xr.DataArray:
    """The mean square error of an answer at noisy test inputs, with its variance: by depth."""
    return mean_errors(result, kind, regime) + variances(result, kind, regime)


def mean_errors(result: Result, kind: str, regime: str) -> xr.DataArray:
    """That of the mean predictor alone."""
    model = network(result, kind, regime, result.config.depth[0])
    targets = model.world().class_targets[model.test_labels()[LEVELS:]]
    gap = means(result, kind, regime) - xr.DataArray(targets, dims=("input", "output"))
    return (gap**2).mean(("input", "output"))


def split(result: Result, kind: str, regime: str) -> xr.DataArray:
    """The variance of answers within codes, between codes and between chains, and all of it: (part, depth).

    Of recordings after warming up; between chains is without what draws of each chain contribute to its mean.
    """
    late = noisy(compare.settled(result.data)["parts"], kind, regime)
    if late.sizes["run"] < 2:
        raise Undecided("needs --seeds 2 or more")
    inputs = ("input", "output")
    within = late.var("time").sum("code").mean("run").mean(inputs)
    answers = late.sum("code")
    chain = answers.var("time").mean("run").mean(inputs)
    apart = answers.mean("time").var("run", ddof=1).mean(inputs)
    return xr.concat([within, chain - within, apart, chain + apart], "part").assign_coords(part=[*PARTS, "all"])


def rms(values: xr.DataArray) -> xr.DataArray:
    return (values**2).mean(("input", "output")) ** 0.5


def _look(kind: str, regime: str) -> dict[str, Any]:
    return LOOKS[kind] | {"mfc": LOOKS[kind]["color"] if regime == "features" else "white", "ms": 4.2, "mew": 1.0}


def _draw_by_depth(axis: Axes, result: Result, values: Any, theory: Any = None) -> None:
    """Something of every network by its depth."""
    for kind in KINDS:
        for regime in REGIMES:
            found = values(result, kind, regime)
            if theory is not None and result.theory is not None:
                axis.plot(found["depth"], theory(result, kind, regime), **THEORY)
            axis.plot(found["depth"], found, ls=":", lw=0.6, **_look(kind, regime))
    axis.set(xlabel="hidden layers L", xticks=result.config.depth, yscale="log")


def _draw_variances(axis: Axes, result: Result) -> None:
    _draw_by_depth(axis, result, variances, lambda *which: predicted(*which)[1])
    axis.set(title="Variance", ylabel="variance of the predictor")


def _draw_errors(axis: Axes, result: Result) -> None:
    _draw_by_depth(axis, result, errors)
    axis.yaxis.set_minor_formatter("")
    axis.set(title="Generalization", ylabel="mean square test error")


def _draw_reduction(axis: Axes, result: Result) -> None:
    """Variances of features over lazy ones; with that of linear networks in theory."""
    for kind in KINDS:
        found = reduction(result, kind)
        if result.theory is not None:
            both = [predicted(result, kind, regime)[1] for regime in REGIMES]
            axis.plot(found["depth"], both[0] / both[1], **THEORY)
        axis.plot(found["depth"], found, ls=":", lw=0.6, **_look(kind, "features"))
    axis.axhline(1.0, color="0.6", lw=0.8)
    axis.set(title="Variance, features over lazy", xlabel="hidden layers L", xticks=result.config.depth, yscale="log")
    axis.set_ylabel("variance ratio")


def _draw_shift(axis: Axes, result: Result) -> None:
    """How far mean predictors of both regimes are apart."""
    for kind in KINDS:
        shift = rms(means(result, kind, "features") - means(result, kind, "lazy"))
        axis.plot(shift["depth"], shift, ls=":", lw=0.6, **_look(kind, "features"))
    axis.axhline(SHIFT, color="0.6", lw=0.8, ls=":")
    axis.set(title="Means, features − lazy", xlabel="hidden layers L", xticks=result.config.depth, ylim=(0, None))
    axis.set_ylabel("rms difference")


def _draw_parts(axis: Axes, result: Result, kind: str) -> None:
    """The parts of the variance over all of it, by depth and regime: bars, those between codes downwards."""
    colors, places = ("0.35", "0.65", "0.9"), []
    for number, regime in enumerate(REGIMES):
        try:
            found = split(result, kind, regime)
        except Undecided:
            return
        at = np.arange(found.sizes["depth"]) + (number - 0.5) * 0.42
        places.append(at)
        share = (found / found.sel(part="all")).transpose("part", "depth").values
        axis.bar(at, share[0], 0.38, color=colors[0], label=PARTS[0] if number == 0 else None)
        axis.bar(at, share[2], 0.38, bottom=share[0], color=colors[2], label=PARTS[2] if number == 0 else None)
        axis.bar(at, share[1], 0.38, color=colors[1], label=PARTS[1] if number == 0 else None)
    ticks = np.concatenate(places)
    names = [f"{SHORT[regime]}\nL={depth}" for regime in REGIMES for depth in result.config.depth]
    axis.set_xticks(ticks, names, fontsize=5.5)
    axis.axhline(0.0, color="k", lw=0.6)
    axis.set(title=f"Parts, {kind}", ylabel="share of the variance")
    low, high = axis.get_ylim()
    axis.set_ylim(low, high + 0.55 * (high - low))
    axis.legend(loc="upper right", fontsize=6.5, handlelength=1.0)
