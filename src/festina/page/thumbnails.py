"""The small picture of each experiment in the gallery: its first view, from a few stored numbers, never from a run.

``python -m festina.page.thumbnails [NAME …]`` takes quick runs (from `.cache/results`, where the tests keep theirs, or
anew) and writes the file of numbers, together with how their claims came out; without names, of all experiments.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from festina.errors import one_line
from festina.style import PALETTE
from festina.verdicts import counts

FILE = Path(__file__).with_name("thumbnails.json")
STORE = Path(".cache/results")
WIDTH, HEIGHT, MARGIN = 160, 90, 6
DASHES = ("", "7 2", "4 2", "1.5 2")
DARK, MIDDLE, BRIGHT = (68, 1, 84), (33, 145, 140), (253, 231, 37)  # of viridis


@cache
def stored() -> dict[str, Any]:
    """What is known of each experiment: the drawing of its first view, its title, and how its claims came out."""
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def statuses() -> dict[str, Any]:
    """How the claims of each experiment came out when its picture was made."""
    return {name: entry["status"] for name, entry in stored().items()}


def titles() -> dict[str, str]:
    """What each picture shows."""
    return {name: entry.get("title", "") for name, entry in stored().items()}


def thumbnail(name: str) -> str:
    """The picture of an experiment as SVG; a frame with nothing in it if none is stored."""
    drawing = stored().get(name, {}).get("drawing", {})
    parts = [*_cells(drawing.get("cells", []))]
    parts += [_line(group, xs, ys) for group, xs, ys in drawing.get("lines", [])]
    parts += [dot for group, xs, ys in drawing.get("dots", []) for dot in _dots(group, xs, ys)]
    frame = f"M{MARGIN} {MARGIN}V{HEIGHT - MARGIN}H{WIDTH - MARGIN}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">'
        f'<path d="{frame}" fill="none" stroke="#7F7F7F" stroke-width="1"/>{"".join(parts)}</svg>\n'
    )


def _place(x: float, y: float) -> tuple[float, float]:
    return MARGIN + (WIDTH - 2 * MARGIN) * x, MARGIN + (HEIGHT - 2 * MARGIN) * (1 - y)


def _line(group: int, xs: list[float | None], ys: list[float | None]) -> str:
    """A line with gaps where it is not known."""
    words, pen = [], "M"
    for x, y in zip(xs, ys, strict=True):
        if x is None or y is None:
            pen = "M"
            continue
        words.append("{}{:.1f} {:.1f}".format(pen, *_place(x, y)))
        pen = "L"
    dash = f' stroke-dasharray="{DASHES[group % len(DASHES)]}"' if group % len(DASHES) else ""
    colour = PALETTE[group % len(PALETTE)]
    return f'<path d="{"".join(words)}" fill="none" stroke="{colour}" stroke-width="2" stroke-linejoin="round"{dash}/>'


def _dots(group: int, xs: list[float | None], ys: list[float | None]) -> Iterator[str]:
    for x, y in zip(xs, ys, strict=True):
        if x is not None and y is not None:
            across, down = _place(x, y)
            yield f'<circle cx="{across:.1f}" cy="{down:.1f}" r="2" fill="{PALETTE[group % len(PALETTE)]}"/>'


def _cells(rows: list[list[float | None]]) -> Iterator[str]:
    """A table as colours, the first row on top."""
    for row, values in enumerate(rows):
        for column, value in enumerate(values):
            (left, top), (right, bottom) = (
                _place((column + k) / len(values), 1 - (row + k) / len(rows)) for k in (0, 1)
            )
            size = f'width="{right - left + 0.3:.1f}" height="{bottom - top + 0.3:.1f}"'
            yield f'<rect x="{left:.1f}" y="{top:.1f}" {size} fill="{_colour(value)}"/>'


def _colour(value: float | None) -> str:
    if value is None:
        return "#CCCCCC"
    low, high, share = (DARK, MIDDLE, 2 * value) if value < 0.5 else (MIDDLE, BRIGHT, 2 * value - 1)
    return "#" + "".join(f"{round(a + (b - a) * share):02X}" for a, b in zip(low, high, strict=True))


def measured(name: str) -> dict[str, Any]:
    """The drawing of an experiment's first view that shows anything, and how its claims came out, in a quick run."""
    from festina.lab.run import run
    from festina.page.scenes import scenes
    from festina.page.sketch import sketched
    from festina.views import views_of

    result = run(name, budget="quick", store=STORE)
    drawn = scenes(views_of(result.experiment), result.data, result.config)
    scene = next(filter(None, drawn), None)
    status = {"counts": counts(result.verdicts), "budget": "quick"}
    title = scene["title"] if scene else ""
    return {"title": title, "drawing": sketched(scene) if scene else {}, "status": status}


def main(names: list[str]) -> None:
    """Make the pictures of some experiments anew, or of all, and keep the others'; one that fails stops no other."""
    from festina.lab.registry import names as all_names

    known = dict(stored())
    for name in names or all_names():
        try:
            known[name] = measured(name)
        except Exception as error:
            print(f"{name} failed: {one_line(error)}", file=sys.stderr, flush=True)
            continue
        lines = [f"{json.dumps(key)}: {json.dumps(known[key], separators=(',', ':'))}" for key in sorted(known)]
        FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
        print(name, known[name]["status"], flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
