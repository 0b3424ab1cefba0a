"""Task abstractions for your own data: a stream of examples in which unannounced tasks follow one another."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, overload

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from festina.errors import FestinaError, Interrupted, require
from festina.learning.abstracted import Abstracted, AbstractedArms
from festina.learning.crossed import Crossed
from festina.learning.descent import descent_process, no_data
from festina.learning.joint import JointDescent
from festina.learning.loop import drive
from festina.learning.process import Observed, Process, State
from festina.networks.abstraction import PathGated, Regularizer
from festina.precision import double
from festina.worlds.losses import CrossEntropy, Loss, SquaredError, mean_loss
from festina.worlds.world import as_array, check_finite

TIMESCALES = ("weight_timescale", "gate_timescale")
BOUNDS = ("nonnegativity", "normalization", "column_cost", "square_cost")


@overload
def abstract(
    inputs: Any,
    targets: Any,
    *,
    paths: int = 2,
    batch: int = 20,
    rule: JointDescent | None = None,
    arms: None = None,
    loss: Loss | None = None,
    scale: float = 1.0,
    seed: int = 0,
    seeds: None = None,
) -> Abstracted: ...
@overload
def abstract(
    inputs: Any,
    targets: Any,
    *,
    paths: int = 2,
    batch: int = 20,
    arms: Mapping[str, JointDescent],
    loss: Loss | None = None,
    scale: float = 1.0,
    seed: int = 0,
    seeds: int | None = None,
) -> AbstractedArms: ...
@overload
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
    seeds: int,
) -> AbstractedArms: ...
def abstract(
    inputs: Any,
    targets: Any,
    *,
    paths: int = 2,
    batch: int = 20,
    rule: JointDescent | None = None,
    arms: Mapping[str, Any] | None = None,
    loss: Loss | None = None,
    scale: float = 1.0,
    seed: int = 0,
    seeds: int | None = None,
) -> Abstracted | AbstractedArms:
    """Learn a stream of examples with gates that find out by themselves which task is on.

    The network y = Σ_p c^p W^p x goes through the stream once, in order; nothing tells it where one task gives way to
    another. Fast, bounded gates and slow weights make each path specialise on a task, and the gates then say which.

    Args:
        inputs: one example (a feature vector) a row, in the order of time.
        targets: what to answer: labels (whole numbers from 0), or one row of real numbers for each example.
        paths: as many as there may be tasks.
        batch: successive examples that are learned from in one step; what is left over at the end is not used.
        rule: timescales, in steps, and bounds of the gates; unless given, the `stream_rule` of the data.
        arms: several rules by name, such as a flexible one and its forgetful control. All learn from the same stream
            and the same initial weights, in one compiled batch.
        loss: `SquaredError()` or `CrossEntropy()`; unless given, cross-entropy for labels and squared error otherwise.
        scale: s.d. of initial weights times √inputs, in units in which inputs and targets have a mean square of 1.
        seed: of the initial weights.
        seeds: how many initial weights to learn from, with the seeds ``seed``, ``seed`` + 1, …; all in the same batch.

    Returns:
        Gates, inferred tasks and losses of every step, as an `Abstracted`; with ``arms`` or ``seeds`` an
        `AbstractedArms`, which holds one for each arm and seed (the only arm of ``seeds`` alone is called "rule").

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> random = np.random.default_rng(0)
        >>> task = np.repeat(np.arange(8) % 2, 600)  # what the network is not told
        >>> inputs = random.normal(size=(4800, 12))
        >>> targets = np.where(task[:, None] == 0, inputs[:, :3], inputs[:, 3:6])
        >>> rule = fs.learning.stream_rule(inputs, targets)
        >>> arms = fs.abstract(inputs, targets, batch=10, arms={"flexible": rule, "forgetful": rule.forgetful(50.0)})
        >>> bool(arms["flexible"].loss[-240:].mean() < 0.3 * arms["forgetful"].loss[-240:].mean())
        True
        >>> fs.measures.switching(arms["flexible"].tasks, task[::10], after=240).detected
        1.0
    """
    features, wanted, suited = _checked(inputs, targets, paths, batch)
    require(scale > 0, "scale", "be positive", scale)
    require(seeds is None or (isinstance(seeds, int) and seeds >= 1), "seeds", "be a whole number from 1 on", seeds)
    require(arms is None or rule is None, "rule", "be left out if there are arms, each with its own", rule)
    power, answer = _powers(features, wanted)
    rules = {"rule": rule or stream_rule(features, wanted)} if arms is None else dict(arms)
    steps, count = len(features) // batch, seeds or 1
    with double():
        stream = tuple(jnp.asarray(x[: steps * batch]).reshape(steps, batch, -1) for x in (features, wanted))
        given = Crossed(
            {"seed": seed + jnp.arange(count)},
            {"rule": _side_by_side(rules)},
            {"stream": stream, "scale": jnp.asarray(scale * np.sqrt(answer / power), float)},
            (count, len(rules)),
        )
        outcome = drive(_Stream(paths, steps, loss or suited), given, label="stream")
    if outcome.failures:
        first = outcome.failures[0]
        arm = "" if arms is None else f"arm {list(rules)[first.run % len(rules)]!r}: "
        raise FestinaError(f"{arm}{first}; give a `rule` with longer timescales")
    if outcome.interrupted:
        raise Interrupted(f"interrupted after {outcome.records - 1} of {steps} steps")

    def run_of(number: int) -> Abstracted:
        network = jax.tree.map(lambda leaf: np.asarray(leaf[number]), outcome.state.parameters)
        return Abstracted(outcome.observed["gates"][number, 1:], outcome.observed["loss"][number, :-1], network, batch)

    if arms is None and seeds is None:
        return run_of(0)
    runs = {name: tuple(run_of(which * len(rules) + arm) for which in range(count)) for arm, name in enumerate(rules)}
    return AbstractedArms(runs, tuple(range(seed, seed + count)))


def stream_rule(inputs: Any, targets: Any) -> JointDescent:
    """Timescales and bounds that do not depend on the units of the data.

    With the mean squares X = ⟨|x|²⟩ and Y = ⟨|y*|²⟩ (1 for labels): τ_w = 2X steps, τ_c = 5Y/2 steps, and ½Y and ¼Y
    before the two terms that bound the gates. Weights then take some tens of steps to learn a task, gates a few to
    choose one.

    Args:
        inputs: as in `abstract`.
        targets: as in `abstract`.

    Example:
        >>> import numpy as np
        >>> rule = stream_rule(np.ones((4, 3)), [0, 1, 1, 0])
        >>> rule.weight_timescale, rule.gate_timescale
        (6.0, 2.5)
    """
    power, answer = _powers(*_checked(inputs, targets, 1, 1)[:2])
    return JointDescent(2.0 * power, 2.5 * answer, Regularizer(0.5 * answer, 0.25 * answer))


def _side_by_side(rules: Mapping[str, Any]) -> JointDescent:
    """Rules as one, with a leading axis of arms; a cost that only some of them have is 0 in the others."""
    require(len(rules) >= 1, "arms", "name at least one rule", rules)
    for name, rule in rules.items():
        require(isinstance(rule, JointDescent), f"arms[{name!r}]", "be a JointDescent", rule)
    bounds = [rule.regularizer for rule in rules.values()]
    orders = {bound.order for bound in bounds}
    require(len(orders) == 1, "arms", "bound gates by a norm of one and the same order", sorted(orders))

    def stacked(values: list[Any]) -> Any:
        if all(value is None for value in values):
            return None
        return jnp.stack([jnp.asarray(0.0 if value is None else value, float) for value in values])

    together = {name: stacked([getattr(bound, name) for bound in bounds]) for name in BOUNDS}
    slow, fast = (stacked([getattr(rule, name) for rule in rules.values()]) for name in TIMESCALES)
    return JointDescent(slow, fast, Regularizer(**together, order=orders.pop()))


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

        def batch_at(step: Int[Array, ""], memory: None) -> Any:  # no memory: all runs share one stream
            return jax.tree.map(lambda leaf: leaf[jnp.minimum(step, self.steps - 1)], (inputs, targets))

        def loss(network: PathGated, batch: Any) -> Float[Array, ""]:
            return mean_loss(self.loss, network(batch[0]), batch[1])

        def rate(network: PathGated, nothing: None, batch: Any) -> Any:
            return rule.followed(network, jax.tree.map(jnp.negative, jax.grad(loss)(network, batch)))

        def observe(state: State) -> Observed:
            network = state.parameters
            return {"gates": network.gate_vector, "loss": loss(network, batch_at(state.step, None))}

        return descent_process(rate, start, key, 1.0, self.steps, 1, observe, batch_at, draw=no_data)


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
