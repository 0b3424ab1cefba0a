"""`festina explore`: the page in a browser."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

from festina.cli import arguments
from festina.cli.arguments import Parser
from festina.errors import ArgumentError, FestinaError
from festina.files import RESULTS
from festina.lab import machine

NEEDED = ("starlette", "uvicorn")


def explore(words: list[str]) -> int:
    parser = Parser(
        "explore",
        description="Open a page with every experiment, sliders and live charts, served to this machine alone.",
    )
    parser.add_argument(
        "folder", metavar="FOLDER", nargs="?", help="results, sweeps, reports and stories of your own to open there"
    )
    parser.add_argument("--host", metavar="HOST", default="127.0.0.1", help="where to serve [default 127.0.0.1]")
    parser.add_argument("--port", metavar="PORT", default="8765", help="0 takes any that is free [default 8765]")
    parser.add_argument("--out", metavar="DIR", default=RESULTS, help=f"the store of results [default {RESULTS}]")
    parser.add_argument("--no-browser", action="store_true", help="print the address, and do not open it")
    parser.add_argument("--debug", action="store_true", help="show where an error came from")
    parser.add_argument("--verbose", "-v", action="store_true", help="report every step on standard error; -vv: more")
    found = parser.read(words)
    port = arguments.whole_number("port", found.port) or 0
    if not 0 <= port <= 65535:
        raise ArgumentError(f"Argument `port` must be from 0 to 65535, but is {port}.")
    missing = missing_for_page()
    if missing:
        raise FestinaError(f"the page needs {' and '.join(missing)}; install it with: pip install 'festina[page]'")
    machine.prepare()

    from festina.lab.store import check_writable
    from festina.page.server import serve

    check_writable(Path(found.out))
    folder = None if found.folder is None else Path(found.folder)
    serve(found.host, port, browser=not found.no_browser and has_screen(), store=Path(found.out), folder=folder)
    return 0


def missing_for_page() -> list[str]:
    """The packages that the page needs and that are not installed."""
    return [name for name in NEEDED if find_spec(name) is None]


def has_screen() -> bool:
    """Whether somebody sits here who would see a browser open."""
    shown = sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
    return shown and sys.stdout.isatty()
