"""How the page feels: first paint, theory under a moving slider, first simulated points, a cold start, memory.

    python benchmarks/page.py [--write]

Needs playwright and Chromium. The browser measures, from the event of the slider to the numbers in the picture; the
slider goes to a new place each time. These are wall-clock times, and beside them stands what the server computed: its
CPU seconds, which hardly change when others use the machine.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any
from urllib.request import Request, urlopen

import table

ROUNDS = 5
QUESTIONS = 5
MOVES = 500
MOVED = {
    "linear/chain": "initial",
    "race/xor": "initial",
    "abstraction/specialization": "gate_timescale",
    "coding/sparse": "temperature",
}
GLIDED = ("linear/chain", "abstraction/specialization", "coding/sparse")
COLD = ("race/xor", "coding/sparse")
DONE = '.status[data-state="done"]'
HELPERS = """
  const view = () => document.querySelector('.view-column:first-child .view-grid > *');
  const parts = () => Object.values(view()?.plotted?.() ?? {}).filter(Array.isArray).flat();
  const theory = () => JSON.stringify(parts().filter((part) => part?.source === 'theory'));
  const moment = () => new Promise((resolve) => setTimeout(resolve, 1));
"""
MOVE = f"""async ([field, place]) => {{ {HELPERS}
  const slider = document.querySelector(`[data-field=${{field}}] input[type=range]`);
  const before = theory();
  const began = performance.now();
  slider.value = place;
  slider.dispatchEvent(new Event('input', {{ bubbles: true }}));
  let [redrawn, simulated] = [null, null]; // whichever comes first
  while (redrawn === null || simulated === null) {{
    await moment();
    if (redrawn === null && theory() !== before) redrawn = performance.now() - began;
    if (simulated === null && !view().plotted().stale) simulated = performance.now() - began;
  }}
  return [redrawn, simulated];
}}"""
GLIDE = f"""async ([field, place]) => {{ {HELPERS}
  const slider = document.querySelector(`[data-field=${{field}}] input[type=range]`);
  const before = theory();
  slider.value = place;
  slider.dispatchEvent(new Event('input', {{ bubbles: true }}));
  while (theory() === before) await moment();
}}"""
ARRIVE = f"""async (hash) => {{ {HELPERS}
  const said = new Set();
  const began = performance.now();
  location.hash = hash;
  let shown = null;
  while (document.querySelector('.status')?.dataset.state !== 'done') {{
    const words = document.querySelector('.status')?.innerText ?? '';
    if (/ompil/.test(words)) said.add(words.split('\\n')[0]);
    if (shown === null && theory() !== '[]') shown = performance.now() - began;
    await moment();
  }}
  return [shown, performance.now() - began, [...said][0] ?? ''];
}}"""
PAINT = """async () => {
  const seen = () => performance.getEntriesByName('first-contentful-paint');
  while (seen().length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  return seen()[0].startTime;
}"""
SHOWN = """async () => {
  while (!document.querySelector('.card')) await new Promise(requestAnimationFrame);
  return performance.now();
}"""


@dataclass(frozen=True)
class Served:
    """A server of our own: where it is, and its process."""

    address: str
    process: int

    def cpu(self) -> float:
        """Seconds that all of its threads have computed."""
        fields = Path(f"/proc/{self.process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def megabytes(self) -> float:
        """Memory that it has resident."""
        pages = int(Path(f"/proc/{self.process}/statm").read_text(encoding="utf-8").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@contextmanager
def server(**variables: str) -> Iterator[Served]:
    """A server that keeps its results apart, with some environment variables."""
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "festina", "explore", "--port", "0", "--no-browser", "--out", folder]
        environment = os.environ | {"PYTHONUNBUFFERED": "1"} | variables
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment) as process:
            assert process.stdout is not None
            try:
                line = process.stdout.readline()
                yield Served(next(word for word in line.split() if word.startswith("http")), process.pid)
            finally:
                process.terminate()


def visit(page: Any, served: Served, name: str) -> None:
    """The page of an experiment when its run is done; until its title is there, what is done is another's."""
    page.goto(f"{served.address}#/{name}")
    page.wait_for_function("name => document.title.startsWith(name)", arg=name)
    page.wait_for_selector(DONE)


def moves(page: Any, served: Served, name: str, field: str) -> tuple[list[float], list[float]]:
    """Milliseconds to the theory and to the first points, of each move."""
    visit(page, served, name)
    times = []
    for number in range(ROUNDS + 2):
        times.append(page.evaluate(MOVE, [field, 300 + 17 * number]))
        page.wait_for_selector(DONE)
    theory, points = zip(*times[2:], strict=True)  # the first two still warm things up
    return list(theory), list(points)


def computed(served: Served, name: str, field: str) -> float:
    """Milliseconds of the server's CPU for one answer of theory, with values that it has not been asked for."""

    def ask(value: float) -> None:
        body = json.dumps({"experiment": name, "budget": "quick", "fields": {field: value}}).encode()
        request = Request(f"{served.address}api/theory", body, {"Content-Type": "application/json"})
        with urlopen(request) as response:
            response.read()

    ask(0.051)
    time.sleep(0.5)  # for what a browser has left running
    before = served.cpu()
    for number in range(QUESTIONS):
        ask(0.05 * 1.03**number)
    return 1000 * (served.cpu() - before) / QUESTIONS


def paints(page: Any, address: str) -> tuple[list[float], list[float]]:
    """Milliseconds to the first paint, and to the gallery's cards, of pages that were seen before."""
    page.goto(f"{address}#/")
    page.wait_for_selector(".card")
    paint, cards = [], []
    for _ in range(7):
        page.reload(wait_until="commit")
        cards.append(page.evaluate(SHOWN))
        page.wait_for_load_state()
        paint.append(page.evaluate(PAINT))
    return paint, cards


def glide(page: Any, served: Served, name: str, field: str) -> tuple[float, float]:
    """Megabytes of the server after a hundred moves of a slider, and after five hundred more."""
    visit(page, served, name)
    found = []
    for number in range(MOVES + 101):
        page.evaluate(GLIDE, [field, 100 + (37 * number) % 800])
        if number in (100, MOVES + 100):
            page.wait_for_selector(DONE)
            found.append(served.megabytes())
    return found[0], found[1]


def cold(browser: Any, name: str) -> tuple[float, float, float, str]:
    """Of a server that has just begun, and has nothing compiled: milliseconds to theory and to the end, its CPU seconds
    to the end, and what it said that it compiles.
    """
    with (
        tempfile.TemporaryDirectory() as cache,
        server(JAX_COMPILATION_CACHE_DIR=cache, XDG_CACHE_HOME=cache) as served,
    ):
        page = browser.new_page()
        page.set_default_timeout(300_000)
        page.goto(f"{served.address}#/")
        page.wait_for_selector(".card")
        time.sleep(10)  # until it has warmed up
        before = served.cpu()
        theory, whole, said = page.evaluate(ARRIVE, f"#/{name}")
        page.close()
        return theory, whole, served.cpu() - before, said


def row(what: str, times: list[float], goal: float, cpu: str = "") -> tuple[str, ...]:
    word = "reached" if median(times) <= goal else "missed"
    return (what, f"{median(times):.0f}", f"{max(times):.0f}", cpu, f"{goal:.0f}, {word}")


def measured(browser: Any) -> Iterator[tuple[str, ...]]:
    """The rows of the table, one after the other."""
    with server() as served:
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(300_000)
        paint, cards = paints(page, served.address)
        yield row("first paint, warm", paint, 500)
        yield row("gallery's cards, warm", cards, 500)
        for name, field in MOVED.items():
            theory, points = moves(page, served, name, field)
            yield row(f"`{name}`: slider to theory", theory, 60, f"{computed(served, name, field):.0f}")
            yield row(f"`{name}`: slider to first points", points, 250)
        for name in GLIDED:
            early, late = glide(page, served, name, MOVED[name])
            grown = "reached" if late - early < 0.05 * early else "missed"
            yield (
                f"`{name}`: server's memory over {MOVES} moves, MB",
                f"{early:.0f}",
                f"{late:.0f}",
                "",
                f"flat, {grown}",
            )
        page.close()
    for name in COLD:
        theory, whole, cpu, said = cold(browser, name)
        yield row(f"`{name}`, cold: theory", [theory], 1000)
        yield f"`{name}`, cold: the run; it says “{said}”", f"{whole:.0f}", "", f"{1000 * cpu:.0f}", ""


def told(rows: Iterator[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """All rows; each is said as soon as it is measured, for all of them take minutes."""
    found = []
    for one in rows:
        print("  ".join(one), file=sys.stderr, flush=True)
        found.append(one)
    return found


def main() -> None:
    options = table.parser(__doc__).parse_args()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("page: needs playwright (`pip install playwright`); left out")
        return
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        print("page: needs Chromium or Chrome on the path; left out")
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        rows = told(measured(browser))
        browser.close()
    columns = ("what is waited for", "median, ms", "largest, ms", "server's CPU, ms", "goal")
    table.show("page", columns, rows, write=options.write)


if __name__ == "__main__":
    main()
