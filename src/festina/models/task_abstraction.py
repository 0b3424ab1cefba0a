"""Students and gates that learn several linear tasks and an abstraction of them, with the limit of many inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, cast

from pydantic import Field, ValidationInfo, field_validator

import festina as fs
from festina._lazy import jnp, np, xr
from festina.config import continuous, knows_numbers, structural
from festina.model import Model, Preset, Variable
from festina.models._in_blocks import BOUNDS, JOINT_DESCENT, LinearInBlocks
from festina.ranges import Cosine

if TYPE_CHECKING:
    from festina.models._types import (
        Curves,
        Float,
        Int,
        Key,
        NeuronGated,
        Observed,
        PathGated,
        Process,
        Solution,
        Tasks,
        Together,
        View,
    )

Opening = Annotated[float, Field(ge=0.0, le=10.0)]
MATCHED = 6  # teachers up to which all ways to match them with students are looked at in every recording
LARGE, LONG = 2000, 200_000  # networks and steps up to which their limit of infinitely many inputs is computed
TOGETHER = 2**13  # coordinates of networks whose limits are computed as one: a step is then as cheap as that of a few


class Begin(NamedTuple):
    """Students and gates at t = 0, the teachers, and the key of the data."""

    network: PathGated | NeuronGated
    tasks: Tasks
    data: Key


class TaskAbstraction(LinearInBlocks):
    """A network y = Σ_p c^p W^p x that learns M linear tasks, in blocks that are never announced.

    Students W^p and gates c^p descend L = ½⟨|y* − y|²⟩ + s [λ₁ Σ max(0, −c) + λ₂ (‖c‖ − 1)²] together, from small
    random students and gates of ½ (or another `initial_gate`). Fast and bounded gates come to choose among students,
    each of which keeps one task; with free and slow ones all students follow the current task. Corresponding
    rows of any two teachers have the cosine `similarity`. Teachers of a `rank` have so many equal singular values, with
    vectors that are orthogonal to those of other teachers as long as inputs are enough for all.

    A step sees literal batches (`sampled`), their second moments by law (`wishart`), infinitely many inputs
    (`population`), or the exact closure of the latter in P + M coordinates (`closure`). Theory is the limit of
    infinitely many inputs, exact in that closure, for the norm ‖c‖₁. Recorded are the `courses` of gates and students,
    or, for maps of many networks, their `totals` alone.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> model = fs.models.TaskAbstraction(tasks=2, until=4.0, records=40)
        >>> model.theory()(np.array([3.5]))["gates"].round(1)  # one gate is open
        array([[1., 0.]])
    """

    name = "task-abstraction"
    variables = {
        "loss": Variable("expected loss on the task shown"),
        "gates": Variable("gates c", ("path",)),
        "alignment": Variable("mean cosine of rows, teacher and student", ("teacher", "path")),
        "components": Variable("length of each student along each teacher", ("teacher", "path")),
        "norms": Variable("norm of each student", ("path",)),
        "speeds": Variable("norm of dW/dt and of dc/dt", ("of",)),
        "total_alignment": Variable("cosine of all students with all teachers"),
        "separation": Variable("largest less second largest gate"),
    }
    quick = {"data": "closure"}
    equations = (JOINT_DESCENT, BOUNDS)
    presets = (
        Preset("fast, bounded gates", "Students keep one task each, and gates answer every switch."),
        Preset(
            "slow, free gates",
            "Without bounds, and with gates as slow as weights, everything is learned anew in every block.",
            {"strength": 0.0, "gate_timescale": 1.3},
        ),
    )

    tasks: int = structural(2, ge=2, le=20, help="tasks M; as many paths as tasks")
    similarity: Cosine = continuous(0.0, help="cosine ρ of corresponding rows of any two teachers")
    precision: Literal["single", "double"] = structural("double", help="precision of weights and gates")
    rank: int = structural(
        0, ge=0, le=1000, help="equal singular values of each teacher, 1 under `sum`; 0: rows that are all orthogonal"
    )
    initial_gate: Opening = continuous(0.5, help="gates c at t = 0, of all paths")
    recorded: Literal["courses", "totals"] = structural(
        "courses", help="`courses` of gates, students and their speeds, or `totals` of networks and the loss"
    )

    @field_validator("similarity")
    @classmethod
    def _possible(cls, similarity: float, info: ValidationInfo) -> float:
        least = -1.0 / (info.data.get("tasks", 2) - 1)
        if knows_numbers(info) and similarity < least:
            raise ValueError(f"be at least {least:.3g} for as many teachers, which cannot all point apart")
        return similarity

    @field_validator("rank")
    @classmethod
    def _fits(cls, rank: int, info: ValidationInfo) -> int:
        most = min(info.data.get("inputs", rank), info.data.get("outputs", rank))
        if rank > most:
            raise ValueError(f"be at most {most}, the smaller of inputs and outputs")
        return rank

    @field_validator("recorded")
    @classmethod
    def _few(cls, recorded: str, info: ValidationInfo) -> str:
        if recorded == "totals" and info.data.get("tasks", 2) > MATCHED:
            raise ValueError(f"be courses for more than {MATCHED} tasks")
        return recorded

    def coordinates(self) -> dict[str, list[str]]:
        return {"of": ["weights", "gates"]}

    def start(self, key: Key) -> Begin:
        for_teachers, for_weights, for_data = fs.draws.split(key, 3)
        network, module = self.draw_network(for_weights), jnp if fs.draws.is_traced(self.initial_gate) else np
        gates = tuple(module.broadcast_to(self.initial_gate, gate.shape) for gate in network.gates)
        return Begin(network.rebuilt(network.students, gates), self.draw_tasks(for_teachers), for_data)

    def draw_tasks(self, key: Key) -> Tasks:
        sizes = self.tasks, self.outputs, self.inputs, fs.worlds.convention(self.convention)
        of_rank, orthogonal = fs.worlds.Tasks.of_rank, fs.worlds.Tasks.orthogonal
        return (of_rank(key, self.rank, *sizes) if self.rank else orthogonal(key, *sizes)).mixed(self.similarity)

    def draw_network(self, key: Key) -> PathGated | NeuronGated:
        return fs.networks.PathGated.init(key, self.tasks, self.outputs, self.inputs, self.scale)

    def shown(self) -> tuple[int, ...]:
        """The tasks of one round of blocks."""
        return tuple(range(self.tasks))

    def shifts(self, start: Any) -> Int[Any, " steps"] | None:
        """By how many blocks each step is further on than the clock says; None if blocks end by the clock alone."""
        return None

    def watch(self, view: View) -> Observed:
        """What is recorded of a network."""
        return totals_of(view) if self.recorded == "totals" else courses_of(view)

    def process(self, start: Begin) -> Process:
        network, tasks = self._compressed(start)
        return fs.learning.joint_process(
            network,
            self.rule(),
            replace(self.blocks(self.shown()), shifts=self.shifts(start)),
            tasks,
            start.data,
            observe=self.watch,
            statistics=self.statistics(),
            dtype=jnp.float32 if self.precision == "single" else jnp.float64,
            **self.clock(),
        )

    def together(self, starts: Sequence[Begin], start_of: Int[np.ndarray, " n"]) -> Together | None:
        """The processes of many networks as one, without JAX, for kernels in C; None if they are of another kind.

        Args:
            starts: from which the networks begin.
            start_of: of each network, which of them. Continuous fields are numbers, or hold one for each network.
        """
        from festina.learning.together import joint_together

        kind, own = type(self), TaskAbstraction
        usual = (kind.process, kind.shifts, kind.watch) == (own.process, own.shifts, own.watch)
        if not usual or self.recorded != "totals" or kind._compressed is not own._compressed:
            return None
        begun = [self._compressed(start) for start in starts]
        return joint_together(
            [network for network, _ in begun],
            self.rule(),
            self.shown(),
            self.block_length,
            [tasks for _, tasks in begun],
            [start.data for start in starts],
            start_of,
            observe=self.watch,
            statistics=self.statistics(),
            dtype=np.float32 if self.precision == "single" else np.float64,
            **self.clock(),
        )

    def _compressed(self, start: Begin) -> tuple[PathGated | NeuronGated, Tasks]:
        """The same problem in the coordinates of the closure, row by row if rows are looked at."""
        if self.data != "closure":
            return start.network, start.tasks
        compressed = fs.learning.compressed if self.recorded == "totals" else fs.learning.compressed_by_row
        return compressed(start.network, start.tasks)  # pyright: ignore[reportArgumentType] (totals are of paths)

    def solution(self, start: Begin) -> Solution | None:
        """The limit of infinitely many inputs."""
        limit = _limit([self], [start])
        if limit is None:
            return None

        def curves(time: Any) -> Curves:
            return {name: values[:, 0] for name, values in limit(np.ravel(time)).items()}

        return curves

    @classmethod
    def solutions(cls, models: Sequence[Model], starts: Sequence[Any], times: Any) -> Iterator[Curves | None]:
        """The limits of many networks at once, which is hardly more work than that of one."""
        known = [cast(TaskAbstraction, model) for model in models]
        count = max(1, TOGETHER // _coordinates_of(starts[0])) if starts else 1
        for first in range(0, len(known), count):
            some = slice(first, first + count)
            limit = _limit(known[some], starts[some]) if len(known) <= LARGE else None
            found = None if limit is None else limit(times[0])
            for place in range(len(known[some])):
                yield None if found is None else {name: values[:, place] for name, values in found.items()}

    @classmethod
    def measure(cls, data: xr.Dataset) -> dict[str, xr.DataArray]:
        return sort_by_teacher(data) if "alignment" in data else {}


def courses_of(view: View) -> Observed:
    """What is recorded of the courses of gates and students."""
    return {
        "loss": view.loss,
        "gates": view.gates,
        "alignment": view.alignment,
        "components": view.components,
        "norms": view.norms,
        "speeds": view.speeds,
    }


def totals_of(view: View) -> Observed:
    """Three numbers of each network."""
    from festina.precision import namespace

    gates, library = view.gates, namespace(view.gates)
    largest = library.argmax(gates, axis=-1, keepdims=True)
    others = library.where(np.arange(gates.shape[-1]) == largest, -np.inf, gates)
    return {
        "total_alignment": _best_total(view.components, view.norms),
        "separation": gates.max(axis=-1) - others.max(axis=-1),
        "loss": view.loss,
    }


def _best_total(components: Float[Any, "*n m m"], norms: Float[Any, "*n m"]) -> Float[Any, "*n"]:
    """The total alignment with students matched to teachers in the best way, of few."""
    from festina.precision import namespace

    count = norms.shape[-1]
    orders = np.asarray(list(permutations(range(count))))
    sums = components[..., np.arange(count), orders].sum(axis=-1)
    return sums.max(axis=-1) / namespace(norms).sqrt(count * (norms**2).sum(axis=-1))


def _coordinates_of(start: Begin) -> int:
    """How many numbers the students of a network are in a basis of students and teachers."""
    paths = len(start.network.students)
    return paths * (paths + start.tasks.count)


def _limit(models: Sequence[TaskAbstraction], starts: Sequence[Begin]) -> Solution | None:
    """The closure of networks of one structure, networks second; None where there is none, or too much of it."""
    model, tasks = models[0], starts[0].tasks
    closed = model.order == 1 and isinstance(starts[0].network, fs.networks.PathGated)
    if not closed or model.steps > LONG:
        return None

    def each(name: str) -> np.ndarray:
        return np.asarray([getattr(model, name) for model in models])

    every = (model.shifts(start) for model, start in zip(models, starts, strict=True))
    shifts = [known for known in every if known is not None]
    closure = fs.theory.closure(
        np.stack([np.stack(start.network.students) for start in starts]),
        np.stack([start.tasks.maps for start in starts]),
        weight_timescale=each("weight_timescale"),
        gate_timescale=each("gate_timescale"),
        nonnegativity=each("strength") * each("nonnegativity"),
        normalization=each("strength") * each("normalization"),
        block_length=each("block_length"),
        step_size=model.step_size,
        loss_share=tasks.loss_share,
        gates=each("initial_gate"),
        order=model.shown(),
        compared=model.tasks,
        shifts=np.stack(shifts) if shifts else None,
    )
    return closure if model.recorded == "courses" else lambda time: _totals(closure(time))


def _totals(seen: Curves) -> Curves:
    total = fs.measures.total_alignment(seen["components"], seen["norms"])
    return {"total_alignment": total, "separation": fs.measures.gate_separation(seen["gates"]), "loss": seen["loss"]}


def sort_by_teacher(data: xr.Dataset) -> dict[str, xr.DataArray]:
    """Gates and alignments with paths in the order of the teachers they are matched with, and the total alignment.

    One matching for each run and arm, by the alignment averaged over time.
    """
    lead = [dim for dim in data["norms"].dims if dim not in ("time", "path")]
    axes = (*lead, "time")
    alignment = data["alignment"].transpose(*axes, "teacher", "path").values
    order = fs.measures.matched_paths(alignment.mean(axis=len(lead)))
    gates = data["gates"].transpose(*axes, "path").values
    components = data["components"].transpose(*axes, "teacher", "path").values
    norms = data["norms"].transpose(*axes, "path").values
    everywhere = np.broadcast_to(order[..., None, :], (*norms.shape[:-1], order.shape[-1]))
    total = fs.measures.total_alignment(components, norms, everywhere)
    return {
        "sorted_gates": xr.DataArray(fs.measures.take_paths(gates, order, -1), dims=(*axes, "student")),
        "sorted_alignment": xr.DataArray(
            fs.measures.take_paths(alignment, order, -1), dims=(*axes, "teacher", "student")
        ),
        "total_alignment": xr.DataArray(total, dims=axes),
    }
