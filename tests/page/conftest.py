"""The tests of the page need its extra, and a client; where these are not installed there is nothing to test."""

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from patience import PATIENCE

sys.path.insert(0, str(Path(__file__).parent))  # for `serving`, which several files share

NEEDED = ("starlette", "uvicorn", "httpx")
collect_ignore_glob = [] if all(find_spec(name) for name in NEEDED) else ["test_*.py"]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page waits for its clients as long as tests do; those about its patience set their own."""
    for limit in ("FIRST_GRACE", "BODY_SECONDS"):
        monkeypatch.setattr(f"festina.page.limits.{limit}", PATIENCE)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser for the tests of a file."""
    from serving import launch

    with pytest.importorskip("playwright.sync_api").sync_playwright() as playwright:
        launched = launch(playwright)
        yield launched
        launched.close()


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    """A page that at the end must have nothing to complain of."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    complaints: list[str] = []
    opened = context.new_page()
    opened.set_default_timeout(1000 * PATIENCE)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    yield opened
    context.close()
    assert complaints == []
