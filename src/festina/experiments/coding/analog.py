"""Linear neurons: an analog code."""

from functools import lru_cache
from typing import Any

import festina as fs
from festina import claims
from festina._lazy import np, xr
from festina.experiment import Equation, Experiment, Preset, structural
from festina.experiments._fields import Temperature
from festina.experiments.coding._common import (
    VARIABLES,
    CodingConfig,
    chain,
    constant_in_time,
    coordinates,
    from_prior,
    predicted,
    readout_variance,
    world,
)
from festina.experiments.coding._comparison import (
    answer_difference,
    kernel_difference,
    sampling_checks,
    settled,
    top_share,
    worth,
)
from festina.experiments.coding._equations import POSTERIOR
from festina.sources import VAN_MEEGEN_2024

FEWEST_READOUTS = 2400  # the kurtosis of n normal numbers has the standard error √(24/n)


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
    time_unit = "draws"
    variables = VARIABLES
    seeds = 4
    quick = {"seeds": 2, "width": 200, "counts": (20, 10, 10), "draws": 400, "warm_up": 200, "records": 60}

    class Config(CodingConfig):
        width: int = structural(1000, ge=10, le=5000, help="neurons N of the hidden layer")
        temperature: Temperature = structural(0.01, scale="log", help="temperature T")
        draws: int = structural(500, ge=8, le=1_000_000, help="draws after warming up")
        records: int = structural(80, ge=2, le=10_000, help="recordings, evenly spaced; must divide all draws")

    def coordinates(self, config: Any) -> dict[str, Any]:
        return coordinates(config)

    def simulate(self, config: Any, key: Any) -> Any:
        data = world(config)
        for_network, for_draws = fs.draws.split(key, 2)
        return chain(config, for_draws, from_prior(config, for_network, data, fs.networks.LINEAR), data)

    def theory(self, config: Any, key: Any) -> Any:
        return constant_in_time(**predicted(prediction(config), world(config)))

    def measure(self, data: Any) -> dict[str, Any]:
        return worth(data)

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
    def shared(self, result: Any) -> Any:
        """Coding in linear networks is analog: all neurons take part (share of the class signal in the top tenth; .2 to
        .44 is our range for such codes).
        """
        learned(result.config)
        return top_share(result)

    @claims.paper(VAN_MEEGEN_2024.at("linear networks: readout weights"), claims.near(0.0, 0.1))
    def gaussian(self, result: Any) -> Any:
        """Readout weights of linear networks are Gaussian (excess kurtosis along the axes of U that targets reach; ±.1
        is our tolerance).
        """
        return excess_kurtosis(result)

    @claims.theory(claims.below(0.02))
    def kernel(self, result: Any) -> Any:
        """The mean kernel of the linear hidden layer is that of our theory (relative difference)."""
        return kernel_difference(result)

    @claims.theory(claims.below(0.02))
    def answer(self, result: Any) -> Any:
        """The mean answer of linear networks is that of our theory (largest difference; targets are 1 and −½)."""
        return answer_difference(result)

    @claims.theory(claims.below(0.05))
    def covariance(self, result: Any) -> Any:
        """Readout weights of linear networks have the covariance U of our theory (relative difference)."""
        return covariance_difference(result)

    @claims.theory(claims.near(1.0, 0.05))
    def graded(self, result: Any) -> Any:
        """No group of linear neurons stands out: the top tenth has the share of the class signal that normal numbers
        give (ratio).
        """
        return top_share(result) / gaussian_top_share(result.config)

    checks = sampling_checks()

    def figure(self, result: Any) -> Any:
        from festina.experiments.coding._analog_figure import draw

        return draw(result)


def prediction(config: Any) -> Any:
    """The theory, with its correction for N neurons."""
    return _prediction(config.counts, config.amplitude, config.temperature, config.width)


@lru_cache
def _prediction(counts: tuple[int, ...], amplitude: float, temperature: float, width: int) -> Any:
    data = fs.worlds.orthogonal_classes(counts)
    inputs = np.asarray(data.inputs)
    return fs.theory.coding.analog(
        inputs @ inputs.T,
        np.asarray(data.targets),
        temperature,
        fs.networks.bayesian.readout_variance(amplitude, sum(counts), 1),
        width,
    )


def learned(config: Any) -> None:
    """Refuse temperatures at which linear networks learn nothing in the limit of many examples."""
    targets = np.asarray(world(config).targets)
    onset = fs.theory.coding.analog_onsets(np.eye(len(targets)), targets, readout_variance(config)).max()
    if config.temperature >= onset:
        raise claims.NotApplicable(f"needs a temperature below {onset:.2g}, at which networks learn the classes")


def covariance_difference(result: Any) -> Any:
    """‖⟨aaᵀ⟩ − U‖/‖U‖ of each run, over the recordings after warming up."""
    readout = readouts(result)
    ours = np.einsum("rni,rnj->rij", readout, readout) / readout.shape[1]
    theirs = prediction(result.config).readout_covariance
    return np.linalg.norm(ours - theirs[None], axis=(1, 2)) / np.linalg.norm(theirs)


def excess_kurtosis(result: Any) -> Any:
    """⟨b⁴⟩/⟨b²⟩² − 3 of readouts b along each axis of U on which targets lie: (run, direction)."""
    axes = learned_axes(result.config)
    along = readouts(result) @ axes
    if along.shape[1] < FEWEST_READOUTS:
        raise claims.Undecided(f"needs {FEWEST_READOUTS} readouts, those of all recordings, and has {along.shape[1]}")
    kurtosis = (along**4).mean(axis=1) / (along**2).mean(axis=1) ** 2
    return xr.DataArray(kurtosis - 3.0, dims=("run", "direction"))


def learned_axes(config: Any) -> Any:
    """The axes of U within the space of targets, the largest first: (outputs, rank)."""
    values, axes = np.linalg.eigh(prediction(config).readout_covariance)
    rank = np.linalg.matrix_rank(world(config).class_targets)
    return axes[:, np.argsort(-values)[:rank]]


def gaussian_top_share(config: Any) -> float:
    """The share of the class signal in the top tenth if all neurons are drawn from the theory.

    Given its readout a, the mean activity of a neuron in class c is t_c·a, and noise of variance 1/n_c.
    """
    theory, data = prediction(config), world(config)
    portions = np.asarray(config.counts) / sum(config.counts)
    first = np.concatenate([[0], np.cumsum(config.counts)[:-1]])
    generator = np.random.default_rng(0)
    readouts = generator.multivariate_normal(np.zeros(len(portions)), theory.readout_covariance, 200_000)
    noise = generator.standard_normal(readouts.shape) / np.sqrt(np.asarray(data.counts))[None]
    activity = readouts @ theory.residual[first].T + noise
    deviation = (activity - activity @ portions[:, None]) * np.sqrt(portions)[None]
    signal = np.sort(np.linalg.norm(readouts, axis=1) * np.linalg.norm(deviation, axis=1))
    return float(signal[-20_000:].sum() / signal.sum())


def readouts(result: Any) -> Any:
    """All readouts in all recordings after warming up: (run, neurons of all recordings, outputs)."""
    late = settled(result.data)["readout"].transpose("run", "time", "neuron", "output").values
    return late.reshape(len(late), -1, late.shape[-1])
