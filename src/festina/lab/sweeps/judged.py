"""Where on the grid of a sweep each claim holds: every point is judged as the run that it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np
import xarray as xr

from festina.errors import FestinaError, UnknownName
from festina.experiment import Experiment, Result
from festina.lab.batch import Run
from festina.lab.labelled import relabelled, theory
from festina.lab.sweeps.opened import Part, parts_of
from festina.lab.sweeps.plan import Plan
from festina.learning.progress import Progress
from festina.notebook import Told, table, told
from festina.verdicts import Kind, Verdict, in_words

BESIDE = ("seed", "clock", "done", "failed")  # what the arrays of a group hold beside its variables


@dataclass(frozen=True)
class SweptVerdict(Told):
    """What a sweep said of a claim, point by point.

    Attributes:
        claim: the claim's id.
        kind: whose statement it is.
        source: where it is said, or which computation gives it.
        statement: what is said.
        expectation: of the measured number.
        outcome: what follows at each point of the grid; empty where runs are not done.
        measured: the number at each point, the mean over its values; NaN where there is none.
    """

    claim: str
    kind: Kind
    source: str
    statement: str
    expectation: str
    outcome: xr.DataArray
    measured: xr.DataArray

    @property
    def holds(self) -> xr.DataArray:
        """At which points it holds, be it qualitatively."""
        return self.outcome.str.startswith("reproduced")

    @property
    def counts(self) -> dict[str, int]:
        """At how many points it came out how, the most frequent outcome first."""
        return dict(Counter(str(word) for word in self.outcome.values.ravel() if word).most_common())

    @property
    def at_points(self) -> str:
        """At how many points it came out how, in words."""
        points = sum(self.counts.values())
        words = (f"{in_words(word, self.kind)} at {count}" for word, count in self.counts.items())  # pyright: ignore
        return f"{', '.join(words)} of {points} points"

    @property
    def span(self) -> str:
        """From where to where measured numbers go; empty if there are none."""
        known = self.measured.values[np.isfinite(self.measured.values)]
        return f"{known.min():.4g} to {known.max():.4g}" if known.size else ""

    def __str__(self) -> str:
        measured = f"; measured {self.span}" if self.span else ""
        return f"{self.claim} [{self.kind}]: {self.at_points}{measured}, expected {self.expectation}"


class SweptVerdicts(Sequence[SweptVerdict]):
    """What a sweep said of all claims; one of them by its number, or by its id."""

    def __init__(self, verdicts: Sequence[SweptVerdict]) -> None:
        self._verdicts = tuple(verdicts)

    def __len__(self) -> int:
        return len(self._verdicts)

    @overload
    def __getitem__(self, which: int | str) -> SweptVerdict: ...
    @overload
    def __getitem__(self, which: slice) -> SweptVerdicts: ...
    def __getitem__(self, which: int | str | slice) -> SweptVerdict | SweptVerdicts:
        if isinstance(which, slice):
            return SweptVerdicts(self._verdicts[which])
        if isinstance(which, int):
            return self._verdicts[which]
        known = {verdict.claim: verdict for verdict in self._verdicts}
        if which not in known:
            raise UnknownName("claim", which, known)
        return known[which]

    def __repr__(self) -> str:
        return "\n".join(map(str, self._verdicts)) or "No claims are made."

    def _repr_html_(self) -> str:
        if not self._verdicts:
            return told(repr(self))
        rows = ((it.claim, it.kind, it.statement, it.at_points, it.span, it.expectation) for it in self._verdicts)
        return table(("claim", "kind", "what is said", "outcome", "measured", "expected"), rows)


def judged(folder: Path, plan: Plan) -> SweptVerdicts:
    """Judge every point of a sweep that is done, with all its seeds, as `festina.run` would.

    Args:
        folder: of the sweep.
        plan: of the sweep.

    Returns:
        A verdict for each claim of the experiment, point by point. Theory is solved at every point, which takes as long
        as it does for so many runs.
    """
    claims = plan.experiment.claims
    if not claims:
        return SweptVerdicts(())
    if plan.variables is not None:
        kept = ", ".join(plan.variables)
        raise FestinaError(f"claims are judged on all variables, but the sweep of {plan.experiment.name} kept {kept}")
    shape = tuple(len(axis.values) for axis in (*plan.structural, *plan.continuous))
    found = np.full((len(claims), *shape), None, object)
    with Progress(f"claims of {plan.experiment.name}", total=int(np.prod(shape)), unit="point") as progress:
        for place, result in results_of(folder, plan):
            progress.advance(1)
            if result is not None:
                found[(slice(None), *place)] = [claim.judge(result, plan.budget) for claim in claims]
    grid = _grid(plan)
    first = [next(each for each in verdicts.ravel() if each is not None) for verdicts in found]
    return SweptVerdicts([_joined(one, verdicts, grid) for one, verdicts in zip(first, found, strict=True)])


def _grid(plan: Plan) -> dict[str, list[Any]]:
    from festina.lab.sweeps.axes import plain

    return {axis.name: [plain(value) for value in axis.values] for axis in (*plan.structural, *plan.continuous)}


def _joined(one: Verdict, verdicts: np.ndarray, grid: dict[str, list[Any]]) -> SweptVerdict:
    words = np.array(["" if each is None else each.outcome for each in verdicts.ravel()])
    numbers = [np.nan if each is None or each.measured is None else each.measured for each in verdicts.ravel()]
    return SweptVerdict(
        one.claim,
        one.kind,
        one.source,
        one.statement,
        one.expectation,
        xr.DataArray(words.reshape(verdicts.shape), coords=grid, dims=list(grid), name="outcome"),
        xr.DataArray(np.reshape(numbers, verdicts.shape), coords=grid, dims=list(grid), name=one.claim),
    )


def results_of(folder: Path, plan: Plan) -> Iterator[tuple[tuple[int, ...], Result | None]]:
    """Every point of a sweep: where on its grid it is, and its runs as one result; None if one of them is not done."""
    structural = tuple(len(axis.values) for axis in plan.structural)
    continuous = tuple(len(axis.values) for axis in plan.continuous)
    for number, (group, part) in enumerate(zip(plan.groups, parts_of(folder, plan), strict=True)):
        reader = None if part is None else _Reader(part)
        for point in range(group.runs.points):
            place = (*_place(number, structural), *_place(point, continuous))
            rows = [seed * group.runs.points + point for seed in range(len(plan.seeds))]
            done = reader is not None and bool(reader.part.done[rows].all())
            yield place, _result(plan, number, reader, rows) if reader is not None and done else None


def _place(number: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(int(each) for each in np.unravel_index(number, shape)) if shape else ()


class _Reader:
    """Reads rows of a group, and keeps the tiles at hand: points that follow each other are in the same ones."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self._tiles: dict[tuple[str, int], np.ndarray] = {}

    def rows(self, name: str, rows: Sequence[int]) -> np.ndarray:
        starts = [row - row % self.part.tile for row in rows]
        own = {start: self._tiles.get((name, start)) for start in dict.fromkeys(starts)}
        own = {start: self.part.read(name, start) if tile is None else tile for start, tile in own.items()}
        self._tiles = {key: tile for key, tile in self._tiles.items() if key[0] != name}
        self._tiles |= {(name, start): tile for start, tile in own.items()}
        return np.stack([own[start][row - start] for start, row in zip(starts, rows, strict=True)])


def _result(plan: Plan, number: int, reader: _Reader, rows: Sequence[int]) -> Result:
    """The runs of one point, labelled as a run by itself is, with the theory beside them."""
    experiment, lazy = plan.experiment, reader.part.lazy
    runs: list[Run] = [plan.groups[number].runs[row] for row in rows]
    times = _times(experiment, runs, reader.rows("clock", rows))
    names = [str(name) for name, values in lazy.variables.items() if values.dims[:1] == ("run",)]
    names = [name for name in names if name not in BESIDE and not name.startswith("config_")]
    variables = {name: (lazy[name].dims, reader.rows(name, rows), lazy[name].attrs) for name in names}
    data = relabelled(experiment, runs, times, variables)
    failed = reader.rows("failed", rows)
    data.attrs["failures"] = [plan.point(number, row) for row, bad in zip(rows, failed, strict=True) if bad]
    return Result(experiment, runs[0].config, data, theory(experiment, runs, times))


def _times(experiment: Experiment, runs: Sequence[Run], clock: np.ndarray) -> np.ndarray:
    """The times of all recordings (runs × arms × recordings), from the clocks of runs, or of all their arms."""
    config = runs[0].config
    if clock.ndim == 2:
        arms = len(experiment.arms_at(config))
        return np.repeat(clock[:, None], arms, axis=1)
    flat = clock.reshape(*clock.shape[:2], -1)[:, :, list(experiment.arms.places(config))]
    return np.moveaxis(flat, 2, 1)
