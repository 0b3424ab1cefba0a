"""Rectified neurons: a sparse code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import festina as fs
from festina import claims, models
from festina._lazy import np, plt, xr
from festina.experiment import Arms, Equation, Experiment, Preset, Result, use
from festina.experiments.coding._codes import outliers_of
from festina.experiments.coding._comparison import (
    answer_difference,
    kernel_difference,
    network_of,
    of_three_classes,
    sampling_checks,
    settled,
    theory_of,
    top_share,
)
from festina.experiments.coding._panels import (
    draw_kernels,
    draw_numbers,
    draw_predicted,
    draw_ranks,
    draw_raster,
    draw_readouts,
    draw_trace,
    last_draw,
)
from festina.sources import VAN_MEEGEN_2024
from festina.style import TWO_COLUMNS, letter, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from festina.models.wide_bayesian import WideBayesian

STRONGEST = 30  # neurons whose activity is shown


class Sparse(Experiment):
    """Rectified neurons of a network that learns classes leave all the work to very few of them, the outliers.

    A network of N neurons φ(z) = max(z, 0), f = aφ/N, is sampled from its posterior at temperature T/N. In the limit of
    many neurons, p(a, z) ∝ N(a|0, s) N(z|0, K_0) exp(a·tᵀφ(z)) can be normalised only while
    h(t) = max_{|u|=1} s Σ_c n_c (u·t_c)₊² ≤ 1. At low T the residual t = (Y − ⟨f⟩)/T reaches that boundary, and neurons
    condense: an *outlier* has a = √N ā and z = √N z̄ with z̄_c = (ā·t_c)₊, and

        ā_i = s Σ_c n_c t_c (t_c·ā_i)₊,    T t_c − y_c + f_bulk,c + Σ_i z̄_ic ā_i = 0,    K = K_bulk + Σ_i z̄_i z̄_iᵀ.

    All others, the *bulk*, stay as they were a priori, nearly. The equations were derived independently of the source.

    What several outliers with readouts in one direction do, one of them can do as well, at leading order in N: how many
    there are for a class is decided by corrections, and slowly. The source leaves their number open. In our chains it
    depends on how slowly they cool: those of the full budget, which reach T = .03 within 300 draws, end with 6.5 for
    three classes, and still merge; separate chains ended with 3.5 ± .5 when T fell from .7 to .2 over 750 draws, and
    with exactly three when they dwelt for 150 draws on each of 11 temperatures. The kernel is that of the theory
    however many there are. Steps must be small, for a trajectory crosses the kinks of all neurons at all examples: of
    the order of (NP)^(−½). That is why there are 500 neurons here and two chains.
    """

    name = "coding/sparse"
    sources = (VAN_MEEGEN_2024,)
    arms = Arms(use(models.WideBayesian, nonlinearity="rectified", layers=1, origin="prior", tests=0, noise=0.0))
    base = {"width": 500, "counts": (50, 25, 25), "temperature": 0.03, "warm_up": 600, "draws": 400, "records": 200}
    seeds = 2
    quick = {"width": 100, "counts": (20, 10, 10), "temperature": 0.1, "draws": 200, "warm_up": 400, "records": 60}

    equations = (
        Equation(
            r"\max_{|u| = 1}\; s \sum_c n_c\, (u \cdot t_c)_+^2 \le 1",
            "Only up to this boundary can the law of a neuron be normalised; where the residual t reaches it neurons "
            "condense.",
        ),
        Equation(
            r"\bar a_i = s \sum_c n_c\, t_c\, (t_c \cdot \bar a_i)_+, \qquad \bar z_{ic} = (\bar a_i \cdot t_c)_+, "
            r"\qquad K = K_{\text{bulk}} + \sum_i \bar z_i \bar z_i^\top",
            "An outlier has √N times these readouts and inputs; a few of them add the classes to the kernel of the "
            "bulk.",
        ),
    )
    presets = (
        Preset("cold", "Few neurons grow large and carry the classes; all others stay as they were."),
        Preset(
            "too warm", "Above the onset of condensation no neuron grows large.", {"temperature": 1.5, "hottest": 1.5}
        ),
    )

    @claims.paper(VAN_MEEGEN_2024.at("ReLU networks: sparse coding"), claims.above(0.55))
    def sparse(self, result: Result) -> np.ndarray:
        """Coding in rectified networks is sparse: few neurons carry the classes (share of the class signal in the top
        tenth; above .55 is our threshold).
        """
        condensed(network_of(result))
        return top_share(result)

    @claims.theory(claims.below(0.02), loosely=claims.below(0.05))
    def kernel(self, result: Result) -> np.ndarray:
        """The mean kernel of the rectified hidden layer is that of our theory (relative difference)."""
        return kernel_difference(result)

    @claims.theory(claims.below(0.02))
    def answer(self, result: Result) -> np.ndarray:
        """The mean answer of rectified networks is that of our theory (largest difference; targets are 1 and −½)."""
        return answer_difference(result)

    @claims.reference(
        "our own earlier chain, which dwelt for 150 draws on each of 11 temperatures",
        claims.near(3.0, 0.0),
        loosely=claims.between(3.0, 9.0),
        reason="our budget: chains cool too fast for outliers to merge, and the source leaves their number open; see "
        "the experiment's description",
        budget="full",
    )
    def one_a_class(self, result: Result) -> xr.DataArray:
        """Outliers of one class merge until there is one for each of three classes (number of outliers at the end)."""
        condensed(network_of(result), len(result.config.counts))
        return of_three_classes(result, number_of_outliers(result).isel(time=-1))

    @claims.theory(claims.below(0.0), budget="full")
    def condensing(self, result: Result) -> xr.DataArray:
        """Outliers become fewer at constant temperature, since theory lets them merge (number at the end less that when
        cooling ends).
        """
        condensed(network_of(result))
        number, cooled = number_of_outliers(result), result.config.cooling * result.config.warm_up
        return number.isel(time=-1) - number.isel(time=int(np.searchsorted(number["time"].values, cooled)))

    @claims.theory(claims.near(1.0, 0.0))
    def one_class_each(self, result: Result) -> xr.DataArray:
        """Every outlier is on for a single class, as in our theory (mean number of classes with half its largest
        activity or more).
        """
        condensed(network_of(result), len(result.config.counts))
        late = settled(result.data)
        which, activity = outliers(result, late), late["activity"]
        if not which.any(("time", "neuron")).all():
            raise claims.Undecided("needs longer chains, or wider networks: in one no neuron has |a| > 8√s")
        return (activity > 0.5 * activity.max("class")).sum("class").where(which).mean(("time", "neuron"))

    @claims.theory(claims.below(0.05))
    def size(self, result: Result) -> xr.DataArray:
        """Outliers of a class together have the size √N ā of our theory (relative difference of √Σ|a|²)."""
        condensed(network_of(result))
        late, predicted = settled(result.data), xr.DataArray(predicted_readouts(result), dims=("code", "output"))
        size = (predicted**2).sum("output") ** 0.5
        nearest = xr.dot(late["readout"], predicted / size, dim="output").argmax("code")  # of the predicted directions
        square = (late["readout"] ** 2).sum("output").where(outliers(result, late), 0.0)
        ours = square.where(nearest == xr.DataArray(range(len(size)), dims="code"), 0.0).sum("neuron") ** 0.5
        return abs(ours.mean("time") / size - 1.0).max("code")

    @claims.theory(claims.near(1.0, 0.05), budget="full")
    def bulk(self, result: Result) -> xr.DataArray:
        """Readouts of all but the outliers, the bulk, nearly keep the variance of the prior (ratio to that of our
        theory).
        """
        late, network = settled(result.data), network_of(result)
        bulk = late["readout"].where(~outliers(result, late))
        return bulk.var(("time", "neuron")).sum("output") / theory_of(network).bulk_variance

    checks = sampling_checks()

    def figure(self, result: Result) -> Figure:
        """Readouts with the predicted outliers, sizes of all neurons, activity of the strongest; kernels; traces."""
        network, (readouts, activity) = network_of(result), last_draw(result)
        with style():
            figure = plt.figure(figsize=(TWO_COLUMNS, 4.3))
            parts: Any = figure.subfigures(2, 1, height_ratios=(1.15, 1.0))
            axes = parts[0].subplot_mosaic("abc") | parts[1].subplot_mosaic("defg")
            large = fs.measures.outliers(readouts, network.readout_variance)
            draw_readouts(axes["a"], readouts[~large], np.zeros((~large).sum()), color="0.5")
            draw_readouts(axes["a"], readouts[large], np.argmax(activity[large], axis=1), ms=4.5)
            draw_predicted(axes["a"], predicted_readouts(result))
            draw_ranks(axes["b"], result["readout"].isel(time=-1), predicted_readouts(result))
            strongest = np.argsort(-np.linalg.norm(readouts, axis=1))[:STRONGEST]
            draw_raster(axes["c"], activity, strongest, cmap="Greys", vmin=0.0)
            axes["c"].set_ylabel("neuron, by size of readout")
            theory = theory_of(network).kernels[-1]
            kernels = {"samples": result["kernel"].isel(run=0).values, "theory": theory}
            draw_kernels([axes["d"], axes["e"]], kernels, network.counts)
            draw_trace(axes["f"], result)
            legend = {"bbox_to_anchor": (1.0, 0.42), "columnspacing": 0.8, "handlelength": 1.2}
            axes["f"].legend(loc="center right", ncols=2, **legend)
            draw_numbers(axes["g"], result, number_of_outliers(result), len(predicted_readouts(result)))
            axes["e"].set_ylabel("")
            letter(*axes.values())
        return figure


def predicted_readouts(result: Result) -> np.ndarray:
    """a = √N ā of each outlier of the theory: (outliers, outputs)."""
    network = network_of(result)
    return np.sqrt(network.width) * theory_of(network).outliers


def condensed(network: WideBayesian, number: int = 1) -> None:
    """Refuse temperatures at which theory has fewer outliers."""
    if len(theory_of(network).outliers) < number:
        onsets = network.onsets()
        below = f"below {onsets[number - 1]:.2g}" if len(onsets) >= number else "that is lower"
        raise claims.NotApplicable(f"needs a temperature {below}, for theory to have {number} outliers or more")


def outliers(result: Result, data: xr.Dataset) -> xr.DataArray:
    """Which neurons are outliers, with |a| > 8√s, in some of the recordings: (run, time, neuron)."""
    return outliers_of(data, network_of(result).readout_variance).transpose("run", "time", "neuron")


def number_of_outliers(result: Result) -> xr.DataArray:
    """How many outliers each recording has, those while warming up included: (run, time)."""
    return outliers(result, result.data).sum("neuron")
