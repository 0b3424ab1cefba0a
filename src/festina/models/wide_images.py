"""A wide network that is sampled from its posterior on images of digits, with images to test it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ValidationInfo, field_validator

import festina as fs
from festina._lazy import np
from festina.config import structural
from festina.errors import ArgumentError, require
from festina.model import Equation, Preset, Variable
from festina.models._sampled import SAMPLED, SampledNetwork
from festina.models._wide import POSTERIOR, Begin, Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from festina.models._types import Bayesian, Classes, Float, Int, Key, Observed, Prediction, Sampler

Names = Literal["digits", "mnist"]
PILOT, SWEEPS = 2, 60  # child of the key from which a pilot has its random numbers; sweeps of its first chain
MOST_MODES = 32  # of the law of a neuron; three classes have eight codes
SEED = 0  # of the choice of images, the same in every run
ROUNDING = 1.5  # steps of the sampler over which forces round off kinks: with it steps can be largest
CONVERGED = 1e-6  # largest change in the last round of expectation propagation

FEATURES = Equation(
    r"p(z \mid a) \propto \mathcal N(z \mid 0, K_0)\; e^{\,a \cdot t^\top \varphi(z)}, "
    r"\qquad t = \frac{Y - \langle f \rangle}{T}",
    "Given its readout a and the measured residual t, this is what the features z of a neuron must look like.",
)


class WideImages(SampledNetwork):
    """A wide network sampled from its posterior on images of some digits, cooled to a temperature T.

    One hidden layer, f = aφ(Wx)/N, with standard normal weights W and readouts of variance s = σ_a²/P a priori; the
    posterior is exp(−(N/2T) Σ|y − f|²) times the prior, and T falls geometrically from `hottest` while the chain warms
    up. Inputs are images less their mean, scaled to unit norm, so that those of one class are alike: K_0 = XXᵀ ≠ I.
    Targets are 1 for the digit shown and −1/(C−1) for the others.

    By the `collapsed` method sigmoidal neurons are drawn as a whole at temperature T, from a law that a short chain
    finds before the first draw (`fs.learning.piloted_law`).

    Theory is complete for linear networks. For the others p(z|a) ∝ N(z|0, K_0) exp(a·tᵀφ(z)) says what the features of
    a neuron must be, given its readout a and the measured residual t = (Y − ⟨f⟩)/T; see `implied`.

    Example:
        >>> import festina as fs
        >>> model = fs.models.WideImages(nonlinearity="linear", counts=(4, 4, 4))
        >>> model.theory()(0.0)["class_kernel"].shape
        (3, 3)
    """

    name = "wide-images"
    variables = SAMPLED | {
        "mean_hidden": Variable("activity, mean over draws", ("example", "neuron"), final=True),
        "mean_readout": Variable("readout weights a, mean over draws", ("neuron", "output"), final=True),
        "mean_class_kernel": Variable("class kernel, mean over draws", ("class", "other_class"), final=True),
        "test_class_kernel": Variable(
            "the same between test images of a class and training images of another",
            ("class", "other_class"),
            final=True,
        ),
        "hidden": Variable("activity at the end", ("example", "neuron"), final=True),
        "test_hidden": Variable("activity at the end, for test images", ("input", "neuron"), final=True),
    }
    equations = (POSTERIOR, FEATURES)
    quick = {"width": 60, "counts": (6, 6, 6), "tests": 3, "warm_up": 100, "draws": 100, "records": 40}
    presets = (
        Preset("3, 5 and 8", "Digits that look alike, of which sigmoidal neurons make a redundant code."),
        Preset("0, 1 and 4", "Digits that look different.", {"digits": (0, 1, 4)}),
        Preset("sparse", "A few rectified neurons do most of the work.", {"nonlinearity": "rectified"}),
    )

    images: Names = structural("digits", help="images to learn from")
    counts: tuple[int, ...] = structural((20, 20, 20), min_length=2, help="training images of each class")
    digits: tuple[int, ...] = structural((3, 5, 8), min_length=2, max_length=10, help="the digits to tell apart")
    tests: int = structural(10, ge=1, le=1000, help="test images of each class")

    @field_validator("counts")
    @classmethod
    def _some_of_each(cls, counts: tuple[int, ...], info: ValidationInfo) -> tuple[int, ...]:
        if min(counts) < 2 or sum(counts) > 2000:
            raise ValueError("be at least 2 each and sum to 2000 at most")
        return counts

    @field_validator("digits")
    @classmethod
    def _one_a_class(cls, digits: tuple[int, ...], info: ValidationInfo) -> tuple[int, ...]:
        if len(digits) != len(info.data.get("counts", digits)) or not set(digits) <= set(range(10)):
            raise ValueError("be digits 0 to 9, as many as there are counts")
        if len(set(digits)) < len(digits):
            raise ValueError("differ")
        return digits

    def start(self, key: Key) -> Begin:
        """A network of the prior; with it, if it is to be drawn neuron by neuron, what a short chain knows of them."""
        begun = super().start(key)
        if self.method != "collapsed":
            return begun
        data, own = self.world(), fs.draws.fold_in(key, PILOT)
        examples, modes = (np.asarray(data.inputs), np.asarray(data.targets)), min(2 ** len(self.counts), MOST_MODES)
        heat = self.temperature, self.hottest
        return begun._replace(law=fs.learning.piloted_law(own, begun.network, *examples, *heat, SWEEPS, modes))

    def coordinates(self) -> dict[str, Any]:
        by_digit = dict.fromkeys(("output", "class", "other_class"), self.digits)
        return super().coordinates() | by_digit | {"input": range(self.tests * len(self.digits))}

    def world(self) -> Classes:
        """Images to learn, in the order of their classes."""
        return self._task()[0]

    def test_world(self) -> Classes:
        """Images to test with, in the order of their classes."""
        return self._task()[1]

    def _task(self) -> tuple[Classes, Classes]:
        return _task(self.images, self.digits, self.counts, self.tests)

    def test_inputs(self) -> Float[np.ndarray, "inputs pixels"]:
        return np.asarray(self.test_world().inputs)

    def test_labels(self) -> Int[np.ndarray, " inputs"]:
        return self.test_world().labels

    def sampler(self, start: Begin) -> Sampler | Callable[[Any], Sampler]:
        """By `HMC`, forces round off kinks: every neuron has one for every image, and steps would have to be tiny."""
        return super().sampler(start) or fs.learning.HMC(rounding=ROUNDING)

    def averaged(self, network: Bayesian) -> Observed:
        hidden, tests = (network.hidden(np.asarray(x))[-1] for x in (self.world().inputs, self.test_inputs()))
        members, others = self.members(), self.test_world().membership
        return super().averaged(network) | {
            "mean_hidden": hidden,
            "mean_readout": network.readouts,
            "mean_class_kernel": fs.measures.between_classes(hidden @ hidden.T / self.width, members),
            "test_class_kernel": fs.measures.class_means(tests, others).T
            @ fs.measures.class_means(hidden, members)
            / self.width,
        }

    def concluded(self, network: Bayesian) -> Observed:
        both = {"hidden": self.world().inputs, "test_hidden": self.test_inputs()}
        return {name: network.hidden(np.asarray(inputs))[-1] for name, inputs in both.items()}

    def prediction(self, temperature: float) -> Prediction:
        """What theory says of linear networks, for the kernel that images have; of others it is refused."""
        if self.nonlinearity != "linear":
            raise ArgumentError(f"Argument `nonlinearity` must be linear for this theory, but is {self.nonlinearity}.")
        kernel, targets = self.input_kernel(), np.asarray(self.world().targets, float)
        given = kernel.tobytes(), targets.tobytes(), targets.shape
        return _linear(*given, float(temperature), float(self.readout_variance), self.width)

    def prior_kernel(self) -> Float[np.ndarray, "examples examples"]:
        """⟨φφᵀ⟩ of a wide network before it has learned anything."""
        return fs.theory.coding.kernels(self.input_kernel(), fs.theory.coding.UNITS[self.nonlinearity])[-1]

    def implied(
        self, residual: Float[np.ndarray, "examples outputs"], readouts: Float[np.ndarray, "neurons outputs"]
    ) -> Float[np.ndarray, "neurons examples"]:
        """Mean features ⟨φ⟩ that go with a residual t and with readouts, by expectation propagation.

        Neurons for which it does not converge have features that are not a number.
        """
        kernel, residual = self.input_kernel(), np.asarray(residual, float)
        given = self.nonlinearity, kernel.tobytes(), residual.tobytes(), residual.shape
        return np.stack([_implied(*given, tuple(readout)) for readout in readouts.tolist()])


@lru_cache(maxsize=8)
def _linear(
    kernel: bytes, targets: bytes, shape: tuple[int, int], temperature: float, variance: float, width: int
) -> Prediction:
    """The theory of linear networks; kept, for what is recorded and answers to test inputs both ask for it."""
    inputs, goals = np.frombuffer(kernel).reshape(shape[0], -1), np.frombuffer(targets).reshape(shape)
    return fs.theory.coding.analog(inputs, goals, temperature, variance, width)


@lru_cache(maxsize=1000)
def _implied(
    kind: Kind, kernel: bytes, residual: bytes, shape: tuple[int, int], readout: tuple[float, ...]
) -> Float[np.ndarray, " examples"]:
    """Of one neuron; kept, for it takes seconds where many neurons of many examples are asked for again and again."""
    inputs, left = np.frombuffer(kernel).reshape(shape[0], -1), np.frombuffer(residual).reshape(shape)
    with np.errstate(all="ignore"):
        state = fs.theory.coding.implied(inputs, left, np.array([readout]), fs.theory.coding.UNITS[kind]).preactivations
    return state.site.mean[0] if state.gap < CONVERGED else np.full(shape[0], np.nan)


@lru_cache(maxsize=16)
def _task(images: Names, digits: tuple[int, ...], counts: tuple[int, ...], tests: int) -> tuple[Classes, Classes]:
    """Images to learn and images to test with; coordinates are those of the space that all of them span."""
    found, several = fs.worlds.load_images(images), (tests,) * len(digits)
    shown = _chosen(found.images, found.labels, digits, counts, "counts")
    others = _chosen(found.test_images, found.test_labels, digits, several, "tests")
    middle = shown.mean(axis=0)
    inputs = fs.networks.bayesian.orthonormal_coordinates(_unit(shown - middle), _unit(others - middle))
    return _labelled(inputs[0], counts), _labelled(inputs[1], several)


def _chosen(
    images: Int[np.ndarray, "n h w"],
    labels: Int[np.ndarray, " n"],
    digits: tuple[int, ...],
    counts: tuple[int, ...],
    field: str,
) -> Float[np.ndarray, "examples pixels"]:
    """Images of some digits, so many of each, chosen at random."""
    random, parts = np.random.default_rng(SEED), []
    for digit, count in zip(digits, counts, strict=True):
        members = np.flatnonzero(labels == digit)
        require(len(members) >= count, field, f"be at most the {len(members)} images there are of {digit}", count)
        parts.append(images[random.permutation(members)[:count]])
    return np.concatenate(parts).reshape(sum(counts), -1).astype(float)


def _unit(inputs: Float[np.ndarray, "examples pixels"]) -> Float[np.ndarray, "examples pixels"]:
    return inputs / np.linalg.norm(inputs, axis=1)[:, None]


def _labelled(inputs: Float[np.ndarray, "examples pixels"], counts: tuple[int, ...]) -> Classes:
    """With targets 1 and −1/(C−1), as in the toy task if there are C = 3 classes."""
    plain = fs.worlds.orthogonal_classes(counts, off=-1.0 / (len(counts) - 1))
    return fs.worlds.Classes(inputs, plain.targets, labels=plain.labels)
