"""The predictor of networks that learn features against that of lazy ones: mean, variance, generalization."""

from __future__ import annotations

from typing import TYPE_CHECKING

from festina import claims, models
from festina._lazy import np
from festina.experiment import Arms, Equation, Experiment, Preset, Result, use
from festina.experiments.coding import _collapsed as collapsed
from festina.experiments.coding import _predictors as predictors
from festina.experiments.coding._comparison import checks_along, network_of, readout_checks
from festina.experiments.coding._predictors import LAZY, LOOKS, SCOPE, SHIFT, cold_enough, compared
from festina.figures.panels import Page
from festina.models._wide import KINDS, NEURON
from festina.models.wide_bayesian import LEVELS, MOST_EVIDENCE
from festina.sources import VAN_MEEGEN_2024
from festina.style import THEORY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from festina.models.wide_bayesian import WideBayesian

FEW = "our budget: neurons need about 25 draws to forget their code, and chains have 300; see the description"
NOISY = slice(LEVELS, None)  # test inputs with noise, of every class


class Predictor(Experiment):
    """Learning features makes predictions of wide networks sure; their mean is the lazy one only for linear neurons.

    The source's abstract says of linear networks that the mean predictor, though features are learned, is that of the
    lazy network, a Gaussian process; all gain in generalization then comes from a smaller variance. A summary of the
    source says so of all networks. Here this is measured for each nonlinearity, on the toy task with test inputs of
    unit norm,

        x* = (r/n_c) Σ_{μ in c} x_μ + ξ,

    where r is the evidence for class c (a linear network that has learned answers r y_c) and ξ is noise: of length
    `noise` among the training inputs, and otherwise in directions of its own. Training inputs are orthogonal, so that
    theory has mean and variance, to order 1/N, for all three nonlinearities. Errors are mean squares per output, and
    split into those of the mean predictor and its variance.

    Sigmoidal networks are drawn neuron by neuron, from the prior (`fs.learning.Collapsed`, see `coding/redundant`). At
    this temperature Hamiltonian Monte Carlo (`--method hmc`) freezes: chains from the prior do not reach equilibrium,
    and chains that start from neurons drawn from the theory each keep their own shares of codes and do not agree
    (split-R̂ 2.6). Linear and rectified networks are drawn by it, and start from theory. Variances are those over draws
    of all runs together. The lazy network has a ~ N(0, 1), the same T, and infinite width.

    Found at the full budget: answers of all chains agree, sigmoidal ones with split-R̂ 1.03 and 181 effective draws,
    and have mean and variance of theory (sigmoidal: .0005 off, and 1.01 of it). Single neurons are slower: their
    readouts had split-R̂ 1.07 and 48 effective draws, in the median, for four chains of 300 draws of one sweep each. A
    draw now has four sweeps, of which the full budget was not run yet. Only for linear
    neurons is the mean predictor the lazy one (rms difference .002, against .13 for sigmoidal and .18 for rectified
    neurons); sigmoidal answers saturate with evidence, rectified ones are larger. That sigmoidal means are not lazy
    ones is thus no matter of freezing: frozen chains had the same .13. Variances are less by a factor of hundreds for
    all three, which is most of the gain in test error, but a tenth of it comes from the mean if neurons are not linear.
    """

    name = "coding/predictor"
    sources = (VAN_MEEGEN_2024,)
    arms = Arms(
        use(models.WideBayesian, layers=1, origin="theory", hottest=1.0, cooling=0.5),
        nonlinearity=KINDS,
        also=collapsed.where(collapsed.is_sigmoidal),
    )
    base = {"width": 300, "counts": (50, 25, 25), "temperature": 0.01, "warm_up": 100, "draws": 300, "records": 100}
    base |= {"tests": 10, "sweeps": 4} | collapsed.EQUILIBRIUM
    seeds = 4
    quick = {"seeds": 2, "width": 100, "counts": (20, 10, 10), "temperature": 0.05, "draws": 150, "warm_up": 50}
    quick |= {"sweeps": 1}

    equations = (
        Equation(
            r"x^* = \frac{r}{n_c} \sum_{\mu \in c} x_\mu + \xi",
            "A test input holds the evidence r for class c, the sum of its n examples, and noise ξ.",
        ),
        NEURON,
    )
    presets = (
        Preset(
            "three nonlinearities",
            "Answers of networks that learn features vary little; their mean is the lazy one if linear.",
        ),
        Preset(
            "without noise",
            "Without noise among training inputs sigmoidal means come nearer to lazy ones, and rectified ones do not.",
            {"noise": 0.0},
        ),
    )

    @claims.paper(VAN_MEEGEN_2024.at("abstract"), claims.below(SHIFT))
    def mean_linear(self, result: Result) -> float:
        """The mean predictor of linear networks is that of the lazy one, a Gaussian process (rms difference on noisy
        test inputs, all runs together; .05 is our threshold).
        """
        cold_enough(result, NOISY)
        return compared(result, "linear", NOISY).shift

    @claims.theory(claims.below(0.05), reason=SCOPE, each={"kind": KINDS[1:]})
    def mean(self, result: Result, kind: str) -> float:
        """The mean predictor of {kind} networks is that of the lazy one, a Gaussian process, as the paper says of
        linear networks (rms difference on noisy test inputs, all runs together).
        """
        return compared(result, kind, NOISY).shift

    @claims.paper(VAN_MEEGEN_2024.at("variance of the predictor"), claims.below(0.1), each={"kind": KINDS})
    def variance(self, result: Result, kind: str) -> float:
        """The predictor variance of {kind} networks is much below that of the Gaussian process (ratio; .1 is our
        threshold).
        """
        return compared(result, kind, NOISY).over_lazy("variance")

    @claims.paper(VAN_MEEGEN_2024.at("generalization"), claims.near(1.0, 0.1))
    def gain_linear(self, result: Result) -> float:
        """All that linear networks gain in test error over the Gaussian process is a gain in variance (share of the
        gain; ±.1 is our tolerance).
        """
        cold_enough(result, NOISY)
        return gain_by_variance(result, "linear")

    @claims.theory(claims.near(1.0, 0.1), reason=SCOPE, each={"kind": KINDS[1:]})
    def gain(self, result: Result, kind: str) -> float:
        """All that {kind} networks gain in test error over the Gaussian process is a gain in variance, as for linear
        ones (share of the gain).
        """
        return gain_by_variance(result, kind)

    @claims.theory(claims.below(0.05), each={"kind": KINDS})
    def theory_mean(self, result: Result, kind: str) -> float:
        """Samples of {kind} networks have the mean predictor of our theory (rms difference)."""
        return predictors.rms(compared(result, kind).ours.mean - network(result, kind).predictor().mean)

    @claims.theory(claims.near(1.0, 0.2), budget="full", each={"kind": KINDS})
    def spread(self, result: Result, kind: str) -> float:
        """Samples of {kind} networks have the predictor variance of our theory (ratio of means over inputs)."""
        if kind == "sigmoidal" and result.config.method == "hmc" and result.data.sizes["run"] == 1:
            raise claims.Undecided("needs --seeds 2 or more, since neurons of one run keep their codes")
        expected = network(result, kind).predictor().variance
        return float(compared(result, kind, NOISY).ours.variance.mean() / expected[NOISY].mean())

    checks = (
        *checks_along("nonlinearity", KINDS, "answers of {entry} networks to test inputs", "test", {"sigmoidal": ""}),
        *readout_checks("-readouts", "single readouts of sigmoidal networks", FEW, nonlinearity="sigmoidal"),
    )

    def figure(self, result: Result) -> Figure:
        """Above the predictor along growing evidence; below means, variances and errors on noisy test inputs."""
        noisy = predictors.all_compared(result, NOISY)
        kinds, found = list(noisy), {kind: each.errors for kind, each in noisy.items()}
        expected = {kind: network(result, kind).predictor().variance[NOISY].mean() for kind in kinds}
        means = {kind: (each.ours.mean, each.lazy.mean) for kind, each in noisy.items()}
        with Page(2, 3, height=4.6) as page:
            for axis in page.axes[0, len(kinds) :]:
                axis.set_axis_off()
            for number, kind in enumerate(kinds):
                _draw_evidence(page[number], result, kind)
                page[number].sharey(page[0])
            page[0].set_ylabel("answer, output of class A")
            page[0].legend(loc="upper left")
            predictors.draw_pairs(page[3], means)
            predictors.draw_variances(page[4], found, expected)
            predictors.draw_errors(page[5], found)
        return page.figure


def network(result: Result, kind: str) -> WideBayesian:
    return network_of(result, nonlinearity=kind)


def gain_by_variance(result: Result, kind: str) -> float:
    """(σ²_lazy − σ²)/(error_lazy − error): 1 if means are equally good, less if the mean is better too."""
    found = compared(result, kind, NOISY).errors
    less = found["lazy variance"] - found["variance"]
    whole = found["lazy mean"] - found["mean"] + less
    if whole <= 0:
        raise claims.NotApplicable("needs a test error below that of the Gaussian process")
    return less / whole


def _draw_evidence(axis: Axes, result: Result, kind: str) -> None:
    """Mean and standard deviation of f against r, of samples and of the Gaussian process, and the theory."""
    evidence, model = np.linspace(0.0, MOST_EVIDENCE, LEVELS), network(result, kind)
    levels = predictors.all_compared(result, slice(LEVELS))[kind]
    (mean, variance), (other, spread) = ([part[:, 0] for part in each] for each in (levels.ours, levels.lazy))
    axis.plot(evidence, other, color=LAZY, lw=1.0, label="lazy: mean ± s.d.")
    axis.fill_between(evidence, other - spread**0.5, other + spread**0.5, color=LAZY, alpha=0.2, lw=0)
    axis.plot(evidence, model.predictor().mean[:LEVELS, 0], label="theory: mean", **THEORY)
    look = LOOKS[kind] | {"ls": "none", "mfc": "none", "ms": 3.5, "elinewidth": 0.8}
    axis.errorbar(evidence, mean, np.sqrt(variance), label="sampled: mean ± s.d.", **look)
    axis.set(xlabel="evidence r for class A", title=f"{kind} neurons", ylim=(-1.2, 4.2))
