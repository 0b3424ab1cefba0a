"""Joint descent on students and gates through blocks of tasks that are never announced (Sandbrink et al. 2024)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from festina.errors import require
from festina.learning.descent import descend, no_data, stepping_process
from festina.learning.native import Plan
from festina.learning.process import Observed, Process, State
from festina.learning.wide import wide_steps
from festina.networks.abstraction import Abstraction, PathGated, Regularizer
from festina.precision import namespace
from festina.worlds.blocks import Blocks
from festina.worlds.statistics import Population, Statistics
from festina.worlds.tasks import Tasks


class JointDescent(eqx.Module):
    """τ_w dW/dt = −∂L/∂W and τ_c dc/dt = −∂L/∂c at once, with L = L_task + R(c).

    Args:
        weight_timescale: τ_w, of the students.
        gate_timescale: τ_c, of the gates; flexible networks have τ_c < τ_w.
        regularizer: R, which bounds the gates.

    Example:
        >>> rule = fs.learning.JointDescent(1.0, gate_timescale=0.5, regularizer=fs.networks.Regularizer())
        >>> network = fs.networks.PathGated((np.eye(2), np.zeros((2, 2))), (np.array(0.5), np.array(0.5)))
        >>> with fs.double():
        ...     rate = rule.rate(network, target=np.eye(2))
        >>> [float(gate) for gate in rate.gates]  # ⟨W^p, W* − map⟩/τ_c: the path that fits opens
        [2.0, 0.0]
    """

    weight_timescale: Any
    gate_timescale: Any
    regularizer: Regularizer

    def forgetful(self, gate_timescale: Any = None) -> "JointDescent":
        """The control without bounds or costs, and (if one is given) with another timescale of the gates."""
        free = jax.tree.map(lambda strength: jnp.zeros_like(jnp.asarray(strength, float)), self.regularizer)
        slow = self.gate_timescale if gate_timescale is None else gate_timescale
        return JointDescent(self.weight_timescale, slow, free)

    def rate(
        self,
        network: Abstraction,
        target: Float[Any, "o i"],
        loss_share: float = 1.0,
        second_moment: Float[Any, "i i"] | None = None,
    ) -> Any:
        """dθ/dt on one task, from ∂L_task/∂(map) = −κ (W* − map) S.

        Args:
            network: students and gates.
            target: the map W* of the task that is shown.
            loss_share: κ of L_task = ½κ⟨|y* − y|²⟩.
            second_moment: S = ⟨x xᵀ⟩ over what is seen; None for the identity, that of infinitely many inputs.
        """
        mapping, pull = jax.vjp(lambda network: network.map, network)
        error = loss_share * (target - mapping)
        (uphill,) = pull(error if second_moment is None else error @ second_moment)
        return self.followed(network, uphill)

    def followed(self, network: Abstraction, uphill: Any) -> Any:
        """dθ/dt, given −∂L_task/∂θ as a tree of the network's kind: with bounds and costs, each part over its τ."""
        of_weights, of_gates = 1.0 / self.weight_timescale, 1.0 / self.gate_timescale  # no division for every weight
        bounds = self.regularizer.slope(network.gates)
        gates = jax.tree.map(lambda up, bound: (up - bound) * of_gates, uphill.gates, bounds)
        students = uphill.students
        if self.regularizer.costs_weights:
            cost = jax.grad(self.regularizer.of_students)(network.students)
            students = jax.tree.map(jnp.subtract, students, cost)
        return network.rebuilt(jax.tree.map(lambda up: up * of_weights, students), gates)


class View(eqx.Module):
    """A network at one moment, and what can be seen of it. For an abstraction of paths; P paths, M teachers.

    Of many networks at once, with leading axes in all arrays and these of NumPy, there are loss, gates, components,
    norms, overlaps and alignment.

    Args:
        network: students and gates.
        rule: how it learns.
        tasks: the teachers.
        target: the map of the task that the next step will show.

    Example:
        >>> network = fs.networks.PathGated((np.eye(2), np.zeros((2, 2))), (np.array(0.5), np.array(0.5)))
        >>> rule = fs.learning.JointDescent(1.0, 0.5, fs.networks.Regularizer())
        >>> tasks = fs.worlds.Tasks(np.stack([np.eye(2), -np.eye(2)]))
        >>> view = fs.learning.View(network, rule, tasks, tasks.maps[0])
        >>> float(view.loss), view.gates.tolist(), view.norms.round(3).tolist()[1]
        (0.25, [0.5, 0.5], 0.0)
    """

    network: Any
    rule: JointDescent
    tasks: Tasks
    target: Float[Any, "*n o i"]  # the map of the task that the next step will show

    @property
    def loss(self) -> Float[Any, "*n"]:
        """The expected loss on the task, ½κ|W* − map|²: that of infinitely many inputs, whatever was learned from."""
        return 0.5 * self.tasks.loss_share * ((self.target - self.network.map) ** 2).sum(axis=(-2, -1))

    @property
    def gates(self) -> Float[Any, "..."]:
        gates, axis = self.network.gates, -1 if isinstance(self.network, PathGated) else 0
        return namespace(gates).stack(gates, axis=axis)

    @property
    def components(self) -> Float[Any, "*n m p"]:
        """⟨W*m, W^p⟩/|W*m| of all pairs, over all entries: how long each student is along each teacher."""
        teachers, library = self.tasks.maps, namespace(self.network)
        along = library.einsum("...moi,...poi->...mp", teachers, self._students)
        return along / library.sqrt(library.einsum("...moi,...moi->...m", teachers, teachers))[..., None]

    @property
    def norms(self) -> Float[Any, "*n p"]:
        """|W^p|."""
        students, library = self._students, namespace(self.network)
        return library.sqrt(library.einsum("...poi,...poi->...p", students, students))

    @property
    def overlaps(self) -> Float[Any, "*n p p"]:
        """⟨W^p, W^q⟩ of all pairs of students, over all entries."""
        return namespace(self.network).einsum("...poi,...qoi->...pq", self._students, self._students)

    @property
    def alignment(self) -> Float[Any, "*n m p"]:
        """The mean over rows of the cosine between W*m and W^p."""
        teachers, students = _unit_rows(self.tasks.maps), _unit_rows(self._students)
        return namespace(self.network).einsum("...moi,...poi->...mp", teachers, students) / teachers.shape[-2]

    @property
    def speeds(self) -> Float[Array, "2"]:
        """|dW/dt| and |dc/dt| under the expected gradient."""
        rate = self.rule.rate(self.network, self.target, self.tasks.loss_share)
        return jnp.stack([jnp.sqrt(_squares(rate.students)), jnp.sqrt(_squares(rate.gates))])

    @property
    def _students(self) -> Float[Any, "*n p o i"]:
        return namespace(self.network).stack(self.network.students, axis=-3)


Watch = Callable[[View], Observed]


def joint_process(
    network: Abstraction,
    rule: JointDescent,
    blocks: Blocks,
    tasks: Tasks,
    key: Array,
    *,
    step_size: Any,
    records: int,
    steps_per_record: int,
    observe: Watch,
    statistics: Statistics | None = None,
    dtype: Any = jnp.float64,
) -> Process:
    """Joint descent of one network through blocks of tasks.

    Under a `vmap` over what belongs to an arm (all but the key) path-gated networks go side by side through one stream
    of data, see `wide_steps`.

    Args:
        network: students and gates at the start.
        rule: how they learn.
        blocks: which task is shown when.
        tasks: the teachers, in the numbering of the blocks.
        key: of the data.
        step_size: dt of the simultaneous Euler steps.
        records: recordings after the first.
        steps_per_record: steps between two of them.
        observe: what to record, of the network seen as a `View`.
        statistics: what is seen in one step, `Sampled(B)`, `Wishart(B)` or `Population()` (the default).
        dtype: of weights and gates.

    Returns:
        A `Process`, to be run by `drive`.

    Example:
        >>> tasks = fs.worlds.Tasks.orthogonal(jax.random.key(0), tasks=2, outputs=3, inputs=10)
        >>> network = fs.networks.PathGated.init(jax.random.key(1), paths=2, outputs=3, inputs=10)
        >>> rule = fs.learning.JointDescent(1.3, 0.03, fs.networks.Regularizer(0.5, 0.1))
        >>> def build(inputs):
        ...     blocks, observe = fs.worlds.Blocks.of((0, 1), 1.0, 0.01), lambda view: {"gates": view.gates}
        ...     how = dict(step_size=0.01, records=4, steps_per_record=50, observe=observe)
        ...     return fs.learning.joint_process(network, rule, blocks, tasks, inputs["key"], **how)
        >>> fs.learning.drive(build, {"key": jax.random.split(jax.random.key(2), 1)}).observed["gates"].shape
        (1, 5, 2)
    """
    seen = statistics or Population()
    network, rule, tasks = as_type(dtype, (network, rule, tasks))
    blocks = blocks.as_type(dtype)
    shape, order = tasks.maps.shape[1:], blocks.order
    require(network.map.shape == shape, "network", f"map as the tasks do, with shape {shape}", network.map.shape)
    require(max(order) < tasks.count, "blocks", f"name tasks from 0 to {tasks.count - 1}", order)
    step_size = jnp.asarray(step_size, float)
    wide = isinstance(network, PathGated) and not rule.regularizer.costs_weights

    def take(network: Any, drawn: tuple[Any, Tasks], first: Int[Array, ""], steps: int) -> Any:
        steps_of, (shifts, tasks) = wide_steps if wide else plain_steps, drawn
        return steps_of(seen, steps)(network, rule, replace(blocks, shifts=shifts), tasks, key, first, step_size)

    def watch(state: State) -> Observed:
        shifts, tasks = state.memory
        shown = shown_map(replace(blocks, shifts=shifts), tasks, state.step)
        return observe(View(state.parameters, rule, tasks, shown))

    # Only what chance has drawn goes along with the state: a clock that is known costs a step nothing.
    drawn = blocks.shifts, tasks
    process = stepping_process(take, network, step_size, records, steps_per_record, watch, memory=drawn)
    plan = Plan.of(rule, blocks, key, step_size, seen, steps_per_record) if wide else None
    return replace(process, plan=plan)


def plain_steps(statistics: Statistics, steps: int) -> Callable[..., Any]:
    """As `wide_steps`, for networks and rules of any kind."""

    def take(
        network: Abstraction,
        rule: JointDescent,
        blocks: Blocks,
        tasks: Tasks,
        key: Array,
        first: Int[Array, ""],
        step_size: Float[Array, ""],
    ) -> Abstraction:
        inputs, dtype = tasks.maps.shape[2], tasks.maps.dtype

        def see(key: Array) -> Float[Array, "i i"] | None:
            return statistics.second_moment(key, inputs, dtype)

        def rate(network: Any, second_moment: Any, target: Float[Array, "o i"]) -> Any:
            return rule.rate(network, target, tasks.loss_share, second_moment)

        draw = no_data if isinstance(statistics, Population) else see
        stage_at = lambda step, tasks: shown_map(blocks, tasks, step)  # noqa: E731
        return descend(rate, network, key, first, steps, step_size, stage_at, draw, tasks)

    return take


def as_type(dtype: Any, tree: Any) -> Any:
    """The same tree with every number of one type."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf).astype(dtype), tree)


def shown_map(blocks: Blocks, tasks: Tasks, step: Int[Array, ""]) -> Float[Array, "o i"]:
    """The map of the task that is shown in a step, as a sum, which fuses with the error where a gather would not."""
    shown = blocks.shown(step, tasks.count)
    total = shown[0] * tasks.maps[0]
    for weight, mapping in zip(shown[1:], tasks.maps[1:], strict=True):
        total = total + weight * mapping
    return total


def _unit_rows(maps: Float[Any, "*n o i"]) -> Float[Any, "*n o i"]:
    return maps / namespace(maps).sqrt((maps**2).sum(axis=-1, keepdims=True))


def _squares(tree: Any) -> Float[Array, ""]:
    return sum((jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree)), jnp.zeros(()))
