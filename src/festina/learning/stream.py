"""Task abstractions for your own data: a stream of examples in which unannounced tasks follow one another."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from festina.errors import FestinaError, Interrupted, require
from festina.learning.descent import descent_process, no_data
from festina.learning.joint import JointDescent
from festina.learning.loop import drive
from festina.learning.process import Observed, Process, State
from festina.networks.abstraction import PathGated, Regularizer
from festina.precision import double
from festina.worlds.losses import CrossEntropy, Loss, SquaredError, mean_loss
from festina.worlds.world import as_array, check_finite


@dataclass(frozen=True, repr=False)
class Abstracted:
    """What a network made of a stream: one entry for every step, that is, for every batch.

    Attributes:
        gates: the gates after each step, with one column for each path.
        loss: the loss on each batch before it was learned from.
        network: students and gates at the end; ``network(x)`` answers in the task it believes to be on.
        batch: examples in a step.

    Example:
        >>> inputs = np.asarray(fs.draws.normal(jax.random.key(0), (8000, 6)))
        >>> first = np.arange(8000) // 1000 % 2 == 0  # two tasks in turn, never announced
        >>> found = fs.abstract(inputs, np.where(first[:, None], inputs[:, :2], inputs[:, 2:4]))
        >>> found.gates.shape, found.loss.shape, found.network(np.ones(6)).shape
        ((400, 2), (400,), (2,))
    """

    gates: Float[np.ndarray, "steps path"]
    loss: Float[np.ndarray, " steps"]
    network: PathGated
    batch: int

    @property
    def tasks(self) -> Int[np.ndarray, " steps"]:
        """The inferred task of every step: the path whose gate is most open."""
        return np.argmax(self.gates, axis=-1)

    @property
    def switches(self) -> Int[np.ndarray, " switches"]:
        """The steps in which the inferred task became another."""
        return np.flatnonzero(np.diff(self.tasks)) + 1

    def __repr__(self) -> str:
        steps, paths = self.gates.shape
        used = np.bincount(self.tasks, minlength=paths) / steps
        shares = ", ".join(f"{share:.0%}" for share in used)
        return (
            f"{steps} steps of {self.batch} examples, {paths} paths in use {shares} of the time, "
            f"{len(self.switches)} switches inferred, loss {self.loss[: steps // 10 + 1].mean():.3g} at first and "
            f"{self.loss[-steps // 10 :].mean():.3g} at last"
        )


def abstract(
    inputs: Any,
    targets: Any,
    *,
    paths: int = 2,
    batch: int = 20,
    rule: JointDescent | None = None,
    loss: Loss | None = None,
    scale: float = 1.0,
    seed: int = 0,
) -> Abstracted:
    """Learn a stream of examples with gates that find out by themselves which task is on.

    The network y = Σ_p c^p W^p x goes through the stream once, in order; nothing tells it where one task gives way to
    another. Fast, bounded gates and slow weights make each path specialise on a task, and the gates then say which.

    Args:
        inputs: one example (a feature vector) a row, in the order of time.
        targets: what to answer: labels (whole numbers from 0), or one row of real numbers for each example.
        paths: as many as there may be tasks.
        batch: successive examples that are learned from in one step; what is left over at the end is not used.
        rule: timescales, in steps, and bounds of the gates; unless given, the `stream_rule` of the data.
        loss: `SquaredError()` or `CrossEntropy()`; unless given, cross-entropy for labels and squared error otherwise.
        scale: s.d. of initial weights times √inputs, in units in which inputs and targets have a mean square of 1.
        seed: of the initial weights.

    Returns:
        `Abstracted`: the gates after every step, which task each step is taken for, the network at the end.

    Example:
        >>> inputs = np.asarray(fs.draws.normal(jax.random.key(0), (8000, 6)))
        >>> first = np.arange(8000) // 1000 % 2 == 0  # two tasks in turn, never announced
        >>> found = fs.abstract(inputs, np.where(first[:, None], inputs[:, :2], inputs[:, 2:4]))
        >>> [int(np.median(block)) for block in found.tasks.reshape(8, 50)[-4:]]  # the last blocks of 50 steps
        [0, 1, 0, 1]
    """
    features, wanted, suited = _checked(inputs, targets, paths, batch)
    require(scale > 0, "scale", "be positive", scale)
    power, answer = _powers(features, wanted)
    rule = rule or stream_rule(features, wanted)
    steps = len(features) // batch
    with double():
        stream = tuple(jnp.asarray(x[: steps * batch]).reshape(steps, batch, -1) for x in (features, wanted))
        given = {
            "stream": stream,
            "rule": jax.tree.map(lambda leaf: jnp.asarray(leaf, float), rule),
            "scale": jnp.asarray(scale * np.sqrt(answer / power), float),
            "seed": jnp.asarray(seed),
        }
        build = _Stream(paths, steps, loss or suited)
        outcome = drive(build, jax.tree.map(lambda leaf: leaf[None], given), label="stream")
    if outcome.failures:
        raise FestinaError(f"{outcome.failures[0]}; give a `rule` with longer timescales")
    if outcome.interrupted:
        raise Interrupted(f"interrupted after {outcome.records - 1} of {steps} steps")
    network = jax.tree.map(lambda leaf: np.asarray(leaf[0]), outcome.state.parameters)
    return Abstracted(outcome.observed["gates"][0, 1:], outcome.observed["loss"][0, :-1], network, batch)


def stream_rule(inputs: Float[np.ndarray, "n i"], targets: Float[np.ndarray, "n o"]) -> JointDescent:
    """Timescales and bounds that do not depend on the units of the data.

    With the mean squares X = ⟨|x|²⟩ and Y = ⟨|y*|²⟩ (1 for labels): τ_w = 2X steps, τ_c = 5Y/2 steps, and ½Y and ¼Y
    before the two terms that bound the gates. Weights then take some tens of steps to learn a task, gates a few to
    choose one.

    Args:
        inputs: one example a row.
        targets: one example a row.

    Example:
        >>> rule = fs.learning.stream_rule(np.full((10, 4), 0.5), np.eye(10, 2) + np.eye(10, 2, k=-2))
        >>> rule.weight_timescale, rule.gate_timescale
        (2.0, 1.0)
    """
    power, answer = _powers(inputs, targets)
    return JointDescent(2.0 * power, 2.5 * answer, Regularizer(0.5 * answer, 0.25 * answer))


def _powers(inputs: np.ndarray, targets: np.ndarray) -> tuple[float, float]:
    """⟨|x|²⟩ and ⟨|y*|²⟩."""
    power, answer = (float(np.mean(np.sum(values**2, axis=1))) for values in (inputs, targets))
    require(power > 0, "inputs", "not all be zero", power)
    require(answer > 0, "targets", "not all be zero", answer)
    return power, answer


@dataclass(frozen=True)
class _Stream:
    """Builds the process of one stream; a step is one unit of time."""

    paths: int
    steps: int
    loss: Loss

    def __call__(self, given: dict[str, Any]) -> Process:
        rule: JointDescent = given["rule"]
        (inputs, targets), scale = given["stream"], given["scale"]
        key = jax.random.key(given["seed"])
        start = PathGated.init(key, self.paths, targets.shape[-1], inputs.shape[-1], scale)

        def batch_at(step: Int[Array, ""], stream: Any) -> Any:
            return jax.tree.map(lambda leaf: leaf[jnp.minimum(step, self.steps - 1)], stream)

        def loss(network: PathGated, batch: Any) -> Float[Array, ""]:
            return mean_loss(self.loss, network(batch[0]), batch[1])

        def rate(network: PathGated, nothing: None, batch: Any) -> Any:
            return rule.followed(network, jax.tree.map(jnp.negative, jax.grad(loss)(network, batch)))

        def observe(state: State) -> Observed:
            network = state.parameters
            return {"gates": network.gate_vector, "loss": loss(network, batch_at(state.step, state.memory))}

        return descent_process(
            rate, start, key, 1.0, self.steps, 1, observe, batch_at, draw=no_data, memory=given["stream"]
        )


def _checked(inputs: Any, targets: Any, paths: int, batch: int) -> tuple[np.ndarray, np.ndarray, Loss]:
    """Features and targets as matrices, labels spread out, and the loss that suits them."""
    features, wanted = np.asarray(as_array(inputs), float), np.asarray(targets)
    wanted = wanted.astype(int) if wanted.dtype == bool else wanted
    require(np.issubdtype(wanted.dtype, np.number), "targets", "be numbers", f"of type {wanted.dtype}")
    require(features.ndim == 2, "inputs", "be a matrix with one example a row", f"of shape {features.shape}")
    require(paths >= 1, "paths", "be at least 1", paths)
    require(1 <= batch <= len(features), "batch", f"lie between 1 and the {len(features)} examples", batch)
    same = wanted.ndim in (1, 2) and len(wanted) == len(features)
    require(
        same, "targets", f"have one entry or row for each of the {len(features)} inputs", f"of shape {wanted.shape}"
    )
    check_finite("inputs", features)
    if np.issubdtype(wanted.dtype, np.integer) and wanted.ndim == 1:
        require(wanted.min() >= 0, "targets", "be labels from 0 on", int(wanted.min()))
        return features, np.eye(int(wanted.max()) + 1)[wanted], CrossEntropy()
    answers = np.asarray(as_array(wanted), float).reshape(len(wanted), -1)
    check_finite("targets", answers)
    return features, answers, SquaredError()
