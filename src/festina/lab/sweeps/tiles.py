"""What of a sweep on disk can be trusted: every group and every tile has a card with the hashes of its files.

The card of a group is written when its arrays are allocated, the card of a tile before the tile is marked as done.
What does not match its card is named, and computed again.
"""

import json
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import zarr

from festina.errors import FestinaWarning, StoreError
from festina.files import write_json
from festina.lab.damage import Damaged, damage_named
from festina.lab.store import hashes, set_aside
from festina.lab.sweeps.plan import Group, Tile

CARDS = "tiles"
DATA = "data.zarr"
FAILURES = "failures"
CLAIMS = "claims"


def group_path(folder: Path, number: int) -> Path:
    """The zarr group of one structure."""
    return folder / DATA / f"group-{number}"


def group_card(folder: Path, number: int) -> Path:
    """The card of a group; its presence says that the group is allocated whole."""
    return folder / CARDS / f"group-{number}.json"


def tile_card(folder: Path, number: int, start: int) -> Path:
    return folder / CARDS / f"{number}-{start}.json"


def lock_of(folder: Path) -> Path:
    """Shared by those who compute tiles, held alone by who looks for damage."""
    return folder / ".lock"


def lock_of_tile(folder: Path, number: int, start: int) -> Path:
    """The file whose lock says that somebody is computing a tile."""
    return folder / CLAIMS / f"{number}-{start}"


def lock_of_card(folder: Path) -> Path:
    """The file whose lock says that somebody is writing the card of the sweep."""
    return folder / CLAIMS / "card"


def allocation_path(folder: Path, number: int) -> Path:
    """The file whose lock says that somebody is allocating a group."""
    return folder / CLAIMS / f"group-{number}"


def is_marked(folder: Path, number: int, start: int, tile: int) -> bool:
    """Whether a tile is marked as done; its content is not looked at."""
    return _mark_path(folder, number, start, tile).exists()


def _mark_path(folder: Path, number: int, start: int, tile: int) -> Path:
    return _chunk_path(folder, number, start, tile, "done")


def count_marked(folder: Path, number: int) -> int:
    """How many tiles of a group are marked as done."""
    return len(_marks(folder, number))


def _marks(folder: Path, number: int) -> set[int]:
    """Which tiles of a group are marked as done, counted from zero."""
    try:
        entries = os.scandir(group_path(folder, number) / "done" / "c")
        return {int(entry.name) for entry in entries if entry.name.isdigit()}
    except OSError:
        return set()


def read_done(folder: Path, number: int, group: Group, array: zarr.Array) -> np.ndarray:
    """Which runs of a group are done, from the array of its marks; StoreError if one is damaged."""
    marks, path = _marks(folder, number), group_path(folder, number)  # before they are read: others may add to them
    with damage_named(path / "done"):
        done = np.asarray(array[:], bool)
    for start, stop in group.tiles():
        if start // group.tile in marks and not done[start:stop].all():
            raise Damaged(path, f"{_mark_path(folder, number, start, group.tile).relative_to(folder)} is not readable")
    return done


def failures_path(folder: Path, number: int, start: int) -> Path:
    """Why runs of a tile failed."""
    return folder / FAILURES / f"{number}-{start}.json"


def reasons(folder: Path, done: Iterable[Tile]) -> list[str]:
    """Why runs failed in tiles that are done, in their order; StoreError if that is damaged."""
    texts: list[str] = []
    for tile in done:
        path = failures_path(folder, tile.group, tile.start)
        _check(folder, tile.group, tile.start, path)
        if path.exists():
            texts += _read(path).values()
    return texts


def check_group(folder: Path, number: int) -> None:
    """StoreError if a group is not as its card says."""
    trouble = _group_trouble(folder, number)
    if trouble:
        raise Damaged(group_path(folder, number), trouble)


def check_tile(folder: Path, number: int, start: int, tile: int, name: str) -> None:
    """StoreError if one array of a tile that is done is not as the tile's card says.

    What is read is hashed, and no more. A chunk that is missing would be read as fill values, and one that is garbled
    can be decoded to other numbers: neither would be an error of zarr's.
    """
    _check(folder, number, start, _chunk_path(folder, number, start, tile, name))


def _check(folder: Path, number: int, start: int, place: Path) -> None:
    """StoreError if the files at a place, which may be a folder, are not those of a tile's card."""
    card = tile_card(folder, number, start)
    with damage_named(card):
        files = _read(card)["files"]
        own = place.relative_to(folder).as_posix()
        listed = {name: digest for name, digest in files.items() if name == own or name.startswith(f"{own}/")}
        trouble = _difference(listed, hashes(folder, _files_at(place)))
    if trouble:
        raise Damaged(group_path(folder, number), trouble)


def _read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def write_group_card(folder: Path, number: int) -> None:
    """Keep the hashes of a group just allocated: its metadata and the arrays that no run changes."""
    files = (path for path in group_path(folder, number).rglob("*") if path.is_file())
    write_json(group_card(folder, number), {"files": hashes(folder, files)})


def write_tile_card(folder: Path, number: int, start: int, tile: int, arrays: Sequence[str]) -> None:
    """Keep the hashes of a tile just written; zarr writes no chunk that equals the fill value."""
    files = hashes(folder, _tile_files(folder, number, start, tile, arrays))
    write_json(tile_card(folder, number, start), {"arrays": list(arrays), "files": files})


def clear_tile(folder: Path, number: int, start: int, tile: int, arrays: Sequence[str]) -> None:
    """Remove what is left of a tile, its mark first, so that a kill in between leaves a tile that is not done."""
    for path in _tile_files(folder, number, start, tile, ("done", *arrays)):
        path.unlink()


def is_damaged(folder: Path, number: int, group: Group) -> bool:
    """Whether a group does not match its cards."""
    return bool(_group_trouble(folder, number)) or any(_damaged_tiles(folder, number, group))


def mend(folder: Path, number: int, group: Group) -> None:
    """Compare a group with its cards; what is damaged is named, set aside or marked as not done."""
    trouble = _group_trouble(folder, number)
    if trouble:
        _retire_group(folder, number, trouble)
    for start, stop, trouble in _damaged_tiles(folder, number, group):
        _warn(f"runs {start + 1}–{stop} in {group_path(folder, number)} are damaged ({trouble}); computed again")
        _mark_path(folder, number, start, group.tile).unlink()


def _damaged_tiles(folder: Path, number: int, group: Group) -> Iterator[tuple[int, int, str]]:
    """First and last+1 run of each tile that is marked as done and cannot be trusted, and why."""
    for start, stop in group.tiles():
        if is_marked(folder, number, start, group.tile):
            trouble = _tile_trouble(folder, number, start, stop, group.tile)
            if trouble:
                yield start, stop, trouble


def _warn(text: str) -> None:
    warnings.warn(text, FestinaWarning, stacklevel=3)


def _group_trouble(folder: Path, number: int) -> str:
    """Why a group cannot be trusted; empty if it can, or if it was never allocated whole."""
    path = group_card(folder, number)
    if not path.exists():
        begun = (group_path(folder, number) / "done" / "c").exists() or any(path.parent.glob(f"{number}-*.json"))
        return f"{path.relative_to(folder)} is missing" if begun else ""
    try:
        listed = _read(path)["files"]
        found = hashes(folder, (folder / name for name in listed))
        return _difference(listed, found)
    except Exception:  # whatever a damaged card holds: it is damaged
        return f"{path.relative_to(folder)} is not readable"


def _retire_group(folder: Path, number: int, trouble: str) -> None:
    """Move a damaged group out of the way, with all that was known of it."""
    path, fate = group_path(folder, number), ""
    cards = [group_card(folder, number), *(folder / CARDS).glob(f"{number}-*.json")]
    try:
        if path.exists():
            fate = f"moved to {set_aside(path).name} and "
        for card in (*cards, *(folder / FAILURES).glob(f"{number}-*.json")):
            card.unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{path} is damaged ({trouble}) and cannot be moved: {error.strerror or error}") from error
    _warn(f"{path} is damaged ({trouble}); {fate}computed again")


def _tile_trouble(folder: Path, number: int, start: int, stop: int, tile: int) -> str:
    """Why a tile that is marked as done cannot be trusted; empty if it can."""
    mark = _mark_path(folder, number, start, tile)
    try:
        sound = bool(zarr.open_array(group_path(folder, number) / "done", mode="r")[start:stop].all())  # pyright: ignore
    except Exception:  # zarr and its codecs raise many kinds: none of them is a tile that is done
        sound = False
    if not sound:
        return f"{mark.relative_to(folder)} is not readable"
    path = tile_card(folder, number, start)
    try:
        card = _read(path)
        found = hashes(folder, _tile_files(folder, number, start, tile, card["arrays"]))
        return _difference(card["files"], found)
    except Exception:  # missing, or whatever a damaged card holds
        return f"{path.relative_to(folder)} is not readable"


def _tile_files(folder: Path, number: int, start: int, tile: int, arrays: Iterable[str]) -> list[Path]:
    """The chunk files of a tile that exist, array by array, and the reasons why its runs failed."""
    places = [_chunk_path(folder, number, start, tile, name) for name in arrays]
    return [path for place in (*places, failures_path(folder, number, start)) for path in _files_at(place)]


def _chunk_path(folder: Path, number: int, start: int, tile: int, name: str) -> Path:
    """Where a tile of an array is: a file, or a folder if the array has more dimensions than runs."""
    return group_path(folder, number) / name / "c" / str(start // tile)


def _files_at(place: Path) -> list[Path]:
    return [place] if place.is_file() else [path for path in place.rglob("*") if path.is_file()]


def _difference(listed: dict[str, str], found: dict[str, str]) -> str:
    names = sorted(name for name in listed.keys() | found.keys() if listed.get(name) != found.get(name))
    return f"{names[0]} is missing or changed" if names else ""
