"""Sweeps: any number of axes × seeds, in compiled batches, into a store that survives a kill at any moment."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import xarray as xr

from festina.errors import ArgumentError, Interrupted, StoreError, require
from festina.experiment import Budget, Experiment
from festina.lab.axes import Axis, checked, parse_axis
from festina.lab.batch import dataset, simulate
from festina.lab.grid import CARD, open_sweep, read_done, write_tile
from festina.lab.plan import Plan, make_plan
from festina.lab.provenance import code_digest, digest, provenance
from festina.lab.registry import find
from festina.lab.store import check_writable
from festina.learning.checkpoint import write_json
from festina.learning.progress import Progress


def sweep(
    experiment: str | Experiment,
    over: Mapping[str, Sequence[Any]] | Sequence[str],
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
    count = experiment.seeds_at(budget) if seeds is None else seeds
    require(count >= 1, "seeds", "be at least 1", count)
    require(tile is None or tile >= 1, "tile", "be at least 1", tile)
    axes = [Axis(k, tuple(v)) for k, v in over.items()] if isinstance(over, Mapping) else [parse_axis(o) for o in over]
    axes = checked(experiment, axes, budget, fields)
    plan = make_plan(experiment, axes, tuple(range(first_seed, first_seed + count)), budget, fields, tile)
    folder = sweep_folder(Path(store), plan, variables)
    prepare(folder, plan)
    work(folder, plan, variables)
    return open_sweep(folder)


def sweep_folder(store: Path, plan: Plan, variables: Sequence[str] | None) -> Path:
    """Where a sweep lives: the same question always in the same folder."""
    key = digest(plan.question(), sorted(variables) if variables else None)
    return store / plan.experiment.name / f"sweep-{key}"


def prepare(folder: Path, plan: Plan) -> None:
    """Start a sweep's folder, or make sure that the one that is there may be gone on with."""
    check_writable(folder)
    card = {"question": plan.question(), **provenance()}
    path = folder / CARD
    if path.exists():
        try:
            known = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            raise StoreError(f"{path} is damaged; remove {folder} to start the sweep anew") from None
        if known["code"] != code_digest():
            raise StoreError(
                f"{folder} was begun by festina {known['version']} (code {known['code']}), this is "
                f"{card['version']} (code {card['code']}); finish it with that version, or choose another store"
            )
        return
    write_json(path, card)


def work(folder: Path, plan: Plan, variables: Sequence[str] | None = None) -> None:
    """Compute every tile that is not done yet."""
    pending = list(_pending(folder, plan))
    total = plan.runs
    left = sum(stop - start for _, start, stop in pending)
    with Progress(f"sweep {plan.experiment.name}", total=total, unit="run") as progress:
        progress.advance(total - left)
        for number, start, stop in pending:
            _compute_tile(folder, plan, number, start, stop, variables)
            progress.advance(stop - start)


def _pending(folder: Path, plan: Plan) -> Iterator[tuple[int, int, int]]:
    for number, group in enumerate(plan.groups):
        done = read_done(folder, number, len(group.runs))
        for start, stop in group.tiles():
            if not done[start:stop].all():
                yield number, start, stop


def _compute_tile(
    folder: Path, plan: Plan, number: int, start: int, stop: int, variables: Sequence[str] | None
) -> None:
    group = plan.groups[number]
    runs = group.padded(start, stop)
    outcome = simulate(plan.experiment, runs, label=f"runs {start + 1}–{stop}")
    if outcome.interrupted:
        raise Interrupted(f"sweep interrupted; finished batches are kept in {folder}, ask again to go on")
    data = _select(dataset(plan.experiment, runs, outcome), variables).isel(run=slice(0, stop - start))
    failures = [replace(f, run=f.run + start) for f in outcome.failures if f.run < stop - start]
    write_tile(folder, number, group, start, data, failures)


def _select(data: xr.Dataset, variables: Sequence[str] | None) -> xr.Dataset:
    unknown = [name for name in variables or () if name not in data]
    if unknown:
        known = ", ".join(sorted(map(str, data.data_vars)))
        raise ArgumentError(f"Argument `variables` must name some of {known}, but names {', '.join(unknown)}.")
    return data if variables is None else data[list(variables)]
