"""The folder of a sweep: which sweep it is, whether it may be gone on with, and what of it is left to do."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from festina.errors import StoreError
from festina.experiment import Experiment
from festina.lab import tiles
from festina.lab.axes import Axis, checked
from festina.lab.locks import claimed
from festina.lab.plan import Plan, Tile, make_plan
from festina.lab.provenance import code_digest, digest, own_code, provenance
from festina.lab.registry import find
from festina.lab.store import check_writable
from festina.learning.checkpoint import write_json

CARD = "sweep.json"
NEEDED = {"experiment", "config", "axes", "seeds", "budget", "variables", "tiles"}


def sweep_folder(store: Path, plan: Plan) -> Path:
    """Where a sweep lives: the same question always in the same folder."""
    return store / plan.experiment.name / f"sweep-{digest(plan.question(), own_code(plan.experiment))}"


def prepare(folder: Path, plan: Plan) -> None:
    """Start a sweep's folder, or make sure that the one that is there may be gone on with."""
    check_writable(folder)
    card = {"question": plan.question(), **provenance()}
    if not (folder / CARD).exists():
        write_json(folder / CARD, card)
        return
    check_code(folder)
    if json.dumps(read_card(folder)["question"]) != json.dumps(card["question"]):
        raise damaged_card(folder)


def check_code(folder: Path) -> None:
    """Refuse to go on with what another version of the code began: the bits would not match."""
    known, own = read_card(folder), provenance()
    if known["code"] != code_digest():
        raise StoreError(
            f"{folder} was begun by festina {known['version']} (code {known['code']}), this is "
            f"{own['version']} (code {code_digest()}); finish it with that version, or choose another store"
        )


def read_card(folder: Path) -> dict[str, Any]:
    """What a sweep's folder says it is."""
    path = folder / CARD
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
        whole = {"question", "version", "code"} <= card.keys() and card["question"].keys() >= NEEDED
    except OSError as error:
        raise StoreError(f"{folder} holds no readable sweep: {error}") from None
    except (ValueError, AttributeError):
        whole, card = False, {}
    if not whole:
        raise damaged_card(folder)
    return card


def damaged_card(folder: Path) -> StoreError:
    return StoreError(f"{folder / CARD} is damaged; remove {folder} to start the sweep anew")


def stored_plan(folder: Path, experiment: Experiment | None = None) -> Plan:
    """The plan of a sweep on disk; ``experiment`` is needed only if festina does not know it by name."""
    question = read_card(folder)["question"]
    experiment = find(question["experiment"]) if experiment is None else experiment
    try:
        axes = [Axis(name, tuple(values)) for name, values in question["axes"]]
        seeds = tuple(int(seed) for seed in question["seeds"])
        fields = {k: v for k, v in question["config"].items() if k not in {axis.name for axis in axes}}
        sizes = [int(size) for size in question["tiles"]]
    except (TypeError, ValueError, AttributeError):
        raise damaged_card(folder) from None
    axes = checked(experiment, axes, question["budget"], fields)
    return make_plan(experiment, axes, seeds, question["budget"], fields, question["variables"], sizes)


def sweeps_in(place: Path) -> list[Path]:
    """The sweeps of a store, or the one that a folder is."""
    if (place / CARD).exists():
        return [place]
    found = sorted(path.parent for path in place.glob(f"*/*/sweep-*/{CARD}")) if place.is_dir() else []
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
    return Status(
        plan.experiment.name,
        folder,
        plan.runs,
        plan.runs - sum(tile.runs for tile in left),
        len(tiles.reasons(folder)),
        sum(_is_claimed(folder, tile) for tile in left),
    )


def _is_claimed(folder: Path, tile: Tile) -> bool:
    path = tiles.claim_path(folder, tile.group, tile.start)
    if not path.exists():
        return False
    with claimed(path) as free:
        return not free
