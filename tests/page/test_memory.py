"""The memory of a server stays what it is while a slider moves, hundreds of times."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from patience import PATIENCE
from shared import apart

STATISTICS = Path("/proc/self/statm")
MOVES = 500
WARM = 100  # moves that still fill what is kept for the next ones
MOST_GROWN = 0.05  # of what it had after these
MOVED = {"linear/chain": "initial", "abstraction/specialization": "gate_timescale", "coding/sparse": "temperature"}

pytestmark = [pytest.mark.full, pytest.mark.skipif(not STATISTICS.exists(), reason="needs /proc to read memory")]


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[tuple[httpx.Client, int]]:
    """A server as people run it, and the number of its process."""
    words = [sys.executable, "-m", "festina", "explore", "--port", "0", "--no-browser"]
    folder = tmp_path_factory.mktemp("server")
    settings = os.environ | apart(folder) | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen([*words, "--out", str(folder)], stdout=subprocess.PIPE, text=True, env=settings) as process:
        assert process.stdout is not None
        try:
            address = next(word for word in process.stdout.readline().split() if word.startswith("http"))
            with httpx.Client(base_url=address, timeout=PATIENCE) as client:
                yield client, process.pid
        finally:
            process.terminate()


def megabytes(process: int) -> float:
    """Memory that a process has resident."""
    pages = int(Path(f"/proc/{process}/statm").read_text(encoding="utf-8").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@pytest.mark.parametrize("name", MOVED)
def test_memory_is_flat_while_a_slider_moves(server, name):
    client, process = server
    found = {0: megabytes(process)}
    for number in range(1, MOVES + 1):
        value = 0.02 * 1.004**number  # never the same setting twice
        body = {"experiment": name, "budget": "quick", "fields": {MOVED[name]: value}, "seed": 0}
        client.post(
            "/api/theory", content=json.dumps(body), headers={"Content-Type": "application/json"}
        ).raise_for_status()
        if number in (WARM, MOVES):
            found[number] = megabytes(process)
    print(name, {moves: round(memory) for moves, memory in found.items()})
    assert found[MOVES] <= (1 + MOST_GROWN) * found[WARM], found
