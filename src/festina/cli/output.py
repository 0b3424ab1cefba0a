"""What the terminal shows: plain text of at most a hundred columns, colours and marks only where they can be seen."""

import json
import os
import re
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Sequence
from typing import Any

from festina.lab.tables import as_json
from festina.verdicts import MARKS, Outcome, Verdict, counts, in_words

WIDEST = 100
COLOURS = {"bold": "1", "dim": "2", "green": "32", "yellow": "33", "red": "31"}
COLOURING = re.compile(r"\x1b\[\d*m")
OUTCOME_COLOURS: dict[Outcome, str] = {
    "reproduced": "green",
    "reproduced qualitatively": "yellow",
    "not reproduced": "red",
    "undecided": "yellow",
    "not applicable": "dim",
    "needs the full budget": "dim",
    "broken": "red",
}


def decorated() -> bool:
    """Whether colours and marks may be used: on a terminal, and if the user has not said no."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, colour: str) -> str:
    """Text in a colour, where colours may be used."""
    return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m" if decorated() else text


def width() -> int:
    """Columns to fill: those of the terminal, a hundred at most and where there is none."""
    return max(50, min(WIDEST, shutil.get_terminal_size((WIDEST, 24)).columns))


def print_json(value: Any) -> None:
    print(json.dumps(as_json(value), indent=2, ensure_ascii=False, allow_nan=False))


def length(text: str) -> int:
    """How many columns a text takes; accents set over a letter, and colours, take none."""
    return sum(not unicodedata.combining(letter) for letter in COLOURING.sub("", text))


def pad(text: str, columns: int) -> str:
    return text + " " * max(0, columns - length(text))


def one_line(text: str) -> str:
    """Text that is cut where the terminal ends; whole where there is none."""
    columns = shutil.get_terminal_size().columns
    return text if not sys.stdout.isatty() or length(text) <= columns else f"{text[: columns - 1].rstrip()}…"


def wrapped(text: str, indent: str = "") -> str:
    """A paragraph, filled to the width."""
    return textwrap.fill(text, width(), initial_indent=indent, subsequent_indent=indent, break_long_words=False)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], indent: str = "  ") -> str:
    """Rows in columns; the last column is wrapped to what is left of the width."""
    sizes = [max(length(cells[k]) for cells in [head, *rows]) for k in range(len(head) - 1)]
    return "\n".join([paint(row(head, sizes, indent), "dim"), *(row(cells, sizes, indent) for cells in rows)])


def row(cells: Sequence[str], sizes: Sequence[int], indent: str = "  ") -> str:
    """One row of a table; ``sizes`` are those of all columns but the last, which is wrapped to what is left."""
    margin = len(indent) + sum(sizes) + 2 * len(sizes)
    start = indent + "".join(pad(cell, size + 2) for cell, size in zip(cells, sizes, strict=False))
    room = max(24, width() - margin)
    lines = textwrap.wrap(cells[-1], room, break_long_words=False) or [""]
    return ("\n" + " " * margin).join([start + lines[0], *lines[1:]]).rstrip()


def claims_table(verdicts: Sequence[Verdict]) -> str:
    """Claim, kind, expected, measured ± spread and verdict; below each, what is claimed and where.

    Checks of the computation stand apart, below the claims: how many passed, and those that did not.
    """
    checks = [verdict for verdict in verdicts if verdict.kind == "check"]
    shown = [verdict for verdict in verdicts if verdict.kind != "check"]
    missed = [verdict for verdict in checks if not verdict.holds and verdict.outcome != "needs the full budget"]
    parts = [_rows(shown)] if shown else []
    if checks:
        found = counts(checks)["check"]
        told = ", ".join(f"{count} {in_words(outcome, 'check')}" for outcome, count in found.items())
        parts.append(f"  checks of the computation: {told}" + (f"\n{_rows(missed)}" if missed else ""))
    return "\n\n".join(parts)


def _rows(verdicts: Sequence[Verdict]) -> str:
    head = ("claim", "kind", "expected", "measured", "verdict")
    cells = [(it.claim, it.kind, it.expectation, it.measurement, it.word) for it in verdicts]
    sizes = [max(length(row[k]) for row in [head, *cells]) for k in range(len(head))]
    lines = ["  " + paint(_joined(head, sizes).rstrip(), "dim")]
    for verdict, row in zip(verdicts, cells, strict=True):
        mark = MARKS[verdict.outcome] if decorated() else " "
        colour = OUTCOME_COLOURS[verdict.outcome]
        lines.append(f"{paint(mark, colour)} {_joined(row[:-1], sizes)}  {paint(verdict.word, colour)}")
        remark = f" ({verdict.remark})" if verdict.remark else ""
        about = wrapped(f"{verdict.statement} [{verdict.source}]{remark}", " " * (sizes[0] + 4))
        lines += [paint(line, "dim") for line in about.split("\n")]
    return "\n".join(lines)


def _joined(cells: Sequence[str], sizes: Sequence[int]) -> str:
    return "  ".join(pad(cell, size) for cell, size in zip(cells, sizes, strict=False))
