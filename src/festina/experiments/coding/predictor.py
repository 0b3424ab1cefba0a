"""The predictor of networks that learn features against that of lazy ones: mean, variance, generalization."""

from functools import lru_cache
from typing import Any

import festina as fs
from festina import claims
from festina._lazy import jnp, np
from festina.experiment import Equation, Experiment, ExperimentConfig, Preset, Variable, structural
from festina.experiments._fields import Amplitude, Temperature
from festina.experiments._side_by_side import side_by_side
from festina.experiments.coding._common import constant_in_time, planted, readout_variance
from festina.experiments.coding._comparison import long_enough, sampling_checks, worth_of
from festina.experiments.coding._equations import NEURON
from festina.experiments.coding._sampled import posterior, stacked
from festina.sources import VAN_MEEGEN_2024

KINDS = ("linear", "sigmoidal", "rectified")
MOST_EVIDENCE, LEVELS = 2.0, 9
SEED = 0  # of the test inputs, the same in every run
SCOPE = (
    "the source's scope: its abstract says this of linear networks, and only a summary of it of all; see the "
    "experiment's description"
)
SHIFT = 0.05  # rms difference up to which mean predictors count as identical
SHORT = "our budget: longer chains are worth more draws"
FROZEN = "each chain of sigmoidal networks is frozen at its own shares of codes; see the experiment's description"


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

    Found: only for linear neurons is the mean predictor the lazy one (rms difference .002 at the full budget, against
    .13 for sigmoidal and .18 for rectified neurons); sigmoidal answers saturate with evidence, rectified ones are
    larger. Variances are less by a factor of hundreds for all three, which is most of the gain in test error, but a
    tenth of it comes from the mean if neurons are not linear.

    Chains start from neurons drawn from the theory: at this temperature sigmoidal chains from the prior are frozen out
    of equilibrium. Variances are those over draws of all runs together, since neurons of one run keep their codes, so
    that sigmoidal chains do not agree with each other (split-R̂ 2.6). The lazy network has a ~ N(0, 1), the same T, and
    infinite width.
    """

    name = "coding/predictor"
    sources = (VAN_MEEGEN_2024,)
    time_unit = "draws"
    variables = {
        "acceptance": Variable("probability of accepting the last proposal", ("nonlinearity",)),
        "kept": Variable("draws averaged so far", ("nonlinearity",)),
        "test": Variable("answer f to test inputs", ("nonlinearity", "input", "output")),
        "mean": Variable("answer f, mean over draws", ("nonlinearity", "input", "output")),
        "square": Variable("f², mean over draws", ("nonlinearity", "input", "output")),
    }
    seeds = 4
    quick = {"seeds": 2, "width": 100, "counts": (20, 10, 10), "temperature": 0.05, "draws": 150, "warm_up": 50}

    class Config(ExperimentConfig):
        width: int = structural(300, ge=10, le=5000, help="neurons N of the hidden layer")
        counts: tuple[int, ...] = structural((50, 25, 25), min_length=2, max_length=3, help="examples of each class")
        amplitude: Amplitude = structural(1.0, scale="log", help="size σ_a of readouts; their prior variance is σ_a²/P")
        temperature: Temperature = structural(0.01, scale="log", help="temperature T, of lazy networks as well")
        noise: float = structural(0.3, ge=0, le=0.69, help="length of a test input's noise among training inputs")
        tests: int = structural(10, ge=1, le=1000, help="noisy test inputs of each class")
        warm_up: int = structural(100, ge=1, le=100_000, help="draws to warm up")
        draws: int = structural(300, ge=8, le=1_000_000, help="draws after warming up")

    def coordinates(self, config: Any) -> dict[str, Any]:
        return {
            "nonlinearity": list(KINDS),
            "input": list(range(LEVELS + config.tests * len(config.counts))),
            "output": list(range(len(config.counts))),
        }

    def simulate(self, config: Any, key: Any) -> Any:
        data, tests, _ = task(config)
        keys = fs.draws.split(key, 2 * len(KINDS))
        nonlinearities = fs.networks.LINEAR, fs.networks.SIGMOIDAL, fs.networks.RECTIFIED
        chains = []
        for number, nonlinearity in enumerate(nonlinearities):
            start = planted(
                config, keys[2 * number], predictions(config)[number], data, nonlinearity, readout_variance(config)
            )
            chains.append(_chain(config, start, data, keys[2 * number + 1], jnp.asarray(tests)))
        return side_by_side(chains, stacked)

    def theory(self, config: Any, key: Any) -> Any:
        expected = [predicted(config, each) for each in predictions(config)]
        mean, variance = (np.stack([each[part] for each in expected]) for part in (0, 1))
        return constant_in_time(mean=mean, square=variance + mean**2)

    def measure(self, data: Any) -> dict[str, Any]:
        return worth_of(data, "test", "test")

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
    def mean_linear(self, result: Any) -> Any:
        """The mean predictor of linear networks is that of the lazy one, a Gaussian process (rms difference on noisy
        test inputs, all runs together; .05 is our threshold).
        """
        cold_enough(linear_shift(result.config))
        return mean_shift(long_enough(result), "linear")

    @claims.theory(claims.below(0.05), reason=SCOPE, each={"kind": KINDS[1:]})
    def mean(self, result: Any, kind: str) -> Any:
        """The mean predictor of {kind} networks is that of the lazy one, a Gaussian process, as the paper says of
        linear networks (rms difference on noisy test inputs, all runs together).
        """
        return mean_shift(long_enough(result), kind)

    @claims.paper(VAN_MEEGEN_2024.at("variance of the predictor"), claims.below(0.1), each={"kind": KINDS})
    def variance(self, result: Any, kind: str) -> Any:
        """The predictor variance of {kind} networks is much below that of the Gaussian process (ratio; .1 is our
        threshold).
        """
        found = errors(long_enough(result), kind)
        return found["variance"] / found["lazy variance"]

    @claims.paper(VAN_MEEGEN_2024.at("generalization"), claims.near(1.0, 0.1))
    def gain_linear(self, result: Any) -> Any:
        """All that linear networks gain in test error over the Gaussian process is a gain in variance (share of the
        gain; ±.1 is our tolerance).
        """
        cold_enough(linear_shift(result.config))
        return gain_by_variance(long_enough(result), "linear")

    @claims.theory(claims.near(1.0, 0.1), reason=SCOPE, each={"kind": KINDS[1:]})
    def gain(self, result: Any, kind: str) -> Any:
        """All that {kind} networks gain in test error over the Gaussian process is a gain in variance, as for linear
        ones (share of the gain).
        """
        return gain_by_variance(long_enough(result), kind)

    @claims.theory(claims.below(0.05), each={"kind": KINDS})
    def theory_mean(self, result: Any, kind: str) -> Any:
        """Samples of {kind} networks have the mean predictor of our theory (rms difference)."""
        return theory_difference(long_enough(result), kind)

    @claims.theory(claims.near(1.0, 0.2), budget="full", each={"kind": KINDS})
    def spread(self, result: Any, kind: str) -> Any:
        """Samples of {kind} networks have the predictor variance of our theory (ratio of means over inputs)."""
        if kind == "sigmoidal" and result.data.sizes["run"] == 1:
            raise claims.Undecided("needs --seeds 2 or more, since neurons of one run keep their codes")
        return spread_ratio(long_enough(result), kind)

    checks = tuple(
        check
        for kind in KINDS
        for check in sampling_checks(
            f"-{kind}",
            "test",
            f"answers of {kind} networks to test inputs",
            FROZEN if kind == "sigmoidal" else SHORT,
            nonlinearity=kind,
        )
    )

    def figure(self, result: Any) -> Any:
        from festina.experiments.coding._predictor_figure import draw

        return draw(result)


def _chain(config: Any, network: Any, data: Any, key: Any, tests: Any) -> Any:
    """One chain at one temperature, with the answers to test inputs."""
    together = config.warm_up + config.draws
    records = max(count for count in range(1, 101) if together % count == 0)

    def averaged(own: Any) -> dict[str, Any]:
        answers = own(tests)
        return {"mean": answers, "square": answers**2}

    def observe(own: Any, state: Any) -> dict[str, Any]:
        memory = state.memory
        return {"acceptance": memory.acceptance, "kept": memory.kept, "test": own(tests), **memory.means}

    return posterior(
        network,
        data,
        key,
        fs.learning.constant(config.temperature),
        records=records,
        draws_per_record=together // records,
        warm_up=config.warm_up,
        observe=observe,
        average=averaged,
    )


def task(config: Any) -> tuple[Any, Any, Any]:
    """Training examples, test inputs, and their targets: rising evidence for the first class, then noisy tests."""
    return _task(config.counts, config.noise, config.tests)


@lru_cache
def _task(counts: tuple[int, ...], noise: float, tests: int) -> tuple[Any, Any, Any]:
    plain = fs.worlds.orthogonal_classes(counts)
    examples = sum(counts)
    labels = np.concatenate([np.zeros(LEVELS, int), np.repeat(np.arange(len(counts)), tests)])
    means = np.eye(len(counts))[plain.labels].T / np.asarray(counts)[:, None]
    evidence = np.concatenate([np.linspace(0.0, MOST_EVIDENCE, LEVELS), np.ones(tests * len(counts))])
    random = np.random.default_rng(SEED).standard_normal((len(labels), examples))
    random *= noise / np.linalg.norm(random, axis=1)[:, None]
    random[:LEVELS] = 0.0
    overlaps = evidence[:, None] * means[labels] + random
    rest = np.sqrt(np.maximum(1.0 - np.sum(overlaps**2, axis=1), 0.0))
    inputs = np.concatenate([plain.inputs, np.zeros((examples, len(labels)))], axis=1)
    shown = fs.worlds.Classes(inputs, plain.targets, labels=plain.labels)
    return shown, np.concatenate([overlaps, np.diag(rest)], axis=1), plain.class_targets[labels]


def predictions(config: Any) -> tuple[Any, Any, Any]:
    """The theory of each nonlinearity."""
    return _predictions(config.counts, config.amplitude, config.temperature, config.width)


@lru_cache
def _predictions(counts: tuple[int, ...], amplitude: float, temperature: float, width: int) -> tuple[Any, Any, Any]:
    data, theory = fs.worlds.orthogonal_classes(counts), fs.theory.coding
    variance = fs.networks.bayesian.readout_variance(amplitude, sum(counts), 1)
    settings = counts, data.class_targets, temperature, variance
    linear = theory.analog(np.eye(sum(counts)), np.asarray(data.targets), temperature, variance, width)
    return linear, theory.redundant(*settings), theory.sparse(*settings)


def predicted(config: Any, prediction: Any) -> Any:
    """Mean and variance of a predictor at the test inputs."""
    data, tests, _ = task(config)
    return prediction.predict(tests @ np.asarray(data.inputs).T, np.sum(tests**2, axis=1), config.width)


def lazy(config: Any, kind: str) -> Any:
    """Mean and variance of the Gaussian process at the test inputs."""
    data, _, _ = task(config)
    kernel = np.eye(len(data.labels))
    theory = fs.theory.coding
    return predicted(config, theory.lazy(kernel, np.asarray(data.targets), config.temperature, theory.UNITS[kind]))


def sampled(result: Any, kind: str) -> tuple[Any, Any]:
    """Mean and variance over draws of all runs together: (input, output) each."""
    last = result.data.sel(nonlinearity=kind).isel(time=-1).transpose("run", "input", "output", ...)
    mean = last["mean"].values.mean(axis=0)
    return mean, last["square"].values.mean(axis=0) - mean**2


def errors(result: Any, kind: str) -> dict[str, float]:
    """Mean square errors per output on noisy tests: of the mean, and by variance; lazy and not."""
    targets = task(result.config)[2][LEVELS:]
    mean, variance = (part[LEVELS:] for part in sampled(result, kind))
    other, spread = (part[LEVELS:] for part in lazy(result.config, kind))
    return {
        "mean": float(np.mean((mean - targets) ** 2)),
        "variance": float(variance.mean()),
        "lazy mean": float(np.mean((other - targets) ** 2)),
        "lazy variance": float(spread.mean()),
    }


def mean_shift(result: Any, kind: str) -> float:
    """The rms difference of the mean predictor from that of the Gaussian process, on noisy tests."""
    return _rms(sampled(result, kind)[0][LEVELS:] - lazy(result.config, kind).mean[LEVELS:])


def linear_shift(config: Any) -> float:
    """The rms difference of the mean predictor of linear networks from the lazy one, in theory; 0 as T → 0."""
    return _rms(predicted(config, predictions(config)[0]).mean[LEVELS:] - lazy(config, "linear").mean[LEVELS:])


def cold_enough(shift: float) -> None:
    """Refuse temperatures at which mean predictors of linear networks differ from lazy ones in theory already."""
    if shift > SHIFT:
        raise claims.NotApplicable(
            f"needs a lower --temperature: means are identical as T → 0, and in theory {shift:.2g} apart here"
        )


def theory_difference(result: Any, kind: str) -> float:
    """The rms difference of the mean predictor from the theory's, over all test inputs."""
    return _rms(sampled(result, kind)[0] - predicted(result.config, predictions(result.config)[KINDS.index(kind)]).mean)


def spread_ratio(result: Any, kind: str) -> float:
    """The variance of the predictor over that of the theory, each a mean over noisy tests."""
    expected = predicted(result.config, predictions(result.config)[KINDS.index(kind)]).variance
    return float(sampled(result, kind)[1][LEVELS:].mean() / expected[LEVELS:].mean())


def gain_by_variance(result: Any, kind: str) -> float:
    """(σ²_lazy − σ²)/(error_lazy − error): 1 if means are equally good, less if the mean is better too."""
    found = errors(result, kind)
    less = found["lazy variance"] - found["variance"]
    whole = found["lazy mean"] - found["mean"] + less
    if whole <= 0:
        raise claims.NotApplicable("needs a test error below that of the Gaussian process")
    return less / whole


def _rms(values: Any) -> float:
    return float(np.sqrt(np.mean(values**2)))
