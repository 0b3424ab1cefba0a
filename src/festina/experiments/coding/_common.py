"""What the experiments on coding schemes share: the toy task, networks, chains, and what is recorded of them."""

from collections.abc import Callable
from typing import Any

from pydantic import ValidationInfo, field_validator

import festina as fs
from festina._lazy import jax, jnp, np
from festina.experiment import ExperimentConfig, Variable, structural
from festina.experiments.coding._sampled import posterior
from festina.ranges import Amplitude, Hottest, Temperature

VARIABLES = {
    "temperature": Variable("temperature T"),
    "loss": Variable("½ mean |y − f|²"),
    "acceptance": Variable("probability of accepting the last proposal"),
    "gradients": Variable("gradients computed so far"),
    "kept": Variable("draws averaged so far, those after warming up"),
    "kernel": Variable("kernel of the last layer, mean over draws", ("example", "other"), final=True),
    "class_kernel": Variable("kernel of the last layer, mean over pairs of examples", ("class", "other_class")),
    "readout": Variable("readout weights a", ("neuron", "output")),
    "activity": Variable("mean activity in each class", ("neuron", "class")),
    "answer": Variable("answer f, mean over draws", ("example", "output"), final=True),
}
"""What a chain records; experiments may add to it."""


class CodingConfig(ExperimentConfig):
    """A wide network on the toy task, sampled at a temperature that falls to its final value while warming up.

    Fields are structural, since theory is solved for them before anything runs.
    """

    width: int = structural(500, ge=10, le=5000, help="neurons N of a hidden layer")
    counts: tuple[int, ...] = structural((50, 25, 25), min_length=2, help="examples of each class")
    amplitude: Amplitude = structural(
        1.0, scale="log", help="size σ_a of readouts; their prior variance is σ_a²/P^(1/L)"
    )
    temperature: Temperature = structural(0.1, scale="log", help="temperature T")
    hottest: Hottest = structural(1.0, scale="log", help="temperature from which T falls while warming up")
    warm_up: int = structural(300, ge=1, le=100_000, help="draws to warm up")
    draws: int = structural(300, ge=8, le=1_000_000, help="draws after warming up")
    records: int = structural(60, ge=2, le=10_000, help="recordings, evenly spaced; must divide all draws")

    @field_validator("counts")
    @classmethod
    def _some_of_each(cls, counts: tuple[int, ...]) -> tuple[int, ...]:
        if min(counts) < 2 or sum(counts) > 2000:
            raise ValueError("be at least 2 each and sum to 2000 at most")
        return counts

    @field_validator("records")
    @classmethod
    def _whole(cls, records: int, info: ValidationInfo) -> int:
        draws = info.data.get("warm_up", 0) + info.data.get("draws", 0)
        if draws % records:
            fit = max(count for count in range(1, records + 1) if draws % count == 0)
            raise ValueError(f"divide the {draws} draws there are, as {fit} does")
        return records


def world(config: Any) -> Any:
    """The toy task: orthogonal inputs in classes, targets 1 and −½."""
    return fs.worlds.orthogonal_classes(config.counts)


def readout_variance(config: Any, depth: int = 1) -> float:
    """s = σ_a²/P^{1/L}."""
    return float(fs.networks.bayesian.readout_variance(config.amplitude, sum(config.counts), depth))


def cooled(
    config: Any,
    key: Any,
    network: Any,
    data: Any,
    observe: Callable[[Any], dict[str, Any]],
    average: Callable[[Any], dict[str, Any]],
    conclude: Callable[[Any], dict[str, Any]] = lambda network: {},
) -> Any:
    """A chain whose temperature falls to its final value in the first half of warming up, as a configuration has it.

    Args:
        config: a `CodingConfig`, or one with the same fields.
        key: of all draws.
        network: where it starts.
        data: inputs and targets.
        observe: what is recorded of a network, besides the course of the chain (temperature, loss, acceptance,
            gradients, draws kept).
        average: what is averaged over all draws after warming up, and recorded at the end.
        conclude: what else is recorded of the last network.
    """
    inputs, targets = jnp.asarray(data.inputs), jnp.asarray(data.targets)
    heat = fs.learning.annealed(config.hottest, config.temperature, max(1, config.warm_up // 2))

    def course(own: Any, state: Any) -> dict[str, Any]:
        return {
            "temperature": heat(state.step),
            "loss": 0.5 * jnp.mean(jnp.sum((targets - own(inputs)) ** 2, axis=-1)),
            "acceptance": state.memory.acceptance,
            "gradients": state.memory.gradients,
            "kept": state.memory.kept,
            **observe(own),
        }

    return posterior(
        network,
        data,
        key,
        heat,
        records=config.records,
        draws_per_record=(config.warm_up + config.draws) // config.records,
        warm_up=config.warm_up,
        observe=course,
        average=average,
        conclude=lambda own, state: state.memory.means | conclude(own),
    )


def in_turn(build: Callable[[Any], Any], cases: Any) -> Any:
    """Several chains in one run that differ in numbers only: compiled once, and each with trajectories of its own.

    Args:
        build: the process of one chain, from its case.
        cases: a tree of arrays with a row for each chain; recordings get these rows as their first dimension.
    """
    State = fs.learning.State

    def start(case: Any) -> tuple[Any, ...]:
        own = build(case).initial
        return own.step, own.parameters, own.memory

    def packed(time: Any, step: Any, parameters: Any, memory: Any) -> Any:
        return State(time, jnp.sum(step), parameters, (step, memory))

    def parts(state: Any) -> tuple[Any, ...]:
        step, memory = state.memory
        return cases, step, state.parameters, memory

    def advance(state: Any, index: Any) -> Any:
        def one(part: Any) -> tuple[Any, ...]:
            case, *own = part
            moved = build(case).advance(State(state.time, *own), index)
            return moved.time, moved.step, moved.parameters, moved.memory

        time, *moved = jax.lax.map(one, parts(state))
        return packed(time[0], *moved)

    def observe(state: Any) -> dict[str, Any]:
        return jax.lax.map(lambda part: build(part[0]).observe(State(state.time, *part[1:])), parts(state))

    def conclude(state: Any) -> dict[str, Any]:
        return jax.lax.map(lambda part: build(part[0]).conclude(State(state.time, *part[1:])), parts(state))

    times = build(jax.tree.map(lambda leaf: leaf[0], cases)).times
    start_of_all = packed(times[0], *jax.lax.map(start, cases))
    return fs.learning.Process(start_of_all, advance, observe, times, conclude=conclude)


def membership(data: Any) -> Any:
    """1 where an example is in a class, else 0: (examples, classes)."""
    return np.eye(len(data.counts))[data.labels]


def between_classes(kernel: Any, labels: Any) -> Any:
    """Means of the kernel over pairs of different examples, class by class."""
    itself = np.eye(labels.shape[1]) * (labels.T @ kernel.diagonal())[None]
    counts = labels.sum(axis=0)
    pairs = counts[:, None] * counts[None] - np.eye(labels.shape[1]) * counts[None]
    return (labels.T @ kernel @ labels - itself) / pairs


def coordinates(config: Any) -> dict[str, Any]:
    """Examples by number, classes and neurons by number."""
    examples, classes = sum(config.counts), len(config.counts)
    return {
        "example": list(range(examples)),
        "other": list(range(examples)),
        "class": list(range(classes)),
        "other_class": list(range(classes)),
        "output": list(range(classes)),
        "neuron": list(range(config.width)),
    }


def constant_in_time(**values: Any) -> Any:
    """A solution that does not move: the same values at every time."""
    return lambda time: {
        name: np.broadcast_to(np.asarray(value), (*np.shape(time), *np.shape(value))) for name, value in values.items()
    }
