"""Task abstractions whose blocks end by chance: from long blocks to tasks that are interleaved step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import Field

import festina as fs
from festina.config import continuous
from festina.model import Equation, Preset
from festina.models._in_blocks import BOUNDS, JOINT_DESCENT
from festina.models.task_abstraction import TaskAbstraction
from festina.ranges import Duration

if TYPE_CHECKING:
    from festina.models._types import Int, Key, PathGated, Tasks

Probability = Annotated[float, Field(ge=0.0, le=1.0)]
NEVER = 500.0  # a block that hardly any run outlasts

SWITCHING = Equation(
    r"P(\text{switch before a step}) = p, \qquad \bar\tau_B = \frac{dt}{p}, "
    r"\qquad \frac{\langle \tau_B^2 \rangle}{\langle \tau_B \rangle} = (2 - p)\, \bar\tau_B",
    "Blocks that end with the same probability in every step have all lengths; the one on at a random time is "
    "twice as long as the mean.",
)


class Begin(NamedTuple):
    """Students and gates at t = 0, the teachers, the key of the data, and which block each step is in by chance."""

    network: PathGated
    tasks: Tasks
    data: Key
    shifts: Int[Any, " steps"]


class InterleavedAbstraction(TaskAbstraction):
    """A task abstraction whose task changes with the same probability p before every step.

    As `task-abstraction`, but besides those at the ends of blocks there are switches by `switching` p: to the next task
    of the round, and never announced. Blocks of the default length end by chance alone. They last dt/p on average, and
    any time. At p = ½ two tasks are *interleaved*: each step shows one or the other, whatever the last one showed. At
    p = 0 what is left are the regular blocks of `block_length`. All p share the random numbers of a seed.

    Theory is the limit of infinitely many inputs through the same switches. If they are many within the timescales of
    gates and students, these follow the mean of the teachers.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> model = fs.models.InterleavedAbstraction(switching=0.5, until=4.0, records=40)
        >>> before, after = model.theory()(np.array([0.0, 4.0]))["loss"]
        >>> round(float(after / before), 1)  # that of the mean of both teachers, with whatever gates
        0.5
    """

    name = "interleaved-abstraction"
    quick = {"data": "closure"}
    equations = (JOINT_DESCENT, BOUNDS, SWITCHING)
    presets = (
        Preset("blocks by chance", "Blocks of mean length 1 end at any time; students keep one task each."),
        Preset("interleaved", "With a task drawn anew in every step both students learn the mean.", {"switching": 0.5}),
        Preset("regular blocks", "Blocks of equal length.", {"switching": 0.0, "block_length": 1.0}),
    )

    switching: Probability = continuous(
        0.001, help="probability p of a switch before a step, besides the ends of blocks; ½: two tasks interleaved"
    )
    block_length: Duration = continuous(
        NEVER, unit="t", help="how long a task is shown at most, τ_B; by default blocks end by chance alone"
    )

    def start(self, key: Key) -> Begin:  # pyright: ignore[reportIncompatibleMethodOverride] (has one part more)
        begun, for_switches = super().start(key), fs.draws.fold_in(key, 3)  # after the three that any network has
        steps = self.steps + 1  # what is recorded at the end is seen in the task of a step that is not taken
        shifts = fs.worlds.Blocks.shifts_by_chance(for_switches, self.switching, steps, len(self.shown()))
        return Begin(begun.network, begun.tasks, begun.data, shifts)  # pyright: ignore[reportArgumentType] (of paths)

    def shifts(self, start: Begin) -> Int[Any, " steps"]:
        return start.shifts
