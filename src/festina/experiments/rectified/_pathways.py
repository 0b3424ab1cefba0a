"""What the experiments on contexts share: paths as gated networks, small starts, and descent of several networks."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationInfo, field_validator

import festina as fs
from festina._lazy import jax, jnp, np
from festina.experiment import ExperimentConfig, continuous, structural
from festina.experiments._fields import LearningRate

OBJECT, CONTEXT, OUTPUT = "object", "context", "y"


class DescentConfig(ExperimentConfig):
    """The fields of gradient descent on all samples at once."""

    rate: LearningRate = continuous(1e-3, scale="log", help="learning rate on the loss summed over samples")
    steps: int = structural(8000, ge=10, le=1_000_000, help="steps of gradient descent")
    records: int = structural(160, ge=2, le=100_000, help="recordings; must divide the steps")

    @field_validator("records")
    @classmethod
    def _whole(cls, records: int, info: ValidationInfo) -> int:
        if info.data.get("steps", 0) % records:
            raise ValueError(f"divide the {info.data['steps']} steps")
        return records


class Learner(NamedTuple):
    """A network, the mean loss it descends, and how fast."""

    network: Any
    loss: Any
    rate: Any


def single(tree: Any) -> Any:
    """Data in float32: precise enough for curves, and twice as fast."""
    return jax.tree.map(lambda leaf: np.asarray(leaf, np.float32), tree)


def pathways(world: Any, sets: Any, widths: Sequence[int]) -> tuple[Any, Any]:
    """One path for each set of contexts, on in these contexts alone: the graph, and the world with its gates.

    As in the source, the path of all contexts sees the whole input, all others the object only.
    """
    names = path_names(sets)
    routes = [
        f"{f'{OBJECT}, {CONTEXT}' if chosen.all() else OBJECT} -> {name} -> {OUTPUT}"
        for name, chosen in zip(names, sets, strict=True)
    ]
    data, objects = single(world.dataset), world.object_count
    inputs = {OBJECT: data.inputs[:, :objects]}
    if any(chosen.all() for chosen in sets):
        inputs[CONTEXT] = data.inputs[:, objects:]
    sizes = {name: values.shape[1] for name, values in inputs.items()} | {OUTPUT: data.targets.shape[1]}
    graph = fs.networks.Graph.of(*routes, widths=sizes | dict(zip(names, widths, strict=True)))
    return graph, fs.worlds.GatedDataset(inputs, {OUTPUT: data.targets}, path_gates(world, sets))


def path_names(sets: Any) -> list[str]:
    """`path 13` is on in the first and in the third context."""
    return ["path " + "".join(str(1 + context) for context in np.flatnonzero(chosen)) for chosen in sets]


def path_gates(world: Any, sets: Any) -> dict[str, Any]:
    """The gate of every path on every sample; paths that are on always need none."""
    named = zip(path_names(sets), sets, strict=True)
    return {name: np.asarray(chosen[world.contexts], np.float32) for name, chosen in named if not chosen.all()}


def small_start(key: Any, graph: Any, deviation: Any) -> Any:
    """A gated network in float32 whose weights all have the same standard deviation, as in the source."""
    keys = fs.draws.split(key, len(graph.groups))
    shapes = [(graph.width(group.targets), graph.width(group.sources)) for group in graph.groups]
    drawn = [fs.draws.normal(one, shape, np.float32) for one, shape in zip(keys, shapes, strict=True)]
    return fs.networks.Gated(tuple(jnp.asarray(deviation, np.float32) * block for block in drawn), graph)


def descend(config: Any, key: Any, learners: Mapping[str, Learner], observe: Any) -> Any:
    """Gradient descent of several networks side by side, with steps as the unit of time.

    ``observe`` sees the networks by name. A rate on the sum over P samples is P times that rate on our mean.
    """
    from festina.learning.descent import no_data

    def rate(networks: Any, data: Any, stage: Any) -> Any:
        slopes = {name: jax.grad(learner.loss)(networks[name]) for name, learner in learners.items()}
        return {
            name: jax.tree.map(
                lambda slope, eta=learners[name].rate: -jnp.asarray(eta, slope.dtype) * slope, slopes[name]
            )
            for name in learners
        }

    return fs.learning.descent_process(
        rate,
        {name: learner.network for name, learner in learners.items()},
        key,
        1.0,
        config.records,
        config.steps // config.records,
        lambda state: observe(state.parameters),
        draw=no_data,
    )
