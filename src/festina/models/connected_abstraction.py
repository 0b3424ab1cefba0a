"""Two full layers that learn two linear tasks: bounds on the second one may turn single units into gates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from pydantic import ValidationInfo, field_validator

import festina as fs
from festina._lazy import jnp, np, xr
from festina.config import continuous, structural
from festina.model import Equation, Preset, Variable
from festina.models._in_blocks import LinearInBlocks
from festina.ranges import Coefficient, Cosine, Duration, StepSize, Timescale

if TYPE_CHECKING:
    from festina.models._types import FullyConnected, Key, Observed, Process, Tasks, View

TASKS = 2

CONNECTED = Equation(
    r"y = C W x, \qquad \tau_1\, \dot W = -\frac{\partial L}{\partial W}, "
    r"\qquad \tau_2\, \dot C = -\frac{\partial L}{\partial C}",
    "Two full layers descend one loss, the second faster than the first: its entries take the place of gates.",
)
BOUNDED = Equation(
    r"L = \tfrac12 \bigl\langle |y^* - y|^2 \bigr\rangle + s \Bigl[\lambda_1 \sum_{ij} \max(0, -C_{ij}) "
    r"+ \lambda_2\, \bigl(\|C\|_2 - 1\bigr)^2\Bigr]",
    "The second layer is bounded as gates are: its entries should not be negative, and its norm should be one.",
)


class Begin(NamedTuple):
    """Both layers at t = 0, the teachers, and the key of the data."""

    network: FullyConnected
    tasks: Tasks
    data: Key


class ConnectedAbstraction(LinearInBlocks):
    """A network y = C W x without any paths that learns two linear tasks, in blocks that are never announced.

    Both layers descend L = ½⟨|y* − y|²⟩ + s [λ₁ Σ max(0, −C) + λ₂ (‖C‖₂ − 1)²] together, τ₁ Ẇ = −∂L/∂W and
    τ₂ Ċ = −∂L/∂C, from small random weights. Corresponding rows of the two teachers have the cosine `similarity`, all
    others are orthogonal.

    Each row of the teachers (those of A, then those of B) is given one hidden unit, one to one, by the cosine averaged
    over the second half of the run; the columns of C follow (`sort_by_row`). The gate of a task is then the mean of the
    diagonal of its half of C. Recorded are both `layers`, or, for maps of many networks, the `rows` of the first alone.

    Example:
        >>> import festina as fs
        >>> model = fs.models.ConnectedAbstraction(
        ...     inputs=8, outputs=2, hidden=4, data="population", until=2.0, records=20
        ... )
        >>> model.run()["second_layer"].sizes["hidden"]
        4
    """

    name = "connected-abstraction"
    variables = {
        "loss": Variable("expected loss on the task shown"),
        "norms": Variable("norm of each row of the first layer", ("hidden",)),
        "speeds": Variable("norm of dW/dt and of dC/dt", ("of",)),
        "components": Variable("length of each first-layer row along each row of the teachers", ("row", "hidden")),
        "second_layer": Variable("second layer C", ("output", "hidden")),
    }
    quick = {"until": 4.0, "records": 80}
    equations = (CONNECTED, BOUNDED)
    presets = (
        Preset("fast, bounded second layer", "Single units of the second layer become gates."),
        Preset("free second layer", "Without bounds everything is learned anew in every block.", {"strength": 0.0}),
    )

    weight_timescale: Timescale = continuous(0.06, scale="log", unit="t", help="timescale τ₁ of the first layer")
    gate_timescale: Timescale = continuous(0.01, scale="log", unit="t", help="timescale τ₂ of the second layer")
    nonnegativity: Coefficient = continuous(0.2, help="coefficient λ₁ of Σ max(0, −C), for a strength of 1")
    normalization: Coefficient = continuous(0.1, help="coefficient λ₂ of (‖C‖ − 1)², for a strength of 1")
    order: Literal[1, 2] = structural(2, help="order of the norm of the second layer; ‖C‖₂ leaves many entries room")
    until: Duration = structural(30.0, unit="t", help="when to stop")
    step_size: StepSize = structural(0.01, unit="t", help="length dt of the simultaneous Euler steps")
    records: int = structural(600, ge=1, le=1_000_000, help="recordings, evenly spaced; must divide the steps")
    similarity: Cosine = continuous(0.0, help="cosine ρ of corresponding rows of the two teachers")
    hidden: int = structural(20, ge=1, le=1000, help="hidden units; at least one for each row of the two teachers")
    recorded: Literal["layers", "rows"] = structural(
        "layers", help="both `layers` and their speeds, or only the `rows` of the first one and the loss"
    )

    @field_validator("data")
    @classmethod
    def _not_closed(cls, data: str) -> str:
        if data == "closure":
            raise ValueError("be `population` for a fully connected network")
        return data

    @field_validator("hidden")
    @classmethod
    def _enough(cls, hidden: int, info: ValidationInfo) -> int:
        rows = TASKS * info.data.get("outputs", 0)
        if hidden < rows:
            raise ValueError(f"be at least {rows}, one for every row of the {TASKS} teachers")
        return hidden

    def coordinates(self) -> dict[str, list[str]]:
        return {"of": ["first", "second"]} if self.recorded == "layers" else {}

    def start(self, key: Key) -> Begin:
        for_teachers, for_weights, for_data = fs.draws.split(key, 3)
        convention = fs.worlds.convention(self.convention)
        tasks = fs.worlds.Tasks.similar(for_teachers, self.similarity, TASKS, self.outputs, self.inputs, convention)
        network = fs.networks.FullyConnected.init(for_weights, self.hidden, self.outputs, self.inputs, self.scale)
        return Begin(network, tasks, for_data)

    def process(self, start: Begin) -> Process:
        return fs.learning.joint_process(
            start.network,
            self.rule(),
            self.blocks(range(TASKS)),
            start.tasks,
            start.data,
            observe=rows_of if self.recorded == "rows" else layers_of,
            statistics=self.statistics(),
            **self.clock(),
        )

    @classmethod
    def measure(cls, data: xr.Dataset) -> dict[str, xr.DataArray]:
        return sort_by_row(data)


def rows_of(view: View) -> Observed:
    """The loss, and lengths of the rows of the first layer along those of the teachers, and altogether."""
    students = view.network.students
    rows = view.tasks.maps.reshape(-1, students.shape[-1])
    directions = rows / jnp.sqrt(jnp.sum(rows**2, axis=-1, keepdims=True))
    return {
        "loss": view.loss,
        "components": directions @ students.T,
        "norms": jnp.sqrt(jnp.sum(students**2, axis=-1)),
    }


def layers_of(view: View) -> Observed:
    """The same, with the second layer and how fast both of them change."""
    return rows_of(view) | {"second_layer": view.network.gates, "speeds": view.speeds}


def sort_by_row(data: xr.Dataset) -> dict[str, xr.DataArray]:
    """The total alignment with hidden units in the order of the teachers' rows that they belong to; of layers, also the
    second layer, gates and alignments in that order.

    Units are matched to rows one to one, for each run and arm, by the cosine averaged over the second half. (The paper
    sends each unit to the row it resembles most, so that two units may claim one row.)
    """
    axes = (*(dim for dim in data["norms"].dims if dim not in ("time", "hidden")), "time")
    components = data["components"].transpose(*axes, "row", "hidden").values
    norms = data["norms"].transpose(*axes, "hidden").values
    cosines = components / norms[..., None, :]
    order = fs.measures.matched_paths(cosines[..., norms.shape[-2] // 2 :, :, :].mean(axis=-3))
    everywhere = np.broadcast_to(order[..., None, :], (*norms.shape[:-1], order.shape[-1]))
    total = xr.DataArray(fs.measures.total_alignment(components, norms, everywhere), dims=axes)
    if "second_layer" not in data:
        return {"total_alignment": total}
    second = data["second_layer"].transpose(*axes, "output", "hidden").values
    second = fs.measures.take_paths(second, order, -1)
    *batch, outputs, _ = second.shape
    gates = np.einsum("...imi->...m", second.reshape(*batch, outputs, TASKS, outputs)) / outputs
    pairs = fs.measures.take_paths(cosines, order, -1).reshape(*batch, TASKS, outputs, TASKS, outputs)
    alignment = np.einsum("...minj,ij->...mn", pairs, np.eye(outputs)) / outputs
    return {
        "total_alignment": total,
        "sorted_second_layer": xr.DataArray(second, dims=(*axes, "output", "row")),
        "sorted_gates": xr.DataArray(gates, dims=(*axes, "student")),
        "sorted_alignment": xr.DataArray(alignment, dims=(*axes, "teacher", "student")),
    }
