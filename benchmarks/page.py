"""How the page feels: first paint, from a slider's move to the theory's redraw, and to the first simulated points.

    python benchmarks/page.py [--write]

Needs playwright and Chromium. The browser measures, from the event of the slider to the data in the chart; everything
is compiled before it begins, and the slider goes to a new place each time. These are wall-clock times.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median

import table

ROUNDS = 20
DONE = '.status[data-state="done"]'
MOVE = """async (place) => {
  const slider = document.querySelector('[data-field=strength] input[type=range]');
  const chart = document.querySelector('[data-variable=product]');
  const isTheory = (curve) => curve.kind === 'theory';
  const theory = () => chart.plotted().curves.filter(isTheory).map((curve) => curve.values).join();
  const moment = () => new Promise((resolve) => setTimeout(resolve, 1));
  const before = theory();
  const began = performance.now();
  slider.value = place;
  slider.dispatchEvent(new Event('input', { bubbles: true }));
  while (theory() === before) await moment();
  const redrawn = performance.now() - began;
  while (chart.plotted().stale) await moment();
  return [redrawn, performance.now() - began];
}"""
PAINT = """async () => {
  const seen = () => performance.getEntriesByName('first-contentful-paint');
  while (seen().length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
  return seen()[0].startTime;
}"""
SHOWN = """async () => {
  while (!document.querySelector('.card')) await new Promise(requestAnimationFrame);
  return performance.now();
}"""


@contextmanager
def server() -> Iterator[str]:
    """A server of our own, and where it is."""
    words = [sys.executable, "-m", "festina", "explore", "--port", "0"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"}
    ) as process:
        assert process.stdout is not None
        try:
            yield next(word for word in process.stdout.readline().split() if word.startswith("http"))
        finally:
            process.terminate()


def moves(page, address: str) -> tuple[list[float], list[float]]:
    """Milliseconds to the theory and to the first points, of each move."""
    page.goto(f"{address}#/linear/chain")
    page.wait_for_selector(DONE)
    times = []
    for number in range(ROUNDS + 2):
        times.append(page.evaluate(MOVE, 300 + 17 * number))
        page.wait_for_selector(DONE)
    theory, points = zip(*times[2:], strict=True)  # the first two still warm things up
    return list(theory), list(points)


def paints(page, address: str) -> tuple[list[float], list[float]]:
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
    with server() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(60_000)
        theory, points = moves(page, address)
        paint, cards = paints(page, address)
        browser.close()
    found = {
        "first paint, warm": (paint, 1000),
        "gallery's cards, warm": (cards, 1000),
        "slider to theory redraw": (theory, 150),
        "slider to first points": (points, 500),
    }
    rows = [(name, f"{median(times):.0f}", f"{max(times):.0f}", f"{target}") for name, (times, target) in found.items()]
    table.show("page", ("what is waited for", "median, ms", "largest, ms", "goal, ms"), rows, write=options.write)


if __name__ == "__main__":
    main()
