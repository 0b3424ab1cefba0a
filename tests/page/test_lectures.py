"""Lectures and folders of one's own in a real browser: every step shows its picture, and keys turn the pages."""

from collections.abc import Iterator

import accessible
import pytest
from serving import needs_browser, real_server
from test_own import folder  # noqa: F401, a fixture

from festina.page import telling
from shared import RESULTS

pytest.importorskip("playwright.sync_api", reason="needs playwright to drive a browser")

pytestmark = [needs_browser, pytest.mark.full]

DRAWN = ".view-column:first-child .view-grid > *"
HAS_PICTURE = f"document.querySelector('{DRAWN}')?.plotted?.() && !document.querySelector('{DRAWN}').plotted().stale"


@pytest.fixture(scope="module")
def address(folder) -> Iterator[str]:  # noqa: F811
    with real_server(folder=folder, store=RESULTS) as client:
        yield str(client.base_url)


def test_arrow_keys_go_through_a_story_and_back(page, address):
    steps = telling.shipped()["depth"].steps
    page.goto(f"{address}/#/story/depth/1")
    for step in steps[:3]:
        page.wait_for_selector(f"h1:text-is('{step.title}')")
        page.wait_for_function(f"() => {HAS_PICTURE}")
        page.keyboard.press("ArrowRight")
    page.wait_for_selector(f"h1:text-is('{steps[3].title}')")
    page.keyboard.press("ArrowLeft")
    page.wait_for_selector(f"h1:text-is('{steps[2].title}')")
    assert page.url.endswith("#/story/depth/3")


@pytest.mark.parametrize("name", telling.COURSE)
def test_a_story_is_played_to_its_end(page, address, name):
    page.goto(f"{address}/#/story/{name}/1")
    for step in telling.shipped()[name].steps:
        page.wait_for_selector(f"h1:text-is('{step.title}')")
        page.wait_for_function(f"() => {HAS_PICTURE}")
        page.keyboard.press("ArrowRight")


def test_a_step_shows_the_view_it_names_and_nothing_else(page, address):
    page.goto(f"{address}/#/story/depth/3")
    page.wait_for_function(f"() => {HAS_PICTURE}")
    assert page.evaluate(f"document.querySelectorAll('{DRAWN}').length") == 1
    assert page.evaluate(f"document.querySelector('{DRAWN}').plotted().kind") == "plane"


def test_the_field_to_drag_is_at_hand_and_moves_the_picture(page, address):
    page.goto(f"{address}/#/story/depth/2")
    page.wait_for_function(f"() => {HAS_PICTURE}")
    first = page.evaluate(f"JSON.stringify(document.querySelector('{DRAWN}').plotted())")
    page.locator('[data-field="initial"] input[type="number"]').fill("0.1")
    page.keyboard.press("Tab")
    page.wait_for_function(
        f"before => {HAS_PICTURE} && JSON.stringify(document.querySelector('{DRAWN}').plotted()) !== before", arg=first
    )


def test_the_gallery_leads_to_lectures_and_to_the_folder(page, address):
    page.goto(f"{address}/#/")
    page.wait_for_selector(".story-card")
    assert page.locator(".story-card").count() == len(telling.COURSE) + 1  # and the one in the folder
    page.click("a:has-text('Your folder')")
    page.wait_for_selector(".own-list")
    assert page.locator(".own-list a").count() == 4  # a result, a sweep, a training, a story


@pytest.mark.parametrize(("kind", "seen"), [("chain", ".claims"), ("training", ".reasons"), ("sweep", ".heatmap")])
def test_what_lies_in_the_folder_opens(page, address, kind, seen):
    page.goto(f"{address}/#/own")
    page.click(f".own-list a:has-text('{kind}')")
    page.wait_for_selector(seen)
    if kind == "sweep":
        page.wait_for_function("() => document.querySelector('.map-figure').plotted()?.values.flat().length === 6")
    else:
        page.wait_for_function(f"() => {HAS_PICTURE}")


def test_lectures_can_be_read_by_everybody(page, address):
    page.goto(f"{address}/#/story/depth/2")
    page.wait_for_function(f"() => {HAS_PICTURE}")
    accessible.check(page)


@pytest.mark.parametrize("kind", ["", "chain", "training", "sweep"])
def test_the_folder_can_be_read_by_everybody(page, address, kind):
    page.goto(f"{address}/#/own")
    page.wait_for_selector(".own-list")
    if kind:
        page.click(f".own-list a:has-text('{kind}')")
        page.wait_for_selector(".view canvas, .heatmap canvas, .map-figure")
    accessible.check(page)
