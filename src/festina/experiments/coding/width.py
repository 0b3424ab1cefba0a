"""How wide a network must be for the theory of infinitely many neurons to hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import festina as fs
from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Equation, Experiment, Preset, Result, use
from festina.experiments._needs import require_case
from festina.experiments.coding import _collapsed as collapsed
from festina.experiments.coding import _comparison as compare
from festina.experiments.coding._predictors import LOOKS
from festina.figures.panels import Page, log_ticks
from festina.sources import VAN_MEEGEN_2024
from festina.style import THEORY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from festina.models.finite_width import FiniteWidth

KINDS = ("linear", "sigmoidal")
CLOSE = 0.05  # relative difference up to which theory counts as right
WIDTHS = VAN_MEEGEN_2024.at("predictor variance suppressed as 1/N")
HELD = "our expectation, too high: data hold kernels together; see the experiment's description"
SHORT = "our budget: few chains, and few recordings of each; see the experiment's description"


class Width(Experiment):
    """Single networks deviate from the theory of infinite width as N^(−½), their posterior mean by P/N: much less.

    Theory is that of N → ∞ at a fixed number P of examples. Networks of one hidden layer with 25 to 2000 neurons are
    sampled on the toy task, and three things are held against it: the kernel between classes; the codes, which are the
    shares of sigmoidal neurons that are on for each subset of classes, and the second moments aᵀa/N of linear readouts;
    and the predictor at test inputs. A *single* network is one draw, the *mean* one that over all draws of all runs.
    Deviations are relative: |x − x_theory|/|x_theory| over all entries.

    Neurons are nearly independent, so that sums over them deviate as N^(−½) from draw to draw. What remains in the mean
    is of order P/N: for linear neurons, that which `fs.theory.coding.analog` has at finite N. The variance of the
    predictor is of order 1/N.

    All chains start from the prior, at T = .2. Sigmoidal networks are drawn neuron by neuron (`fs.learning.Collapsed`):
    by Hamiltonian Monte Carlo (`--method hmc`) their chains mix slowly at this temperature (split-R̂ 1.1, 34 effective
    draws) and freeze at lower ones (`coding/temperature`), each at its own shares of codes.

    Expected before the first full run: exponents of −½ of single networks and of −1 of the variance; means within 5 %
    of the theory at every width; and single kernels within 5 % from a few hundred neurons on, at least 200 and at most
    2000.

    Found at the full budget: exponents of −.48 to −.51 and of −.99 to −1.00; variances of the widest networks within
    1 % of theory; means within 2 % at 25 neurons already, where linear ones deviate by 1.01 times what theory has at
    finite N. Only the smallest width was wrong: a single kernel is within 5 % from 47 (linear) or 44 neurons
    (sigmoidal) on, since a kernel between classes is a mean over pairs of examples, and data hold it. All chains agree
    at every width, sigmoidal ones with split-R̂ 1.02 and 169 effective draws.
    """

    name = "coding/width"
    sources = (VAN_MEEGEN_2024,)
    arms = Arms(
        use(models.FiniteWidth, origin="prior"),
        nonlinearity=KINDS,
        width=(25, 50, 100, 200, 500, 1000, 2000),
        also=collapsed.where(collapsed.is_sigmoidal),
    )
    base = {"temperature": 0.2, "warm_up": 150, "draws": 300, "records": 90, "tests": 4} | collapsed.EQUILIBRIUM
    seeds = 4
    quick = {"width": (25, 100), "warm_up": 60, "draws": 180, "records": 80}

    equations = (
        Equation(
            r"\frac{\lVert K - K_\infty \rVert}{\lVert K_\infty \rVert} \propto N^{-1/2}, \qquad "
            r"\frac{\lVert \langle K \rangle - K_\infty \rVert}{\lVert K_\infty \rVert} \propto \frac PN, \qquad "
            r"\operatorname{Var} f^* \propto \frac 1N",
            "Single networks deviate from the theory of infinite width more than their posterior mean does.",
        ),
    )
    presets = (
        Preset("25 to 2000 neurons", "Single networks need many neurons, their mean needs few."),
        Preset("more examples", "With more examples the mean deviates more.", {"counts": (50, 25, 25)}),
    )

    @claims.theory(claims.near(-0.5, 0.1), each={"kind": KINDS})
    def single_kernel(self, result: Result, kind: str) -> float:
        """The kernel of single {kind} networks deviates from that of infinite width as N^(−½) (exponent)."""
        return exponent(single(result, "class_kernel", kind))

    @claims.theory(claims.near(-0.5, 0.1), each={"kind": KINDS})
    def single_codes(self, result: Result, kind: str) -> float:
        """Codes of single {kind} networks deviate from those of infinite width as N^(−½): shares of sigmoidal codes,
        second moments of linear readouts (exponent).
        """
        return exponent(single(result, CODES[kind], kind))

    @claims.paper(WIDTHS, claims.near(-1.0, 0.1), each={"kind": KINDS})
    def variance(self, result: Result, kind: str) -> float:
        """The variance of the predictor of {kind} networks falls as 1/N (exponent; ±.1 is our tolerance)."""
        return exponent(variances(result, kind))

    @claims.theory(claims.near(1.0, 0.2), budget="full", each={"kind": KINDS})
    def variance_theory(self, result: Result, kind: str) -> float:
        """The variance of the predictor of the widest {kind} networks is that of our theory (ratio)."""
        widest = {"width": max(result.config.width), "nonlinearity": kind}
        expected = predicted_variance(result, **widest)
        return float(variances(result, kind).sel(width=widest["width"]) / expected)

    @claims.theory(claims.below(CLOSE), each={"kind": KINDS})
    def mean_kernel(self, result: Result, kind: str) -> xr.DataArray:
        """The mean kernel of {kind} networks is within 5 % of that of infinite width for any number of neurons from 25
        on (largest relative difference).
        """
        return on_average(result, "class_kernel", kind).max()

    @claims.theory(claims.below(0.05), each={"kind": KINDS})
    def mean_predictor(self, result: Result, kind: str) -> xr.DataArray:
        """The mean predictor of {kind} networks is that of infinite width for any number of neurons from 25 on (largest
        relative difference over test inputs).
        """
        return on_average(result, "mean", kind).max()

    @claims.theory(claims.near(1.0, 0.5), budget="full", reason=SHORT)
    def correction(self, result: Result) -> float:
        """The mean kernel of the narrowest linear networks deviates from infinite width by what our theory has at their
        width (ratio of the differences).
        """
        narrow = min(result.config.width)
        model = network(result, "linear", narrow)
        members = model.world().membership
        finite, limit = (
            fs.measures.between_classes(each.kernels[-1], members)
            for each in (model.prediction(model.temperature), model.limit())
        )
        ours = late(result).sel(nonlinearity="linear", width=narrow)["class_kernel"].mean(("run", "time")).values
        return float(np.sum((ours - limit) * (finite - limit)) / np.sum((finite - limit) ** 2))

    @claims.theory(claims.between(200.0, 2000.0), budget="full", reason=HELD, each={"kind": KINDS})
    def smallest(self, result: Result, kind: str) -> float:
        """The smallest number of neurons at which the kernel of a single {kind} network is within 5 % of that of
        infinite width, by the fitted power law, is some hundreds (our expectation).
        """
        return smallest_width(single(result, "class_kernel", kind))

    checks = compare.checks_along(
        "nonlinearity", KINDS, "kernels of {entry} networks of all widths", reasons={"sigmoidal": ""}
    )

    def figure(self, result: Result) -> Figure:
        """Single networks and means against N: kernels, codes, predictors; their variance; whether chains agree."""
        with Page(2, 3, height=4.6) as page:
            _draw_single(page[0], result, dict.fromkeys(KINDS, "class_kernel"), "Kernel of a single network")
            _draw_single(page[1], result, CODES, "Codes of a single network")
            _draw_means(page[2], result, "class_kernel", "Mean kernel")
            _draw_means(page[3], result, "mean", "Mean predictor")
            _draw_variances(page[4], result)
            _draw_agreement(page[5], result)
            for axis in page.axes.ravel():
                log_ticks(axis, result.config.width)
                axis.set(xlabel="neurons N", xlim=(0.75 * min(result.config.width), 1.35 * max(result.config.width)))
                axis.tick_params(axis="x", labelsize=6)
            page.legend({f"{kind}, sampled": LOOKS[kind] | OPEN for kind in KINDS} | {"theory, or power law": THEORY})
        return page.figure


CODES = {"linear": "moments", "sigmoidal": "shares"}
"""What is called a code, by nonlinearity."""
OPEN: dict[str, Any] = {"ls": "none", "mfc": "white", "ms": 4.2, "mew": 1.0}


def network(result: Result, kind: str, width: int) -> FiniteWidth:
    return compare.network_of(result, nonlinearity=kind, width=width)  # pyright: ignore[reportReturnType]


def late(result: Result) -> xr.Dataset:
    """Recordings after warming up."""
    return compare.settled(result.data)


def both(result: Result, name: str, kind: str) -> tuple[xr.DataArray, xr.DataArray]:
    """A variable of samples, and that of infinite width, at all widths."""
    theirs = result.solved[name].sel(nonlinearity=kind).isel(run=0)
    ours = late(result)[name].sel(nonlinearity=kind)
    require_case(bool(np.isfinite(theirs).all()), "a --temperature at which theory is solved")
    return ours, theirs.isel(time=-1) if "time" in theirs.dims else theirs


def relative(ours: xr.DataArray, theirs: xr.DataArray) -> xr.DataArray:
    """|x − x_theory|/|x_theory| over all entries."""
    entries = [dim for dim in theirs.dims if dim != "width"]
    return (((ours - theirs) ** 2).sum(entries) / (theirs**2).sum(entries)) ** 0.5


def single(result: Result, name: str, kind: str) -> xr.DataArray:
    """The deviation of one draw, rms over draws and runs: by width."""
    return (relative(*both(result, name, kind)) ** 2).mean(("run", "time")) ** 0.5


def on_average(result: Result, name: str, kind: str) -> xr.DataArray:
    """The deviation of the mean over all draws of all runs: by width."""
    ours, theirs = both(result, name, kind)
    return relative(ours.mean([dim for dim in ("run", "time") if dim in ours.dims]), theirs)


def variances(result: Result, kind: str) -> xr.DataArray:
    """The variance of the predictor over all draws of all runs, mean over test inputs and outputs: by width."""
    own = late(result).sel(nonlinearity=kind)
    mean, square = own["mean"].mean("run"), own["square"].mean("run")
    return (square - mean**2).mean(("input", "output"))


def predicted_variance(result: Result, **where: Any) -> float:
    own = result.solved[["mean", "square"]].sel(where).isel(run=0)
    return float((own["square"] - own["mean"] ** 2).mean())


def exponent(values: xr.DataArray) -> float:
    """The slope of log x over log N."""
    return _fit(values)[0]


def smallest_width(values: xr.DataArray) -> float:
    """N at which a fitted power law is 5 %."""
    slope, offset = _fit(values)
    return float(np.exp((np.log(CLOSE) - offset) / slope))


def _fit(values: xr.DataArray) -> tuple[float, float]:
    require_case(values.sizes["width"] > 1, "--width with two values or more")
    slope, offset = np.polyfit(np.log(values["width"].values), np.log(values.values), 1)
    return float(slope), float(offset)


def _draw_single(axis: Axes, result: Result, names: dict[str, str], title: str) -> None:
    """Deviations of single networks, with the power law fitted to them."""
    for kind, name in names.items():
        found = single(result, name, kind)
        slope, offset = _fit(found)
        axis.loglog(found["width"], np.exp(offset) * found["width"] ** slope, **THEORY)
        axis.loglog(found["width"], found, label=f"{kind}: $N^{{{slope:.2f}}}$", **LOOKS[kind] | OPEN)
    axis.axhline(CLOSE, color="0.6", lw=0.8, ls=":")
    low, high = axis.get_ylim()
    axis.set(title=title, ylabel="relative deviation", ylim=(0.8 * low, 2.2 * high))
    axis.legend(loc="upper right", fontsize=6.5, handletextpad=0.2)


def _draw_means(axis: Axes, result: Result, name: str, title: str) -> None:
    """Deviations of means over all draws; that of linear kernels in theory as a line."""
    for kind in KINDS:
        found = on_average(result, name, kind)
        axis.loglog(found["width"], found, **LOOKS[kind] | OPEN)
    if name == "class_kernel":
        models_ = [network(result, "linear", width) for width in sorted(result.config.width)]
        kernels = [(each.prediction(each.temperature).kernels[-1], each.limit().kernels[-1]) for each in models_]
        members = models_[0].world().membership
        pairs = [[fs.measures.between_classes(kernel, members) for kernel in pair] for pair in kernels]
        law = [np.linalg.norm(finite - limit) / np.linalg.norm(limit) for finite, limit in pairs]
        axis.loglog(sorted(result.config.width), law, **THEORY)
    axis.axhline(CLOSE, color="0.6", lw=0.8, ls=":")
    axis.set(title=title, ylabel="relative deviation")


def _draw_variances(axis: Axes, result: Result) -> None:
    """The variance of the predictor, and that of the theory."""
    for kind in KINDS:
        found = variances(result, kind)
        law = [predicted_variance(result, nonlinearity=kind, width=width) for width in found["width"].values]
        axis.loglog(found["width"], law, **THEORY)
        axis.loglog(found["width"], found, **LOOKS[kind] | OPEN)
    axis.set(title="Variance of the predictor", ylabel="variance of f*")


def _draw_agreement(axis: Axes, result: Result) -> None:
    """The largest split-R̂ of the kernel at each width."""
    for kind in KINDS:
        own = late(result)["class_kernel"].sel(nonlinearity=kind).transpose("width", "run", "time", ...)
        values = [fs.measures.split_r_hat(each.reshape(*each.shape[:2], -1)).max() for each in own.values]
        axis.semilogx(own["width"], values, **LOOKS[kind] | OPEN)
    axis.axhline(1.05, color="0.6", lw=0.8, ls=":")
    axis.set(title="Agreement of chains", ylabel="largest split-R̂ of kernels")
