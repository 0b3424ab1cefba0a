"""Pages that are made from the package itself when the documentation is built.

They are the reference of every public object, of the command line, of the fields of every model, and of every
experiment with its claims and its figure. A page is written only if it differs from what is there, so that Sphinx
reads anew what has changed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from generated_api import api_pages, rooms_table
from generated_commands import commands_page
from generated_experiments import experiment_pages
from generated_models import model_pages

FOLDER = "reference/generated"


def store() -> Path:
    """The folder of results from which figures are drawn: $FESTINA_DOCS_STORE, or that of the tests."""
    root = Path(__file__).resolve().parents[2]
    chosen = os.environ.get("FESTINA_DOCS_STORE")
    tests = os.environ.get("FESTINA_TEST_CACHE") or root / ".cache"
    return Path(chosen) if chosen else Path(tests) / "results"


def write_pages(app: Any) -> None:
    """Bring all generated pages up to date, and remove those of what is no more."""
    folder = Path(app.srcdir) / FOLDER
    pages = {
        **api_pages(),
        "commands.md": commands_page(),
        **model_pages(),
        **experiment_pages(store(), folder / "figures"),
        "rooms.txt": rooms_table(),
    }
    for name, text in pages.items():
        write(folder / name, text)
    for path in [*folder.rglob("*.md"), *folder.rglob("*.rst")]:
        if path.relative_to(folder).as_posix() not in pages:
            path.unlink()


def write(path: Path, text: str) -> None:
    """Write a page unless it is there as it should be."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    app.connect("builder-inited", write_pages, priority=100)  # before autosummary, which reads these pages
    return {"parallel_read_safe": True, "parallel_write_safe": True}
