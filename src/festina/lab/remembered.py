"""How long a question will take, from what the store remembers of questions like it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from festina.lab.damage import read_sealed
from festina.lab.question import Question
from festina.lab.store import CARD, result_folder


def seconds_remembered(question: Question, store: Path, *, fresh: bool = False) -> float | None:
    """How long the latest result of the same size took, for as many seeds.

    Of the same size is what has the same budget and the same structural fields, be the other fields or the code
    different. A run that has begun goes on from where it was, so that nothing is known of what is left.

    Args:
        question: that is about to be asked.
        store: a folder of results.
        fresh: whether it is computed even if the store has the answer.

    Returns:
        Seconds; zero if the store has the answer, None if it remembers nothing of the kind.
    """
    folder = result_folder(store, question.experiment, question.key)
    if (folder / CARD).exists() and not fresh:
        return 0.0
    if any(folder.glob("checkpoint*.npz")):
        return None
    cards = [card for path in folder.parent.glob(f"*/{CARD}") if (card := _card(path))]
    alike = [card for card in cards if _size(question, card) == _size(question, question.as_json())]
    if not alike:
        return None
    latest = max(alike, key=lambda card: card["created"])
    return latest["seconds"] * len(question.seeds) / len(latest["seeds"])


def _size(question: Question, card: dict[str, Any]) -> Any:
    """What decides how long a question takes, but for its seeds."""
    return card["budget"], {name: card["config"].get(name) for name in question.config.fields_of_kind("structural")}


def _card(path: Path) -> dict[str, Any]:
    """What is known of a result; nothing if that cannot be trusted."""
    try:
        card = read_sealed(path)
    except (OSError, ValueError):
        return {}
    return card if {"budget", "config", "seeds", "seconds", "created"} <= card.keys() else {}
