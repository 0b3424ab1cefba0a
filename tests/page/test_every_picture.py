"""Every experiment on the page in a real browser: its pictures are not empty, and hold the numbers of its result."""

from collections.abc import Iterator
from typing import Any

import legible
import pytest
from serving import needs_browser, real_server

from festina.lab.registry import find, names
from festina.page.limits import MOST_SEEDS
from festina.page.scenes import scenes
from festina.views import views_of
from shared import RESULTS, quick

pytest.importorskip("playwright.sync_api", reason="needs playwright to drive a browser")

pytestmark = [needs_browser, pytest.mark.full]

DONE = '.status[data-state="done"]'
DRAWN = "[...document.querySelectorAll('.view-column:first-child .view-grid > *')].map(view => view.plotted())"
PAINTED = """[...document.querySelectorAll('.view-column:first-child canvas')].map(canvas => {
  const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const seen = new Set();
  for (let k = 0; k < data.length; k += 4 * 97) seen.add(data.slice(k, k + 4).join());
  return seen.size;
})"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A server that answers from the results that all tests share."""
    with real_server(store=RESULTS) as client:
        yield str(client.base_url)


def numbers(part: Any) -> list[float]:
    """All numbers in what was drawn, or sent."""
    if isinstance(part, dict):
        return [number for value in part.values() for number in numbers(value)]
    if isinstance(part, list):
        return [number for value in part for number in numbers(value)]
    return [float(part)] if isinstance(part, int | float) and not isinstance(part, bool) else []


def of_the_simulation(scene: dict[str, Any]) -> list[float]:
    """Numbers that must be found again in the picture: of the first part, at the end."""
    if scene["kind"] == "curves":
        values = scene["lines"][0]["y"]
        return numbers(values[-1] if values and isinstance(values[0], list) else values)
    if scene["kind"] == "plane":
        parts = scene["paths"] or [cloud["frames"][-1] for cloud in scene["clouds"]]
        return numbers(parts[0]["x"])
    if scene["kind"] in ("heat", "raster"):
        return numbers(scene["panels"][0]["frames"][-1])
    if scene["kind"] == "bars":
        return [bar["frames"][-1] for bar in scene["bars"] if bar["frames"][-1] is not None]
    return [edge["values"][-1] for edge in scene["edges"] if edge["values"][-1] is not None]


@pytest.mark.parametrize("name", names())
def test_pictures_hold_the_numbers_of_the_result(page, address, name):
    few = {"seeds": MOST_SEEDS} if find(name).seeds_at("quick") > MOST_SEEDS else {}  # as the page has it
    result, views = quick(name, **few), views_of(find(name))
    expected = scenes(views, result.data, result.config)
    legible.listen(page)
    page.goto(f"{address}/#/{name}")
    page.wait_for_selector(DONE)
    page.wait_for_function(f"() => {DRAWN}.every(drawn => drawn === null || !drawn.stale)")
    drawn = page.evaluate(DRAWN)
    assert len(drawn) == len(views)
    assert expected[0] is not None and drawn[0] is not None
    for scene, picture in zip(expected, drawn, strict=True):
        if scene is None:
            continue
        shown = set(numbers(picture))
        sent = of_the_simulation(scene)
        log = scene["kind"] == "curves" and (scene["x"]["log"] or scene["y"]["log"])
        missing = [number for number in sent if number not in shown and not (log and number <= 0)]
        assert len(missing) <= (1 if log else 0), (scene["title"], missing[:5])  # time zero has no place on a log axis
    assert all(colours > 2 for colours in page.evaluate(PAINTED)[:1])
    legible.check(page)
