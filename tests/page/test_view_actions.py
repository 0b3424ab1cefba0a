"""What a hand does to pictures in a real browser: cells open runs, hidden arms stay hidden, a move is made at once."""

from collections.abc import Iterator

import pytest
from examples import Answers, panels
from serving import needs_browser, real_server
from test_views import DONE, LIVE, plotted, visit

pytest.importorskip("playwright.sync_api", reason="needs playwright to drive a browser")

pytestmark = [needs_browser, pytest.mark.full]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with real_server() as client:
        yield str(client.base_url)


def box_of(page, name: str) -> tuple[float, float]:
    """The middle of the first picture of a kind, in the window."""
    found = page.locator(f"{LIVE} [data-kind={name}] canvas").bounding_box()
    return found["x"], found["y"]


def settled(page, value: str) -> None:
    """Give the field `strength` a value, and wait for its run."""
    page.get_by_label("strength", exact=True).fill(value)
    page.get_by_label("strength", exact=True).press("Enter")
    page.wait_for_function("value => location.hash.includes(`strength=${value}`)", arg=value)
    page.wait_for_selector(DONE)


def opening(scene: dict) -> dict:
    opens = {"experiment": "example/curves", "fields": {"world": "ring"}, "rows": "items", "columns": "strength"}
    axes = {"x": {"label": "strength", "values": [1, 2, 3, 4]}, "y": {"label": "items", "values": [9, 8, 7, 6]}}
    return scene | axes | {"opens": opens}


def test_a_cell_opens_its_run(page, address):
    answers = Answers(page)
    answers.change = opening
    page.goto(f"{address}#/example/heat")
    page.wait_for_selector(DONE)
    picture = page.locator(f"{LIVE} [data-kind=heat] .picture")
    picture.focus()
    page.keyboard.press("ArrowRight")  # the first cell
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.hash.includes('example/curves')")
    assert {"world=ring", "items=8", "strength=2"} <= set(page.url.split("?")[1].split("&"))


def test_a_cell_without_a_run_opens_nothing(page, address):
    visit(page, address, "heat")
    page.locator(f"{LIVE} [data-kind=heat] .picture").click(position={"x": 120, "y": 120})
    assert "example/heat" in page.url
    assert page.locator(".picture.opens").count() == 0


def test_a_hidden_arm_stays_hidden_when_its_value_moves(page, address):
    answers = visit(page, address, "curves-bars")
    page.locator(".view-legend button", has_text="fast").click()
    answers.change = lambda scene: scene | {"groups": ["slow", "faster"]}
    settled(page, "2")
    button = page.locator(".view-legend button", has_text="faster")
    assert button.get_attribute("aria-pressed") == "false"
    assert {line["group"] for line in plotted(page, "curves")["lines"]} == {"slow"}
    button.click()
    answers.change = lambda scene: scene
    settled(page, "3")
    assert {line["group"] for line in plotted(page, "curves")["lines"]} == {"slow", "fast"}  # forgotten by then


def test_the_first_move_is_made_by_a_button(page, address):
    answers = visit(page, address, "curves")
    assert "Set strength to 3: it decays." in page.locator(".try").inner_text()
    page.get_by_role("button", name="Do it").click()
    page.wait_for_function("() => location.hash.includes('strength=3')")
    page.wait_for_selector(DONE)
    assert answers.last("runs")["fields"] == {"strength": 3.0}
    assert page.get_by_label("strength", exact=True).input_value() == "3"


def test_many_panels_take_the_width_of_the_page(page, address):
    answers = Answers(page)
    few = panels("heat", 0.0)["panels"][0]
    answers.change = lambda scene: scene | {"panels": [few | {"name": f"network {k}"} for k in range(3)]}
    page.goto(f"{address}#/example/heat-curves-bars")
    page.wait_for_selector(DONE)
    heat, curves = (page.locator(f"{LIVE} [data-kind={kind}]").bounding_box() for kind in ("heat", "curves"))
    assert heat["width"] > 1.8 * curves["width"]
    answers.change = lambda scene: scene
    settled(page, "2")
    page.wait_for_function("() => !document.querySelector('[data-kind=heat]').classList.contains('wide')")


def test_a_view_without_anything_to_show_says_so(page, address):
    answers = Answers(page)
    answers.change = lambda scene: None if scene["kind"] == "bars" else scene
    page.goto(f"{address}#/example/curves-bars")
    page.wait_for_selector(DONE)
    assert "nothing to show" in page.locator(f"{LIVE} [data-kind=bars] .view-note").inner_text()


def test_boxes_hold_no_more_digits_than_are_read(page, address):
    visit(page, address, "curves", "?strength=0.09090909090909091")
    box = page.get_by_label("strength", exact=True)
    assert box.input_value() == "0.09091"
    assert "strength=0.09090909090909091" in page.url  # what is asked stays exact
    settled(page, "0.00004167")
    page.reload()
    page.wait_for_selector(DONE)
    assert box.input_value() == "4.167e-5"
