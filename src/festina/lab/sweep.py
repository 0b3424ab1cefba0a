"""Sweeps: any number of axes × seeds, in compiled batches, into a store that survives a kill at any moment."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import xarray as xr

from festina.errors import ArgumentError, Interrupted, StoreError, require
from festina.experiment import Budget, Experiment
from festina.lab.axes import Axis, checked, parse_axis
from festina.lab.batch import dataset, on_own_clocks, simulate
from festina.lab.grid import CARD, damaged_card, open_sweep, read_card, write_tile
from festina.lab.plan import Plan, make_plan
from festina.lab.provenance import code_digest, digest, own_code, provenance
from festina.lab.registry import find
from festina.lab.store import check_writable
from festina.lab.tiles import alone, unfinished
from festina.learning.checkpoint import write_json
from festina.learning.progress import Progress

MOST_SEEDS = 1_000_000


def sweep(
    experiment: str | Experiment,
    over: Mapping[str, Sequence[Any]] | Sequence[str] | str,
    *,
    store: str | Path,
    seeds: int | None = None,
    first_seed: int = 0,
    budget: Budget = "full",
    variables: Sequence[str] | None = None,
    tile: int | None = None,
    **fields: Any,
) -> xr.Dataset:
    """Run an experiment at every point of a grid, and give the results as one data set with the grid's axes.

    Args:
        experiment: its name, or an `Experiment`.
        over: values for each field, or texts such as ``"initial=log:1e-6:1e-2:20"``.
        store: a folder; a sweep that finds its own earlier work there goes on from it.
        seeds: how many seeds at every point.
        first_seed: the first of them.
        budget: `quick` or `full`.
        variables: keep only these variables.
        tile: runs per compiled batch; chosen to fit memory unless given.
        **fields: configuration fields that stay fixed.
    """
    experiment = find(experiment) if isinstance(experiment, str) else experiment
    require(budget in ("quick", "full"), "budget", "be 'quick' or 'full'", budget)
    count = experiment.seeds_at(budget) if seeds is None else seeds
    require(1 <= count <= MOST_SEEDS, "seeds", f"be at least 1 and at most {MOST_SEEDS:_}", count)
    require(first_seed >= 0, "first_seed", "be zero or positive", first_seed)
    require(tile is None or tile >= 1, "tile", "be at least 1", tile)
    variables = [variables] if isinstance(variables, str) else variables
    _check_names(variables, experiment.variables)
    axes = checked(experiment, _axes(over), budget, fields)
    plan = make_plan(experiment, axes, tuple(range(first_seed, first_seed + count)), budget, fields, tile)
    folder = sweep_folder(Path(store), plan, variables)
    prepare(folder, plan)
    work(folder, plan, variables)
    return open_sweep(folder, experiment)


def _axes(over: Mapping[str, Sequence[Any]] | Sequence[str] | str) -> list[Axis]:
    if isinstance(over, Mapping):
        return [Axis(name, tuple(values)) for name, values in over.items()]
    return [parse_axis(text) for text in ([over] if isinstance(over, str) else over)]


def _check_names(variables: Sequence[str] | None, known: Collection[str]) -> None:
    if variables is None:
        return
    unknown = [name for name in variables if name not in known]
    if unknown or not variables:
        names = f"names {', '.join(unknown)}" if unknown else "is empty"
        raise ArgumentError(f"Argument `variables` must name some of {', '.join(sorted(known))}, but {names}.")


def sweep_folder(store: Path, plan: Plan, variables: Sequence[str] | None) -> Path:
    """Where a sweep lives: the same question always in the same folder."""
    key = digest(plan.question(), sorted(variables) if variables else None, own_code(plan.experiment))
    return store / plan.experiment.name / f"sweep-{key}"


def prepare(folder: Path, plan: Plan) -> None:
    """Start a sweep's folder, or make sure that the one that is there may be gone on with."""
    check_writable(folder)
    card = {"question": plan.question(), **provenance()}
    if not (folder / CARD).exists():
        write_json(folder / CARD, card)
        return
    known = read_card(folder)
    if known["code"] != code_digest():
        raise StoreError(
            f"{folder} was begun by festina {known['version']} (code {known['code']}), this is "
            f"{card['version']} (code {card['code']}); finish it with that version, or choose another store"
        )
    if json.dumps(known["question"]) != json.dumps(card["question"]):
        raise damaged_card(folder)


def work(folder: Path, plan: Plan, variables: Sequence[str] | None = None) -> None:
    """Compute every tile that is not done yet, or that cannot be trusted."""
    with alone(folder), Progress(f"sweep {plan.experiment.name}", total=plan.runs, unit="run") as progress:
        pending = _pending(folder, plan)
        progress.advance(plan.runs - sum(stop - start for _, start, stop in pending))
        for number, start, stop in pending:
            _compute_tile(folder, plan, number, start, stop, variables)
            progress.advance(stop - start)


def _pending(folder: Path, plan: Plan) -> list[tuple[int, int, int]]:
    return [
        (number, start, stop)
        for number, group in enumerate(plan.groups)
        for start, stop in unfinished(folder, number, group)
    ]


def _compute_tile(
    folder: Path, plan: Plan, number: int, start: int, stop: int, variables: Sequence[str] | None
) -> None:
    group = plan.groups[number]
    runs = group.padded(start, stop)
    outcome = simulate(plan.experiment, runs, label=f"runs {start + 1}–{stop}")
    if outcome.interrupted:
        raise Interrupted(f"sweep interrupted; finished batches are kept in {folder}, ask again to go on")
    data = on_own_clocks(plan.experiment, dataset(plan.experiment, runs, outcome), outcome.times)
    data = _select(data, variables).isel(run=slice(0, stop - start))
    failures = [replace(f, run=f.run + start) for f in outcome.failures if f.run < stop - start]
    reasons = {failure.run: f"{plan.point(number, failure.run)}: {failure}" for failure in failures}
    write_tile(folder, number, group, start, data, reasons)


def _select(data: xr.Dataset, variables: Sequence[str] | None) -> xr.Dataset:
    _check_names(variables, [str(name) for name in data.data_vars])
    return data if variables is None else data[list(variables)]
