"""Legends of many names in a real browser: a table where names make one, two lines of a list where they do not."""

from collections.abc import Iterator

import pytest
from examples import Answers
from serving import needs_browser, real_server
from test_views import DONE, LIVE, plotted

pytest.importorskip("playwright.sync_api", reason="needs playwright to drive a browser")

pytestmark = [needs_browser, pytest.mark.full]

LEGEND = ".views > .view-legend"
IN_TABLE = [f"{arm}, rank {rank}" for arm in ("no cost", "cost", "no cost, weak bounds") for rank in (1, 4, 15)]
IN_ROW = [f"imbalance {k}" for k in range(24)]
TELEPHONE = {"width": 390, "height": 800}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with real_server() as client:
        yield str(client.base_url)


def visit(page, address: str, names: list[str]) -> None:
    """Curves of groups with some names, on a telephone."""

    def named(scene: dict) -> dict:
        line = scene["lines"][0]
        return scene | {"groups": names, "lines": [line | {"group": k} for k in range(len(names))]}

    Answers(page).change = named
    page.set_viewport_size(TELEPHONE)
    page.goto(f"{address}#/example/curves")
    page.wait_for_selector(DONE)


def looks(page) -> dict[str, str]:
    """The colour of every line of the simulation, by its group."""
    return {
        line["group"]: line["colour"] for line in plotted(page, "curves")["lines"] if line["source"] == "simulation"
    }


def test_names_of_two_parts_stand_in_a_table(page, address):
    visit(page, address, IN_TABLE)
    rows = page.locator(f"{LEGEND} table tr").all()
    assert [row.locator("th").all_inner_texts() for row in rows] == [
        ["1", "4", "15"],
        ["no cost"],
        ["cost"],
        ["no cost, weak bounds"],
    ]
    assert page.locator(f"{LEGEND} .stem").inner_text() == "rank"
    assert page.locator(LEGEND).bounding_box()["height"] < 0.25 * TELEPHONE["height"]
    labels = [button.get_attribute("aria-label") for button in page.locator(f"{LEGEND} td button").all()]
    assert labels == IN_TABLE


def test_a_cell_of_the_table_hides_its_group(page, address):
    visit(page, address, IN_TABLE)
    page.locator(f"{LEGEND} [data-group='cost, rank 4']").click()
    assert set(looks(page)) == set(IN_TABLE) - {"cost, rank 4"}
    page.locator(f"{LEGEND} [data-group='cost, rank 4']").click()
    assert set(looks(page)) == set(IN_TABLE)


def test_rows_have_a_colour_and_columns_a_shade(page, address):
    visit(page, address, IN_TABLE)
    found = looks(page)
    assert len(set(found.values())) == len(IN_TABLE)

    def parts(name: str) -> list[int]:
        return [int(found[name][k : k + 2], 16) for k in (1, 3, 5)]

    for arm, strongest in (("no cost", 2), ("cost", 0)):  # blue, and vermillion
        rows = [parts(f"{arm}, rank {rank}") for rank in (1, 4, 15)]
        assert all(max(row) == row[strongest] for row in rows)
        assert [sum(row) for row in rows] == sorted(sum(row) for row in rows)  # from deep to pale


def test_a_long_list_shows_two_lines_until_it_is_opened(page, address):
    visit(page, address, IN_ROW)
    tall = "document.querySelector('.views > .view-legend ul.groups').clientHeight"
    folded = page.evaluate(tall)
    assert folded < 70
    more = page.locator(f"{LEGEND} .more")
    assert more.inner_text() == "all 24 names"
    more.click()
    assert page.evaluate(tall) > 2 * folded
    assert more.get_attribute("aria-expanded") == "true"
    page.get_by_role("button", name="imbalance 23").click()  # what is drawn anew stays open
    assert "imbalance 23" not in looks(page)
    assert page.evaluate(tall) > 2 * folded
    page.locator(f"{LEGEND} .more").click()
    assert page.evaluate(tall) == folded


def test_the_keyboard_reaches_what_is_folded(page, address):
    visit(page, address, IN_ROW)
    page.locator(f"{LEGEND} button").first.focus()
    for _ in range(len(IN_ROW) - 1):
        page.keyboard.press("Tab")
    seen = page.evaluate(
        """() => {
          const own = document.activeElement;
          const [bottom, last] = [own, own.closest('ul')].map(one => one.getBoundingClientRect().bottom);
          return own.dataset.group === 'imbalance 23' && bottom <= last + 1;
        }"""
    )
    assert seen


def test_a_list_that_fits_is_not_folded(page, address):
    visit(page, address, IN_ROW[:8])
    page.set_viewport_size({"width": 1440, "height": 900})
    page.wait_for_function("() => !document.querySelector('.views > .view-legend .folded').classList.contains('long')")
    assert not page.locator(f"{LEGEND} .more").is_visible()
    assert page.locator(f"{LIVE} canvas").first.is_visible()
