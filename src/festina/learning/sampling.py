"""The third verb for networks in a world: `sample` draws them from a posterior, where `flow` and `descent` learn."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from festina import draws as drawing
from festina.chains import FEWEST
from festina.errors import ArgumentError, FestinaError, Interrupted, require
from festina.learning.asked import (
    Observe,
    Sight,
    as_test,
    check_fit,
    check_sight,
    is_endless,
    is_recipe,
    learners,
    observe_loss,
    suited_loss,
    tested_on,
)
from festina.learning.checkpoint import mark_of
from festina.learning.collapsed import Collapsed
from festina.learning.crossed import Crossed, alone
from festina.learning.loop import Checkpoint, Recording, drive
from festina.learning.posterior import constant, posterior_process
from festina.learning.prior import Parts, deviations
from festina.learning.process import Observed, Process, State
from festina.learning.replicas import Company
from festina.learning.sampled import (
    ANSWER,
    ENERGY,
    MEAN,
    STATISTIC,
    WEIGHT,
    Origin,
    Posterior,
    Shown,
    posterior_of,
)
from festina.learning.samplers import HMC, Sampler, normal_like
from festina.networks.bayesian import Bayesian
from festina.networks.ensemble import Ensemble
from festina.precision import double, to_double, to_numpy
from festina.worlds.curriculum import Curriculum
from festina.worlds.from_data import from_data
from festina.worlds.gated import GatedDataset, GatedSamples, Patterns
from festina.worlds.losses import Loss, SquaredError
from festina.worlds.statistics import Population

WARM_UP = 500
MOST_KEPT = 2**28  # bytes of answers, and of weights, in the draws of all chains together


@dataclass(frozen=True)
class _Chain:
    """Builds one chain; hashable, so that equal questions share one compilation."""

    static: Any
    names: tuple[str, ...]
    observe: Observe
    method: Sampler
    draws: int
    warm_up: int
    keeps_answers: bool
    keeps_weights: bool

    def __call__(self, inputs: dict[str, Any]) -> Process:
        data = {name: inputs[name] for name in ("seen", "deviation", "fixed", "strength")}
        temperature = inputs["temperature"]

        def network(whitened: Any, data: Any) -> Any:
            weights = jax.tree.map(jnp.multiply, data["deviation"], whitened)
            return eqx.combine(weights, data["fixed"], self.static)

        def energy(whitened: Any, data: Any, temperature: Any) -> Float[Array, ""]:
            return data["strength"] * data["seen"].loss(network(whitened, data)) / temperature

        def answers(whitened: Any) -> Any:
            return jax.vmap(network(whitened, data))(inputs["asked"])

        def observe(state: State) -> Observed:
            own = network(state.parameters, data)
            seen = self._seen(own, inputs) | {ENERGY: energy(state.parameters, data, temperature)}
            seen |= {ANSWER: answers(state.parameters)} if self.keeps_answers else {}
            return seen | self._course(state, seen[ENERGY]) | self._weights(state, data)

        def average(whitened: Any) -> Any:
            if self.keeps_answers or inputs["asked"] is None:
                return {}
            found = answers(whitened)
            return {f"{MEAN}first": found, f"{MEAN}second": found**2}

        return posterior_process(
            energy,
            inputs["start"],
            data,
            inputs["key"],
            self.warm_up + self.draws,
            1,
            observe,
            constant(temperature),
            self.warm_up,
            self.method,
            average,
            lambda state: state.memory.means,
        )

    def _seen(self, network: Any, inputs: dict[str, Any]) -> Observed:
        """What is asked for on all of the world, and how a network does on the test set."""
        seen, unseen = self.observe(network, inputs["seen"]), inputs["unseen"]
        taken = {ENERGY, ANSWER} & set(seen)
        require(not taken, "observe", f"leave {ENERGY} and {ANSWER} to what is recorded anyway", sorted(seen))
        return seen if unseen is None else seen | tested_on(unseen, network)

    def _course(self, state: State, energy: Any) -> Observed:
        """Of the chain itself, under the names that others read."""
        squares = sum((jnp.sum(leaf**2) for leaf in jax.tree.leaves(state.parameters)), start=jnp.zeros(()))
        course = {
            "lp": -energy - 0.5 * squares,
            "acceptance_rate": state.memory.acceptance,
            "n_steps": state.memory.gradients,
            "step_size": jnp.exp(state.memory.adaptation.log_averaged),
        }
        if isinstance(state.memory.company, Company):
            course["swap_rate"] = state.memory.company.acceptance
        return {STATISTIC + name: value for name, value in course.items()}

    def _weights(self, state: State, data: Any) -> Observed:
        if not self.keeps_weights:
            return {}
        weights = jax.tree.leaves(jax.tree.map(jnp.multiply, data["deviation"], state.parameters))
        return {WEIGHT + name: leaf for name, leaf in zip(self.names, weights, strict=True)}


def sample(
    network: Any,
    world: Any,
    *,
    temperature: float = 1.0,
    prior: Any = 1.0,
    chains: int = 4,
    draws: int = 1000,
    warm_up: int = WARM_UP,
    method: Sampler | None = None,
    loss: Loss | None = None,
    observe: Observe = observe_loss,
    test: Any = None,
    seed: int = 0,
    checkpoint: str | Path | None = None,
) -> Posterior:
    """Draws of a network's weights from their posterior, in float64.

        p(θ) ∝ exp(−P L(θ)/T) · Π_i exp(−θ_i²/2σ_i²)

    P L is the sum of the loss over the P examples of the world. For squared error the likelihood is
    exp(−Σ_μ |y_μ − f(x_μ)|²/2T): noise of variance T on every output; cross-entropy at T = 1 is the likelihood of the
    labels. Chains run in units of the prior, z = θ/σ, with p(z) ∝ exp(−E(z) − ½|z|²) and the energy E = P L(σz)/T.

    A `Bayesian` network keeps its own convention, its `energy`: squared error unless another loss is given, with a
    factor N if it is non-lazy; and σ = 1 is its prior, since its weights are whitened already.

    Args:
        network: any Equinox module, whose real arrays are θ: every chain then starts from a draw of the prior, and the
            weights that it has do not matter. To start elsewhere, an `Ensemble` with one network for each chain, or a
            function that makes a network from a key, of which chain k gets ``jax.random.key(seed + k)``.
        world: a finite world, or anything of which `fs.worlds.from_data` makes one, such as a pair (inputs, targets).
        temperature: T.
        prior: σ, the standard deviation of every weight: one number, or a tree with the network's structure.
        chains: how many, in one batch; the first of them are the same however many there are.
        draws: kept of every chain, at least 4.
        warm_up: draws before, in which the size of steps is adapted.
        method: `HMC()` (default), `NUTS()`, `MALA()`, `ReplicaExchange(…)` or `Collapsed(…)` of `festina.learning`, or
            another `Sampler`.
        loss: L, one of `fs.worlds.losses` or a function of answers and targets; unless given, cross-entropy if targets
            are labels, and squared error ``½⟨|y − f|²⟩`` otherwise.
        observe: ``observe(network, data)``, with the whole world's data, gives what to record of every draw.
        test: a data set of its own; `test_loss` is then recorded, and answers are those to its inputs.
        seed: of all random numbers.
        checkpoint: a file to keep the state in; chains that find their own state there go on from it.

    Returns:
        A `Posterior`: ``posterior["loss"]`` over (chain, draw), with the energy E, the network's answers and its
        weights (each where they take less than 256 MB in all draws together), sample sizes and R̂, the mean answer and
        its standard deviation, networks, `posterior.plot()`.

    Example:
        >>> import equinox as eqx, jax, numpy as np
        >>> import festina as fs
        >>> inputs = np.linspace(-1.0, 1.0, 8)[:, None]
        >>> network = eqx.nn.MLP(1, 1, 4, depth=1, activation=jax.nn.tanh, key=jax.random.key(0))
        >>> posterior = fs.sample(network, (inputs, np.sin(3 * inputs)), temperature=0.05, draws=300, warm_up=200)
        >>> posterior["answer"].dims
        ('chain', 'draw', 'example', 'output')
        >>> posterior.networks[0](inputs[0]).shape
        (1,)
    """
    _check_numbers(temperature, chains, draws, warm_up)
    method = HMC() if method is None else method
    made = isinstance(method, Sampler) and not isinstance(method, type)
    require(made, "method", "be `HMC()`, `NUTS()`, `MALA()` or another `Sampler`", method)
    with double():
        world = from_data(world)
        examples = _count(world)
        one, starts = to_double(_starts(network, chains, seed))
        parts = Parts.of(one)
        own_loss = SquaredError() if isinstance(one, Bayesian) and loss is None else loss
        sight = Sight(suited_loss(world, own_loss), Population())
        check_sight("sample", world, one, sight)
        check_fit(one, world, sight)
        sigma = deviations(prior, parts.weights)
        shown = _shown(world, test, seed)
        if isinstance(method, Collapsed):
            method.check(one, shown.world, temperature, prior)
            require(loss is None, "loss", "be left out for a collapsed sampler, which is for squared error", loss)
        shared = _shared(one, world, shown, sight) | {
            "fixed": parts.fixed,
            "deviation": sigma,
            "temperature": float(temperature),
            "strength": float(examples * (one.width**one.scaling.energy if isinstance(one, Bayesian) else 1)),
        }
        own = _own(parts.weights, starts, sigma, chains, seed)
        inputs = Crossed(own, {}, jax.tree.map(jnp.asarray, to_double(shared)), (chains, 1))
        room = MOST_KEPT / (8 * chains * (warm_up + draws + 1))
        keeps_answers = shown.asked is not None and _size_of_answers(one, shown.asked.inputs) <= room
        keeps_weights = sum(np.size(leaf) for leaf in jax.tree.leaves(sigma)) <= room
        names = tuple(parts.names)
        build = _Chain(parts.static, names, observe, method, draws, warm_up, keeps_answers, keeps_weights)
        place = None if checkpoint is None else Checkpoint(Path(checkpoint), mark=mark_of(build, alone(inputs, 0)))
        outcome = drive(build, inputs, label="sampling", checkpoint=place)
    return _result(outcome, Origin(parts, sigma, shown, float(temperature), type(method).__name__, warm_up))


def _check_numbers(temperature: Any, chains: Any, draws: Any, warm_up: Any) -> None:
    real = isinstance(temperature, int | float | np.number) and not isinstance(temperature, bool)
    require(real and bool(0 < temperature < np.inf), "temperature", "be positive and finite", temperature)
    for name, value, fewest in (("chains", chains, 1), ("draws", draws, FEWEST), ("warm_up", warm_up, 0)):
        whole = isinstance(value, int) and not isinstance(value, bool) and value >= fewest
        require(whole, name, f"be a whole number from {fewest} on", value)


def _count(world: Any) -> int:
    """P, of a world whose examples can be counted."""
    kind = type(world).__name__
    require(not isinstance(world, Curriculum), "world", "be one world", "a curriculum")
    condensed = isinstance(world, GatedSamples | Patterns)
    require(not condensed, "world", "be a `GatedDataset`, whose samples can be counted", kind)
    if is_endless(world):
        drawn = "some of its examples, as in `fs.sample(network, world.draw(jax.random.key(0), 1000), ...)`"
        remedy = drawn if hasattr(world, "draw") else "inputs and targets"
        raise ArgumentError(
            f"Argument `world` must be a finite data set, over which the loss can be summed, but is a {kind}: give "
            f"{remedy}."
        )
    return world.count if isinstance(world, GatedDataset) else int(np.shape(world.samples.targets)[0])


def _starts(network: Any, chains: int, seed: int) -> tuple[Any, list[Any] | None]:
    """One network, and those that chains start from unless they start from the prior."""
    if isinstance(network, Ensemble):
        require(chains == len(network), "chains", f"be {len(network)}, as the ensemble has networks", chains)
    elif not is_recipe(network):
        return network, None
    many = learners(network, chains, seed).start
    starts = [many[number] for number in range(chains)]
    fixed = [Parts.of(start).fixed for start in starts]
    alike = all(bool(eqx.tree_equal(fixed[0], other)) for other in fixed[1:])
    require(alike, "network", "be networks that differ in what is sampled alone", "some that differ otherwise")
    return many[0], starts


def _own(weights: Any, starts: list[Any] | None, sigma: Any, chains: int, seed: int) -> dict[str, Any]:
    """What every chain has for itself: where it starts, in units of the prior, and its key."""
    begun, keys = [], []
    for number in range(chains):
        for_start, for_draws = drawing.split(drawing.fold_in(jax.random.key(seed), number), 2)
        if starts is None:
            begun.append(normal_like(for_start, weights))
        else:
            begun.append(jax.tree.map(jnp.divide, Parts.of(starts[number]).weights, sigma))
        keys.append(for_draws)
    return {"start": jax.tree.map(lambda *leaves: jnp.stack(leaves), *begun), "key": jnp.stack(keys)}


def _shown(world: Any, test: Any, seed: int) -> Shown:
    """The examples of a world and of a test set; those of a gated world are no inputs that a network answers alone."""
    if isinstance(world, GatedDataset):
        require(test is None, "test", "be left out for a gated world", test)
        return Shown(None, None)
    found = as_test(test, world, drawing.fold_in(jax.random.key(seed), 2))
    if found is not None:
        _count(found)
    return Shown(to_numpy(world.samples), None if found is None else to_numpy(found.samples))


def _shared(network: Any, world: Any, shown: Shown, sight: Sight) -> dict[str, Any]:
    """What all chains have in common: what they see, what they are tested on, and to which inputs they answer."""
    key = jax.random.key(0)  # of nothing, for all of a finite world is seen
    seen = sight(world.condensed if isinstance(world, GatedDataset) else world, network, key)
    unseen = None if shown.test is None else sight(shown.test, network, key)
    return {"seen": seen, "unseen": unseen, "asked": None if shown.asked is None else shown.asked.inputs}


def _size_of_answers(network: Any, inputs: Any) -> int:
    return jax.eval_shape(jax.vmap(network), jnp.asarray(inputs)).size


def _result(outcome: Recording, origin: Origin) -> Posterior:
    """The posterior of chains that have ended; raises if they were interrupted, or one of them diverged."""
    if outcome.failures:
        raise FestinaError(f"chain {outcome.failures[0].run} diverged: {outcome.failures[0]}")
    if not outcome.interrupted:
        return posterior_of(outcome, origin)
    kept = outcome.records - 1 - origin.warm_up
    told = f"after {kept} draws; they are in `.trajectory`" if kept >= FEWEST else "while warming up"
    interrupted = Interrupted(f"interrupted {told}")
    interrupted.trajectory = posterior_of(outcome, origin) if kept >= FEWEST else None
    raise interrupted
