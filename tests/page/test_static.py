"""The page's own files: what its modules import is what its head announces."""

import posixpath
import re

from festina.page.app import STATIC
from festina.page.export import IMPORT

LISTED = re.compile(r'<link rel="modulepreload" href="/static/js/([\w./-]+)">')


def imported_by(entry: str) -> set[str]:
    """All modules that one needs, and those that these need, by their paths in the folder of modules."""
    found: set[str] = set()
    waiting = [entry]
    while waiting:
        name = waiting.pop()
        text = (STATIC / "js" / name).read_text(encoding="utf-8")
        beside = {posixpath.normpath(posixpath.join(posixpath.dirname(name), one)) for _, one in IMPORT.findall(text)}
        waiting += beside - found
        found |= beside
    return found


def test_every_module_that_is_used_is_fetched_at_once():
    """None is asked for late, none for nothing."""
    listed = LISTED.findall((STATIC / "index.html").read_text(encoding="utf-8"))
    assert set(listed) == imported_by("main.js")
    assert listed == sorted(set(listed))


def test_every_style_sheet_is_used():
    text = (STATIC / "index.html").read_text(encoding="utf-8")
    assert {f"/static/css/{path.name}" for path in (STATIC / "css").glob("*.css")} == set(
        re.findall(r'href="(/static/css/[\w-]+\.css)"', text)
    )
