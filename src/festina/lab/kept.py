"""Results that are kept: `festina.load` opens one from its folder, and `Result.save` writes one into a folder."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from festina.errors import ArgumentError, FestinaError, StoreError, UnknownName, one_line
from festina.experiment import Experiment, Result
from festina.lab import store as stores
from festina.lab.damage import read_sealed
from festina.lab.provenance import provenance
from festina.lab.question import Question
from festina.lab.registry import find
from festina.lab.run import as_experiment
from festina.lab.sweeps.folder import is_sweep


def load(path: str | os.PathLike[str], *, experiment: str | Experiment | None = None) -> Result:
    """Open a saved result; nothing is computed but claims that it has no verdict on.

    Args:
        path: the folder of a result: one of a store, as `festina run` names it, or what `Result.save` wrote.
        experiment: that the result is of, if festina does not know it by name: itself, its class, or its file.

    Returns:
        The result as it was saved, to the last bit, with its verdicts.

    Example:
        >>> import tempfile
        >>> import festina as fs
        >>> result = fs.run("linear/chain", budget="quick", depth=2, records=20)
        >>> folder = result.save(tempfile.mkdtemp() + "/chain")
        >>> fs.load(folder).data.identical(result.data)
        True
    """
    folder = Path(path)
    _check_is_result(folder)
    trouble = stores.find_trouble(folder)
    if trouble:
        raise StoreError(f"{folder} is {trouble}; ask its question again to have it computed anew")
    card = read_sealed(folder / stores.CARD)
    try:
        return stores.opened(folder, _experiment_of(folder, card, experiment), card)
    except (FestinaError, MemoryError):
        raise
    except Exception as error:  # zarr and its codecs raise many kinds
        raise StoreError(f"cannot read {folder}: {one_line(error)}") from error


def save(result: Result, path: str | os.PathLike[str]) -> Path:
    """Write a result into a folder that `load` opens: there it is whole, or not at all; see `Result.save`."""
    folder = Path(path)
    if folder.exists() and not (folder / stores.CARD).exists() and not _is_empty(folder):
        raise ArgumentError(
            f"Argument `path` must be a new folder, or that of a result to be replaced, but is {str(folder)!r}, "
            "which holds something else."
        )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    except OSError as error:
        raise StoreError(f"cannot write {folder}: {error.strerror or error}") from error
    try:
        stores.save(beside / "new", result, _card(result))
        if folder.exists():
            folder.rename(beside / "old")
        (beside / "new").rename(folder)
    except OSError as error:
        raise StoreError(f"cannot write {folder}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return folder


def _check_is_result(folder: Path) -> None:
    """Say of a path that is no result what it is."""
    if (folder / stores.CARD).exists():
        return
    if not folder.exists():
        what = "where there is nothing"
    elif not folder.is_dir():
        what = "which is a file"
    elif is_sweep(folder):
        what = "which is that of a sweep; `festina.lab.open_sweep` opens it"
    elif (folder / stores.DATA).exists() or any(folder.glob("checkpoint*.npz")):
        what = "which is unfinished; ask its question again to go on"
    else:
        within = sorted(found.parent for found in folder.rglob(stores.CARD))
        what = f"which holds {len(within)}, such as {within[0]}" if within else "which holds none"
    raise ArgumentError(f"Argument `path` must be the folder of a result, but is {str(folder)!r}, {what}.")


def _is_empty(folder: Path) -> bool:
    return folder.is_dir() and not any(folder.iterdir())


def _experiment_of(folder: Path, card: dict[str, Any], given: str | Experiment | None) -> Experiment:
    """The experiment that a result is of, if its settings are still those of a question."""
    name, version = card["experiment"], card.get("version", "?")
    try:
        experiment = find(name) if given is None else as_experiment(given)
    except UnknownName as error:
        raise StoreError(
            f"{folder} is a result of {name!r}, which this festina does not know ({error}); "
            "load(path, experiment=...) says what it is"
        ) from error
    if experiment.name != name:
        raise ArgumentError(
            f"Argument `experiment` must be {name!r}, which {folder} is of, but is {experiment.name!r}."
        )
    try:
        experiment.Config.checked(name, card["config"])
    except FestinaError as error:
        raise StoreError(
            f"{folder} was saved by festina {version} with settings that {name} refuses: {error}"
        ) from error
    return experiment


def _card(result: Result) -> dict[str, Any]:
    """Where a result comes from: what it says itself, or else, if put together by hand, this machine."""
    known = {name: value for name, value in result.data.attrs.items() if not name.startswith("config_")}
    return provenance(result.experiment) | known | Question.answered_by(result).as_json()
