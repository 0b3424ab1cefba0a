"""Joint descent on students and gates through blocks of tasks that are never announced (Sandbrink et al. 2024)."""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from festina.errors import require
from festina.learning.descent import descent_process, no_data
from festina.learning.process import Observed, Process, State
from festina.networks.abstraction import Abstraction, PathGated, Regularizer
from festina.worlds.blocks import Blocks
from festina.worlds.statistics import Population, Statistics
from festina.worlds.tasks import Tasks


class JointDescent(eqx.Module):
    """τ_w dW/dt = −∂L/∂W and τ_c dc/dt = −∂L/∂c at once, with L = L_task + R(c).

    Args:
        weight_timescale: τ_w, of the students.
        gate_timescale: τ_c, of the gates; flexible networks have τ_c < τ_w.
        regularizer: R, which bounds the gates.
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


class Arm(eqx.Module):
    """One condition of an experiment: how to learn, and in which blocks. Arms of one run share all else."""

    rule: JointDescent
    blocks: Blocks


def stacked(*arms: Arm) -> Arm:
    """Arms of one structure side by side: every number becomes an array with a leading axis of arms."""
    kinds = {jax.tree.structure(arm) for arm in arms}
    require(
        len(kinds) == 1, "arms", "go through their tasks in one order and have the same terms in their rules", kinds
    )
    return jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(leaf, float) for leaf in leaves]), *arms)


class View(eqx.Module):
    """One arm at one moment, and what can be seen of it. For an abstraction of paths; P paths, M teachers."""

    network: Any
    rule: JointDescent
    tasks: Tasks
    target: Float[Any, "o i"]  # the map of the task that the next step will show

    @property
    def loss(self) -> Float[Any, ""]:
        """The expected loss on the task, ½κ|W* − map|²: that of infinitely many inputs, whatever was learned from."""
        return 0.5 * self.tasks.loss_share * jnp.sum((self.target - self.network.map) ** 2)

    @property
    def gates(self) -> Float[Array, "p ..."]:
        return jnp.stack(self.network.gates)

    @property
    def components(self) -> Float[Array, "m p"]:
        """⟨W*m, W^p⟩/|W*m| of all pairs, over all entries: how long each student is along each teacher."""
        teachers = self.tasks.maps / jnp.sqrt(jnp.sum(self.tasks.maps**2, axis=(1, 2), keepdims=True))
        return jnp.einsum("moi,poi->mp", teachers, jnp.stack(self.network.students))

    @property
    def norms(self) -> Float[Array, " p"]:
        """|W^p|."""
        students = jnp.stack(self.network.students)
        return jnp.sqrt(jnp.sum(students**2, axis=(1, 2)))

    @property
    def alignment(self) -> Float[Array, "m p"]:
        """The mean over rows of the cosine between W*m and W^p."""
        teachers = _unit_rows(self.tasks.maps)
        students = _unit_rows(jnp.stack(self.network.students))
        return jnp.einsum("moi,poi->mp", teachers, students) / teachers.shape[1]

    @property
    def speeds(self) -> Float[Array, "2"]:
        """|dW/dt| and |dc/dt| under the expected gradient."""
        rate = self.rule.rate(self.network, self.target, self.tasks.loss_share)
        return jnp.stack([jnp.sqrt(_squares(rate.students)), jnp.sqrt(_squares(rate.gates))])


Watch = Callable[[View], Observed]


def joint_process(
    network: Abstraction,
    arms: Arm,
    tasks: Tasks,
    key: Array,
    *,
    step_size: Any,
    records: int,
    steps_per_record: int,
    observe: Watch,
    statistics: Statistics | None = None,
    starts: Sequence[Abstraction] | None = None,
    dtype: Any = jnp.float64,
) -> Process:
    """Every arm from the same network, through the same data, side by side.

    Args:
        network: where all arms start.
        arms: conditions, made by `stacked`; their number is a leading axis of all that is recorded.
        tasks: the teachers, in the numbering of the arms' blocks.
        key: of the data.
        step_size: dt of the simultaneous Euler steps.
        records: recordings after the first.
        steps_per_record: steps between two of them.
        observe: what to record of one arm, seen as a `View`.
        statistics: what is seen in one step, `Sampled(B)`, `Wishart(B)` or `Population()` (the default).
        starts: a network of its own for every arm, if they do not all start from ``network``.
        dtype: of weights and gates.
    """
    statistics = statistics or Population()
    network, arms, tasks, starts = as_type(dtype, (network, arms, tasks, starts))
    shape = tasks.maps.shape[1:]
    require(network.map.shape == shape, "network", f"map as the tasks do, with shape {shape}", network.map.shape)
    check_order(arms, tasks)
    if isinstance(network, PathGated) and not arms.rule.regularizer.costs_weights:
        from festina.learning.wide import wide_process  # which builds on this module

        clock = {"step_size": step_size, "records": records, "steps_per_record": steps_per_record}
        own = {"observe": observe, "statistics": statistics, "starts": starts}
        return wide_process(network, arms, tasks, key, **own, **clock)

    def stage_at(step: Int[Array, ""], memory: tuple[Arm, Tasks]) -> tuple[JointDescent, Float[Array, "arms o i"]]:
        arms, tasks = memory
        targets = jax.vmap(lambda blocks: _mixed(blocks.shown(step, tasks.count), tasks.maps))(arms.blocks)
        return arms.rule, targets

    def rate(networks: Any, second_moment: Any, stage: tuple[JointDescent, Float[Array, "arms o i"]]) -> Any:
        def one(network: Any, rule: JointDescent, target: Any) -> Any:
            return rule.rate(network, target, tasks.loss_share, second_moment)

        return jax.vmap(one)(networks, *stage)

    def watch(state: State) -> Observed:
        def one(network: Any, rule: JointDescent, target: Any) -> Observed:
            return observe(View(network, rule, state.memory[1], target))

        return jax.vmap(one)(state.parameters, *stage_at(state.step, state.memory))

    def see(key: Array) -> Float[Array, "i i"] | None:
        return statistics.second_moment(key, shape[1], dtype)

    return descent_process(
        rate,
        side_by_side(network, arms, starts),
        key,
        step_size,
        records,
        steps_per_record,
        watch,
        stage_at,
        draw=no_data if isinstance(statistics, Population) else see,
        memory=(arms, tasks),
    )


def check_order(arms: Arm, tasks: Tasks) -> None:
    """Refuse blocks of tasks that do not exist."""
    order = arms.blocks.order
    require(max(order) < tasks.count, "arms", f"name tasks from 0 to {tasks.count - 1} in their blocks", order)


def as_type(dtype: Any, tree: Any) -> Any:
    """The same tree with every number of one type."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf).astype(dtype), tree)


def side_by_side(network: Any, arms: Arm, starts: Sequence[Any] | None = None) -> Any:
    """The same network for every arm along a first axis, or each arm's own."""
    if starts is not None:
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *starts)
    count = jax.tree.leaves(arms)[0].shape[0]
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (count, *leaf.shape)), network)


def _mixed(shown: tuple[Any, ...], maps: Float[Array, "m o i"]) -> Float[Array, "o i"]:
    """The map of the task that is shown, as a sum, which fuses with the error where a gather would not."""
    total = shown[0] * maps[0]
    for weight, mapping in zip(shown[1:], maps[1:], strict=True):
        total = total + weight * mapping
    return total


def _unit_rows(maps: Float[Array, "n o i"]) -> Float[Array, "n o i"]:
    return maps / jnp.sqrt(jnp.sum(maps**2, axis=-1, keepdims=True))


def _squares(tree: Any) -> Float[Array, ""]:
    return sum((jnp.sum(leaf**2) for leaf in jax.tree.leaves(tree)), jnp.zeros(()))
