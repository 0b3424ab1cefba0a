"""The small picture of each experiment in the gallery: drawn from a few stored points, never from a run.

``python -m festina.page.thumbnails [NAME …]`` runs experiments at the quick budget and writes the file of points anew,
together with how their claims came out; without names, all of them.
"""

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

from festina.errors import one_line
from festina.style import PALETTE
from festina.verdicts import counts

FILE = Path(__file__).with_name("thumbnails.json")
MOST_POINTS = 60
MOST_LINES = 4
WIDTH, HEIGHT, MARGIN = 160, 90, 6
DASHES = ("", "7 2", "4 2", "1.5 2")


@cache
def stored() -> dict[str, Any]:
    """What is known of each experiment: its lines, between 0 and 1, and the status of its claims."""
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def statuses() -> dict[str, Any]:
    """How the claims of each experiment came out when its picture was made."""
    return {name: entry["status"] for name, entry in stored().items()}


def thumbnail(name: str) -> str:
    """The picture of an experiment as SVG; a frame without lines if none is stored."""
    lines = stored().get(name, {}).get("lines", [])
    drawn = "".join(_polyline(line, number) for number, line in enumerate(lines))
    frame = (
        f'<path d="M{MARGIN} {MARGIN}V{HEIGHT - MARGIN}H{WIDTH - MARGIN}" fill="none" stroke="#7F7F7F" '
        'stroke-width="1"/>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">'
        f"{frame}{drawn}</svg>\n"
    )


def _polyline(line: list[float | None], number: int) -> str:
    """A line from left to right, with gaps where it is not known."""
    width, height = WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN
    words, pen = [], "M"
    for k, value in enumerate(line):
        if value is None:
            pen = "M"
            continue
        x = MARGIN + width * k / max(1, len(line) - 1)
        words.append(f"{pen}{x:.1f} {MARGIN + height * (1 - value):.1f}")
        pen = "L"
    dash = f' stroke-dasharray="{DASHES[number % len(DASHES)]}"' if number % len(DASHES) else ""
    colour = PALETTE[number % len(PALETTE)]
    return f'<path d="{"".join(words)}" fill="none" stroke="{colour}" stroke-width="2" stroke-linejoin="round"{dash}/>'


def measured(name: str) -> dict[str, Any]:
    """The lines and the status of an experiment, from a run at the quick budget."""
    from festina.lab.run import run

    result = run(name, budget="quick")
    return {"lines": _lines(result), "status": {"counts": counts(result.verdicts), "budget": "quick"}}


def _lines(result: Any) -> list[list[float | None]]:
    """A few lines of the first variable with a course in time, of the first run, scaled together to [0, 1]."""
    import numpy as np

    from festina.page.series import chosen, of_dataset

    courses = of_dataset(result.data, result.experiment)
    if not courses:
        return []
    values = courses[0].values[0].astype(float)
    values = values.reshape(len(values), -1)
    values = values[np.ix_(chosen(values.shape[0], MOST_POINTS), chosen(values.shape[1], MOST_LINES))]
    low, high = np.nanmin(values), np.nanmax(values)
    scaled = (values - low) / (high - low or 1.0)
    return [[round(float(v), 4) if np.isfinite(v) else None for v in line] for line in scaled.T]


def main(names: list[str]) -> None:
    """Make the points of some experiments anew, or of all, and keep the others'; one that fails stops no other."""
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
