"""A wide network that is sampled from its posterior while it cools down to a temperature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import ValidationInfo, field_validator

import festina as fs
from festina._lazy import jax, jnp, np
from festina.config import continuous, structural
from festina.model import Preset, Variable
from festina.models._sampled import SAMPLED, SampledNetwork
from festina.models._wide import Begin

if TYPE_CHECKING:
    from collections.abc import Callable

    from festina.models._types import Array, Bayesian, Classes, Float, Int, Key, Observed, Sampler

Origin = Literal["prior", "common", "theory", "even"]
COMMON_SEED = 2024  # of the network that all runs start from whose origin is common
TEST_SEED = 0  # of the noise of test inputs, the same in every run
LEVELS, MOST_EVIDENCE = 9, 2.0  # of evidence, among test inputs without noise


class WideBayesian(SampledNetwork):
    """A wide network sampled from its posterior on classes of orthogonal inputs, cooled to a temperature T.

    z_1 = W_1 x, z_l = W_l φ(z_{l−1})/√N, f = aφ(z_L)/N: weights W are standard normal a priori, readouts a have the
    variance s = σ_a²/P^{1/L}, and the posterior is exp(−(N/2T) Σ|y − f|²) times the prior. T falls geometrically from
    `hottest` while the chain warms up; a network drawn from theory has its final temperature from the start, as has
    one that is drawn by the `collapsed` method, for which neurons are proposed from the theory's law of one. In the
    limit of many neurons theory has kernels, answers and readouts of one hidden layer: Gaussian and shared by all
    neurons if they are linear (an analog code), in groups if sigmoidal (redundant), and in few outliers if rectified
    (sparse).

    With `tests` there are test inputs of unit norm, x* = (r/n_c) Σ_{μ in c} x_μ + ξ: nine with rising evidence r for
    the first class and without noise, then so many of each class with r = 1 and noise of length `noise` among the
    training inputs. The rest of each is in a direction of its own.

    Example:
        >>> import festina as fs
        >>> model = fs.models.WideBayesian(nonlinearity="linear", counts=(4, 4), temperature=1e-3)
        >>> model.theory()(0.0)["answer"][[0, -1]].round(1)  # to an example of each class
        array([[ 1. , -0.5],
               [-0.5,  1. ]])
    """

    name = "wide-bayesian"
    variables = SAMPLED | {
        "class_kernels": Variable("kernel of each layer, mean over pairs", ("layer", "class", "other_class")),
        "kernels": Variable("kernel of each layer, mean over draws", ("layer", "example", "other"), final=True),
        "hidden": Variable("activity of each layer at the end", ("layer", "example", "neuron"), final=True),
        "test": Variable("answer f to test inputs", ("input", "output")),
    }
    quick = {"warm_up": 100, "draws": 100, "records": 40}

    layers: int = structural(1, ge=1, le=10, help="hidden layers L")
    origin: Origin = structural(
        "prior",
        help="where a chain starts: the prior, a draw of it that all runs have in common, neurons drawn from theory, "
        "or these with as many of each code as it says",
    )
    replicas: int = structural(
        1, ge=1, le=64, help="replicas of a chain, at T and at higher temperatures up to `hottest`, that change places"
    )
    tests: int = structural(0, ge=0, le=1000, help="noisy test inputs of each class; 0 for no test inputs at all")
    noise: float = continuous(0.3, ge=0, le=0.69, help="length of a test input's noise among training inputs")

    presets = (
        Preset("redundant", "Sigmoidal neurons fall into groups that share a code."),
        Preset("analog", "Linear neurons each carry a graded mixture of classes.", {"nonlinearity": "linear"}),
        Preset("sparse", "A few rectified neurons do all the work.", {"nonlinearity": "rectified", "width": 100}),
    )

    @field_validator("origin")
    @classmethod
    def _in_theory(cls, origin: Origin, info: ValidationInfo) -> Origin:
        if origin in ("theory", "even") and info.data.get("layers", 1) > 1:
            raise ValueError("be prior or common with several layers, of which theory draws no neurons")
        if origin == "even" and info.data.get("nonlinearity") != "sigmoidal":
            raise ValueError("be another one, unless neurons are sigmoidal: no others have codes in common")
        return origin

    @field_validator("layers", "replicas")
    @classmethod
    def _collapsed_alone(cls, value: int, info: ValidationInfo) -> int:
        if info.data.get("method") == "collapsed" and value > 1:
            raise ValueError("be 1 for the collapsed method")
        return value

    @property
    def hidden_layers(self) -> int:
        return self.layers

    def coordinates(self) -> dict[str, Any]:
        tests = {"input": range(self.inputs_to_test())} if self.tests else {}
        return super().coordinates() | {"layer": range(1, self.layers + 1)} | tests

    def world(self) -> Classes:
        """The toy task; with room for what test inputs have of their own."""
        plain = super().world()
        if not self.tests:
            return plain
        room = np.zeros((len(plain.labels), self.inputs_to_test()))
        return fs.worlds.Classes(np.concatenate([plain.inputs, room], axis=1), plain.targets, labels=plain.labels)

    def inputs_to_test(self) -> int:
        return LEVELS + self.tests * len(self.counts)

    def test_labels(self) -> Int[np.ndarray, " inputs"]:
        """The class that each test input is for."""
        return np.concatenate([np.zeros(LEVELS, int), np.repeat(np.arange(len(self.counts)), self.tests)])

    def test_inputs(self) -> Any:
        """x* of unit norm, one a row: rising evidence for the first class, then noisy inputs of every class."""
        from festina.precision import is_traced

        module: Any = jnp if is_traced(self.noise) else np
        members, labels = super().world().membership, self.test_labels()
        evidence = np.concatenate([np.linspace(0.0, MOST_EVIDENCE, LEVELS), np.ones(len(labels) - LEVELS)])
        random = np.random.default_rng(TEST_SEED).standard_normal((len(labels), len(members)))
        random /= np.linalg.norm(random, axis=1)[:, None]
        random[:LEVELS] = 0.0
        overlaps = evidence[:, None] * (members.T / members.sum(axis=0)[:, None])[labels] + self.noise * random
        rest = module.sqrt(module.maximum(1.0 - module.sum(overlaps**2, axis=1), 1e-300))
        return module.concatenate([overlaps, module.diag(rest)], axis=1)

    def start(self, key: Key) -> Begin:
        for_network, for_draws = fs.draws.split(key, 2)
        if self.origin in ("theory", "even"):
            network = self.planted(for_network, self.temperature, even=self.origin == "even")
        else:
            network = self.prior(jax.random.key(COMMON_SEED) if self.origin == "common" else for_network)
        law = self.neuron_law(self.temperature) if self.method == "collapsed" else ()
        return Begin(network, jax.random.key_data(for_draws), law)

    def heat(self, draw: Int[Array, ""]) -> Float[Array, ""]:
        """The temperature of each draw, by its number."""
        if self.origin in ("theory", "even"):
            return fs.learning.constant(self.temperature)(draw)
        return super().heat(draw)

    def sampler(self, start: Begin) -> Sampler | Callable[[Any], Sampler] | None:
        """Neuron by neuron, or by replica exchange, if there are several: with T geometric up to `hottest`."""
        if self.replicas == 1:
            return super().sampler(start)
        return fs.learning.ReplicaExchange.geometric(self.replicas, self.hottest / self.temperature)

    def seen(self, network: Bayesian) -> Observed:
        found = super().seen(network)
        if self.tests:
            found["test"] = network(jnp.asarray(self.test_inputs()))
        if self.layers > 1:
            kernels, members = jnp.stack(network.kernels(np.asarray(self.world().inputs))), self.members()
            every = jax.vmap(lambda each: fs.measures.between_classes(each, members))(kernels)
            found |= {"class_kernels": every, "class_kernel": every[-1]}
        return found

    def averaged(self, network: Bayesian) -> Observed:
        kernels = network.kernels(np.asarray(self.world().inputs)) if self.layers > 1 else ()
        return super().averaged(network) | ({"kernels": jnp.stack(kernels)} if kernels else {})

    def concluded(self, network: Bayesian) -> Observed:
        return {"hidden": jnp.stack(network.hidden(np.asarray(self.world().inputs)))} if self.layers > 1 else {}
