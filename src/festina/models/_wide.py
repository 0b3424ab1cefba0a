"""What models of wide networks share: the toy task, the network, where it starts, and what theory says of it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from pydantic import ValidationInfo, field_validator

import festina as fs
from festina._lazy import jax, jnp, np
from festina.config import continuous, structural
from festina.errors import ArgumentError
from festina.model import Equation, Model, Variable
from festina.ranges import Amplitude, Hottest, Share, Temperature
from festina.sources import VAN_MEEGEN_2024

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from festina.models._types import (
        Array,
        Bayesian,
        Classes,
        Float,
        Int,
        Key,
        ModeLaw,
        NeuronLaw,
        Observed,
        Prediction,
        Process,
        Sampler,
        Solution,
        State,
        UInt32,
    )

Kind = Literal["linear", "sigmoidal", "rectified"]
KINDS: tuple[Kind, ...] = ("linear", "sigmoidal", "rectified")
Method = Literal["hmc", "collapsed"]
METHOD = "how weights are drawn: by Hamiltonian Monte Carlo, or (one sigmoidal layer) neuron by neuron"
ON = 0.5  # mean activity in a class above which a neuron is on for it
PROPOSED = 256  # points of the law from which neurons are proposed, besides the prior
MOST_CLASSES = 3  # of a theory of nonlinear neurons

VARIABLES = {
    "heat": Variable("temperature T of the draw"),
    "loss": Variable("½ mean |y − f|²"),
    "acceptance": Variable("probability of accepting the last proposal"),
    "gradients": Variable("gradients computed so far"),
    "kept": Variable("draws averaged so far, those after warming up"),
    "class_kernel": Variable("kernel of the last layer, mean over pairs of examples", ("class", "other_class")),
    "readout": Variable("readout weights a", ("neuron", "output")),
    "activity": Variable("mean activity in each class", ("neuron", "class")),
}
"""What every chain records of itself and of its last layer."""

POSTERIOR = Equation(
    r"p(W, a \mid Y) \propto \exp\Bigl(-\frac{N}{2T} \sum |y - f|^2\Bigr)\, p(W, a), "
    r"\qquad f = \frac1N \sum_i a_i\, \varphi(z_i)",
    "Weights are drawn from their posterior at temperature T; the factor 1/N makes each of the N neurons learn "
    "features.",
)
NEURON = Equation(
    r"p(a, z) \propto \mathcal N(a \mid 0, s)\; \mathcal N(z \mid 0, K_0)\; e^{\,a \cdot t^\top \varphi(z)}, "
    r"\qquad t = \frac{Y - \langle f \rangle}{T}",
    "In a wide network neurons are independent, each with this law of its readout a and its inputs z; the residual t "
    "is what the answers of all of them leave.",
)


class Begin(NamedTuple):
    """The network at the first draw, the words of the key of all draws, and what proposes neurons, if anything does.

    A ladder of temperatures has a law for each of them.
    """

    network: Bayesian
    words: UInt32[Array, " words"]
    law: NeuronLaw | ModeLaw | tuple[NeuronLaw, ...] = ()


class WideNetwork(Model):
    """A wide network that learns classes of orthogonal inputs: its task, its neurons, and their theory."""

    sources = (VAN_MEEGEN_2024,)
    equations = (POSTERIOR, NEURON)
    time_unit = "draws"
    solved_from_start = False

    nonlinearity: Kind = structural("sigmoidal", help="nonlinearity φ of the neurons")
    width: int = structural(200, ge=10, le=5000, help="neurons N of a hidden layer")
    counts: tuple[int, ...] = structural((20, 10, 10), min_length=2, help="examples of each class")
    amplitude: Amplitude = continuous(
        1.0, scale="log", help="size σ_a of readouts; their prior variance is σ_a²/P^(1/L)"
    )

    @field_validator("counts")
    @classmethod
    def _some_of_each(cls, counts: tuple[int, ...], info: ValidationInfo) -> tuple[int, ...]:
        if min(counts) < 2 or sum(counts) > 2000:
            raise ValueError("be at least 2 each and sum to 2000 at most")
        if len(counts) > MOST_CLASSES and info.data.get("nonlinearity") != "linear":
            raise ValueError(
                f"have at most {MOST_CLASSES} classes unless neurons are linear: there is no theory of more"
            )
        return counts

    @property
    def hidden_layers(self) -> int:
        """L."""
        return 1

    @property
    def readout_variance(self) -> Any:
        """s = σ_a²/P^{1/L}."""
        return fs.networks.bayesian.readout_variance(self.amplitude, sum(self.counts), self.hidden_layers)

    def world(self) -> Classes:
        """The toy task: orthogonal inputs in classes, targets 1 and −½."""
        return toy_task(self.counts)

    def coordinates(self) -> dict[str, Any]:
        examples, classes = range(sum(self.counts)), range(len(self.counts))
        return {
            "example": examples,
            "other": examples,
            "class": classes,
            "other_class": classes,
            "output": classes,
            "neuron": range(self.width),
        }

    def prior(self, key: Key) -> Bayesian:
        """A network drawn from its prior."""
        data = self.world()
        sizes = (data.inputs.shape[1], *[self.width] * self.hidden_layers, data.targets.shape[1])
        kind = fs.networks.bayesian.NONLINEARITIES[self.nonlinearity]
        return fs.networks.Bayesian.init(key, sizes, kind, readout_variance=self.readout_variance)

    def planted(self, key: Key, temperature: Any, even: bool = False) -> Bayesian:
        """A network of neurons drawn from the theory at a temperature, ``even`` with as many of each code as it says.

        Theory and drawing are NumPy's work, done outside the compiled program. A derivative takes the network it starts
        from as given.
        """
        data = self.world()

        def draw(temperature: float, variance: float, words: UInt32[Array, " words"]) -> tuple[Any, Any]:
            theory: Any = self._prediction(temperature, variance)
            with fs.double():
                (weights,), readout = fs.theory.coding.planted(
                    jax.random.wrap_key_data(jnp.asarray(words)),
                    fs.theory.coding.Even(theory) if even else theory,
                    np.asarray(data.inputs),
                    self.width,
                    variance,
                )
            return weights, readout

        shapes = ((self.width, data.inputs.shape[1]), (data.targets.shape[1], self.width))
        weights, readout = self._outside(draw, shapes, temperature, jax.random.key_data(key))
        kind = fs.networks.bayesian.NONLINEARITIES[self.nonlinearity]
        return fs.networks.Bayesian((weights,), readout, self.readout_variance, kind, fs.networks.NON_LAZY)

    def neuron_law(self, temperature: Any) -> NeuronLaw:
        """The law of a single sigmoidal neuron in theory at a temperature; computed as `planted` is."""
        data = self.world()
        points, classes, outputs = PROPOSED + 1, len(self.counts), data.targets.shape[1]

        def points_of(temperature: float, variance: float) -> tuple[Any, Any, Any]:
            theory: Any = self._prediction(temperature, variance)
            law = fs.theory.coding.neuron_law(theory, PROPOSED)
            return law.readouts, law.weights, law.residual

        shapes = ((points, outputs), (points,), (classes, outputs))
        readouts, weights, residual = self._outside(points_of, shapes, temperature)
        return fs.learning.NeuronLaw(readouts, weights, residual, tuple(data.labels.tolist()))

    def _outside(
        self, work: Callable[..., tuple[Any, ...]], shapes: tuple[tuple[int, ...], ...], temperature: Any, *more: Any
    ) -> list[Any]:
        """Arrays of some shapes by NumPy, outside of a compiled program, from T and s to the last bit and from more."""

        def host(numbers: UInt32[Array, "numbers words"], *more: Any) -> tuple[Any, ...]:
            temperature, variance = np.ascontiguousarray(numbers).view(np.float64).ravel().tolist()
            return tuple(_as_words(part) for part in work(temperature, variance, *more))

        numbers = jnp.stack([jnp.asarray(temperature, float), jnp.asarray(self.readout_variance, float)])
        found = jax.pure_callback(
            host,
            tuple(jax.ShapeDtypeStruct((*shape, 2), np.uint32) for shape in shapes),
            jax.lax.bitcast_convert_type(jax.lax.stop_gradient(numbers), np.uint32),
            *more,
            vmap_method="sequential",
        )
        return [jax.lax.bitcast_convert_type(part, np.float64) for part in found]

    def prediction(self, temperature: float) -> Prediction:
        """What theory says of a single hidden layer at a temperature; refused with a sentence where it says nothing."""
        return self._prediction(float(temperature), float(self.readout_variance))

    def _prediction(self, temperature: float, variance: float) -> Prediction:
        if self.hidden_layers > 1:
            raise ArgumentError(f"Argument `layers` must be 1 for this theory, but is {self.hidden_layers}.")
        neurons = self.width if self.nonlinearity == "linear" else None  # others have no correction for N
        return _solved(self.nonlinearity, self.counts, variance, temperature, neurons)

    def onsets(self) -> list[float]:
        """Temperatures at which the outliers of rectified networks condense in theory, the highest first."""
        return list(_onsets(self.counts, float(self.readout_variance)))

    def drawn_shares(self, temperature: float, neurons: int) -> Float[np.ndarray, " codes"]:
        """The share of each code among so many neurons drawn from the theory, on where their activity is above ½."""
        return _drawn_shares(self.nonlinearity, self.counts, float(self.readout_variance), float(temperature), neurons)

    def members(self) -> Float[np.ndarray, "examples classes"]:
        return self.world().membership

    def seen(self, network: Bayesian) -> Observed:
        """What is recorded of a network: of its answers, and of its last layer."""
        data, members = self.world(), self.members()
        activity = network.hidden(np.asarray(data.inputs))[-1]
        return {
            "loss": 0.5 * jnp.mean(jnp.sum((np.asarray(data.targets) - network.answer(activity)) ** 2, axis=-1)),
            "class_kernel": fs.measures.between_classes(fs.networks.bayesian.kernel(activity), members),
            "readout": network.readouts,
            "activity": fs.measures.class_means(activity, members),
        }

    def chain(
        self,
        start: Begin,
        heat: Callable[[Int[Array, ""]], Float[Array, ""]],
        *,
        records: int,
        draws_per_record: int,
        warm_up: int,
        observe: Callable[[Bayesian, State], Observed],
        sampler: Sampler | Callable[[Any], Sampler] | None = None,
        law: Any = (),
        average: Callable[[Bayesian], Any] = lambda network: (),
        conclude: Callable[[Bayesian, State], Observed] = lambda network, state: {},
    ) -> Process:
        """One chain of the posterior; ``observe``, ``average`` and ``conclude`` see a network, not its weights.

        Args:
            start: where it starts.
            heat: temperature of each draw, by its number.
            records: recordings after the first.
            draws_per_record: draws between two of them.
            warm_up: draws during which the step adapts and nothing is averaged.
            observe: what is recorded, from a network and the state of its chain, besides the course of the chain.
            sampler: how it is drawn, `HMC()` unless given; or how each draw is, by its number or by the law.
            law: that neurons are drawn from, if finding it takes long.
            average: what is averaged over all later draws, to be found in ``state.memory.means``.
            conclude: what is recorded at the end only, from a network and the state of its chain.
        """
        data, network = self.world(), start.network
        inputs = np.asarray(data.inputs)  # NumPy's, which a network knows to be unit vectors if they are

        def energy_of(network: Bayesian) -> Callable[[Any, Any, Any], Float[Array, ""]]:
            def energy(whitened: Any, targets: Any, temperature: Any) -> Float[Array, ""]:
                return network.having(whitened).energy(inputs.astype(targets.dtype), targets, temperature)

            return energy

        def course(state: State) -> Observed:
            memory = state.memory
            chain = {"acceptance": memory.acceptance, "gradients": memory.gradients, "kept": memory.kept}
            return chain | observe(network.having(state.parameters), state)

        return fs.learning.posterior_process(
            fs.learning.Kinked(energy_of(network), lambda width: energy_of(network.rounded(width))),
            network.whitened,
            np.asarray(data.targets),
            jax.random.wrap_key_data(jnp.asarray(start.words)),
            records,
            draws_per_record,
            course,
            heat,
            warm_up,
            sampler,
            average=lambda whitened: average(network.having(whitened)),
            conclude=lambda state: conclude(network.having(state.parameters), state),
            law=law,
        )


class CooledNetwork(WideNetwork):
    """A wide network whose temperature falls to its final value while it warms up."""

    temperature: Temperature = continuous(0.1, scale="log", help="temperature T")
    hottest: Hottest = continuous(1.0, scale="log", help="temperature from which T falls while warming up")
    cooling: Share = continuous(0.5, help="share of warming up during which T falls")
    slowness: float = continuous(
        1.0, ge=1, le=100, scale="log", help="how many times more slowly T falls where it dwells than elsewhere"
    )
    slow_from: Hottest = continuous(0.85, scale="log", help="temperature below which cooling dwells")
    slow_to: Hottest = continuous(0.45, scale="log", help="temperature down to which cooling dwells")
    warm_up: int = structural(200, ge=1, le=100_000, help="draws to warm up")
    draws: int = structural(200, ge=8, le=1_000_000, help="draws after warming up")
    records: int = structural(80, ge=2, le=10_000, help="recordings, evenly spaced; must divide all draws")

    @field_validator("records")
    @classmethod
    def _whole(cls, records: int, info: ValidationInfo) -> int:
        draws = info.data.get("warm_up", 0) + info.data.get("draws", 0)
        if draws % records:
            fit = max(count for count in range(1, records + 1) if draws % count == 0)
            raise ValueError(f"divide the {draws} draws there are, as {fit} does")
        return records

    @property
    def draws_per_record(self) -> int:
        return (self.warm_up + self.draws) // self.records

    def heat(self, draw: Int[Array, ""]) -> Float[Array, ""]:
        """The temperature of each draw, by its number: geometric from `hottest`, more slowly on the way, then constant.

        Slowly, if `slowness` is above 1, between `slow_from` and `slow_to`: there are the onsets of rectified codes.
        """
        between = jnp.maximum(self.cooling * self.warm_up, 1.0)
        slow = self.slow_from, self.slow_to, self.slowness
        return fs.learning.dwelling(self.hottest, self.temperature, between, *slow)(draw)


def collapsible(method: Method, info: ValidationInfo) -> Method:
    """A way to draw, of a network that can be drawn so."""
    if method == "collapsed" and info.data.get("nonlinearity") != "sigmoidal":
        raise ValueError("be hmc, unless neurons are sigmoidal")
    return method


@lru_cache
def toy_task(counts: tuple[int, ...]) -> Classes:
    """Orthogonal inputs in classes, targets 1 and −½."""
    return fs.worlds.orthogonal_classes(counts)


@lru_cache(maxsize=64)
def _solved(
    kind: Kind, counts: tuple[int, ...], variance: float, temperature: float, neurons: int | None
) -> Prediction:
    """The theory of one hidden layer on the toy task.

    As many are kept as an experiment asks for: each has most of a megabyte, and who moves a slider asks for hundreds.
    """
    data, theory = toy_task(counts), fs.theory.coding
    if kind == "linear":
        targets = np.asarray(data.targets)
        return theory.analog(np.eye(len(targets)), targets, temperature, variance, neurons or np.inf)
    solve = theory.redundant if kind == "sigmoidal" else theory.sparse
    return solve(counts, data.class_targets, temperature, variance)


@lru_cache
def _onsets(counts: tuple[int, ...], variance: float) -> tuple[float, ...]:
    return tuple(fs.theory.coding.sparse_onsets(counts, toy_task(counts).class_targets, variance))


@lru_cache(maxsize=1024)
def _drawn_shares(
    kind: Kind, counts: tuple[int, ...], variance: float, temperature: float, neurons: int
) -> Float[np.ndarray, " codes"]:
    prediction: Any = _solved(kind, counts, variance, temperature, None)
    with fs.double():
        _, preactivations = prediction.draw_neurons(jax.random.key(0), neurons)
    activity = fs.theory.coding.UNITS[kind].function(preactivations)
    on = fs.measures.class_means(activity.T, toy_task(counts).membership) > ON
    return fs.measures.code_shares(fs.measures.code_numbers(on), len(counts))


def at_all_times(values: Mapping[str, Any]) -> Solution:
    """A solution that does not move: the same values at every time."""
    return lambda time: {
        name: np.broadcast_to(np.asarray(value), (*np.shape(time), *np.shape(value))) for name, value in values.items()
    }


def _as_words(values: Any) -> Any:
    """Float64 as pairs of 32-bit words: JAX would demote what passes through a thread whose flag says float32."""
    doubles = np.ascontiguousarray(values, np.float64)
    return doubles.view(np.uint32).reshape(*doubles.shape, 2)
