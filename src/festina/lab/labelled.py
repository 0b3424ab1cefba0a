"""From what was recorded to data with named dimensions: run, time, those of the arms, those of the variables."""

import hashlib
from collections.abc import Hashable, Iterator, Mapping, MutableMapping, Sequence
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from festina.errors import FestinaError
from festina.experiment import Experiment
from festina.lab.batch import Batch, Run, Simulated, batches, starts_of
from festina.learning.outlook import Counted, Outlook
from festina.precision import double, to_numpy

Answer = dict[str, np.ndarray]
Kept = MutableMapping[Hashable, Answer | None]
"""Answers of theory, by what they depend on."""

UNKNOWN: Answer = {}  # told by its identity from what theory says

ROUNDING = 1e-12  # times of arms that differ by no more than this share are the same, counted in other steps


def dataset(experiment: Experiment, runs: Sequence[Run], simulated: Simulated) -> xr.Dataset:
    """The recordings of all runs with names and coordinates, and what is measured on them."""
    config, records = runs[0].config, simulated.records
    variables = {
        name: _labelled(experiment, config, name, np.moveaxis(values, 1, 2)[:, :records])
        for name, values in simulated.observed.items()
    } | {name: _labelled(experiment, config, name, values) for name, values in simulated.concluded.items()}
    data = _numbered(xr.Dataset(variables, coords=_coordinates(experiment, runs, simulated.times[:, :, :records])))
    return data.assign(experiment.measure(data))


def so_far(
    experiment: Experiment, runs: Sequence[Run], observed: Mapping[str, np.ndarray], times: np.ndarray
) -> xr.Dataset:
    """What has been recorded so far (runs × arms × records × …) with names, at the times of its recordings.

    Where arms differ in size, larger ones may not have begun: what they will have is not a number yet.
    """
    config, records = runs[0].config, len(times)
    arms = next(iter(observed.values())).shape[1] if observed else 1
    clocks = np.broadcast_to(times, (len(runs), arms, records))
    coordinates = _coordinates(experiment, runs, clocks)
    sizes = _sizes(coordinates)
    variables = {
        name: _padded(_labelled(experiment, config, name, np.moveaxis(values, 1, 2)[:, :records]), sizes)
        for name, values in observed.items()
    }
    return _numbered(xr.Dataset(variables, coords=coordinates))


def _sizes(coordinates: Mapping[str, Any]) -> dict[str, int]:
    """How many values there are along each dimension."""
    return {name: len(np.atleast_1d(given[1])) for name, given in coordinates.items() if given[0] == name}


def _padded(labelled: tuple, sizes: Mapping[str, int]) -> tuple:
    """A labelled variable as long as its coordinates; NaN (or zero) where there is nothing yet."""
    dims, values, attrs = labelled
    missing = [(0, sizes.get(dim, size) - size) for dim, size in zip(dims, values.shape, strict=True)]
    if not any(more > 0 for _, more in missing):
        return labelled
    fill = np.nan if np.issubdtype(values.dtype, np.floating) else 0
    return dims, np.pad(values, [(0, max(0, more)) for _, more in missing], constant_values=fill), attrs


def relabelled(
    experiment: Experiment, runs: Sequence[Run], times: np.ndarray, variables: Mapping[str, tuple]
) -> xr.Dataset:
    """Variables that were labelled and measured before, with the coordinates that runs by themselves have."""
    return _numbered(xr.Dataset(dict(variables), coords=_coordinates(experiment, runs, times)))


def on_own_clocks(experiment: Experiment, data: xr.Dataset, times: np.ndarray) -> xr.Dataset:
    """The same data with the recordings numbered, and each run's times beside them, whether or not runs share them.

    ``times`` has axes (run, arm, recording); arms that have clocks of their own are told apart.
    """
    if "clock" in data.coords and data["clock"].ndim > 2:
        return data.assign_coords(time=("time", np.arange(times.shape[2]), {"units": "recording"}))
    numbers = ("time", np.arange(times.shape[2]), {"units": "recording"})
    clock = (("run", "time"), times[:, 0], {"units": experiment.time_unit})
    return data.drop_vars("clock", errors="ignore").assign_coords(time=numbers, clock=clock)


def theory(
    experiment: Experiment,
    runs: Sequence[Run],
    times: np.ndarray,
    drawn: Sequence[Any] = (),
    kept: Kept | None = None,
) -> xr.Dataset | None:
    """What theory says of each arm of each run, at the times of its recordings (runs × arms × recordings).

    It begins with what the simulation has ``drawn``, batch by batch, or draws the same again. Answers that are ``kept``
    are taken from there, and those that are found are put there.
    """
    if not experiment.has_theory():
        return None
    outlook = Outlook(f"the theory of {experiment.name}", Counted(0, len(runs)), len(runs))
    with double(), outlook.watched():
        work = batches(experiment, runs)
        answers: dict[tuple[int, int], Mapping[str, np.ndarray]] = {}
        for done, batch in enumerate(work, 1):
            for place, found in _answers(batch, times, drawn[done - 1] if drawn else None, kept):
                answers[place] = found
                outlook.tick(lambda: Counted(len(answers), len(runs) * times.shape[1]), len(work) - done)
    names = [name for name in experiment.variables if any(name in answer for answer in answers.values())]
    if not names:
        return None
    coordinates = _coordinates(experiment, runs, times)
    sizes = _sizes(coordinates)
    variables = {
        name: _padded(_labelled(experiment, runs[0].config, name, _stacked(experiment, name, answers, times)), sizes)
        for name in names
    }
    return _numbered(xr.Dataset(variables, coords=coordinates))


def _answers(
    batch: Batch, times: np.ndarray, drawn: Any, kept: Kept | None
) -> Iterator[tuple[tuple[int, int], Answer]]:
    """What theory says of the runs and arms of a batch: ((run, arm), variables)."""
    places = [(run, arm) for run in range(len(batch.models)) for arm in batch.arms]
    models = [batch.models[run][batch.arms.index(arm)] for run, arm in places]
    grids = np.stack([times[place] for place in places])
    if not models[0].has_theory():
        return
    starts = _starts(batch, drawn) if models[0].solved_from_start else [None] * len(models)
    keys = [_identity(*asked) for asked in zip(models, starts, grids, strict=True)] if kept is not None else []
    earlier = {k: UNKNOWN if kept is None else kept.get(key, UNKNOWN) for k, key in enumerate(keys)}
    known = {k: answer for k, answer in earlier.items() if answer is not UNKNOWN}
    left = [k for k in range(len(models)) if k not in known]
    if left and not type(models[0]).solved_one_by_one():
        known, left = {}, list(range(len(models)))
    asked = [models[k] for k in left], [starts[k] for k in left], grids[left]
    found = type(models[0]).solutions(*asked) if left else iter(())
    for k, place in enumerate(places):
        answer = known[k] if k in known else _as_arrays(next(found))
        if kept is not None and k not in known:
            kept[keys[k]] = answer
        if answer is not None:
            yield place, answer


def _as_arrays(answer: Mapping[str, Any] | None) -> Answer | None:
    return None if answer is None else {name: np.asarray(values) for name, values in answer.items()}


def _identity(model: Any, start: Any, times: np.ndarray) -> Hashable:
    """What an answer of theory depends on: the model with all its settings, where it begins, and the times."""
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(jax.tree.map(_plain, start))]
    given = hashlib.blake2b(b"".join(leaf.tobytes() for leaf in (*leaves, times)), digest_size=16).digest()
    return type(model), repr(model.settings()), tuple((leaf.shape, leaf.dtype.str) for leaf in leaves), given


def _plain(leaf: Any) -> Any:
    """A key of JAX as its words."""
    keys = isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    return jax.random.key_data(leaf) if keys else leaf


def _starts(batch: Batch, drawn: Any) -> list[Any]:
    """The start of every run and arm: what has been drawn already, or drawn now."""
    leaves, structure = jax.tree.flatten(to_numpy(starts_of(batch)) if drawn is None else drawn)
    rows = [_rows(leaf) for leaf in leaves]
    return [jax.tree.unflatten(structure, [of[at] for of in rows]) for at in batch.order.ravel()]


def _rows(leaf: Any) -> list[Any]:
    """The rows of an array; of an array of keys by their words, for JAX compiles programs to take it apart."""
    if not jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return list(leaf)
    words, kind = np.asarray(jax.random.key_data(leaf)), jax.random.key_impl(leaf)
    return [jax.random.wrap_key_data(one, impl=kind) for one in words]


def _stacked(
    experiment: Experiment, name: str, answers: Mapping[tuple[int, int], Any], times: np.ndarray
) -> np.ndarray:
    """One variable of all answers, as it is recorded; NaN where theory says nothing."""
    final = experiment.variables[name].final
    own = {place: answer[name] for place, answer in answers.items() if name in answer}
    own = {place: values[-1] if final else values for place, values in own.items()}
    shape = tuple(np.max([values.shape for values in own.values()], axis=0)) if own else ()
    found = np.full((times.shape[0], times.shape[1], *shape), np.nan)
    for place, values in own.items():
        found[(*place, *(slice(0, size) for size in values.shape))] = values
    return found if final else np.moveaxis(found, 1, 2)


def _labelled(experiment: Experiment, config: Any, name: str, values: np.ndarray) -> tuple:
    """Values with the dimensions, the label and the unit that are declared; arms along dimensions of their own."""
    if name not in experiment.variables:
        raise FestinaError(f"{experiment.name} records `{name}` but does not declare it in `variables`")
    declared = experiment.variables[name]
    values = arranged(experiment, config, values, len(declared.leading))
    dims = (*declared.leading, *declared.dims)
    if len(dims) != values.ndim:
        raise FestinaError(
            f"{experiment.name} declares `{name}` with dimensions {dims}, but records shape {values.shape}"
        )
    return dims, values, {"long_name": declared.label, "units": declared.unit}


def arranged(experiment: Experiment, config: Any, values: np.ndarray, axis: int) -> np.ndarray:
    """Values with the one axis of all arms cut into those of their dimensions; NaN (or zero) where there is no arm."""
    shape = tuple(experiment.arms.shape(config).values())
    before, after = values.shape[:axis], values.shape[axis + 1 :]
    if values.shape[axis] < prod(shape):
        fill = np.nan if np.issubdtype(values.dtype, np.floating) else 0
        whole = np.full((*before, prod(shape), *after), fill, values.dtype)
        whole[(*(slice(None),) * axis, list(experiment.arms.places(config)))] = values
        values = whole
    return values.reshape(*before, *shape, *after)


def _numbered(data: xr.Dataset) -> xr.Dataset:
    """Give dimensions without values of their own the numbers 0, 1, 2, …, so that unequal sizes can be joined."""
    bare = [name for name in data.dims if name not in data.coords and name != "run"]
    return data.assign_coords({name: np.arange(data.sizes[name]) for name in bare})


def _coordinates(experiment: Experiment, runs: Sequence[Run], times: np.ndarray) -> dict[str, Any]:
    """Seeds, times, labels of arms and of the variables' own dimensions, and the continuous fields of every run."""
    config = runs[0].config
    coordinates: dict[str, Any] = {"seed": ("run", np.asarray([run.seed for run in runs]))}
    coordinates |= _clocks(experiment, config, times)
    for name in config.fields_of_kind("continuous"):
        coordinates[f"config_{name}"] = ("run", np.asarray([getattr(run.config, name) for run in runs], float))
    arms = experiment.arms.coordinates(config)
    coordinates |= {name: (dim, _as_array(values)) for name, (dim, values) in arms.items()}
    own = experiment.coordinates(config)
    return coordinates | {name: (name, _as_array(values)) for name, values in own.items()}


def _clocks(experiment: Experiment, config: Any, times: np.ndarray) -> dict[str, Any]:
    """Times as the coordinate of all, if all share them; else numbers of recordings, and clocks beside them."""
    unit = {"units": experiment.time_unit}
    if np.allclose(times, times[:1, :1], rtol=ROUNDING, atol=0.0, equal_nan=True):
        return {"time": ("time", times[0, 0], unit)}
    numbers = ("time", np.arange(times.shape[2]), {"units": "recording"})
    if np.allclose(times, times[:, :1], rtol=ROUNDING, atol=0.0, equal_nan=True):
        return {"time": numbers, "clock": (("run", "time"), times[:, 0], unit)}
    by_arm = arranged(experiment, config, np.moveaxis(times, 1, 2), 2)
    return {"time": numbers, "clock": (("run", "time", *experiment.arms.dims), by_arm, unit)}


def _as_array(values: Sequence[Any]) -> np.ndarray:
    """Labels along a dimension; a tuple is written out, as it is typed on the command line."""
    from festina.lab.tables import value_text

    flat = [value_text(value) if isinstance(value, tuple | list) else value for value in values]
    return np.asarray(flat)
