"""What can be asked of one model without the lab's store: its theory, its grid of settings, its derivatives."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jaxtyping import Array

from festina.compiling import quick_jit
from festina.errors import ArgumentError, FestinaError, UnknownName
from festina.lab.batch import Builder, make_batch, starts_of
from festina.lab.registry import find
from festina.lab.sweeps.swept import Swept
from festina.model import Model
from festina.precision import double, is_traced, to_numpy
from festina.theory.solution import Solution

Values = dict[str, Any]


def theory_of_seed(model: Model, seed: int) -> Solution:
    """The exact solution from the start that a seed draws."""
    with double():
        solution = model.solution(_start(model, seed) if model.solved_from_start else None)
    if solution is None:
        raise ArgumentError(f"Argument `model` must have a theory, but {model!r} has none.")
    return partial(_at_any_times, solution)


def _start(model: Model, seed: int) -> Any:
    batch = make_batch(Builder.of(model), [0], [[model]], [seed])
    return jax.tree.map(lambda leaf: leaf[0], to_numpy(starts_of(batch)))


def _at_any_times(solution: Solution, time: Any) -> dict[str, Any]:
    """What a solution of a model, which the lab asks for a row of times, says at one time or at any array of them."""
    if is_traced(time):
        return solution(time)
    times = np.asarray(time, float)
    rising, place = np.unique(times, return_inverse=True)  # as an integration needs them
    with double():
        found = to_numpy(solution(rising))
    return {name: np.asarray(values)[place.reshape(times.shape)] for name, values in found.items()}


def sweep_of(model: Model, over: Mapping[str, Sequence[Any]], *, seeds: int, store: str | Path | None) -> Swept:
    """A sweep of a model over some of its fields; what is not kept in a store is computed here and read whole."""
    from festina.lab.sweeps.executors import InProcess
    from festina.lab.sweeps.sweep import sweep

    fixed = {name: value for name, value in model.settings().items() if name not in over}
    experiment = find(f"model/{model.name}")
    if store is not None:
        return sweep(experiment, over, store=store, seeds=seeds, **fixed)
    with TemporaryDirectory() as folder:
        return sweep(experiment, over, store=folder, seeds=seeds, executor=InProcess(), **fixed).load()


def derivative_of(model: Model, variable: str, field: str, seed: int) -> xr.DataArray:
    """∂(variable)/∂(field) along the run of a seed, over time and the variable's own dimensions."""
    if variable not in model.variables or model.variables[variable].final:
        known = [name for name, kind in model.variables.items() if not kind.final]
        raise UnknownName(f"variable of model/{model.name} over time", variable, known)
    if field not in model.fields_of_kind("continuous"):
        raise UnknownName(f"continuous field of model/{model.name}", field, model.fields_of_kind("continuous"))
    fields = {name: float(getattr(model, name)) for name in model.fields_of_kind("continuous")}
    with double():
        times, values = to_numpy(_slope_along(Builder.of(model), variable, fields, field, jnp.asarray(seed)))
    if not np.isfinite(values).any():
        raise FestinaError(f"∂{variable}/∂{field} of {model!r} does not exist: its start is not differentiable there")
    kind = model.variables[variable]
    coordinates = {name: values for name, values in model.coordinates().items() if name in kind.dims}
    found = xr.DataArray(values, dims=("time", *kind.dims), coords={"time": times} | coordinates)
    return found.assign_attrs(long_name=f"∂({kind.label})/∂({field})")


def _slope_along(
    builder: Builder, variable: str, fields: dict[str, float], field: str, seed: Array
) -> tuple[Array, Array]:
    """Times, and the derivative of a variable by one field; the direction is data, so that one program serves all.

    Where another field has an infinite slope, of which nothing is wanted, the one field has to be taken alone.
    """
    unit = {name: jnp.asarray(float(name == field)) for name in fields}
    point = {name: jnp.asarray(value) for name, value in fields.items()}
    times, slopes = _slope(builder, variable, point, unit, {"seed": seed})
    if bool(jnp.all(jnp.isfinite(slopes))):
        return times, slopes
    others = {name: value for name, value in point.items() if name != field} | {"seed": seed}
    return _slope(builder, variable, {field: point[field]}, {field: unit[field]}, others)


@partial(quick_jit, static_argnums=(0, 1))
def _slope(builder: Builder, variable: str, point: Values, direction: Values, others: Values) -> tuple[Array, Array]:
    """Times, and the slope of a variable at all of them along a direction: one forward pass beside the simulation."""

    def curve(point: Values) -> tuple[Array, Array]:
        process = builder(others | point)

        def to_next(state: Any, index: Any) -> tuple[Any, Array]:
            state = process.advance(state, index)
            return state, process.observe(state)[variable]

        start = jax.tree.map(jnp.asarray, process.initial)
        later = jax.lax.scan(to_next, start, jnp.arange(1, process.times.shape[0]))[1]
        return process.times, jnp.concatenate([process.observe(start)[variable][None], later])

    (times, _), (_, slopes) = jax.jvp(curve, (point,), (direction,))
    return times, slopes
