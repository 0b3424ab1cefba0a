"""What of a sweep on disk can be trusted: every group and every tile has a card with the hashes of its files.

The card of a group is written when its arrays are allocated, the card of a tile before the tile is marked as done.
What does not match its card is named, and computed again.
"""

import json
import os
import re
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path

import zarr

from festina.errors import FestinaWarning, StoreError
from festina.lab.plan import Group
from festina.lab.store import hashes, set_aside
from festina.learning.checkpoint import write_json

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


def claim_path(folder: Path, number: int, start: int) -> Path:
    """The file whose lock says that somebody is computing a tile."""
    return folder / CLAIMS / f"{number}-{start}"


def allocation_path(folder: Path, number: int) -> Path:
    """The file whose lock says that somebody is allocating a group."""
    return folder / CLAIMS / f"group-{number}"


def is_marked(folder: Path, number: int, start: int, tile: int) -> bool:
    """Whether a tile is marked as done; its content is not looked at."""
    return _mark_path(folder, number, start, tile).exists()


def _mark_path(folder: Path, number: int, start: int, tile: int) -> Path:
    return group_path(folder, number) / "done" / "c" / str(start // tile)


def count_marked(folder: Path, number: int) -> int:
    """How many tiles of a group are marked as done."""
    try:
        return sum(entry.name.isdigit() for entry in os.scandir(group_path(folder, number) / "done" / "c"))
    except OSError:
        return 0


def failures_path(folder: Path, number: int, start: int) -> Path:
    """Why runs of a tile failed."""
    return folder / FAILURES / f"{number}-{start}.json"


def reasons(folder: Path) -> list[str]:
    """Why runs failed, in the order of the sweep."""
    texts: list[str] = []
    files = (folder / FAILURES).glob("*.json")
    for path in sorted(files, key=lambda path: [int(digits) for digits in re.findall(r"\d+", path.stem)]):
        try:
            texts += json.loads(path.read_text(encoding="utf-8")).values()
        except (OSError, ValueError, AttributeError):
            texts.append(f"{path} is not readable; ask the sweep again to mend it")
    return texts


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


def mend(folder: Path, number: int, group: Group) -> None:
    """Compare a group with its cards; what is damaged is named, set aside or marked as not done."""
    trouble = _group_trouble(folder, number)
    if trouble:
        _retire_group(folder, number, trouble)
    if not group_card(folder, number).exists():
        return
    for start, stop in group.tiles():
        if not is_marked(folder, number, start, group.tile):
            continue
        trouble = _tile_trouble(folder, number, start, stop, group.tile)
        if trouble:
            _warn(f"runs {start + 1}–{stop} in {group_path(folder, number)} are damaged ({trouble}); computed again")
            _mark_path(folder, number, start, group.tile).unlink()


def _warn(text: str) -> None:
    warnings.warn(text, FestinaWarning, stacklevel=3)


def _group_trouble(folder: Path, number: int) -> str:
    """Why a group cannot be trusted; empty if it can, or if it was never allocated whole."""
    path = group_card(folder, number)
    if not path.exists():
        begun = (group_path(folder, number) / "done" / "c").exists() or any(path.parent.glob(f"{number}-*.json"))
        return f"{path.relative_to(folder)} is missing" if begun else ""
    try:
        listed = json.loads(path.read_text(encoding="utf-8"))["files"]
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
        card = json.loads(path.read_text(encoding="utf-8"))
        found = hashes(folder, _tile_files(folder, number, start, tile, card["arrays"]))
        return _difference(card["files"], found)
    except Exception:  # missing, or whatever a damaged card holds
        return f"{path.relative_to(folder)} is not readable"


def _tile_files(folder: Path, number: int, start: int, tile: int, arrays: Iterable[str]) -> list[Path]:
    """The chunk files of a tile that exist, array by array, and the reasons why its runs failed."""
    result = []
    for name in arrays:
        chunk = group_path(folder, number) / name / "c" / str(start // tile)
        result += [chunk] if chunk.is_file() else [path for path in chunk.rglob("*") if path.is_file()]
    reasons = failures_path(folder, number, start)
    return [*result, reasons] if reasons.is_file() else result


def _difference(listed: dict[str, str], found: dict[str, str]) -> str:
    names = sorted(name for name in listed.keys() | found.keys() if listed.get(name) != found.get(name))
    return f"{names[0]} is missing or changed" if names else ""
