"""Maps: one number of each run over two continuous fields, coarse first, then ever finer.

All cells of all levels go through one compiled program, in batches of one size: the first level is on the screen soon,
and the finer ones cost no further compilation.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from festina.errors import UnknownName
from festina.experiment import Experiment
from festina.lab.answer import Event, recorded
from festina.lab.batch import Run
from festina.page import limits
from festina.page.jobs import Job
from festina.page.questions import LONGEST_NAME, FieldError, Question, configured, only, read_choice, read_whole
from festina.page.series import numbers
from festina.views.scalars import Scalar, critical, scalars_of

BATCH = 25
COARSEST = 5


@dataclass(frozen=True)
class MapAxis:
    """A continuous field and the values it takes."""

    field: str
    values: tuple[float, ...]

    @property
    def strides(self) -> tuple[int, ...]:
        """How far apart the cells of each level are, from about five cells to all of them."""
        halvings = max(0, math.floor(math.log2((len(self.values) - 1) / (COARSEST - 1)))) if len(self.values) > 1 else 0
        return tuple(2**k for k in range(halvings, -1, -1))


@dataclass(frozen=True)
class MapQuestion:
    """Which variable, where it ends, or which other number of a run; over which fields."""

    question: Question
    x: MapAxis
    y: MapAxis
    variable: str
    entry: Mapping[str, int]
    seed: int
    scalar: Scalar | None = None

    def run(self, x: float, y: float) -> Run:
        config = self.question.config.model_copy(update={self.x.field: x, self.y.field: y})
        return Run(config, self.seed)


def read_map(body: Mapping[str, Any], question: Question) -> MapQuestion:
    """The axes, the variable and the entry of a body; every corner of the map must be allowed."""
    x, y = (_axis(body.get(name), name, question.experiment) for name in ("x", "y"))
    if x.field == y.field:
        raise FieldError("y", f"Argument `y` must be another field than `x`, but both are {x.field!r}.")
    given = body.get("fields", {})
    for across in (x.values[0], x.values[-1]):
        for up in (y.values[0], y.values[-1]):
            corner = configured(question.experiment, question.budget, given | {x.field: across, y.field: up})
            limits.check_work(question.experiment, corner)
    variable, scalars = body.get("variable"), {scalar.name: scalar for scalar in scalars_of(question.experiment)}
    if not isinstance(variable, str) or not (variable in question.experiment.variables or variable in scalars):
        known = [*question.experiment.variables, *scalars]
        raise FieldError("variable", str(UnknownName("variable", str(variable)[:LONGEST_NAME], known)))
    scalar = scalars.get(variable)
    entry = {} if scalar is not None else _entry(body.get("entry"), question.experiment, variable)
    seed = read_whole(body, "seed", 0, 0, limits.LARGEST_SEED)
    limits.check_memory(question.experiment, question.config, BATCH)
    return MapQuestion(question, x, y, variable, entry, seed, scalar)


def _axis(given: Any, name: str, experiment: Experiment) -> MapAxis:
    if not isinstance(given, dict):
        raise FieldError(name, f"Argument `{name}` must be an object with field, from, to, scale and count.")
    only(given, ("field", "from", "to", "scale", "count"))
    field, allowed = given.get("field"), experiment.Config.fields_of_kind("continuous")
    if not isinstance(field, str) or field not in allowed:
        raise FieldError(name, str(UnknownName("continuous field", str(field)[:LONGEST_NAME], allowed)))
    first, last = (_finite(given.get(end), f"{name}.{end}", name) for end in ("from", "to"))
    scale = read_choice(given, "scale", ("lin", "log"))
    count = read_whole(given, "count", limits.MOST_CELLS, 2, limits.MOST_CELLS)
    if first == last:
        raise FieldError(name, f"Argument `{name}.to` must differ from `{name}.from`, but both are {first:g}.")
    if scale == "log" and not (first > 0 and last > 0):
        raise FieldError(name, f"Argument `{name}` must go from and to positive values on a log scale.")
    values = np.geomspace(first, last, count) if scale == "log" else np.linspace(first, last, count)
    return MapAxis(field, tuple(values.tolist()))


def _finite(value: Any, name: str, field: str) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300:
        return float(value)
    raise FieldError(field, f"Argument `{name}` must be a finite number, but is {str(value)[:LONGEST_NAME]}.")


def _entry(given: Any, experiment: Experiment, variable: str) -> dict[str, int]:
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise FieldError("entry", "Argument `entry` must be an object of dimensions and indices, or null.")
    dims = experiment.variables[variable].dims
    for dim, index in given.items():
        if dim not in dims:
            raise FieldError("entry", str(UnknownName(f"dimension of {variable}", dim[:LONGEST_NAME], dims)))
        if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < 10**6:
            raise FieldError("entry", f"Argument `entry` must give {dim!r} an index of 0 or more, but gives {index!r}.")
    return given


def levels(asked: MapQuestion) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The columns and rows of each level; a level's cells are among the next one's."""
    x_strides, y_strides = asked.x.strides, asked.y.strides
    depth = max(len(x_strides), len(y_strides))
    for k in range(depth):
        x_stride = x_strides[max(0, k - depth + len(x_strides))]
        y_stride = y_strides[max(0, k - depth + len(y_strides))]
        yield np.arange(0, len(asked.x.values), x_stride), np.arange(0, len(asked.y.values), y_stride)


def carry_out(asked: MapQuestion, job: Job) -> None:
    """Compute the map level by level, in a thread of its own, and show every batch."""
    job.events.publish("boundary", {"lines": boundary(asked)})
    known = np.full((len(asked.y.values), len(asked.x.values)), np.nan)
    done = np.zeros(known.shape, bool)
    for level, (columns, rows) in enumerate(levels(asked)):
        new = [(row, column) for row in rows for column in columns if not done[row, column]]
        for start in range(0, len(new), BATCH):
            cells = new[start : start + BATCH]
            values = _values(asked, cells, job)
            for (row, column), value in zip(cells, values, strict=True):
                known[row, column], done[row, column] = value, True
            job.events.publish("cells", _picture(asked, known, done, level, columns, rows))
    job.result = known
    job.end("done", level=level, cells=int(done.sum()))  # pyright: ignore[reportPossiblyUnboundVariable] (there is a level)


def _values(asked: MapQuestion, cells: list[tuple[int, int]], job: Job) -> np.ndarray:
    """The value of each cell; the batch is filled up with its last cell, so that all batches are of one size."""

    def tell(event: Event) -> None:
        job.check()
        if job.state == "compiling":
            job.say("running")

    padded = [*cells, *[cells[-1]] * (BATCH - len(cells))]
    runs = [asked.run(asked.x.values[column], asked.y.values[row]) for row, column in padded]
    experiment = asked.question.experiment
    data = recorded(experiment, runs, label=experiment.name, tell=tell)[1]
    job.check()
    shown = data[asked.variable] if asked.scalar is None else asked.scalar.of(data)
    return cell_values(shown, asked.entry)[: len(cells)]


def cell_values(variable: xr.DataArray, entry: Mapping[str, int]) -> np.ndarray:
    """A number for each run: the variable at its last time, of one entry, or the mean over all of them."""
    for dim, index in entry.items():
        if index >= variable.sizes[dim]:
            size = variable.sizes[dim]
            raise FieldError("entry", f"Argument `entry` must give {dim!r} an index below {size}, but gives {index}.")
    last = variable.isel(time=-1) if "time" in variable.dims else variable
    last = last.isel(dict(entry))
    return last.mean([dim for dim in last.dims if dim != "run"], skipna=False).values.astype(float)


def _picture(
    asked: MapQuestion, known: np.ndarray, done: np.ndarray, level: int, columns: np.ndarray, rows: np.ndarray
) -> dict:
    """A level as far as it is known; a cell that is still to come has the colour of its coarser neighbour."""
    values, there = known[np.ix_(rows, columns)], done[np.ix_(rows, columns)]
    coarse = [np.arange(size) // 2 * 2 for size in values.shape]
    before, was = values[np.ix_(*coarse)], there[np.ix_(*coarse)]
    return {
        "level": level,
        "x": [asked.x.values[k] for k in columns],
        "y": [asked.y.values[k] for k in rows],
        "values": numbers(np.where(there | ~was, values, before)),
    }


def boundary(asked: MapQuestion) -> list[list[list[float]]]:
    """Where theory says that something changes: lines of points (x, y) on the map."""
    config, experiment = asked.question.config, asked.question.experiment
    lines: list[list[list[float]]] = []
    for along, across, turned in ((asked.x, asked.y, False), (asked.y, asked.x, True)):
        configs = [config.model_copy(update={along.field: value}) for value in along.values]
        for line in zip(*critical(experiment, across.field, configs), strict=False):
            points = [[a, b] for a, b in zip(along.values, line, strict=True) if np.isfinite(b)]
            lines.append([point[::-1] for point in points] if turned else points)
    return [line for line in lines if len(line) > 1]
