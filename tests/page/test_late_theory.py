"""Theory that takes a while, in a real browser: the last one stays, pale, and the page says what it waits for."""

from collections.abc import Iterator
from time import time
from typing import Any

import pytest
from examples import KINDS, Answers, description
from serving import needs_browser, real_server
from test_views import DONE, plotted

pytest.importorskip("playwright.sync_api", reason="needs playwright to drive a browser")

pytestmark = [needs_browser, pytest.mark.full]

STYLES = ".views > .view-legend .styles"
WAITING = "() => document.querySelector('.views > .view-legend .styles')?.innerText.includes('being computed')"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with real_server() as client:
        yield str(client.base_url)


class Slow(Answers):
    """A server that keeps its answers of theory to itself until it is told to give them."""

    def __init__(self, page: Any) -> None:
        super().__init__(page)
        self.held: list[Any] | None = None

    def send(self, route: Any, data: Any) -> None:
        if self.held is not None and route.request.url.endswith("/theory"):
            self.held.append((route, data))
        else:
            super().send(route, data)

    def give(self) -> None:
        held, self.held = self.held or [], None
        for route, data in held:
            self.send(route, data)


def drag(page) -> None:
    page.get_by_label("strength", exact=True).fill("3")
    page.get_by_label("strength", exact=True).press("Enter")


def ink(page, kind: str) -> int:
    """How much is drawn in a picture: the sum over pixels of how far they are from the paper."""
    return page.evaluate(
        """kind => {
          const canvas = document.querySelector(`.view-column:first-child [data-kind=${kind}] canvas`);
          const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
          let sum = 0;
          for (let k = 0; k < data.length; k += 4) {
            sum += ((255 * 3 - data[k] - data[k + 1] - data[k + 2]) * data[k + 3]) / 255;
          }
          return Math.round(sum);
        }""",
        kind,
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_last_theory_stays_and_is_pale(page, address, kind):
    answers = Slow(page)
    page.goto(f"{address}#/example/{kind}")
    page.wait_for_selector(DONE)
    drawn, before = plotted(page, kind), ink(page, kind)
    answers.held = []
    drag(page)
    page.wait_for_function(WAITING)
    page.wait_for_selector(DONE)
    now = plotted(page, kind)
    assert now.pop("late") and not drawn.pop("late")
    assert now == drawn
    assert ink(page, kind) < before
    answers.shift["theory"] = 0.005
    answers.give()
    page.wait_for_function(f"() => !({WAITING})()")
    assert not plotted(page, kind)["late"]
    assert page.locator(STYLES).inner_text().split() == ["simulation", "theory"]


def test_quick_theory_is_never_said_to_be_late(page, address):
    Answers(page)
    page.goto(f"{address}#/example/curves")
    page.wait_for_selector(DONE)
    page.evaluate(
        """() => {
          window.seen = [];
          const look = () => window.seen.push(document.querySelector('.views').innerText.includes('being computed'));
          new MutationObserver(look).observe(document.querySelector('.views'), { childList: true, subtree: true });
        }"""
    )
    page.clock.install()
    page.clock.pause_at(time() + 60)  # time stands still, so that no answer is late
    drag(page)
    page.clock.run_for(200)
    page.wait_for_selector(DONE)
    assert not any(page.evaluate("window.seen"))


def test_where_there_is_no_theory_none_is_awaited(page, address):
    answers = Slow(page)
    told = description("example/curves", ["curves"]) | {"theory": False}
    page.route("**/api/experiments/**", lambda route: answers.send(route, told))
    page.goto(f"{address}#/example/curves")
    page.wait_for_selector(DONE)
    answers.held = []
    page.clock.install()
    drag(page)
    page.clock.run_for(1000)  # longer than the page would wait
    assert not page.evaluate(WAITING)
