"""What a verb is asked for, checked and brought into one form before anything is compiled."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from typing_extensions import TypeAliasType

from festina.errors import ArgumentError, FestinaError, one_line, require
from festina.learning.process import Observed
from festina.networks.ensemble import Ensemble
from festina.precision import to_numpy
from festina.worlds.curriculum import Curriculum
from festina.worlds.data import Judged, Samples
from festina.worlds.from_data import from_data
from festina.worlds.gated import GatedDataset, GatedSamples, Patterns
from festina.worlds.losses import CrossEntropy, Loss, SquaredError
from festina.worlds.statistics import Population, Statistics, Wishart

OBSERVED = 1000  # fresh examples on which a network is observed in a world without end

Observe = TypeAliasType("Observe", Callable[[Any, Any], Observed])  # by its name in `help`


@dataclass(frozen=True)
class Learners:
    """The networks of a batch of runs.

    Attributes:
        start: the network before learning, or the `Ensemble` of them.
        weights: their real arrays, with a leading axis of runs.
        static: everything else in them, which all have in common.
        seeds: of the runs; None for one network by itself, whose results have no dimension of seeds.
        first: the first seed.
    """

    start: Any
    weights: Any
    static: Any
    seeds: int | None
    first: int

    @property
    def count(self) -> int:
        return self.seeds or 1

    @property
    def fixed(self) -> Any:
        """Arrays that are no weights, such as a choice of inputs: data to the compiled program."""
        return eqx.filter(self.static, eqx.is_array)

    @property
    def functions(self) -> Any:
        """What is no array at all, such as activation functions: a part of the compiled program."""
        return eqx.filter(self.static, eqx.is_array, inverse=True)

    @property
    def keys(self) -> Array:
        """One for each run."""
        return jnp.stack([jax.random.key(self.first + number) for number in range(self.count)])


def learners(network: Any, seeds: int | None, first: int) -> Learners:
    """One network, or one for each seed.

    Args:
        network: a network, with which every seed starts; an `Ensemble`, with one for each; or a function that makes
            one from a key, of which seed k gets ``jax.random.key(k)``.
        seeds: how many; None for one without a dimension of its own.
        first: the first seed.
    """
    require(seeds is None or (isinstance(seeds, int) and seeds >= 1), "seeds", "be a whole number from 1 on", seeds)
    if isinstance(network, Ensemble):
        require(seeds in (None, len(network)), "seeds", f"be {len(network)}, as the ensemble has", seeds)
        return Learners(network, *split(network.members), len(network), first)
    if is_recipe(network):
        keys = [jax.random.key(first + number) for number in range(seeds or 1)]
        made = [to_numpy(network(key)) for key in keys]
        start = Ensemble.of(made)
        return Learners(made[0] if seeds is None else start, *split(start.members), seeds, first)
    weights, static = split(network)
    repeated = jax.tree.map(lambda leaf: np.broadcast_to(np.asarray(leaf), (seeds or 1, *np.shape(leaf))), weights)
    return Learners(network, repeated, static, seeds, first)


def is_recipe(network: Any) -> bool:
    """Whether it makes networks, and is none itself."""
    return callable(network) and not isinstance(network, eqx.Module) and not _real(network)


def _real(network: Any) -> list[Any]:
    return [leaf for leaf in jax.tree.leaves(network) if eqx.is_inexact_array(leaf)]


def split(network: Any) -> tuple[Any, Any]:
    """The weights of a network (its real arrays), and everything else in it."""
    weights, static = eqx.partition(network, eqx.is_inexact_array)
    require(len(jax.tree.leaves(weights)) > 0, "network", "hold at least one real array", type(network).__name__)
    return weights, static


def suited_loss(world: Any, loss: Loss | None) -> Loss:
    """The loss that is asked for; unless it is, cross-entropy in a world of classes, and squared error elsewhere."""
    require(loss is None or callable(loss), "loss", "be a function of answers and targets", loss)
    if loss is not None:
        return loss
    return CrossEntropy() if getattr(first_of(world), "classes", None) else SquaredError()


def first_of(world: Any) -> Any:
    """The first world of a curriculum, any other as it is."""
    return world.at(jnp.asarray(0)) if isinstance(world, Curriculum) else world


def is_endless(world: Any) -> bool:
    """Whether a world has fresh examples without end, and no list of them."""
    return not hasattr(world, "samples") and not isinstance(world, GatedSamples | Patterns)


@dataclass(frozen=True)
class Sight:
    """What a network sees of a world in one step, and how it is judged; hashable, as a part of a compiled program."""

    loss: Loss
    statistics: Statistics

    def __call__(self, world: Any, network: Any, key: Array) -> Any:
        """What is learned from."""
        if isinstance(self.loss, SquaredError):
            return self.statistics(world, network, key)
        samples: Any = self.statistics(world, None, key)  # no network is linear to another loss
        return Judged(samples, self.loss)

    def whole(self, world: Any, network: Any, key: Array) -> Any:
        """All of it, or some examples of a world without end, the same ones whenever the key is the same."""
        summed_up = isinstance(self.loss, SquaredError) and hasattr(network, "map")
        if is_endless(world) and not summed_up:
            world = world.draw(jax.random.fold_in(key, 1), OBSERVED)
        return Sight(self.loss, Population())(world, network, key)


def check_sight(verb: str, world: Any, network: Any, sight: Sight) -> None:
    """Refuse what cannot be seen in this way, and say what to do in the verb at hand."""
    here, statistics = first_of(world), sight.statistics
    squared = isinstance(sight.loss, SquaredError)
    gated = isinstance(here, GatedDataset | GatedSamples | Patterns)
    require(squared or not gated, "loss", "be squared error for gated networks", type(sight.loss).__name__)
    require(
        squared or not isinstance(statistics, Wishart),
        "statistics",
        "be `Sampled` or `Population` for a loss other than squared error",
        statistics,
    )
    if isinstance(statistics, Population):
        if is_endless(here) and not (squared and hasattr(network, "map")):
            _refuse_endless(verb, here, network, squared)
    elif not hasattr(here, "draw"):
        require(False, "statistics", f"be `Population` for a {type(here).__name__}, which has no samples", statistics)


def _refuse_endless(verb: str, world: Any, network: Any, squared: bool) -> None:
    kind = type(world).__name__
    judged = f"a {type(network).__name__}" if squared else "another loss than squared error"
    if not hasattr(world, "draw"):
        raise ArgumentError(
            f"Argument `world` must hold samples for {judged}, but is {kind}, which only linear networks and squared "
            "error can learn from; give inputs and targets."
        )
    remedy = (
        "give the size of a batch, as in `fs.descent(network, world, batch=64, ...)`"
        if verb == "descent"
        else f"give some of its examples, as in `fs.{verb}(network, world.draw(jax.random.key(0), 1000), ...)`"
    )
    raise ArgumentError(
        f"Argument `world` must be a finite data set for the whole of it to be seen by {judged}, but a {kind} has "
        f"examples without end: {remedy}."
    )


def check_fit(network: Any, world: Any, sight: Sight) -> None:
    """Refuse a network that does not take the world's inputs, or does not answer in the shape of its targets."""
    here = first_of(world)
    if isinstance(here, GatedDataset | GatedSamples | Patterns):
        return
    if hasattr(network, "sizes") and hasattr(here, "moments") and _is_flat(here):
        outputs, inputs = here.moments.cross.shape
        fits = network.sizes[0] == inputs and network.sizes[-1] == outputs
        require(fits, "network", f"map {inputs} inputs to {outputs} outputs, as the world does", network.sizes)
        return
    if hasattr(network, "map") and isinstance(sight.loss, SquaredError):
        return
    _check_answer(network, *_example(here))


def _is_flat(world: Any) -> bool:
    inputs = getattr(getattr(world, "samples", world), "inputs", None)
    return not isinstance(world, Samples) and (inputs is None or np.ndim(inputs) <= 2)


def _example(world: Any) -> tuple[Any, Any]:
    """The shapes of one input and of one target."""
    samples = world.samples if not is_endless(world) else jax.eval_shape(lambda: world.draw(jax.random.key(0), 2))
    given, wanted = (jax.ShapeDtypeStruct(part.shape[1:], part.dtype) for part in (samples.inputs, samples.targets))
    return given, wanted


def _check_answer(network: Any, given: Any, wanted: Any) -> None:
    kind = type(network).__name__
    try:
        answer = jax.eval_shape(network, given)
    except FestinaError:
        raise
    except Exception as error:  # whatever a network of one's own says to an input that does not fit
        raise ArgumentError(
            f"Argument `network` must take one input of shape {given.shape}, as the world gives it, but {kind} answers "
            f"with {one_line(error)[:300]}"
        ) from None
    shape = getattr(answer, "shape", None)
    require(
        shape == wanted.shape,
        "network",
        f"answer one input of shape {given.shape} in the shape {wanted.shape} of the targets",
        f"a {kind} that answers in the shape {shape}",
    )


def as_test(test: Any, world: Any, key: Array) -> Any:
    """A test set that is given, or so many fresh examples, drawn once; None if none is asked for."""
    if test is None:
        return None
    if not isinstance(test, int) or isinstance(test, bool):
        found = from_data(test)
        require(not isinstance(found, Curriculum), "test", "be one world", "a curriculum")
        return found
    fresh = hasattr(world, "draw") and is_endless(world)
    require(fresh, "test", "be a data set of its own, for this world has no fresh examples", test)
    require(test >= 1, "test", "be at least 1", test)
    return world.draw(key, test)


def observe_loss(network: Any, data: Any) -> dict[str, Float[Array, "..."]]:
    """What is recorded unless something else is asked for: loss, accuracy if there is one, a linear network's map."""
    observed = {"loss": data.loss(network)} | accuracy_of(network, data)
    return observed | {"map": network.map} if hasattr(network, "map") else observed


def tested_on(data: Any, network: Any) -> dict[str, Float[Array, ""]]:
    """How a network does on a test set: `test_loss`, and `test_accuracy` if there is one."""
    found = {"loss": data.loss(network)} | accuracy_of(network, data)
    return {f"test_{name}": value for name, value in found.items()}


def accuracy_of(network: Any, data: Any) -> dict[str, Float[Array, ""]]:
    """The share of right answers, where the loss knows what is right."""
    right = getattr(data.judge, "accuracy", None) if isinstance(data, Judged) else None
    if right is None:
        return {}
    return {"accuracy": right(jax.vmap(network)(data.samples.inputs), data.samples.targets)}
