"""Which numbers stand beside axes, in a real browser: round ones, few enough, at their places."""

from collections.abc import Iterator

import numpy as np
import pytest
from examples import Answers
from legible import UNSCALED, listen
from serving import needs_browser, real_server
from test_views import DONE, LIVE

pytest.importorskip("playwright.sync_api", reason="needs playwright to drive a browser")

pytestmark = [needs_browser, pytest.mark.full]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with real_server() as client:
        yield str(client.base_url)


def words(page, address: str, kind: str, change) -> list[dict]:
    """All words on the picture of an example that is changed."""
    Answers(page).change = change
    listen(page)
    page.goto(f"{address}#/example/{kind}")
    page.wait_for_selector(DONE)
    return page.evaluate("kind => document.querySelector(kind).words", f"{LIVE} [data-kind={kind}] canvas")


def below(found: list[dict]) -> list[str]:
    """The numbers along the axis below: the lowest line of numbers, from left to right."""
    numbers = [word for word in found if word["text"].lstrip("−").replace(".", "").isdecimal()]
    lowest = max(word["y"][1] for word in numbers)
    along = [word for word in numbers if word["y"][1] > lowest - 4]
    return [word["text"] for word in sorted(along, key=lambda word: word["x"][0])]


def test_many_even_cells_have_round_numbers_at_their_places(page, address):
    side = np.linspace(-1.5, 1.5, 40).round(3).tolist()
    rows = [[float(k + n) for k in range(40)] for n in range(40)]

    def change(scene: dict) -> dict:
        axes = {"x": {"label": "z1", "values": side}, "y": {"label": "z2", "values": side[::-1]}}
        frames = {"frames": [rows] * len(scene["times"])}
        return scene | axes | {"panels": [panel | frames for panel in scene["panels"]]}

    found = words(page, address, "heat", change)
    texts = [word["text"] for word in found]
    assert {"−1", "0", "1"} <= set(texts)
    assert not {"−1.42", "−1.27"} & set(texts)  # the second value, and the fourth
    across = {text: word["x"] for word in found if (text := word["text"]) in ("−1", "1") and word["y"][0] > 0}
    assert across["−1"] != across["1"]
    upright = {word["text"]: np.mean(word["y"]) for word in found if word["text"] in ("−1", "1") and word["x"][1] < 80}
    assert upright["1"] < upright["−1"]  # rows fall from above


def test_less_than_a_decade_has_a_few_even_numbers(page, address):
    def change(scene: dict) -> dict:
        grids = [np.geomspace(2.0, 8.0, len(grid)).tolist() for grid in scene["grids"]]
        return scene | {"grids": grids, "x": scene["x"] | {"log": True}, "marks": []}

    assert below(words(page, address, "curves", change)) == ["2", "4", "6", "8"]


@pytest.mark.parametrize(("first", "last"), [(0.5, 500.0), (8e-4, 20.0), (8e-5, 2e4)])
def test_however_many_decades_there_are_three_numbers_at_least(page, address, first, last):
    def change(scene: dict) -> dict:
        grids = [np.geomspace(first, last, len(grid)).tolist() for grid in scene["grids"]]
        return scene | {"grids": grids, "x": scene["x"] | {"log": True}, "marks": []}

    page.set_viewport_size({"width": 390, "height": 800})
    assert words(page, address, "curves", change)
    assert page.evaluate(UNSCALED) == []


def test_a_decade_that_has_one_power_alone_has_more_than_two_numbers(page, address):
    def change(scene: dict) -> dict:
        grids = [np.geomspace(25.0, 100.0, len(grid)).tolist() for grid in scene["grids"]]
        return scene | {"grids": grids, "x": scene["x"] | {"log": True}, "marks": []}

    assert below(words(page, address, "curves", change)) == ["40", "60", "80", "100"]
