"""Results on disk: whole or not at all, checked before they are trusted.

A result is a folder `<store>/<family>/<experiment>/<hash>/` with the data (zarr), the figure, and `result.json`,
which is written last, lists the hash of every data file, and is sealed by a hash of its own. A folder without it is
half-written; a folder whose files do not match it is damaged. Neither is trusted: it is set aside, named, and computed
again.
"""

import hashlib
import os
import shutil
import warnings
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import xarray as xr

from festina.errors import FestinaWarning, StoreError
from festina.experiment import Experiment, Result
from festina.lab.damage import read_sealed, write_sealed
from festina.verdicts import Verdict

CARD = "result.json"
DATA = "data.zarr"


def result_folder(store: Path, experiment: Experiment, key: str) -> Path:
    """Where a result lives."""
    return store / experiment.name / key


def check_writable(store: Path) -> None:
    """Say at once, and not after the work, that a folder cannot be written."""
    try:
        store.mkdir(parents=True, exist_ok=True)
        probe = store / f".writable.{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise StoreError(f"cannot write results to {store}: {error.strerror or error}") from error


def save(folder: Path, result: Result, card: dict[str, Any]) -> None:
    """Write a result; the card comes last, so that a kill in between leaves a folder that is seen to be
    half-written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / CARD).unlink(missing_ok=True)  # of a result that is computed afresh: its data is about to go
        shutil.rmtree(folder / DATA, ignore_errors=True)
        write_zarr(result.data, folder / DATA, "simulation")
        if result.theory is not None:
            write_zarr(result.theory, folder / DATA, "theory")
    except OSError as error:
        raise StoreError(f"cannot write {folder}: {error.strerror or error}") from error
    sound = [verdict.as_dict() for verdict in result.verdicts if verdict.outcome != "broken"]
    card = card | {"verdicts": sound, "files": manifest(folder)}
    write_sealed(folder / CARD, card)


def write_zarr(data: xr.Dataset, path: Path, group: str) -> None:
    """Write one group; failures come as OSError, whatever zarr wraps them in."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zarr warns of string coordinates, which it does write
        data.to_zarr(path, group=group, mode="w", consolidated=False)


def read_zarr(path: Path, group: str) -> xr.Dataset:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with xr.open_zarr(path, group=group, consolidated=False) as lazy:
            return lazy.load()


def load(folder: Path, experiment: Experiment) -> Result | None:
    """A stored result, or None if there is none that can be trusted."""
    if not folder.exists():
        return None
    trouble = find_trouble(folder)
    if trouble:
        if trouble != "unfinished":
            aside = set_aside(folder)
            warnings.warn(
                f"stored result {folder} is {trouble}; moved to {aside.name} and computed again",
                FestinaWarning,
                stacklevel=2,
            )
        return None
    return opened(folder, experiment, read_sealed(folder / CARD))


def opened(folder: Path, experiment: Experiment, card: dict[str, Any]) -> Result:
    """The result in a folder that can be trusted, and that a card belongs to."""
    has_theory = (folder / DATA / "theory").exists()
    result = Result(
        experiment=experiment,
        config=experiment.Config(**card["config"]),
        data=read_zarr(folder / DATA, "simulation"),
        theory=read_zarr(folder / DATA, "theory") if has_theory else None,
        path=folder,
        from_store=True,
    )
    known = {entry["claim"]: Verdict(**entry) for entry in card["verdicts"]}
    verdicts = (known.get(claim.id) or claim.judge(result, card["budget"]) for claim in experiment.claims)
    return replace(result, verdicts=tuple(verdicts))  # a claim that broke has none in the store, and is tried again


def find_trouble(folder: Path) -> str:
    """Why a folder cannot be trusted; empty if it can, `unfinished` if work on it was merely cut short."""
    path = folder / CARD
    if not path.exists():
        return "unfinished"
    try:
        listed = read_sealed(path)["files"]
    except OSError:
        return f"damaged ({CARD} is not readable)"
    except ValueError as error:
        return f"damaged ({CARD} {error})"
    found = manifest(folder)
    changed = sorted(name for name in listed if found.get(name) != listed[name])
    return f"damaged ({changed[0]} is missing or changed)" if changed else ""


def lock_of(folder: Path) -> Path:
    """The file whose lock lets one process at a time work on a result."""
    return folder.with_name(f".{folder.name}.lock")


def manifest(folder: Path) -> dict[str, str]:
    """The hash of every data file in a folder."""
    return hashes(folder, (folder / DATA).rglob("*"))


def hashes(folder: Path, paths: Iterable[Path]) -> dict[str, str]:
    """The hash of every file among ``paths``, by its name within a folder."""
    files = sorted(path for path in paths if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def set_aside(folder: Path) -> Path:
    """Move a damaged folder out of the way; nothing is deleted."""
    for number in range(1, 1000):
        aside = folder.with_name(f"{folder.name}.damaged-{number}")
        if not aside.exists():
            folder.rename(aside)
            return aside
    raise StoreError(f"too many damaged copies of {folder}; remove them")
