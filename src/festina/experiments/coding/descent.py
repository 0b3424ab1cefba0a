"""Noisy descent, plain descent, momentum and Adam: which ways of training give the code of the posterior."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

import festina as fs
from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Experiment, Preset, Result, named
from festina.experiments.coding import _comparison as compare
from festina.experiments.coding._codes import at_own_shares
from festina.experiments.coding._panels import MARKERS, class_look, draw_code
from festina.figures.panels import Parts, curves, looks_of
from festina.models._wide import KINDS
from festina.sources import VAN_MEEGEN_2024
from festina.style import BLUE, GREEN, THEORY, VERMILLION, letter

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from festina.measures.coding import Coding
    from festina.models.wide_descent import WideDescent

QUIET = {"optimiser": "descent", "noise": 0.0, "hottest": lambda config: config.temperature}
"""Only what is noisy is cooled: without noise, hot networks would forget where they started."""
WAYS = named(
    noisy={"optimiser": "descent", "noise": 1.0, "momentum": 0.0},
    plain=QUIET | {"momentum": 0.0},
    momentum=QUIET,
    Adam=QUIET | {"optimiser": "Adam"},
)
TRAININGS = tuple(WAYS)
SOLVED = ("linear", "rectified")  # whose least energy, and whose posterior in equilibrium, theory has
EARLIER = "our own earlier runs on the same energy"
SEE = "see the experiment's description"
GENERAL = f"our expectation was too general: sigmoidal codes stay redundant under Adam; {SEE}"
OFF = f"rectified neurons that are off receive no gradient from plain descent, and Adam is slow at our budget; {SEE}"
BIASED = f"our budget: the bias of sigmoidal networks is about half as much at half the step; {SEE}"
SLOW = f"our budget: noisy descent is a slow sampler of rectified networks; {SEE}"
RESTING = 0.02  # by which the loss may still fall in the last tenth of a run
LOOKS = {way: look | {"lw": 1.1} for way, look in looks_of(TRAININGS, ("black", BLUE, VERMILLION, GREEN)).items()}


class Descent(Experiment):
    """Networks trained by noisy gradient descent have the code of their posterior; those trained by Adam need not.

    Samplers draw weights from exp(−U). Here the same networks start from the prior and *descend* U, in which the prior
    is weight decay (`model/wide-descent`), and the analyser names their codes. The source speaks of the posterior
    alone; what is expected of training is ours: that noise and momentum keep its scheme and Adam keeps none; that plain
    descent keeps it was expected only after a first look at short runs. Steps bias the law of noisy descent: with
    curvatures up to 1.75/T, η = .01 at T = .1 overstates the variance of the stiffest direction by a tenth. For exact
    samples the mean of θ·∂U/∂θ is the number of weights; directions of the prior alone make it .5% more.

    Found, in all of three runs: noisy descent has the three codes, with kernels .0007 (linear) and .003 (rectified)
    from the theory; sigmoidal networks freeze, and are .24 from equilibrium but .001 from the theory at their own
    shares of codes. Plain descent and momentum keep the names, but rectified neurons trained with momentum only just
    (share of the top tenth .52 to .57; the cut is .45; .98 with noise). Adam makes both linear and rectified codes
    redundant at the same loss as momentum: what it selects is no matter of energy. Sigmoidal codes stay redundant.

    Plain descent of rectified networks ends at 1.54 times the least loss: a neuron that is off for an example receives
    no gradient from it and, inputs being orthogonal, its weight decays to zero without crossing it. The mean of θ·∂U/∂θ
    is 1.4% too large for sigmoidal networks, and about half as much at half the step. Kernels of rectified networks by
    noisy descent, a slow sampler, have split-R̂ 1.26 and a sample size of 9: few independent draws. The full budget has
    300 neurons; 500 neurons and 1600 draws gave the same verdicts on schemes, kernels and minima.
    """

    name = "coding/descent"
    sources = (VAN_MEEGEN_2024,)
    arms = Arms(models.WideDescent, nonlinearity=KINDS, training=WAYS)
    base = {"width": 300, "counts": (50, 25, 25), "warm_up": 300, "draws": 900, "records": 60, "momentum": 0.9}
    seeds = 3
    quick = {"seeds": 2, "width": 100, "counts": (20, 10, 10), "warm_up": 150, "draws": 250, "records": 40}
    presets = (
        Preset(
            "four ways to train", "Noise, plain descent and momentum keep the code of each nonlinearity; Adam need not."
        ),
        Preset("slow Adam", "At a third of its rate Adam comes less far in the same number of steps.", {"rate": 0.001}),
    )

    @claims.theory(claims.near(1.0, 0.0), each={"kind": KINDS})
    def code_noisy(self, result: Result, kind: str) -> float:
        """Noisy gradient descent, whose law is the posterior, gives {kind} neurons the coding scheme of the posterior
        (share of runs the analyser says so of).
        """
        return share_of_scheme(result, kind, "noisy")

    @claims.reference(EARLIER, claims.near(1.0, 0.0), each={"training": TRAININGS[1:-1], "kind": KINDS})
    def code(self, result: Result, training: str, kind: str) -> float:
        """Descent without noise ({training}) gives {kind} neurons the coding scheme of the posterior (share of runs the
        analyser says so of).
        """
        return share_of_scheme(result, kind, training)

    @claims.reference(EARLIER, claims.near(0.0, 0.0), reason=GENERAL, each={"kind": KINDS})
    def code_adam(self, result: Result, kind: str) -> float:
        """Adam does not give {kind} neurons the coding scheme of the posterior (share of runs the analyser says so
        of).
        """
        return share_of_scheme(result, kind, "Adam")

    @claims.theory(claims.below(0.02), loosely=claims.below(0.05), each={"kind": SOLVED})
    def kernel(self, result: Result, kind: str) -> np.ndarray:
        """Noisy descent of {kind} networks has the kernel of our theory (relative difference of class means)."""
        ours, theirs = compare.both(result, "mean_class_kernel", nonlinearity=kind, training="noisy")
        return fs.measures.class_kernel_distance(ours.values, theirs.values, result.config.counts)

    @claims.theory(claims.below(0.05))
    def own_shares(self, result: Result) -> np.ndarray:
        """Noisy descent of sigmoidal networks has the kernel of our theory at its own shares of codes, since it freezes
        as samplers do (relative difference of class means).
        """
        model, here = network(result, "sigmoidal"), late(result, "sigmoidal")
        frozen = [at_own_shares(here.isel(run=run), model, model.temperature) for run in range(here.sizes["run"])]
        kernels = [fs.measures.between_classes(each.kernels[-1], model.world().membership) for each in frozen]
        return fs.measures.class_kernel_distance(here["mean_class_kernel"].values, np.stack(kernels), model.counts)

    @claims.theory(claims.below(0.02), each={"kind": SOLVED})
    def answer(self, result: Result, kind: str) -> np.ndarray:
        """Noisy descent of {kind} networks gives the mean answers of our theory (largest difference of class means;
        targets are 1 and −½).
        """
        ours, theirs = compare.both(result, "mean_answer", nonlinearity=kind, training="noisy")
        return abs(ours - theirs).max(("class", "output")).values

    @claims.theory(claims.near(1.0, 0.02), budget="full", reason=OFF, each={"training": TRAININGS[1:], "kind": SOLVED})
    def minimum(self, result: Result, training: str, kind: str) -> np.ndarray:
        """Descent without noise ({training}) takes {kind} networks to the least energy (loss over that of our closed
        form).
        """
        least = network(result, kind, training).least_loss()
        course = result["loss"].sel(nonlinearity=kind, training=training).transpose("run", "time").values
        falls = float(np.max(course[:, -1 - max(1, course.shape[1] // 10)] / course[:, -1])) - 1.0
        if falls > RESTING:
            raise claims.Undecided(f"needs more --draws: in the last tenth of the run the loss falls by {falls:.0%}")
        return course[:, -1] / least

    @claims.check(claims.near(1.0, 0.01), budget="full", reason=BIASED, each={"kind": KINDS})
    def bias(self, result: Result, kind: str) -> np.ndarray:
        """Steps of noisy descent are short enough for {kind} networks: θ·∂U/∂θ is the number of weights, as for exact
        samples (ratio).
        """
        return late(result, kind)["virial"].values  # draws of few small networks do not resolve a hundredth

    checks = compare.sampling_checks(
        what="the kernel between classes by noisy descent", reason=SLOW, nonlinearity=list(SOLVED), training="noisy"
    )

    def figure(self, result: Result) -> Figure:
        """Readouts of each nonlinearity trained in each way, with the name of the code; shares; losses."""
        kinds = [kind for kind in KINDS if kind in result["nonlinearity"]]
        solved = [kind for kind in SOLVED if kind in kinds]
        found = {(kind, way): codings(result, kind, way) for kind in kinds for way in TRAININGS}
        with Parts((len(kinds), 4), (1, 1 + len(solved)), height=7.0, height_ratios=(2.35, 1.0), letters=False) as page:
            codes, (below,) = page.parts
            for axis, ((kind, _), each) in zip(codes.ravel(), found.items(), strict=True):
                draw_code(axis, each, compare.SCHEMES[kind])
            for axis, kind in zip(codes[:, 0], kinds, strict=True):
                axis.set_ylabel(f"{kind}\nreadout $a_2$")
            bold = {"xycoords": "axes fraction", "ha": "center", "fontsize": 9, "fontweight": "bold"}
            for top, bottom, training in zip(codes[0], codes[-1], TRAININGS, strict=True):
                top.annotate(training, (0.5, 1.28), **bold)
                bottom.set_xlabel("readout $a_1$")
            looks = {f"most active in class {each + 1}": class_look(each) for each in range(len(result.config.counts))}
            page.legend(looks, on=codes[0, 0].figure, loc="outside lower center", fontsize=7.5)
            _draw_shares(below[0], found)
            for axis, kind in zip(below[1:], solved, strict=True):
                _draw_loss(axis, result, kind)
            letter(*codes[:, 0], *below)
        return page.figure


def network(result: Result, kind: str, training: str = "noisy") -> WideDescent:
    return cast("WideDescent", compare.network_of(result, nonlinearity=kind, training=training))


def late(result: Result, kind: str) -> xr.Dataset:
    """The recordings of noisy descent after warming up."""
    return compare.picked(compare.settled(result.data), nonlinearity=kind, training="noisy")


def codings(result: Result, kind: str, training: str) -> list[Coding]:
    """What the analyser says of each network at the end."""
    here = compare.picked(result.data, nonlinearity=kind, training=training)
    return compare.analysed(here, network(result, kind).world().labels)


def share_of_scheme(result: Result, kind: str, training: str) -> float:
    found = codings(compare.long_enough(result), kind, training)
    return compare.share_called([each.scheme for each in found], compare.SCHEMES[kind])


def _draw_shares(axis: Axes, found: dict[tuple[str, str], list[Coding]]) -> None:
    """The share of the class signal in the top tenth of the neurons against the distance of neighbours."""
    from festina.measures.coding import SPARSE_ABOVE  # here, for it imports JAX

    marks: dict[str, str] = dict(zip(KINDS, MARKERS, strict=False))
    look = {"ls": "", "mfc": "none", "ms": 4.5, "mew": 0.9}
    for (kind, training), each in found.items():
        places = [(one.statistics.neighbour, one.statistics.share) for one in each]
        axis.plot(*zip(*places, strict=True), marker=marks[kind], color=LOOKS[training]["color"], **look)
    for kind, mark in marks.items():
        axis.plot([], [], marker=mark, color="0.4", label=kind, **look)
    axis.axhline(SPARSE_ABOVE, **THEORY)
    axis.annotate("sparse above", (1.73, SPARSE_ABOVE + 0.02), ha="right", fontsize=7)
    axis.set(xlabel="distance to nearest neighbour,\nrelative to normal numbers", ylabel="share of the top tenth")
    axis.set(ylim=(0, 1.05), xlim=(-0.06, 1.75))
    axis.legend(loc="upper right", handletextpad=0.1)


def _draw_loss(axis: Axes, result: Result, kind: str) -> None:
    """The loss as networks are trained, over that at the least energy."""
    share = result.data.assign(loss=result["loss"] / network(result, kind).least_loss())
    curves(axis, replace(result, data=share), "loss", by="training", looks=LOOKS, run=None, nonlinearity=kind)
    axis.axhline(1.0, zorder=0, color="0.75", lw=0.8)
    axis.set(yscale="log", title=f"{kind} neurons", xlabel="draw", ylabel="loss over the least")
    axis.set(xlim=(0, result["time"][-1]), ylim=(0.7, None))
    axis.legend(loc="upper right")
