"""Several conditions of one run along a leading axis of all it records, for experiments that simulate by themselves."""

from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from festina.errors import require
from festina.learning import JointDescent, Process, State, joint_process
from festina.learning.process import Observed
from festina.worlds import Blocks, Tasks


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


def side_by_side(network: Any, arms: Arm, starts: Sequence[Any] | None = None) -> Any:
    """The same network for every arm along a first axis, or each arm's own."""
    if starts is not None:
        return jax.tree.map(lambda *leaves: jnp.stack(leaves), *starts)
    count = jax.tree.leaves(arms)[0].shape[0]
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (count, *leaf.shape)), network)


def stacked_process(
    network: Any, arms: Arm, tasks: Tasks, key: Array, *, starts: Sequence[Any] | None = None, **settings: Any
) -> Process:
    """`joint_process` of every arm, from one network or from ``starts`` of their own."""

    def of(arm: Arm, network: Any) -> Process:
        return joint_process(network, arm.rule, arm.blocks, tasks, key, **settings)

    networks = side_by_side(network, arms, starts)
    first = of(*jax.tree.map(lambda leaf: leaf[0], (arms, networks)))
    begin = jax.vmap(lambda arm, network: of(arm, network).initial.parameters)(arms, networks)

    def each(act: Any, state: State, *rest: Any) -> Any:
        def one(arm: Arm, parameters: Any) -> Any:
            process = of(arm, jax.tree.map(lambda leaf: leaf[0], networks))
            return act(process)(State(state.time, state.step, parameters, state.memory), *rest)

        return jax.vmap(one)(arms, state.parameters)

    def moved(after: State) -> State:
        return State(after.time[0], after.step[0], after.parameters, jax.tree.map(lambda x: x[0], after.memory))

    def observe(state: State) -> Observed:
        return each(lambda process: process.observe, state)

    start = State(first.initial.time, first.initial.step, begin, first.initial.memory)
    return Process(
        start,
        lambda state, index: moved(each(lambda process: process.advance, state, index)),
        observe,
        first.times,
        lambda state: moved(each(lambda process: process.step, state)),
        steps=first.steps,
    )
