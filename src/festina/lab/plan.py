"""The plan of a sweep: which runs, in which groups and tiles. It follows from the question alone, so that a
resumed sweep computes the very same tiles and ends with the very same bits."""

from dataclasses import dataclass
from itertools import product
from typing import Any

from festina.experiment import Budget, Experiment
from festina.lab.axes import Axis, described
from festina.lab.batch import Run, bytes_per_run

LARGEST_TILE = 128
TILE_BYTES = 256 * 2**20  # recordings held in memory at once


@dataclass(frozen=True)
class Group:
    """Runs of one structure: they share one compiled program and one array shape."""

    structure: dict[str, Any]
    runs: tuple[Run, ...]
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
    """All groups of a sweep; runs go seed by seed, and within a seed through all points."""

    experiment: Experiment
    axes: tuple[Axis, ...]
    seeds: tuple[int, ...]
    budget: Budget
    fields: dict[str, Any]
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
    tile: int | None = None,
) -> Plan:
    """Lay out a sweep: one group for each combination of structural values."""
    empty = Plan(experiment, tuple(axes), seeds, budget, fields, ())
    groups = []
    for values in product(*(axis.values for axis in empty.structural)):
        structure = {axis.name: value for axis, value in zip(empty.structural, values, strict=True)}
        points = [
            experiment.configure(
                budget,
                **fields,
                **structure,
                **{axis.name: value for axis, value in zip(empty.continuous, point, strict=True)},
            )
            for point in product(*(axis.values for axis in empty.continuous))
        ]
        runs = tuple(Run(config, seed) for seed in seeds for config in points)
        groups.append(Group(structure, runs, min(len(runs), tile or _tile(experiment, runs[0]))))
    return Plan(experiment, tuple(axes), seeds, budget, fields, tuple(groups))


def _tile(experiment: Experiment, run: Run) -> int:
    """As many runs at once as memory allows, up to the size that is fastest."""
    return max(1, min(LARGEST_TILE, TILE_BYTES // max(1, bytes_per_run(experiment, run))))
