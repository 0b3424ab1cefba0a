"""What the tests of the page share: a client of the application, a real server, and how to read its events."""

import json
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from festina.page.app import make_app
from festina.page.jobs import Jobs
from festina.page.server import bound
from patience import PATIENCE

HOST = "127.0.0.1"
CHAIN = {"experiment": "linear/chain", "budget": "quick", "fields": {"records": 100}}


@contextmanager
def real_server(
    jobs: Jobs | None = None, folder: Path | None = None, store: Path | None = None
) -> Iterator[httpx.Client]:
    """A server on a free port, in a thread; streams and disconnections are those of a network."""
    listener = bound(HOST, 0)
    app = make_app(HOST, jobs, store, folder)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        with httpx.Client(base_url=f"http://{HOST}:{listener.getsockname()[1]}", timeout=PATIENCE) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join(PATIENCE)


def events(client: Any, path: str, **options: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The events of a run or a map, one by one, to the end."""
    with client.stream("GET", path, **options) as response:
        assert response.status_code == 200, response.read()
        name = ""
        for line in response.iter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                yield name, json.loads(line.removeprefix("data: "))


def find_browser() -> str | None:
    """The system's Chromium or Chrome, or else the one that playwright has fetched."""
    on_path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if on_path or find_spec("playwright") is None:
        return on_path
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        fetched = playwright.chromium.executable_path
    return fetched if Path(fetched).exists() else None


BROWSER = find_browser()
needs_browser = pytest.mark.skipif(BROWSER is None and "CI" not in os.environ, reason="needs Chromium or Chrome")
"""Without a browser a test in one is skipped; not so in continuous integration, which must have one."""


def launch(playwright: Any, *flags: str) -> Any:
    """A browser of our own, however long it takes to start."""
    return playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", *flags], timeout=1000 * PATIENCE)
