"""The plan of a sweep: which runs, in which groups and tiles. It follows from the question alone, so that a
resumed sweep computes the very same tiles and ends with the very same bits."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

from festina.experiment import Budget, Experiment
from festina.lab.batch import Run, bytes_per_run
from festina.lab.sweeps.axes import Axis, described

LARGEST_TILE, SMALLEST_TILE = 128, 16
FEWEST_TILES = 8  # of a group large enough for them, so that several processes find work
TILE_BYTES = 64 * 2**20  # recordings of a tile, held in memory at once


class Tile(NamedTuple):
    """Runs ``start`` to ``stop`` − 1 of a group: what is computed, written and taken as one."""

    group: int
    start: int
    stop: int

    @property
    def runs(self) -> int:
        return self.stop - self.start


@dataclass(frozen=True)
class Runs(Sequence[Run]):
    """The runs of a group, seed by seed and within a seed point by point; each is made when it is asked for."""

    experiment: Experiment
    budget: Budget
    fields: dict[str, Any]
    axes: tuple[Axis, ...]
    seeds: tuple[int, ...]

    @property
    def points(self) -> int:
        return math.prod(len(axis.values) for axis in self.axes)

    def __len__(self) -> int:
        return self.points * len(self.seeds)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        seed, point = divmod(range(len(self))[index], self.points)
        values = {}
        for axis in reversed(self.axes):
            point, place = divmod(point, len(axis.values))
            values[axis.name] = axis.values[place]
        return Run(self.experiment.configure(self.budget, **self.fields, **values), self.seeds[seed])


@dataclass(frozen=True)
class Group:
    """Runs of one structure: they share one compiled program and one array shape."""

    structure: dict[str, Any]
    runs: Runs
    tile: int

    def tiles(self) -> list[tuple[int, int]]:
        """First and last+1 run of each tile."""
        return [(start, min(start + self.tile, len(self.runs))) for start in range(0, len(self.runs), self.tile)]

    def padded(self, start: int, stop: int) -> list[Run]:
        """The runs of a tile, the last one repeated up to the tile's size, so that all tiles share one program."""
        runs = list(self.runs[start:stop])
        return runs + [runs[-1]] * (self.tile - len(runs))


@dataclass(frozen=True)
class Plan:
    """All groups of a sweep; runs go seed by seed, and within a seed through all points.

    Attributes:
        experiment: what is swept.
        axes: its fields and their values.
        seeds: at every point.
        budget: of the fields that are not given.
        fields: that stay fixed.
        variables: to keep; all of them if None.
        groups: one for each combination of structural values.
    """

    experiment: Experiment
    axes: tuple[Axis, ...]
    seeds: tuple[int, ...]
    budget: Budget
    fields: dict[str, Any]
    variables: tuple[str, ...] | None
    groups: tuple[Group, ...]

    @property
    def structural(self) -> tuple[Axis, ...]:
        names = self.experiment.Config.fields_of_kind("structural")
        return tuple(axis for axis in self.axes if axis.name in names)

    @property
    def continuous(self) -> tuple[Axis, ...]:
        return tuple(axis for axis in self.axes if axis not in self.structural)

    @property
    def runs(self) -> int:
        return sum(len(group.runs) for group in self.groups)

    def check(self) -> None:
        """Refuse a point at which fields do not go together, before anything is computed."""
        for group in self.groups:
            for point in range(group.runs.points):
                group.runs[point]

    def tiles(self) -> list[Tile]:
        """All tiles, group by group."""
        return [Tile(n, *ends) for n, group in enumerate(self.groups) for ends in group.tiles()]

    def point(self, number: int, run: int) -> str:
        """Where in the sweep a run of a group is: its values on the axes, and its seed."""
        here = self.groups[number].runs[run]
        values = [described(axis.name, getattr(here.config, axis.name)) for axis in self.axes]
        return ", ".join([*values, f"seed {here.seed}"])

    def question(self) -> dict[str, Any]:
        """The sweep as data: what decides whether a store belongs to it."""
        return {
            "experiment": self.experiment.name,
            "config": self._plain({}),
            "axes": [[axis.name, [self._plain({axis.name: v})[axis.name] for v in axis.values]] for axis in self.axes],
            "seeds": list(self.seeds),
            "budget": self.budget,
            "variables": None if self.variables is None else sorted(self.variables),
            "tiles": [group.tile for group in self.groups],
        }

    def _plain(self, fields: dict[str, Any]) -> dict[str, Any]:
        """A configuration as JSON has it."""
        return self.experiment.configure(self.budget, **(self.fields | fields)).model_dump(mode="json")


def make_plan(
    experiment: Experiment,
    axes: list[Axis],
    seeds: tuple[int, ...],
    budget: Budget,
    fields: dict[str, Any],
    variables: Sequence[str] | None = None,
    tiles: int | Sequence[int] | None = None,
) -> Plan:
    """Lay out a sweep: one group for each combination of structural values.

    ``tiles`` is the size of a tile, in all groups or group by group; chosen to fit memory unless given.
    """
    empty = Plan(experiment, tuple(axes), seeds, budget, fields, None if variables is None else tuple(variables), ())
    groups = []
    for number, values in enumerate(product(*(axis.values for axis in empty.structural))):
        structure = {axis.name: value for axis, value in zip(empty.structural, values, strict=True)}
        runs = Runs(experiment, budget, fields | structure, empty.continuous, seeds)
        tile = tiles[number] if isinstance(tiles, Sequence) else tiles or _tile(experiment, runs)
        groups.append(Group(structure, runs, min(len(runs), tile)))
    return replace(empty, groups=tuple(groups))


def _tile(experiment: Experiment, runs: Sequence[Run]) -> int:
    """As many runs at once as memory allows, up to the size that is fastest, and so that there are tiles to share."""
    shared_out = max(SMALLEST_TILE, -(-len(runs) // FEWEST_TILES))
    return max(1, min(LARGEST_TILE, shared_out, TILE_BYTES // max(1, bytes_per_run(experiment, runs[0]))))
