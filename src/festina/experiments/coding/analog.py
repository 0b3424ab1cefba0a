"""Linear neurons: an analog code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import festina as fs
from festina import claims, models
from festina._lazy import np, xr
from festina.experiment import Arms, Equation, Experiment, Preset, Result, use
from festina.experiments.coding._comparison import (
    answer_difference,
    kernel_difference,
    network_of,
    sampling_checks,
    settled,
    theory_of,
    top_share,
)
from festina.experiments.coding._panels import canvas, draw_kernels, draw_raster, draw_readouts, draw_trace, last_draw
from festina.models._wide import POSTERIOR
from festina.sources import VAN_MEEGEN_2024
from festina.style import PALETTE, THEORY, letter, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from festina.models.wide_bayesian import WideBayesian

FEWEST_READOUTS = 2400  # the kurtosis of n normal numbers has the standard error √(24/n)
DRAWN = 200_000  # neurons from the theory


class Analog(Experiment):
    """Linear neurons of a network that learns classes are all alike: each carries its own graded mixture of classes.

    A network of N linear neurons, f = a z/N, is sampled from its posterior at temperature T/N. In the limit of many
    neurons each readout a is Gaussian with a covariance U, and given it a neuron has z ~ N(K_0 t a, K_0), with the
    residual t = (Y − ⟨f⟩)/T. With the eigenvalues λ_k of K_0 and targets y_k in its eigenbasis, U minimises

        tr U/2s − ½ log det U + (1/2N) Σ_k log det(λ_k U + T) + ½ Σ_k y_kᵀ(λ_k U + T)⁻¹ y_k,

    and the kernel is K = K_0 + K_0 t U tᵀ K_0. The term in 1/N is a correction for P/N: it shows in
    readouts to which no target speaks, with less than the variance s of the prior. The source says that the code is
    analog and that readouts are Gaussian; the equations were derived independently of it.
    """

    name = "coding/analog"
    sources = (VAN_MEEGEN_2024,)
    arms = Arms(use(models.WideBayesian, nonlinearity="linear", layers=1, origin="prior", tests=0, noise=0.0))
    base = {"width": 1000, "counts": (50, 25, 25), "temperature": 0.01, "warm_up": 300, "draws": 500, "records": 80}
    seeds = 4
    quick = {"seeds": 2, "width": 200, "counts": (20, 10, 10), "draws": 400, "warm_up": 200, "records": 60}

    equations = (
        POSTERIOR,
        Equation(
            r"\min_U\; \frac{\operatorname{tr} U}{2s} - \tfrac12 \ln \det U "
            r"+ \frac{1}{2N} \sum_k \ln \det(\lambda_k U + T) "
            r"+ \tfrac12 \sum_k y_k^\top (\lambda_k U + T)^{-1} y_k",
            "The covariance U of the Gaussian readouts minimises this, with eigenvalues λ and targets y in the inputs' "
            "eigenbasis.",
        ),
        Equation(
            r"z \mid a \sim \mathcal N(K_0 t a, K_0), \qquad K = K_0 + K_0 t\, U t^\top K_0",
            "Given its readout a neuron is Gaussian as well, and the kernel K of the layer grows along the classes.",
        ),
    )
    presets = (
        Preset("cold", "Every neuron carries its own graded mixture of classes, and the kernel is that of the theory."),
        Preset(
            "too warm",
            "Above the onset hardly anything is learned, and readouts nearly keep the variance of the prior.",
            {"temperature": 2.0, "hottest": 2.0},
        ),
    )

    @claims.paper(VAN_MEEGEN_2024.at("abstract: analog coding"), claims.between(0.2, 0.44))
    def shared(self, result: Result) -> np.ndarray:
        """Coding in linear networks is analog: all neurons take part (share of the class signal in the top tenth; .2 to
        .44 is our range for such codes).
        """
        learned(network_of(result))
        return top_share(result)

    @claims.paper(VAN_MEEGEN_2024.at("linear networks: readout weights"), claims.near(0.0, 0.1), budget="full")
    def gaussian(self, result: Result) -> xr.DataArray:
        """Readout weights of linear networks are Gaussian (excess kurtosis along the axes of U that targets reach; ±.1
        is our tolerance).
        """
        return excess_kurtosis(result)

    @claims.theory(claims.below(0.02))
    def kernel(self, result: Result) -> np.ndarray:
        """The mean kernel of the linear hidden layer is that of our theory (relative difference)."""
        return kernel_difference(result)

    @claims.theory(claims.below(0.02))
    def answer(self, result: Result) -> np.ndarray:
        """The mean answer of linear networks is that of our theory (largest difference; targets are 1 and −½)."""
        return answer_difference(result)

    @claims.theory(claims.below(0.05))
    def covariance(self, result: Result) -> np.ndarray:
        """Readout weights of linear networks have the covariance U of our theory (relative difference)."""
        readout, theirs = readouts(result), covariance_of(network_of(result))
        ours = np.einsum("rni,rnj->rij", readout, readout) / readout.shape[1]
        return np.linalg.norm(ours - theirs[None], axis=(1, 2)) / np.linalg.norm(theirs)

    @claims.theory(claims.near(1.0, 0.05))
    def graded(self, result: Result) -> np.ndarray:
        """No group of linear neurons stands out: the top tenth has the share of the class signal that normal numbers
        give (ratio).
        """
        return top_share(result) / gaussian_top_share(network_of(result))

    checks = sampling_checks()

    def figure(self, result: Result) -> Figure:
        """Readouts with the predicted covariance, their histogram, activity by class; kernels; a trace."""
        network, (readout, activity) = network_of(result), last_draw(result)
        with style():
            figure, axes = canvas()
            draw_readouts(axes["a"], readout, np.zeros(len(readout)))
            _draw_ellipses(axes["a"], covariance_of(network))
            _draw_histogram(axes["b"], result)
            span = np.abs(activity).max()
            order = np.argsort(np.arctan2(*(readout @ learned_axes(network)[:, :2]).T[::-1]))
            draw_raster(axes["c"], activity, order, cmap="RdBu_r", vmin=-span, vmax=span)
            theory = theory_of(network).kernels[-1]
            kernels = {"samples": result["kernel"].isel(run=0).values, "theory": theory}
            draw_kernels([axes["d"], axes["e"]], kernels, network.counts)
            draw_trace(axes["f"], result)
            axes["f"].legend(loc="center right", bbox_to_anchor=(1.0, 0.53), ncols=2, columnspacing=1.0)
            letter(*axes.values())
        return figure


def covariance_of(network: WideBayesian) -> np.ndarray:
    """U of the theory, with its correction for N neurons."""
    return theory_of(network).readout_covariance


def learned(network: WideBayesian) -> None:
    """Refuse temperatures at which linear networks learn nothing in the limit of many examples."""
    targets = np.asarray(network.world().targets)
    onset = fs.theory.coding.analog_onsets(np.eye(len(targets)), targets, network.readout_variance).max()
    if network.temperature >= onset:
        raise claims.NotApplicable(f"needs a temperature below {onset:.2g}, at which networks learn the classes")


def excess_kurtosis(result: Result) -> xr.DataArray:
    """⟨b⁴⟩/⟨b²⟩² − 3 of readouts b along each axis of U on which targets lie: (run, direction)."""
    along = readouts(result) @ learned_axes(network_of(result))
    if along.shape[1] < FEWEST_READOUTS:
        raise claims.Undecided(f"needs {FEWEST_READOUTS} readouts, those of all recordings, and has {along.shape[1]}")
    kurtosis = (along**4).mean(axis=1) / (along**2).mean(axis=1) ** 2
    return xr.DataArray(kurtosis - 3.0, dims=("run", "direction"))


def learned_axes(network: WideBayesian) -> np.ndarray:
    """The axes of U within the space of targets, the largest first: (outputs, rank)."""
    values, axes = np.linalg.eigh(covariance_of(network))
    rank = np.linalg.matrix_rank(network.world().class_targets)
    return axes[:, np.argsort(-values)[:rank]]


def gaussian_top_share(network: WideBayesian) -> float:
    """The share of the class signal in the top tenth if all neurons are drawn from the theory.

    Given its readout a, the mean activity of a neuron in class c is t_c·a, and noise of variance 1/n_c.
    """
    theory, counts = theory_of(network), np.asarray(network.counts)
    first = np.cumsum(counts) - counts
    generator = np.random.default_rng(0)
    readouts = generator.multivariate_normal(np.zeros(len(counts)), theory.readout_covariance, DRAWN)
    noise = generator.standard_normal(readouts.shape) / np.sqrt(counts)[None]
    return float(fs.measures.top_share(readouts, readouts @ theory.residual[first].T + noise, network.counts))


def readouts(result: Result) -> np.ndarray:
    """All readouts in all recordings after warming up: (run, neurons of all recordings, outputs)."""
    late = settled(result.data)["readout"].transpose("run", "time", "neuron", "output").values
    return late.reshape(len(late), -1, late.shape[-1])


def _draw_ellipses(axis: Axes, covariance: np.ndarray) -> None:
    """Where the theory's Gaussian falls to one and two standard deviations."""
    angle = np.linspace(0, 2 * np.pi, 200)
    circle = np.linalg.cholesky(covariance[:2, :2]) @ np.stack([np.cos(angle), np.sin(angle)])
    for number in (1, 2):
        axis.plot(*(number * circle), label="theory, 1 and 2 s.d." if number == 1 else None, **THEORY)
    top = np.abs(axis.get_ylim()).max()
    axis.set_ylim(-top, 1.5 * top)
    axis.legend(loc="upper right")


def _draw_histogram(axis: Axes, result: Result) -> None:
    """Readouts along the axes that are learned, all chains and recordings together, with the predicted densities."""
    covariance, axes = covariance_of(network_of(result)), learned_axes(network_of(result))
    along = readouts(result).reshape(-1, len(axes)) @ axes
    edges = np.linspace(-4, 4, 41) * np.sqrt(np.linalg.eigvalsh(covariance).max())
    fine = np.linspace(edges[0], edges[-1], 300)
    for number, line in zip(range(axes.shape[1]), "-:" * axes.shape[1], strict=False):
        height = np.histogram(along[:, number], edges, density=True)[0]
        axis.stairs(height, edges, color=PALETTE[number % 7], lw=1.0, ls=line, label=f"along axis {number + 1}")
        variance = axes[:, number] @ covariance @ axes[:, number]
        axis.plot(fine, np.exp(-0.5 * fine**2 / variance) / np.sqrt(2 * np.pi * variance), **THEORY)
    axis.plot([], [], label="theory", **THEORY)
    axis.set(xlabel="readout along an axis of U", ylabel="density", xlim=(edges[0], edges[-1]))
    axis.set_ylim(0, 1.75 * axis.get_ylim()[1])
    axis.legend(loc="upper right")
