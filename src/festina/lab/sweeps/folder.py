"""The folder of a sweep: which sweep it is, whether it may be gone on with, and what of it is left to do."""

import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from festina.errors import FestinaWarning, StoreError
from festina.experiment import Experiment
from festina.lab.damage import Damaged, read_sealed, write_sealed
from festina.lab.identity import identity
from festina.lab.locks import exclusive, taken
from festina.lab.provenance import digest, provenance
from festina.lab.registry import find
from festina.lab.store import check_writable, set_aside
from festina.lab.sweeps import tiles
from festina.lab.sweeps.axes import Axis, checked
from festina.lab.sweeps.plan import Plan, Tile, make_plan

CARD = "sweep.json"


def sweep_folder(store: Path, plan: Plan) -> Path:
    """Where a sweep lives: the same question, asked of the same code, always in the same folder."""
    return store / plan.experiment.name / f"sweep-{digest(plan.question(), identity(plan.experiment))}"


def prepare(folder: Path, plan: Plan) -> None:
    """Start a sweep's folder, or make sure that the one that is there may be gone on with."""
    check_writable(folder)
    with exclusive(tiles.lock_of_card(folder)):
        if is_sweep(folder):
            _mend_card(folder)
        if not (folder / CARD).exists():
            write_sealed(folder / CARD, {"question": plan.question(), **provenance(plan.experiment)})
    if json.dumps(read_card(folder)["question"]) != json.dumps(plan.question()):
        raise StoreError(f"{folder} holds another sweep than its name says; choose another store")


def is_sweep(folder: Path) -> bool:
    """Whether a folder is that of a sweep, be its card missing."""
    return (folder / CARD).exists() or (folder / tiles.CARDS).exists()


def _mend_card(folder: Path) -> None:
    """Move a damaged card out of the way, for another to be written: the folder's name says which sweep it is."""
    path = folder / CARD
    try:
        read_card(folder)
    except Damaged as damage:
        fate = f"moved to {set_aside(path).name} and " if path.exists() else ""
        warnings.warn(f"{damage.what}; {fate}written anew", FestinaWarning, stacklevel=4)


def check_code(folder: Path, plan: Plan) -> None:
    """Refuse to go on with what another version of the code began: the bits would not match."""
    known, own = read_card(folder), provenance(plan.experiment)
    if known["code"] != own["code"]:
        raise StoreError(
            f"{folder} was begun by festina {known['version']} (code {known['code']}), this is "
            f"{own['version']} (code {own['code']}); finish it with that version, or ask for it anew"
        )


def read_card(folder: Path) -> dict[str, Any]:
    """What a sweep's folder says it is."""
    path = folder / CARD
    if is_sweep(folder) and not path.exists():
        raise Damaged(path, "it is missing")
    try:
        return read_sealed(path)
    except OSError as error:
        raise StoreError(f"{folder} holds no readable sweep: {error}") from None
    except ValueError as error:
        raise Damaged(path, f"it {error}") from None


def stored_plan(folder: Path, experiment: str | Experiment | None = None) -> Plan:
    """The plan of a sweep on disk; ``experiment``, or its file, is needed only if festina does not know its name."""
    question = read_card(folder)["question"]
    asked = question["experiment"] if experiment is None else experiment
    own = find(asked) if isinstance(asked, str) else asked
    axes = [Axis(name, tuple(values)) for name, values in question["axes"]]
    fields = {k: v for k, v in question["config"].items() if k not in {axis.name for axis in axes}}
    axes = checked(own, axes, question["budget"], fields)
    seeds, variables = tuple(question["seeds"]), question["variables"]
    return make_plan(own, axes, seeds, question["budget"], fields, variables, question["tiles"])


def sweeps_in(place: Path) -> list[Path]:
    """The sweeps of a store, or the one that a folder is."""
    if is_sweep(place):
        return [place]
    found = sorted(path for path in place.glob("*/*/sweep-*") if is_sweep(path)) if place.is_dir() else []
    if not found:
        raise StoreError(f"{place} holds no sweep: name a store, or the folder of a sweep")
    return found


def unmarked(folder: Path, plan: Plan) -> Iterator[Tile]:
    """Tiles that are not marked as done."""
    for tile in plan.tiles():
        if not tiles.is_marked(folder, tile.group, tile.start, plan.groups[tile.group].tile):
            yield tile


@dataclass(frozen=True)
class Status:
    """How far a sweep is.

    Attributes:
        experiment: what is swept.
        folder: where.
        runs: all of them.
        done: runs that are finished, among them those that failed.
        failed: runs that failed.
        at_work: tiles that some process is computing at this moment.
    """

    experiment: str
    folder: Path
    runs: int
    done: int
    failed: int
    at_work: int


def status(folder: Path, experiment: Experiment | None = None) -> Status:
    """How far a sweep is, without disturbing those who work on it."""
    plan = stored_plan(folder, experiment)
    left = list(unmarked(folder, plan))
    done = sorted(set(plan.tiles()) - set(left))
    return Status(
        plan.experiment.name,
        folder,
        plan.runs,
        sum(tile.runs for tile in done),
        len(tiles.reasons(folder, done)),
        sum(_is_taken(folder, tile) for tile in left),
    )


def _is_taken(folder: Path, tile: Tile) -> bool:
    path = tiles.lock_of_tile(folder, tile.group, tile.start)
    if not path.exists():
        return False
    with taken(path) as free:
        return not free
