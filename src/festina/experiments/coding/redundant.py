"""Sigmoidal neurons: a redundant code, in and out of equilibrium."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import festina as fs
from festina import claims, models
from festina._lazy import np, plt, xr
from festina.experiment import Arms, Experiment, ExperimentConfig, Preset, Result, continuous, named, use
from festina.experiments.coding import _codes as codes
from festina.experiments.coding import _comparison as compare
from festina.experiments.coding import _panels as panels
from festina.ranges import Temperature
from festina.sources import VAN_MEEGEN_2024
from festina.style import THEORY, TWO_COLUMNS, letter, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from festina.theory.coding import Codes

PHASES = ("equilibrium", "cooled", "planted", "collapsed")
COLD, TRACED = ("planted", "cooled", "collapsed"), ("equilibrium", "cooled", "collapsed")
SMALL: dict[str, Any] = {"origin": "prior", "width": 20, "counts": (4, 2, 2), "temperature": 0.05, "hottest": 0.3}
DRAWN = 40_000  # neurons from the theory


class Redundant(Experiment):
    """Sigmoidal neurons of a network that learns classes fall into few groups, each on for some of the classes.

    A network of N neurons φ(z) = ½(1 + erf(√π z/2)), f = aφ/N, is sampled from its posterior at temperature T/N. In the
    limit of many neurons each of them is independent, p(a, z) ∝ N(a|0, s) N(z|0, K_0) exp(a·tᵀφ(z)), and the residual
    t = (Y − ⟨f⟩)/T is the minimum of a convex function. At low T the density of readouts a has several peaks: *codes*,
    sets of classes for which a neuron is on, with a mean activity above ½. Many neurons share each of them.

    *equilibrium*: chains that start from the prior and cool down to a temperature at which neurons still change their
    code. *planted*: chains at a low temperature, where they no longer do, that start from neurons drawn from theory,
    as many of each code as theory says: an independent draw would be off by 1/√N, and neurons that keep their code
    could not mend that. *cooled*: chains that reach the same low temperature from the prior. They freeze on the way:
    every neuron keeps the code it has, nearly, and the shares of the codes, and with them the kernel, are not those of
    equilibrium, to which they drift slowly at best. Theory that takes these shares from the chain, instead of computing
    them, gives its kernel. The equations were derived independently of the source.

    *collapsed*: chains from the prior at the low temperature, drawn by another sampler: readouts are integrated out,
    and neurons are proposed one after the other as a whole, from the law p(a, z) of a single one
    (`fs.learning.Collapsed`). Nothing about the posterior is different, only how it is walked through. Our prediction,
    after short chains at smaller sizes and before the first full run: neurons change their code all the time, chains
    agree (R̂ < 1.05, 100 independent draws), and shares and kernel are those of theory in equilibrium, within .02. What
    freezes would then be the dynamics, and not the posterior. Found at the settings of the full budget, in chains run
    one kind at a time: all of it. Of 85 recordings in each of three chains all are independent (R̂ .99, sample size
    262; of single readouts 1.00 and 245, in the median), .61 of proposals are accepted, the share of neurons with
    another code at the end is that of codes drawn anew (.99), shares are within .004 of theory and kernels within .003.
    Cooled chains of Hamiltonian Monte Carlo have R̂ 30 there and are .43 from that kernel.

    *alone* and *exchanged*: networks of 20 neurons and 8 examples at T = .05, small enough to be brought to equilibrium
    where neurons hardly change their code, by Hamiltonian Monte Carlo alone and by replica exchange with 24 replicas up
    to T = .3. Energies grow with N, and rungs of the ladder must be the closer: of 12 replicas of a network of 40
    neurons, between T = .05 and .4, none changed places. Our prediction, after short chains with R̂ 1.12 and 1.03 and
    before the first run of the experiment: exchanged chains agree (R̂ < 1.05), with an effective sample size of 100.
    Found at the settings of the full budget: R̂ 1.01 and 103 independent draws, just enough; alone 1.07 and 30.

    That codes are redundant and frozen is the source's. At what temperature they freeze, and how far a chain is then
    off, depends on how it is cooled: at the full budget cooled chains are .43 from the kernel of equilibrium and .0005
    from that at their own shares. Chains in equilibrium agree (split-R̂ 1.03), with an effective sample size of 83. The
    full budget has 500 neurons, not 1000, so that three chains in each of three phases take minutes.
    """

    name = "coding/redundant"
    sources = (VAN_MEEGEN_2024,)
    arms = Arms(
        use(models.WideBayesian, nonlinearity="sigmoidal", layers=1, tests=0, noise=0.0, method="hmc"),
        phase=named(
            equilibrium={"origin": "prior"},
            cooled={"origin": "prior", "temperature": lambda config: config.cold},
            planted={"origin": "even", "temperature": lambda config: config.cold},
            collapsed={"origin": "prior", "temperature": lambda config: config.cold, "method": "collapsed"},
            alone=SMALL,
            exchanged=SMALL | {"replicas": 24},
        ),
    )
    base = {"width": 500, "counts": (50, 25, 25), "temperature": 0.2, "warm_up": 300, "draws": 1700, "records": 100}
    seeds = 3
    quick = {"seeds": 2, "width": 200, "counts": (20, 10, 10), "warm_up": 160, "draws": 160, "records": 40}
    quick |= {"cold": 0.02}

    class Config(ExperimentConfig):
        cold: Temperature = continuous(0.01, scale="log", help="temperature of the planted and of the cooled chains")

    presets = (
        Preset("above and below freezing", "Neurons fall into groups; cooled chains freeze with shares of their own."),
        Preset(
            "freezing",
            "At T = 0.1 the chains that were in equilibrium freeze as well: few of their neurons still change their "
            "group.",
            {"temperature": 0.1},
        ),
    )

    @claims.paper(VAN_MEEGEN_2024.at("sigmoidal networks: redundant coding"), claims.between(0.11, 0.24))
    def redundant(self, result: Result) -> np.ndarray:
        """Coding in sigmoidal networks is redundant: many neurons share each code (share of the class signal in the top
        tenth; .11 to .24 is our range for such codes).
        """
        several_codes(result)
        return compare.top_share(result, phase="planted")

    @claims.paper(VAN_MEEGEN_2024.at("permutation symmetry breaking"), claims.below(0.01))
    def frozen(self, result: Result) -> np.ndarray:
        """Permutation symmetry is broken in cold sigmoidal networks: neurons keep their code (share that changed it, 1
        if codes were drawn anew; .01 is our threshold).
        """
        several_codes(result)
        return codes.turnover(late(result, "planted"))

    @claims.theory(claims.below(0.02))
    def kernel(self, result: Result) -> np.ndarray:
        """The mean kernel of a sigmoidal hidden layer is, in equilibrium, that of our theory (relative difference)."""
        return compare.kernel_difference(result, phase="equilibrium")

    @claims.theory(claims.below(0.02))
    def shares(self, result: Result) -> np.ndarray:
        """Each code has, in equilibrium, the share of neurons that our theory gives it (largest difference)."""
        return np.abs(codes.shares_of(late(result, "equilibrium")) - drawn_shares(result)[None]).max(axis=1)

    @claims.reference("our own earlier chains, which froze only near T = .15", claims.above(0.5))
    def mobile(self, result: Result) -> np.ndarray:
        """Sigmoidal neurons change their code in equilibrium, at a higher temperature (share that did, 1 if codes were
        drawn anew).
        """
        return codes.turnover(late(result, "equilibrium"))

    @claims.theory(claims.below(0.01))
    def planted_kernel(self, result: Result) -> np.ndarray:
        """Cold chains started from neurons drawn from our theory keep its kernel (relative difference)."""
        return compare.kernel_difference(result, phase="planted")

    @claims.theory(claims.below(0.1), budget="full")
    def branches(self, result: Result) -> xr.DataArray:
        """Readouts of cold sigmoidal networks split into branches (rms distance from the nearest one of our theory,
        relative to their rms size).
        """
        several_codes(result)
        readout = late(result, "planted")["readout"]
        branches = xr.DataArray(planted_codes(result).readouts, dims=("code", "output"))
        distance = ((readout - branches) ** 2).sum("output").min("code")
        return (distance.mean(("time", "neuron")) / (readout**2).sum("output").mean(("time", "neuron"))) ** 0.5

    @claims.theory(claims.near(6.0, 0.0))
    def six(self, result: Result) -> np.ndarray:
        """Three classes have six codes in a cold sigmoidal network, as in our theory: all sets of classes but none and
        all (number of codes).
        """
        compare.of_three_classes(result, None)
        several_codes(result, 6)
        return (codes.shares_of(late(result, "planted")) > codes.FEW).sum(axis=1)

    @claims.reference(
        "our own earlier chain, cooled far into the frozen phase",
        claims.near(0.3, 0.1),
        loosely=claims.above(0.1),
        budget="full",
        reason="our schedule of cooling, on which it depends how far a frozen chain is off; see the experiment's "
        "description",
    )
    def out_of_equilibrium(self, result: Result) -> np.ndarray:
        """Sigmoidal chains cooled from the prior far below freezing miss the kernel of equilibrium (relative
        difference).
        """
        several_codes(result)
        return compare.kernel_difference(result, phase="cooled")

    @claims.theory(claims.below(0.05))
    def own_shares(self, result: Result) -> np.ndarray:
        """Our theory at the cooled chains' own shares of codes has their kernel (relative difference)."""
        ours = result["kernel"].sel(phase="cooled").transpose("run", "example", "other").values
        theirs = np.stack([frozen_kernel(result, run) for run in range(len(ours))])
        return np.linalg.norm(ours - theirs, axis=(1, 2)) / np.linalg.norm(theirs, axis=(1, 2))

    @claims.theory(claims.above(0.9))
    def thawed(self, result: Result) -> np.ndarray:
        """Neurons of cold sigmoidal networks do change their code if they are drawn as a whole, with readouts
        integrated out (share that did, 1 if codes were drawn anew).
        """
        several_codes(result)
        return codes.turnover(late(result, "collapsed"))

    @claims.theory(claims.below(0.02))
    def collapsed_kernel(self, result: Result) -> np.ndarray:
        """Chains of the collapsed sampler that start from the prior in the cold have the kernel of our theory in
        equilibrium (relative difference).
        """
        return compare.kernel_difference(result, phase="collapsed")

    @claims.theory(claims.below(0.02), budget="full")
    def collapsed_shares(self, result: Result) -> np.ndarray:
        """Each code has, in these chains, the share of neurons that our theory gives it in the cold (largest
        difference).
        """
        theirs = compare.network_of(result).drawn_shares(result.config.cold, DRAWN)
        return np.abs(codes.shares_of(late(result, "collapsed")) - theirs[None]).max(axis=1)

    @claims.theory(claims.above(0.0), budget="full")
    def dynamics(self, result: Result) -> float:
        """What freezes is the dynamics, not the posterior: cold chains disagree by Hamiltonian Monte Carlo, and agree
        if neurons are drawn as a whole (difference of split-R̂ of the class kernel).
        """
        cooled, collapsed = (compare.disagreement(result, phase=phase) for phase in ("cooled", "collapsed"))
        return cooled - collapsed

    @claims.theory(claims.above(0.0), budget="full")
    def exchange(self, result: Result) -> float:
        """Chains of small cold sigmoidal networks agree better with replica exchange (split-R̂ of the kernel between
        classes by Hamiltonian Monte Carlo alone, less that with it).
        """
        alone, exchanged = (compare.disagreement(result, phase=phase) for phase in ("alone", "exchanged"))
        return alone - exchanged

    checks = (
        *compare.sampling_checks(what="the kernel between classes in equilibrium", phase="equilibrium"),
        *compare.sampling_checks(
            "-collapsed",
            what="the kernel between classes in the cold by the collapsed sampler",
            reason="",
            phase="collapsed",
        ),
        *compare.readout_checks("-readouts", "single readouts in the cold by the collapsed sampler", phase="collapsed"),
        *compare.sampling_checks(
            "-exchanged",
            what="the kernel between classes of small networks by replica exchange",
            phase="exchanged",
        ),
    )

    def figure(self, result: Result) -> Figure:
        """Readouts and activity of a planted network, shares of codes; traces, and who keeps a code; kernels."""
        readouts, activity = panels.last_draw(result, phase="planted")
        groups = fs.measures.code_numbers(activity > 0.5)
        shares = {phase: codes.shares_of(late(result, phase)) for phase in PHASES}
        kernels = {phase: result["kernel"].isel(run=0).sel(phase=phase).values for phase in PHASES[1:]}
        kernels["theory, these shares"] = frozen_kernel(result, 0)
        kernels["theory"] = compare.theory_of(compare.network_of(result), result.config.cold).kernels[-1]
        with style():
            figure = plt.figure(figsize=(TWO_COLUMNS, 8.2))
            parts: Any = figure.subfigures(2, 1, height_ratios=(3.6, 1.0))
            axes = parts[0].subplot_mosaic("abc;dde;fgh") | parts[1].subplot_mosaic("ijklm")
            panels.draw_readouts(axes["a"], readouts, groups)
            panels.draw_predicted(axes["a"], planted_codes(result).readouts, ms=7, mew=1.0)
            sorted_by_code = np.argsort(groups, kind="stable")
            panels.draw_raster(axes["b"], activity, sorted_by_code, vmin=0.0, vmax=1.0, cmap="Greys")
            cold = {phase: shares[phase] for phase in COLD}
            panels.draw_shares(axes["c"], {"equilibrium": shares["equilibrium"]}, drawn_shares(result))
            panels.draw_shares(axes["d"], cold, codes.weights_of(planted_codes(result)))
            draw_kept(axes["e"], result)
            for name, phase in zip("fgh", TRACED, strict=True):
                panels.draw_trace(axes[name], result, phase=phase)
            titles = {"a": "planted, ", "c": "", "d": "", "e": ""} | {
                k: f"{v}, " for k, v in zip("fgh", TRACED, strict=True)
            }
            for name, title in titles.items():
                heat = result.config.temperature if name in "cf" else result.config.cold
                axes[name].set_title(f"{title}T = {heat:g}", fontsize=8)
            axes["f"].legend(loc="center right", bbox_to_anchor=(1.0, 0.62), ncols=2, columnspacing=1.0)
            for name in "gh":
                axes[name].plot([], [], label="theory, equilibrium", **THEORY)
                axes[name].set_ylim(0, 1.3 * axes[name].get_ylim()[1])
                axes[name].legend(handles=axes[name].lines[-1:], loc="upper right")
                axes[name].set_ylabel("")
            panels.draw_kernels([axes[name] for name in "lijmk"], kernels, result.config.counts)
            for name in "jklm":
                axes[name].set_ylabel("")
            letter(*axes.values())
        return figure


def draw_kept(axis: Axes, result: Result) -> None:
    """The share of neurons with the code that they had after warming up, for all samplers in the cold."""
    for number, phase in enumerate(COLD):
        chains = late(result, phase)
        found = codes.codes_of(chains)
        look = {"color": panels.class_color(number), "marker": panels.MARKERS[number], "ms": 2.5, "lw": 0.9}
        axis.plot(chains["time"], (found == found[:, :1]).mean(axis=(0, 2)), markevery=0.2, label=phase, **look)
    axis.set(xlabel="draw", ylabel="keep their first code", ylim=(0, 1.7))
    axis.legend(loc="upper right")


def late(result: Result, phase: str) -> xr.Dataset:
    """The recordings of one phase after warming up."""
    return compare.picked(compare.settled(result.data), phase=phase)


def planted_codes(result: Result) -> Codes:
    """The codes of the theory at the low temperature."""
    return compare.theory_of(compare.network_of(result), result.config.cold).codes


def drawn_shares(result: Result, neurons: int = DRAWN) -> np.ndarray:
    """The share of each code in equilibrium, for neurons drawn from the theory."""
    return compare.network_of(result).drawn_shares(result.config.temperature, neurons)


def several_codes(result: Result, number: int = 2) -> None:
    """Refuse low temperatures at which theory has fewer codes."""
    have = len(planted_codes(result).weights)
    if have < number:
        raise claims.NotApplicable(f"needs a lower --cold, at which theory has {number} codes; it has {have}")


def frozen_kernel(result: Result, run: int) -> np.ndarray:
    """The kernel of theory at the shares of codes that a cooled chain has."""
    chain = late(result, "cooled").isel(run=run)
    return codes.at_own_shares(chain, compare.network_of(result), result.config.cold).kernels[-1]
