"""The tests of the page need its extra, and a client; where these are not installed there is nothing to test."""

import sys
from importlib.util import find_spec
from pathlib import Path

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
