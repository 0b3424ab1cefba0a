"""From an experiment written for one run to batches of runs, and from their recordings to labelled data."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from festina.config import STRUCTURE_ONLY
from festina.errors import FestinaError
from festina.experiment import Experiment
from festina.learning.loop import Checkpoint, Outcome, drive
from festina.learning.outlook import Counted, Outlook
from festina.learning.process import Process
from festina.platforms import check_platforms
from festina.precision import bytes_of, double


@dataclass(frozen=True)
class Run:
    """One run: its configuration and its seed."""

    config: Any
    seed: int


@dataclass(frozen=True)
class Builder:
    """Builds the process of one run. Two builders of one structure are equal, and so share one compilation."""

    kind: type[Experiment]
    structure: str

    @classmethod
    def of(cls, experiment: Experiment, config: Any) -> "Builder":
        fields = config.fields_of_kind("structural")
        values = config.model_dump(mode="json")
        return cls(type(experiment), json.dumps({name: values[name] for name in fields}))

    def __call__(self, inputs: dict[str, Any]) -> Process:
        config = self.kind.Config.model_validate(json.loads(self.structure), context=STRUCTURE_ONLY)
        config = config.model_copy(update=inputs["fields"])
        return self.kind().simulate(config, jax.random.key(inputs["seed"]))


def simulate(
    experiment: Experiment,
    runs: Sequence[Run],
    *,
    label: str,
    checkpoint: Checkpoint | None = None,
    listen: Callable[[int, dict[str, np.ndarray]], None] | None = None,
) -> Outcome:
    """Drive runs of one structure as one batch; ``listen`` hears of every chunk, as in `drive`."""
    check_platforms()
    with double():
        builder = Builder.of(experiment, runs[0].config)
        return drive(builder, inputs_of(runs), label=label, checkpoint=checkpoint, listen=listen)


def bytes_per_run(experiment: Experiment, run: Run) -> int:
    """How much memory the recordings of one run take, found without computing it."""

    def recordings(process: Process) -> Any:
        return process.observe(process.initial), process.conclude(process.initial), process.times

    seen, last, times = _shapes(experiment, run, recordings)
    return bytes_of(seen) * times.shape[0] + bytes_of(last)


def bytes_of_state(experiment: Experiment, run: Run) -> int:
    """How much memory the state of one run takes, found without computing it."""
    return bytes_of(_shapes(experiment, run, lambda process: process.initial))


def _shapes(experiment: Experiment, run: Run, look: Callable[[Process], Any]) -> Any:
    """The shapes of what is looked at in the process of one run."""
    check_platforms()
    builder = Builder.of(experiment, run.config)
    with double():
        alone = jax.tree.map(lambda leaf: leaf[0], inputs_of([run]))
        return jax.eval_shape(lambda inputs: look(builder(inputs)), alone)


def dataset(experiment: Experiment, runs: Sequence[Run], outcome: Outcome) -> xr.Dataset:
    """The recordings of a batch with named dimensions and coordinates, and what is measured on them."""
    done = slice(0, outcome.records)
    recorded = {name: values[:, done] for name, values in outcome.observed.items()} | outcome.concluded
    variables = {name: _labelled(experiment, name, values) for name, values in recorded.items()}
    data = _numbered(xr.Dataset(variables, coords=_coordinates(experiment, runs, outcome.times[:, done])))
    return data.assign(experiment.measure(data))


def on_own_clocks(experiment: Experiment, data: xr.Dataset, times: np.ndarray) -> xr.Dataset:
    """The same data with the recordings numbered, and each run's times beside them, whether or not runs share them."""
    numbers = ("time", np.arange(times.shape[1]), {"units": "recording"})
    clock = (("run", "time"), times, {"units": experiment.time_unit})
    return data.drop_vars("clock", errors="ignore").assign_coords(time=numbers, clock=clock)


def theory(experiment: Experiment, runs: Sequence[Run], times: np.ndarray) -> xr.Dataset | None:
    """What theory says of each run, at the recordings' times."""
    answers: list[Mapping[str, Any]] = []
    outlook = Outlook(f"the theory of {experiment.name}", Counted(0, len(runs)), len(runs))
    with double(), outlook.watched():
        for run, grid in zip(runs, times, strict=True):
            solution = experiment.theory(run.config, jax.random.key(run.seed))
            if solution is None:
                return None
            answers.append({name: np.asarray(values) for name, values in solution(grid).items()})
            outlook.tick(lambda: Counted(len(answers), len(runs)), len(runs) - len(answers))
    variables = {
        name: _labelled(
            experiment, name, np.stack([answer[name][-1] if kind.final else answer[name] for answer in answers])
        )
        for name, kind in experiment.variables.items()
        if name in answers[0]
    }
    return _numbered(xr.Dataset(variables, coords=_coordinates(experiment, runs, times)))


def inputs_of(runs: Sequence[Run]) -> dict[str, Any]:
    """What differs between the runs of a batch, as the arrays the compiled program takes (inside `double`)."""
    names = runs[0].config.fields_of_kind("continuous")
    fields = {name: jnp.asarray([getattr(run.config, name) for run in runs], dtype=jnp.float64) for name in names}
    return {"fields": fields, "seed": jnp.asarray([run.seed for run in runs])}


def _labelled(experiment: Experiment, name: str, values: np.ndarray) -> tuple:
    """Values with the dimensions, the label and the unit the experiment declares for them."""
    if name not in experiment.variables:
        raise FestinaError(f"{experiment.name} records `{name}` but does not declare it in `variables`")
    declared = experiment.variables[name]
    dims = (*declared.leading, *declared.dims)
    if len(dims) != values.ndim:
        raise FestinaError(
            f"{experiment.name} declares `{name}` with dimensions {dims}, but records shape {values.shape}"
        )
    return dims, values, {"long_name": declared.label, "units": declared.unit}


def _numbered(data: xr.Dataset) -> xr.Dataset:
    """Give dimensions without values of their own the numbers 0, 1, 2, …, so that unequal sizes can be joined."""
    bare = [name for name in data.dims if name not in data.coords and name != "run"]
    return data.assign_coords({name: np.arange(data.sizes[name]) for name in bare})


def _coordinates(experiment: Experiment, runs: Sequence[Run], times: np.ndarray) -> dict[str, Any]:
    config = runs[0].config
    shared = bool(np.all(times == times[:1]))
    clock = ("time", times[0]) if shared else ("time", np.arange(times.shape[1]))
    coordinates: dict[str, Any] = {
        "seed": ("run", np.asarray([run.seed for run in runs])),
        "time": (*clock, {"units": experiment.time_unit if shared else "recording"}),
    }
    if not shared:
        coordinates["clock"] = (("run", "time"), times, {"units": experiment.time_unit})
    for name in config.fields_of_kind("continuous"):
        coordinates[f"config_{name}"] = ("run", np.asarray([getattr(run.config, name) for run in runs], float))
    return coordinates | {name: (name, np.asarray(values)) for name, values in experiment.coordinates(config).items()}
