"""The tests of the page need its extra, and a client; where these are not installed there is nothing to test."""

import sys
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # for `serving`, which several files share

NEEDED = ("starlette", "uvicorn", "httpx")
collect_ignore_glob = [] if all(find_spec(name) for name in NEEDED) else ["test_*.py"]
