"""Rectified neurons: a sparse code."""

from functools import lru_cache
from typing import Any

import festina as fs
from festina import claims
from festina._lazy import np
from festina.experiment import Equation, Experiment, Preset, structural
from festina.experiments._fields import Temperature
from festina.experiments.coding import _sampled
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
    of_three_classes,
    sampling_checks,
    settled,
    top_share,
    worth,
)
from festina.sources import VAN_MEEGEN_2024


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
    time_unit = "draws"
    variables = VARIABLES
    seeds = 2
    quick = {"width": 100, "counts": (20, 10, 10), "temperature": 0.1, "draws": 200, "warm_up": 400, "records": 60}

    class Config(CodingConfig):
        temperature: Temperature = structural(0.03, scale="log", help="temperature T")
        warm_up: int = structural(600, ge=1, le=100_000, help="draws to warm up")
        draws: int = structural(400, ge=8, le=1_000_000, help="draws after warming up")
        records: int = structural(200, ge=2, le=10_000, help="recordings, evenly spaced; must divide all draws")

    def coordinates(self, config: Any) -> dict[str, Any]:
        return coordinates(config)

    def simulate(self, config: Any, key: Any) -> Any:
        data = world(config)
        for_network, for_draws = fs.draws.split(key, 2)
        return chain(config, for_draws, from_prior(config, for_network, data, fs.networks.RECTIFIED), data)

    def theory(self, config: Any, key: Any) -> Any:
        return constant_in_time(**predicted(prediction(config), world(config)))

    def measure(self, data: Any) -> dict[str, Any]:
        return worth(data)

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
    def sparse(self, result: Any) -> Any:
        """Coding in rectified networks is sparse: few neurons carry the classes (share of the class signal in the top
        tenth; above .55 is our threshold).
        """
        condensed(result.config)
        return top_share(result)

    @claims.theory(claims.below(0.02), loosely=claims.below(0.05))
    def kernel(self, result: Any) -> Any:
        """The mean kernel of the rectified hidden layer is that of our theory (relative difference)."""
        return kernel_difference(result)

    @claims.theory(claims.below(0.02))
    def answer(self, result: Any) -> Any:
        """The mean answer of rectified networks is that of our theory (largest difference; targets are 1 and −½)."""
        return answer_difference(result)

    @claims.reference(
        "our own earlier chain, which dwelt for 150 draws on each of 11 temperatures",
        claims.near(3.0, 0.0),
        loosely=claims.between(3.0, 9.0),
        reason="our budget: chains cool too fast for outliers to merge, and the source leaves their number open; see "
        "the experiment's description",
    )
    def one_a_class(self, result: Any) -> Any:
        """Outliers of one class merge until there is one for each of three classes (number of outliers at the end)."""
        condensed(result.config, len(result.config.counts))
        return of_three_classes(result, number_of_outliers(result)[:, -1])

    @claims.theory(claims.below(0.0), budget="full")
    def condensing(self, result: Any) -> Any:
        """Outliers become fewer at constant temperature, since theory lets them merge (number at the end less that when
        cooling ends).
        """
        condensed(result.config)
        return _change_in_number(result)

    @claims.theory(claims.near(1.0, 0.0))
    def one_class_each(self, result: Any) -> Any:
        """Every outlier is on for a single class, as in our theory (mean number of classes with half its largest
        activity or more).
        """
        condensed(result.config, len(result.config.counts))
        return classes_of_outliers(result)

    @claims.theory(claims.below(0.05))
    def size(self, result: Any) -> Any:
        """Outliers of a class together have the size √N ā of our theory (relative difference of √Σ|a|²)."""
        return size_difference(result)

    @claims.theory(claims.near(1.0, 0.05))
    def bulk(self, result: Any) -> Any:
        """Readouts of all but the outliers, the bulk, nearly keep the variance of the prior (ratio to that of our
        theory).
        """
        return bulk_variance(result)

    checks = sampling_checks()

    def figure(self, result: Any) -> Any:
        from festina.experiments.coding._sparse_figure import draw

        return draw(result)


def prediction(config: Any) -> Any:
    """The theory; its diagnostics hold the certificate h."""
    return _prediction(config.counts, config.amplitude, config.temperature)


@lru_cache
def _prediction(counts: tuple[int, ...], amplitude: float, temperature: float) -> Any:
    data = fs.worlds.orthogonal_classes(counts)
    return fs.theory.coding.sparse(
        counts, data.class_targets, temperature, fs.networks.bayesian.readout_variance(amplitude, sum(counts), 1)
    )


def predicted_readouts(config: Any) -> Any:
    """a = √N ā of each outlier: (outliers, outputs)."""
    return np.sqrt(config.width) * prediction(config).outliers


def condensed(config: Any, number: int = 1) -> None:
    """Refuse temperatures at which theory has fewer outliers."""
    if len(prediction(config).outliers) < number:
        onsets = fs.theory.coding.sparse_onsets(config.counts, world(config).class_targets, readout_variance(config))
        below = f"below {onsets[number - 1]:.2g}" if len(onsets) >= number else "that is lower"
        raise claims.NotApplicable(f"needs a temperature {below}, for theory to have {number} outliers or more")


def outliers(result: Any) -> Any:
    """Which neurons are outliers, with |a| > 8√s, in all recordings after warming up: (run, time, neuron)."""
    return _sampled.outliers(_late(result, "readout", "output"), readout_variance(result.config))


def number_of_outliers(result: Any) -> Any:
    """How many outliers each recording has, those while warming up included: (run, time)."""
    readout = result["readout"].transpose("run", "time", "neuron", "output").values
    return _sampled.outliers(readout, readout_variance(result.config)).sum(axis=-1)


def _change_in_number(result: Any) -> Any:
    """From half-way of warming up, when the final temperature is reached, to the end."""
    number = number_of_outliers(result)
    reached = int(np.searchsorted(result["time"].values, result.config.warm_up / 2))
    return number[:, -1] - number[:, reached]


def classes_of_outliers(result: Any) -> Any:
    """For how many classes outliers are on, mean over all of them, by run."""
    activity, which = _late(result, "activity", "class"), outliers(result)
    if not which.any(axis=(1, 2)).all():
        raise claims.Undecided("needs longer chains, or wider networks: in one no neuron has |a| > 8√s")
    classes = (activity > 0.5 * activity.max(axis=-1, keepdims=True)).sum(axis=-1)
    return (classes * which).sum(axis=(1, 2)) / which.sum(axis=(1, 2))


def size_difference(result: Any) -> Any:
    """The largest relative difference of √Σ|a|² from theory over codes, the sum being over the outliers of a code.

    An outlier belongs to the predicted one whose direction is nearest. The mean is over recordings.
    """
    condensed(result.config)
    predicted_ones = predicted_readouts(result.config)
    size = np.linalg.norm(predicted_ones, axis=1)
    readout = _late(result, "readout", "output")
    nearest = np.argmax(readout @ (predicted_ones / size[:, None]).T, axis=-1)
    square = (readout**2).sum(axis=-1) * outliers(result)
    ours = np.stack([np.sqrt((square * (nearest == each)).sum(axis=-1)) for each in range(len(size))], axis=-1)
    return np.abs(ours.mean(axis=1) / size[None] - 1.0).max(axis=1)


def bulk_variance(result: Any) -> Any:
    """Variance of readouts in the bulk, all outputs together, over that of the theory, by run."""
    readout, inside = _late(result, "readout", "output"), ~outliers(result)
    count = inside.sum(axis=(1, 2))[:, None]
    mean = (readout * inside[..., None]).sum(axis=(1, 2)) / count
    square = (readout**2 * inside[..., None]).sum(axis=(1, 2)) / count
    return (square - mean**2).sum(axis=1) / predicted_bulk_variance(result.config)


def predicted_bulk_variance(config: Any) -> float:
    """tr Cov(a) of the bulk: on the grid of the theory where targets reach, and s in each other output."""
    bulk = prediction(config).bulk
    mean = bulk.probability @ bulk.readouts
    inside = bulk.probability @ bulk.readouts**2 - mean**2
    return float(inside.sum() + (len(config.counts) - len(mean)) * readout_variance(config))


def _late(result: Any, name: str, last: str) -> Any:
    return settled(result.data)[name].transpose("run", "time", "neuron", last).values
