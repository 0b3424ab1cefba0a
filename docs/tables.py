"""Bring the table of experiments in the README and in the documentation up to date: `python docs/tables.py`."""

import re
from pathlib import Path

from festina.lab.registry import all_experiments

ROOT = Path(__file__).resolve().parent.parent
MARKS = ("<!-- experiments -->", "<!-- /experiments -->")


def table() -> str:
    """One row for each experiment: its name, its first line, its sources."""
    rows = ["| experiment | what it shows | sources |", "|---|---|---|"]
    for experiment in all_experiments():
        sources = "; ".join(source.short for source in experiment.sources)
        rows.append(f"| `{experiment.name}` | {experiment.summary()} | {sources} |")
    return "\n".join(rows)


def updated(text: str) -> str:
    """The text with what stands between the marks replaced by the table."""
    first, last = MARKS
    return re.sub(f"{re.escape(first)}.*?{re.escape(last)}", f"{first}\n{table()}\n{last}", text, flags=re.DOTALL)


def main() -> None:
    for path in (ROOT / "README.md", ROOT / "docs" / "experiments.md"):
        path.write_text(updated(path.read_text(encoding="utf-8")), encoding="utf-8")
        print(f"{path.relative_to(ROOT)}: {len(all_experiments())} experiments")


if __name__ == "__main__":
    main()
