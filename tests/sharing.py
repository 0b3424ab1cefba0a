"""How tests are shared out among workers: those that share what takes long to make go to one of them.

pytest-xdist's own groups (`--dist loadgroup`) hang on names of tests that pytest no longer lets a plugin change: with
pytest 9.2 they do nothing, and say nothing. Here the group of a test follows from its name.
"""

import re
from functools import cache
from pathlib import Path
from zlib import crc32

from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).resolve().parent.parent
ASKING = ("test_verdicts", "test_declared_views")  # for the quick run of every experiment, case by case
PICTURES = "test_every_picture"  # of results that all other tests have asked for by then
BY_THEMSELVES = "test_commands"  # each case is a process of its own: they fill the gaps at the end
USED = re.compile(r'quick\("([a-z]+/[a-z_]+)"')
EXPERIMENT = re.compile(r"\[([a-z]+/[a-z_]+)\]$")


class Shares(LoadScopeScheduling):
    """Gives workers one group of tests after the other, in the order of the tests."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)


def group_of(nodeid: str) -> str:
    """What a test runs together with: its file, or whatever asks for the quick run of one experiment.

    A worker that asks for what another computes waits for it.
    """
    path = ROOT / nodeid.partition("::")[0]
    case = EXPERIMENT.search(nodeid)
    if path.stem in ASKING and case:
        return case[1]
    if path.stem == PICTURES:
        return f"{PICTURES} {crc32(nodeid.encode()) % 2}"
    if path.stem == BY_THEMSELVES:
        return nodeid
    return asked_by(path) or f"{path.parent.name}/{path.stem}"


def place(path: Path) -> int:
    """When the tests of a file are run: first what asks for quick runs, for commands and pages are about these."""
    if asks(path):
        return 0
    return 2 if path.stem == BY_THEMSELVES else 3 if path.stem == PICTURES else 1


def asks(path: Path) -> bool:
    """Whether the tests of a file ask for quick runs."""
    return path.parent.name == "experiments" or path.stem in ASKING


@cache
def asked_by(path: Path) -> str | None:
    """The experiment whose quick run the tests of a file ask for first, if any."""
    found = USED.search(path.read_text(encoding="utf-8")) if asks(path) else None
    return found and found[1]
