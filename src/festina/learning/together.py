"""Many runs of joint descent that begin outside of JAX, so that nothing is traced or compiled."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Int

from festina.learning.joint import View
from festina.learning.native import NativeChunk, Plan, Together, descent_of, reason_by_numbers, reason_by_structure
from festina.learning.process import Observed, State
from festina.networks.abstraction import NeuronGated, PathGated
from festina.worlds.statistics import Statistics
from festina.worlds.tasks import Tasks


def joint_together(
    networks: Sequence[PathGated | NeuronGated],
    rule: Any,
    shown: Sequence[int],
    block_length: Any,
    tasks: Sequence[Tasks],
    keys: Sequence[Array],
    start_of: Int[np.ndarray, " n"],
    *,
    step_size: float,
    records: int,
    steps_per_record: int,
    observe: Callable[[Any], Observed],
    statistics: Statistics,
    dtype: Any,
) -> Together | None:
    """`joint_process` for n runs at once, by kernels in C and NumPy alone; None if the kernels do not know them.

    Args:
        networks: the distinct ones that runs begin with.
        rule: of all runs; its fields are numbers, or hold one for each run.
        shown: the task of each block of a round.
        block_length: how long a block is; one number, or one for each run.
        tasks: the teachers of each network.
        keys: of the data of each network.
        start_of: of each run, which of the networks it begins with.
        step_size: dt.
        records: recordings after the first.
        steps_per_record: steps between two of them.
        observe: what to record of a `View` of all runs.
        statistics: what is seen in one step.
        dtype: of weights and gates.
    """
    count = len(start_of)
    if not all(isinstance(network, PathGated) for network in networks) or rule.regularizer.costs_weights:
        return None

    def every(values: Any) -> np.ndarray:
        return np.broadcast_to(np.asarray(values, float), (count,)).astype(dtype)

    def stacked(*leaves: Any) -> np.ndarray:
        return np.stack([np.asarray(leaf, dtype) for leaf in leaves])

    rule, sets, network = jax.tree.map(every, rule), jax.tree.map(stacked, *tasks), jax.tree.map(stacked, *networks)
    lengths = np.broadcast_to(np.asarray(block_length, float), (count,))
    steps = np.maximum(np.rint(lengths / step_size), 1.0)
    words = np.stack([np.asarray(jax.random.key_data(key)) for key in keys])
    ends = steps[:, None] * np.arange(1.0, len(shown) + 1.0)
    plan = Plan(rule, ends, tuple(shown), words[start_of], np.full(count, step_size), statistics, steps_per_record)
    network, memory = (jax.tree.map(lambda leaf: leaf[start_of], tree) for tree in (network, sets))
    state = State(np.zeros(count), np.zeros(count, int), network, (None, memory))
    if reason_by_structure(plan, network) or reason_by_numbers(plan):
        return None  # said where JAX begins with them
    descent = descent_of(plan, sets.maps, start_of, sets.loss_share, None)

    def at(state: State) -> Observed:
        target = descent.maps[descent.set_of, descent.task_at(int(state.step[0]))]
        return observe(View(state.parameters, rule, state.memory[1], target))

    def watch(states: Sequence[State]) -> Observed:
        seen = [at(state) for state in states]
        return {name: np.stack([each[name] for each in seen], axis=1) for name in seen[0]}

    times = np.tile(np.arange(records + 1) * (steps_per_record * step_size), (count, 1))
    chunk = NativeChunk(descent, steps_per_record, watch)
    return Together(chunk, state, at(state), times, records * steps_per_record)
