"""Tasks made of other tasks: pairs of teachers follow the teachers themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import ValidationInfo, field_validator

import festina as fs
from festina._lazy import jnp, np, xr
from festina.config import continuous, structural
from festina.model import Equation, Preset, Variable
from festina.models._in_blocks import JOINT_DESCENT
from festina.models.task_abstraction import Begin, TaskAbstraction
from festina.ranges import Coefficient, Duration, Timescale

if TYPE_CHECKING:
    from festina.models._types import Key, NeuronGated, Observed, PathGated, Tasks, View


class Composition(TaskAbstraction):
    """A network that learns M teachers in turn, and then tasks that are made of two of them each.

    After some blocks of single teachers, 0, 1, 2, … in turn, come blocks of the pairs (0, 1), (1, 2), …, (M−1, 0), in
    turn as well; then all begins anew. A pair of *tasks* is the mean of its teachers, (A + B)/2; one of *subtasks*
    takes its rows from the two alternately. Each of the M paths has one gate, y = Σ_p c^p W^p x, or one for each of its
    rows, y_i = Σ_p c^p_i (W^p x)_i; students are then matched with teachers row by row. They are compared with the
    teachers alone, whatever is shown.

    Theory is that of `task-abstraction`, for gates of whole paths.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> model = fs.models.Composition(tasks=3, training_blocks=3, novel_blocks=3, until=6.0, records=60)
        >>> model.shown()  # three teachers, then their pairs
        (0, 1, 2, 3, 4, 5)
        >>> model.theory()(np.array([2.5, 5.5]))["gates"].shape  # of three paths at two times
        (2, 3)
    """

    name = "composition"
    variables = TaskAbstraction.variables | {
        "row_gates": Variable("gates c of rows", ("output", "path")),
        "row_alignment": Variable("cosine of rows, teacher and student", ("output", "teacher", "path")),
        "row_norms": Variable("norm of each row of each student", ("output", "path")),
    }
    quick = {"data": "closure", "training_blocks": 14, "novel_blocks": 4, "until": 18.0, "records": 1800}
    equations = (
        JOINT_DESCENT,
        Equation(
            r"W^*_{AB} = \tfrac12 (W^*_A + W^*_B)",
            "A new task is the mean of two teachers; in subtask composition its rows come from the two alternately "
            "instead.",
        ),
    )
    presets = (
        Preset(
            "unit teachers", "Students become one teacher each, and gates mix them at once.", {"convention": "mean"}
        ),
        Preset(
            "rows apart",
            "Every row has a gate of its own, and takes the teacher that the task has there.",
            {"gated": "rows", "composed": "subtasks", "order": 2, "nonnegativity": 1 / 44, "normalization": 1 / 88}
            | {"gate_timescale": 0.005, "step_size": 0.01},
        ),
    )

    tasks: int = structural(3, ge=2, le=20, help="teachers M; as many paths as teachers")
    outputs: int = structural(6, ge=1, le=1000, help="outputs d_out of the tasks")
    weight_timescale: Timescale = continuous(0.2, scale="log", unit="t", help="timescale τ_w of the students")
    nonnegativity: Coefficient = continuous(0.5, help="coefficient λ₁ of Σ max(0, −c), for a strength of 1")
    normalization: Coefficient = continuous(1.25, help="coefficient λ₂ of (‖c‖ − 1)², for a strength of 1")
    until: Duration = structural(30.0, unit="t", help="when to stop")
    records: int = structural(3000, ge=1, le=1_000_000, help="recordings, evenly spaced; must divide the steps")
    training_blocks: int = structural(23, ge=0, le=1000, help="blocks of single teachers before new tasks begin")
    novel_blocks: int = structural(7, ge=1, le=1000, help="blocks of new tasks")
    composed: Literal["tasks", "subtasks"] = structural(
        "tasks", help="a new task is the mean of two `tasks`, or has rows of two in turn (`subtasks`)"
    )
    gated: Literal["paths", "rows"] = structural("paths", help="what has a gate of its own: `paths`, or all `rows`")

    @field_validator("gated")
    @classmethod
    def _seen(cls, gated: str, info: ValidationInfo) -> str:
        if gated == "rows" and info.data.get("recorded") == "totals":
            raise ValueError("be paths where totals are recorded")
        return gated

    def shown(self) -> tuple[int, ...]:
        """The task of each block: teachers are 0, …, M − 1, and their pairs M, …, 2M − 1."""
        blocks = range(self.training_blocks + self.novel_blocks)
        return tuple(block % self.tasks + self.tasks * (block >= self.training_blocks) for block in blocks)

    def draw_tasks(self, key: Key) -> Tasks:
        return self._followed_by_pairs(super().draw_tasks(key))

    def _followed_by_pairs(self, teachers: Tasks) -> Tasks:
        pairs = tuple((first, (first + 1) % self.tasks) for first in range(self.tasks))
        made = teachers.averaged if self.composed == "tasks" else teachers.alternating
        return teachers.followed_by(made(pairs))

    def _compressed(self, start: Begin) -> tuple[PathGated | NeuronGated, Tasks]:
        """Pairs are made of teachers in their new coordinates: a basis of both would have no derivative."""
        if self.data != "closure" or (self.recorded, self.composed) == ("totals", "subtasks"):
            return super()._compressed(start)
        teachers = fs.worlds.Tasks(start.tasks.maps[: self.tasks], start.tasks.loss_share)
        network, teachers = super()._compressed(start._replace(tasks=teachers))
        return network, self._followed_by_pairs(teachers)

    def draw_network(self, key: Key) -> PathGated | NeuronGated:
        kind = fs.networks.PathGated if self.gated == "paths" else fs.networks.NeuronGated
        return kind.init(key, self.tasks, self.outputs, self.inputs, self.scale)

    def watch(self, view: View) -> Observed:
        teachers = fs.worlds.Tasks(view.tasks.maps[: self.tasks], view.tasks.loss_share)
        seen = fs.learning.View(view.network, view.rule, teachers, view.target)
        return super().watch(seen) if self.gated == "paths" else rows_of(seen)

    @classmethod
    def measure(cls, data: xr.Dataset) -> dict[str, xr.DataArray]:
        paths = super().measure(data)
        if "row_gates" not in data:
            return paths
        rows = sort_rows(data)
        return {name: paths[name].fillna(rows[name]) if paths else rows[name] for name in rows}


def rows_of(view: View) -> Observed:
    """What is recorded where rows have gates. They are compared output by output: no other row can be of use to it."""
    students = jnp.stack(view.network.students)
    sizes = jnp.sqrt(jnp.sum(students**2, axis=-1))
    teachers = view.tasks.maps / jnp.sqrt(jnp.sum(view.tasks.maps**2, axis=-1, keepdims=True))
    products = jnp.einsum("moi,poi->omp", teachers, students)
    return {
        "loss": view.loss,
        "row_gates": view.gates.T,
        "row_alignment": products / sizes.T[:, None, :],
        "row_norms": sizes.T,
    }


def sort_rows(data: xr.Dataset) -> dict[str, xr.DataArray]:
    """As `sort_by_teacher`, but with one matching for every output; gates and alignments are then averaged over rows.

    The total alignment is the cosine between all teachers' rows, strung together, and those of their students.
    """
    lead = [dim for dim in data["row_norms"].dims if dim not in ("time", "output", "path")]
    axes, outer, row = (*lead, "time"), (*lead, "output", "time"), len(lead)
    alignment = data["row_alignment"].transpose(*outer, "teacher", "path").values
    order = fs.measures.matched_paths(alignment.mean(axis=row + 1))
    alignment = fs.measures.take_paths(alignment, order, -1)
    gates = fs.measures.take_paths(data["row_gates"].transpose(*outer, "path").values, order, -1)
    norms = fs.measures.take_paths(data["row_norms"].transpose(*outer, "path").values, order, -1)
    along = np.einsum("...mm,...m->...m", alignment, norms)
    count = along.shape[row] * along.shape[-1]
    total = along.sum(axis=(row, -1)) / np.sqrt(count * (norms**2).sum(axis=(row, -1)))
    return {
        "sorted_gates": xr.DataArray(gates.mean(axis=row), dims=(*axes, "student")),
        "sorted_alignment": xr.DataArray(alignment.mean(axis=row), dims=(*axes, "teacher", "student")),
        "total_alignment": xr.DataArray(total, dims=axes),
    }
