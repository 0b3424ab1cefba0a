"""The task of `coding/digits`, its chains and what it reads off them, and what theory says of it."""

from functools import lru_cache
from typing import Any

import festina as fs
from festina._lazy import jnp, np
from festina.claims import Undecided
from festina.errors import require
from festina.experiments.coding._common import between_classes, cooled, membership, readout_variance
from festina.experiments.coding._comparison import share_called
from festina.experiments.coding._sampled import class_variance
from festina.models._wide import KINDS

SEED = 0  # of the choice of images, the same in every run
CHECKED_KINDS = KINDS[1:]  # of linear networks there is a full theory
CHECKED = 24  # neurons whose features are compared with those that theory implies
CONVERGED = 1e-6  # largest change in the last round of expectation propagation


def task(config: Any) -> tuple[Any, Any]:
    """Images to learn and images to test with, both in the order of their classes."""
    return _task(config.images, config.digits, config.counts, config.tests)


@lru_cache
def _task(images: str, digits: tuple[int, ...], counts: tuple[int, ...], tests: int) -> tuple[Any, Any]:
    found = fs.worlds.load_images(fs.worlds.labellings.PAIRS[images].images)
    shown = _chosen(found.images, found.labels, digits, counts, "counts")
    others = _chosen(found.test_images, found.test_labels, digits, (tests,) * len(digits), "tests")
    middle = shown.mean(axis=0)
    inputs = fs.networks.bayesian.orthonormal_coordinates(_unit(shown - middle), _unit(others - middle))
    return _labelled(inputs[0], counts), _labelled(inputs[1], (tests,) * len(digits))


def _labelled(inputs: Any, counts: tuple[int, ...]) -> Any:
    """With targets 1 and −1/(C−1), as in the toy task if there are C = 3 classes."""
    plain = fs.worlds.orthogonal_classes(counts, off=-1.0 / (len(counts) - 1))
    return fs.worlds.Classes(inputs, plain.targets, labels=plain.labels)


def _chosen(images: Any, labels: Any, digits: tuple[int, ...], counts: tuple[int, ...], field: str) -> Any:
    """Images of some digits, so many of each, chosen at random: (images, pixels)."""
    random, parts = np.random.default_rng(SEED), []
    for digit, count in zip(digits, counts, strict=True):
        members = np.flatnonzero(labels == digit)
        require(len(members) >= count, field, f"be at most the {len(members)} images there are of {digit}", count)
        parts.append(images[random.permutation(members)[:count]])
    return np.concatenate(parts).reshape(sum(counts), -1).astype(float)


def _unit(inputs: Any) -> Any:
    return inputs / np.linalg.norm(inputs, axis=1)[:, None]


def chain(config: Any, network: Any, key: Any) -> Any:
    """One chain that is cooled while warming up, with its answers and kernels for test images."""
    shown, others = task(config)
    inputs, tests, labels = (jnp.asarray(part) for part in (shown.inputs, others.inputs, membership(shown)))

    def averaged(own: Any) -> dict[str, Any]:
        seen, other = own.hidden(inputs)[-1], own.hidden(tests)[-1]
        answer, test_answer = own.answer(seen), own.answer(other)
        return {
            "kernel": seen @ seen.T / own.width,
            "answer": answer,
            "mean": test_answer,
            "square": test_answer**2,
            "test_kernel": other @ (seen.T @ labels / labels.sum(axis=0)[None]) / own.width,
            "mean_features": seen.T,
            "mean_readout": own.readouts,
        }

    def observe(own: Any) -> dict[str, Any]:
        return {"class_kernel": between_classes(own.kernels(inputs)[-1], labels)}

    def conclude(own: Any) -> dict[str, Any]:
        features = {"features": own.hidden(inputs)[-1].T, "test_features": own.hidden(tests)[-1].T}
        return features | {"readout": own.readouts}

    return cooled(config, key, network, shown, observe, averaged, conclude)


def input_kernel(config: Any) -> Any:
    """K_0 = XXᵀ of the images to learn."""
    inputs = np.asarray(task(config)[0].inputs)
    return inputs @ inputs.T


@lru_cache
def linear_theory(config: Any) -> Any:
    """The theory of linear networks, for the kernel that images have."""
    targets = np.asarray(task(config)[0].targets)
    return fs.theory.coding.analog(
        input_kernel(config), targets, config.temperature, readout_variance(config), config.width
    )


@lru_cache
def lazy(config: Any, kind: str) -> Any:
    """Mean and variance of the Gaussian process at the test images."""
    theory = fs.theory.coding
    targets = np.asarray(task(config)[0].targets)
    return at_tests(config, theory.lazy(input_kernel(config), targets, config.temperature, theory.UNITS[kind]))


def at_tests(config: Any, prediction: Any) -> Any:
    """Mean and variance that a theory predicts at the test images."""
    shown, tests = (np.asarray(part.inputs) for part in task(config))
    return prediction.predict(tests @ shown.T, np.sum(tests**2, axis=1), config.width)


def sampled(result: Any, kind: str) -> tuple[Any, Any]:
    """Mean and variance of the predictor over draws of all runs together: (test, output) each."""
    last = result.data.sel(nonlinearity=kind).transpose("run", "test", "output", ...)
    mean = last["mean"].values.mean(axis=0)
    return mean, last["square"].values.mean(axis=0) - mean**2


def errors(result: Any, kind: str) -> dict[str, float]:
    """Mean square errors per output on test images, of the mean and by variance, and accuracy; lazy and not."""
    tests = task(result.config)[1]
    found = {}
    for name, (mean, variance) in {"": sampled(result, kind), "lazy ": lazy(result.config, kind)}.items():
        found[f"{name}mean"] = float(np.mean((mean - np.asarray(tests.targets)) ** 2))
        found[f"{name}variance"] = float(variance.mean())
        found[f"{name}accuracy"] = float(np.mean(mean.argmax(axis=1) == tests.labels))
    return found


def error_ratio(result: Any, kind: str) -> float:
    """The test error, that of the mean and the variance together, over that of the Gaussian process."""
    found = errors(result, kind)
    return (found["mean"] + found["variance"]) / (found["lazy mean"] + found["lazy variance"])


def mean_shift(result: Any, kind: str) -> float:
    """The rms difference of the mean predictor from that of the Gaussian process, on test images."""
    return _rms(sampled(result, kind)[0] - lazy(result.config, kind).mean)


def better_mean(result: Any, kind: str) -> float:
    """What the error of the mean predictor is less than that of the Gaussian process, over the latter."""
    found = errors(result, kind)
    return 1.0 - found["mean"] / found["lazy mean"]


def linear_shift(config: Any) -> float:
    """The rms difference of the mean predictor of linear networks from the lazy one, in theory; 0 as T → 0."""
    return _rms(at_tests(config, linear_theory(config)).mean - lazy(config, "linear").mean)


def linear_mean_difference(result: Any) -> float:
    """The rms difference of the mean predictor of linear networks from the theory's, on test images."""
    return _rms(sampled(result, "linear")[0] - at_tests(result.config, linear_theory(result.config)).mean)


def linear_spread_ratio(result: Any) -> float:
    """The variance of the predictor of linear networks over that of the theory, each a mean over test images."""
    expected = at_tests(result.config, linear_theory(result.config)).variance
    return float(sampled(result, "linear")[1].mean() / expected.mean())


def analysed(result: Any, kind: str, run: int) -> Any:
    """What the analyser says of a layer at the end, from training images, readouts and the kernel of the prior."""
    last = result.data.isel(run=run).sel(nonlinearity=kind)
    theory = fs.theory.coding
    return fs.measures.coding(
        last["features"].transpose("example", "neuron").values,
        task(result.config)[0].labels,
        last["readout"].transpose("output", "neuron").values,
        prior_kernel=theory.kernels(input_kernel(result.config), theory.UNITS[kind])[-1],
        resamples=20,
        shuffles=0,
    )


def share_of_scheme(result: Any, kind: str, scheme: str) -> float:
    """The share of runs in which the analyser finds a scheme."""
    return share_called([analysed(result, kind, run).scheme for run in range(result.data.sizes["run"])], scheme)


def kept_structure(result: Any, kind: str) -> Any:
    """Class variance of the kernel between test and training images over that among training images, by run."""
    shown, tests = task(result.config)
    counts = result.config.counts
    here = result.data.sel(nonlinearity=kind)
    across = np.einsum("rtc,td->rdc", here["test_kernel"].transpose("run", "test", "class").values, membership(tests))
    within = [between_classes(one, membership(shown)) for one in here["kernel"].transpose("run", ...).values]
    return class_variance(across / tests.counts[None, :, None], counts) / class_variance(np.stack(within), counts)


def features(result: Any, kind: str) -> tuple[Any, Any]:
    """Mean features ⟨φ⟩ of some neurons of the first run, over draws and as theory implies them: (neuron, example).

    Half of the neurons are those with the largest mean readouts, the others stand for the rest. Theory is given the
    measured residual t = (Y − ⟨f⟩)/T and the mean readouts of these neurons. Where expectation propagation does not
    converge, features are not known and the neuron is left out.
    """
    here = result.data.isel(run=0).sel(nonlinearity=kind)
    readouts = here["mean_readout"].transpose("neuron", "output").values
    order = np.argsort(-np.linalg.norm(readouts, axis=1))
    half = CHECKED // 2
    chosen = np.concatenate([order[:half], order[np.linspace(half, len(order) - 1, half).astype(int)]])
    targets = np.asarray(task(result.config)[0].targets)
    residual = (targets - here["answer"].transpose("example", "output").values) / result.config.temperature
    implied = np.stack(
        [_implied(result.config, kind, _rows(residual), tuple(each)) for each in readouts[chosen].tolist()]
    )
    known = np.isfinite(implied).all(axis=1)
    return here["mean_features"].transpose("neuron", "example").values[chosen][known], implied[known]


@lru_cache(maxsize=1000)
def _implied(config: Any, kind: str, residual: tuple[tuple[float, ...], ...], readout: tuple[float, ...]) -> Any:
    """Mean features of one neuron; not finite without convergence."""
    theory = fs.theory.coding
    with np.errstate(all="ignore"):
        found = theory.implied(
            input_kernel(config), np.array(residual), np.array(readout)[None], theory.UNITS[kind]
        ).preactivations
    return found.site.mean[0] if found.gap < CONVERGED else np.full(len(residual), np.nan)


def _rows(values: Any) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, values.tolist()))


def features_difference(result: Any, kind: str) -> float:
    """‖⟨φ⟩ − ⟨φ⟩_implied‖/‖⟨φ⟩‖ over the neurons of `features`."""
    ours, theirs = features(result, kind)
    if len(ours) < CHECKED // 4:
        raise Undecided(f"needs expectation propagation to converge; it does for {len(ours)} of {CHECKED} neurons")
    return float(np.linalg.norm(ours - theirs) / np.linalg.norm(ours))


def _rms(values: Any) -> float:
    return float(np.sqrt(np.mean(values**2)))
