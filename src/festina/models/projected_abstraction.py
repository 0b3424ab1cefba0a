"""Task abstractions in the span of their teachers: from where the reduction to a plane is exact, and the reduction."""

from __future__ import annotations

from math import pi
from typing import TYPE_CHECKING, Annotated, Literal, cast

from pydantic import Field, ValidationInfo, field_validator

import festina as fs
from festina._lazy import jnp, np, xr
from festina.config import continuous, structural
from festina.model import Equation, Preset, Variable
from festina.models.reduced_abstraction import REDUCED
from festina.models.task_abstraction import Begin, TaskAbstraction

if TYPE_CHECKING:
    from festina.models._types import Array, Float, Key, NeuronGated, Observed, PathGated, Tasks, View

Angle = Annotated[float, Field(ge=-100.0, le=100.0)]

CONSTANTS = Equation(
    r"\tau_w \to \frac{\tau_w}{\kappa}, \qquad \tau_c \to \frac{\tau_c}{\kappa\, d_{\text{out}}\, r^2}, "
    r"\qquad \lambda \to \frac{\lambda}{\kappa\, d_{\text{out}}\, r^2}",
    "These constants make it stand for a full network with teacher rows of norm r and a factor κ before its loss.",
)


class ProjectedAbstraction(TaskAbstraction):
    """A task abstraction that begins in the span of its teachers, or is described by what they see of it.

    Row β of path p is w = Σ_m a_m w*m_β and a part outside the span of its teachers. The network begins from `random`
    weights, or from those without the part outside (`spanned`), with the mean over rows of the coordinates that are
    left in every row (`aligned`), or with two paths to either side of the diagonal between both teachers, at an angle
    (`mirrored`; `scale` is then the size of rows as a share of the teachers').

    It is described `whole`, or by M coordinates for each row (`rows`), which is exact while rows stay in their span, or
    by the mean of these (`plane`), which is exact while all rows have the same: the reduced model, in the units of the
    full one. Theory is the limit of the whole network. Of two tasks, `specialization` is |w̄|.

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> model = fs.models.ProjectedAbstraction(begin="spanned", until=2.0, records=20)
        >>> model.theory()(np.array([0.5, 1.5]))["components"].shape  # of two paths along two teachers, at two times
        (2, 2, 2)
    """

    name = "projected-abstraction"
    variables = TaskAbstraction.variables | {
        "share": Variable("loss over that of an untrained network"),
        "weights": Variable("mean over rows of weights along each teacher", ("path", "teacher")),
    }
    equations = (REDUCED, CONSTANTS)
    presets = (
        Preset("whole", "From random weights, of which a part lies outside the span of the teachers."),
        Preset("reduced", "Two vectors in the plane take nearly the same course.", {"described": "plane"}),
    )

    begin: Literal["random", "spanned", "aligned", "mirrored"] = structural("random", help="how weights begin")
    angle: Angle = continuous(0.5, unit="rad", help="of mirrored paths from the diagonal between the teachers")
    described: Literal["whole", "rows", "plane"] = structural(
        "whole", help="the `whole` network, its `rows` along their teachers, or the `plane` of the means of these"
    )

    @field_validator("begin")
    @classmethod
    def _two(cls, begin: str, info: ValidationInfo) -> str:
        if begin == "mirrored" and info.data.get("tasks", 2) != 2:
            raise ValueError("be another one for more than two tasks")
        return begin

    @field_validator("described")
    @classmethod
    def _without_noise(cls, described: str, info: ValidationInfo) -> str:
        if described != "whole" and info.data.get("data") in ("sampled", "wishart"):
            raise ValueError("be whole for batches of inputs, which are not in the span of the teachers")
        if described == "plane" and info.data.get("rank"):
            raise ValueError("be whole or rows for teachers of a rank, whose rows differ")
        return described

    def start(self, key: Key) -> Begin:
        begun = super().start(key)
        if self.begin == "random":
            return begun
        students = self._projected(begun.network.students, begun.tasks)
        return begun._replace(network=begun.network.rebuilt(tuple(students), begun.network.gates))

    def _projected(self, students: tuple[Float[Array, "o i"], ...], tasks: Tasks) -> Float[Array, "p o i"]:
        """Students in the span of their teachers."""
        from festina.arrays import xp

        bases = fs.learning.teacher_bases(tasks)
        along = xp.einsum("poi,oim->pom", xp.stack(students), bases)
        if self.begin == "aligned":
            along = xp.broadcast_to(xp.mean(along, axis=1, keepdims=True), along.shape)
        if self.begin == "mirrored":
            angles = pi / 4 + self.angle * np.asarray([-1.0, 1.0])
            size = self.scale * fs.worlds.convention(self.convention).row_norm(self.inputs)
            pair = size * xp.stack([xp.cos(angles), xp.sin(angles)], axis=-1)
            along = xp.broadcast_to(pair[:, None], along.shape)
        return xp.einsum("pom,oim->poi", along, bases)

    def _compressed(self, start: Begin) -> tuple[PathGated | NeuronGated, Tasks]:
        if self.described == "whole":
            return super()._compressed(start)
        spanned = fs.learning.spanned_by_row if self.described == "rows" else fs.learning.spanned_by_mean
        return spanned(cast("PathGated", start.network), start.tasks)

    def watch(self, view: View) -> Observed:
        """Besides what is recorded of any network, what has the same size in all descriptions."""
        if self.recorded == "totals":
            return super().watch(view)
        lengths = jnp.sqrt(jnp.sum(view.tasks.maps**2, axis=(1, 2)))
        untrained = 0.5 * view.tasks.loss_share * jnp.sum(view.target**2)
        own = {"share": view.loss / untrained, "weights": (view.components / lengths[:, None]).T}
        return super().watch(view) | own

    @classmethod
    def measure(cls, data: xr.Dataset) -> dict[str, xr.DataArray]:
        found = super().measure(data)
        if "weights" not in data or data.sizes["path"] != 2:
            return found
        paths = data["weights"].transpose(..., "path", "teacher"), data["gates"].transpose(..., "path")
        overall = fs.theory.abstraction.specialization(*(values.values for values in paths)).overall
        return found | {"specialization": xr.DataArray(np.abs(overall), dims=paths[0].dims[:-2])}
