"""Task abstractions without inputs: two paths in the plane of two teachers."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from pydantic import Field, ValidationInfo, field_validator

import festina as fs
from festina._lazy import jnp, np, xr
from festina.config import continuous, structural
from festina.model import Equation, Preset, Variable
from festina.models._in_blocks import InBlocks
from festina.ranges import Start, Timescale

if TYPE_CHECKING:
    from festina.models._types import Array, Float, Key, Observed, PathGated, Process, View
    from festina.theory.abstraction import Growth

Task = Annotated[int, Field(ge=0, le=1)]
Part = Annotated[float, Field(ge=-1.0, le=1.0)]

REDUCED = Equation(
    r"\tau_w\, \dot w^p = c^p\, \varepsilon, \qquad "
    r"\tau_c\, \dot c^p = w^p \cdot \varepsilon - \frac{\partial R}{\partial c^p}, \qquad "
    r"\varepsilon = y^* - \sum_p c^p w^p",
    "In the plane of two teachers a path is a vector w with a gate c: an open gate lets it learn the error ε, and "
    "agreement with ε opens its gate; R bounds the gates.",
)

GROWING = Equation(
    r"\tau_w\, \dot d = \bar c\, \varepsilon(t), \qquad \tau_c\, \dot{\bar c} = d \cdot \varepsilon(t)",
    "Small differences d of weights and c̄ of gates feed each other, driven by the error ε of the unspecialised "
    "network.",
)

PROTECTED = Equation(
    r"\bar w = \sqrt{1 - \tfrac12 \frac{\tau_c}{\tau_w} \bigl(1 - \bar c^2\bigr)}",
    "During a switch specialisation w̄ is a function of the gates' separation c̄: fast gates leave it nearly untouched.",
)

NO_TWINS = {"difference": 1e-9, "along_first": 1.0, "along_second": 0.0, "along_gate": 0.0}
"""Fields that have no effect unless networks begin as twins."""


class Begin(NamedTuple):
    """Paths and gates at t = 0, and a key that is not used, since no data are drawn."""

    network: PathGated
    data: Key


class ReducedAbstraction(InBlocks):
    """Two paths w^p with gates c^p in the plane of two orthogonal teachers: a task abstraction without inputs.

    With y = Σ_p c^p w^p and the error ε = y* − y joint descent is τ_w ẇ^p = c^p ε, τ_c ċ^p = w^p·ε − ∂R/∂c^p, with
    R = s [λ₁ Σ max(0, −c) + λ₂ (‖c‖ − 1)²]. It begins from one of

    - `random` weights around `knowledge` of both tasks, and gates of ½;
    - `twins`: two paths that know as much of both tasks and have gates of ½, but for a small difference of the first
      from the second, in a direction of choice;
    - `specialised` paths, one unit vector each, with the first gate open and the second closed.

    Example:
        >>> import festina as fs
        >>> run = fs.models.ReducedAbstraction(begin="specialised", block_length=1.0, until=2.0).run()
        >>> run["gates"].isel(run=0).sel(time=[0.5, 1.5], method="nearest").values.round(1)  # they switch with the task
        array([[1., 0.],
               [0., 1.]])
    """

    name = "reduced-abstraction"
    variables = {
        "weights": Variable("weight of each path along each teacher", ("path", "teacher")),
        "gates": Variable("gates c", ("path",)),
        "loss": Variable("loss on the task shown"),
    }
    equations = (REDUCED, GROWING, PROTECTED)
    presets = (
        Preset("random weights", "Paths specialise on a task each, and gates choose between them."),
        Preset(
            "after a switch",
            "A specialised network is shown the other task: gates move before weights can.",
            {"begin": "specialised", "shown": (1,), "until": 5.0},
        ),
    )

    gate_timescale: Timescale = continuous(0.06, scale="log", unit="t", help="timescale τ_c of the gates")
    scale: Start = continuous(0.01, scale="log", help="s.d. of random initial weights")
    begin: Literal["random", "twins", "specialised"] = structural("random", help="how paths and gates begin")
    knowledge: Part = continuous(0.0, help="what both paths know of both tasks at the start, as a share of each")
    difference: Start = continuous(1e-9, scale="log", help="how much twins differ at the start")
    along_first: Part = continuous(1.0, help="part of the difference of twins along teacher A")
    along_second: Part = continuous(0.0, help="part of the difference of twins along teacher B")
    along_gate: Part = continuous(0.0, help="part of the difference of twins between their gates")
    shown: tuple[Task, ...] = structural((0, 1), min_length=1, help="tasks of one round of blocks: 0 is A, 1 is B")
    steps_per_record: int = structural(10, ge=1, le=100_000, help="steps between recordings; must divide all steps")

    @field_validator("steps_per_record")
    @classmethod
    def _whole(cls, steps_per_record: int, info: ValidationInfo) -> int:
        steps = round(info.data.get("until", 0) / info.data.get("step_size", 1))
        if steps % steps_per_record:
            raise ValueError(f"divide the {steps} steps there are (until/step_size)")
        return steps_per_record

    def start(self, key: Key) -> Begin:
        _, for_weights, for_data = fs.draws.split(key, 3)
        if self.begin == "specialised":
            return Begin(paths(jnp.eye(2), jnp.asarray([1.0, 0.0])), for_data)
        if self.begin == "random":
            drawn = fs.networks.PathGated.init(for_weights, 2, 1, 2, self.scale * 2**0.5)
            students = tuple(self.knowledge + student for student in drawn.students)
            return Begin(fs.networks.PathGated(students, drawn.gates), for_data)
        parts = jnp.stack([jnp.asarray(part) for part in (self.along_first, self.along_second, self.along_gate)])
        apart = self.difference * parts
        known, half = jnp.ones((2, 2)) * self.knowledge, jnp.full(2, 0.5)
        return Begin(paths(known.at[0].add(apart[:2]), half.at[0].add(apart[2])), for_data)

    def process(self, start: Begin) -> Process:
        return fs.learning.joint_process(
            start.network,
            self.rule(),
            self.blocks(self.shown),
            fs.worlds.Tasks(jnp.eye(2)[:, None, :]),
            start.data,
            step_size=self.step_size,
            records=self.steps // self.steps_per_record,
            steps_per_record=self.steps_per_record,
            observe=_observe,
        )

    def growth(self) -> Growth | None:
        """Linear stability: how fast a small difference grows between two paths on the periodic orbit of two tasks in
        alternation, on which both know the same; None if there is no such orbit.
        """
        bound = self.strength * self.normalization
        return _growth(self.weight_timescale, self.gate_timescale, self.block_length, bound, self.step_size)

    @classmethod
    def measure(cls, data: xr.Dataset) -> dict[str, xr.DataArray]:
        """Specialisation w̄ and its relatives, see `festina.theory.abstraction.specialization`; total alignment; and how
        the first path differs from the second: along teacher A, along teacher B, and by its gate (`coordinate`).
        """
        axes = data["loss"].dims
        weights = data["weights"].transpose(*axes, "path", "teacher").values
        gates = data["gates"].transpose(*axes, "path").values
        seen = fs.theory.abstraction.specialization(weights, gates)._asdict()
        components, norms = np.swapaxes(weights, -1, -2), np.sqrt((weights**2).sum(axis=-1))
        seen["total_alignment"] = fs.measures.total_alignment(components, norms)
        apart = np.concatenate([weights[..., 0, :] - weights[..., 1, :], gates[..., :1] - gates[..., 1:]], axis=-1)
        measured = {name: xr.DataArray(values, dims=axes) for name, values in seen.items()}
        return measured | {"apart": xr.DataArray(apart, dims=(*axes, "coordinate"))}


def paths(weights: Float[Array, "p m"], gates: Float[Array, " p"]) -> PathGated:
    """A network of two paths from w^p_m and c^p."""
    return fs.networks.PathGated(tuple(weights[:, None, :]), tuple(gates))


@cache
def _growth(
    weight_timescale: float, gate_timescale: float, block_length: float, normalization: float, step_size: float
) -> Growth | None:
    scales = fs.theory.abstraction.Scales(weight_timescale, gate_timescale, 1.0)
    try:
        return fs.theory.abstraction.specialization_growth(scales, block_length, normalization, step_size)
    except fs.theory.abstraction.NoOrbit:
        return None


def _observe(view: View) -> Observed:
    return {"weights": jnp.stack(view.network.students)[:, 0], "gates": view.gates, "loss": view.loss}
