"""Damage to what is stored, in festina's own words: what is damaged, why, and how it is mended."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from festina.errors import FestinaError, StoreError, one_line
from festina.files import write_json


class Damaged(StoreError):
    """A file or folder of a sweep is not what was written; ``what`` says which, and why."""

    def __init__(self, path: Path, why: str) -> None:
        self.what = f"{path} is damaged ({why})"
        super().__init__(f"{self.what}; ask the sweep again to mend it")


@contextmanager
def damage_named(path: Path) -> Iterator[None]:
    """Read what is in ``path`` within: whatever a library raises, and zarr and its codecs raise many kinds, is damage.

    What says nothing of the files stays what it is: too little memory, and a file that this user may not read.
    """
    try:
        yield
    except (FestinaError, MemoryError):
        raise
    except PermissionError as error:
        raise StoreError(f"cannot read {path}: {error.strerror or error}") from error
    except Exception as error:
        raise Damaged(path, one_line(error)) from error


def write_sealed(path: Path, card: dict[str, Any]) -> None:
    """Write a card with a hash of its own content, so that a changed number is noticed."""
    write_json(path, card | {"seal": _seal(card)})


def read_sealed(path: Path) -> dict[str, Any]:
    """The content of a card; ValueError says what is wrong with it: it `is not readable`, or `was changed`."""
    try:
        card = json.loads(path.read_text(encoding="utf-8"))
        sealed = card.pop("seal")
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError("is not readable") from None
    if sealed != _seal(card):
        raise ValueError("was changed")
    return card


def _seal(card: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(card, sort_keys=True).encode()).hexdigest()
