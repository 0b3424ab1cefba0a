"""More paths than tasks, or fewer, and weights that cost something."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from pydantic import field_validator

import festina as fs
from festina._lazy import np, xr
from festina.config import continuous, structural
from festina.model import Equation, Model, Preset, Variable
from festina.models._in_blocks import BOUNDS
from festina.models.task_abstraction import Begin, TaskAbstraction
from festina.ranges import Coefficient

if TYPE_CHECKING:
    from festina.models._types import Curves, Float, JointDescent, Key, Observed, PathGated, Solution, View


class RedundantPaths(TaskAbstraction):
    """A network y = Σ_p c^p W^p x of more or fewer paths P than the M tasks it learns, and with a cost of its weights.

    As `task-abstraction`, but P and M are chosen apart, and the loss has one or both of λ_columns/(P d_in) Σ ‖W^p_:j‖,
    under which a path that is not used loses weight at a constant rate, and λ_W/(2 P d_in) Σ (W^p_ij)², under which it
    decays with the time P d_in τ_w/λ_W. Theory, the limit of infinitely many inputs, is known without a cost. With
    fewer paths than tasks teachers and paths cannot be matched, and there is no total alignment; what students keep of
    every teacher follows from their `components` and `overlaps` (`fs.measures.kept_shares`).

    Example:
        >>> import numpy as np
        >>> import festina as fs
        >>> model = fs.models.RedundantPaths(tasks=2, paths=4, until=2.0, records=20)
        >>> model.theory()(np.array([0.5, 1.5]))["gates"].shape
        (2, 4)
    """

    name = "redundant-paths"
    variables = TaskAbstraction.variables | {"overlaps": Variable("inner products of students", ("path", "other"))}
    quick = {"data": "population"}
    equations = (
        BOUNDS,
        Equation(
            r"\frac{\lambda_{\text{columns}}}{P d_{\text{in}}} \sum_{p, j} \bigl\|W^p_{:j}\bigr\| "
            r"\qquad \text{or} \qquad "
            r"\frac{\lambda_W}{2 P d_{\text{in}}} \sum_{p, i, j} \bigl(W^p_{ij}\bigr)^2",
            "What weights cost in the published code, and what they cost according to the text.",
        ),
    )
    presets = (
        Preset("no cost", "Some paths share a task, and others are not used at all."),
        Preset("costly columns", "A path that is not used loses all its weight.", {"column_cost": 0.2}),
        Preset("one path too few", "Two students for three tasks.", {"tasks": 3, "paths": 2, "outputs": 6}),
    )

    paths: int = structural(4, ge=1, le=20, help="paths P, any number")
    column_cost: Coefficient = continuous(0.0, help="coefficient of the mean norm of the students' columns")
    square_cost: Coefficient = continuous(0.0, help="coefficient λ_W of Σ W²/(2 P d_in)")

    @field_validator("data")
    @classmethod
    def _with_columns(cls, data: str) -> str:
        if data == "closure":
            raise ValueError("be sampled, wishart or population, for the closure does not know columns")
        return data

    @field_validator("recorded")
    @classmethod
    def _few(cls, recorded: str) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        if recorded == "totals":
            raise ValueError("be courses, for totals are of as many paths as tasks")
        return recorded

    def draw_network(self, key: Key) -> PathGated:
        return fs.networks.PathGated.init(key, self.paths, self.outputs, self.inputs, self.scale)

    def watch(self, view: View) -> Observed:
        return super().watch(view) | {"overlaps": view.overlaps}

    def rule(self) -> JointDescent:
        rule = super().rule()
        costs = {"column_cost": self.column_cost, "square_cost": self.square_cost}
        return replace(rule, regularizer=replace(rule.regularizer, **costs))

    def solution(self, start: Begin) -> Solution | None:
        return None if self.column_cost or self.square_cost else super().solution(start)

    @classmethod
    def solutions(cls, models: Sequence[Model], starts: Sequence[Any], times: Any) -> Iterator[Curves | None]:
        known = [cast(RedundantPaths, model) for model in models]
        free = [place for place, model in enumerate(known) if not (model.column_cost or model.square_cost)]
        chosen = [known[place] for place in free], [starts[place] for place in free], times
        found = dict(zip(free, super().solutions(*chosen), strict=True)) if free else {}
        yield from map(found.get, range(len(known)))

    @classmethod
    def measure(cls, data: xr.Dataset) -> dict[str, xr.DataArray]:
        """The total alignment. Paths are matched by lengths, for the cosine of a path without weight says nothing."""
        axes = data["loss"].dims
        components = data["components"].transpose(*axes, "teacher", "path").values
        total = _totals(components, data["norms"].transpose(*axes, "path").values)
        return {"total_alignment": xr.DataArray(total, dims=axes)}


def _totals(components: Float[np.ndarray, "*batch m p"], norms: Float[np.ndarray, "*batch p"]) -> np.ndarray:
    """The total alignment among the teachers and paths that each network has, which NaN fills up to the most there are.

    NaN for networks with fewer paths than teachers.
    """
    known, found = ~np.isnan(components), np.full(norms.shape[:-1], np.nan)
    sizes = np.stack([known.any(axis=-1).sum(axis=-1), known.any(axis=-2).sum(axis=-1)], axis=-1)
    for teachers, paths in np.unique(sizes.reshape(-1, 2), axis=0):
        if 0 < teachers <= paths:
            own = np.all(sizes == (teachers, paths), axis=-1)
            found[own] = fs.measures.total_alignment(components[own][:, :teachers, :paths], norms[own][:, :paths])
    return found
